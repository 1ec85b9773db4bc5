"""The passage that is most like the one looked for, to show to a person whose edit was not found.

Example::

    nearest(["a = 1", "b = f(x, y)", "c = 3"], ["b = f(x)"]) == (1, "b = f(x, y)")
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

_WORD = re.compile(r"\w+|[^\w\s]")
_REFINED = 8
_ENOUGH = 0.5


def nearest(lines: Sequence[str], wanted: Sequence[str]) -> tuple[int, str] | None:
    """Index of the first line, and text, of the window of ``lines`` most like ``wanted``; None where nothing is."""
    count = len(wanted)
    if not count or not lines:
        return None
    bags = [frozenset(_WORD.findall(line)) for line in lines]
    scores: dict[int, float] = {}
    for offset, line in enumerate(wanted):
        words = frozenset(_WORD.findall(line))
        if not words:
            continue
        known: dict[frozenset[str], float] = {}
        for index, bag in enumerate(bags):
            if bag not in known:
                known[bag] = len(bag & words) / len(bag | words)
            if known[bag] > 0.3:
                start = max(index - offset, 0)
                scores[start] = scores.get(start, 0.0) + known[bag]
    best: tuple[float, int, str] | None = None
    target = "\n".join(line.strip() for line in wanted)
    for start in sorted(scores, key=lambda start: -scores[start])[:_REFINED]:
        window = lines[start : start + count]
        ratio = difflib.SequenceMatcher(None, "\n".join(line.strip() for line in window), target, False).ratio()
        if ratio >= _ENOUGH and (best is None or ratio > best[0]):
            best = (ratio, start, "\n".join(window))
    return best[1:] if best else None
