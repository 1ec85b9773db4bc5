"""Trials on a real Ray cluster of two nodes on this machine, whose environment is not that of the bisection."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prtoggle.bisection.rayexec import travelling
from prtoggle.bisection.values import Job, TrialRecord, plain, record_of
from tests.bisection import raycluster
from tests.bisection.raycluster import PYTHON, command_line, needs_ray, processes
from tests.runtime.project import Project

HERE = Path(__file__).parent
MARKER = "PRTOGGLE_TEST_RAY"


def test_what_belongs_to_a_node_or_to_ray_does_not_travel() -> None:
    mine = {
        "PATH": "/bin",
        "MODEL": "x",
        "CUDA_VISIBLE_DEVICES": "3",
        "HOSTNAME": "here",
        "RAY_ADDRESS": "auto",
        "RAY_JOB_ID": "1",
    }
    assert travelling(mine) == {"PATH": "/bin", "MODEL": "x"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a bisection that finds the cluster; two nodes, two trials at a time each."""
    with raycluster.cluster(tmp_path_factory.mktemp("r"), **{MARKER: "the raylet's"}) as env:
        yield env


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.package({"app/__init__.py": "", "app/core.py": "def f():\n    return 'fixed'\n"})
    made.fix(7, target="app.core.f", edits="- match: return 'fixed'\n  replacement: return 'reverted'")
    return made


CHECK = "import app.core, os, sys; print(app.core.f(), os.environ.get('MODEL'), os.getppid()); sys.exit(app.core.f() != 'fixed')"

SLOW = """
import app.core, os, sys, time
seen = app.core.f()
print(seen, os.environ.get('MODEL'), os.environ.get('PRTOGGLE_TEST_RAY'))
time.sleep(2)
sys.exit(seen != 'fixed')
"""
GPUS = """
import app.core, os, time
print(os.environ.get('CUDA_VISIBLE_DEVICES', 'not set'))
time.sleep(2)
"""
HANG = """
import os, subprocess, sys, time
import app.core
subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'], start_new_session=True)
open('began', 'w').close()
time.sleep(300)
"""


def job(project: Project, number: int, revert: str, code: str = CHECK, **more: Any) -> dict[str, Any]:
    return plain(
        Job(
            number,
            "search",
            () if revert == "none" else (revert,),
            revert,
            (PYTHON, "-c", code),
            str(project.root / "trials" / str(number)),
            cwd=str(project.root),
            fixes=(str(project.fixes),),
            parts=() if revert == "none" else ("7",),
            **more,
        )
    )


