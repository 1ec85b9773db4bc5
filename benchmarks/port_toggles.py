"""The toggles that SGLang ships: the YAML text of one release on the sources of another, where the other's own is the truth.

A pair is right as it stands where the text of release A, applied to release X by SGLang's own editor, gives what X's own
text gives there. The rest are ported, from A where A's text applies to A, else from the nearest release where it does. These are few distinct drifts many times over, and
the engine was written with them at hand: what they cannot say, small reverts and real changes do.

Example::

    pairs = toggle_pairs(releases())
    len(pairs), sum(pair.stands for pair in pairs)      # (650, 474)
"""

from __future__ import annotations

import ast
import importlib.util
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import yaml

from benchmarks.port_case import Case
from benchmarks.port_trees import Release, parsed, same
from prtoggle.edits.scope import Scope, resolve, split_target
from prtoggle.edits.text import SourceText
from prtoggle.integrations.sglang import INTEGRATION
from prtoggle.port.values import Revert, Texts

NUMBERS = ("25015", "26329", "26972", "27360")
"""Those that apply to at least one release; 27338 and 27460 apply to none, so that they have no truth."""

_EDITOR = "sglang.srt.debug_utils.source_patcher"

Changed = Mapping[str, str]
"""Module -> its reverted text."""


@dataclass(frozen=True)
class Pair:
    """The text of ``origin`` on ``goal``.

    Attributes:
        stands: the text applies to the goal as it stands, and is right.
        misleads: it applies, and is wrong.
        case: what is to be ported where it does not apply; None where it applies, or has nowhere to start from.
    """

    number: str
    origin: str
    goal: str
    stands: bool
    misleads: bool
    case: Case | None

    @property
    def name(self) -> str:
        return f"{self.number}: {self.origin} -> {self.goal}"


def toggle_pairs(trees: Sequence[Release]) -> list[Pair]:
    """All pairs whose goal has a truth."""
    pairs = []
    for number in NUMBERS:
        for goal in trees:
            truth = _applied(_documents(goal).get(number, ""), goal)
            if truth is None:
                continue
            pairs += [_pair(number, origin, goal, truth, trees) for origin in trees]
    return pairs


def _pair(number: str, origin: Release, goal: Release, truth: Changed, trees: Sequence[Release]) -> Pair:
    document = _documents(origin).get(number, "")
    there = _applied(document, goal)
    if there is not None:
        right = set(there) == set(truth) and all(same(parsed(there[name]), parsed(truth[name])) for name in truth)
        return Pair(number, origin.version, goal.version, right, not right, None)
    case = None
    home = trees.index(origin)
    for base in sorted(trees, key=lambda tree: (abs(trees.index(tree) - home), -trees.index(tree))):
        start = _applied(document, base)
        if start is not None:
            case = _case(number, origin, base, start, goal, truth, trees)
            break
    return Pair(number, origin.version, goal.version, False, False, case)


def _case(
    number: str,
    origin: Release,
    base: Release,
    start: Changed,
    goal: Release,
    truth: Changed,
    trees: Sequence[Release],
) -> Case:
    first, last = trees.index(base), trees.index(goal)
    way = trees[first : last + 1] if first <= last else trees[last : first + 1][::-1]
    texts = tuple(Texts(name, base.text(name) or "", start[name]) for name in sorted(start))
    expected = {name: partial(parsed, text) for name, text in truth.items()}
    name = f"{number}: {origin.version} -> {goal.version}"
    return Case(name, "toggle", Revert(base.label, texts), tuple(way), expected, f"from {base.label}")


@cache
def _documents(release: Release) -> dict[str, str]:
    """Number -> the text that this release carries, read without importing it."""
    values: dict[str, str] = {}
    for node in parsed(release.text(INTEGRATION.registry_module) or "").body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name.startswith("_PR_REVERT_YAML_") and isinstance(node.value, ast.Constant):
                values[name.rpartition("_")[2]] = str(node.value.value)
    return values


@cache
def _applied(document: str, release: Release) -> Changed | None:
    """What SGLang's own editor makes of the release's modules; None where it refuses."""
    editor = _editor(release)
    texts: dict[str, str] = {}
    for patch in (yaml.safe_load(document) or {}).get("patches", ()):
        name, qualname = split_target(patch["target"], lambda name: release.text(name) is not None)
        text = texts.get(name, release.text(name)) if name else None
        if text is None:
            return None
        source = SourceText(text)
        scope = resolve(source, qualname)
        if not isinstance(scope, Scope):
            return None
        specs = [
            types.SimpleNamespace(**{"replacement": "", "prepend": "", "append": "", **edit}) for edit in patch["edits"]
        ]
        before, function, after = (
            "".join(lines)
            for lines in (
                source.lines[: scope.first - 1],
                source.lines[scope.first - 1 : scope.last],
                source.lines[scope.last :],
            )
        )
        try:
            texts[name] = before + editor.apply_edits(source=function, edits=specs) + after
            parsed(texts[name])
        except (editor.PatchApplicationError, SyntaxError):
            return None
    return texts or None


@cache
def _editor(release: Release) -> Any:
    """The text editor that the release carries, with the two classes that it wants from its neighbour."""
    neighbour: Any = types.ModuleType(f"{_EDITOR}.types")
    neighbour.EditSpec, neighbour.PatchApplicationError = types.SimpleNamespace, type("Refusal", (Exception,), {})
    path = release.package.module_file(f"{_EDITOR}.source_editor")
    assert path is not None
    spec = importlib.util.spec_from_file_location("source_editor_" + release.version.replace(".", "_"), path)
    assert spec and spec.loader
    editor = importlib.util.module_from_spec(spec)
    sys.modules[neighbour.__name__] = neighbour
    try:
        spec.loader.exec_module(editor)
    finally:
        del sys.modules[neighbour.__name__]
    return editor
