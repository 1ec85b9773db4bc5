"""What numba compiled from a function's text is refused by name: it would go on running the old."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.project import Project

pytest.importorskip("numba")

ROOT = Path(__file__).resolve().parents[2]

CORE = """
import numba

@numba.njit
def jitted(x):
    return x + 1

@numba.njit
def calls(x):
    return jitted(x) * 2

@numba.vectorize(["int64(int64)"])
def vectorized(x):
    return x + 1

@numba.cfunc("int64(int64)")
def for_c(x):
    return x + 1

def plain(x):
    return x + 1

quick = numba.njit(plain)

def untouched(x):
    return x + 1

assert calls(1) == 4 and vectorized(1) == 2 and for_c.ctypes(1) == 2 and quick(1) == plain(1) == untouched(1) == 2
"""


COMPILED = ("jitted", "vectorized", "for_c", "plain")


@pytest.mark.slow
def test_what_numba_compiled_is_refused_by_name_and_nothing_changes(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.package({"app/__init__.py": "", "app/core.py": CORE})
    for number, name in enumerate((*COMPILED, "untouched"), 1):
        project.fix(number, target=f"app.core.{name}", edits="- match: return x + 1\n  replacement: return x + 100")
    code = f"""
        import app.core as m, prtoggle
        def look():
            return [int(f(1)) for f in (m.calls, m.vectorized, m.for_c.ctypes, m.quick, m.plain, m.untouched)]
        for number, name in enumerate({COMPILED}, 1):
            try:
                prtoggle.revert(f"{{number}},5")
            except prtoggle.errors.RefusedError as error:
                print(f"{{name}} is compiled from its text by numba." in str(error), look())
        prtoggle.revert("5")
        print(m.untouched(1))
    """
    done = project.python(code, PYTHONPATH=f"{project.site}:{ROOT}")
    assert done.code == 0, done.err
    assert done.out.splitlines() == ["True [4, 2, 2, 2, 2, 2]"] * len(COMPILED) + ["101"]
