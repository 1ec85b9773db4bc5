"""What of two texts of a module ran when it was imported, and differs: by line, for a refusal.

Function bodies, parameters, defaults and annotations are no part of it: they can change in a running process.

Example::

    refusals = []
    differences(body(old), body(new), "", refusals)   # ["line 3 of C: 'kind = 1' ran at import, ..."]
"""

from __future__ import annotations

import ast
import copy
import difflib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prtoggle.runtime.codes import Compiled


class _Shell(ast.NodeTransformer):
    """What is left of a statement when it has run once: functions without their bodies, parameters and annotations."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._definition(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._definition(node)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        for decorator in node.decorator_list:
            self.visit(decorator)
        node.body, node.args, node.returns = [], _no_arguments(), None
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        node.body, node.args = ast.Constant(None), _no_arguments()
        return node


def _no_arguments() -> ast.arguments:
    return ast.arguments([], [], None, [], [], None, [])


def body(compiled: Compiled) -> list[ast.stmt]:
    """The statements of a module, functions left empty."""
    blank: ast.Module = _Shell().visit(ast.parse(compiled.text, compiled.file))
    return blank.body


def emptied(node: ast.stmt) -> ast.stmt:
    """One statement, functions left empty."""
    found: ast.stmt = _Shell().visit(copy.deepcopy(node))
    return found


def differences(old: list[ast.stmt], new: list[ast.stmt], inside: str, refusals: list[str]) -> None:
    """Name what differs between two bodies that ran when the module was imported, functions left empty."""
    ours, theirs = [ast.dump(node) for node in old], [ast.dump(node) for node in new]
    where = f" of {inside}" if inside else ""
    for tag, a, b, c, d in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        ours_left, theirs_left = old[a:b], new[c:d]
        if len(ours_left) != len(theirs_left):
            named = {each.name: each for each in theirs_left if isinstance(each, ast.ClassDef)}
            for each in [each for each in ours_left if isinstance(each, ast.ClassDef) and each.name in named]:
                _differing(each, named[each.name], inside, refusals)
                ours_left.remove(each)
                theirs_left.remove(named.pop(each.name))
        else:
            for one, other in zip(ours_left, theirs_left, strict=True):
                _differing(one, other, inside, refusals)
            continue
        for node in ours_left:
            refusals.append(f"line {node.lineno}{where}: {_words(node)} ran at import, and would not have been there")
        for node in theirs_left:
            refusals.append(f"{_words(node)}{where} would have run at import, and did not")


def _differing(old: ast.stmt, new: ast.stmt, inside: str, refusals: list[str]) -> None:
    if isinstance(old, ast.ClassDef) and isinstance(new, ast.ClassDef):
        heads = [copy.copy(old), copy.copy(new)]
        for head in heads:
            head.body = []
        if ast.dump(heads[0]) == ast.dump(heads[1]):
            differences(old.body, new.body, f"{inside}.{old.name}" if inside else old.name, refusals)
            return
    where = f" of {inside}" if inside else ""
    refusals.append(f"line {old.lineno}{where}: {_words(old)} ran at import, and would have been {_words(new)}")


def _words(node: ast.stmt) -> str:
    """A statement's first line, short."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return f"'def {node.name}'"
    line = ast.unparse(node).splitlines()[0]
    return repr(line if len(line) <= 60 else line[:57] + "...")
