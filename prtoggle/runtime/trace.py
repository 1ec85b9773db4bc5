"""In a traced run: was the reverted code executed? (``PRTOGGLE_TRACE=1``)

A mark, ``marks.k7 = 1`` on a plain object among the module's globals, goes into the syntax tree in front of the
statement at each edit; text, line numbers and ``getsource`` stay as they are, and ``torch.compile`` takes it with
``fullgraph=True``. A thread looks at the marks four times a second and writes ``executed`` to the journal; ``traced``
at the end names those never hit.

A mark that is never hit means *not executed*, except where the body may run elsewhere than in the interpreter (Triton
and TorchScript compile from the text; a captured CUDA graph replays kernels): there it means *unknown*.
"""

from __future__ import annotations

import ast
import os
import sys
import time

from prtoggle.runtime import journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prtoggle.runtime.resolve import Planned

NAME = "__prtoggle_marks__"
PERIOD = 0.25
_ELSEWHERE = ("jit", "script", "kernel", "autotune", "heuristics")


class Marks:
    """The object that marks are set on."""


MARKS = Marks()
_known: dict[str, tuple[str, object, bool]] = {}
_places: dict[str, tuple[str, int]] = {}
_reported: set[str] = set()
_started = False


def prepare(modules: list[Planned]) -> None:
    """Have each planned module compiled with marks."""
    global _started
    for module in modules:
        module.trace = marked
    if not _started:
        _started = True
        _start()
        import atexit

        atexit.register(_ended)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_forked)


def _start() -> None:
    import _thread

    _thread.start_new_thread(_look, ())


def _forked() -> None:
    MARKS.__dict__.clear()
    _reported.clear()
    _start()


def _look() -> None:
    while True:
        time.sleep(PERIOD)
        flush()


def flush() -> None:
    """Write ``executed`` for every mark hit since the last look."""
    for key in list(MARKS.__dict__):
        if key not in _reported and key in _known:
            _reported.add(key)
            module, edit, _ = _known[key]
            journal.record("executed", module=module, edit=edit)


def _ended() -> None:
    flush()
    scripted = _scripted()
    unhit = []
    for key, (module, edit, elsewhere) in _known.items():
        if key not in _reported:
            file, line = _places[key]
            compiled = any(name == file and first <= line <= last for name, first, last in scripted)
            unhit.append({"module": module, "edit": edit, "unknown": elsewhere or compiled})
    journal.record("traced", unhit=unhit)


def _scripted() -> list[tuple[str, int, int]]:
    """File, first and last line of each function that TorchScript compiled: by a call, or because another calls it."""
    try:
        functions = list(sys.modules["torch.jit._state"]._jit_caching_layer)
    except (KeyError, AttributeError, RuntimeError):
        return []
    codes = [code for code in (getattr(function, "__code__", None) for function in functions) if code is not None]
    return [
        (code.co_filename, code.co_firstlineno, max((line for _, _, line in code.co_lines() if line), default=0))
        for code in codes
    ]


def marked(planned: Planned, file: str) -> ast.Module:
    """The reverted module's tree with a mark at each of its edits."""
    tree = ast.parse(planned.reverted, file)
    ends = _Ends(planned, tree)
    for parts, place, line, target, reverted_line, baked in planned.edits:
        key = f"k{len(_known)}"
        edit = {"parts": parts, "place": place, "line": line, "target": target}
        elsewhere = _insert(tree, reverted_line, key, ends.of(line, reverted_line))
        _known[key] = (planned.name, edit, elsewhere or baked)
        _places[key] = (file, reverted_line)
    tree.body.insert(_first(tree.body), _import(tree))
    return ast.fix_missing_locations(tree)


def _import(tree: ast.Module) -> ast.stmt:
    node = ast.parse(f"from {__name__} import MARKS as {NAME}").body[0]
    for child in ast.walk(node):
        if tree.body:
            ast.copy_location(child, tree.body[0])
    return node


