"""Releases are listed and fetched by a real pip, here from a folder of wheels made on the spot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from prtoggle.against import PathTarget, matching, package_root, parse_against, pinned
from prtoggle.errors import InconclusiveError, RefusedError, UsageError
from prtoggle.releases import GLIBCS, LISTING_HOURS, Index, last_words, listed_versions, targets
from prtoggle.wheels import kept_path, unpack

pytest.importorskip("pip", reason="releases are listed by the user's own pip")


def wheel(folder: Path, version: str, tag: str = "py3-none-any", **extra: str) -> Path:
    """A wheel of the project ``engine``: a package with one module and one file that is not Python."""
    path = folder / f"engine-{version}-{tag}.whl"
    info = f"engine-{version}.dist-info"
    files = {
        "engine/__init__.py": f"__version__ = {version!r}\n",
        "engine/kernel.cu": "not Python",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: engine\nVersion: {version}\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
        f"{info}/RECORD": "",
        **extra,
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip takes for the only index."""
    folder = tmp_path / "shop"
    folder.mkdir()
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index(cache=tmp_path / "cache")


def without_pip(index: Index) -> Index:
    """The same cache, with a pip that always fails."""
    return Index(cache=index.cache, pip=(sys.executable, "-c", "raise SystemExit('ERROR: pip was called')"))


def files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


class TestWhatIsNamed:
    @pytest.mark.parametrize("text", ["engine==1.2", "engine>=1", "engine>=1,<2", "engine~=1.4", "engine"])
    def test_a_requirement(self, text: str) -> None:
        assert parse_against(text) == Requirement(text)

    def test_a_wheel_and_a_folder(self, tmp_path: Path) -> None:
        path = wheel(tmp_path, "1.0")
        assert parse_against(str(path)) == PathTarget(path)
        assert parse_against(str(tmp_path)) == PathTarget(tmp_path)

    def test_a_folder_here_goes_before_a_project_of_that_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "engine").mkdir()
        monkeypatch.chdir(tmp_path)
        assert parse_against("engine") == PathTarget(tmp_path / "engine")
        assert parse_against("engine==1.0") == Requirement("engine==1.0")

    @pytest.mark.parametrize("text", ["engine=1.0", "./nowhere", "nowhere.whl", "engine @ https://x/y.whl", ">=1", ""])
    def test_anything_else_is_refused_as_typed_wrong(self, text: str) -> None:
        with pytest.raises(UsageError):
            parse_against(text)

    def test_a_pin_is_one_version(self) -> None:
        assert pinned(Requirement("engine==1.0.0")) == "1.0.0"
        assert [pinned(Requirement(f"engine{rest}")) for rest in (">=1", "==1.*", "==1,!=2", "")] == [""] * 4


class TestWhichAreInTheRange:
    LISTED = ("0.9", "1.0rc1", "1.0", "1.0.post1", "1.1.dev3", "1.10", "1.2")

    @pytest.mark.parametrize(
        ("range_", "found"),
        [
            (">=1.0", "1.0 1.0.post1 1.2 1.10"),
            ("<1.2", "0.9 1.0 1.0.post1"),
            ("==1.0", "1.0"),
            ("==1.0.*", "1.0 1.0.post1"),
            ("==1.0rc1", "1.0rc1"),
            (">=1.0rc1,<1.2", "1.0rc1 1.0 1.0.post1 1.1.dev3"),
            (">2", ""),
        ],
    )
    def test_final_and_post_and_early_ones_when_asked_for(self, range_: str, found: str) -> None:
        assert matching(Requirement(f"engine{range_}"), self.LISTED) == tuple(found.split())

    def test_pip_s_listing_is_read_whatever_stands_around_it(self) -> None:
        text = "engine (1.10)\nAvailable versions: 1.10, 1.9, 2004d-odd, 1.9.post1\n  INSTALLED: 1.9\n  LATEST:    1.10"
        assert listed_versions(text) == ("1.9", "1.9.post1", "1.10")

    @given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), unique=True))
    def test_a_listing_is_sorted_by_version(self, pairs: list[tuple[int, int]]) -> None:
        text = "Available versions: " + ", ".join(f"{major}.{minor}" for major, minor in pairs)
        assert listed_versions(text) == tuple(f"{major}.{minor}" for major, minor in sorted(pairs))

    def test_pip_is_asked_as_it_runs_and_then_for_newer_pythons_on_linux(self) -> None:
        first, *others = targets(None, None, "arm64")
        assert first.options == () and first.tag == ""
        assert [other.python_version for other in others] == ["3.12", "3.11"]
        assert all(len(other.platforms) == len(GLIBCS) for other in others)
        assert "manylinux_2_34_aarch64" in others[0].platforms

    def test_what_is_named_is_asked_for_alone(self) -> None:
        (only,) = targets("3.13", "manylinux_2_34_x86_64", "x86_64")
        assert only.options == ("--python-version", "3.13", "--platform", "manylinux_2_34_x86_64")
        assert only.tag == "py3.13-manylinux_2_34_x86_64"

    def test_the_line_of_pip_that_says_why(self) -> None:
        text = "WARNING: odd\nERROR: No matching distribution found\n[notice] a new release of pip"
        assert last_words(text) == "ERROR: No matching distribution found"
        assert "broken" in last_words("WARNING: Retrying (Retry(total=0)) after connection broken\n" + text)


