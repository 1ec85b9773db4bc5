"""Answers that rest on files are kept while the files are as they were; a live toggle looks at each once, and reads none."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from prtoggle.runtime.remembered import COARSE, MOST, Looked, Remembered
from tests.runtime.project import Project

ROOT = Path(__file__).resolve().parents[2]
CORE = """
def f():
    return "f fixed"
"""


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that was written long enough ago."""
    file = tmp_path_factory.mktemp("settled") / "a"
    file.write_text("one")
    time.sleep(COARSE / 1e9 + 0.1)
    return file


def kept(*paths: Path, key: object = "key", into: Remembered | None = None) -> Remembered:
    into = into or Remembered()
    into.put(key, [str(path) for path in paths], "answer", Looked())
    return into


def test_an_answer_is_kept_while_its_files_are_as_they_were(settled: Path) -> None:
    answers = kept(settled, settled.parent / "nothing")
    assert answers.get("key", Looked()) == "answer"
    assert answers.get("another", Looked()) is None


def test_what_rests_on_a_file_that_is_too_new_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "new").write_text("one")
    assert kept(tmp_path / "new").get("key", Looked()) is None


def test_a_file_of_the_same_size_and_time_is_another(settled: Path) -> None:
    answers, before = kept(settled), os.stat(settled)
    settled.write_text("two")
    os.utime(settled, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert answers.get("key", Looked()) is None
    assert answers.get("key", Looked()) is None  # and it is forgotten


def test_a_file_that_came_or_went_is_noticed(tmp_path: Path) -> None:
    answers = kept(tmp_path / "a")
    (tmp_path / "a").write_text("one")
    assert answers.get("key", Looked()) is None


def test_one_look_sees_one_moment(tmp_path: Path) -> None:
    looked = Looked()
    assert looked.at(str(tmp_path / "a")) is None
    (tmp_path / "a").write_text("one")
    assert looked.at(str(tmp_path / "a")) is None and Looked().at(str(tmp_path / "a")) is not None


def test_only_so_many_are_kept(tmp_path: Path) -> None:
    answers = Remembered()
    for key in range(MOST + 1):
        kept(tmp_path / "a", key=key, into=answers)
    assert [key for key in range(MOST + 1) if answers.get(key, Looked()) is None] == [0]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.package({"app/__init__.py": "", "app/core.py": CORE, "other/__init__.py": ""})
    made.fix(7, target="app.core.f", edits='- match: return "f fixed"\n  replacement: return "f reverted"')
    return made


BEFORE = """
    import os, sys, time
    import app.core as m, prtoggle, prtoggle.errors
    def toggled():
        with prtoggle.reverted("7"): return m.f()
    toggled()
    time.sleep(2.1)  # by now the files are not new
    toggled()
    """


def run(project: Project, code: str) -> list[str]:
    done = project.python(BEFORE + code, PYTHONPATH=f"{project.site}:{ROOT}")
    assert done.code == 0, done.err
    return done.out.splitlines()


def test_a_toggle_that_was_resolved_before_reads_no_file(project: Project) -> None:
    code = """
    read = []
    sys.addaudithook(lambda event, args: read.append((event, args)) if event in ("open", "os.listdir") else None)
    print(toggled(), read)
    """
    assert run(project, code) == ["f reverted []"]


def test_a_fix_that_was_edited_since_is_read_again(project: Project) -> None:
    code = f"""
    file = {str(project.fixes / "pr7_x" / "revert.yaml")!r}
    old = os.stat(file)
    text = open(file).read().replace("f reverted", "f RemOted!")
    open(file, "w").write(text)
    os.utime(file, ns=(old.st_atime_ns, old.st_mtime_ns))  # of the same size and time
    print(toggled(), toggled())
    os.remove(file)
    try: toggled()
    except prtoggle.errors.PrtoggleError as error: print(type(error).__name__)
    """
    assert run(project, code) == ["f RemOted! f RemOted!", "RefusedError"]
