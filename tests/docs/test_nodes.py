"""docs/guides/ray-and-multi-node.md on real Ray clusters (one that runs already, one started reverted, one that a program
starts itself), and on two nodes of torchrun, which are one machine here."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.bisection.raycluster import PYTHON, cluster, needs_ray
from tests.docs.blocks import blocks_of, differences, run_document

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/guides/ray-and-multi-node.md"
FILES = {block.file: block.text for block in blocks_of(DOCUMENT) if block.file}


def ray_is_needed(test: Any) -> Any:
    for mark in needs_ray:
        test = mark(test)
    return test


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


@ray_is_needed
def test_the_commands_print_what_the_document_shows_on_a_cluster_that_runs(tmp_path: Path) -> None:
    (tmp_path / "document").mkdir()
    with cluster(tmp_path, nodes=2) as env:
        theirs = {"PATH": os.pathsep.join([os.path.dirname(PYTHON), os.environ["PATH"]])}
        ours = {name: value for name, value in env.items() if name.startswith("RAY_")}
        outcomes = run_document(blocks_of(DOCUMENT), tmp_path / "document", given=frozenset({"ray"}), env=ours | theirs)
    assert outcomes
    assert not (found := differences(outcomes)), "\n\n".join(found)


@ray_is_needed
def test_a_cluster_that_is_started_with_the_variable_is_reverted_but_for_who_says_none(
    app: Path, tmp_path: Path
) -> None:
    its_own = {"PRTOGGLE_REVERT": "101", "PRTOGGLE_PATH": str(app / "fixes")}
    with cluster(tmp_path, nodes=1, **its_own) as env:
        assert ask(app, env) == "node 0 ['101']\n"
        assert ask(app, env, "none") == "node 0 []\n"


@ray_is_needed
def test_a_cluster_that_a_program_starts_itself_is_reverted_with_it_and_in_the_report(
    app: Path, tmp_path: Path
) -> None:
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("PRTOGGLE_", "RAY_", "PYTHON"))}
    folder = tmp_path / "cache"
    env = mine | {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0", "PRTOGGLE_CACHE": str(folder)}
    run = [PYTHON, "-m", "prtoggle", "run", "--fixes", "fixes", "101", "--", PYTHON, "ask_nodes.py"]
    done = subprocess.run(run, cwd=app, env=env, capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, done.stdout) == (0, "node 0 ['101']\n"), done.stderr
    assert "101 was in force in 1 process of" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("torch"), reason="torch is not installed here")
def test_ranks_of_a_second_node_are_reverted_where_its_own_command_says_so(app: Path, installed: str) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PRTOGGLE_", "PYTHON"))}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    at = ["--nnodes", "2", "--nproc-per-node", "1", "--master-addr", "127.0.0.1", "--master-port", port]
    nodes = []
    for rank, revert in enumerate(("101", "none")):
        env = clean | {"PRTOGGLE_PATH": str(app / "fixes"), "PRTOGGLE_REVERT": revert}
        command = [sys.executable, "-m", "torch.distributed.run", *at, "--node-rank", str(rank), "serve.py"]
        nodes.append(
            subprocess.Popen(command, cwd=app, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
    try:
        outputs = [node.communicate(timeout=120) for node in nodes]
    finally:
        for node in nodes:
            node.kill()
    assert [out for out, _ in outputs] == ["rank 0 has 6 rows\n", "rank 1 has 4 rows\n"], outputs
