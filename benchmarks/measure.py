"""Timing whole processes and pieces of them side by side, so that a ratio means something on a noisy machine.

Variants take turns within one run; what is compared are medians over the same rounds.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, the goal, and what came out."""

    what: str
    goal: str
    measured: str
    met: bool
    detail: str = ""


def processes(
    variants: Mapping[str, tuple[Sequence[str], Mapping[str, str]]], rounds: int, good: tuple[int, ...] = (0,)
) -> dict[str, list[float]]:
    """Wall time in ms of each variant (a command and its environment), taking turns ``rounds`` times, the first round dropped."""
    times: dict[str, list[float]] = {name: [] for name in variants}
    for turn in range(rounds + 1):
        order = list(variants) if turn % 2 else list(reversed(variants))
        for name in order:
            command, env = variants[name]
            start = time.perf_counter()
            done = subprocess.run(command, env=dict(env), capture_output=True)
            took = (time.perf_counter() - start) * 1e3
            if done.returncode not in good:
                raise RuntimeError(f"{name}: {done.stderr.decode(errors='replace')}")
            if turn:
                times[name].append(took)
    return times


def printed(variants: Mapping[str, tuple[Sequence[str], Mapping[str, str]]], rounds: int) -> dict[str, list[float]]:
    """As :func:`processes`, for commands that print the one number that counts."""
    values: dict[str, list[float]] = {name: [] for name in variants}
    for turn in range(rounds + 1):
        for name, (command, env) in variants.items():
            done = subprocess.run(command, env=dict(env), capture_output=True, text=True, check=True)
            if turn:
                values[name].append(float(done.stdout.split()[-1]))
    return values


def median(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)


def paired(first: Sequence[float], second: Sequence[float], how: Callable[[float, float], float]) -> float:
    """The median over rounds of ``how(first, second)``: drift of the machine hits both sides of a round alike."""
    return statistics.median(how(a, b) for a, b in zip(first, second, strict=True))
