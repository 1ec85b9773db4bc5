"""A guard passes fixed and fails reverted; whatever else happens is said, and is no guard."""

from __future__ import annotations

import re

from tests.pytest_plugin.app import App

pytest_plugins = "pytester"


def test_a_guard_is_one_only_where_the_test_itself_fails_reverted(app: App) -> None:
    ran = app.run(
        """
        @pytest.mark.guards("7")
        def test_guards():
            assert core.cut(ROWS) == [1, 2, 3]

        @pytest.mark.guards("7/limit")
        def test_guards_a_constant_in_a_child():
            assert core.cut(ROWS) == [1, 2, 3]

        @pytest.mark.guards("7", child=True)
        def test_guards_in_a_child_since_asked():
            assert core.cut(ROWS) == [1, 2, 3]

        @pytest.mark.guards("7")
        def test_passes_reverted():
            assert core.cut(ROWS)[:3] == [1, 2, 3]

        @pytest.mark.guards("7/sort")
        def test_never_executes_it():
            assert core.cut(ROWS)

        @pytest.mark.guards("7")
        def test_is_red_fixed_too():
            assert core.cut(ROWS) == ROWS

        @pytest.fixture
        def rows():
            assert core.cut(ROWS) == [1, 2, 3]
            return ROWS

        @pytest.mark.guards("7")
        def test_whose_setup_fails_reverted(rows):
            assert rows

        @pytest.mark.guards("7")
        def test_that_skips_reverted():
            if core.cut(ROWS) == ROWS:
                pytest.skip("too many")

        @pytest.mark.guards("7")
        @pytest.mark.xfail(strict=False)
        def test_that_is_expected_to_fail():
            assert core.cut(ROWS) == [1, 2, 3]

        @pytest.mark.guards("7")
        @pytest.mark.skip(reason="not today")
        def test_that_is_skipped():
            pass

        SEEN = []

        @pytest.mark.guards("7")
        def test_that_cannot_be_run_twice():
            SEEN.append(core.cut(ROWS))
            assert len(SEEN) == 1
        """
    )
    assert ran.code == 1
    assert ran.results == {
        "test_guards": "PASSED (guards 7, live)",
        "test_guards_a_constant_in_a_child": "PASSED (guards 7/limit, child process)",
        "test_guards_in_a_child_since_asked": "PASSED (guards 7, child process)",
        "test_passes_reverted": "FAILED (does not guard 7, live)",
        "test_never_executes_it": "FAILED (does not guard 7/sort, live)",
        "test_is_red_fixed_too": "FAILED",
        "test_whose_setup_fails_reverted": "FAILED (does not guard 7, live)",
        "test_that_skips_reverted": "FAILED (does not guard 7, live)",
        "test_that_is_expected_to_fail": "FAILED (does not guard 7, live)",
        "test_that_is_skipped": "SKIPPED (not today)",
        "test_that_cannot_be_run_twice": "ERROR",
    }
    assert "this test does not guard 7 (live): it passes with 7 reverted\n" in ran.out
    assert (
        "does not guard 7/sort (live): it passes with 7/sort reverted; the reverted code was never executed" in ran.out
    )
    assert "with 7 reverted its setup failed, before the test ran: assert [1, 2, 3, 4] == [1, 2, 3]" in ran.out
    assert "with 7 reverted it was skipped: too many" in ran.out
    assert "with 7 reverted it failed as xfail expects" in ran.out
    assert "whether it guards 7 cannot be told: run fixed a second time, it does not pass" in ran.out
    assert ran.section[0].startswith("GUARDS test_it.py::test_guards 7 (live): ")
    assert "assert [1, 2, 3, 4] == [1, 2, 3] (test_it.py:9)" in ran.section[0]
    assert ran.section[-1] == "3 guard, 5 do not guard, 1 in error"


def test_how_the_reverted_run_failed_is_shown_whole_with_vv_and_in_a_section_of_the_report(app: App) -> None:
    test = """
        @pytest.mark.guards("7")
        def test_guards():
            print("these are the rows")
            assert core.cut(ROWS) == [1, 2, 3], "four rows"
    """
    assert ">       assert core.cut(ROWS)" not in app.run(test).out
    assert any(">       assert core.cut(ROWS)" in line for line in app.run(test, "-v").section)
    assert "- with 7 reverted (live) -" in app.run(test, "-rP").out


