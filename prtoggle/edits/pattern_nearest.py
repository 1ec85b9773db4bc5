"""What in a scope looks most like a pattern that does not match there: a help for a person, never a place to edit.

Lines are ranked by the words that they share with the pattern; only what starts on the best of them is compared in
full.

Example::

    nearest(source, scope, parse("x = y[:, :$N]"))   # ("x = y[:, :n, :]", 12)
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from difflib import SequenceMatcher

from prtoggle.edits.pattern_parse import Pattern
from prtoggle.edits.pattern_search import walk
from prtoggle.edits.pattern_tree import first_line
from prtoggle.edits.scope import Scope
from prtoggle.edits.text import SourceText

_WORD = re.compile(r"\w+|[^\w\s]")
_NAME = re.compile(r"\w{2,}")
_LEAST = 0.4
_LINES, _NODES, _SHOWN = 40, 120, 6


def nearest(source: SourceText, scope: Scope, pattern: Pattern) -> tuple[str, int]:
    """Text and line of the nearest candidate; empty and 0 if nothing is near."""
    wanted = _words(pattern)
    if not wanted:
        return "", 0
    lines = _best_lines(source, scope, wanted)
    kinds = {type(each) for each in pattern.body} if pattern.expression is None else {type(pattern.expression)}
    best: tuple[float, int, ast.AST] | None = None
    candidates = []
    for node, _ in walk(scope.node, sorted(lines)):
        if not isinstance(node, ast.expr if pattern.is_expression else ast.stmt):
            continue
        line = first_line(node)
        if line in lines:
            candidates.append((type(node) in kinds, lines[line], -line, node))
    candidates.sort(key=lambda each: each[:3], reverse=True)
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(wanted)
    for kind, _, line, node in candidates[:_NODES]:
        start, end = source.span(node)
        matcher.set_seq1(_WORD.findall(source.text[start : min(end, start + 4 * len(pattern.text) + 200)]))
        floor = max(best[0] if best else 0.0, _LEAST)
        bonus = 1.0 if kind else 0.8
        if matcher.real_quick_ratio() * bonus <= floor or matcher.quick_ratio() * bonus <= floor:
            continue
        score = matcher.ratio() * bonus
        if score > floor:
            best = score, -line, node
    if not best:
        return "", 0
    return _shown(source, best[2]), best[1]


def _words(pattern: Pattern) -> list[str]:
    """The words and signs of the pattern, names of runs and expressions left out."""
    return [word for word in _WORD.findall(re.sub(r"\$(?:\.\.\.)?\w+", " ", pattern.text)) if word.strip()]


def _best_lines(source: SourceText, scope: Scope, wanted: list[str]) -> dict[int, float]:
    """The lines of the scope that share the rarest words with the pattern, with how much they share."""
    names = {word for word in wanted if _NAME.fullmatch(word)} or set(wanted)
    held = {}
    for number in range(max(scope.first, 1), min(scope.last or len(source.lines), len(source.lines)) + 1):
        shared = names.intersection(_WORD.findall(source.lines[number - 1]))
        if shared:
            held[number] = shared
    often = Counter(word for shared in held.values() for word in shared)
    scores = {number: sum(1.0 / often[word] ** 0.5 for word in shared) for number, shared in held.items()}
    # A candidate over several lines shares words with the pattern on each of them.
    spread = {
        number: score + 0.5 * sum(scores.get(number + more, 0.0) for more in range(1, 5))
        for number, score in scores.items()
    }
    best = sorted(spread, key=lambda number: (-spread[number], number))[:_LINES]
    return {number: spread[number] for number in best}


def _shown(source: SourceText, node: ast.AST) -> str:
    start, end = source.span(node)
    rows = source.text[start:end].splitlines()
    return "\n".join(rows[:_SHOWN] + ["..."] * (len(rows) > _SHOWN))
