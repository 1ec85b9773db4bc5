"""A stand-in can be imported and mentioned, and cannot be leaned on."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUBJECT = """
import absent.language as al
from absent import jit
from json import dumps
from sglang.srt.other import Base, decorate, helper
@jit
def kernel(x: al.constexpr): return x
@decorate
class Sub(Base): pass
def typed(x: Base | None = None) -> Base[int]: return helper
"""


def child(tmp_path: Path, program: str) -> str:
    """Run a program beside a made-up ``sglang`` with one module that uses stand-ins in every way that imports do."""
    package = tmp_path / "sglang/srt"
    package.mkdir(parents=True)
    (tmp_path / "sglang/__init__.py").write_text("from sglang.utils import LazyImport\nEngine = LazyImport('m', 'E')\n")
    (package / "other.py").write_text("raise RuntimeError('the real one')\n")
    (package / "subject.py").write_text(SUBJECT)
    start = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nfrom prtoggle_fixes import standins\n"
    done = subprocess.run(
        [sys.executable, "-c", start + textwrap.dedent(program)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout + done.stderr


INSTALL = "standins.install(real=('sglang.srt.subject',), absent=('absent', 'json'))\n"


def test_modules_under_test_are_real_and_the_rest_stands_in(tmp_path: Path) -> None:
    out = child(tmp_path, INSTALL + "from sglang.srt import subject; print(subject.kernel(3), subject.Sub.__name__)")
    assert out == "3 Sub\n"


def test_what_is_installed_is_not_stood_in_for(tmp_path: Path) -> None:
    assert child(tmp_path, INSTALL + "from sglang.srt import subject; print(subject.dumps([1]))") == "[1]\n"


def test_calling_a_stand_in_says_so(tmp_path: Path) -> None:
    out = child(tmp_path, INSTALL + "from sglang.srt import subject; subject.helper(1)")
    assert "StandInCalled: sglang.srt.other.helper is a stand-in and was called" in out


def test_asking_whether_one_is_true_says_so(tmp_path: Path) -> None:
    assert "was asked whether it is true" in child(tmp_path, INSTALL + "from sglang.srt.other import flag; bool(flag)")


def test_what_is_provided_is_there(tmp_path: Path) -> None:
    program = "standins.provide('sglang.srt.other', helper=lambda: 5)\n" + INSTALL
    assert child(tmp_path, program + "from sglang.srt import subject; print(subject.helper())") == "5\n"


def test_a_hidden_third_party_is_absent_again(tmp_path: Path) -> None:
    program = "from sglang.srt import subject; standins.hide(['absent']); import absent"
    assert "No module named 'absent'" in child(tmp_path, INSTALL + program)


def test_no_finder_answers_for_a_module_under_test(tmp_path: Path) -> None:
    program = """
        mine = [finder for finder in sys.meta_path if isinstance(finder, standins.Finder)]
        print([finder.find_spec(name) for finder in mine for name in ("sglang", "sglang.srt", "sglang.srt.subject")])
        print(type(sys.meta_path[0]).__name__ != "Finder", len(mine))
    """
    assert child(tmp_path, INSTALL + textwrap.dedent(program)) == f"{[None] * 6}\nTrue 2\n"
