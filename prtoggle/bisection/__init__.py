"""A bisection that runs: trials as processes, a log to resume from, and the search of :mod:`prtoggle.bisect` between.

==============  ========================================================================================
``values``      settings, candidates, jobs, finished trials, where a bisection stands, its answer
``verdict``     exit code, signal and output -> what a trial says
``worker``      one trial, in a process and a session of its own
``executors``   start workers, wait for them, leave none behind
``record``      the append-only log
``steps``       from the trials so far to the next ones, or to the answer
``session``     the whole of it
==============  ========================================================================================
"""
