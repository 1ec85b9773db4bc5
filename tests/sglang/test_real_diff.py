"""A diff that nobody prepared: what changed in a few functions between two consecutive releases, taken back out of the newer one."""

from __future__ import annotations

import ast
import difflib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sglang.harness import HERE, child_environment, release, replaced, run_child
from tests.sglang.test_real_baseline import is_stale

pytestmark = pytest.mark.sglang

OLD, NEW = "0.5.13.post1", "0.5.14"
CHANGED = {
    "sglang/srt/model_executor/cuda_graph_buffer_registry.py": ("build_decode_registry", "build_prefill_registry")
}


def with_older_functions(file: str, names: tuple[str, ...]) -> tuple[str, str]:
    """The newer release's text of ``file``, and the same with ``names`` as the older release has them."""
    old, new = ((release(version) / file).read_text(encoding="utf-8") for version in (OLD, NEW))
    lines = new.splitlines(keepends=True)

    def definition(text: str, name: str) -> tuple[int, int]:
        node = next(node for node in ast.parse(text).body if getattr(node, "name", "") == name)
        return node.lineno - 1, node.end_lineno or 0

    for name in sorted(names, key=lambda name: -definition(new, name)[0]):
        start, end = definition(new, name)
        first, last = definition(old, name)
        lines[start:end] = old.splitlines(keepends=True)[first:last]
    return new, "".join(lines)


@pytest.fixture
def diff(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """The merged diff, with the paths of SGLang's repository and with files that no process can be asked to revert."""
    pieces, older = [], {}
    for file, names in CHANGED.items():
        new, mixed = with_older_functions(file, names)
        assert new != mixed
        older[file] = mixed
        pieces += difflib.unified_diff(
            mixed.splitlines(keepends=True), new.splitlines(keepends=True), f"a/python/{file}", f"b/python/{file}"
        )
    pieces += ["--- a/test/srt/test_x.py\n", "+++ b/test/srt/test_x.py\n", "@@ -1 +1 @@\n", "-x = 1\n", "+x = 2\n"]
    pieces += ["--- a/docs/x.md\n", "+++ b/docs/x.md\n", "@@ -1 +1 @@\n", "-old\n", "+new\n"]
    path = tmp_path / "x.diff"
    path.write_text("".join(pieces), encoding="utf-8")
    return path, older


def run(selection: str, root: Path, tmp_path: Path) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "prtoggle", "run", selection, "--", sys.executable, str(HERE / "child_registry.py")],
        env={**child_environment((root,), {"TORCHDYNAMO_DISABLE": "1"}), "PRTOGGLE_CACHE": str(tmp_path / "cache")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done, json.loads(done.stdout.splitlines()[-1])


def test_the_newer_release_runs_the_older_code_of_those_functions(
    diff: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    path, older = diff
    done, seen = run(f"./{path.name}", release(NEW), tmp_path)
    assert is_stale(seen["slots"]["positions"]) and seen["slots"]["seq_lens"]["dtype"] == "int32"
    by_hand = run_child("child_registry.py", replaced(release(NEW), older, tmp_path))
    assert seen["slots"] == by_hand["slots"]
    assert "test_x.py" in done.stderr and "x.diff" in done.stderr

    _, plain = run("none", release(NEW), tmp_path)
    assert not is_stale(plain["slots"]["positions"]) and plain["slots"]["seq_lens"]["dtype"] == "int64"


def test_a_diff_of_another_release_is_refused(diff: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "prtoggle", "run", str(diff[0]), "--", sys.executable, str(HERE / "child_registry.py")],
        env={
            **child_environment((release("0.5.23"),), {"TORCHDYNAMO_DISABLE": "1"}),
            "PRTOGGLE_CACHE": str(tmp_path / "cache"),
        },
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode in (3, 125), done.stderr
    assert "hunk" in done.stderr
