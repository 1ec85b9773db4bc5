"""A second package with a toggle of its own takes one module and two words: what docs/guides/other-packages.md says, done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from prtoggle.integrations import all_integrations
from tests.docs.blocks import blocks_of
from tests.packaging.environment import Environment

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guides" / "other-packages.md"
ENGINE = """\
from engine import toggle


def cut(rows):
    rows = rows[:4]
    return rows


def start():
    toggle.maybe_revert()
    print(cut([1, 2, 3, 4, 5, 6]))
"""
TOGGLE = """\
REVERTS = {
    101: '''
patches:
  - target: engine.cut
    edits:
      - match: 'rows = rows[:4]'
''',
}


def maybe_revert():
    print("the engine's own toggle")
"""
START = "import engine; engine.start()"


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the package, and a prtoggle that has the module and the words."""
    made = Environment(tmp_path_factory.mktemp("second") / "venv")
    made.see_dependencies()
    made.pip("install", "--no-deps", "--no-build-isolation", str(wheel))
    site = made.site_packages
    (site / "engine").mkdir()
    (site / "engine" / "__init__.py").write_text(ENGINE)
    (site / "engine" / "toggle.py").write_text(TOGGLE)
    (module,) = (block.text for block in blocks_of(GUIDE) if "integration" in block.words)
    (site / "prtoggle" / "integrations" / "engine.py").write_text(module)
    line = (site / "prtoggle.pth").read_text()
    for theirs, both in (
        (
            "'SGLANG_DEBUG_REVERT_PR' in os.environ",
            "'SGLANG_DEBUG_REVERT_PR' in os.environ or 'ENGINE_REVERT' in os.environ",
        ),
        (
            r"os.environ.get(\'SGLANG_DEBUG_REVERT_PR\')",
            r"os.environ.get(\'SGLANG_DEBUG_REVERT_PR\') or os.environ.get(\'ENGINE_REVERT\')",
        ),
        (r"(\'sglang\', ", r"(\'sglang\', \'engine\', "),
    ):
        assert line.count(theirs) == 1
        line = line.replace(theirs, both)
    (site / "prtoggle.pth").write_text(line)
    return made


def test_its_variable_reverts_and_its_own_toggle_stands_down(environment: Environment) -> None:
    done = environment.python("-c", START, env={"ENGINE_REVERT": "101"})
    assert done.stdout == "[1, 2, 3, 4, 5, 6]\n"
    assert done.stderr.startswith("prtoggle: 101 reverted in engine")


@pytest.mark.parametrize("value", ["", "none", None])
def test_what_selects_nothing_leaves_the_package_to_itself(environment: Environment, value: str | None) -> None:
    done = environment.python("-c", START, env={} if value is None else {"ENGINE_REVERT": value})
    assert (done.stdout, done.stderr) == ("the engine's own toggle\n[1, 2, 3, 4]\n", "")


def test_its_registry_is_a_source_of_fixes(environment: Environment) -> None:
    fixes = json.loads(environment.run("prtoggle", "list", "--json").stdout)["fixes"]
    (origin,) = (fix["origin"] for fix in fixes if fix["id"] == "101")
    assert origin == {"kind": "registry", "where": "engine"}
    assert "acme/engine" in environment.run("prtoggle", "show", "101").stdout


@pytest.mark.parametrize("other", ["PRTOGGLE_REVERT", "SGLANG_DEBUG_REVERT_PR"])
def test_two_variables_that_differ_are_refused_and_both_named(environment: Environment, other: str) -> None:
    done = environment.python("-c", START, env={"ENGINE_REVERT": "101", other: "27360"}, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert " are both set and differ: " in done.stderr
    assert {other, "ENGINE_REVERT"} <= set(done.stderr.split())


def test_run_passes_the_variable_on_to_nothing(environment: Environment) -> None:
    done = environment.run("prtoggle", "run", "none", "--", "python", "-c", START, env={"ENGINE_REVERT": "101"})
    assert done.stdout == "the engine's own toggle\n[1, 2, 3, 4]\n"
    assert "ENGINE_REVERT=101 is set here and not passed on" in done.stderr


def test_a_prtoggle_that_cannot_start_refuses_the_package(environment: Environment) -> None:
    boot = environment.site_packages / "prtoggle" / "runtime" / "boot.py"
    text = boot.read_text()
    try:
        boot.write_text("raise ValueError('broken')\n")
        done = environment.python("-c", START, env={"ENGINE_REVERT": "101"}, check=False)
    finally:
        boot.write_text(text)
    assert (done.returncode, done.stdout) == (1, "")
    assert "engine is refused" in done.stderr


def test_the_file_that_starts_prtoggle_has_the_words_of_every_integration() -> None:
    line = (ROOT / "prtoggle.pth").read_text()
    for integration in all_integrations():
        assert f"'{integration.variable}' in os.environ" in line
        assert rf"os.environ.get(\'{integration.variable}\')" in line
        assert rf"\'{integration.package}\'" in line
