"""Small reverts of a real function: what somebody's fix might have changed, taken back, as text to text.

Each takes a module's text, the name of a function in it and a source of chance, and gives the text in which the function
is reverted, or None where the function has no such place. All else stays byte for byte.

Example::

    statement_deleted("def f():\\n    a = 1\\n    b = 2\\n", "f", random.Random(0))     # "def f():\\n    b = 2\\n"
"""

from __future__ import annotations

import ast
import itertools
import random
import re
import textwrap
from collections.abc import Callable, Iterator

from benchmarks.port_trees import Function, definitions, parsed, same
from prtoggle.edits.scope import statement_lists
from prtoggle.edits.text import SourceText

Revertion = Callable[[str, str, random.Random], str | None]

SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Assert)


class Place:
    """A function in a text, with its statements and expressions."""

    def __init__(self, text: str, qualname: str) -> None:
        self.source = SourceText(text)
        self.tree = parsed(text)
        self.node: Function = definitions(self.tree)[qualname]

    def blocks(self) -> Iterator[list[ast.stmt]]:
        """Every statement list of the function, not those of definitions inside it."""
        pending: list[ast.AST] = [self.node]
        while pending:
            for block in statement_lists(pending.pop()):
                yield block
                pending.extend(each for each in block if not isinstance(each, Function | ast.ClassDef))

    def statements(self) -> list[tuple[list[ast.stmt], int]]:
        """Every statement but docstrings, as its block and its index there; only those that have their lines alone."""
        found = []
        for block in self.blocks():
            for index, node in enumerate(block):
                if block is self.node.body and index == 0 and ast.get_docstring(self.node, clean=False) is not None:
                    continue
                if not isinstance(node, Function | ast.ClassDef) and self.alone(node):
                    found.append((block, index))
        return found

    def alone(self, node: ast.stmt) -> bool:
        """Whether nothing else stands on the statement's lines."""
        start, end = self.source.span(node)
        before = self.source.text[self.source.starts[node.lineno - 1] : start]
        after = self.source.line(node.end_lineno or node.lineno)[self._column(end) :]
        return not before.strip() and (not after.strip() or after.lstrip().startswith("#"))

    def _column(self, offset: int) -> int:
        return offset - self.source.starts[self.source.line_of(offset) - 1]

    def expressions(self) -> list[ast.expr]:
        """Every expression in the function's statements, in no string, decorator, signature or definition inside."""
        found: list[ast.expr] = []
        for block, index in self.statements():
            pending: list[ast.AST] = [
                child for child in ast.iter_child_nodes(block[index]) if isinstance(child, ast.expr | ast.withitem)
            ]
            while pending:
                node = pending.pop()
                if isinstance(node, ast.JoinedStr | ast.Lambda):
                    continue
                if isinstance(node, ast.expr):
                    found.append(node)
                pending.extend(ast.iter_child_nodes(node))
        spans = {node: self.source.span(node) for node in found}
        return sorted(found, key=lambda node: (spans[node][0], -spans[node][1]))  # the outer one first

    def text(self, node: ast.AST) -> str:
        start, end = self.source.span(node)
        return self.source.text[start:end]

    def put(self, start: int, end: int, new: str) -> str:
        return self.source.text[:start] + new + self.source.text[end:]

    def replace(self, node: ast.AST, new: str) -> str:
        return self.put(*self.source.span(node), new)

    def indent(self, node: ast.stmt) -> str:
        return re.match(r"[ \t]*", self.source.line(node.lineno))[0]  # type: ignore[index]

    def line_span(self, node: ast.stmt) -> tuple[int, int]:
        """From the start of the statement's first line to the start of the line after it."""
        starts = self.source.starts
        return starts[node.lineno - 1], starts[node.end_lineno or node.lineno]

    def written(self, node: ast.stmt) -> str:
        """The statement's lines."""
        start, end = self.line_span(node)
        return self.source.text[start:end]


def holds_long_string(node: ast.AST) -> bool:
    """Whether a string over several lines stands in ``node``, whose meaning indentation would change."""
    return any(
        isinstance(each, ast.Constant | ast.JoinedStr)
        and each.end_lineno != each.lineno
        and (isinstance(each, ast.JoinedStr) or isinstance(each.value, str | bytes))
        for each in ast.walk(node)
    )


