"""What ``new`` answers: a reverse patch from a commit, a diff or two releases.

:mod:`~prtoggle.authoring.asked` is the way through: where both texts of each module come from
(:mod:`~prtoggle.authoring.commit`, :mod:`~prtoggle.authoring.takenback`, :mod:`~prtoggle.authoring.between`), the edits
and their parts, the folder's files, and what they meet in releases.
"""
