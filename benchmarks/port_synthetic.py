"""Small reverts of real functions, carried over mechanical drifts: every answer is known exactly.

A case is a release's module with some of its neighbours, a revert out of :mod:`benchmarks.port_reverts`, and one to three
drifts out of :mod:`benchmarks.drifts`, each a release of its own. A refusal is no mistake; anything else than the
drifted reverted text is.

Example::

    cases = synthetic_cases(releases(), count=300)
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache, partial

from benchmarks.drifts import DRIFTS, GONE, State, drifted
from benchmarks.port_case import Case
from benchmarks.port_reverts import REVERTS, reverted
from benchmarks.port_trees import Release, Texts, definitions, lines_of, parsed, parses
from prtoggle.port.values import Revert
from prtoggle.port.values import Texts as Pair

SEED = 20261129
NEIGHBOURS = 12
FOLDERS = ("sglang.srt.",)
MODULES = 30
"""How many modules of each release functions are taken from."""
LONGEST = 60_000
"""How many characters a module may have."""


def synthetic_cases(trees: Sequence[Release], count: int, seed: int = SEED) -> list[Case]:
    """``count`` cases: each drift in turn, the hopeless ones among them, and chains."""
    hows = (*DRIFTS, *GONE)
    turns = len(hows) * 4 // 3
    cases: list[Case] = []
    for turn in range(count * 4):
        if len(cases) == count:
            break
        chance, place = random.Random(f"{seed} {turn}"), turn % turns
        way = (hows[place],) if place < len(hows) else tuple(chance.sample(list(DRIFTS), chance.choice((2, 3))))
        case = _case(trees, way, chance, turn, seed)
        if case is not None:
            cases.append(case)
    return cases


def _case(trees: Sequence[Release], way: tuple[str, ...], chance: random.Random, turn: int, seed: int) -> Case | None:
    for _ in range(25):
        release = chance.choice(trees)
        found = _start(release, chance, seed)
        if found is None:
            continue
        state, how = found
        states = list(_walk(state, way, chance))
        if len(states) <= len(way):
            continue
        name = f"{turn}: {release.version} {state.home}:{state.qualname}, {how}; {', then '.join(way)}"
        return _made(name, way, states, release)
    return None


def _walk(state: State, way: tuple[str, ...], chance: random.Random) -> Iterator[State]:
    yield state
    for how in way:
        after = drifted(state, how, chance)
        if after is None:
            return
        state = after
        yield state


@cache
def _pool(release: Release, seed: int) -> dict[str, list[str]]:
    """Some modules of the release, each with its functions of a middling size."""
    chance = random.Random(f"{seed} {release.version}")
    names = [name for name in release.modules() if name.startswith(FOLDERS)]
    found: dict[str, list[str]] = {}
    for module in chance.sample(names, len(names)):
        text = release.text(module)
        if len(found) == MODULES:
            break
        if not text or len(text) > LONGEST or "\t" in text or "\r" in text or not parses(text):
            continue
        sized = [
            name
            for name, node in definitions(parsed(text)).items()
            if 8 <= lines_of(node)[1] - lines_of(node)[0] <= 90 and len(node.body) >= 3
        ]
        if sized:
            found[module] = sized
    return found


def _start(release: Release, chance: random.Random, seed: int) -> tuple[State, str] | None:
    pool = _pool(release, seed)
    module = chance.choice(list(pool))
    text = release.text(module) or ""
    qualname = chance.choice(pool[module])
    how = chance.choice(list(REVERTS))
    other = reverted(text, qualname, how, chance)
    if other is None:
        return None
    folder = module.rpartition(".")[0] + "."
    near = [name for name in release.modules() if name.startswith(folder) and name != module]
    near = chance.sample(near, min(NEIGHBOURS, len(near)))
    texts = {name: (near_text, near_text) for name in sorted(near) if (near_text := release.text(name))}
    return State({**texts, module: (text, other)}, module, qualname), how


def _made(name: str, way: tuple[str, ...], states: Sequence[State], release: Release) -> Case:
    trees = tuple(
        Texts(f"{release.label} + {number}" if number else release.label, {m: t[0] for m, t in state.modules.items()})
        for number, state in enumerate(states)
    )
    first, last = states[0], states[-1]
    revert = Revert(trees[0].label, (Pair(first.home, first.fixed, first.reverted),))
    lost = any(how in GONE for how in way)
    expected = {} if lost else {m: partial(parsed, t[1]) for m, t in last.modules.items() if t[0] != t[1]}
    kind = "several drifts" if len(way) > 1 else way[0]
    return Case(name, f"{'gone' if lost else 'drift'}: {kind}", revert, trees, expected)
