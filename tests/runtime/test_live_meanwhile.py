"""What happens in the middle of a toggle: another thread forks, or imports what is to change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.runtime.project import Project
from tests.runtime.test_live import run

CORE = """
import functools
@functools.lru_cache
def f():
    return "f fixed"
def make():
    def inner():
        return "inner fixed"
    return inner
"""
OTHER = """
LIMIT = "fixed"
def k():
    return "k fixed"
"""

MIDDLE = """
import threading
from prtoggle.runtime import functions, gate, targets
def in_the_middle(where, act):
    "Have another thread run ``act`` when the toggle comes to ``where``."
    module, _, name = where.partition(".")
    module = {"functions": functions, "gate": gate, "targets": targets}[module]
    real, begin, end = getattr(module, name), threading.Event(), threading.Event()
    def hooked(*given, **named):
        if not begin.is_set():
            begin.set()
            assert end.wait(20)
        return real(*given, **named)
    setattr(module, name, hooked)
    def other():
        if begin.wait(20):
            act()
            end.set()
    thread = threading.Thread(target=other, daemon=True)
    thread.start()
    return thread
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.package({"app/__init__.py": "", "app/core.py": CORE, "app/other.py": OTHER})
    made.package({"middle.py": MIDDLE})
    patches = """
        - target: app.core.f
          edits:
            - match: return "f fixed"
              replacement: return "f reverted"
        - target: app.core.make
          edits:
            - match: return "inner fixed"
              replacement: return "inner reverted"
        """
    made.fix(7, patches=patches)
    made.fix(8, target="app.other.k", edits='- match: return "k fixed"\n  replacement: return "k reverted"')
    return made


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(
    ("where", "word"),
    [
        ("gate.suspended", "fixed"),  # the gate is closed: in the child, everything is as it was
        ("functions.clear", "reverted"),  # all is set, and nothing says so yet: the child goes through with the rest
        ("targets.put_in_force", "reverted"),
    ],
)
def test_a_child_forked_in_the_middle_is_fixed_or_reverted_and_knows_which(
    project: Project, where: str, word: str
) -> None:
    code = f"""
        import os, middle, app.core as m, prtoggle
        inner = m.make()
        m.f()
        def said():
            return m.f(), inner(), m.make()(), [part["part"] for part in prtoggle.status()["parts"]]
        def fork():
            child = os.fork()
            if not child:
                print(*said(), flush=True)
                prtoggle.revert("7")
                print(*said(), flush=True)
                prtoggle.restore("7")
                print(*said(), flush=True)
                os._exit(0)
            os.waitpid(child, 0)
        thread = middle.in_the_middle({where!r}, fork)
        prtoggle.revert("7")
        thread.join()
        print("parent", *said())
    """

    def line(word: str) -> str:
        return f"f {word} inner {word} inner {word} {['7'] if word == 'reverted' else []}"

    expected = [line(word), line("reverted"), line("fixed"), f"parent {line('reverted')}"]
    assert run(project, code, PRTOGGLE_QUIET="1").out.splitlines() == expected


def test_what_another_thread_imports_in_the_middle_changes_as_well(project: Project) -> None:
    code = """
        import middle, app.core as m, prtoggle
        def load():
            import app.other
        thread = middle.in_the_middle("functions.clear", load)
        prtoggle.revert("7,8")
        thread.join()
        import app.other
        print(m.f(), app.other.k())
        prtoggle.restore()
        print(m.f(), app.other.k())
    """
    assert run(project, code).out.splitlines() == ["f reverted k reverted", "f fixed k fixed"]


def test_where_what_is_imported_in_the_middle_cannot_change_all_is_put_back(project: Project) -> None:
    project.fix(9, target="app.other", edits='- match: LIMIT = "fixed"\n  replacement: LIMIT = "reverted"')
    code = """
        import middle, app.core as m, prtoggle
        def load():
            import app.other
        thread = middle.in_the_middle("functions.clear", load)
        try: prtoggle.revert("7,9")
        except Exception as error: print(error)
        thread.join()
        import app.other
        print(m.f(), app.other.LIMIT, prtoggle.status()["parts"])
    """
    lines = run(project, code).out.splitlines()
    assert "nothing changed: app.other: line 2: \"LIMIT = 'fixed'\" ran at import" in lines[0]
    assert lines[-1] == "f fixed fixed []"