class TestListing:
    def test_a_range_lists_what_the_index_has(self, shop: Path, index: Index) -> None:
        for version in ("1.0", "1.2", "1.10", "1.1.post1", "2.0rc1"):
            wheel(shop, version)
        assert index.releases(Requirement("engine>=1.0")) == ("1.0", "1.1.post1", "1.2", "1.10")
        assert index.releases(Requirement("engine>=2.0rc1")) == ("2.0rc1",)

    def test_a_release_for_another_python_and_platform_is_seen(self, shop: Path, index: Index) -> None:
        wheel(shop, "1.0")
        wheel(shop, "1.1", "cp312-cp312-manylinux_2_34_x86_64")
        elsewhere = Index(cache=index.cache, python_version="3.12", platform="manylinux_2_34_x86_64")
        assert elsewhere.releases(Requirement("engine")) == ("1.0", "1.1")
        assert (elsewhere.fetch("engine", "1.1") / "engine/__init__.py").is_file()

    def test_a_listing_is_believed_for_a_day(self, shop: Path, index: Index) -> None:
        wheel(shop, "1.0")
        assert index.releases(Requirement("engine")) == ("1.0",)
        wheel(shop, "1.1")
        assert index.releases(Requirement("engine")) == ("1.0",)
        assert Index(cache=index.cache, refresh=True).releases(Requirement("engine")) == ("1.0", "1.1")

    def test_a_range_that_an_old_listing_cannot_fill_asks_again(self, shop: Path, index: Index) -> None:
        wheel(shop, "1.0")
        assert index.releases(Requirement("engine")) == ("1.0",)
        wheel(shop, "1.1")
        assert index.releases(Requirement("engine>1.0")) == ("1.1",)

    def test_an_old_listing_is_named_and_not_used(self, shop: Path, tmp_path: Path) -> None:
        down = tmp_path / "down"
        program = "import pathlib, runpy, sys; "
        program += f"pathlib.Path({str(down)!r}).exists() and sys.exit('ERROR: no route to the index'); "
        program += "sys.argv[0] = 'pip'; runpy.run_module('pip', run_name='__main__')"
        index = Index(cache=tmp_path / "cache", pip=(sys.executable, "-c", program), python_version="3.12")
        down.touch()
        with pytest.raises(InconclusiveError) as never_listed:
            index.releases(Requirement("engine"))
        assert not never_listed.value.nearest
        down.unlink()
        wheel(shop, "1.0")
        wheel(shop, "1.1")
        assert index.releases(Requirement("engine")) == ("1.0", "1.1")
        down.touch()
        assert index.releases(Requirement("engine>=1.1")) == ("1.1",)
        (file,) = (tmp_path / "cache/releases/engine").glob("listing-*.json")
        listing = json.loads(file.read_text())
        file.write_text(json.dumps({**listing, "listed_at": time.time() - LISTING_HOURS * 3600 - 60}))
        with pytest.raises(InconclusiveError) as listed_once:
            index.releases(Requirement("engine"))
        assert "1.0 ... 1.1 (2 releases)" in listed_once.value.nearest
        assert "no route to the index" in listed_once.value.hint

    def test_no_release_in_the_range_is_inconclusive_with_the_nearest(self, shop: Path, index: Index) -> None:
        wheel(shop, "1.12.1")
        wheel(shop, "1.9")
        for wanted, nearest in (("1.12.2", "1.12.1"), ("1.99", "1.12.1"), ("1.10", "1.9"), ("0.1", "1.9")):
            with pytest.raises(InconclusiveError) as caught:
                index.releases(Requirement(f"engine=={wanted}"))
            assert caught.value.nearest == f"engine=={nearest}"

    def test_one_equals_sign_is_taken_for_two(self) -> None:
        with pytest.raises(UsageError) as caught:
            parse_against("engine=1.0")
        assert caught.value.nearest == "engine==1.0"
        assert "named with ==" in caught.value.what

    def test_an_index_that_does_not_answer_is_no_empty_index(
        self, shop: Path, index: Index, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wheel(shop, "1.0")  # pip finds this one, and would list it alone, with exit code 0
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
        monkeypatch.setenv("PIP_RETRIES", "1")
        with pytest.raises(InconclusiveError) as caught:
            index.releases(Requirement("engine"))
        assert "index versions" in caught.value.hint and "connection broken" in caught.value.hint


class TestFetching:
    def test_python_files_and_metadata_are_kept_and_nothing_else(self, shop: Path, index: Index) -> None:
        wheel(shop, "1.0")
        root = index.fetch("engine", "1.0")
        info = "engine-1.0.dist-info"
        assert files(root) == {"engine/__init__.py", f"{info}/METADATA", f"{info}/WHEEL", f"{info}/RECORD"}
        assert root.parent == index.cache / "releases/engine"  # type: ignore[operator]
        assert {path.name for path in root.parent.iterdir()} == {"1.0"}, "the wheel is not kept"

    def test_what_is_on_disk_needs_no_pip(self, shop: Path, index: Index) -> None:
        wheel(shop, "1.0")
        root = index.fetch("engine", "1.0")
        offline = without_pip(index)
        assert offline.fetch("engine", "1.0") == root
        assert offline.releases(Requirement("engine==1.0")) == ("1.0",)

    def test_a_wheel_that_only_another_python_can_run_is_still_read(self, shop: Path, index: Index) -> None:
        arch = targets(None, None, os.uname().machine)[1].platforms[0].split("_", 3)[3]
        wheel(shop, "1.0", f"cp312-cp312-manylinux_2_39_{arch}")
        wheel(shop, "1.1", f"cp311-cp311-manylinux_2_34_{arch}")
        found = index.resolve(parse_against("engine"), "engine")
        assert [release.version for release in found] == ["1.0", "1.1"]
        assert all(release.root and (release.root / "engine").is_dir() for release in found)

    def test_one_that_is_listed_and_cannot_be_had_is_not_left_out(self, shop: Path, index: Index) -> None:
        wheel(shop, "1.0")
        (shop / "engine-1.1.tar.gz").write_bytes(b"")  # listed, but no wheel
        (shop / "engine-1.2-py3-none-any.whl").write_bytes(b"not a zip")
        good, no_wheel, broken = index.resolve(parse_against("engine"), "engine")
        assert good.root and not good.problem
        assert no_wheel.root is None and no_wheel.problem and "pip" in no_wheel.problem.hint
        assert "1.1" in no_wheel.problem.what and "ERROR" in no_wheel.problem.hint
        assert broken.root is None and broken.problem and broken.problem.exit_code == 4

    def test_a_cache_that_cannot_be_written_says_what_to_set(self, shop: Path, tmp_path: Path) -> None:
        wheel(shop, "1.0")
        blocked = tmp_path / "file"
        blocked.write_text("")
        with pytest.raises(InconclusiveError, match="PRTOGGLE_CACHE"):
            Index(cache=blocked / "cache").fetch("engine", "1.0")

    def test_two_processes_at_once_get_the_same_whole_release(self, shop: Path, index: Index) -> None:
        wheel(shop, "1.0", **{f"engine/m{number}.py": f"x = {number}\n" for number in range(300)})
        program = (
            "import sys, pathlib; from prtoggle.releases import Index; "
            "root = Index(cache=pathlib.Path(sys.argv[1])).fetch('engine', '1.0'); "
            "print(root, len(list(root.rglob('*.py'))))"
        )
        command = [sys.executable, "-c", program, str(index.cache)]
        home = str(Path(__file__).parent.parent)
        env = {**os.environ, "PYTHONPATH": home}
        both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) for _ in range(2)]
        outputs = [child.communicate()[0].strip() for child in both]
        assert outputs == [f"{index.cache}/releases/engine/1.0 301"] * 2
        assert {path.name for path in (index.cache / "releases/engine").iterdir()} == {"1.0"}  # type: ignore[operator]

    def test_a_wheel_file_is_unpacked_by_its_content(self, tmp_path: Path, index: Index) -> None:
        path = wheel(tmp_path, "1.0")
        (first,) = index.resolve(PathTarget(path), "engine")
        path.unlink()
        (second,) = index.resolve(PathTarget(wheel(tmp_path, "1.0", **{"engine/more.py": ""})), "engine")
        assert first.root and second.root and first.root != second.root
        assert (second.root / "engine/more.py").is_file()


