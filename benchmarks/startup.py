"""What prtoggle costs, measured side by side in one run: the goals of start, import and call.

python -m benchmarks.startup [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import page, program
from benchmarks.measure import Row, median, paired, printed, processes

LINES = 3500


def _big_module() -> str:
    """A module of about 3,500 lines, with the shapes that real ones have."""
    parts = [program.TARGET]
    index = 0
    while sum(part.count("\n") for part in parts) < LINES:
        parts.append(
            f"class C{index}:\n    '''Class {index}.'''\n\n    limit = {index}\n\n    def method(self, a, b=None, *, c=1):\n"
            f"        '''Adds, for {index}.'''\n        total = 0\n        for i in range(a):\n            if i % 3 == {index % 3}:\n"
            f"                total += i * c\n            else:\n                total -= self.limit\n"
            f"        return {{'total': total, 'b': b, 'name': f'{{a}}-{index}'}}\n\n"
        )
        index += 1
    return "\n".join(parts)


def _environment(root: Path) -> tuple[Path, Path]:
    """Two virtual environments of this interpreter that differ in prtoggle alone; their Pythons."""
    pythons = []
    for name in ("without", "with"):
        folder = root / name
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        pythons.append(folder / "bin" / "python")
    site = next((root / "with" / "lib").glob("python*")) / "site-packages"
    import prtoggle

    home = Path(prtoggle.__file__).resolve().parent.parent
    shutil.copytree(home / "prtoggle", site / "prtoggle", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(home / "prtoggle_fixes", site / "prtoggle_fixes", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(home / "prtoggle.pth", site / "prtoggle.pth")
    names = ("yaml", "click", "packaging", "unidiff", "rich")
    found = {str(Path(str(__import__(name).__file__)).resolve().parents[1]) for name in names}
    for name in ("with", "without"):  # the same .pth besides ours, so that only ours differs
        folder = next((root / name / "lib").glob("python*")) / "site-packages"
        (folder / "zz_dependencies.pth").write_text("\n".join(sorted(found)) + "\n")
    subprocess.run([str(pythons[1]), "-m", "compileall", "-q", str(site)], check=True)
    return pythons[0], pythons[1]


def measure(rounds: int) -> list[Row]:
    """All rows."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        without, with_ = _environment(root)
        big = _big_module()
        base = program.write(root, big)
        by_hand = root / "hand"
        shutil.copytree(root / "site", by_hand)
        (by_hand / "app" / "core.py").write_text(big.replace("    y = x + 1\n", "    y = x + 2\n", 1))
        on = {**base, "PRTOGGLE_REVERT": "7"}
        traced = {**on, "PRTOGGLE_TRACE": "1"}
        nothing, load = ["-c", "pass"], ["-c", "import app.core"]
        for env in (base, on, traced):
            subprocess.run([str(with_), *load], env=env, check=True)

        took = processes(
            {
                "without": ([str(without), *nothing], base),
                "unset": ([str(with_), *nothing], base),
                "set": ([str(with_), *nothing], on),
                "plain import": ([str(with_), *load], base),
                "reverted import": ([str(with_), *load], on),
            },
            rounds,
        )
        ratio = paired(took["unset"], took["without"], lambda a, b: a / b)
        rows.append(
            Row(
                "interpreter start, installed and unset",
                "at most 1.01x of not installed",
                f"{ratio:.3f}x",
                ratio <= 1.01,
                f"{median(took['unset']):.2f} ms against {median(took['without']):.2f} ms",
            )
        )
        more = paired(took["set"], took["unset"], lambda a, b: a - b)
        rows.append(
            Row(
                "interpreter start with a selection, target not imported",
                "at most 5 ms more",
                f"{more:.2f} ms more",
                more <= 5,
            )
        )
        more = paired(took["reverted import"], took["plain import"], lambda a, b: a - b)
        rows.append(
            Row(
                "first import of a target package with one revert, warm cache",
                "at most 15 ms more",
                f"{more:.2f} ms more",
                more <= 15,
            )
        )

        timed = "import app, time, linecache, threading, traceback, tokenize\na = time.perf_counter()\nimport app.core\nprint((time.perf_counter() - a) * 1e3)"
        one = printed({"plain": ([str(with_), "-c", timed], base), "reverted": ([str(with_), "-c", timed], on)}, rounds)
        more = paired(one["reverted"], one["plain"], lambda a, b: a - b)
        rows.append(
            Row(
                f"importing a reverted {LINES:,}-line module, warm cache",
                "at most 1 ms more than plain",
                f"{more:.2f} ms more",
                more <= 1,
                f"{median(one['reverted']):.2f} ms against {median(one['plain']):.2f} ms",
            )
        )

        call = "import app.core as c, timeit\nf = c.target\nprint(min(timeit.repeat('f(1)', globals={'f': f}, number=200000, repeat=7)) / 200000 * 1e9)"
        calls = printed(
            {
                "by hand": ([str(with_), "-c", call], {**base, "PYTHONPATH": str(by_hand)}),
                "reverted": ([str(with_), "-c", call], on),
                "traced": ([str(with_), "-c", call], traced),
            },
            max(5, rounds // 4),
        )
        ratio = min(calls["reverted"]) / min(calls["by hand"])
        code = "import app.core as c, hashlib\nk = c.target.__code__\nprint(int(hashlib.sha256(repr((k.co_code, k.co_consts, list(k.co_lines()))).encode()).hexdigest()[:8], 16))"
        same = printed(
            {
                "a": ([str(with_), "-c", code], {**base, "PYTHONPATH": str(by_hand)}),
                "b": ([str(with_), "-c", code], on),
            },
            1,
        )
        rows.append(
            Row(
                "calling a reverted function",
                "1.00x: same bytecode as a file reverted by hand",
                f"{ratio:.2f}x, bytecode {'the same' if same['a'] == same['b'] else 'DIFFERENT'}",
                same["a"] == same["b"] and ratio <= 1.05,
            )
        )
        more = min(calls["traced"]) - min(calls["by hand"])
        rows.append(Row("calling a traced function", "at most 50 ns more", f"{more:.0f} ns more", more <= 50))

        listed = processes({"list": ([str(with_), "-m", "prtoggle", "list"], base)}, max(5, rounds // 4))
        took_list = median(listed["list"])
        rows.append(Row("prtoggle list, warm", "under 200 ms", f"{took_list:.0f} ms", took_list < 200))

    check = [sys.executable, "-m", "prtoggle", "check", "--against", "sglang>=0.5.13"]
    try:
        took_check = median(processes({"check": (check, os.environ)}, 3, good=(0, 1))["check"]) / 1e3
        rows.append(
            Row(
                "prtoggle check, all fixes against 13 releases on disk",
                "under 3 s",
                f"{took_check:.2f} s",
                took_check < 3,
            )
        )
    except RuntimeError as error:
        rows.append(
            Row(
                "prtoggle check, all fixes against 13 releases on disk",
                "under 3 s",
                "not measured",
                False,
                str(error)[-200:],
            )
        )
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    print(page.table(measure(parser.parse_args().rounds)))
