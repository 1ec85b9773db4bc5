"""Distributions of others that carry fixes, really installed: found by their entry points, and never imported."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.environment import Environment

pytestmark = pytest.mark.slow

WAYS = ("wheel", "editable", "uv-wheel", "uv-editable")
PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.26"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "1.0"

[project.entry-points."prtoggle.fixes"]
engine = "{package}"

[tool.hatch.build]
dev-mode-dirs = ["{folder}"]

[tool.hatch.build.targets.wheel]
packages = ["{folder}/{package}"]
"""
FIX = """\
prtoggle: 1
fix: {number}
title: a batch is cut to what fits
project: {project}
variants:
  - package: {target}
    patches:
      - target: {target}.cut
        edits:
          - find: 'rows = rows[:4]'
            put: ''
"""
TARGET = "def cut(rows):\n    rows = rows[:4]\n    return rows\n"
CUT = "import {0}; print({0}.cut([1, 2, 3, 4, 5, 6]))"
FIXED, REVERTED = "[1, 2, 3, 4]\n", "[1, 2, 3, 4, 5, 6]\n"


@pytest.fixture(scope="module")
def made(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with prtoggle and two packages, ``engine`` and ``motor``."""
    environment = Environment(tmp_path_factory.mktemp("others") / "venv")
    environment.see_dependencies()
    environment.pip("install", "--no-deps", "--no-build-isolation", str(wheel))
    for name in ("engine", "motor"):
        info = environment.site_packages / f"{name}-1.3.dist-info"
        (environment.site_packages / name).mkdir()
        (environment.site_packages / name / "__init__.py").write_text(TARGET)
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.3\n")
        (info / "RECORD").write_text(f"{name}/__init__.py,,\n")
    return environment


@pytest.fixture
def environment(made: Environment) -> Iterator[Environment]:
    """The same; what a test installs in it is taken out again."""
    before = set(made.site_packages.iterdir())
    yield made
    for path in set(made.site_packages.iterdir()) - before:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def distribution(
    folder: Path,
    name: str,
    *,
    number: int = 101,
    project: str = "acme/engine",
    target: str = "engine",
    src: bool = False,
) -> Path:
    """The project of a distribution with one fix. Its package cannot be imported."""
    package = name.replace("-", "_")
    root = folder / name
    fix = root / ("src" if src else "") / package / f"pr{number}_cut"
    fix.mkdir(parents=True)
    (root / "pyproject.toml").write_text(PYPROJECT.format(name=name, package=package, folder="src" if src else "."))
    (fix.parent / "__init__.py").write_text("raise RuntimeError('fixes are never imported')\n")
    (fix / "revert.yaml").write_text(FIX.format(number=number, project=project, target=target))
    return root


def install(environment: Environment, root: Path, way: str) -> None:
    installer = environment.uv if way.startswith("uv") else environment.pip
    editable = ["--editable"] if way.endswith("editable") else []
    installer("install", "--no-deps", "--no-build-isolation", *editable, str(root))


def lay(environment: Environment, root: Path) -> None:
    """What an installer leaves of a distribution, without the seconds that it takes."""
    package = root.name.replace("-", "_")
    shutil.copytree(root / package, environment.site_packages / package)
    info = environment.site_packages / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {root.name}\nVersion: 1.0\n")
    (announced,) = re.findall(r'^engine = "(.*)"$', (root / "pyproject.toml").read_text(), re.MULTILINE)
    (info / "entry_points.txt").write_text(f"[prtoggle.fixes]\nengine = {announced}\n")


def cut(environment: Environment, selection: str, package: str = "engine") -> str:
    """What the package's function gives in a process with ``selection``."""
    return environment.python("-c", CUT.format(package), env={"PRTOGGLE_REVERT": selection}).stdout


def refused(environment: Environment, selection: str, package: str = "engine") -> str:
    """Why the package cannot be imported in a process with ``selection``."""
    done = environment.python("-c", CUT.format(package), env={"PRTOGGLE_REVERT": selection}, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"so {package} may not be imported" in done.stderr
    return done.stderr


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("src", [False, True], ids=["flat", "src"])
def test_fixes_are_found_however_they_are_installed(
    environment: Environment, tmp_path: Path, way: str, src: bool
) -> None:
    if way.startswith("uv"):
        pytest.importorskip("uv", reason="uv is not installed")
    install(environment, distribution(tmp_path, "engine-fixes", src=src), way)
    listed = json.loads(environment.run("prtoggle", "list", "--json").stdout)["fixes"]
    assert [fix["origin"] for fix in listed if fix["id"] == "101"] == [{"kind": "entry-point", "where": "engine-fixes"}]
    for selection in ("101", "acme/engine#101"):
        assert cut(environment, selection) == REVERTED
    assert cut(environment, "none") == FIXED


def test_a_distribution_that_is_taken_out_is_gone(environment: Environment, tmp_path: Path) -> None:
    install(environment, distribution(tmp_path, "engine-fixes"), "wheel")
    assert cut(environment, "101") == REVERTED
    environment.pip("uninstall", "--yes", "engine-fixes")
    done = environment.run("prtoggle", "show", "101", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no fix has the number 101" in done.stderr


def test_two_distributions_with_one_number_are_refused_and_both_named(environment: Environment, tmp_path: Path) -> None:
    lay(environment, distribution(tmp_path, "engine-fixes"))
    lay(environment, distribution(tmp_path, "my-fixes"))
    said = "2 distributions have a fix 101: engine-fixes and my-fixes, expected one"
    for command in (("show", "101"), ("diff", "101"), ("run", "101", "--", "python", "-c", CUT.format("engine"))):
        done = environment.run("prtoggle", *command, check=False)
        assert done.returncode in (3, 125) and done.stdout == ""
        assert said in done.stderr
    assert said in environment.run("prtoggle", "list").stderr
    assert said in refused(environment, "101")


def test_a_folder_that_is_named_settles_which_of_two_distributions_is_meant(
    environment: Environment, tmp_path: Path
) -> None:
    lay(environment, distribution(tmp_path, "engine-fixes"))
    mine = distribution(tmp_path, "my-fixes")
    lay(environment, mine)
    done = environment.run("prtoggle", "show", "101", "--fixes", str(mine / "my_fixes"))
    assert str(mine / "my_fixes" / "pr101_cut") in done.stdout
    env = {"PRTOGGLE_REVERT": "101", "PRTOGGLE_PATH": str(mine / "my_fixes")}
    assert environment.python("-c", CUT.format("engine"), env=env).stdout == REVERTED


def test_one_number_of_two_projects_needs_the_project(environment: Environment, tmp_path: Path) -> None:
    lay(environment, distribution(tmp_path, "engine-fixes"))
    lay(environment, distribution(tmp_path, "motor-fixes", project="acme/motor", target="motor"))
    done = environment.run("prtoggle", "show", "101", check=False)
    assert done.returncode == 2
    assert "101 is a number of 2 projects: acme/engine and acme/motor" in done.stderr
    assert "write acme/engine#101 or acme/motor#101" in refused(environment, "101")
    assert cut(environment, "acme/motor#101", "motor") == REVERTED
    assert cut(environment, "acme/motor#101", "engine") == FIXED


def test_a_reverse_patch_that_does_not_load_stops_only_what_it_is_for(environment: Environment, tmp_path: Path) -> None:
    lay(environment, distribution(tmp_path, "engine-fixes"))
    broken = distribution(tmp_path, "motor-fixes", number=102, project="acme/motor", target="motor")
    file = broken / "motor_fixes" / "pr102_cut" / "revert.yaml"
    file.write_text(file.read_text().replace("title:", "titel:"))
    lay(environment, broken)
    told = environment.run("prtoggle", "list").stderr
    assert "pr102_cut/revert.yaml:3:1: unknown field 'titel'" in told
    for selection in ("101", "all"):
        assert cut(environment, selection) == REVERTED
    assert cut(environment, "101", "motor") == FIXED
    for selection in ("102", "all"):
        assert "unknown field 'titel'" in refused(environment, selection, "motor")
    assert environment.run("prtoggle", "diff", "101").returncode == 0


def test_an_entry_point_that_names_no_package_stops_only_what_needs_it(
    environment: Environment, tmp_path: Path
) -> None:
    lay(environment, distribution(tmp_path, "engine-fixes"))
    lost = distribution(tmp_path, "lost-fixes", number=103)
    text = (lost / "pyproject.toml").read_text()
    (lost / "pyproject.toml").write_text(text.replace('engine = "lost_fixes"', 'engine = "nowhere_fixes"'))
    lay(environment, lost)
    said = "the distribution lost-fixes: the package nowhere_fixes that it names for prtoggle.fixes is not installed"
    assert said in environment.run("prtoggle", "list").stderr
    assert cut(environment, "101") == REVERTED
    assert "what could not be read may have it: lost-fixes" in refused(environment, "103")


SCENARIO = """\
import {target}

from prtoggle.scenario import Case


def observe(device):
    return {{"rows": {target}.cut([1, 2, 3, 4, 5, 6])}}


CASES = (
    Case("none", "four rows are left", lambda seen: seen["rows"] == [1, 2, 3, 4]),
    Case("{number}", "all six are left", lambda seen: seen["rows"] == [1, 2, 3, 4, 5, 6]),
)
"""


def with_scenario(root: Path, target: str) -> Path:
    (fix,) = root.glob("*/pr*")
    (fix / "scenario.py").write_text(SCENARIO.format(target=target, number=fix.name[2:].partition("_")[0]))
    return root


def test_scenarios_are_proven_beside_one_that_does_not_load(environment: Environment, tmp_path: Path) -> None:
    lay(environment, with_scenario(distribution(tmp_path, "engine-fixes"), "engine"))
    broken = with_scenario(distribution(tmp_path, "motor-fixes", number=102, target="motor"), "motor")
    (file,) = broken.glob("*/*/revert.yaml")
    file.write_text(file.read_text().replace("title:", "titel:"))
    lay(environment, broken)
    done = environment.run("prtoggle", "prove", "101")
    assert "2 of 2 cases proven" in done.stdout
    done = environment.run("prtoggle", "prove", "102", check=False)
    assert done.returncode == 3 and "unknown field 'titel'" in done.stderr


def test_scenarios_of_one_number_and_two_projects_are_told_apart(environment: Environment, tmp_path: Path) -> None:
    lay(environment, with_scenario(distribution(tmp_path, "engine-fixes"), "engine"))
    motor = distribution(tmp_path, "motor-fixes", project="acme/motor", target="motor")
    lay(environment, with_scenario(motor, "motor"))
    done = environment.run("prtoggle", "prove", "acme/motor#101,acme/engine#101", "--json")
    cases = json.loads(done.stdout)["cases"]
    assert [(case["project"], case["revert"], case["verdict"]) for case in cases] == [
        ("acme/engine", "none", "proven"),
        ("acme/engine", "101", "proven"),
        ("acme/motor", "none", "proven"),
        ("acme/motor", "101", "proven"),
    ]
    done = environment.run("prtoggle", "prove", "101", check=False)
    assert done.returncode == 2 and "101 is a number of 2 projects" in done.stderr
