"""Modules made at random, with an edit made at random, in a running process.

Whatever is nested in what: taken out live, every function, also those that were alive before, is what a fresh import of the reverted
text gives, bytecode and lines included; put back, it is what it was, the very same code objects; or the revert is refused, and then
nothing changed.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prtoggle.errors import RefusedError
from prtoggle.runtime import compilers, live
from prtoggle.runtime.codes import fingerprint

EXAMPLES = int(os.environ.get("PRTOGGLE_EXAMPLES", "60"))

HEAD = """
import contextlib, functools
LIVE = {}
def keep(key, f):
    LIVE.setdefault(key, f)
    return f
def wrapping(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return ("wrapped", f(*args, **kwargs))
    return wrapper
def same(f):
    return f
"""
DECORATORS = ("", "", "@same", "@wrapping", "@functools.lru_cache", "@wrapping\n@wrapping")
METHODS = ("", "", "@staticmethod", "@classmethod", "@property", "@wrapping", "@functools.cached_property")


@dataclass
class Word:
    """A constant; ``edited`` where the reverted text has another."""

    key: int
    edited: bool

    def text(self, reverted: bool) -> str:
        return repr(("r" if reverted and self.edited else "f") + str(self.key))


@dataclass
class Statement:
    """One statement in a function: in both texts, or in one."""

    kind: str
    word: Word
    only: str = "both"
    inner: Function | None = None


@dataclass
class Function:
    key: int
    decorator: str
    default: Word | None
    keyword: Word | None
    doc: Word | None
    annotation: str
    body: list[Statement] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"f{self.key}"

    def lines(self, reverted: bool, first: str = "") -> list[str]:
        bare = self.decorator.endswith("property")
        params = [first] if first else []
        if not bare:
            params.append(f"n{': ' + self.annotation if self.annotation else ''}=1")
            if self.default:
                params.append(f"d={self.default.text(reverted)}")
            if self.keyword:
                params.append(f"*, k={self.keyword.text(reverted)}")
        out = [*self.decorator.splitlines(), f"def {self.name}({', '.join(params)}):"]
        body = [self.doc.text(reverted)] if self.doc else []
        body += ["n = 5"] if bare else []
        body += ["out = [n]"]
        body += [
            name
            for flag, name in ((self.default, "out.append(d)"), (self.keyword, "out.append(k)"))
            if flag and not bare
        ]
        for each in self.body:
            if each.only in ("both", "reverted" if reverted else "fixed"):
                body += statement(each, reverted)
        return out + ["    " + line for line in [*body, "return out"]]


def statement(each: Statement, reverted: bool) -> list[str]:
    word, key = each.word.text(reverted), each.word.key
    if each.kind == "word":
        return [f"out.append({word})"]
    if each.kind == "lambda":
        return [f"out.append(keep({key}, lambda: ({word}, n))())"]
    if each.kind == "plain lambda":
        return [f"out.append(keep({key}, lambda: {word})())"]
    if each.kind == "two lambdas":
        return [f"out.append([f() for f in (keep({key}, lambda: 'same'), keep({-key}, lambda: {word} and 'same'))])"]
    if each.kind == "comprehension":
        return [f"out.append([({word}, i, n) for i in range(2)])"]
    if each.kind == "blank":
        return ["", f"out.append({word})", ""]
    if each.kind == "class":
        return ["class Local:", "    def m(self):", f"        return {word}", f"out.append(keep({key}, Local().m)())"]
    if each.kind == "try":
        return ["try:", f"    out.append({word})", "finally:", f"    out.append((lambda: {word})())"]
    assert each.inner is not None
    return [*each.inner.lines(reverted), f"out.append(keep({key}, {each.inner.name})())"]


KINDS = ("word", "lambda", "plain lambda", "two lambdas", "comprehension", "blank", "class", "try", "inner", "inner")


@st.composite
def modules(draw: st.DrawFn) -> tuple[str, str]:
    """A module's text, fixed and reverted."""
    keys = itertools.count(1)
    odds = draw(st.sampled_from([2, 4, 8]))

    def rarely() -> bool:
        return draw(st.integers(0, odds)) == odds

    def word(edits: bool = True) -> Word:
        return Word(next(keys), edits and rarely())

    def maybe(present: int = 3) -> Word | None:
        return word() if draw(st.integers(0, present)) == present else None

    def function(depth: int, decorators: tuple[str, ...]) -> Function:
        decorator = draw(st.sampled_from(decorators))
        made = Function(next(keys), decorator, maybe(), maybe(), maybe(), draw(st.sampled_from(["", "", "int", "str"])))
        for _ in range(draw(st.integers(0, 3))):
            kind = draw(st.sampled_from(KINDS if depth < 3 else KINDS[:-2]))
            inner = function(depth + 1, DECORATORS) if kind == "inner" else None
            only = draw(st.sampled_from(["fixed", "reverted"])) if rarely() and rarely() else "both"
            made.body.append(Statement(kind, word(), only, inner))
        return made

    texts: list[list[str]] = [HEAD.splitlines(), HEAD.splitlines()]

    def add(lines: tuple[list[str], list[str]]) -> None:
        for text, more in zip(texts, lines, strict=True):
            text.extend(more)

    for _ in range(draw(st.integers(1, 4))):
        shape = draw(st.sampled_from(["function", "function", "class", "table", "constant"]))
        if shape == "function":
            one = function(0, DECORATORS)
            add((one.lines(False), one.lines(True)))
            if draw(st.booleans()):
                add(([f"{one.name}()"], [f"{one.name}()"]))
        elif shape == "class":
            name, methods = f"C{next(keys)}", [function(1, METHODS) for _ in range(draw(st.integers(1, 3)))]
            attribute = word(rarely())
            for text, reverted in zip(texts, (False, True), strict=True):
                text += [f"class {name}:", f"    kind = {attribute.text(reverted)}"]
                for each in methods:
                    first = {"@staticmethod": "", "@classmethod": "cls"}.get(each.decorator, "self")
                    text += ["    " + line for line in each.lines(reverted, first)]
                text += [f"i{name} = {name}()"]
        elif shape == "table":
            words = [word() for _ in range(3)]
            name = f"T{next(keys)}"
            for text, reverted in zip(texts, (False, True), strict=True):
                text += [f"{name} = [{', '.join(f'lambda: {each.text(reverted)}' for each in words)}]"]
        else:
            each, name = word(rarely()), f"K{next(keys)}"
            for text, reverted in zip(texts, (False, True), strict=True):
                text += [f"{name} = {each.text(reverted)}"]
    fixed, reverted_text = ("\n".join(text) + "\n" for text in texts)
    return fixed, reverted_text


def functions_of(value: object) -> Iterator[types.FunctionType]:
    """The functions behind a value of a module or class."""
    while value is not None:
        if isinstance(value, types.FunctionType):
            yield value
        inner = getattr(value, "__wrapped__", None) or getattr(value, "__func__", None)
        value = inner or getattr(value, "fget", None) or getattr(value, "func", None)


def portrait(module: types.ModuleType) -> dict[str, object]:
    """Everything that can be seen of a module: what its functions are, and what they return."""
    found: dict[str, object] = {}

    def show(name: str, value: object) -> None:
        for number, each in enumerate(functions_of(value)):
            found[f"{name}/{number}"] = (
                fingerprint(each.__code__),
                each.__defaults__,
                each.__kwdefaults__,
                each.__annotations__,
                each.__doc__,
            )

    def called(name: str, value: object) -> None:
        found[f"{name}()"] = repr(value() if callable(value) else value)

    for name, value in list(vars(module).items()):
        if name in ("LIVE", "keep", "contextlib", "functools", "wrapping", "same") or name.startswith("__"):
            continue
        if isinstance(value, type):
            for key, member in list(vars(value).items()):
                if key.startswith("f"):
                    show(f"{name}.{key}", member)
                    called(f"{name}.{key}", getattr(getattr(module, f"i{name}"), key))
        elif isinstance(value, list):
            for number, each in enumerate(value):
                show(f"{name}[{number}]", each)
                called(f"{name}[{number}]", each)
        elif callable(value):
            show(name, value)
            called(name, value)
    for key, value in sorted(module.LIVE.items()):
        show(f"LIVE[{key}]", value)
        called(f"LIVE[{key}]", value)
    return found


_numbers = itertools.count()


@contextlib.contextmanager
def imported(text: str, file: str) -> Iterator[types.ModuleType]:
    module = types.ModuleType("made_at_random")
    module.__file__ = file
    sys.modules[module.__name__] = module
    try:
        exec(compile(text.encode(), file, "exec", dont_inherit=True), module.__dict__)
        yield module
    finally:
        del sys.modules[module.__name__]
        live._modules.pop(file, None)
        live._texts.pop(file, None)


def toggle(file: str, fixed: str, text: str) -> dict[str, object]:
    result: dict[str, object] = {}
    live._exchange([("made_at_random", file, fixed.encode(), text.encode())], result, "7", 2.0, False)
    return result


def codes(module: types.ModuleType) -> list[int]:
    return [id(each.__code__) for value in vars(module).values() for each in functions_of(value)]


@pytest.fixture(autouse=True, scope="module")
def nothing_compiled() -> Iterator[None]:
    """Other tests of this process may have used torch.compile, on modules of theirs; nothing of these is compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compilers, "dynamo_compiled", lambda: False)
        yield


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(modules())
def test_live_is_what_a_fresh_import_gives_or_nothing_changed(texts: tuple[str, str]) -> None:
    fixed, reverted = texts
    number = next(_numbers)
    with imported(reverted, f"/made/up/{number}/fresh.py") as module:
        wanted = portrait(module)
    file = f"/made/up/{number}/live.py"
    with imported(fixed, f"/made/up/{number}/original.py") as module:
        original = portrait(module)
    with imported(fixed, file) as module:
        kept = set(module.LIVE)
        before = codes(module)
        try:
            toggle(file, fixed, reverted)
        except RefusedError as error:
            assert "made_at_random" in str(error) and "hint: restart" in str(error)
            assert codes(module) == before
            assert portrait(module) == original
            return
        assert kept <= {key for key in kept if f"LIVE[{key}]()" in wanted}, "alive, and not in the reverted text"
        assert portrait(module) == wanted
        try:
            toggle(file, fixed, fixed)
        except RefusedError as error:
            assert "<locals>" in str(error)  # a call made it meanwhile, and it cannot be given the other text
            assert {key: value for key, value in portrait(module).items() if key in wanted} == wanted
            return
        assert codes(module) == before
        after = portrait(module)
        assert {key: value for key, value in after.items() if key in original} == original
        assert all(key.startswith("LIVE") for key in after.keys() - original.keys())


def test_both_ends_are_met() -> None:
    """Of what is made at random, some is refused and some is not."""
    ends: set[str] = set()

    @settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(modules())
    def run(texts: tuple[str, str]) -> None:
        file = f"/made/up/{next(_numbers)}/ends.py"
        with imported(texts[0], file):
            try:
                ends.add("changed" if toggle(file, *texts)["functions"] else "same")
            except RefusedError:
                ends.add("refused")

    run()
    assert ends >= {"changed", "refused"}
