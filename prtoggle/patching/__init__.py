"""Fixes taken out of the files of a tree, and put back: ``prtoggle revert --tree`` and ``restore --tree``.

The tree is what a package lies in: a ``site-packages``, the folder above the package in a checkout. Beside the package
stands a folder (:data:`prtoggle.patching.store.FOLDER`) with a journal and the files as they were, byte for byte. It is
written, and on the disk, before the first file changes; what is true of the tree is read off the files themselves, so
that a process killed at any moment leaves something that the next one can put right.

- ``values``, ``store``: what is known of each file; the folder that keeps it.
- ``writing``, ``bytecode``, ``lock``: one file replaced at once; what Python compiled of it; one at a time.
- ``state``: what is true of a tree now. ``changing``: from one state to another, whole or not at all.
- ``dirty``: files that somebody changed. ``trees``: which tree a folder is in.
- ``applying``, ``restoring``: the two commands. ``answer``: what they say.

Example::

    revert(parse("27360"), Path("site-packages"), Library())
    restore(None, Path("site-packages"), Library())
"""
