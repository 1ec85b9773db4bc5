"""What a package would miss once texts are reverted."""

from __future__ import annotations

from pathlib import Path

import pytest

from prtoggle.authoring.lacking import lacking
from tests.authoring.texts import package, pair

CORE = "from engine.tools import helper\n\n\nclass Runner:\n    def go(self):\n        return self.new(helper)\n\n    def new(self, x):\n        return x\n"
FILES = {"core.py": CORE, "tools.py": "def helper():\n    return 1\n"}


def problems(tmp_path: Path, module: str, reverted: str, **more: str) -> list[str]:
    files = {**FILES, **{f"{name}.py": code for name, code in more.items()}}
    home = package(tmp_path, files)
    name = module.rpartition(".")[2]
    return lacking([pair(files[f"{name}.py"], reverted, module)], {module: reverted}, home)


def test_nothing_is_missing_where_all_is_there(tmp_path: Path) -> None:
    assert problems(tmp_path, "engine.core", CORE.replace("self.new(helper)", "helper()")) == []


@pytest.mark.parametrize(
    ("before", "why"),
    [
        ("from engine.gone import f", "there is no module engine.gone"),
        ("from engine.tools import gone", "engine.tools does not have it"),
        ("from .tools import gone", "engine.tools does not have it"),
        ("import engine.gone", "there is no module engine.gone"),
    ],
)
def test_an_import_of_what_is_gone(tmp_path: Path, before: str, why: str) -> None:
    [found] = problems(tmp_path, "engine.core", f"{before}\n{CORE}")
    assert why in found


def test_imports_of_other_packages_are_not_asked_for(tmp_path: Path) -> None:
    assert problems(tmp_path, "engine.core", f"import nowhere.to_be_seen\n{CORE}") == []


def test_a_name_that_another_module_still_imports(tmp_path: Path) -> None:
    [found] = problems(tmp_path, "engine.tools", "x = 1\n")
    assert found == "engine.core:1 imports helper of engine.tools, which would be gone"


def test_a_name_that_another_module_uses_through_the_module(tmp_path: Path) -> None:
    user = "from engine import extra\n\n\ndef f():\n    return extra.room()\n"
    [found] = problems(tmp_path, "engine.extra", "y = 1\n", extra="def room():\n    return 1\ny = 1\n", user=user)
    assert found == "engine.user:5 uses extra.room, which would be gone"


def test_a_method_that_something_calls_and_nothing_defines(tmp_path: Path) -> None:
    without = CORE.partition("    def new")[0]
    assert problems(tmp_path, "engine.core", without) == ["engine.core:6 uses self.new, which would be gone"]
    assert problems(tmp_path, "engine.core", without, base="class Base:\n    def new(self, x):\n        pass\n") != []
    inheriting = without.replace("class Runner:", "class Runner(Base):")
    core = CORE.replace("class Runner:", "class Runner(Base):")
    home = package(
        tmp_path / "other",
        {
            "core.py": core,
            "tools.py": FILES["tools.py"],
            "base.py": "class Base:\n    def new(self, x):\n        pass\n",
        },
    )
    assert lacking([pair(core, inheriting)], {"engine.core": inheriting}, home) == []


def test_a_method_that_another_module_calls_and_nothing_defines(tmp_path: Path) -> None:
    without = CORE.partition("    def new")[0].replace("self.new(helper)", "helper")
    [found] = problems(tmp_path, "engine.core", without, user="def f(runner):\n    return runner.new(1)\n")
    assert found == "engine.user:2 uses .new, which would be gone"


def test_a_name_that_nothing_binds(tmp_path: Path) -> None:
    [found] = problems(tmp_path, "engine.core", CORE.replace("from engine.tools import helper\n", ""))
    assert found == "engine.core: nothing would bind helper"


NEWER = CORE + "\n\ndef extra():\n    return 1\n"


@pytest.mark.parametrize(
    ("user", "problem"),
    [
        ("x = 1\n", ""),
        ("from engine.late import y\n", "engine.late:1 imports extra of engine.core, which would be gone"),
        ("def f():\n    from . import late\n", "engine.late:1 imports extra of engine.core, which would be gone"),
        ("NAMES = ['engine.late']\n", "engine.late:1 imports extra of engine.core, which would be gone"),
        (
            "import importlib, pkgutil\nfor each in pkgutil.iter_modules(['.']):\n    importlib.import_module(each.name)\n",
            "engine.late:1 imports extra of engine.core, which would be gone",
        ),
    ],
    ids=["nothing", "an import", "an import in a function", "its name in a string", "all that is there"],
)
def test_what_a_module_uses_that_came_with_the_change_counts_where_it_is_still_in_use(
    tmp_path: Path, user: str, problem: str
) -> None:
    late = "from engine.core import extra\n\ny = extra()\n"
    home = package(tmp_path, {"core.py": NEWER, "tools.py": FILES["tools.py"], "late.py": late, "user.py": user})
    found = lacking([pair(NEWER, CORE)], {"engine.core": CORE}, home, ["engine.late"])
    assert found == ([problem] if problem else [])


def test_a_use_by_the_whole_name_of_the_module_counts(tmp_path: Path) -> None:
    late = "import engine.core\n\n\ndef f(my):\n    return engine.core.extra() + my.core.extra()\n"
    home = package(tmp_path, {"core.py": NEWER, "tools.py": FILES["tools.py"], "late.py": late})
    found = lacking([pair(NEWER, CORE)], {"engine.core": CORE}, home)
    assert found == ["engine.late:5 uses engine.core.extra, which would be gone"]
