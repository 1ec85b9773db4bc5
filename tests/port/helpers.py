"""Small releases of made-up packages, and what is carried between them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from textwrap import dedent

from prtoggle.port import CannotTell, Carried, Revert, Texts, carry, port


class Made:
    """A release that is made of texts."""

    def __init__(self, label: str, texts: Mapping[str, str] | str) -> None:
        self.label = label
        self._texts = {"p.m": dedent(texts)} if isinstance(texts, str) else {n: dedent(t) for n, t in texts.items()}

    def text(self, module: str) -> str | None:
        return self._texts.get(module)

    def modules(self) -> Iterable[str]:
        return tuple(self._texts)


Side = Mapping[str, str] | str


def release(label: str, texts: Side) -> Made:
    return Made(label, texts)


def revert_of(fixed: Made, reverted: Made) -> Revert:
    modules = [
        Texts(name, fixed.text(name) or "", reverted.text(name) or "")
        for name in fixed.modules()
        if fixed.text(name) != reverted.text(name)
    ]
    return Revert(fixed.label, tuple(modules))


def answer(fixed: Side, reverted: Side, after: Side) -> Carried | CannotTell:
    """The revert (fixed -> reverted) of p 1, in p 2."""
    one = Made("p 1", fixed)
    return carry(revert_of(one, Made("p 1", reverted)), one, Made("p 2", after))


def carried(fixed: Side, reverted: Side, after: Side) -> dict[str, str]:
    """Module -> its reverted text in p 2. Fails where it is refused."""
    found = answer(fixed, reverted, after)
    assert isinstance(found, Carried), found
    return {texts.module: texts.reverted for texts in found.revert.modules}


def refused(fixed: Side, reverted: Side, after: Side) -> str:
    """Why it is refused. Fails where it is not."""
    found = answer(fixed, reverted, after)
    assert isinstance(found, CannotTell), [texts.reverted for texts in found.revert.modules]
    return found.reason


def hows(fixed: Side, reverted: Side, after: Side) -> list[str]:
    found = answer(fixed, reverted, after)
    assert isinstance(found, Carried), found
    return [step.how for step in found.steps]


def over(reverted: Side, *releases: Side) -> Carried | CannotTell:
    """The revert of the first release, in the last."""
    trees = [Made(f"p {number}", texts) for number, texts in enumerate(releases, 1)]
    return port(revert_of(trees[0], Made("p 1", reverted)), trees)


def only(texts: Mapping[str, str]) -> str:
    """The text of the only module."""
    [text] = texts.values()
    return text


def same(one: str, other: str) -> bool:
    return ast.dump(ast.parse(one)) == ast.dump(ast.parse(dedent(other)))
