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
    from types import TracebackType

_texts: dict[str, bytes] = {}
_installed = False


def register(file: str, reverted: bytes) -> None:
    """Show ``reverted`` wherever the lines of ``file`` are asked for."""
    _texts[file] = reverted
    _install()
    sys.modules["linecache"].cache.pop(file, None)


def registered(file: str) -> bytes | None:
    """The reverted text of ``file``, or None."""
    return _texts.get(file)


def _install() -> None:
    global _installed
    if _installed:
        return
    _installed = True
    import linecache

    original = linecache.updatecache

    def updatecache(filename: str, module_globals: dict[str, object] | None = None) -> list[str]:
        data = _texts.get(filename)
        if data is None:
            return original(filename, module_globals)
        lines = _lines(data)
        linecache.cache[filename] = (len(data), None, lines, filename)
        return lines

    updatecache.__wrapped__ = original  # type: ignore[attr-defined]
    linecache.updatecache = updatecache
    if sys.version_info < (3, 13):
        _replace_printers()


def _lines(data: bytes) -> list[str]:
    """Source bytes as lines, the way linecache reads a file: its encoding cookie, universal newlines."""
    import io
    import tokenize

    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    lines = io.TextIOWrapper(io.BytesIO(data), encoding).readlines()
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return lines


def _replace_printers() -> None:
    import threading
    import traceback

    if sys.excepthook is sys.__excepthook__:

        def excepthook(kind: type[BaseException], value: BaseException, where: TracebackType | None) -> None:
            traceback.print_exception(kind, value, where)

        sys.excepthook = excepthook

    if threading.excepthook is getattr(threading, "__excepthook__", None):

        def thread_excepthook(args: threading.ExceptHookArgs) -> None:
            if args.exc_type is SystemExit or sys.stderr is None:
                return
            name = args.thread.name if args.thread is not None else threading.get_ident()
            print(f"Exception in thread {name}:", file=sys.stderr)
            traceback.print_exception(args.exc_type, args.exc_value, args.exc_traceback)
            sys.stderr.flush()

        threading.excepthook = thread_excepthook

    if sys.unraisablehook is sys.__unraisablehook__:

        def unraisablehook(args: sys.UnraisableHookArgs) -> None:
            if sys.stderr is None:
                return
            print(f"{args.err_msg or 'Exception ignored in'}: {args.object!r}", file=sys.stderr)
            traceback.print_exception(args.exc_type, args.exc_value, args.exc_traceback)

        sys.unraisablehook = unraisablehook