def reindented(text: str, indent: str) -> str:
    """Lines with their common indentation replaced."""
    return textwrap.indent(textwrap.dedent(text), indent)


def statement_deleted(text: str, qualname: str, chance: random.Random) -> str | None:
    place = Place(text, qualname)
    found = [block[i] for block, i in place.statements() if len(block) > 1 and isinstance(block[i], SIMPLE)]
    if not found:
        return None
    return place.put(*place.line_span(chance.choice(found)), "")


def guard_deleted(text: str, qualname: str, chance: random.Random) -> str | None:
    place = Place(text, qualname)
    found = [
        block[i]
        for block, i in place.statements()
        if len(block) > 1 and isinstance(block[i], ast.If) and not block[i].orelse and len(block[i].body) <= 3  # type: ignore[attr-defined]
    ]
    if not found:
        return None
    return place.put(*place.line_span(chance.choice(found)), "")


def guard_unwrapped(text: str, qualname: str, chance: random.Random) -> str | None:
    place = Place(text, qualname)
    found = [
        block[i]
        for block, i in place.statements()
        if isinstance(block[i], ast.If)
        and not block[i].orelse  # type: ignore[attr-defined]
        and block[i].body[0].lineno > block[i].lineno  # type: ignore[attr-defined]
        and not holds_long_string(block[i])
        and not place.source.line(block[i].lineno).lstrip().startswith("elif")
    ]
    if not found:
        return None
    node = chance.choice(found)
    body = node.body  # type: ignore[attr-defined]
    start, end = place.source.starts[body[0].lineno - 1], place.line_span(body[-1])[1]
    return place.put(*place.line_span(node), reindented(place.source.text[start:end], place.indent(node)))


def statement_added(text: str, qualname: str, chance: random.Random) -> str | None:
    place = Place(text, qualname)
    found = place.statements()
    copied = [block[i] for block, i in found if isinstance(block[i], SIMPLE) and not holds_long_string(block[i])]
    if not found or not copied:
        return None
    block, index = chance.choice(found)
    at = block[index]
    model = chance.choice(copied)
    new = reindented(place.written(model), place.indent(at))
    new = re.sub(r"\b(\w+)( *(?:\+=|=(?!=)))", r"\1_before\2", new, count=1) if isinstance(model, ast.Assign) else new
    start, _ = place.line_span(at)
    return place.put(start, start, new)


def statement_moved(text: str, qualname: str, chance: random.Random) -> str | None:
    place = Place(text, qualname)
    found = [
        (block[i], block[i + 1])
        for block, i in place.statements()
        if i + 1 < len(block)
        and isinstance(block[i], SIMPLE)
        and not isinstance(block[i + 1], Function | ast.ClassDef)
        and place.alone(block[i + 1])
    ]
    if not found:
        return None
    first, second = chance.choice(found)
    (start, end), (second_start, second_end) = place.line_span(first), place.line_span(second)
    if end > second_start or same(first, second):
        return None
    return place.put(start, second_end, place.source.text[end:second_end] + place.source.text[start:end])


def constant_changed(text: str, qualname: str, chance: random.Random) -> str | None:
    place = Place(text, qualname)
    found = [node for node in place.expressions() if isinstance(node, ast.Constant) and type(node.value) in (int, bool)]
    if not found:
        return None
    node = chance.choice(found)
    value = node.value
    return place.replace(node, str(not value) if isinstance(value, bool) else str(int(value) + 1))  # type: ignore[arg-type]


_SWAPS = {"<=": "<", ">=": ">", "<": "<=", ">": ">=", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "+", "//": "*"}


