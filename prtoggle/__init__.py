"""Takes a merged fix back out of an installed Python package, at run time, in every process, with no file changed.

In a running process::

    with prtoggle.reverted("27360"):
        ...

This module is imported inside the target's processes: it imports nothing until one of its functions is asked for.
(PYTEST_DONT_REWRITE: pytest takes all of a distribution with a plugin for part of it, and warns where it is loaded.)
"""

__version__ = "0.1.0"

_LIVE = ("on_toggle", "restore", "revert", "reverted", "status")


def __getattr__(name: str) -> object:
    if name not in _LIVE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    live = importlib.import_module("prtoggle.runtime.live")
    for each in _LIVE:
        globals()[each] = getattr(live, each)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_LIVE})
