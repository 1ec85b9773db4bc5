"""Answers that rest on files are kept while the files are as they were; a live toggle looks at each once, and reads none."""

from __future__ import annotations

import os
import time
from pathlib import Path
from textwrap import dedent

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
    into, looked, names = into or Remembered(), Looked(), [str(path) for path in paths]
    looked.see(names)
    into.put(key, names, "answer", looked)
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


def test_a_link_led_elsewhere_while_its_file_is_read_is_noticed(settled: Path) -> None:
    """The other file is old enough: it alone would not show."""
    (settled.parent / "other").write_text("two")
    time.sleep(COARSE / 1e9 + 0.1)
    link, answers, looked = settled.parent / "link", Remembered(), Looked()
    link.symlink_to(settled)
    looked.see([str(link)])
    link.unlink()
    link.symlink_to("other")
    answers.put("key", [str(link)], "what the first file says", looked)
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


MEANWHILE = """
    import shutil, subprocess
    from prtoggle.runtime import resolve
    v1, v2, current = (os.path.join(os.environ["PRTOGGLE_PATH"], name) for name in ("pr7_x", "../v2", "../held"))
    ask = resolve._ask
    def late(request):
        resolve._ask = ask
        os.rename(v1, current)           # another fix stands there while the answer is made
        os.rename(v2, v1)
        return ask(request)
    resolve._ask = late
    """


@pytest.fixture
def two(project: Project) -> Project:
    """Another text of the fix, long enough ago."""
    other = project.root / "v2"
    other.mkdir()
    text = (project.fixes / "pr7_x" / "revert.yaml").read_text()
    (other / "revert.yaml").write_text(text.replace("f reverted", "f otherwise"))
    time.sleep(COARSE / 1e9 + 0.1)
    return project


def test_what_was_read_of_a_fix_that_is_replaced_meanwhile_is_no_answer_to_the_first_one(two: Project) -> None:
    """Neither in the process, nor in the store, which would tell every later process so."""
    code = """
        import os, prtoggle, app.core as m
        def toggled():
            with prtoggle.reverted("7"): return m.f()
        """
    back = """
        print(toggled(), toggled())
        os.rename(v1, v2)
        os.rename(current, v1)           # and the first one is there again
        print(toggled(), toggled())
        """
    done = two.python(dedent(code) + dedent(MEANWHILE) + dedent(back), PYTHONPATH=f"{two.site}:{ROOT}")
    assert done.code == 0, done.err
    assert done.out.splitlines() == ["f otherwise f otherwise", "f reverted f reverted"]
    later = two.python("import app.core; print(app.core.f())", PRTOGGLE_REVERT="7", PYTHONPATH=f"{two.site}:{ROOT}")
    assert later.out.strip() == "f reverted", later.err
