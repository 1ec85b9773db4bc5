"""A bisection that runs: trials as processes, a log to resume from, and the search of :mod:`prtoggle.bisect` between.

==============  ========================================================================================
``values``      settings, candidates, jobs, finished trials, where a bisection stands, its answer
``verdict``     exit code, signal and output -> what a trial says
``worker``      one trial, in a process and a session of its own
``executors``   start workers, wait for them, leave none behind
``record``      the append-only log
``steps``       from the trials so far to the next ones, or to the answer
``session``     the whole of it
``rayexec``     the executor of a Ray cluster
``account``     what is said at the end, as data, text and JSON; ``copies`` of packages, for its diffs
``page``        the same as one HTML file, with the pictures of ``picture`` in the style of ``pagestyle``
==============  ========================================================================================
"""