def operator_changed(text: str, qualname: str, chance: random.Random) -> str | None:
    place = Place(text, qualname)
    found: list[tuple[int, int, str]] = []
    for node in place.expressions():
        if isinstance(node, ast.BinOp):
            left, right = node.left, node.right
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = node.left, node.comparators[0]
        else:
            continue
        start, end = place.source.span(left)[1], place.source.span(right)[0]
        match = re.fullmatch(r"(\s*)(\S+)(\s*)", place.source.text[start:end])
        if match and match[2] in _SWAPS:
            found.append((start + match.start(2), start + match.end(2), _SWAPS[match[2]]))
    return place.put(*chance.choice(found)) if found else None


def keyword_removed(text: str, qualname: str, chance: random.Random) -> str | None:
    place = Place(text, qualname)
    found: list[tuple[int, int]] = []
    for node in place.expressions():
        if isinstance(node, ast.Call) and node.keywords and len(node.args) + len(node.keywords) > 1:
            each = sorted([*node.args, *node.keywords], key=lambda arg: (arg.lineno, arg.col_offset))
            for before, arg in itertools.pairwise(each):
                if isinstance(arg, ast.keyword) and arg.arg and not isinstance(before, ast.GeneratorExp):
                    found.append((place.source.span(before)[1], place.source.span(arg)[1]))
    found = [span for span in found if re.match(r"\s*,", place.source.text[span[0] : span[1]])]
    return place.put(*chance.choice(found), "") if found else None


def condition_inverted(text: str, qualname: str, chance: random.Random) -> str | None:
    place = Place(text, qualname)
    found = [block[i].test for block, i in place.statements() if isinstance(block[i], ast.If | ast.While)]  # type: ignore[attr-defined]
    if not found:
        return None
    node = chance.choice(found)
    return place.replace(node, f"not ({place.text(node)})")


def condition_loosened(text: str, qualname: str, chance: random.Random) -> str | None:
    place = Place(text, qualname)
    found = [node for node in place.expressions() if isinstance(node, ast.BoolOp)]
    if not found:
        return None
    node = chance.choice(found)
    kept = [each for each in node.values]
    kept.pop(chance.randrange(len(kept)))
    word = " and " if isinstance(node.op, ast.And) else " or "
    return place.replace(node, "(" + word.join(f"({place.text(each)})" for each in kept) + ")")


def expression_replaced(text: str, qualname: str, chance: random.Random) -> str | None:
    place = Place(text, qualname)
    calls = [node for node in place.expressions() if isinstance(node, ast.Call) and node.args]
    args = [arg for node in calls for arg in node.args if not isinstance(arg, ast.Constant | ast.Starred)]
    args = [arg for arg in args if not isinstance(arg, ast.GeneratorExp | ast.JoinedStr)]
    return place.replace(chance.choice(args), "None") if args else None


def method_renamed(text: str, qualname: str, chance: random.Random) -> str | None:
    place = Place(text, qualname)
    found = [
        node.func for node in place.expressions() if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    if not found:
        return None
    node = chance.choice(found)
    _, end = place.source.span(node)
    return place.put(end, end, "_legacy")


def two_changes(text: str, qualname: str, chance: random.Random) -> str | None:
    first = chance.choice((statement_deleted, constant_changed, keyword_removed, operator_changed))
    once = first(text, qualname, chance)
    second = chance.choice((statement_added, condition_inverted, expression_replaced, method_renamed))
    return None if once is None else second(once, qualname, chance)


REVERTS: dict[str, Revertion] = {
    "statement deleted": statement_deleted,
    "guard deleted": guard_deleted,
    "guard unwrapped": guard_unwrapped,
    "statement added": statement_added,
    "statement moved": statement_moved,
    "constant changed": constant_changed,
    "operator changed": operator_changed,
    "keyword removed": keyword_removed,
    "condition inverted": condition_inverted,
    "condition loosened": condition_loosened,
    "expression replaced": expression_replaced,
    "method renamed": method_renamed,
    "two changes": two_changes,
}


def reverted(text: str, qualname: str, how: str, chance: random.Random) -> str | None:
    """The text after the revert called ``how``; None where there is no place for it, or it changes nothing."""
    new = REVERTS[how](text, qualname, chance)
    if new is None or new == text:
        return None
    try:
        after = parsed(new)
        compile(new, "<reverted>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    return None if same(after, parsed(text)) or qualname not in definitions(after) else new
