"""The plugin with the bundled implementations, and with the code of a real SGLang release."""

from __future__ import annotations

import pytest

from tests.pytest_plugin.app import App
from tests.pytest_plugin.conftest import app, cache
from tests.sglang.harness import release

pytest_plugins = "pytester"
__all__ = ["app", "cache"]  # fixtures

BUNDLED = """
    from prtoggle_fixes.pr24401_positions_zero_padding import scenario

    FIXED = next(case for case in scenario.CASES if case.revert == "none")

    @pytest.mark.guards("24401")
    @pytest.mark.guards("24401/positions", raises=AssertionError)
    def test_stale_positions_are_not_replayed():
        seen = scenario.observe("cpu")
        assert FIXED.holds(seen), seen

    @pytest.mark.parametrize(
        "revert", [pytest.param(c.revert, marks=pytest.mark.reverted(c.revert)) for c in scenario.CASES if c is not FIXED]
    )
    def test_each_state_is_as_it_claims(revert):
        seen = scenario.observe("cpu")
        assert [case.revert for case in scenario.CASES if case.holds(seen)] == [revert]
"""

REAL = """
    import sys
    from prtoggle_fixes import standins
    from prtoggle_fixes.pr24401_positions_zero_padding import forward, real

    sys.path.insert(0, RELEASE)
    standins.install(real=real.REAL, absent=real.ABSENT)
    from sglang.srt.model_executor import cuda_graph_buffer_registry

    FIXED = next(case for case in real.CASES if case.revert == "none")

    def test_the_release_itself_is_tested():
        assert cuda_graph_buffer_registry.__file__.startswith(RELEASE)
        assert FIXED.holds(real.observe())

    @pytest.mark.guards("24401/mrope-positions")
    def test_padded_positions_are_zero():
        assert FIXED.holds(real.observe())

    @pytest.mark.reverted("24401/mrope-positions", child=True)
    def test_in_a_child():
        assert not FIXED.holds(real.observe())
"""


def test_the_bundled_implementation_is_guarded_live(app: App) -> None:
    pytest.importorskip("torch")
    ran = app.run(BUNDLED)
    assert ran.results == {
        "test_stale_positions_are_not_replayed": "PASSED (guards 24401/positions, live, guards 24401, live)",
        "test_each_state_is_as_it_claims[24401]": "PASSED (24401 reverted, live)",
        "test_each_state_is_as_it_claims[24401/positions]": "PASSED (24401/positions reverted, live)",
        "test_each_state_is_as_it_claims[24401/mrope-positions]": "PASSED (24401/mrope-positions reverted, live)",
    }, ran.out


@pytest.mark.sglang
def test_a_real_release_of_sglang_is_guarded(app: App) -> None:
    ran = app.run(f"RELEASE = {str(release('0.5.16'))!r}\n" + "\n".join(line[4:] for line in REAL.splitlines()))
    assert ran.results == {
        "test_the_release_itself_is_tested": "PASSED",
        "test_padded_positions_are_zero": "PASSED (guards 24401/mrope-positions, live)",
        "test_in_a_child": "PASSED (24401/mrope-positions reverted, child process)",
    }, ran.out
