"""Live toggles with prtoggle, with SGLang's own patcher and with jurigged: the same program, the same Python, in one run.

python -m benchmarks.peers [--rounds N]

An environment of the benchmark's own has what the others need (`benchmarks/requirements.txt`), and SGLang's patcher comes from a real release.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks import program
from benchmarks.measure import Row, median
from benchmarks.shapes import SHAPES, Shape

HERE = Path(__file__).resolve().parent
RELEASE = "0.5.16"
NAMES = {"prtoggle": "prtoggle", "sglang": f"SGLang {RELEASE}'s patcher", "jurigged": "jurigged"}
PAIR = (
    "def inner():\n    return 'fixed'\n\n\n"
    "def outer():\n    first = inner()\n    for _ in range(20):\n        pass\n    return first, inner(), 'fixed'\n"
)
PAIR_PATCHES = (
    {"target": "app.core.inner", "edits": [{"match": "return 'fixed'", "replacement": "return 'reverted'"}]},
    {
        "target": "app.core.outer",
        "edits": [{"match": "return first, inner(), 'fixed'", "replacement": "return first, inner(), 'reverted'"}],
    },
)


class Cannot(Exception):
    """What is needed for a comparison and could not be had."""


class Peers:
    """The environment, and the process that is started in it for each question."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.python = root / "peers" / "bin" / "python"
        self.count = 0
        self.sglang = self._sglang()
        self._environment()

    def _sglang(self) -> str:
        from prtoggle import releases
        from prtoggle.errors import PrtoggleError

        try:
            return str(releases.fetch("sglang", RELEASE))
        except PrtoggleError as error:
            raise Cannot(f"sglang {RELEASE} could not be had: {error}") from error

    def _environment(self) -> None:
        subprocess.run([sys.executable, "-m", "venv", str(self.root / "peers")], check=True)
        pip = [str(self.python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        done = subprocess.run([*pip, "-r", str(HERE / "requirements.txt")], capture_output=True, text=True)
        if done.returncode:
            raise Cannot(f"{HERE.name}/requirements.txt could not be installed: {done.stderr.strip()[-200:]}")
        site = next((self.root / "peers" / "lib").glob("python*")) / "site-packages"
        import prtoggle

        found = [
            str(Path(str(prtoggle.__file__)).resolve().parent.parent)
        ]  # and what it imports, behind this environment's own
        found += sorted(
            {str(Path(str(__import__(name).__file__)).resolve().parents[1]) for name in ("packaging", "unidiff")}
        )
        (site / "zz_prtoggle.pth").write_text("\n".join(found) + "\n")

    def ask(
        self, tool: str, mode: str, number: int, text: str, patches: program.Patches, **more: Any
    ) -> dict[str, Any]:
        """What the process says of a program with `text`, from which `patches` takes a fix."""
        self.count += 1
        folder = self.root / str(self.count)
        env = program.write(folder, text, patches)
        asked = {"patches": patches, "sglang": self.sglang, "fixed": text, **more}
        done = subprocess.run(
            [str(self.python), str(HERE / "peer_child.py"), tool, mode, str(number)],
            env=env,
            input=json.dumps(asked),
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise Cannot(f"{tool}, {mode}: {done.stderr.strip()[-300:]}")
        said: dict[str, Any] = json.loads(done.stdout)
        return said


def measure(rounds: int) -> list[Row]:
    """The rows: speed and, beside it, what came out right."""
    with tempfile.TemporaryDirectory() as name:
        try:
            peers = Peers(Path(name))
            return [*_timed(peers, rounds), *_torn(peers, rounds), *_shapes(peers)]
        except Cannot as error:
            return [Row("live toggles beside SGLang's patcher and jurigged", "none", "not measured", False, str(error))]


def _timed(peers: Peers, rounds: int) -> list[Row]:
    found: dict[str, dict[str, list[float]]] = {tool: {"whole": [], "stalls": []} for tool in NAMES}
    reverted = program.TARGET.replace("x + 1", "x + 2")
    for turn in range(4):  # they take turns
        for tool in NAMES if turn % 2 else reversed(NAMES):
            said = peers.ask(tool, "timed", max(5, rounds // 2), program.TARGET, program.PATCHES, reverted=reverted)
            for key, values in found[tool].items():
                values += said[key]
    rows = []
    for key, what, detail in (
        (
            "whole",
            "a live toggle in a small program, all told, beside others' ways",
            "prtoggle looks at every object of the process",
        ),
        ("stalls", "the longest wait of a thread that calls what is toggled, beside others' ways", ""),
    ):
        times = {tool: median(values[key]) * 1e3 for tool, values in found.items()}
        words = [
            f"{NAMES[tool]} {took:.2f} ms{f' ({1e3 / took:,.0f} a second)' if detail else ''}"
            for tool, took in times.items()
        ]
        ratios = [f"{times['prtoggle'] / times[tool]:.2f}x {NAMES[tool]}" for tool in NAMES if tool != "prtoggle"]
        rows.append(
            Row(what, "none", "; ".join(words), True, "; ".join([", ".join(ratios), *([detail] if detail else [])]))
        )
    return rows


def _torn(peers: Peers, rounds: int) -> list[Row]:
    words, own = [], 1
    for tool, name in NAMES.items():
        said = peers.ask(
            tool, "torn", max(20, rounds * 5), PAIR, PAIR_PATCHES, reverted=PAIR.replace("'fixed'", "'reverted'")
        )
        words.append(f"{name} {said['torn']:,} of {said['calls']:,} calls")
        own = said["torn"] if tool == "prtoggle" else own
    what = f"torn calls: two functions that change together, 8 threads, {max(20, rounds * 5)} live toggles"
    return [Row(what, "0", "; ".join(words), own == 0)]


def verdict(shape: Shape, said: dict[str, Any], fixed: str, by_hand: str) -> str:
    """right: reverted is what a fresh import of the reverted text would be, and restored what it was. refused: an error, and nothing changed."""
    if said["error"]:
        return "refused" if said["reverted"] == fixed else "wrong"
    return "right" if (said["reverted"], said["restored"]) == (by_hand, fixed) else "wrong"


def _shapes(peers: Peers) -> list[Row]:
    counts: dict[str, Counter[str]] = {tool: Counter() for tool in NAMES}
    wrong: dict[str, list[str]] = {tool: [] for tool in NAMES}
    for shape in SHAPES:
        target = f"app.core.{shape.target}" if shape.target else "app.core"
        patches = [{"target": target, "edits": shape.edits}]
        asked = {"probe": shape.probe, "reverted": shape.reverted}
        fixed = peers.ask("none", "shape", 0, shape.fixed, patches, **asked)["reverted"]
        by_hand = peers.ask("none", "shape", 0, shape.reverted, patches, **asked)["reverted"]
        if fixed == by_hand:
            raise ValueError(f"{shape.name}: the probe does not tell fixed from reverted")
        for tool in NAMES:
            found = verdict(shape, peers.ask(tool, "shape", 0, shape.fixed, patches, **asked), fixed, by_hand)
            counts[tool][found] += 1
            if found == "wrong":
                wrong[tool].append(shape.name)
    words = [
        f"{NAMES[tool]} {each['right']} right, {each['refused']} refused, {each['wrong']} wrong"
        for tool, each in counts.items()
    ]
    said = "; ".join(f"wrong in {NAMES[tool]}: {', '.join(names)}" for tool, names in wrong.items() if names)
    return [Row(f"{len(SHAPES)} shapes of Python, live", "none wrong", "; ".join(words), not wrong["prtoggle"], said)]


if __name__ == "__main__":
    from benchmarks.startup import table

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    print(table(measure(parser.parse_args().rounds)))
