"""Syntax written as the text of a pattern: short, on one line where it fits, without comments, with holes where they
are asked for.

Contract: pure; the text of a node without holes parses to the node again. Holes are put into a copy of the tree as
names that the pattern language then writes as ``$X`` and ``$...X``.

Example::

    spell(source, call)                                 # 'GraphSlot("positions", shape, dtype, axis=0)'
    Holes().call(call, kept=...)                        # 'GraphSlot("positions", $...ARGS, axis=0)'
"""

from __future__ import annotations

import ast
import copy
import io
import re
import tokenize
from collections.abc import Sequence

from prtoggle.edits.scope import first_line
from prtoggle.edits.text import SourceText
from prtoggle.proposal.atoms import DEFINITIONS, blocks, same

_ONE = "prtoggle_one_"
_RUN = "prtoggle_run_"
_HOLE = re.compile(rf"\b(?:{_ONE}|{_RUN})\w+")
_JOINED = re.compile(r"[ \t]*\r?\n[ \t]*")
_PLAIN_STRING = re.compile(r"(?P<prefix>[a-zA-Z]*)'(?P<text>[^'\"\\\n{}]*)'")
Piece = tuple[tuple[int, int], tuple[int, int], str]
"""Start, end (a line and a column each) and what comes there."""
_F_STARTS, _F_ENDS = (
    {getattr(tokenize, f"{kind}STRING_{end}", -1) for kind in "FT"} - {-1} for end in ("START", "END")
)


def spell(source: SourceText, *nodes: ast.expr | ast.stmt) -> str:
    """The code of ``nodes``, statements below each other."""
    return "\n".join(_spell(source, node) for node in nodes)


def _spell(source: SourceText, node: ast.expr | ast.stmt) -> str:
    if not isinstance(node, DEFINITIONS) and not any(blocks(node)):
        text = source.text[slice(*source.span(node))]
        joined = _JOINED.sub(" ", text)
        joined = re.sub(r"([(\[{]) ", r"\1", re.sub(r",? ([)\]}])", r"\1", joined))
        for each in (text if "\n" not in text and "\r" not in text else joined, joined):
            if "#" not in each and _means(each, node):
                return each
    return unparsed(node)


def _means(text: str, node: ast.expr | ast.stmt) -> bool:
    try:
        [statement] = ast.parse(text).body
    except (SyntaxError, ValueError):
        return False
    if isinstance(node, ast.stmt):
        return same(statement, node)
    return isinstance(statement, ast.Expr) and same(statement.value, _loaded(node))


def _loaded(node: ast.expr) -> ast.expr:
    """``node`` as it would be read, where it is assigned to."""
    if not hasattr(node, "ctx") or isinstance(node.ctx, ast.Load):
        return node
    other = copy.deepcopy(node)
    for each in ast.walk(other):
        if hasattr(each, "ctx"):
            each.ctx = ast.Load()
    return other


def unparsed(node: ast.AST) -> str:
    """The code of a tree, with double quotes as far as that needs no thought, and holes as patterns have them."""
    text = ast.unparse(ast.fix_missing_locations(node))
    pieces: list[Piece] = []
    try:
        starts: list[tokenize.TokenInfo] = []
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in _F_STARTS:
                starts.append(token)
            elif token.type in _F_ENDS:
                pieces += _outer_quotes(text, starts.pop(), token, outermost=not starts)
            elif token.type == tokenize.STRING and not starts and (found := _PLAIN_STRING.fullmatch(token.string)):
                pieces.append((token.start, token.end, f'{found["prefix"]}"{found["text"]}"'))
    except (tokenize.TokenError, SyntaxError):
        pieces = []
    lines = text.split("\n")
    for (line, start), (_, end), new in sorted(pieces, reverse=True):
        lines[line - 1] = lines[line - 1][:start] + new + lines[line - 1][end:]
    return _HOLE.sub(lambda found: _hole(found[0]), "\n".join(lines))


def _outer_quotes(text: str, start: tokenize.TokenInfo, end: tokenize.TokenInfo, *, outermost: bool) -> list[Piece]:
    """Double quotes around an f-string that has single ones in it: before Python 3.12 they must not be the same."""
    inner = text.split("\n")[start.end[0] - 1][start.end[1] : end.start[1]]
    one_line = start.start[0] == end.end[0] and end.string == "'"
    if not (outermost and one_line and "'" in inner) or '"' in inner or "\\" in inner:
        return []
    return [(start.start, start.end, start.string[:-1] + '"'), (end.start, end.end, '"')]


def _hole(name: str) -> str:
    return f"$...{name.removeprefix(_RUN)}" if name.startswith(_RUN) else f"${name.removeprefix(_ONE)}"


def hole(name: str) -> ast.expr:
    """An expression that is written as ``$NAME``."""
    return ast.Name(_ONE + name, ast.Load())


def run(name: str) -> ast.expr:
    """An argument that is written as ``$...NAME``."""
    return ast.Name(_RUN + name, ast.Load())


