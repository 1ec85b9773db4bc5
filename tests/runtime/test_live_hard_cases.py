"""Every row of the list of shapes that a run-time source patcher meets, in a running process.

The module is imported fixed, the fix is taken out live, and the probe says what a fresh import of the module reverted by hand says;
put back, it says what it said before. Or there is one error, which names the object, the reason and the remedy, and nothing changed.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.runtime.project import Project
from tests.runtime.test_hard_cases import CASES, Case

ROOT = Path(__file__).resolve().parents[2]

DRIVER = r"""
import contextlib, io, json, sys
probe, by_hand = json.loads(sys.argv[1])
def look():
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(probe, "<probe>", "exec"), {})
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
    return out.getvalue()
import app.core, prtoggle
said = {}
try:
    said["done"] = prtoggle.revert("7")
    said["reverted"] = look()
    try:
        prtoggle.restore("7")
        said["restored"] = look()
    except Exception as error:
        said["restored"] = f"{type(error).__name__}: {error}"
except Exception as error:
    said["refused"] = f"{type(error).__name__}: {error}"
    said["reverted"] = look()
for name in [name for name in sys.modules if name.partition(".")[0] == "app"]:
    del sys.modules[name]
if "refused" not in said:
    sys.meta_path[:] = [each for each in sys.meta_path if not type(each).__module__.startswith("prtoggle")]
import linecache
linecache.clearcache()
import app.core
said["fixed"] = look()
for name in [name for name in sys.modules if name.partition(".")[0] == "app"]:
    del sys.modules[name]
sys.path.insert(0, by_hand)
linecache.clearcache()
import app.core
said["by_hand"] = look()
print("SAID" + json.dumps(said))
"""


def live(each: Case, folder: Path) -> dict[str, str]:
    project = Project(folder)
    project.package({"app/__init__.py": "", "app/core.py": each.fixed.encode()})
    project.fix(7, patches=each.patches)
    by_hand = folder / "by_hand"
    project.package({"app/__init__.py": "", "app/core.py": each.by_hand.encode()}, where=by_hand)
    script = folder / "driver.py"
    script.write_text(DRIVER)
    done = project.python(
        [str(script), json.dumps([STATE.get(each.name, each.probe), str(by_hand)])],
        PYTHONPATH=f"{project.site}:{ROOT}",
        PRTOGGLE_QUIET="1",
    )
    assert "SAID" in done.out, done.out + done.err
    said: dict[str, str] = json.loads(done.out.partition("SAID")[2])
    said["by_hand"] = said["by_hand"].replace(str(by_hand), str(project.site))
    return said


STATE = {
    "lru_cache target that is warm": "import app.core as m; print(m.f(1))",
}
"""Probes without what the module computed when it was imported: a value that was made with the fixed code stays what it is."""

REFUSED = {
    "a revert that introduces super()": ("app.core.B.who", "takes other names from around it: __class__"),
    "default that names a class attribute": ("app.core.C.m", "default of 'n' becomes LIMIT"),
    "function made by exec": ("app.core: line 1", "SOURCE", "ran at import"),
    "running generator": ("app.core: generator gen is suspended at line 2", "let it end first, or use force"),
    "dataclass default": ("app.core: line 4 of D", "x: str = 'fixed'", "ran at import"),
    "enum member": ("app.core: line 3 of E", "A = 'fixed'", "ran at import"),
    "constant": ("app.core: line 1", "LIMIT = 'fixed'", "ran at import"),
    "class attribute": ("app.core: line 2 of C", "kind = 'fixed'", "ran at import"),
    "base class": ("app.core: line 3", "class C(A)", "class C(B)"),
    "partial as target": ("app.core: line 4", "functools.partial(g, 'fixed')", "ran at import"),
    "import, helper and method that the revert needs and the fix removed": (
        "'import math' would have run at import",
        "'def helper' would have run at import",
        "'def old' of C would have run at import",
    ),
}
"""What cannot be had in a running process, and what the error must say of it."""


@pytest.mark.parametrize("each", CASES, ids=[each.name for each in CASES])
def test_live_it_is_what_a_fresh_import_would_be_or_one_error_says_why_not(each: Case, tmp_path: Path) -> None:
    said = live(each, tmp_path)
    if each.name in REFUSED:
        assert said["refused"].startswith(
            "RefusedError: this cannot be changed while the process runs; nothing changed"
        )
        assert [words for words in REFUSED[each.name] if words not in said["refused"]] == []
        assert "hint: restart the process with PRTOGGLE_REVERT=7 set" in said["refused"]
        assert said["reverted"] == said["fixed"] or each.name == "running generator"  # which the probe moves on
    else:
        assert said.get("refused") is None
        assert said["reverted"] == said["by_hand"]
        assert said["restored"] == said["fixed"]
    assert said["fixed"] != said["by_hand"], "the probe does not tell fixed from reverted"


def test_every_row_that_is_refused_is_a_case() -> None:
    assert {*REFUSED, *STATE} <= {each.name for each in CASES}
