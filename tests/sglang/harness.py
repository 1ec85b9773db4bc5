"""Run the real modules of an SGLang release in child processes, as they are or reverted by hand.

Contract: releases come from prtoggle.releases and no source of theirs is written to; a copy reverted by hand is a
temporary folder of links with the edited files in place of theirs. A child gets a release in PYTHONPATH and an
environment without variables of prtoggle, SGLang or Python, but for those that the test sets; what it prints is one
line of JSON.

Example::

    seen = run_child("child_registry.py", release("0.5.16"))
    seen["slots"]["positions"]["padded"]
    run_child("child_draft_expand.py", reverted(release("0.5.16"), ("27360/slice",), tmp_path))
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from prtoggle.errors import InconclusiveError
from prtoggle.releases import fetch

HERE = Path(__file__).parent
NEEDED = ("torch", "numpy", "msgspec", "pydantic", "yaml")
REGISTRY = "sglang/srt/model_executor/cuda_graph_buffer_registry.py"
INPUT_BUFFERS = "sglang/srt/model_executor/input_buffers.py"
BACKEND = "sglang/srt/layers/attention/flashattention_backend.py"


@dataclass(frozen=True)
class HandEdit:
    """One edit of one file, by regular expression; ``optional`` where not every release has the place."""

    file: str
    pattern: str
    replacement: str
    optional: bool = False


def _policy(slot: str) -> HandEdit:
    # The registry for prefill has slots of the same names, which the fix did not touch.
    inside = r"[^()]*?(?:\([^()]*\)[^()]*?)*?"
    start = r"(def build_decode_registry\((?:.|\n)*?\n *GraphSlot\(\s*"
    return HandEdit(REGISTRY, rf'{start}"{slot}",{inside})\n *padding_policy=PaddingPolicy\.ZERO,', r"\1")


def _listed(slot: str) -> HandEdit:
    # From 0.5.18 on, the registry checks that the slots with ZERO are those named in this set.
    return HandEdit(INPUT_BUFFERS, rf'(INDEX_SEMANTIC_BUFFERS = frozenset\([^)]*?)\n *"{slot}",', r"\1", optional=True)


BY_HAND: dict[str, tuple[HandEdit, ...]] = {
    "24401/positions": (_policy("positions"), _listed("positions")),
    "24401/positions, policy alone": (_policy("positions"),),
    "24401/mrope-positions": (_policy("mrope_positions"), _listed("mrope_positions")),
    "27360/slice": (HandEdit(BACKEND, r"\n *cache_loc = cache_loc\[:, :decode_length\](?=\n)", ""),),
    "27360/assert": (
        HandEdit(BACKEND, r"\n *assert_buffer_fits\(\s*cache_loc\.shape\[1\],(?:[^()]|\([^()]*\))*\)", ""),
    ),
}


def unavailable(reason: str) -> None:
    """Skip, or fail where PRTOGGLE_REQUIRE_REAL is set: in CI nothing may go missing unnoticed."""
    if os.environ.get("PRTOGGLE_REQUIRE_REAL"):
        pytest.fail(reason)
    pytest.skip(reason)


def release(version: str) -> Path:
    """The folder that holds SGLang ``version``; the test is skipped where it, or what it imports, cannot be had."""
    absent = [name for name in NEEDED if find_spec(name) is None]
    if absent:
        unavailable(f"not installed: {', '.join(absent)} (pip install torch -r tests/sglang/requirements.txt)")
    try:
        return fetch("sglang", version)
    except InconclusiveError as problem:
        unavailable(str(problem))
        raise


def reverted(original: Path, parts: Iterable[str], into: Path) -> Path:
    """A copy of a release with ``parts`` taken out by hand, every other file a link to the original's."""
    texts: dict[str, str] = {}
    for part in parts:
        for edit in BY_HAND[part]:
            text = texts.get(edit.file) or (original / edit.file).read_text(encoding="utf-8")
            texts[edit.file], count = re.subn(edit.pattern, edit.replacement, text)
            assert count == 1 or (edit.optional and count == 0), f"{part}: {count} places in {edit.file}"
    return replaced(original, texts, into)


def replaced(original: Path, texts: Mapping[str, str], into: Path) -> Path:
    """A copy of a release with the files in ``texts`` in place of its own, every other file a link to the original's."""
    copy = into / "reverted"
    copy.mkdir(parents=True)
    for metadata in original.glob("*.dist-info"):
        (copy / metadata.name).symlink_to(metadata)
    for file, text in texts.items():
        folder = copy
        source = original
        for name in Path(file).parts[:-1]:
            folder, source = folder / name, source / name
            if folder.is_symlink():
                folder.unlink()
            if not folder.is_dir():
                folder.mkdir(parents=True)
                for child in source.iterdir():
                    if child.name != "__pycache__":
                        (folder / child.name).symlink_to(child)
        (copy / file).unlink()
        (copy / file).write_text(text, encoding="utf-8")
    return copy


def child_environment(path: Sequence[Path | str], env: Mapping[str, str] | None) -> dict[str, str]:
    mine = ("PRTOGGLE_", "SGLANG_", "PYTHON", "PYTEST_", "TORCHDYNAMO_", "TORCH_COMPILE")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(mine)}
    return {**clean, "PYTHONPATH": os.pathsep.join(map(str, path)), **(env or {})}


def start_child(
    program: str,
    root: Path,
    *,
    env: Mapping[str, str] | None = None,
    path: Sequence[Path | str] = (),
    options: Sequence[str] = (),
    arguments: Sequence[str] = (),
    python: str = sys.executable,
    timeout: float = 180,
) -> subprocess.CompletedProcess[str]:
    """Run a program of this folder with the release ``root`` in its path, to its end, whatever that is."""
    settings = {**({} if "--compile" in arguments else {"TORCHDYNAMO_DISABLE": "1"}), **(env or {})}
    return subprocess.run(
        [python, *options, str(HERE / program), *arguments],
        env=child_environment((root, *path), settings),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def run_child(program: str, root: Path, **how: Any) -> dict[str, Any]:
    """What the program observed, with its ``stderr`` and the ``seconds`` it took; it must have ended well."""
    begun = time.perf_counter()
    done = start_child(program, root, **how)
    assert done.returncode == 0, f"{program} with {root.name} ended with {done.returncode}\n{done.stderr[-4000:]}"
    seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**seen, "stderr": done.stderr, "seconds": time.perf_counter() - begun}