def test_why_a_guard_was_proven_in_a_child_is_shown_with_vv(app: App) -> None:
    ran = app.run(
        """
        FIRST = core.cut(ROWS)

        @pytest.mark.guards("7/limit")
        def test_constant():
            assert core.LIMIT == 3

        @pytest.mark.guards("7", child=True)
        def test_asked():
            assert core.cut(ROWS) == [1, 2, 3]

        @pytest.mark.guards("7")
        def test_value():
            assert FIRST == [1, 2, 3]
        """,
        "-v",
    )
    whys = [line for line in ran.section if line.startswith("    in a child process: ")]
    assert len(whys) == 3 and "LIMIT" in whys[0], ran.out
    assert whys[1].endswith(": asked for") and whys[2].endswith(": live it passes")


def test_a_guard_may_say_how_it_fails(app: App) -> None:
    ran = app.run(
        """
        def refused():
            with pytest.raises(IndexError):
                core.fits(ROWS)

        @pytest.mark.guards("7/check", raises=RuntimeError, match="too late")
        def test_as_it_says():
            refused()

        @pytest.mark.guards("7/check", raises=(KeyError, ValueError))
        def test_otherwise():
            refused()

        @pytest.mark.guards("7/check", match="too early")
        def test_with_other_words():
            refused()

        @pytest.mark.guards("7/check", raises=Exception, child=True)
        def test_a_base_class_in_a_child():
            refused()

        @pytest.mark.guards("7/limit", raises=KeyError)
        def test_otherwise_in_a_child():
            assert core.cut(ROWS) == [1, 2, 3]
        """
    )
    assert ran.results == {
        "test_as_it_says": "PASSED (guards 7/check, live)",
        "test_otherwise": "FAILED (does not guard 7/check, live)",
        "test_with_other_words": "FAILED (does not guard 7/check, live)",
        "test_a_base_class_in_a_child": "PASSED (guards 7/check, child process)",
        "test_otherwise_in_a_child": "FAILED (does not guard 7/limit, child process)",
    }
    assert "failed otherwise: KeyError or ValueError was expected, but RuntimeError: too late (engine" in ran.out
    assert "failed otherwise: a text that matches 'too early' was expected, but RuntimeError: too late" in ran.out


def test_a_process_that_dies_in_the_test_failed_and_one_that_dies_before_it_did_not(app: App) -> None:
    app.file(
        "conftest.py",
        """
        import os, pytest
        from engine import core

        @pytest.fixture
        def room():
            if core.LIMIT == 5:
                os._exit(7)
        """,
    )
    ran = app.run(
        """
        @pytest.mark.guards("7/alive", child=True)
        def test_dies():
            assert core.dies(11) == 0

        @pytest.mark.guards("7/limit")
        def test_dies_in_its_setup(room):
            assert core.LIMIT == 3

        @pytest.mark.reverted("7/alive", child=True)
        def test_is_reverted_and_dies():
            assert core.dies(9) == 0
        """
    )
    assert ran.results == {
        "test_dies": "PASSED (guards 7/alive, child process)",
        "test_dies_in_its_setup": "ERROR",
        "test_is_reverted_and_dies": "FAILED (7/alive reverted, child process)",
    }
    assert "the process ended in the test's call, by SIGSEGV" in ran.section[0]
    assert "could not be reverted: the child process ended before the test, by exit code 7" in ran.out


def test_what_prtoggle_refuses_is_an_error_and_never_a_guard(app: App) -> None:
    app.file(
        "fixes/pr8_gone/revert.yaml",
        """
        prtoggle: 1
        fix: 8
        title: the code moved away
        variants:
          - package: engine
            patches: [{target: engine.core.cut, edits: [{find: 'rows = rows[:MOST]', put: ''}]}]
        """,
    )
    ran = app.run(
        """
        @pytest.mark.guards("8")
        def test_rot():
            assert core.cut(ROWS) == [1, 2, 3]

        @pytest.mark.guards("9")
        def test_unknown():
            assert core.cut(ROWS) == [1, 2, 3]

        @pytest.mark.reverted("8")
        def test_rot_reverted():
            assert core.cut(ROWS) == ROWS

        @pytest.mark.guards("7/slcie")
        def test_misspelt():
            pass

        @pytest.mark.guards()
        def test_names_nothing():
            pass

        @pytest.mark.guards("7", rasies=IndexError)
        def test_of_another_word():
            pass

        @pytest.mark.guards("7")
        @pytest.mark.reverted("7")
        def test_both():
            pass
        """
    )
    assert set(ran.results.values()) == {"ERROR"} and len(ran.results) == 7
    assert "8 could not be reverted: " in ran.out and "rows = rows[:LIMIT]" in ran.out
    assert "no fix has the number 9" in ran.out
    assert "nearest: slice" in ran.out or "nearest: 7/slice" in ran.out
    assert "guards names nothing" in ran.out
    assert "guards takes no rasies" in ran.out
    assert "marked both reverted and guards" in ran.out
    assert "During handling" not in ran.out


