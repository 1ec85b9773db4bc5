"""The state of prtoggle's own code, as a key: what an older or newer one remembered does not count.

Example::

    cache.read("survey", cache.digest(own_state().encode(), ...))
"""

from __future__ import annotations

import os

from prtoggle.runtime import cache

_FOLDERS = ("", "edits", "integrations", "runtime", "yamlfile")
_state = ""


def own_state() -> str:
    """A key over the names, times and sizes of prtoggle's own modules."""
    global _state
    if not _state:
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        stamps = []
        for folder in _FOLDERS:
            with os.scandir(os.path.join(root, folder)) as entries:
                for entry in entries:
                    if entry.name.endswith(".py"):
                        stat = entry.stat()
                        stamps.append((folder, entry.name, stat.st_mtime_ns, stat.st_size))
        _state = cache.digest(repr(sorted(stamps)).encode("utf-8", "replace"))
    return _state
