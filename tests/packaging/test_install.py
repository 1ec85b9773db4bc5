"""Real builds, installed into real environments: what arrives, what starts, and what is left after uninstalling."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from prtoggle import __version__
from tests.packaging.environment import Environment

pytestmark = pytest.mark.slow

WAYS = ("wheel", "sdist", "editable", "uv-wheel", "uv-editable")


@dataclass(frozen=True)
class Installed:
    way: str
    environment: Environment
    before: set[str]
    tree: Path

    def uninstall(self) -> None:
        if self.way.startswith("uv"):
            self.environment.uv("uninstall", "prtoggle")
        else:
            self.environment.pip("uninstall", "--yes", "prtoggle")


@pytest.fixture(scope="module", params=WAYS)
def installed(
    request: pytest.FixtureRequest, tree: Path, wheel: Path, sdist: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installed]:
    """Prtoggle in an environment of its own; the last test takes it out again."""
    way: str = request.param
    if way.startswith("uv"):
        pytest.importorskip("uv", reason="uv is not installed")
    environment = Environment(tmp_path_factory.mktemp(way) / "venv")
    environment.see_dependencies()
    before = environment.files()
    install = ["install", "--no-deps", "--no-build-isolation"]
    source = {"wheel": [str(wheel)], "sdist": [str(sdist)], "editable": ["--editable", str(tree)]}[way.split("-")[-1]]
    (environment.uv if way.startswith("uv") else environment.pip)(*install, *source)
    yield Installed(way, environment, before, tree)


def test_the_pth_file_stands_at_the_root_of_site_packages(installed: Installed) -> None:
    there = installed.environment.site_packages / "prtoggle.pth"
    assert there.read_bytes() == (installed.tree / "prtoggle.pth").read_bytes()


def test_the_command_and_the_module_say_the_version(installed: Installed) -> None:
    for command in (("prtoggle", "--version"), ("python", "-m", "prtoggle", "--version")):
        assert installed.environment.run(*command).stdout.split()[-1] == __version__


def test_the_metadata_says_the_same_version(installed: Installed) -> None:
    code = "import importlib.metadata as m; print(m.version('prtoggle'))"
    assert installed.environment.python("-c", code).stdout.strip() == __version__


def test_every_fix_arrives_with_its_reverse_patch(installed: Installed) -> None:
    """Found without importing the fixes, which need torch."""
    code = (
        "import importlib.util, pathlib\n"
        "for folder in importlib.util.find_spec('prtoggle_fixes').submodule_search_locations:\n"
        "    print(*sorted(p.parent.name for p in pathlib.Path(folder).glob('*/revert.yaml')), sep='\\n')\n"
    )
    found = installed.environment.python("-c", code).stdout.split()
    assert found == sorted(path.parent.name for path in (installed.tree / "fixes").glob("*/revert.yaml"))
    assert found


def test_type_checkers_are_told_that_it_is_typed(installed: Installed) -> None:
    code = "import pathlib, prtoggle; print(pathlib.Path(prtoggle.__file__).with_name('py.typed').is_file())"
    assert installed.environment.python("-c", code).stdout.strip() == "True"


# -B with -O: pip, uninstalling any package, leaves the `.opt-1.pyc` files that Python has written for it.
FLAGS = ((), ("-I", "-E"), ("-O", "-B"))
LOADED = "import sys; print(*sorted(name for name in sys.modules if name.partition('.')[0] == 'prtoggle'))"


@pytest.mark.parametrize("env", [{}, {"PRTOGGLE_REVERT": ""}, {"SGLANG_DEBUG_REVERT_PR": "", "PRTOGGLE_REVERT": ""}])
def test_without_a_selection_nothing_of_prtoggle_is_loaded(installed: Installed, env: dict[str, str]) -> None:
    for flags in FLAGS:
        done = installed.environment.python(*flags, "-c", LOADED, env=env)
        assert (done.stdout.strip(), done.stderr) == ("", "")


@pytest.mark.parametrize("variable", ["PRTOGGLE_REVERT", "SGLANG_DEBUG_REVERT_PR"])
def test_with_a_selection_it_starts_in_every_interpreter(installed: Installed, variable: str) -> None:
    for flags in FLAGS:
        done = installed.environment.python(*flags, "-c", LOADED, env={variable: "27360"})
        assert "prtoggle.runtime.boot" in done.stdout.split(), done.stderr
        assert "could not start" not in done.stderr


def test_the_documents_and_the_schema_are_in_it(installed: Installed) -> None:
    done = installed.environment.run("prtoggle", "explain", "125")
    assert done.stdout.startswith("125: the revert was not in force\n------")
    schema = Path(installed.environment.run("prtoggle", "schema", "--path").stdout.strip())
    assert schema.name == "reverse-patch.schema.json"
    assert schema.is_file()


def test_uninstalling_leaves_no_trace(installed: Installed) -> None:
    """Last of this file: it takes out what the others looked at."""
    assert installed.environment.files() > installed.before
    installed.uninstall()
    assert installed.environment.files() == installed.before
    done = installed.environment.python("-c", "print('fine')", env={"PRTOGGLE_REVERT": "27360"})
    assert (done.stdout, done.stderr) == ("fine\n", "")


def test_the_wheel_holds_every_file_of_both_packages(tree: Path, wheel: Path) -> None:
    """Schema, YAML and py.typed too, not only Python."""
    held = set(zipfile.ZipFile(wheel).namelist())
    folders = [tree / name for name in ("prtoggle", "prtoggle_fixes")]
    files = {path.relative_to(tree) for folder in folders for path in folder.rglob("*") if path.is_file()}
    files = {path for path in files if not any(part.startswith((".", "__pycache__")) for part in path.parts)}
    files |= {
        Path("prtoggle") / path.relative_to(tree) for path in (tree / "docs").rglob("*.md")
    }  # prtoggle/docs, a link
    assert files
    assert {name for name in held if ".dist-info/" not in name} == {
        "prtoggle.pth",
        *(path.as_posix() for path in files),
    }


def test_a_wheel_built_from_the_sdist_is_the_wheel_built_from_the_tree(
    sdist: Path, wheel: Path, tmp_path: Path
) -> None:
    from tests.packaging.conftest import build

    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data") if hasattr(tarfile, "data_filter") else archive.extractall(tmp_path)
    (unpacked,) = tmp_path.iterdir()
    again = build(unpacked, tmp_path / "out", "--wheel")
    first, second = (zipfile.ZipFile(path) for path in (wheel, again))
    assert {name: first.read(name) for name in first.namelist()} == {
        name: second.read(name) for name in second.namelist()
    }
