"""A test marked ``reverted`` runs in that state, with all its fixtures, live or in a child process; which one is said."""

from __future__ import annotations

from tests.pytest_plugin.app import App

pytest_plugins = "pytester"


def test_a_test_runs_reverted_live_or_in_a_child_and_the_next_one_fixed(app: App) -> None:
    ran = app.run(
        """
        import os, subprocess, sys

        @pytest.mark.reverted("7")
        def test_live():
            assert core.cut(ROWS) == ROWS and core.LIMIT == 3

        def test_fixed():
            assert core.cut(ROWS) == [1, 2, 3] and "PRTOGGLE_REVERT" not in os.environ

        @pytest.mark.reverted("7/limit")
        def test_what_live_refuses():
            assert core.LIMIT == 5

        @pytest.mark.reverted("7", child=True)
        def test_child_since_asked():
            assert core.cut(ROWS) == ROWS

        @pytest.mark.reverted("7/slice", "7/sort")
        def test_several():
            assert core.cut(ROWS) == ROWS and core.unused([2, 1]) == [2, 1]

        @pytest.mark.reverted("7/slice")
        class TestClass:
            @pytest.mark.reverted("7/sort")
            def test_mark_of_the_class_and_its_own(self):
                assert core.cut(ROWS) == ROWS and core.unused([2, 1]) == [2, 1]

        @pytest.mark.reverted("7")
        def test_what_it_starts_is_reverted_too():
            code = "from engine import core; print(core.cut([1, 2, 3, 4]))"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            assert done.stdout == "[1, 2, 3, 4]\\n"

        @pytest.mark.reverted("7")
        def test_fails_in_its_own_words():
            print("printed", "live")
            assert core.cut(ROWS) == [1, 2, 3], "four rows, live"

        @pytest.mark.reverted("7", child=True)
        def test_fails_in_a_child():
            print("printed in", "a child")
            assert core.cut(ROWS) == [1, 2, 3], "four rows, child"

        @pytest.mark.reverted("7", child=True)
        def test_skips_in_a_child():
            pytest.skip("not there")

        @pytest.mark.reverted("7", child=True)
        @pytest.mark.xfail(raises=AssertionError)
        def test_xfails_in_a_child():
            assert core.cut(ROWS) == [1, 2, 3]

        @pytest.mark.reverted("7/sort", child=True)
        def test_never_executed(record_property):
            record_property("seen", "yes")
            import warnings
            warnings.warn("worn out", FutureWarning)

        def test_fixed_at_the_end():
            assert core.cut(ROWS) == [1, 2, 3] and core.unused([2, 1]) == [1, 2]
        """,
        "--junitxml=all.xml",
    )
    assert ran.results == {
        "test_live": "PASSED (7 reverted, live)",
        "test_fixed": "PASSED",
        "test_what_live_refuses": "PASSED (7/limit reverted, child process)",
        "test_child_since_asked": "PASSED (7 reverted, child process)",
        "test_several": "PASSED (7/slice+sort reverted, live)",
        "test_mark_of_the_class_and_its_own": "PASSED (7/slice+sort reverted, live)",
        "test_what_it_starts_is_reverted_too": "PASSED (7 reverted, live)",
        "test_fails_in_its_own_words": "FAILED (7 reverted, live)",
        "test_fails_in_a_child": "FAILED (7 reverted, child process)",
        "test_skips_in_a_child": "SKIPPED (not there)",
        "test_xfails_in_a_child": "XFAIL",
        "test_never_executed": "PASSED (7/sort reverted, child process)",
        "test_fixed_at_the_end": "PASSED",
    }
    for how in ("live", "child"):
        assert f"E       AssertionError: four rows, {how}" in ran.out
    assert "printed live" in ran.out and "printed in a child" in ran.out
    assert "PytestUnknownMarkWarning" not in ran.out
    assert ran.out.count("FutureWarning: worn out") == 1
    never = (
        "NEVER EXECUTED test_it.py::test_never_executed 7/sort (child process): the reverted code was never executed"
    )
    assert never in ran.section
    junit = (app.path / "all.xml").read_text()
    assert junit.count("<testcase ") == 13
    assert 'name="seen" value="yes"' in junit and 'name="prtoggle reverted" value="7: reverted (live)"' in junit


