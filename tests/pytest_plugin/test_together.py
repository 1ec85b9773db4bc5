"""With pytest-xdist, async tests, unittest, subtests, doctests, other orders; and without the plugin."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec

import pytest

from tests.pytest_plugin.app import App

pytest_plugins = "pytester"


def needs(name: str) -> None:
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed")


MIXED = """
    @pytest.mark.guards("7")
    @pytest.mark.parametrize("n", [4, 5])
    def test_guards(n):
        assert len(core.cut([0] * n)) == 3

    @pytest.mark.guards("7/sort")
    def test_does_not():
        assert core.cut(ROWS)

    @pytest.mark.reverted("7")
    def test_live():
        assert core.cut(ROWS) == ROWS

    @pytest.mark.reverted("7/limit")
    def test_child():
        assert core.LIMIT == 5

    def test_fixed():
        assert core.cut(ROWS) == [1, 2, 3]
"""
RESULTS = {
    "test_guards[4]": "PASSED (guards 7, live)",
    "test_guards[5]": "PASSED (guards 7, live)",
    "test_does_not": "FAILED (does not guard 7/sort, live)",
    "test_live": "PASSED (7 reverted, live)",
    "test_child": "PASSED (7/limit reverted, child process)",
    "test_fixed": "PASSED",
}


def test_the_controller_of_xdist_has_the_results_of_all_workers(app: App) -> None:
    needs("xdist")
    ran = app.run(MIXED, "-n", "2")
    assert (ran.code, ran.results) == (1, RESULTS)
    assert ran.section[-1] == "2 guard, 1 do not guard, 1 reverted live, 1 reverted in a child process"
    assert len([line for line in ran.section if line.startswith("GUARDS test_it.py::test_guards[")]) == 2


def test_any_order_selection_and_the_last_failed_work(app: App) -> None:
    ran = app.run(MIXED)
    assert (ran.code, ran.results) == (1, RESULTS)
    backwards = app.file("conftest.py", "def pytest_collection_modifyitems(items):\n    items.reverse()\n")
    assert app.run().results == dict(reversed(RESULTS.items()))
    backwards.unlink()
    assert list(app.run("", "--lf").results) == ["test_does_not"]
    assert list(app.run("", "-k", "guards or does", "-x").results) == [
        "test_guards[4]",
        "test_guards[5]",
        "test_does_not",
    ]


def test_random_order_works(app: App) -> None:
    needs("pytest_randomly")
    ran = app.run(MIXED, random=True)
    assert (ran.code, ran.results) == (1, RESULTS)
    drawn = """
        import random

        DRAWN = random.random()

        @pytest.mark.guards("7", child=True)
        def test_draws():
            print(f"drawn {DRAWN} {random.random()}")
            assert core.cut(ROWS) == [1, 2, 3]
    """
    said = re.findall(r"drawn (\S+ \S+)", app.run(drawn, "-s", random=True).out)
    assert len(said) == 3 and len(set(said)) == 1


def test_async_tests_of_pytest_asyncio_run_in_each_state(app: App) -> None:
    needs("pytest_asyncio")
    ran = app.run(
        """
        import asyncio, pytest_asyncio

        @pytest_asyncio.fixture(loop_scope="session", scope="session")
        async def rows():
            await asyncio.sleep(0)
            return core.cut(ROWS)

        @pytest.mark.asyncio(loop_scope="session")
        @pytest.mark.guards("7")
        async def test_guards(rows):
            await asyncio.sleep(0)
            assert core.cut(ROWS) == [1, 2, 3]

        @pytest.mark.asyncio(loop_scope="session")
        async def test_fixed(rows):
            assert rows == [1, 2, 3]

        @pytest.mark.asyncio
        @pytest.mark.reverted("7/limit")
        async def test_child():
            assert core.LIMIT == 5
        """
    )
    assert ran.results == {
        "test_guards": "PASSED (guards 7, live)",
        "test_fixed": "PASSED",
        "test_child": "PASSED (7/limit reverted, child process)",
    }, ran.out


def test_async_tests_of_anyio_run_in_each_state(app: App) -> None:
    needs("anyio")
    ran = app.run(
        """
        import anyio

        pytestmark = pytest.mark.anyio

        @pytest.fixture(scope="module")
        def anyio_backend():
            return "asyncio"

        @pytest.mark.guards("7")
        async def test_guards():
            await anyio.sleep(0)
            assert core.cut(ROWS) == [1, 2, 3]

        @pytest.mark.reverted("7")
        async def test_live():
            assert core.cut(ROWS) == ROWS

        async def test_fixed():
            assert core.cut(ROWS) == [1, 2, 3]
        """
    )
    assert ran.results == {
        "test_guards": "PASSED (guards 7, live)",
        "test_live": "PASSED (7 reverted, live)",
        "test_fixed": "PASSED",
    }, ran.out


def test_unittests_and_subtests_count_once_and_what_fails_within_a_guard_is_not_shown_as_a_failure(app: App) -> None:
    ran = app.run(
        """
        import unittest

        class TestOld(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                cls.made = core.cut(ROWS)

            @pytest.mark.guards("7", raises=AssertionError, match="4 != 3")
            def test_guards(self):
                for n in (4, 5):
                    with self.subTest(n=n):
                        self.assertEqual(len(core.cut([0] * n)), 3)

            @pytest.mark.reverted("7")
            def test_live(self):
                self.assertEqual((core.cut(ROWS), self.made), (ROWS, ROWS))

            def test_more(self):
                self.assertEqual((core.cut(ROWS), self.made), ([1, 2, 3], [1, 2, 3]))
        """
    )
    assert ran.code == 0, ran.out
    assert {name: word for name, word in ran.results.items() if "SUBPASS" not in word} == {
        "test_guards": "PASSED (guards 7, child process)",
        "test_live": "PASSED (7 reverted, live)",
        "test_more": "PASSED",
    }


def test_doctests_and_sessions_without_marks_are_as_ever(app: App) -> None:
    app.file("engine/docs.py", 'def one():\n    """\n    >>> one()\n    1\n    """\n    return 1\n')
    ran = app.run(MIXED, "--doctest-modules")
    assert ran.results.pop("engine.docs.one") == "PASSED"
    assert ran.results == RESULTS
    plain = app.run("", "--doctest-modules", "engine")
    assert (plain.code, plain.section) == (0, [])


@pytest.mark.parametrize("child", [False, True])
def test_a_doctest_can_be_marked_where_it_is_collected(app: App, child: bool) -> None:
    app.file("engine/doc.py", '"""\n>>> from engine.core import cut\n>>> cut([1, 2, 3, 4])\n[1, 2, 3]\n"""\n')
    app.file(
        "conftest.py",
        f"""
        import pytest
        from engine import core

        def pytest_collection_modifyitems(items):
            for item in items:
                item.add_marker(pytest.mark.guards("7", child={child}))
        """,
    )
    ran = app.run("", "--doctest-modules", "engine/doc.py")
    how = "child process" if child else "live"
    assert ran.section[0].startswith(f"GUARDS engine/doc.py::engine.doc 7 ({how}): ")
    assert ran.section[0].endswith("doc.py:3: DocTestFailure") and ran.code == 0


def test_marks_are_registered_and_without_the_plugin_they_are_not(app: App) -> None:
    ran = app.run(MIXED, "--strict-markers", "--collect-only")
    assert ran.code == 0 and "test_guards[4]" in ran.out
    assert "@pytest.mark.guards(selection" in app.run("", "--markers").out
    assert "revert" in app.run("", "--fixtures").out
    without = app.run("", "-p", "no:prtoggle")
    assert without.results["test_guards[4]"] == "PASSED" and without.results["test_live"] == "FAILED"
    assert without.section == []
    assert app.run("", "-p", "no:prtoggle", "--revert", "7").code == 4


def test_the_debugger_is_not_entered_where_a_guard_fails_as_it_should(app: App) -> None:
    ran = app.run(MIXED, "--pdb", "-k", "test_guards")
    assert (ran.code, ran.section[-1]) == (0, "2 guard")
    assert "entering PDB" not in ran.out


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX alone")
def test_output_of_a_child_is_seen_with_capture_off(app: App) -> None:
    ran = app.run("@pytest.mark.reverted('7', child=True)\ndef test_it():\n    print('seen at', 'once')\n", "-s")
    assert "seen at once" in ran.out and ran.code == 0


def test_what_other_plugins_do_around_a_test_they_do_once(app: App) -> None:
    app.file(
        "conftest.py",
        """
        import pytest

        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_protocol(item):
            assert not hasattr(item, "around")
            item.around = True
            yield
            del item.around
        """,
    )
    ran = app.run(
        """
        @pytest.fixture(scope="session")
        def rows():
            yield core.cut(ROWS)
            assert core.cut(ROWS) == [1, 2, 3]
            raise OSError("torn down badly")

        def test_fixed(rows, request): assert request.node.around

        @pytest.mark.reverted("7")
        def test_live(request): assert request.node.around and core.cut(ROWS) == ROWS
        """
    )
    assert ran.code == 1, ran.out
    assert ran.results["test_live"] == "PASSED (7 reverted, live)"
    assert "ERROR at teardown of test_fixed" in ran.out and "OSError: torn down badly" in ran.out
