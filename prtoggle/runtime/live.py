"""Takes fixes out of the running process, and puts them back.

The state is a set of parts. Whatever it was and is to be, each module's text is made from its original text and the
set, so that the order of reverts and restores means nothing. All modules change together or none does; what cannot be
had while the process runs is refused by name, with the reason.

Example::

    with live.reverted("27360"):      # prtoggle.reverted
        ...
    live.status()["parts"]
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from _thread import RLock

from prtoggle.errors import PrtoggleError, RefusedError
from prtoggle.runtime import exchange, journal, targets, toggled
from prtoggle.runtime.midway import Midway
from prtoggle.runtime.targets import Wanted
from prtoggle.runtime.toggled import Event, on_toggle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_lock = RLock()
_since: dict[str, dict[str, tuple[str, float]]] = {}
_blocks: dict[str, int] = {}
"""Part -> ``with`` blocks under way in which it is to be out."""
_taken: set[str] = set()
"""The parts that such a block took out and that nobody has put back since."""


def revert(selection: str, *, timeout: float = 2.0, force: bool = False) -> dict[str, Any]:
    """Take what ``selection`` names out of this process.

    Args:
        timeout: seconds to wait for threads to leave the code that changes.
        force: change it although threads, generators or coroutines are inside old code and will end in it.

    Returns:
        ``reverted``, ``restored`` (parts), ``already`` (parts that were out), ``modules``, ``functions``, ``pause``
        (seconds), ``cleared``, ``left`` (what ends in old code), ``warnings``.

    Raises:
        PrtoggleError: nothing has changed.
    """
    with _lock:
        before = _in_force()
        asked = targets.resolve(selection)
        parts = tuple(dict.fromkeys(part for each in asked for part in each.parts))
        if not parts:
            raise RefusedError(
                f"nothing that {selection} names can be taken out of a package that this process can import",
                hint="prtoggle list says what applies to what is installed",
                page="choosing#what-is-named-must-be-there",
            )
        after = {package: dict(known) for package, known in before.items()}
        for each in asked:
            for part in each.parts:
                after.setdefault(each.package, {}).setdefault(part, "live")
        return _go(before, after, asked, parts, timeout, force)


def restore(selection: str = "all", *, timeout: float = 2.0, force: bool = False) -> dict[str, Any]:
    """Put what ``selection`` names back: parts that are out of this process. As :func:`revert`."""
    with _lock:
        before = _in_force()
        out = tuple(dict.fromkeys(part for known in before.values() for part in known))
        named = targets.among(selection, out)
        after = {
            package: {part: how for part, how in known.items() if part not in named}
            for package, known in before.items()
        }
        return _go(before, after, (), (), timeout, force)


@contextlib.contextmanager
def reverted(selection: str, *, timeout: float = 2.0, force: bool = False) -> Iterator[dict[str, Any]]:
    """Within the ``with`` block what ``selection`` names is out; behind it, what was in before is back. Where blocks
    overlap, the last that is left puts it back."""
    with _lock:
        done = revert(selection, timeout=timeout, force=force)
        mine = (*done["reverted"], *done["already"])
        for part in mine:
            _blocks[part] = _blocks.get(part, 0) + 1
        _taken.update(done["reverted"])
    try:
        yield done
    finally:
        with _lock:
            for part in mine:
                _blocks[part] -= 1
            mine = tuple(part for part in mine if not _blocks[part] and part in _taken)
            _taken.difference_update(mine)
            if mine:
                restore(targets.written(mine), timeout=timeout, force=force)


def status() -> dict[str, Any]:
    """This process, and each part that is out of it: where, how it came out, and since when."""
    held = _lock.acquire(timeout=0.2)  # a toggle that waits for threads is not waited for: all is as it was till then
    try:
        parts = []
        for package, known in _in_force().items():
            for part, how in known.items():
                modules = targets.modules_of(package, part)
                at = _since.get(package, {}).get(part, (how, 0.0))[1]
                loaded = [name for name in modules if name in sys.modules]
                parts.append(
                    {
                        "part": part,
                        "package": package,
                        "modules": modules,
                        "loaded": loaded,
                        "how": how,
                        "since": at or None,
                    }
                )
        return {
            "pid": os.getpid(),
            "command": list(getattr(sys, "orig_argv", None) or sys.argv),
            "ranks": journal.ranks(),
            "parts": parts,
        }
    finally:
        if held:
            _lock.release()


def _in_force() -> dict[str, dict[str, str]]:
    """Package -> part -> how it came out."""
    found: dict[str, dict[str, str]] = {package: dict.fromkeys(parts, "import") for package, parts in _at_import()}
    for package, known in list(_since.items()):
        found[package] = {part: how for part, (how, _) in known.items()}
    return {package: known for package, known in found.items() if known}


def _at_import() -> Iterator[tuple[str, list[str]]]:
    """What was out when a package was imported, of packages that were not toggled since."""
    for package, parts in targets.planned_at_import().items():
        if package not in _since:
            yield package, parts


def _go(
    before: dict[str, dict[str, str]],
    after: dict[str, dict[str, str]],
    asked: tuple[Wanted, ...],
    parts: tuple[str, ...],
    timeout: float,
    force: bool,
) -> dict[str, Any]:
    """From one set of parts to another, whole or not at all."""
    plans = []
    for package in dict.fromkeys((*before, *after)):
        now, then = before.get(package, {}), after.get(package, {})
        if set(now) != set(then):
            known = next((each for each in asked if each.package == package and set(each.parts) == set(then)), None)
            plans.append(known or targets.resolve_parts(package, tuple(then)))
    out = tuple(dict.fromkeys(p for k, known in after.items() for p in known if p not in before.get(k, {})))
    back = tuple(dict.fromkeys(p for k, known in before.items() for p in known if p not in after.get(k, {})))
    result: dict[str, Any] = {
        "reverted": out,
        "restored": back,
        "already": tuple(part for part in parts if part not in out),
        "modules": (),
        "functions": 0,
        "pause": 0.0,
        "cleared": (),
        "left": (),
        "warnings": (),
    }
    if not plans:
        return result
    texts = _wanted_texts(plans)
    baked_in = targets.baked_in(plans, out, back)
    selected = targets.written(tuple(p for known in after.values() for p in known)) or "none"

    def finish() -> None:
        exchange.exchange(texts, result, selected, 0, True)
        _put_in_force(plans, after, back)

    with Midway(finish) as midway:
        exchange.exchange(texts, result, selected, timeout, force, midway)
        _put_in_force(plans, after, back)
    between = [each for each in texts if each[1] not in exchange.running and _other(each[0], each[3])]
    if between:  # imported by another thread meanwhile
        try:
            exchange.exchange(between, result, selected, timeout, force)
        except PrtoggleError:
            _go(after, before, (), (), timeout, force)
            raise
    result["modules"] = tuple(name for name, _, _, _ in texts)
    toggled.say(result, plans)
    toggled.write(result, plans, texts)
    toggled.tell(result, baked_in)
    return result


def _put_in_force(plans: list[Wanted], after: dict[str, dict[str, str]], back: tuple[str, ...]) -> None:
    """What everything alive runs by now is what holds from now on."""
    for plan in plans:
        targets.put_in_force(plan)
        known = _since.get(plan.package, {})
        then = after.get(plan.package, {})
        _since[plan.package] = {part: known.get(part) or (how, time.time()) for part, how in then.items()}
    _taken.difference_update(back)


def _other(name: str, text: bytes) -> bool:
    """Whether module ``name`` was loaded from another text."""
    return targets.loaded_text(name) not in (None, text)


def _wanted_texts(plans: list[Wanted]) -> list[tuple[str, str, bytes, bytes]]:
    """Name, file, original and wanted text of every module that is, or was, other than its original."""
    found = []
    for plan in plans:
        for name, (file, base, text) in plan.texts.items():
            found.append((name, file, base, text))
        for name, (file, base) in targets.reverted_modules(plan.package, exchange.modules).items():
            if name not in plan.texts:
                found.append((name, file, base, base))
    return found


def _forked() -> None:
    global _lock
    _lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)

__all__ = ["Event", "on_toggle", "restore", "revert", "reverted", "status"]
