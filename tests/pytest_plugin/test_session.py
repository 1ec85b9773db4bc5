"""``--revert`` takes a selection out of a whole session, or the session fails and says why."""

from __future__ import annotations

import pytest

from tests.pytest_plugin.app import App

pytest_plugins = "pytester"

REVERTED = """
    import os, subprocess, sys

    def test_here():
        assert core.cut(ROWS) == ROWS

    def test_in_what_it_starts():
        code = "from engine import core; print(core.cut([1, 2, 3, 4]))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout == "[1, 2, 3, 4]\\n"
"""


def test_a_session_is_reverted_with_what_its_conftest_imports_and_says_so(app: App) -> None:
    app.file("conftest.py", "from engine import core\nassert core.LIMIT == 5\n")
    ran = app.run(
        REVERTED.replace("ROWS) == ROWS", "ROWS) == ROWS and core.LIMIT == 5"),
        "--revert=7, 7/limit",
        "-p",
        "no:cacheprovider",
    )
    assert (ran.code, list(ran.results.values())) == (0, ["PASSED", "PASSED"])
    assert "prtoggle: 7,7/limit is reverted in this session, and in every process that it starts (--revert)" in ran.out
    assert ran.section == []


def test_workers_of_xdist_are_reverted(app: App) -> None:
    ran = app.run(REVERTED, "--revert", "7", "-n", "1")
    assert (ran.code, list(ran.results.values())) == (0, ["PASSED", "PASSED"])


