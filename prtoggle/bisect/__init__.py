"""Which of many reverts makes a test fail: search as pure functions, no processes inside.

``run(subset) -> outcome`` is somebody else's; here is only what to ask next, and what the answers mean. All of a
search's state is what was tried so far: the same trials give the same next question, in another process, another day.
So a search is stopped by stopping, saved by saving its trials, and resumed by saying them again.

==============  ========================================================================================
``values``      outcomes, trials, what to ask, what was found
``knowledge``   what trials say of subsets that were not tried
``certain``     a failure that is there or is not: all minimal sets
``flaky``       a failure that is there sometimes: a posterior over culprits
``metric``      a number that is worse: two samples differ, are the same, or need more
==============  ========================================================================================
"""
