"""The evidence writer and what else of this folder needs no GPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.gpu import evidence as writer
from tests.gpu.harness import ROOT, _last_json
from tests.gpu.test_sanitizer import summary

ABOUT = {
    "commit": "c",
    "sources": "d",
    "date": "2026-11-29T19:40:01+00:00",
    "gpu": {"name": "NVIDIA X"},
    "versions": {},
}


def test_a_report_is_one_file_with_every_test_and_its_figures(tmp_path: Path) -> None:
    tests = [
        {"test": "a", "outcome": "passed", "assertions": [{"claim": "zero", "figures": {"stale": 0}}]},
        {"test": "b", "outcome": "failed", "assertions": []},
    ]
    path = writer.write(writer.report(tests, ["python", "-m", "pytest"], about=ABOUT), tmp_path / "new")
    assert path.name == "2026-11-29T19-40-01-nvidia-x.json" and [path] == list((tmp_path / "new").iterdir())
    data = json.loads(path.read_text())
    assert data["command"] == "python -m pytest" and data["outcomes"] == {"passed": 1, "failed": 1}
    assert data["tests"] == tests and data["commit"] == "c"


def test_the_digest_changes_with_any_source_and_with_nothing_else(tmp_path: Path) -> None:
    for folder in writer.SOURCES:
        (tmp_path / folder).mkdir(parents=True)
    source = tmp_path / "fixes" / "a.py"
    source.write_text("1")
    first = writer.tree_digest(tmp_path)
    (tmp_path / "fixes" / "notes.txt").write_text("1")
    assert writer.tree_digest(tmp_path) == first
    source.write_text("2")
    assert writer.tree_digest(tmp_path) != first
    source.write_text("1")
    source.rename(tmp_path / "fixes" / "b.py")
    assert writer.tree_digest(tmp_path) != first


def test_about_this_machine_and_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    assert writer.versions(["no-such-package", "pytest"]).keys() == {"python", "pytest"}
    monkeypatch.setenv(writer.COMMIT, "abc")
    assert writer.commit() == "abc"
    assert writer.ask("no-such-program") == ""


PLUGIN_TEST = """\
import pytest
from tests.gpu.conftest import *  # noqa: F403

@pytest.mark.gpu
@pytest.mark.parametrize("right", [True, False])
def test_claim(evidence, right):
    evidence("is right", right=right)
    assert right
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_tests_write_what_they_saw_also_when_they_fail_and_over_several_workers(
    workers: str, tmp_path: Path
) -> None:
    """A session whose test needs no device after all: the skip is lifted, the rest is what a GPU machine runs."""
    (tmp_path / "conftest.py").write_text("import tests.gpu.conftest as c\nc.no_gpu = lambda: ''\n")
    (tmp_path / "test_it.py").write_text(PLUGIN_TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = gpu\n")
    env = {**os.environ, writer.VARIABLE: "out", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.gpu.conftest"]
    done = subprocess.run(
        [*command, *(["-n", workers] if workers != "0" else [])],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    (path,) = (tmp_path / "out").iterdir()
    data: dict[str, Any] = json.loads(path.read_text())
    assert data["outcomes"] == {"passed": 1, "failed": 1} or data["outcomes"] == {"failed": 1, "passed": 1}, done.stdout
    by_outcome = {test["outcome"]: test for test in data["tests"]}
    assert by_outcome["failed"]["assertions"] == [{"claim": "is right", "figures": {"right": False}}]
    assert "assert False" in by_outcome["failed"]["reason"] and "reason" not in by_outcome["passed"]
    assert data["command"].startswith("python -m pytest -q")


def test_a_run_without_a_gpu_writes_nothing(tmp_path: Path) -> None:
    env = {**os.environ, writer.VARIABLE: str(tmp_path / "out"), "CUDA_VISIBLE_DEVICES": ""}
    also = "tests/gpu/test_evidence.py::test_memchecks_words_are_read"
    command = [sys.executable, "-m", "pytest", "-q", "tests/gpu/test_capture.py", also]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "needs a CUDA device" in done.stdout, done.stdout + done.stderr
    assert not (tmp_path / "out").exists()


MEMCHECK = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at _store_rows+0x150 in unchecked.py:37
=========     Access at 0x7f is out of bounds
========= ERROR SUMMARY: 3 errors
"""


def test_memchecks_words_are_read(tmp_path: Path) -> None:
    assert summary(MEMCHECK) == {
        "errors": 3,
        "kinds": ["__global__ write of size 4 bytes"],
        "kernels": ["_store_rows"],
    }
    templated = "=========     at void flashinfer::quantization::Kernel<(int)1>(bool *)+0x460\n"
    assert summary(templated)["kernels"] == ["flashinfer::quantization::Kernel"]
    assert summary("========= ERROR SUMMARY: 0 errors\n")["errors"] == 0
    assert summary("it did not run")["errors"] is None


def test_a_childs_last_line_of_json_is_found_among_other_words() -> None:
    assert _last_json('words\n{"a": 1}\nmore words') == {"a": 1}
    assert _last_json("{no json") is None and _last_json("") is None


def test_the_page_quotes_runs_that_are_there_and_that_passed() -> None:
    page = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    quoted = re.findall(r"\(evidence/(\S+\.json)\)", page)
    assert quoted
    for name in quoted:
        data = json.loads((ROOT / "docs" / "evidence" / name).read_text(encoding="utf-8"))
        assert set(data["outcomes"]) == {"passed"} and f"{data['outcomes']['passed']} tests passed" in page
        assert all(test["assertions"] for test in data["tests"]), "every test has its figures"
        for said in (data["gpu"]["driver"], data["versions"]["torch"], data["gpu"]["name"]):
            assert said in page
        assert name == writer.file_name(data) and len(data["commit"]) == 40 and len(data["sources"]) == 64
