"""What runs is what you see: the reverted text of a module for everything that asks Python for source lines (rule 5).

Tracebacks, ``inspect``, ``pdb``, TorchScript, Triton and ``torch.compile`` get lines from :mod:`linecache`, which
reads the file on disk and is cleared at will (torch does). So ``linecache.updatecache``, the one function through
which a missing entry is filled, answers for the registered files with the reverted text, and for all others as
before.

Up to Python 3.12 the interpreter's own printers of uncaught exceptions read the disk themselves; they are replaced,
where nobody replaced them before, by ones that go through :mod:`traceback`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing costs milliseconds to import
if TYPE_CHECKING:
    from types import ModuleType, TracebackType
    from typing import Any

MODULES = ("linecache", "threading")
"""Modules to :func:`adopt` as soon as they are loaded: importing them for this would cost milliseconds."""

_texts: dict[str, bytes] = {}


def register(file: str, reverted: bytes) -> None:
    """Show ``reverted`` wherever the lines of ``file`` are asked for."""
    _texts[file] = reverted
    linecache = sys.modules.get("linecache")
    if linecache is not None:
        getattr(linecache, "cache", {}).pop(file, None)  # it may be the module that is being loaded


def unregister(file: str) -> None:
    """Show the lines of ``file`` as they are on disk."""
    if _texts.pop(file, None) is not None:
        linecache = sys.modules.get("linecache")
        if linecache is not None:
            getattr(linecache, "cache", {}).pop(file, None)


def registered(file: str) -> bytes | None:
    """The reverted text of ``file``, or None."""
    return _texts.get(file)


def adopt(module: ModuleType) -> None:
    """Make ``module``, one of :data:`MODULES`, show reverted text. A second time changes nothing."""
    if module.__name__ == "linecache":
        _adopt_linecache(module)
    elif sys.version_info < (3, 13):
        _adopt_threading(module)


def install_printers() -> None:
    """Replace the printers of uncaught exceptions that read the disk (up to Python 3.12) where they are Python's
    own."""
    if sys.version_info >= (3, 13):
        return
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _print_uncaught
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _print_unraisable


def _adopt_linecache(linecache: Any) -> None:
    original = linecache.updatecache
    if hasattr(original, "_prtoggle"):
        return

    def updatecache(filename: str, module_globals: dict[str, object] | None = None) -> list[str]:
        data = _texts.get(filename)
        if data is None:
            found: list[str] = original(filename, module_globals)
            return found
        lines = _lines(data)
        linecache.cache[filename] = (len(data), None, lines, filename)
        return lines

    updatecache.__wrapped__ = original  # type: ignore[attr-defined]
    updatecache._prtoggle = True  # type: ignore[attr-defined]
    linecache.updatecache = updatecache
    for file in _texts:
        linecache.cache.pop(file, None)


def _lines(data: bytes) -> list[str]:
    """Source bytes as lines, the way linecache reads a file: its encoding cookie, universal newlines."""
    import io
    import tokenize

    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    lines = io.TextIOWrapper(io.BytesIO(data), encoding).readlines()
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return lines


def _adopt_threading(threading: Any) -> None:
    if threading.excepthook is not getattr(threading, "__excepthook__", None):
        return

    def excepthook(args: Any) -> None:
        if args.exc_type is SystemExit or sys.stderr is None:
            return
        import traceback

        name = args.thread.name if args.thread is not None else threading.get_ident()
        text = f"Exception in thread {name}:\n"
        text += "".join(traceback.format_exception(args.exc_type, args.exc_value, args.exc_traceback))
        sys.stderr.write(text)
        sys.stderr.flush()

    threading.excepthook = excepthook


def _print_uncaught(kind: type[BaseException], value: BaseException, where: TracebackType | None) -> None:
    import traceback

    traceback.print_exception(kind, value, where)


def _print_unraisable(args: sys.UnraisableHookArgs) -> None:
    if sys.stderr is None:
        return
    import traceback

    print(f"{args.err_msg or 'Exception ignored in'}: {args.object!r}", file=sys.stderr)
    traceback.print_exception(args.exc_type, args.exc_value, args.exc_traceback)
