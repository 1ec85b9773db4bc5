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

from prtoggle.errors import RefusedError
from prtoggle.runtime import compilers, dynamo, functions, gate, journal, targets, toggled
from prtoggle.runtime.targets import Wanted
from prtoggle.runtime.toggled import Event, on_toggle
from prtoggle.runtime.versions import Toggle, Versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from prtoggle.runtime.change import Change

_HINT = "restart the process with PRTOGGLE_REVERT={} set"

_lock = RLock()
_modules: dict[str, Versions] = {}
_texts: dict[str, bytes] = {}
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
    _exchange(texts, result, selected, timeout, force)
    for plan in plans:
        targets.put_in_force(plan)
        fresh = {part: _since.get(plan.package, {}).get(part) for part in after.get(plan.package, {})}
        _since[plan.package] = {
            part: known or (after[plan.package][part], time.time()) for part, known in fresh.items()
        }
    _taken.difference_update(back)
    between = [each for each in texts if each[1] not in _texts and _other(each[0], each[3])]
    if between:  # imported by another thread meanwhile
        _exchange(between, result, selected, timeout, force)
    result["modules"] = tuple(name for name, _, _, _ in texts)
    toggled.say(result, plans)
    toggled.write(result, plans, texts)
    toggled.tell(result, baked_in)
    return result


def _other(name: str, text: bytes) -> bool:
    """Whether module ``name`` was loaded from another text."""
    return targets.loaded_text(name) not in (None, text)


def _wanted_texts(plans: list[Wanted]) -> list[tuple[str, str, bytes, bytes]]:
    """Name, file, original and wanted text of every module that is, or was, other than its original."""
    found = []
    for plan in plans:
        for name, (file, base, text) in plan.texts.items():
            found.append((name, file, base, text))
        for name, (file, base) in targets.reverted_modules(plan.package, _modules).items():
            if name not in plan.texts:
                found.append((name, file, base, base))
    return found


def _exchange(
    texts: list[tuple[str, str, bytes, bytes]], result: dict[str, Any], selected: str, timeout: float, force: bool
) -> None:
    """Give everything alive of these modules its new code, or raise and leave all as it was."""
    alive = functions.look({file for _, file, _, _ in texts})
    alive.functions = dynamo.without_own(alive.functions)
    toggles: list[tuple[Versions, bytes, Toggle]] = []
    for name, file, base, text in texts:
        if name not in sys.modules and not any(alive.files[f.__code__.co_filename] == file for f in alive.functions):
            continue  # its import will load the text
        module = _modules.get(file)
        if module is None or module.base != base:
            module = _modules[file] = Versions(name, file, base)
        now = _texts.get(file)
        if now is None:
            now = targets.loaded_text(name) or base
        toggles.append((module, text, module.toggle(alive, now, text)))
    refusals = [reason for _, _, toggle in toggles for reason in toggle.refusals]
    spans = [(module.file, a, b) for module, _, toggle in toggles for a, b in toggle.spans]
    changed = [change for _, _, toggle in toggles for change in toggle.changed]
    moved = [change for _, _, toggle in toggles for change in toggle.moved]
    if not refusals:
        refusals += compilers.refusals([change.function for change in changed], spans, alive)
    inlined = dynamo.methods([change.function for change in changed], alive)
    afresh = dynamo.Afresh() if inlined or (len(changed) > 1 and dynamo.used()) else None
    if afresh is not None and inlined and not force and not dynamo.alone():
        refusals += afresh.refusals(inlined)
    suspended = [words for _, _, toggle in toggles for words in toggle.suspended]
    if suspended and not force:
        refusals += [f"{words}, in code that is to change; let it end first, or use force" for words in suspended]
    if refusals:
        hint = _HINT.format(selected)
        what = "this cannot be changed while the process runs; nothing changed"
        if len(refusals) == 1:
            raise RefusedError(f"{what}: {refusals[0]}", hint=hint)
        raise RefusedError("\n".join((f"{what}:", *(f"  {reason}" for reason in refusals))), hint=hint)
    done = _set(changed, moved, alive, afresh, result, timeout, force)
    late: list[Change] = []
    left: list[str] = []
    if any(toggle.inner for _, _, toggle in toggles):
        late, left = _late(toggles)
    for module, text, _ in toggles:
        if sys.version_info >= (3, 13):
            module.move_classes(alive, _texts.get(module.file) or targets.loaded_text(module.name) or module.base, text)
        _texts[module.file] = text
    cleared = functions.clear([change.function for change in (*changed, *late)], alive)
    if changed or moved:
        cleared += _start_afresh(afresh)
    result["functions"] = len(changed) + len(late)
    result["pause"] = done.pause
    result["cleared"] = tuple(cleared)
    result["left"] = tuple(dict.fromkeys((*suspended, *done.suspended, *done.where, *left)))


def _set(
    changed: list[Change],
    moved: list[Change],
    alive: functions.Alive,
    afresh: dynamo.Afresh | None,
    result: dict[str, Any],
    timeout: float,
    force: bool,
) -> gate.Exchanged:
    """Through the gate, with what torch.compile inlined them into, where it is in the way."""
    callers: list[Change] = []
    usable = afresh is not None and not afresh.problem and not dynamo.alone()
    if usable and afresh is not None:
        for change in (*changed, *moved):
            change.code = afresh.renewed(change.code)
        callers = afresh.changes({id(change.function) for change in (*changed, *moved)})
        callers += [change for change in moved if afresh.compiled(change.function)]
        moved = [change for change in moved if not afresh.compiled(change.function)]
    if dynamo.whole_graphs(alive):
        done = gate.exchange((), plain=[*changed, *callers, *moved], timeout=timeout, force=force)
        if len(changed) > 1:
            said = "set without a gate, since torch.compile with fullgraph cannot look at one: a call may have met both"
            result["warnings"] = (said,)
    elif usable and afresh is not None:
        both = [*changed, *callers]
        done = gate.exchange(both, plain=moved, timeout=timeout, force=force, also=afresh.inside, skip=afresh.skip)
    else:
        done = gate.exchange(changed, plain=moved, timeout=timeout, force=force)
    return done


def _start_afresh(afresh: dynamo.Afresh | None) -> list[str]:
    """Have torch.compile drop what it made: all of it where nobody runs it, else what ``afresh`` found. A function that
    was made or compiled since is set now."""
    cleared = dynamo.reset()
    if afresh is None or cleared:
        return cleared
    if afresh.problem:
        return []
    late = afresh.changes(())
    if late:
        gate.exchange((), plain=late)
    afresh.done()
    for module in _modules.values():
        module.forget()
    return [dynamo.CLEARED]


def _late(toggles: list[tuple[Versions, bytes, Toggle]]) -> tuple[list[Change], list[str]]:
    """Closures that old code made between the look and the exchange, and what of them cannot be changed. The old code
    is left by now, so no more come."""
    late: list[Change] = []
    left: list[str] = []
    alive = functions.look({module.file for module, _, _ in toggles})
    alive.functions = dynamo.without_own(alive.functions)
    for module, text, _ in toggles:
        again = module.toggle(alive, text, text)
        late += [*again.changed, *again.moved]
        left += again.refusals
    if late:
        gate.exchange((), plain=late)
    return late, left


def _forked() -> None:
    global _lock
    _lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)

__all__ = ["Event", "on_toggle", "restore", "revert", "reverted", "status"]
