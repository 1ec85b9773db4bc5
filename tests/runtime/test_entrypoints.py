"""Fix folders of other distributions are found without importing them, and quickly."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import prtoggle
from prtoggle.runtime.entrypoints import EntryPoint, entry_points


def announce(site: Path, distribution: str, text: str, *, info: str = "1.0.dist-info") -> Path:
    """A distribution whose metadata holds ``text`` as its entry points."""
    folder = site / f"{distribution}-{info}"
    folder.mkdir(parents=True)
    (folder / "entry_points.txt").write_text(text)
    return folder


def package(site: Path, dotted: str) -> str:
    """A package that cannot be imported, so that doing so shows."""
    folder = site.joinpath(*dotted.split("."))
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    return str(folder)


def test_a_package_on_the_path_is_found(tmp_path: Path) -> None:
    announce(tmp_path, "My_Dist", "[console_scripts]\nx = y:z\n\n[prtoggle.fixes]\n# mine\nmine = my_fixes\n")
    folder = package(tmp_path, "my_fixes")
    assert entry_points([str(tmp_path)]) == (EntryPoint("mine", "my_fixes", "my-dist", folder),)


def test_a_dotted_package_may_stand_elsewhere_on_the_path(tmp_path: Path) -> None:
    announce(tmp_path / "one", "d", "[prtoggle.fixes]\na = us.fixes : thing [extra]\n")
    folder = package(tmp_path / "two", "us.fixes")
    found = entry_points([str(tmp_path / "one"), "/nowhere", str(tmp_path / "zip.zip"), str(tmp_path / "two")])
    assert found == (EntryPoint("a", "us.fixes", "d", folder),)


def test_several_entries_and_egg_info_count_too(tmp_path: Path) -> None:
    announce(tmp_path, "d", "[prtoggle.fixes]\na = one\nb=two\n[other]\nc = three\n", info="1.egg-info")
    one, two = package(tmp_path, "one"), package(tmp_path, "two")
    assert [point.folder for point in entry_points([str(tmp_path)])] == [one, two]


def test_other_groups_and_names_that_only_look_alike_do_not_count(tmp_path: Path) -> None:
    announce(tmp_path, "d", "[prtoggle.fixes.more]\na = one\n[x]\nprtoggle.fixes = one\n;[prtoggle.fixes]\n")
    package(tmp_path, "one")
    assert entry_points([str(tmp_path)]) == ()


@pytest.mark.parametrize("value", ["gone", "not a name", "../up", ""])
def test_what_is_nowhere_has_no_folder(tmp_path: Path, value: str) -> None:
    announce(tmp_path, "d", f"[prtoggle.fixes]\na = {value}\n")
    assert entry_points([str(tmp_path)]) == (EntryPoint("a", value, "d", ""),)


def test_the_first_copy_of_a_distribution_hides_later_ones(tmp_path: Path) -> None:
    (tmp_path / "one" / "my_dist-2.0.dist-info").mkdir(parents=True)
    announce(tmp_path / "two", "My.Dist", "[prtoggle.fixes]\na = fixes_of_it\n")
    package(tmp_path / "two", "fixes_of_it")
    assert entry_points([str(tmp_path / "one"), str(tmp_path / "two")]) == ()
    assert len(entry_points([str(tmp_path / "two"), str(tmp_path / "one"), str(tmp_path / "two")])) == 1


def test_the_empty_entry_of_the_path_is_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    announce(tmp_path, "d", "[prtoggle.fixes]\na = here\n")
    folder = package(tmp_path, "here")
    monkeypatch.chdir(tmp_path)
    assert [point.folder for point in entry_points([""])] == [folder]


@pytest.mark.parametrize("layout", ["", "src"])
def test_an_editable_install_is_found_through_its_project(tmp_path: Path, layout: str) -> None:
    info = announce(tmp_path / "site", "d", "[prtoggle.fixes]\na = mine.fixes\n")
    project = tmp_path / "a project"
    folder = package(project / layout, "mine.fixes")
    address = {"dir_info": {"editable": True}, "url": project.as_uri()}
    (info / "direct_url.json").write_text(json.dumps(address))
    assert [point.folder for point in entry_points([str(tmp_path / "site")])] == [folder]


@pytest.mark.parametrize("announced", ["mine", "mine.fixes"])
def test_an_editable_install_is_found_through_setuptools_finder(tmp_path: Path, announced: str) -> None:
    announce(tmp_path / "site", "d", f"[prtoggle.fixes]\na = {announced}\n")
    folder = package(tmp_path / "odd" / "place", "fixes")
    known = {"mine": str(Path(folder).parent if "." in announced else folder)}
    finder = f"from __future__ import annotations\nimport sys\nMAPPING: dict[str, str] = {known!r}\nboom\n"
    (tmp_path / "site" / "__editable___d_1_0_finder.py").write_text(finder)
    assert [point.folder for point in entry_points([str(tmp_path / "site")])] == [folder]


def test_the_same_answers_as_importlib_metadata_here() -> None:
    from importlib.metadata import distributions

    theirs = {
        (entry.name, entry.value)
        for distribution in distributions()
        for entry in distribution.entry_points
        if entry.group == "prtoggle.fixes"
    }
    assert {(point.name, point.value) for point in entry_points()} == theirs


def test_two_hundred_distributions_take_under_five_milliseconds(tmp_path: Path) -> None:
    for number in range(200):
        announce(tmp_path, f"dist{number}", "[console_scripts]\na = b:c\n" * 5)
        (tmp_path / f"package{number}").mkdir()
    announce(tmp_path, "d", "[prtoggle.fixes]\na = mine\n")
    package(tmp_path, "mine")
    times = []
    for _ in range(30):
        started = time.perf_counter()
        assert len(entry_points([str(tmp_path)])) == 1
        times.append(time.perf_counter() - started)
    assert min(times) < 0.005


def test_looking_imports_only_os_and_sys(tmp_path: Path) -> None:
    announce(tmp_path, "d", "[prtoggle.fixes]\na = mine\n")
    package(tmp_path, "mine")
    program = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); before = set(sys.modules)\n"
        "from prtoggle.runtime.sources import find\n"
        "assert any(file.kind == 'entry-point' for file in find(sys_path=[sys.argv[2]]).files) is False\n"
        "from prtoggle.runtime.entrypoints import entry_points\n"
        "assert entry_points([sys.argv[2]])[0].folder.endswith('mine')\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    root = str(Path(prtoggle.__file__).parents[1])
    command = [sys.executable, "-S", "-c", program, root, str(tmp_path)]
    modules = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    ours = {name for name in modules if name.partition(".")[0] == "prtoggle"}
    assert modules - ours <= {"__future__"}
    assert ours <= {
        "prtoggle",
        "prtoggle.runtime",
        "prtoggle.runtime.entrypoints",
        "prtoggle.runtime.sources",
        "prtoggle.value",
    }