def test_the_variable_alone_is_said_and_must_not_differ_from_the_option(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRTOGGLE_REVERT", "7")
    ran = app.run(REVERTED)
    assert (ran.code, list(ran.results.values())) == (0, ["PASSED", "PASSED"])
    assert "prtoggle: 7 is reverted in this session, and in every process that it starts (PRTOGGLE_REVERT)" in ran.out
    same = app.run("", "--revert", " 7 ")
    assert (same.code, list(same.results.values())) == (0, ["PASSED", "PASSED"])
    for other in ("7/sort", "none"):
        ran = app.run("", "--revert", other)
        assert (ran.code, ran.results) == (4, {})
        assert f"--revert {other} and PRTOGGLE_REVERT=7 are both set and differ" in ran.err
    monkeypatch.setenv("PRTOGGLE_REVERT", "none")
    assert app.run("", "--revert", "7").code == 4


def test_sglangs_own_variable_must_not_differ_either(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGLANG_DEBUG_REVERT_PR", "24401")
    ran = app.run(REVERTED, "--revert", "7")
    assert ran.code == 4 and "SGLANG_DEBUG_REVERT_PR" in ran.err and "differ" in ran.err
    monkeypatch.setenv("SGLANG_DEBUG_REVERT_PR", "0")
    assert app.run("", "--revert", "7").code == 0


@pytest.mark.parametrize(
    ("selection", "said"),
    [("8", "no fix has the number 8"), ("7/", "a part's name is missing"), ("7/slcie", "slice"), ("", "is empty")],
)
def test_what_nobody_knows_ends_the_session_before_any_test(app: App, selection: str, said: str) -> None:
    ran = app.run(REVERTED, f"--revert={selection}")
    assert (ran.code, ran.results) == (4, {})
    assert said in ran.err and "Traceback" not in ran.err


def test_a_package_that_another_plugin_imported_before_is_refused_with_the_remedy(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.file("early.py", "from engine import core\n")
    ran = app.run(REVERTED, "--revert", "7", "-p", "early")
    assert (ran.code, ran.results) == (4, {})
    assert "engine.core is imported already, before --revert can take 7 out of it" in ran.err
    assert "PRTOGGLE_REVERT=7 python -m pytest" in ran.err
    monkeypatch.setenv("PRTOGGLE_REVERT", "7")
    assert app.run("", "-p", "early").code == 0


def test_a_refusal_that_the_tests_swallow_fails_the_session_all_the_same(app: App) -> None:
    app.file("engine/core.py", "LIMIT = 3\n\ndef cut(rows):\n    return rows[:LIMIT]\n")
    app.file(
        "test_soft.py",
        """
        import pytest

        def test_soft():
            try:
                from engine import core
            except Exception:
                pytest.skip("no engine")
        """,
    )
    ran = app.run("", "--revert", "7")
    assert ran.results["test_soft"].startswith("SKIPPED")
    assert ran.code == 125
    assert ran.section[0].startswith("NOT IN FORCE engine could not be imported reverted: ")


def test_a_session_in_which_nothing_imports_what_is_reverted_says_nothing_and_fails(app: App) -> None:
    app.file("test_else.py", "def test_else(): pass\n")
    ran = app.run("", "--revert", "7")
    assert (ran.code, ran.results) == (125, {"test_else": "PASSED"})
    assert ran.section == ["NOT IN FORCE 7 took no effect: no process of this session imported what it changes"]
    assert app.run("", "--revert", "7", "--revert-allow-unused").code == 0
    assert app.run("", "--revert", "7", "--collect-only").code == 0
    assert app.run("", "--revert", "none").code == 0


def test_what_only_a_child_of_a_test_imports_is_in_force(app: App) -> None:
    app.file(
        "test_child.py",
        """
        import subprocess, sys

        def test_child():
            subprocess.run([sys.executable, "-c", "from engine import core"], check=True)
        """,
    )
    assert app.run("", "--revert", "7").code == 0


def test_a_marked_test_adds_its_own_to_the_sessions_and_its_child_counts_as_one_of_the_sessions_processes(
    app: App,
) -> None:
    app.file(
        "test_late.py",
        """
        import pytest

        @pytest.mark.reverted("7/limit", child=True)
        def test_both():
            from engine import core
            assert core.unused([2, 1]) == [2, 1] and core.LIMIT == 5
        """,
    )
    ran = app.run("", "--revert", "7/sort")
    assert (ran.code, ran.results) == (0, {"test_both": "PASSED (7/limit reverted, child process)"})


def test_where_a_conftest_file_names_the_plugin_the_option_is_in_force_too(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    app.file("conftest.py", "pytest_plugins = 'prtoggle.pytest_plugin'\n")
    assert app.run(REVERTED, "--revert", "7").code == 0
    app.file("conftest.py", "pytest_plugins = 'prtoggle.pytest_plugin'\nfrom engine import core\n")
    assert app.run("", "--revert", "7").code == 4


def test_collecting_is_reverted_too(app: App) -> None:
    ran = app.run(
        "@pytest.mark.parametrize('n', core.cut(ROWS))\ndef test_n(n): pass\n", "--revert", "7", "--collect-only", "-q"
    )
    assert ran.code == 0 and "test_n[4]" in ran.out


def test_two_sessions_of_one_process_do_not_mix_their_states(app: App) -> None:
    app.file(
        "test_it.py", "from engine import core\n\ndef test_it():\n    assert core.cut([1, 2, 3, 4]) == [1, 2, 3, 4]\n"
    )
    app.file(
        "twice.py",
        """
        import os, pytest

        print("unused:", int(pytest.main(["-q", "--revert=7", "--revert-allow-unused", "--collect-only", "--ignore=test_it.py"])))
        print("first:", int(pytest.main(["-q", "--revert=7", "test_it.py"])), os.environ.get("PRTOGGLE_REVERT"))
        print("second:", int(pytest.main(["-q", "test_it.py"])))
        """,
    )
    done = app.pytester.runpython("twice.py")
    lines = [line for line in done.stdout.str().splitlines() if line.partition(":")[0] in ("unused", "first", "second")]
    assert lines == ["unused: 5", "first: 0 None", "second: 4"]
    assert "an earlier session of this process took a fix out of what is imported" in done.stderr.str()