def _first(body: list[ast.stmt]) -> int:
    """The first index at which a statement may stand: after the docstring and ``from __future__`` imports."""
    index = 0
    if (
        body
        and isinstance(body[0], ast.Expr)
        and isinstance(body[0].value, ast.Constant)
        and isinstance(body[0].value.value, str)
    ):
        index = 1
    while index < len(body):
        node = body[index]
        if not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        index += 1
    return index


class _Ends:
    """Where text was deleted from the end of a block, what follows it stands in another block: this says which block
    it was."""

    def __init__(self, planned: Planned, tree: ast.Module) -> None:
        from prtoggle.lineshift import LineShift

        self.original = ast.parse(planned.found)
        self.shift = LineShift(planned.found, planned.reverted)
        self.reverted = {
            (type(node), node.lineno): node for node in ast.walk(tree) if isinstance(node, ast.stmt) and _blocks(node)
        }

    def of(self, line: int, reverted_line: int) -> ast.stmt | None:
        """The last statement of the block that held ``line`` of the original, if ``reverted_line`` is behind it."""
        body: list[ast.stmt] = self.original.body
        holder: tuple[ast.stmt, int] | None = None
        while True:
            node = next((node for node in body if _top(node) <= line <= (node.end_lineno or 0)), None)
            inner = _block(node, line) if node is not None else None
            if node is None or inner is None:
                break
            holder = node, next(at for at, block in enumerate(_blocks(node)) if block is inner)
            body = inner
        if holder is None:
            return None
        same = self.reverted.get((type(holder[0]), self.shift(holder[0].lineno)))
        blocks = _blocks(same) if same is not None else []
        if holder[1] >= len(blocks):
            return None
        last = blocks[holder[1]][-1]
        return last if (last.end_lineno or 0) < reverted_line else None


def _insert(tree: ast.Module, line: int, key: str, last: ast.stmt | None = None) -> bool:
    """Put the mark in front of the innermost statement at ``line``; behind ``last`` where that is given, and behind
    the last one of the module where none follows.

    Returns whether the code around it may run elsewhere than in the interpreter.
    """
    body, elsewhere = tree.body, False
    at = 0
    behind = 0
    if last is not None:
        line, behind = last.end_lineno or last.lineno, 1
    while True:
        at = next((i for i, node in enumerate(body) if _top(node) <= line <= (node.end_lineno or 0)), -1)
        if at < 0:
            at = next((i for i, node in enumerate(body) if _top(node) >= line), len(body))
            break
        node = body[at]
        inner = _block(node, line)
        if inner is None or node is last:
            at += behind
            break
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            elsewhere = elsewhere or any(_runs_elsewhere(decorator) for decorator in node.decorator_list)
        body = inner
    at = max(at, _first(body))
    anchor = body[min(at, len(body) - 1)] if body else tree
    mark = ast.parse(f"{NAME}.{key} = 1").body[0]
    for child in ast.walk(mark):
        if hasattr(child, "lineno"):
            ast.copy_location(child, anchor)
    body.insert(at, mark)
    return elsewhere


def _top(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    lines: list[int] = [node.lineno, *(decorator.lineno for decorator in decorators)]
    return min(lines)


def _block(node: ast.stmt, line: int) -> list[ast.stmt] | None:
    """The block of ``node`` that holds ``line``: the last one that starts at or before it; None where the header
    holds it."""
    holding = [block for block in _blocks(node) if _top(block[0]) <= line]
    return max(holding, key=lambda block: _top(block[0])) if holding else None


def _blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks of a compound statement, always in the same order."""
    blocks: list[list[ast.stmt]] = []
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            blocks.append(block)
    for field in ("handlers", "cases"):
        blocks.extend(part.body for part in getattr(node, field, []))
    return blocks


def _runs_elsewhere(decorator: ast.expr) -> bool:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    words = ast.unparse(named).lower().replace(".", "_").split("_")
    return any(word in words for word in _ELSEWHERE)