def test_each_guard_of_a_test_is_a_claim_of_its_own_and_marks_on_params_count(app: App) -> None:
    ran = app.run(
        """
        @pytest.mark.guards("7")
        @pytest.mark.guards("7/limit")
        def test_two():
            assert core.cut(ROWS) == [1, 2, 3]

        @pytest.mark.guards("7")
        @pytest.mark.guards("7/sort")
        def test_one_of_two():
            assert core.cut(ROWS) == [1, 2, 3]

        @pytest.mark.parametrize("rows", [pytest.param(ROWS, marks=pytest.mark.guards("7"), id="long"), [1]])
        def test_params(rows):
            assert len(core.cut(rows)) < 4

        @pytest.mark.guards("7")
        class TestClass:
            seen = False

            def test_method(self):
                assert not self.seen
                self.seen = True
                assert core.cut(ROWS) == [1, 2, 3]
        """
    )
    assert ran.results == {
        "test_two": "PASSED (guards 7/limit, child process, guards 7, live)",
        "test_one_of_two": "FAILED (does not guard 7/sort, live, guards 7, live)",
        "test_params[long]": "PASSED (guards 7, live)",
        "test_params[rows1]": "PASSED",
        "test_method": "PASSED (guards 7, live)",
    }


def test_a_guard_in_a_session_that_is_reverted_runs_once_and_is_said_to_be_unchecked(app: App) -> None:
    test = """
        @pytest.mark.guards("7")
        def test_guards():
            assert core.cut(ROWS) == [1, 2, 3]
    """
    ran = app.run(test, "--revert", "7/sort")
    assert (ran.code, ran.results) == (0, {"test_guards": "PASSED (not checked 7)"})
    assert "NOT CHECKED test_it.py::test_guards 7: 7/sort is reverted in the whole session" in ran.section
    assert app.run(test, "--revert", "7").code == 1


def test_what_has_lived_since_the_fixed_run_does_not_hide_a_guard(app: App) -> None:
    ran = app.run(
        """
        FIRST = core.cut(ROWS)

        @pytest.mark.guards("7")
        def test_a_value_of_the_module():
            assert FIRST == [1, 2, 3]

        @pytest.mark.guards("7", match="nothing such")
        def test_otherwise():
            assert FIRST == [1, 2, 3]
        """
    )
    assert ran.results == {
        "test_a_value_of_the_module": "PASSED (guards 7, child process)",
        "test_otherwise": "FAILED (does not guard 7, live)",
    }


def test_the_session_has_the_warnings_of_the_fixed_run_alone(app: App) -> None:
    ran = app.run(
        """
        import warnings

        @pytest.mark.guards("7")
        def test_warns():
            warnings.warn(f"{len(core.cut(ROWS))} rows")
            assert core.cut(ROWS) == [1, 2, 3]
        """
    )
    assert ran.code == 0 and "1 passed, 1 warning" in ran.out
    assert "UserWarning: 3 rows" in ran.out and "4 rows" not in ran.out


def test_the_time_of_a_guard_is_that_of_all_its_runs(app: App) -> None:
    ran = app.run(
        """
        @pytest.mark.guards("7", child=True)
        def test_guards():
            assert core.cut(ROWS) == [1, 2, 3]
        """,
        "--durations=1",
        "--durations-min=0.2",
    )
    assert re.search(r"^[0-9.]+s call +test_it.py::test_guards$", ran.out, re.M), ran.out


def test_a_failure_in_the_teardown_is_said_to_be_one(app: App) -> None:
    ran = app.run(
        """
        @pytest.fixture
        def rows():
            yield ROWS
            assert core.cut(ROWS) == [1, 2, 3]

        @pytest.mark.guards("7")
        def test_passes(rows): pass
        """
    )
    assert ran.results == {"test_passes": "FAILED (does not guard 7, live)"}
    assert "it passes with 7 reverted, and fails in its teardown: assert [1, 2, 3, 4] ==" in ran.out
