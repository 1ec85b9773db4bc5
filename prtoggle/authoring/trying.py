"""A new reverse patch, tried: in the package that it was made from, part by part and all together, and in releases.

Contract: pure apart from reading packages' files. In the package it was made from it must give the older text's syntax
tree, and nothing else; in another release, each definition that is the same there must come out the same.

Example::

    report = tried(fix, change, [Subject(...), ...])
    report.exit_code        # 1 where it does not apply to something that holds the fix
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from prtoggle.authoring.change import Change, Pair
from prtoggle.check import Subject
from prtoggle.edits.scope import Scope, resolve
from prtoggle.edits.text import SourceText
from prtoggle.errors import PrtoggleError, RefusedError
from prtoggle.plan import Plan, decisions
from prtoggle.proposal.carrying import plan_of
from prtoggle.refusals import refusal_of
from prtoggle.sources import Module, Sources
from prtoggle.spec import Fix
from prtoggle.trees import REST, changed
from prtoggle.verdict import Decision, Verdict

SAME_BYTES, SAME_TREE, OTHER = "byte for byte", "same syntax tree", "another text there"


@dataclass(frozen=True)
class Definition:
    """One changed definition, and how what comes out compares with the older text."""

    module: str
    name: str
    result: str


@dataclass(frozen=True)
class Seen:
    """What one part meets in one release."""

    release: str
    version: str
    part: str
    verdict: str
    healthy: bool
    reason: str
    nearest: str = ""
    hint: str = ""
    definitions: tuple[Definition, ...] = ()


@dataclass(frozen=True)
class Tried:
    """All that was seen; releases that could not be had are ``gone``."""

    seen: tuple[Seen, ...]
    gone: tuple[Subject, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 where it does not apply to something that holds it, 4 where a release could not be had, else 0."""
        return 1 if any(not each.healthy for each in self.seen) else 4 if self.gone else 0


def proven(fix: Fix, change: Change) -> tuple[Seen, ...]:
    """What every part gives in the package that the fix was made from.

    Raises:
        RefusedError: it does not apply there, or gives anything but the older text.
    """
    sources = Sources(change.home)
    table = decisions(fix, sources)
    names = tuple(fix.parts)
    for decision in table.values():
        if decision.verdict is not Verdict.APPLIES:
            raise refusal_of(decision)
    whole = _reverted(plan_of(fix, names, sources))
    for pair in change.pairs:
        got = whole.pop(pair.module, None)
        if got is None or ast.dump(ast.parse(got)) != ast.dump(pair.reverted.tree):
            raise RefusedError(
                f"{pair.module}: what was written does not give the older text",
                page="guides/write-a-reverse-patch#what-cannot-be-taken-out",
            )
    if whole:
        raise RefusedError(
            f"what was written changes {', '.join(whole)} as well",
            page="guides/write-a-reverse-patch#what-cannot-be-taken-out",
        )
    found = []
    for part in names:
        plan = plan_of(fix, (part,), sources)
        found.append(_seen(table[part], change.label, _compared(change, plan, sources)))
    return tuple(found)


def tried(fix: Fix, change: Change, subjects: Sequence[Subject]) -> Tried:
    """What every part meets in releases."""
    seen: list[Seen] = []
    for subject in subjects:
        if subject.package is None:
            continue
        sources = Sources(subject.package)
        table = decisions(fix, sources)
        for part, decision in table.items():
            definitions: tuple[Definition, ...] = ()
            if decision.verdict is Verdict.APPLIES:
                try:
                    definitions = _compared(change, plan_of(fix, (part,), sources), sources)
                except PrtoggleError as error:
                    where = subject.label
                    seen.append(Seen(where, subject.version, part, "conflict", False, error.what, "", error.hint))
                    continue
            seen.append(_seen(decision, subject.label, definitions))
    return Tried(tuple(seen), tuple(subject for subject in subjects if subject.package is None))


def _seen(decision: Decision, label: str, definitions: tuple[Definition, ...]) -> Seen:
    error = None if decision.verdict.healthy else refusal_of(decision)
    return Seen(
        label,
        decision.package.version if decision.package.believed else "",
        decision.part,
        decision.verdict.value,
        decision.verdict.healthy,
        decision.reason,
        error.nearest if error else "",
        error.hint if error else "",
        definitions,
    )


def _reverted(plan: Plan) -> dict[str, str]:
    return {module.name: SourceText.decode(module.reverted).text for module in plan.modules}


def _compared(change: Change, plan: Plan, sources: Sources) -> tuple[Definition, ...]:
    """Each definition that the plan changes, beside the older text."""
    older = {pair.module: pair for pair in change.pairs}
    found = []
    for module in plan.modules:
        pair = older.get(module.name)
        there = sources.module(module.name)
        if pair is None or not isinstance(there, Module):
            continue
        after = SourceText(SourceText.decode(module.reverted).text)
        elsewhere = changed(pair.fixed.text, there.source.text)
        still = changed(pair.reverted.text, after.text)
        for name in changed(there.source.text, after.text):
            if name not in still:
                alike = not name.endswith(REST) and _same_lines(after, pair, name)
                found.append(Definition(module.name, name, SAME_BYTES if alike else SAME_TREE))
            elif name in elsewhere or not name.endswith(REST):
                # Of what is left of a module or class, a part alone may take out a piece.
                found.append(Definition(module.name, name, OTHER))
    return tuple(found)


def _same_lines(after: SourceText, pair: Pair, name: str) -> bool:
    texts = []
    for source in (after, pair.reverted):
        scope = resolve(source, name)
        if not isinstance(scope, Scope):
            return not isinstance(resolve(pair.reverted, name), Scope)
        texts.append([source.line(number) for number in range(scope.first, scope.last + 1)])
    return texts[0] == texts[1]
