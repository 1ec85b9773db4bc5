"""docs/guides/ray-and-multi-node.md on real Ray clusters: one that runs already, one that is started reverted, one of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.bisection.raycluster import PYTHON, cluster, needs_ray
from tests.docs.blocks import blocks_of, differences, run_document

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/guides/ray-and-multi-node.md"
FILES = {block.file: block.text for block in blocks_of(DOCUMENT) if block.file}

pytestmark = needs_ray


@pytest.fixture
def app(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / "app" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "app" / name).write_text(text, encoding="utf-8")
    (tmp_path / "app" / "engine" / "__init__.py").touch()
    return tmp_path / "app"


def ask(app: Path, env: dict[str, str], *words: str) -> str:
    done = subprocess.run(
        [PYTHON, "ask_nodes.py", *words], cwd=app, env=env, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_commands_print_what_the_document_shows_on_a_cluster_that_runs(tmp_path: Path) -> None:
    (tmp_path / "document").mkdir()
    with cluster(tmp_path, nodes=2) as env:
        theirs = {"PATH": os.pathsep.join([os.path.dirname(PYTHON), os.environ["PATH"]])}
        ours = {name: value for name, value in env.items() if name.startswith("RAY_")}
        outcomes = run_document(blocks_of(DOCUMENT), tmp_path / "document", given=frozenset({"ray"}), env=ours | theirs)
    assert outcomes
    assert not (found := differences(outcomes)), "\n\n".join(found)


def test_a_cluster_that_is_started_with_the_variable_is_reverted_but_for_who_says_none(
    app: Path, tmp_path: Path
) -> None:
    its_own = {"PRTOGGLE_REVERT": "101", "PRTOGGLE_PATH": str(app / "fixes")}
    with cluster(tmp_path, nodes=1, **its_own) as env:
        assert ask(app, env) == "node 0 ['101']\n"
        assert ask(app, env, "none") == "node 0 []\n"
