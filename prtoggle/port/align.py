"""Two units' statements, aligned: which statement of the one release each statement of the other became.

In order and regardless of depth; then what is left and stands only once on either side has moved. From what is
aligned follows which identifiers were renamed: those that became the same other one wherever they stand.

Example::

    aligned = Alignment(before.unit("f"), after.unit("g"))
    aligned.of[statement]                  # a statement of g
    aligned.renames[("n", "count")]        # "total"
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from typing import Any

from prtoggle.port.syntax import Name, Statement, Unit, key, names_in

_ALIKE = 0.45
_CELLS = 600_000
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign)


class Alignment:
    """See the module. ``of`` and ``back`` map statements by identity."""

    def __init__(self, old: Unit, new: Unit) -> None:
        self.old, self.new = old, new
        self.of: dict[Statement, Statement] = {}
        self.back: dict[Statement, Statement] = {}
        self.moved: set[Statement] = set()
        self._shapes: dict[Statement, str] = {}
        self._seen_in: dict[Name, set[Statement]] = {}
        self._rows(old.statements, new.statements)
        self._left_over()
        self.renames = self._renames()

    def forget(self, introduced: set[Name], changed: set[Statement]) -> None:
        """Drop renames that are not certain: to what the revert introduces, or seen where the revert changes alone."""
        self.renames = {
            old: new
            for old, new in self.renames.items()
            if (old[0], new) not in introduced and not self._seen_in[old] <= changed
        }

    def rename(self, name: Name) -> str:
        """What the identifier is called now."""
        return self.renames.get(name, name[1])

    def same_head(self, old: Statement, new: Statement) -> bool:
        """Whether two heads are the same but for renames."""
        if old.head == new.head:
            return True
        return not old.opaque and key(old.node, self.rename, head=True) == new.head

    def same_whole(self, old: Statement, new: Statement) -> bool:
        """Whether two statements are the same, with all they hold, but for renames."""
        return old.whole == new.whole or key(old.node, self.rename) == new.whole

    def _join(self, old: Statement, new: Statement) -> None:
        self.of[old], self.back[new] = new, old

    def _rows(self, olds: Sequence[Statement], news: Sequence[Statement]) -> None:
        first, last_old, last_new = 0, len(olds), len(news)
        while first < min(last_old, last_new) and olds[first].head == news[first].head:
            self._join(olds[first], news[first])
            first += 1
        while first < min(last_old, last_new) and olds[last_old - 1].head == news[last_new - 1].head:
            last_old, last_new = last_old - 1, last_new - 1
            self._join(olds[last_old], news[last_new])
        olds, news = olds[first:last_old], news[first:last_new]
        if not olds or not news:
            return
        if len(olds) * len(news) > _CELLS:
            cut = self._anchors(olds, news)
            for (i1, j1), (i2, j2) in zip([(-1, -1), *cut], [*cut, (len(olds), len(news))], strict=True):
                self._table(olds[i1 + 1 : i2], news[j1 + 1 : j2])
            for i, j in cut:
                self._join(olds[i], news[j])
        else:
            self._table(olds, news)

    def _anchors(self, olds: Sequence[Statement], news: Sequence[Statement]) -> list[tuple[int, int]]:
        """Pairs of heads that stand once on either side, in order (the longest such row)."""
        counts = Counter(s.head for s in olds), Counter(s.head for s in news)
        places = {s.head: j for j, s in enumerate(news) if counts[1][s.head] == 1}
        found = [(i, places[s.head]) for i, s in enumerate(olds) if counts[0][s.head] == 1 and s.head in places]
        best: list[int] = []
        back: list[int] = []
        for at, (_, j) in enumerate(found):
            earlier = [k for k in range(at) if found[k][1] < j]
            chosen = max(earlier, key=lambda k: best[k], default=-1)
            back.append(chosen)
            best.append(1 + (best[chosen] if chosen >= 0 else 0))
        at = max(range(len(found)), key=lambda k: best[k], default=-1)
        row = []
        while at >= 0:
            row.append(found[at])
            at = back[at]
        return row[::-1]

    def _table(self, olds: Sequence[Statement], news: Sequence[Statement]) -> None:
        if not olds or not news or len(olds) * len(news) > 4 * _CELLS:
            return
        score = [[self._score(olds, i, news, j) for j in range(len(news))] for i in range(len(olds))]
        best = [[0.0] * (len(news) + 1) for _ in range(len(olds) + 1)]
        for i in range(len(olds) - 1, -1, -1):
            row, below, points = best[i], best[i + 1], score[i]
            for j in range(len(news) - 1, -1, -1):
                value = below[j] if below[j] > row[j + 1] else row[j + 1]
                if points[j] > 0 and points[j] + below[j + 1] > value:
                    value = points[j] + below[j + 1]
                row[j] = value
        i = j = 0
        while i < len(olds) and j < len(news):
            if score[i][j] > 0 and best[i][j] == score[i][j] + best[i + 1][j + 1]:
                self._join(olds[i], news[j])
                i, j = i + 1, j + 1
            elif best[i][j] == best[i + 1][j]:
                i += 1
            else:
                j += 1

    def _score(self, olds: Sequence[Statement], i: int, news: Sequence[Statement], j: int) -> float:
        old, new = olds[i], news[j]
        weight = 0.2 + min(old.size, 12) / 12
        if old.head == new.head:
            near = 0.05 * (i > 0 and j > 0 and olds[i - 1].head == news[j - 1].head)
            near += 0.05 * (i + 1 < len(olds) and j + 1 < len(news) and olds[i + 1].head == news[j + 1].head)
            near += 0.05 * (old.parent is not None and new.parent is not None and old.parent.head == new.parent.head)
            return weight + near
        if not _comparable(old.node, new.node) or old.opaque:
            return 0.0
        shared = 0
        other = new.words
        for word, count in old.words.items():
            there = other.get(word, 0)
            shared += count if count < there else there
        alike = 2 * shared / max(old.size + new.size, 1)
        if alike < _ALIKE and self._shape(old) == self._shape(new) and old.size > 3:
            alike = _ALIKE
        if alike < _ALIKE and self._same_frame(old, new):
            alike = _ALIKE
        return weight * alike * alike * 0.8 if alike >= _ALIKE else 0.0

    def _same_frame(self, old: Statement, new: Statement) -> bool:
        """Whether what a statement is for is the same: what it assigns to, what it begins with, where it ends."""
        if isinstance(old.node, ast.Assign) and isinstance(new.node, ast.Assign):
            return [key(each) for each in old.node.targets] == [key(each) for each in new.node.targets]
        if isinstance(old.node, (ast.If, ast.While, ast.For, ast.With)):
            one, other = old.blocks.get("body"), new.blocks.get("body")
            return bool(one and other and one[0].size > 2 and one[0].head == other[0].head)
        return isinstance(old.node, ast.Return) and old.size > 3 and old.parent is not None and old is old.siblings[-1]

    def _shape(self, statement: Statement) -> str:
        if statement not in self._shapes:
            self._shapes[statement] = key(statement.node, lambda name: "_", head=True)
        return self._shapes[statement]

    def _left_over(self) -> None:
        olds = [s for s in self.old.statements if s not in self.of]
        news = [s for s in self.new.statements if s not in self.back]
        counts = Counter(s.head for s in olds), Counter(s.head for s in news)
        places = {s.head: s for s in news}
        for old in olds:
            if old.size >= 4 and counts[0][old.head] == 1 == counts[1][old.head]:
                self._join(old, places[old.head])
                self.moved.add(old)

    def _renames(self) -> dict[Name, str]:
        became: dict[Name, Counter[str]] = {}
        for old, new in self.of.items():
            if old.opaque or new.opaque or self._shape(old) != self._shape(new):
                for one in () if old.opaque else names_in(old.node, head=True):
                    became.setdefault(one, Counter())[""] += 0
                continue
            pairs = zip(names_in(old.node, head=True), names_in(new.node, head=True), strict=True)
            for one, other in pairs:
                became.setdefault(one, Counter())[other[1]] += 1
                self._seen_in.setdefault(one, set()).add(old)
        present = {name for s in self.new.statements if not s.opaque for name in names_in(s.node, head=True)}
        sources = set(became)
        renames: dict[Name, str] = {}
        for (kind, text), counts in became.items():
            seen = [other for other, count in counts.items() if count]
            if len(seen) != 1 or seen[0] == text:
                continue
            # A name that is still there under its old text, or whose new text was already another's, is not renamed.
            if (kind, text) in present or (kind, seen[0]) in sources:
                continue
            renames[kind, text] = seen[0]
        taken = Counter((kind, new) for (kind, _), new in renames.items())
        return {old: new for old, new in renames.items() if taken[old[0], new] == 1}


def _comparable(old: Any, new: Any) -> bool:
    return type(old) is type(new) or (isinstance(old, _ASSIGNMENTS) and isinstance(new, _ASSIGNMENTS))
