"""One step: a revert of one release, in another. Each change is placed, all are written together, and the result is
looked at again.

Looked at again means: it compiles; names that were put in mean what they meant; the fixed code stands nowhere else
that is new; and carried back by the same means, the result is the revert that was started from.

Example::

    carry(revert, before, after)        # Carried(...) or CannotTell(...)
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from prtoggle.port.branches import Branches
from prtoggle.port.difference import Change, Hunk, difference
from prtoggle.port.equal import alike_texts
from prtoggle.port.fragments import Untellable
from prtoggle.port.names import dangling, missing
from prtoggle.port.placing import Placer
from prtoggle.port.sheet import Sheet
from prtoggle.port.site import Site
from prtoggle.port.syntax import Parsed, Statement, Unit, key, names_in, parsed_text
from prtoggle.port.values import CannotTell, Carried, Revert, Step, Texts, Tree
from prtoggle.port.whereabouts import Home, Release, release_of


def carry(revert: Revert, before: Tree, after: Tree) -> Carried | CannotTell:
    """``revert``, which stands in ``before``, in ``after``."""
    return carried(revert, release_of(before), release_of(after))


def carried(revert: Revert, before: Release, after: Release) -> Carried | CannotTell:
    """As :func:`carry`, for releases that remember what they parsed."""
    answer = _once(revert, before, after)
    if isinstance(answer, CannotTell):
        return answer
    back = _once(answer.revert, after, before)
    if isinstance(back, Carried) and not alike_texts(revert.modules, back.revert.modules):
        reason = "carried back, the proposal is not the revert that it was made from"
        return CannotTell(reason, answer.steps[0].before, answer.steps[0].after, after.label, answer.steps)
    return answer


def _once(revert: Revert, before: Release, after: Release) -> Carried | CannotTell:
    return _Carrying(revert, before, after).answer()


@dataclass(frozen=True)
class _Placed:
    """One change on a sheet, with what is needed to look at it again."""

    change: Change
    site: Site
    reverted: Parsed


class _Carrying:
    def __init__(self, revert: Revert, before: Release, after: Release) -> None:
        self.revert, self.before, self.after = revert, before, after
        self.sheets: dict[str, Sheet] = {}
        self.steps: list[Step] = []
        self.placed: list[_Placed] = []
        self.sites: dict[tuple[Unit, Unit], Site] = {}
        self.where = ""
        self.there: Parsed | None = None
        self.put: set[str] = set()

    def answer(self) -> Carried | CannotTell:
        try:
            for texts in self.revert.modules:
                self._module(texts)
            modules = tuple(self._written(name, sheet) for name, sheet in sorted(self.sheets.items()))
        except Untellable as error:
            nearest = self._passage(error.nearest) if error.nearest else ""
            return CannotTell(error.reason, self.where, nearest, self.after.label, tuple(self.steps))
        return Carried(Revert(self.after.label, modules), tuple(self.steps))

    def _passage(self, line: int) -> str:
        """A line of the other release, to look at."""
        if self.there is None:
            return f"line {line}"
        return f"{self.there.module}:{line}: {self.there.source.line(line).strip()}"

    def _module(self, texts: Texts) -> None:
        self.where = f"{self.before.label} {texts.module}"
        try:
            fixed = self.before.parsed_as(texts.module, texts.fixed)
            reverted = parsed_text(texts.module, texts.reverted)
        except (SyntaxError, ValueError, RecursionError) as error:
            raise Untellable(f"{texts.module} does not parse: {error}") from error
        changes = difference(fixed, reverted)
        if not changes:
            raise Untellable("the revert changes no syntax")
        self.put = {key(node) for change in changes for put in _put(change) for node in _statements_in(put)}
        by_unit: dict[Unit, list[Change]] = {}
        for change in changes:
            by_unit.setdefault(change.unit, []).append(change)
        changed = {statement for change in changes for statement in _statements(change)}
        for unit, mine in by_unit.items():
            self.where = f"{self.before.label} {texts.module}:{unit.qualname}:{mine[0].line}"
            self.there = None
            home = self.after.home(unit, self.before)
            self.there = home.unit.module
            site = self._site(unit, home.unit)
            known = set(names_in(unit.node)) if not unit.is_body else unit.module.identifiers.keys()
            introduced = {name for change in mine for node in _put(change) for name in names_in(node)} - known
            site.aligned.forget(introduced, changed)
            rest = self._branches(mine, home, site, reverted)
            for change in rest:
                self._change(change, home, site, reverted, changed)

    def _branches(self, mine: Sequence[Change], home: Home, site: Site, reverted: Parsed) -> list[Change]:
        """Place what moved into branches or out of them; the changes that are left."""
        done: set[int] = set()
        for handled in Branches(site, self._sheet(home.unit.module), self.after.function).handle(mine):
            done |= {id(change) for change in handled.changes}
            hows = ", ".join(dict.fromkeys((*home.how, handled.how)))
            for change in handled.changes:
                self.placed.append(_Placed(change, site, reverted))
            after = f"{self.after.label} {home.unit.module.module}:{home.unit.qualname}:{handled.at.line}"
            first = handled.changes[0]
            before = f"{self.before.label} {first.unit.module.module}:{first.unit.qualname}:{first.line}"
            self.steps.append(Step(before, after, hows, f"{home.why}; {handled.why}"))
        return [change for change in mine if id(change) not in done]

    def _change(self, change: Change, home: Home, site: Site, reverted: Parsed, changed: set[Statement]) -> None:
        unit = change.unit
        self.where = f"{self.before.label} {unit.module.module}:{unit.qualname}:{change.line}"
        try:
            at, how = self._try(change, site, reverted, changed)
        except Untellable as error:
            found = self._in_a_helper(change, home, site, reverted, changed)
            if found is None:
                raise error
            home, site, at, how = found
        hows = (*home.how, *how) or ("same place",)
        self._nowhere_else(change, site)
        self.placed.append(_Placed(change, site, reverted))
        after = f"{self.after.label} {site.new.module.module}:{at.unit.qualname}:{at.line}"
        self.steps.append(Step(self.where, after, ", ".join(dict.fromkeys(hows)), home.why + "; " + _why(site, at)))

    def _try(
        self, change: Change, site: Site, reverted: Parsed, changed: set[Statement]
    ) -> tuple[Statement, tuple[str, ...]]:
        sheet = self._sheet(site.new.module)
        mark = sheet.mark()
        try:
            return Placer(site, reverted, sheet, changed, self.after.function, self._is_new, self.put).place(change)
        except Untellable:
            sheet.back_to(mark)
            raise

    def _is_new(self, unit: Unit) -> bool:
        return not self.before.has(unit.module.module, unit.qualname)

    def _in_a_helper(
        self, change: Change, home: Home, site: Site, reverted: Parsed, changed: set[Statement]
    ) -> tuple[Home, Site, Statement, tuple[str, ...]] | None:
        """The change in a function that is new, that the unit calls now, and that holds statements of it."""
        found: list[tuple[Home, Site, Statement, tuple[str, ...]]] = []
        for helper in self.after.new_functions(site.new.module.module, self.before, change.unit.module):
            if helper is site.new or not site.new.bag[helper.name] or change.unit.bag[helper.name]:
                continue
            inner = self._site(change.unit, helper)
            try:
                at, how = self._try(change, inner, reverted, changed)
            except Untellable:
                continue
            why = f"{helper.qualname} is new, is called by {site.new.qualname}, and holds statements that stood there"
            found.append((Home(helper, ("moved into a helper",), why), inner, at, how))
        return found[0] if len(found) == 1 else None

    def _site(self, old: Unit, new: Unit) -> Site:
        """Each pair of units is aligned once."""
        if (old, new) not in self.sites:
            self.sites[old, new] = Site(old, new)
        return self.sites[old, new]

    def _sheet(self, parsed: Parsed) -> Sheet:
        if parsed.module not in self.sheets:
            self.sheets[parsed.module] = Sheet(parsed)
        return self.sheets[parsed.module]

    def _nowhere_else(self, change: Change, site: Site) -> None:
        """The fixed code stands in no function that is new beside the one that the change was placed in."""
        if site.new.is_body:
            return
        telling = [s.head for s in _statements(change) if s.size >= 6]
        for other in self.after.new_functions(site.new.module.module, self.before, site.old.module):
            if other is not site.new and any(other.words[head] for head in telling):
                raise Untellable(
                    f"{other.qualname} is new and holds the same fixed code",
                    other.node.lineno,  # type: ignore[attr-defined]
                )

    def _written(self, name: str, sheet: Sheet) -> Texts:
        text = sheet.written()
        fixed = sheet.parsed.source.text
        try:
            _compiled(text)
            result = parsed_text(name, text)
        except (SyntaxError, ValueError) as error:
            raise Untellable(f"the result does not compile: {error}") from error
        if key(result.tree) == key(sheet.parsed.tree):
            raise Untellable("it says already what the revert makes it say")
        for each in self.placed:
            if each.site.new.module is not sheet.parsed:
                continue
            reason = missing(
                _put(each.change), each.site.old, each.site.new, each.site.aligned.rename, each.reverted, result
            )
            if reason:
                raise Untellable(reason)
        reason = dangling(sheet.parsed, result)
        if reason:
            raise Untellable(reason)
        return Texts(name, fixed, text)


@lru_cache(maxsize=24)
def _compiled(text: str) -> None:
    """Raises what :func:`compile` raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile(text, "<proposed>", "exec", dont_inherit=True)


def _statements(change: Change) -> Sequence[Statement]:
    if not isinstance(change, Hunk):
        return [change.statement]
    return [each for old in change.statements for each in (old, *old.inside())]


def _statements_in(node: ast.AST) -> list[ast.AST]:
    kept = (ast.Pass, ast.Break, ast.Continue)
    return [each for each in ast.walk(node) if isinstance(each, ast.stmt) and not isinstance(each, kept)]


def _put(change: Change) -> Iterable[ast.AST]:
    if isinstance(change, Hunk):
        return change.put
    return [node for piece in change.pieces for node in (piece.new if isinstance(piece.new, tuple) else (piece.new,))]


def _why(site: Site, at: Statement) -> str:
    old = site.aligned.back.get(at)
    if old is None:
        return "its statements are the same"
    words = "says the same" if old.head == at.head else "says the same but for what changed around it"
    return f"the statement at line {at.line} {words}, and stands between the same neighbours"
