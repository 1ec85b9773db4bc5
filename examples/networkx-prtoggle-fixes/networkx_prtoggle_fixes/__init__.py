"""Folders of fixes, found by prtoggle through the entry point ``prtoggle.fixes``. Nothing here is imported by it."""
