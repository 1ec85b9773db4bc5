"""Gives everything alive of some modules the code of another text, or says why not and leaves all as it was.

Example::

    exchange([("app.core", "/site-packages/app/core.py", original, wanted)], result, "27360", timeout, force)
    running["/site-packages/app/core.py"] == wanted
"""

from __future__ import annotations

import sys

from prtoggle.errors import RefusedError
from prtoggle.runtime import compilers, dynamo, functions, gate, targets
from prtoggle.runtime.versions import Toggle, Versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from prtoggle.runtime.change import Change
    from prtoggle.runtime.midway import Midway

_HINT = "restart the process with PRTOGGLE_REVERT={} set"

modules: dict[str, Versions] = {}
"""File -> its module and the texts that it was to run so far."""
running: dict[str, bytes] = {}
"""File -> the text that what is alive of it runs, where it was ever toggled."""


def exchange(
    texts: list[tuple[str, str, bytes, bytes]],
    result: dict[str, Any],
    selected: str,
    timeout: float,
    force: bool,
    midway: Midway | None = None,
) -> None:
    """Give everything alive of these modules its new code, or raise and leave all as it was."""
    alive = functions.look({file for _, file, _, _ in texts})
    alive.functions = dynamo.without_own(alive.functions)
    toggles: list[tuple[Versions, bytes, Toggle]] = []
    for name, file, base, text in texts:
        if name not in sys.modules and not any(alive.files[f.__code__.co_filename] == file for f in alive.functions):
            continue  # its import will load the text
        module = modules.get(file)
        if module is None or module.base != base:
            module = modules[file] = Versions(name, file, base)
        now = running.get(file)
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
            raise RefusedError(f"{what}: {refusals[0]}", hint=hint, page=gate.PAGE)
        raise RefusedError("\n".join((f"{what}:", *(f"  {reason}" for reason in refusals))), hint=hint, page=gate.PAGE)
    if midway is not None:
        midway.changes, midway.files = [*changed, *moved], {module.file for module, _, _ in toggles}
    done = _set(changed, moved, alive, afresh, result, timeout, force)
    late: list[Change] = []
    left: list[str] = []
    if any(toggle.inner for _, _, toggle in toggles):
        late, left = _late(toggles)
    for module, text, _ in toggles:
        if sys.version_info >= (3, 13):
            module.move_classes(
                alive, running.get(module.file) or targets.loaded_text(module.name) or module.base, text
            )
        running[module.file] = text
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
    for module in modules.values():
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
