"""The ``revert`` fixture takes a fix out in the middle of a test, and it is back when the test ends."""

from __future__ import annotations

from tests.pytest_plugin.app import App

pytest_plugins = "pytester"


def test_a_fix_is_out_until_its_block_or_the_test_ends(app: App) -> None:
    ran = app.run(
        """
        def test_block(revert):
            assert core.cut(ROWS) == [1, 2, 3]
            with revert("7"):
                assert core.cut(ROWS) == ROWS
            assert core.cut(ROWS) == [1, 2, 3]

        def test_until_the_end(revert):
            revert("7")
            revert("7/sort", "7/check")
            assert core.cut(ROWS) == ROWS and core.unused([2, 1]) == [2, 1]

        def test_fixed():
            assert core.cut(ROWS) == [1, 2, 3] and core.unused([2, 1]) == [1, 2]

        def test_fails_while_it_is_out(revert):
            revert("7")
            assert core.cut(ROWS) == [1, 2, 3]

        def test_fixed_again():
            assert core.cut(ROWS) == [1, 2, 3]

        def test_by_hand(revert):
            out = revert("7")
            out.restore()
            out.restore()
            assert core.cut(ROWS) == [1, 2, 3]

        @pytest.mark.reverted("7/sort")
        def test_beside_a_mark(revert):
            with revert("7"):
                assert core.cut(ROWS) == ROWS and core.unused([2, 1]) == [2, 1]
            assert core.cut(ROWS) == [1, 2, 3] and core.unused([2, 1]) == [2, 1]

        def test_what_cannot_be_had_live(revert):
            revert("7/limit")

        def test_unknown(revert):
            revert("8")

        def test_a_number(revert):
            with revert(7):
                assert core.cut(ROWS) == ROWS

        @pytest.mark.parametrize("wrong", [[], [["7"]], [None], ["none"]], ids=str)
        def test_wrong(revert, wrong):
            revert(*wrong)
        """
    )
    assert ran.results == {
        "test_block": "PASSED",
        "test_until_the_end": "PASSED",
        "test_fixed": "PASSED",
        "test_fails_while_it_is_out": "FAILED",
        "test_fixed_again": "PASSED",
        "test_by_hand": "PASSED",
        "test_beside_a_mark": "PASSED (7/sort reverted, live)",
        "test_what_cannot_be_had_live": "FAILED",
        "test_unknown": "FAILED",
        "test_a_number": "PASSED",
        "test_wrong[[]]": "FAILED",
        "test_wrong[[['7']]]": "FAILED",
        "test_wrong[[None]]": "FAILED",
        "test_wrong[['none']]": "FAILED",
    }
    assert "revert takes what to revert as text, not ['7']" in ran.out and "revert names nothing" in ran.out
    assert "7/limit cannot be taken out in the middle of a test: " in ran.out and "LIMIT" in ran.out
    assert '@pytest.mark.reverted("7/limit") runs it in a child process where it must' in ran.out
    assert "no fix has the number 8" in ran.out


def test_a_module_that_is_not_imported_yet_is_named(app: App) -> None:
    app.file("test_late.py", "def test_late(revert):\n    revert('7')\n")
    ran = app.run()
    assert ran.results == {"test_late": "FAILED"}
    assert "engine.core is not imported in this process yet" in ran.out