class TestWheels:
    @pytest.mark.parametrize("member", ["../x.py", "/x.py", "a/../../x.py", "..\\x.py", "C:x.py"])
    def test_a_file_outside_of_the_wheel_is_refused(self, tmp_path: Path, member: str) -> None:
        path = wheel(tmp_path, "1.0", **{member: "x = 1\n"})
        with pytest.raises(RefusedError):
            unpack(path, tmp_path / "final", tmp_path / "aside")
        assert not (tmp_path / "final").exists()
        assert not (tmp_path.parent / "x.py").exists()

    @pytest.mark.parametrize(
        ("member", "kept"),
        [
            ("engine/a.py", "engine/a.py"),
            ("engine/a.pyi", None),
            ("engine/a.so", None),
            ("engine/", None),
            ("engine-1.0.dist-info/licenses/LICENSE", "engine-1.0.dist-info/licenses/LICENSE"),
            ("engine-1.0.data/purelib/engine/a.py", "engine/a.py"),
            ("engine-1.0.data/scripts/a.py", None),
        ],
    )
    def test_what_is_kept_and_where(self, member: str, kept: str | None) -> None:
        found = kept_path(member)
        assert (str(found) if found else None) == kept

    def test_a_wheel_cut_short_leaves_nothing(self, tmp_path: Path) -> None:
        path = wheel(tmp_path, "1.0")
        path.write_bytes(path.read_bytes()[:-40])
        with pytest.raises(InconclusiveError):
            unpack(path, tmp_path / "final", tmp_path / "aside")
        assert not (tmp_path / "final").exists()


class TestFolders:
    @pytest.mark.parametrize("inside", [".", "src", "python", "lib/python3.12/site-packages"])
    def test_the_package_is_found_from_the_folder_that_a_person_would_name(self, tmp_path: Path, inside: str) -> None:
        home = tmp_path / "top" / inside
        (home / "engine").mkdir(parents=True)
        (home / "engine/__init__.py").write_text("")
        assert package_root(tmp_path / "top", "engine") == home
        assert package_root(home / "engine", "engine") == home

    def test_a_checkout_that_has_the_package_s_name(self, tmp_path: Path) -> None:
        package = tmp_path / "engine/python/engine"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        assert package_root(tmp_path / "engine", "engine") == package.parent

    def test_a_folder_without_it_names_the_nearest(self, tmp_path: Path) -> None:
        (tmp_path / "engines").mkdir()
        with pytest.raises(UsageError) as caught:
            package_root(tmp_path, "engine")
        assert caught.value.nearest == "engines"