def test_no_fixture_of_any_scope_lives_through_a_change_of_state(app: App) -> None:
    app.file(
        "conftest.py",
        """
        import pytest
        from engine import core

        def held(scope):
            def fixture():
                made = core.cut([1, 2, 3, 4])
                yield made
                assert core.cut([1, 2, 3, 4]) == made, f"{scope}: torn down in another state"
            return pytest.fixture(scope=scope, name=scope + "s")(fixture)

        sessions, packages, modules, classes, functions = map(held, ("session", "package", "module", "class", "function"))
        """,
    )
    every = "sessions, packages, modules, classs, functions"
    ran = app.run(
        f"""
        class TestEvery:
            def test_fixed({"self, " + every}):
                for made in ({every}):
                    assert made == [1, 2, 3]

            @pytest.mark.reverted("7")
            def test_reverted({"self, " + every}):
                for made in ({every}):
                    assert made == ROWS

            def test_fixed_again({"self, " + every}):
                for made in ({every}):
                    assert made == [1, 2, 3]

            @pytest.mark.guards("7")
            def test_guard({"self, " + every}):
                for made in ({every}):
                    assert made == [1, 2, 3]

            @pytest.mark.reverted("7", child=True)
            def test_child({"self, " + every}):
                for made in ({every}):
                    assert made == ROWS

        def test_in_the_module(modules, sessions):
            assert modules == sessions == [1, 2, 3]
        """
    )
    assert ran.code == 0, ran.out
    assert list(ran.results.values()) == [
        "PASSED",
        "PASSED (7 reverted, live)",
        "PASSED",
        "PASSED (guards 7, live)",
        "PASSED (7 reverted, child process)",
        "PASSED",
    ]


def test_a_fixture_without_a_marked_test_beside_it_is_set_up_once_as_ever(app: App) -> None:
    ran = app.run(
        """
        SETUPS = []

        @pytest.fixture(scope="module")
        def one():
            SETUPS.append(1)

        def test_a(one): pass
        def test_b(one): pass
        @pytest.mark.reverted("7")
        def test_c(): pass
        def test_d(one): assert len(SETUPS) == 2
        def test_e(one): assert len(SETUPS) == 2
        """
    )
    assert ran.code == 0, ran.out


def test_a_package_that_is_not_imported_yet_is_reverted_in_a_child(app: App) -> None:
    app.file(
        "test_late.py",
        """
        import pytest

        @pytest.mark.reverted("7")
        def test_imports_it_itself():
            from engine import core
            assert core.cut([1, 2, 3, 4]) == [1, 2, 3, 4]

        def test_fixed():
            from engine import core
            assert core.cut([1, 2, 3, 4]) == [1, 2, 3]
        """,
    )
    ran = app.run("", "-v")
    assert ran.results == {"test_imports_it_itself": "PASSED (7 reverted, child process)", "test_fixed": "PASSED"}
    why = "engine.core is not imported in this process yet"
    assert ran.section[0] == f"IN A CHILD PROCESS test_late.py::test_imports_it_itself 7 (child process): {why}"


def test_what_a_test_leaves_suspended_in_reverted_code_does_not_keep_the_next_one_reverted(app: App) -> None:
    ran = app.run(
        """
        LEFT = []

        @pytest.mark.reverted("7/step")
        def test_leaves_a_generator():
            LEFT.append(core.steps())
            assert next(LEFT[0]) == 2

        def test_fixed():
            assert next(core.steps()) == 1
        """
    )
    assert (ran.code, list(ran.results.values())) == (0, ["PASSED (7/step reverted, live)", "PASSED"])


def test_a_child_has_the_options_the_configuration_and_the_working_directory_of_the_session(app: App) -> None:
    app.file("pytest.ini", "[pytest]\nmarkers = mine\naddopts = --strict-markers\npythonpath = more\n")
    app.file("more/beside.py", "HERE = 1\n")
    app.file(
        "sub/conftest.py",
        """
        def pytest_addoption(parser):
            parser.addoption("--mine", default="no")
        """,
    )
    ran = app.run(
        """
        import os, sys

        @pytest.mark.mine
        @pytest.mark.reverted("7", child=True)
        @pytest.mark.parametrize("text", ["a::b[c]", "ü"])
        def test_same(request, tmp_path, text):
            import beside
            assert request.config.getoption("mine") == "yes"
            assert os.getcwd() == str(request.config.rootpath)
            assert request.node.nodeid.startswith("sub/test_same.py::test_same[")
            assert "prtoggle-child" in str(tmp_path)
            assert sys.flags.optimize == 0 and not sys.stdin.readable() or True
        """,
        "--mine=yes",
        "-k",
        "same",
        "--maxfail=1",
        "sub",
        name="sub/test_same.py",
    )
    assert ran.code == 0, ran.out
    assert len(ran.results) == 2 and set(ran.results.values()) == {"PASSED (7 reverted, child process)"}


def test_where_a_fix_cannot_be_put_back_the_session_ends_and_says_so(app: App) -> None:
    ran = app.run(
        """
        @pytest.mark.reverted("7")
        def test_rewrites_the_code():
            core.cut.__code__ = (lambda rows: rows).__code__

        def test_that_must_not_run_now():
            pass
        """
    )
    assert ran.code != 0
    assert list(ran.results) == ["test_rewrites_the_code"]
    assert "prtoggle could not put 7/slice back after test_it.py::test_rewrites_the_code" in ran.out