def with_runs(old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> tuple[str, str] | None:
    """Both runs of statements, with every block that stands in both written as a hole; None where none does."""
    kept: list[list[str]] = []
    wanted = [_dumps(block) for statement in new for block in _all_blocks(statement)]
    wanted.append(_dumps(new))

    def is_kept(block: list[ast.stmt]) -> bool:
        mine = _dumps(block)
        return any(_within(mine, other) for other in wanted)

    def take(block: list[ast.stmt]) -> None:
        if is_kept(block):
            if _dumps(block) not in kept:
                kept.append(_dumps(block))
            return
        for statement in block:
            for _, inner in blocks(statement):
                take(inner)

    for statement in old:
        for _, inner in blocks(statement):
            take(inner)
    kept = [each for each in kept if sum(map(len, each)) > 60]  # shorter ones say more as they are
    if not kept:
        return None
    names = [f"KEPT{number}" if len(kept) > 1 else "KEPT" for number in range(1, len(kept) + 1)]
    texts = []
    for side in (old, new):
        body = _replaced(list(side), kept, names)
        texts.append("\n".join(unparsed(each) for each in body))
    return (texts[0], texts[1]) if all(f"$...{name}" in texts[0] for name in names) else None


def _dumps(block: Sequence[ast.stmt]) -> list[str]:
    return [ast.dump(each) for each in block]


def _within(run_: list[str], other: list[str]) -> bool:
    return any(other[k : k + len(run_)] == run_ for k in range(len(other) - len(run_) + 1))


def _all_blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    found = []
    for _, block in blocks(statement):
        found.append(block)
        for each in block:
            found += _all_blocks(each)
    return found


def _replaced(block: list[ast.stmt], kept: list[list[str]], names: list[str]) -> list[ast.stmt]:
    out: list[ast.stmt] = []
    at = 0
    while at < len(block):
        for its, name in zip(kept, names, strict=True):
            if _dumps(block[at : at + len(its)]) == its:
                out.append(ast.Expr(run(name)))
                at += len(its)
                break
        else:
            statement = copy.deepcopy(block[at])
            for each in _holders(statement):
                for field in ("body", "orelse", "finalbody"):
                    inner = getattr(each, field, None)
                    if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                        setattr(each, field, _replaced(inner, kept, names))
            out.append(statement)
            at += 1
    return out


def _holders(statement: ast.stmt) -> list[ast.AST]:
    return [statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]


def definition(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    """A pattern for all of a definition, whatever is in it."""
    other = copy.copy(node)
    other.body = [ast.Expr(run("BODY"))]
    return unparsed(other)


def beginning(node: ast.FunctionDef | ast.AsyncFunctionDef, statement: ast.stmt) -> str:
    """A pattern for a function that begins with ``statement``, whatever its parameters and the rest of it."""
    other = copy.copy(node)
    other.args = ast.arguments([], [ast.arg(_RUN + "PARAMETERS")], None, [], [], None, [])
    other.body = [statement, ast.Expr(run("REST"))]
    return unparsed(other)


def short_call(old: ast.expr, new: ast.expr) -> tuple[str, str] | None:
    """Two calls that differ in keywords alone, with the arguments that they share as one run; None for any others."""
    if not (isinstance(old, ast.Call) and isinstance(new, ast.Call) and same(old.func, new.func)):
        return None
    if any(keyword.arg is None for keyword in (*old.keywords, *new.keywords)):
        return None
    mine, other = ({keyword.arg: ast.dump(keyword.value) for keyword in call.keywords} for call in (old, new))
    shared = {name for name in mine if mine[name] == other.get(name)}
    if [ast.dump(each) for each in old.args] != [ast.dump(each) for each in new.args]:
        return None
    if any(isinstance(each, ast.Starred) for each in old.args):
        return None
    named = [each for each in old.args[:1] if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    if len(old.args) - len(named) + len(shared) < 2:
        return None
    texts = []
    for call in (old, new):
        rest = [each for each in call.keywords if each.arg not in shared]
        texts.append(unparsed(ast.Call(call.func, [*named, run("ARGS")], rest)))
    return texts[0], texts[1]


def drifted(now: ast.AST, before: ast.AST) -> list[ast.expr] | None:
    """The expressions of ``now`` that were others in ``before``; None where more differs than that."""
    if same(now, before):
        return []
    if type(now) is type(before) and not isinstance(now, ast.Name | ast.Constant):
        found: list[ast.expr] = []
        for name in now._fields:
            one, other = getattr(now, name, None), getattr(before, name, None)
            pairs = zip(one, other, strict=True) if _lists(one, other) else [(one, other)]  # type: ignore[arg-type]
            for a, b in pairs:
                if isinstance(a, ast.AST) and isinstance(b, ast.AST):
                    inner = drifted(a, b)
                    if inner is None:
                        break
                    found += inner
                elif a != b:
                    break
            else:
                continue
            break
        else:
            return found
    return [now] if isinstance(now, ast.expr) and isinstance(before, ast.expr) else None


def _lists(one: object, other: object) -> bool:
    return isinstance(one, list) and isinstance(other, list) and len(one) == len(other)


def with_holes(tree: ast.AST, drift: Sequence[ast.expr]) -> ast.AST:
    """A copy of ``tree`` with a hole for each expression of ``drift``, one hole for what is the same."""
    texts = list(dict.fromkeys(ast.dump(_loaded(each)) for each in drift))

    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            if isinstance(node, ast.expr) and ast.dump(_loaded(node)) in texts:
                return hole(f"X{texts.index(ast.dump(_loaded(node))) + 1}" if len(texts) > 1 else "X")
            return self.generic_visit(node)

    changed: ast.AST = Swap().visit(copy.deepcopy(tree))
    return changed


def first_and_last(source: SourceText, statements: Sequence[ast.stmt]) -> tuple[int, int]:
    """The lines that statements stand on, decorators included."""
    return first_line(source, statements[0]), statements[-1].end_lineno or statements[-1].lineno
