"""Two copies of a package: all that differs, or what is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from prtoggle.authoring.between import between
from prtoggle.errors import RefusedError, UsageError
from tests.authoring.texts import package

NEW = "class C:\n    def step(self):\n        return 1\n\n    def other(self):\n        return 2\n"
OLD = "class C:\n    def step(self):\n        return self._helper()\n\n    def _helper(self):\n        return 3\n\n    def other(self):\n        return 4\n"


def test_all_that_differs_is_a_pair_or_named(tmp_path: Path) -> None:
    older = package(
        tmp_path / "1", {"core.py": OLD, "same.py": "x = 1\n", "gone.py": "y = 1\n", "tests/test_a.py": "z = 1\n"}
    )
    newer = package(
        tmp_path / "2", {"core.py": NEW, "same.py": "x = 1\n", "came.py": "y = 1\n", "tests/test_a.py": "z = 2\n"}
    )
    found = between(newer, older)
    assert [(pair.module, pair.fixed.text, pair.reverted.text) for pair in found.pairs] == [("engine.core", NEW, OLD)]
    assert {each.path: each.kind for each in found.left} == {
        "engine/came.py": "stays",
        "engine/gone.py": "refused",
        "engine/tests/test_a.py": "skipped",
    }


def test_a_method_that_the_older_definition_calls_must_be_named_too(tmp_path: Path) -> None:
    older, newer = package(tmp_path / "1", {"core.py": OLD}), package(tmp_path / "2", {"core.py": NEW})
    with pytest.raises(RefusedError, match=r"uses C\._helper") as caught:
        between(newer, older, only=["engine/core.py::C.step"])
    assert caught.value.hint == "add --only engine/core.py::C._helper"
    found = between(newer, older, only=["engine/core.py::C.step", "engine/core.py::C._helper"])
    assert found.pairs[0].reverted.text == OLD.replace("return 4", "return 2")


def test_a_method_that_a_base_class_has_now_need_not_be(tmp_path: Path) -> None:
    older = package(tmp_path / "1", {"core.py": OLD})
    base = "class Base:\n    def _helper(self):\n        return 3\n\n\n"
    newer = package(tmp_path / "2", {"core.py": base + NEW.replace("class C:", "class C(Base):")})
    [pair] = between(newer, older, only=["engine/core.py::C.step"]).pairs
    assert "self._helper()" in pair.reverted.text


def test_all_of_a_file(tmp_path: Path) -> None:
    older, newer = package(tmp_path / "1", {"core.py": OLD}), package(tmp_path / "2", {"core.py": NEW})
    [pair] = between(newer, older, only=["engine/core.py"]).pairs
    assert pair.reverted.text == OLD


def test_a_definition_that_did_not_change_is_said(tmp_path: Path) -> None:
    older = package(tmp_path / "1", {"core.py": OLD})
    newer = package(tmp_path / "2", {"core.py": NEW.replace("return 2", "return 4")})
    found = between(newer, older, only=["engine/core.py::C.other"])
    assert found.pairs == () and found.left[0].why == "C.other: comments and layout alone"


@pytest.mark.parametrize(
    ("name", "near"), [("nothing", ""), ("step", "C.step"), ("C.stp", "C.step"), ("C.C.step", "C.step")]
)
def test_a_definition_that_is_in_neither_is_said_with_the_nearest(tmp_path: Path, name: str, near: str) -> None:
    older, newer = package(tmp_path / "1", {"core.py": OLD}), package(tmp_path / "2", {"core.py": NEW})
    with pytest.raises(UsageError, match="neither text has") as caught:
        between(newer, older, only=[f"engine/core.py::{name}"])
    assert caught.value.nearest == near


def test_a_data_file_that_is_named_is_no_module(tmp_path: Path) -> None:
    older, newer = (package(tmp_path / each, {"data.json": each, "core.py": OLD}) for each in "12")
    found = between(newer, older, only=["engine/data.json"])
    assert not found.pairs and [(each.path, each.kind) for each in found.left] == [("engine/data.json", "refused")]


HELPED = "from engine.tools import cut, scale\n\n\ndef f(a):\n    return cut(scale(a))\n"
TOOLS = "LIMIT = 4\n\n\ndef cut(a):\n    return a[:LIMIT]\n\n\ndef scale(a):\n    return a * 2\n"


def test_a_helper_that_another_module_has_no_more_is_put_back_there_with_what_it_needs(tmp_path: Path) -> None:
    older = package(tmp_path / "1", {"core.py": HELPED, "tools.py": TOOLS})
    core, tools = (
        "from engine.tools import scale\n\n\ndef f(a):\n    return scale(a)\n",
        "def scale(a):\n    return a * 3\n",
    )
    newer = package(tmp_path / "2", {"core.py": core, "tools.py": tools})
    made = {each.module: each.reverted for each in between(newer, older, only=["engine/core.py::f"]).pairs}
    assert set(made) == {"engine.core", "engine.tools"}
    got: dict[str, object] = {}
    exec(made["engine.tools"].text, got)
    assert got["cut"]([1] * 9) == [1] * 4 and got["scale"](1) == 3  # type: ignore[operator]
    assert "cut(scale(a))" in made["engine.core"].text


def test_a_helper_that_cannot_be_put_back_alone_is_left_to_be_refused(tmp_path: Path) -> None:
    tools = "if True:\n    def cut(a):\n        return a\n\n    def scale(a):\n        return a\n"
    older = package(tmp_path / "1", {"core.py": HELPED, "tools.py": tools})
    core = "from engine.tools import scale\n\n\ndef f(a):\n    return scale(a)\n"
    newer = package(tmp_path / "2", {"core.py": core, "tools.py": "def scale(a):\n    return a * 3\n"})
    assert [each.module for each in between(newer, older, only=["engine/core.py::f"]).pairs] == ["engine.core"]
