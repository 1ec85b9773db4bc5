"""Take 24401 out of a running process and put it back: what captured graphs hold, and what a callback captures again.

python -m tests.gpu.child_live registry cuda
"""

from __future__ import annotations

from typing import Any

import prtoggle
from prtoggle_fixes.pr24401_positions_zero_padding import scenario
from prtoggle_fixes.pr24401_positions_zero_padding.runner import DecodeCudaGraphRunner
from tests.gpu.harness import tell


def tail(runner: DecodeCudaGraphRunner, device: str) -> list[int]:
    """The padding of positions after a full replay of the captured graph and a smaller one."""
    for lengths in (scenario.FULL, scenario.PADDED):
        batch = runner.load_batch(scenario.make_batch(lengths, device))
        runner.run_graph(batch.batch_size)
    used = len(scenario.PADDED) * scenario.DRAFT_TOKENS
    found: list[int] = (
        runner.registry.get_slot("positions").view(batch.batch_size * scenario.DRAFT_TOKENS)[used:].tolist()
    )
    return found


def registry(device: str) -> dict[str, Any]:
    """The tails of the graphs captured before, and of those that the callback captured again."""
    runners = [scenario.make_runner(device)]
    told: list[dict[str, Any]] = []

    def capture_again(event: prtoggle.runtime.live.Event) -> None:  # type: ignore[name-defined]
        told.append({"reverted": event.reverted, "restored": event.restored, "baked_in": event.baked_in})
        runners.append(scenario.make_runner(device))

    seen: dict[str, Any] = {"graphs": len(runners[0].graphs), "fixed": tail(runners[0], device)}
    prtoggle.on_toggle(capture_again)
    taken = prtoggle.revert("24401")
    seen["warnings"] = taken["warnings"]
    seen["captured before the revert"] = tail(runners[0], device)
    seen["captured again, reverted"] = tail(runners[1], device)
    prtoggle.restore("24401")
    seen["captured reverted, after the restore"] = tail(runners[1], device)
    seen["captured again, fixed"] = tail(runners[2], device)
    seen["told"] = told
    return seen


if __name__ == "__main__":
    tell({"registry": registry})
