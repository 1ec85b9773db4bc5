"""Resolves the selection for one package, in the process that imports it: from the private store when nothing
changed, else by a resolver process of its own.

What decides the answer is in the store's key (the selection as written, the package's place, the metadata beside it,
every reverse patch that can be seen) or is compared when the answer is read back (every source file that was looked
at). A resolver process keeps PyYAML, packaging and the rest, and whatever the target's ``sys.path`` shadows them
with, out of the target.
"""

from __future__ import annotations

import marshal
import os
import sys

from prtoggle.runtime import cache, sources
from prtoggle.runtime.ownstate import own_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from prtoggle.integrations import Integration

FORMAT = b"2"
TIMEOUT = 300
_NAMES = ("python", "pypy")

_CHILD = f"""
import marshal, signal, sys
if hasattr(signal, "alarm"):
    signal.alarm({TIMEOUT})  # also where the process that asked is gone
request = marshal.loads(sys.stdin.buffer.read())
sys.path[:] = [request["home"]] + [p for p in sys.path if p != request["home"]]
sys.path.extend(p for p in request["sys_path"] if p and p not in sys.path)
from prtoggle.runtime.resolver import answer
out = marshal.dumps(answer(request))
sys.stdout.buffer.write(b"prtoggle answer\\n" + out)
"""


class Planned:
    """One module of a plan, as the loader needs it.

    ``before`` and ``after`` identify the texts (:func:`prtoggle.runtime.cache.content`); ``found`` is what the loader
    read.
    """

    __slots__ = (
        "after",
        "before",
        "edits",
        "file",
        "found",
        "name",
        "on_load",
        "on_refusal",
        "parts",
        "reverted",
        "trace",
    )

    def __init__(
        self, name: str, file: str, before: str, reverted: bytes, parts: tuple[str, ...], edits: tuple[Any, ...]
    ) -> None:
        self.name = name
        self.file = file
        self.before = before
        self.after = cache.content(reverted)
        self.found = b""
        self.reverted = reverted
        self.parts = parts
        self.edits = edits
        self.trace: Any = None
        self.on_load: Any = _nothing
        self.on_refusal: Any = _nothing


def _nothing(_: str) -> None:
    return None


def resolve(
    package: str,
    locations: list[str],
    file: str | None,
    values: dict[str, str | None],
    cwd: str,
    fix_path: str,
    integrations: tuple[Integration, ...],
) -> dict[str, Any]:
    """The answer for ``package``: ``{"refused": why}`` or ``{"parts", "label", "modules", "read", ...}`` (see the
    resolver).

    ``values`` are the selecting variables as boot saw them, ``fix_path`` is PRTOGGLE_PATH with absolute folders.
    """
    files = sources.listed(fix_path)
    registries = _registries(integrations, package, locations)
    key = _key(package, locations, file, values, cwd + "\0" + fix_path, files, registries)
    kept = cache.read("plan", key)
    if isinstance(kept, dict) and all(_unchanged(path, known) for path, known in kept["read"]):
        return kept
    answer = _ask(
        {
            "package": package,
            "locations": locations,
            "file": file,
            "values": values,
            "cwd": cwd,
            "path": fix_path,
            "sys_path": [entry if isinstance(entry, str) else os.fspath(entry) for entry in sys.path if entry],
            "home": os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
            "registries": registries,
        }
    )
    # The answer was read later than the key: where a reverse patch was edited meanwhile, it is one to another text.
    if "refused" not in answer and key == _key(
        package, locations, file, values, cwd + "\0" + fix_path, sources.listed(fix_path), registries
    ):
        cache.write("plan", key, answer)
        cache.prune()
    return answer


def _key(
    package: str,
    locations: list[str],
    file: str | None,
    values: dict[str, str | None],
    cwd: str,
    files: list[tuple[str, str]],
    registries: list[tuple[str, str]],
) -> str:
    parts = [
        FORMAT,
        own_state().encode(),
        repr((package, locations, file, values, cwd, sys.version_info[:3], sys.implementation.cache_tag)).encode(),
    ]
    for origin, path in files:
        parts.append(repr((origin, path)).encode("utf-8", "backslashreplace"))
        parts.append(_content(path))
    for name, location in registries:
        parts.append(f"{name}@{location}".encode("utf-8", "surrogateescape"))
    top = locations[0] if locations else file
    if top:
        parent = os.path.dirname(top)
        parts.append(repr(_metadata(parent, package)).encode("utf-8", "backslashreplace"))
    return cache.digest(*parts)


def _metadata(parent: str, package: str) -> list[tuple[str, str]]:
    """What of the metadata beside the package can decide its version: all folder names, and the stamps of the
    package's own."""
    found = []
    try:
        names = sorted(name for name in os.listdir(parent) if name.endswith((".dist-info", ".egg-info")))
    except OSError:
        return []
    for name in names:
        stamp = ""
        for part in ("METADATA", "RECORD"):
            try:
                stat = os.stat(os.path.join(parent, name, part))
                stamp += f"{stat.st_mtime_ns}:{stat.st_ctime_ns}:{stat.st_size};"
            except OSError:
                pass
        found.append((name, stamp))
    return found


def _content(path: str) -> bytes:
    try:
        return cache.content(sources.read(path)).encode()
    except OSError as error:
        return f"unreadable {error.errno}".encode()


def _unchanged(path: str, known: str | None) -> bool:
    if known is None:
        return not os.path.isfile(path)
    return _content(path) == known.encode()


def _registries(integrations: tuple[Integration, ...], package: str, locations: list[str]) -> list[tuple[str, str]]:
    """Where the package of each integration lies: the copy being imported, else the first on sys.path."""
    found = []
    for integration in integrations:
        if integration.package == package and locations:
            found.append((integration.package, locations[0]))
            continue
        for entry in sys.path:
            folder = os.path.join(entry or os.curdir, integration.package)
            if os.path.isfile(os.path.join(folder, "__init__.py")):
                found.append((integration.package, os.path.abspath(folder)))
                break
    return found


def _ask(request: dict[str, Any]) -> dict[str, Any]:
    name = os.path.basename(os.fsdecode(sys.executable or "")).lower()
    problem = "this process does not know its Python executable"
    if name.startswith(_NAMES):
        try:
            return _in_process_of_its_own(request)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
    try:
        from prtoggle.runtime.resolver import answer

        return answer(request)
    except Exception as error:
        what = f"the selection could not be resolved: {type(error).__name__}: {error}"
        return {"refused": f"{what} (and before that: {problem})"}


def _in_process_of_its_own(request: dict[str, Any]) -> dict[str, Any]:
    import subprocess

    env = {
        name: value
        for name, value in os.environ.items()
        if name not in request["values"] and name != "PRTOGGLE_JOURNAL"
    }
    done = subprocess.run(
        [sys.executable, "-I", "-c", _CHILD],
        input=marshal.dumps(request),
        capture_output=True,
        env=env,
        timeout=TIMEOUT,
    )
    _, mark, body = done.stdout.partition(b"prtoggle answer\n")
    if not mark:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise RuntimeError(f"the resolver process gave no answer: {' '.join(last) or done.returncode}")
    found: dict[str, Any] = marshal.loads(body)
    return found
