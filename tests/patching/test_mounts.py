"""Trees as containers have them: read-only, of layers, on a disk that is full. The mounts are real ones, in a namespace of
their own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.patching.namespaces import inside, permitted
from tests.patching.project import ALL, FIXED, Project

TMPFS = "mount -t tmpfs -o size=4m none /mnt"
OVERLAY = f"{TMPFS} && mkdir /mnt/u /mnt/w /mnt/l && mount -t overlay -o lowerdir=/mnt/l,upperdir=/mnt/u,workdir=/mnt/w o /mnt/l"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.compile()
    return project


class TestReadOnly:
    def mounts(self, project: Project) -> str:
        permitted(f"mount --bind {project.site} {project.site} && mount -o remount,bind,ro {project.site}")
        return f"mount --bind {project.site} {project.site} && mount -o remount,bind,ro {project.site}"

    def test_nothing_is_changed_and_what_to_do_is_said(self, project: Project) -> None:
        before = project.snapshot()
        said = inside(self.mounts(project), "print(refused(lambda: project.revert('7')))", project.root)
        assert f"{project.site} cannot be written to: Read-only file system" in said
        assert "change the files where the image, or the environment, is made" in said
        assert project.snapshot() == before

    def test_what_is_out_is_said_and_cannot_be_put_back(self, project: Project) -> None:
        project.revert("7")
        before = project.snapshot()
        script = (
            "print(*(f.what for f in findings([project.site])))\nprint(project.runs())\n"
            "print(project.restore(dry_run=True).restored)\nprint(refused(project.restore))\n"
            "print(refused(lambda: project.restore('7/one')))\n"
        )
        said = inside(self.mounts(project), script, project.root)
        assert "7/one, 7/both reverted in the files of" in said and "reverted reverted" in said
        assert "('7/one', '7/both')" in said and said.count("Read-only file system") == 2
        assert project.snapshot() == before


class TestLayers:
    """An overlay file system, as container images are: what is below is read-only, and what is written lies above it."""

    def layers(self, *below: Path, above: Path, at: Path) -> str:
        permitted(OVERLAY)
        work = above.with_name(f"{above.name}-work")
        above.mkdir(exist_ok=True)
        work.mkdir(exist_ok=True)
        lower = ":".join(map(str, below))
        return f"mount -t overlay -o lowerdir={lower},upperdir={above},workdir={work} layers {at}"

    def test_a_layer_has_what_is_reverted_and_the_next_one_puts_it_back(self, project: Project, tmp_path: Path) -> None:
        cache = tmp_path / "cache.py"
        os.link(project.file("a"), cache)
        before = project.snapshot()
        first, second = tmp_path / "first", tmp_path / "second"
        seen = "import json\nprint(json.dumps([project.texts(), project.runs()]))\n"
        build = self.layers(project.site, above=first, at=project.site)
        said = inside(build, "project.revert('7/one'); project.revert('7/both')\n" + seen, project.root)
        assert json.loads(said) == [ALL, "reverted reverted"]
        assert project.snapshot() == before and cache.read_text() == FIXED["a"]  # of the layer below nothing changed
        assert sorted(each.name for each in first.iterdir()) == [".prtoggle", "engine"]

        container = self.layers(first, project.site, above=second, at=project.site)
        said = inside(container, seen + "print(findings and [f.what for f in findings([project.site])])", project.root)
        assert json.loads(said.splitlines()[0]) == [ALL, "reverted reverted"] and "7/one, 7/both reverted in" in said
        script = "project.restore('7/one'); project.restore()\nprint(json.dumps(\n"
        script += "    {path: [kind, data.hex(), mode, time] for path, (kind, data, mode, time) in snapshot(project.site).items()}))"
        found = json.loads(inside(container, "import json\n" + script, project.root))
        assert found == {path: [each[0], each[1].hex(), *each[2:]] for path, each in before.items()}
        assert json.loads(inside(container, seen, project.root)) == [FIXED, "1 2"]
        assert project.snapshot() == before

    def test_compiled_code_of_the_layer_below_is_not_run(self, project: Project, tmp_path: Path) -> None:
        import py_compile

        project.compile(py_compile.PycInvalidationMode.UNCHECKED_HASH)
        build = self.layers(project.site, above=tmp_path / "first", at=project.site)
        assert inside(build, "project.revert('7'); print(project.runs())", project.root) == "reverted reverted\n"

    def test_a_kill_at_any_write_is_mended(self, project: Project, tmp_path: Path) -> None:
        script = """
from tests.patching.faults import KILL, Ended, at
import itertools, subprocess
before = snapshot(project.site)
for n in itertools.count(1):
    if at(n, lambda: project.revert("7"), project.site, KILL) is Ended.NEVER: break
    project.restore()
    assert snapshot(project.site) == before, n
print(n > 10)
"""
        build = self.layers(project.site, above=tmp_path / "first", at=project.site)
        assert inside(build, script, project.root) == "True\n"


class TestAFullDisk:
    """A small file system in memory on which no byte is left."""

    SCRIPT = """
import errno, json, shutil
before = snapshot(project.site)
def fill(but):
    data = b"x" * 4096
    with open(project.site / "filler", "wb", buffering=0) as file:
        try:
            while file.write(data): pass
        except OSError as error: assert error.errno == errno.ENOSPC
        file.truncate(max(0, file.tell() - but))
def clean():
    (project.site / "filler").unlink()
"""

    def mounts(self, project: Project) -> str:
        site = project.site
        aside = site.with_name("aside")
        permitted(TMPFS)
        return f"cp -a {site} {aside} && mount -t tmpfs -o size=512k none {site} && cp -a {aside}/. {site}/"

    def test_leaves_all_as_it_was_or_changed_and_can_always_be_put_back(self, project: Project) -> None:
        script = (
            self.SCRIPT
            + """
seen = set()
for pages in range(0, 24):
    fill(pages * 4096)
    try: project.revert("7"); said = ""
    except RefusedError as error: said = str(error)
    assert ("No space left" in said and "make room" in said) or said == "", said
    assert project.texts() == (FIXED if said else ALL), pages
    seen.add(bool(said))
    if not said:
        clean(); fill(0)  # not a byte is left
        project.restore()
    clean()
    assert snapshot(project.site) == before, pages
print(sorted(seen))
"""
        )
        assert inside(self.mounts(project), script, project.root) == "[False, True]\n"

    def test_a_part_that_cannot_be_put_back_stays_out_and_all_of_it_can(self, project: Project) -> None:
        script = (
            self.SCRIPT
            + """
seen = set()
for pages in range(0, 16):
    project.revert("7")
    fill(pages * 4096)
    try: project.restore("7/both"); said = ""
    except RefusedError as error: said = str(error)
    assert "No space left" in said or said == "", said
    assert project.texts() == (ALL if said else ONE), pages
    seen.add(bool(said))
    project.restore()
    clean()
    assert snapshot(project.site) == before, pages
print(sorted(seen))
"""
        )
        assert inside(self.mounts(project), script, project.root) == "[False, True]\n"
