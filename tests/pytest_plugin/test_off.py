"""Installed and not used, the plugin costs next to nothing, and never what the commands need."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest

from tests.pytest_plugin.app import App

pytest_plugins = "pytester"

HEAVY = {"click", "rich", "yaml", "unidiff", "packaging.specifiers", "torch", "numpy"}
NEEDED = {"prtoggle", "prtoggle.pytest_plugin"}


def loaded(app: App, tests: str, *args: str) -> set[str]:
    """The modules of a session's process at its end."""
    app.file(
        "conftest.py",
        """
        import json, sys

        def pytest_unconfigure(config):
            with open("loaded.json", "w") as file:
                json.dump(sorted(sys.modules), file)
        """,
    )
    ran = app.run(tests, *args)
    assert ran.code == 0, ran.out
    return set(json.loads((app.path / "loaded.json").read_text()))


def test_a_session_without_marks_loads_one_module_of_hooks(app: App) -> None:
    # Without a variable the .pth file loads nothing, so all that is loaded is the plugin's.
    modules = loaded(app, "def test_plain(): pass\n", "-p", "no:hypothesispytest", "-p", "no:xdist", "-p", "no:anyio")
    assert {name for name in modules if name.partition(".")[0] == "prtoggle"} == NEEDED
    assert not HEAVY & modules


def test_live_guards_and_a_reverted_session_load_none_of_what_decides(app: App) -> None:
    guards = """
        @pytest.mark.guards("7")
        def test_guards():
            assert core.cut(ROWS) == [1, 2, 3]
    """
    for args in ((), ("--revert", "7/sort", "--revert-allow-unused")):
        modules = loaded(app, guards, *args)
        assert "prtoggle.pytest_plugin.protocol" in modules
        assert not {"click", "rich", "yaml", "unidiff", "torch"} & modules
        decides = {"catalog", "plan", "sources", "verdict", "yamlfile", "spec", "check", "library", "packages"}
        assert not {f"prtoggle.{name}" for name in decides} & modules


def test_the_plugin_is_imported_within_a_few_milliseconds_beyond_pytest() -> None:
    code = """
        import sys, time
        import pytest
        best = 1.0
        for _ in range(5):
            for name in [name for name in sys.modules if name.partition(".")[0] == "prtoggle"]:
                del sys.modules[name]
            begun = time.process_time()
            import prtoggle.pytest_plugin
            best = min(best, time.process_time() - begun)
        print(best)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 0.005


def test_that_pytest_rewrites_asserts_of_plugins_does_not_touch_what_is_reverted(app: App, installed: str) -> None:
    # Of an installed wheel, pytest takes every module for part of the plugin. Here: as the hook is after it.
    app.file(
        "conftest.py",
        """
        import pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_configure(config):
            names = config.pluginmanager.rewrite_hook._must_rewrite
            assert not {"prtoggle", "prtoggle_fixes"} & set(names), names
        """,
    )
    app.file("mark.py", "import pytest\npytest.register_assert_rewrite('prtoggle_fixes')\n")
    assert app.run("def test_it(): pass\n", "-p", "mark").code == 0


@pytest.mark.parametrize("flag", ["-W", "-p"])
def test_warnings_as_errors_and_autoload_off_work(app: App, monkeypatch: pytest.MonkeyPatch, flag: str) -> None:
    guards = "@pytest.mark.guards('7')\ndef test_guards():\n    assert core.cut(ROWS) == [1, 2, 3]\n"
    args = ["-W", "error"] if flag == "-W" else ["-p", "prtoggle.pytest_plugin"]
    if flag == "-p":
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    else:
        monkeypatch.setenv("PRTOGGLE_REVERT", "7/sort")  # then prtoggle is imported before pytest is
    ran = app.run(guards, *args)
    assert ran.code == 0, ran.out + ran.err


def test_what_only_sets_up_reverts_nothing(app: App) -> None:
    tests = """
        @pytest.fixture
        def rows(): print("set up")
        @pytest.mark.reverted("7", child=True)
        def test_reverted(rows): pass
        @pytest.mark.guards("7")
        def test_guards(rows): pass
        """
    for option in ("--setup-only", "--setup-plan"):
        ran = app.run(tests, option)
        assert ran.code == 0 and not ran.section, ran.out