def start(project: Project, cluster: dict[str, str], asked: dict[str, Any], **env: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [PYTHON, str(HERE / "ray_driver.py")],
        env={**cluster, "PYTHONPATH": str(project.site), "PRTOGGLE_CACHE": str(project.cache), **env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(asked))
    process.stdin.close()
    process.stdin = None
    return process


def run(project: Project, cluster: dict[str, str], asked: dict[str, Any], **env: str) -> list[TrialRecord]:
    process = start(project, cluster, asked, **env)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    return sorted(map(record_of, json.loads(out)["records"]), key=lambda record: record.number)


class TestOnACluster:
    pytestmark = needs_ray

    def test_the_selection_and_the_environment_reach_trials_on_both_nodes(
        self, project: Project, cluster: dict[str, str]
    ) -> None:
        jobs = [
            job(
                project,
                n,
                "7" if n % 2 else "none",
                SLOW,
            )
            for n in range(1, 5)
        ]
        records = run(project, cluster, {"width": 4, "jobs": jobs}, MODEL="a model")
        assert [record.kind for record in records] == ["bad", "good", "bad", "good"], [record.why for record in records]
        assert [record.in_force for record in records] == [("7",), (), ("7",), ()]
        for record in records:
            assert record.worker.startswith("ray ")
            said = Path(record.folder, "stdout").read_text()
            state = "reverted" if record.kind == "bad" else "fixed"
            assert said == f"{state} a model the raylet's\n"
            assert list(Path(record.folder, "journals").glob("*.jsonl")) or record.kind == "good"
            assert record_of(json.loads(Path(record.folder, "result.json").read_text())) == record

    def test_more_trials_than_there_is_room_for_wait(self, project: Project, cluster: dict[str, str]) -> None:
        records = run(project, cluster, {"width": 9, "jobs": [job(project, n, "7") for n in range(1, 10)]})
        assert [record.kind for record in records] == ["bad"] * 9, [record.why for record in records]

    def test_gpus_are_those_that_ray_dealt_out_or_all_of_the_node(
        self, project: Project, cluster: dict[str, str]
    ) -> None:
        jobs = [job(project, n, "7", GPUS) for n in (1, 2)]
        records = run(project, cluster, {"width": 2, "jobs": jobs, "gpus": 1}, CUDA_VISIBLE_DEVICES="7")
        assert sorted(record.gpus for record in records) == [("0",), ("1",)], [record.why for record in records]
        for record in records:
            assert Path(record.folder, "stdout").read_text() == f"{record.gpus[0]}\n"
        (record,) = run(project, cluster, {"width": 1, "jobs": [job(project, 3, "7", GPUS)]}, CUDA_VISIBLE_DEVICES="7")
        assert (record.gpus, Path(record.folder, "stdout").read_text()) == ((), "not set\n")
        process = start(project, cluster, {"width": 1, "jobs": jobs, "gpus": 3})
        assert "3 GPUs for a trial are more than any node of the cluster has (2)" in process.communicate(timeout=120)[1]

    def test_no_process_is_left_when_it_is_stopped_or_killed(self, project: Project, cluster: dict[str, str]) -> None:
        mark = f"a trial of {project.root}"
        process = start(
            project,
            cluster,
            {"width": 1, "jobs": [job(project, 1, "7", HANG)], "wait_for": str(project.root / "began")},
            MODEL=mark,
        )
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        (record,) = map(record_of, json.loads(out)["records"])
        assert record.kind == "interrupted"
        assert _marked(mark) == set()

        (project.root / "began").unlink()
        process = start(project, cluster, {"width": 1, "jobs": [job(project, 2, "7", HANG)]}, MODEL=mark)
        _until(lambda: (project.root / "began").exists(), 90)
        assert len(_marked(mark)) >= 2
        process.kill()
        process.wait()
        _until(lambda: _marked(mark) == set(), 60)

    def test_a_trial_whose_process_of_rays_is_killed_is_lost_and_not_bad(
        self, project: Project, cluster: dict[str, str]
    ) -> None:
        mark = f"another trial of {project.root}"
        process = start(project, cluster, {"width": 1, "jobs": [job(project, 1, "7", HANG)]}, MODEL=mark)
        _until((project.root / "began").exists, 90)
        running = [
            pid for pid in processes(Path(cluster["HOME_OF_RAY"])) if command_line(pid).startswith(b"ray::_Trial")
        ]
        assert len(running) == 1
        os.kill(running[0], signal.SIGKILL)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        (record,) = map(record_of, json.loads(out)["records"])
        assert (record.kind, record.why.startswith("lost by Ray: ")) == ("infrastructure", True), record
        _until(lambda: _marked(mark) == set(), 60)

    def test_a_whole_bisection_runs_on_the_cluster(self, project: Project, cluster: dict[str, str]) -> None:
        numbers = range(1, 9)
        functions = "".join(f"def f{n}():\n    return 'fixed'\n" for n in numbers)
        project.package({"app/__init__.py": "", "app/core.py": functions})
        for n in numbers:
            project.fix(n, target=f"app.core.f{n}", edits="- match: return 'fixed'\n  replacement: return 'reverted'")
        check = (
            "import app.core as core, sys\n"
            "out = [n for n in range(1, 9) if getattr(core, f'f{n}')() != 'fixed']\n"
            "sys.exit(3 in out and 6 in out)"
        )
        command = ["bisect", "--executor", "ray", "--jobs", "4", "--json", "--among", ",".join(map(str, numbers))]
        done = subprocess.run(
            [PYTHON, "-m", "prtoggle", *command, "--", PYTHON, "-c", check],
            env={**cluster, **project.env()},
            cwd=project.root,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        told = json.loads(done.stdout)
        assert [culprit["fixes"] for culprit in told["culprits"]] == [["3", "6"]]
        assert {trial["worker"].partition(" ")[0] for trial in told["trials"]} == {"ray"}
        assert len({trial["worker"] for trial in told["trials"]}) >= 2
        assert told["culprits"][0]["diff"].count("+    return 'reverted'") == 2  # the journals came back

    def test_a_folder_that_a_node_does_not_have_iscommand_line(self, project: Project, cluster: dict[str, str]) -> None:
        away = {**job(project, 1, "7"), "cwd": "/not/there"}
        (record,) = run(project, cluster, {"width": 1, "jobs": [away]})
        assert (record.kind, record.why) == ("infrastructure", "/not/there is not there on every node of the cluster")

    def test_without_a_cluster_it_says_how_to_start_one(self, project: Project, cluster: dict[str, str]) -> None:
        nowhere = {**cluster, "RAY_ADDRESS": "127.0.0.1:1"}
        process = start(project, nowhere, {"width": 1, "jobs": [job(project, 1, "7")]})
        _, err = process.communicate(timeout=120)
        assert "no Ray cluster" in err and "ray start --head" in err


def _marked(mark: str) -> set[int]:
    """Processes of trials that have ``mark`` in their environment; the bisection has it too."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and b"ray_driver" not in command_line(int(entry.name)):
            try:
                environ = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"MODEL={mark}".encode() in environ:
                found.add(int(entry.name))
    return found


def _until(true: Any, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.2)
