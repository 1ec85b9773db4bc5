"""Patterns taken from random programs, against an oracle that edits trees and never sees text."""

from __future__ import annotations

import ast
import copy
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from prtoggle.edits.kinds import PatternEdit
from prtoggle.edits.outcome import Found, Missing, Several
from prtoggle.edits.pattern import PatternSyntaxError, check, locate, parse
from prtoggle.edits.pattern_search import alone, matches
from prtoggle.edits.pattern_tree import block_with, blocks_of, is_elif, item_spans, items_of, statement_start
from prtoggle.edits.text import SourceText
from tests.edits.helpers import made
from tests.edits.pattern_helpers import scope_of
from tests.edits.pattern_programs import programs

EXAMPLES = int(os.environ.get("PRTOGGLE_EXAMPLES", "40"))
many = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "int" object is not callable, and so on
        yield


def inner_expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Expressions below ``node`` that can be a name in a pattern."""
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, (ast.JoinedStr, ast.pattern)) or not isinstance(child, ast.AST):
                continue
            if isinstance(child, ast.expr) and not isinstance(child, (ast.Starred, ast.Slice)) and not _slices(child):
                yield child
            if field != "ctx":
                yield from inner_expressions(child)


def _slices(node: ast.expr) -> bool:
    return isinstance(node, ast.Tuple) and any(isinstance(item, ast.Slice) for item in node.elts)


def holed(data: Any, source: SourceText, nodes: list[Any], start: int, end: int) -> tuple[str, dict[str, ast.expr]]:
    """The text of ``nodes`` with some inner expressions as names, each its own."""
    inner = [child for node in nodes for child in inner_expressions(node)]
    chosen: list[ast.expr] = []
    for child in data.draw(st.lists(st.sampled_from(inner), max_size=3, unique_by=id)) if inner else []:
        a, b = source.span(child)
        # Without the generator of f(x for x in y), the call's parentheses would be gone.
        free = all(b <= x or a >= y for x, y in map(source.span, chosen))
        if free and not isinstance(child, ast.GeneratorExp):
            chosen.append(child)
    names, text, at = {}, "", start
    for number, child in enumerate(sorted(chosen, key=source.span)):
        a, b = source.span(child)
        text += source.text[at:a] + f"$N{number}"
        at, names[f"N{number}"] = b, child
    return text + source.text[at:end], names


class Replace(ast.NodeTransformer):
    """The oracle: puts a tree in place of a node, or statements in place of some in a row."""

    def __init__(self, expressions: dict[int, ast.expr], statements: dict[int, tuple[int, list[ast.stmt]]]) -> None:
        self.expressions, self.statements = expressions, statements

    def visit(self, node: Any) -> Any:
        if id(node) in self.expressions:
            return self.expressions[id(node)]
        for field, block in blocks_of(node):
            for at, statement in enumerate(block):
                if id(statement) in self.statements:
                    count, new = self.statements[id(statement)]
                    result = [*block[:at], *new, *block[at + count :]]
                    setattr(node, field, result or ([] if isinstance(node, ast.Module) else [ast.Pass()]))
                    return node
        return self.generic_visit(node)


def tree_after(source: SourceText, replace: Callable[[dict[int, Any]], Replace]) -> str:
    """The dump of the source's tree after the oracle's edit; ``replace`` is given the copies by the originals' id."""
    memo: dict[int, Any] = {}
    tree = copy.deepcopy(source.tree, memo)
    return dump(ast.parse(ast.unparse(ast.fix_missing_locations(replace(memo).visit(tree)))))


def dump(tree: ast.AST) -> str:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.kind = None
    return ast.dump(tree)


def an_expression(data: Any, source: SourceText) -> ast.expr:
    found = list(inner_expressions(source.tree))
    assume(found)
    return data.draw(st.sampled_from(found))  # type: ignore[no-any-return]


def with_names(template: str, names: dict[str, ast.expr], memo: dict[int, Any]) -> ast.Module:
    """``template`` parsed, with (copies of) what the names stand for."""

    class Names(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> Any:
            return copy.deepcopy(memo[id(names[node.id])]) if node.id in names else node

    result: ast.Module = Names().visit(ast.parse(template))
    return result


@many
@given(programs(), st.data())
def test_an_expression_of_a_program_is_found_where_it_is_and_replaced_by_itself(text: str, data: Any) -> None:
    source = SourceText(text)
    node = an_expression(data, source)
    pattern, names = holed(data, source, [node], *source.span(node))
    assume(parse(pattern).is_expression)
    scope = scope_of(source)
    found = [match for match in matches(source, scope, parse(pattern)) if match.nodes[0] is node]
    assert len(found) == 1
    assert any(all(way[name] is each for name, each in names.items()) for way in found[0].bindings)
    if check(PatternEdit(pattern, pattern)):
        return
    result = locate(source, scope, PatternEdit(pattern, pattern))
    event(type(result).__name__)
    if isinstance(result, Found):
        assert dump(ast.parse(made(source, result))) == dump(ast.parse(text))
    else:
        assert isinstance(result, Several)


@many
@given(
    programs(),
    st.data(),
    st.sampled_from(["new", "new * {}", "new({}, k=1)", "{}.at[{}]", "not {}", "lambda: {}", "({}, 1)"]),
)
def test_replacing_an_expression_gives_the_oracles_tree(text: str, data: Any, template: str) -> None:
    source = SourceText(text)
    node = an_expression(data, source)
    assume(not isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)))
    pattern, names = holed(data, source, [node], *source.span(node))
    assume(parse(pattern).is_expression and (names or "{}" not in template))
    name = min(names, default="")
    put = template.replace("{}", f"${name}")
    assume(not check(PatternEdit(pattern, put)))
    result = locate(source, scope_of(source), PatternEdit(pattern, put))
    assume(not isinstance(result, Several))
    if isinstance(result, Missing):
        # Only where Python has no text for such a tree.
        assert "guard" in result.reason

    def replace(memo: dict[int, Any]) -> Replace:
        [made_of] = with_names(template.replace("{}", name), names, memo).body
        return Replace({id(memo[id(node)]): made_of.value}, {})  # type: ignore[attr-defined]

    try:
        expected = tree_after(source, replace)
    except SyntaxError:
        assert isinstance(result, Missing)
        return
    assert isinstance(result, Found), (result, pattern, put)
    assert dump(ast.parse(made(source, result))) == expected
    [change] = result.replacements
    assert made(source, result)[: change.start] == text[: change.start]
    assert made(source, result).endswith(text[change.end :])


def some_statements(data: Any, source: SourceText) -> list[ast.stmt]:
    blocks = [block for node in ast.walk(source.tree) for _, block in blocks_of(node) if isinstance(block[0], ast.stmt)]
    block = data.draw(st.sampled_from(blocks))
    start = data.draw(st.integers(0, len(block) - 1))
    return list(block[start : data.draw(st.integers(start + 1, len(block)))])


def dedented(source: SourceText, nodes: list[ast.stmt]) -> tuple[int, int]:
    """The span of statements at column 0, for which their text is a pattern as it stands."""
    return statement_start(source, nodes[0]), source.span(nodes[-1])[1]


@many
@given(programs(), st.data(), st.sampled_from(["", "new = 1", "if new:\n    {}\nelse:\n    new = {}", "new: int"]))
def test_replacing_and_deleting_statements_gives_the_oracles_tree(text: str, data: Any, template: str) -> None:
    source = SourceText(text)
    nodes = some_statements(data, source)
    start, end = dedented(source, nodes)
    owner, _ = block_with(source.tree, nodes[0])
    free = all(alone(source, node, owner) for node in nodes) and not is_elif(source, nodes[0])
    if source.text[:start].split("\n")[-1].strip() or nodes[0].col_offset:
        # Inside of a block the text is no pattern as it stands; what Python itself writes for the tree is.
        pattern, names = "\n".join(ast.unparse(node) for node in nodes), {}
        assume(all(not isinstance(node, (ast.JoinedStr, ast.If)) for each in nodes for node in ast.walk(each)))
    else:
        pattern, names = holed(data, source, list(nodes), start, end)
    name = min(names, default="")
    assume(names or "{}" not in template)
    put = template.replace("{}", f"${name}")
    assume(not check(PatternEdit(pattern, put)))
    result = locate(source, scope_of(source), PatternEdit(pattern, put))
    event(f"{type(result).__name__} {free}")
    assume(not isinstance(result, Several))
    if not free:
        assert isinstance(result, Missing)
        return
    assert isinstance(result, Found), (result, pattern, put)

    def replace(memo: dict[int, Any]) -> Replace:
        new = with_names(template.replace("{}", name), names, memo).body
        return Replace({}, {id(memo[id(nodes[0])]): (len(nodes), new)})

    result_text = made(source, result)
    assert dump(ast.parse(result_text)) == tree_after(source, replace)


@many
@given(programs(), st.data())
def test_unwrapping_a_block_keeps_its_statements(text: str, data: Any) -> None:
    source = SourceText(text)
    wrappers = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, (ast.With, ast.If)) and not getattr(node, "orelse", ()) and not is_elif(source, node)
    ]
    assume(wrappers)
    node = data.draw(st.sampled_from(wrappers))
    pattern = (
        "with $A as v, w:\n    $...B" if isinstance(node, ast.With) else f"if {ast.unparse(node.test)}:\n    $...B"
    )
    result = locate(source, scope_of(source), PatternEdit(pattern, "before()\n$...B"))
    assume(isinstance(result, Found))

    def replace(memo: dict[int, Any]) -> Replace:
        copied = memo[id(node)]
        return Replace({}, {id(copied): (1, [*ast.parse("before()").body, *copied.body])})

    result_text = made(source, result)
    assert dump(ast.parse(result_text)) == tree_after(source, replace)
    assert result_text.count("# note") == text.count("# note")
    assert result_text.count("# comment") == text.count("# comment")


@many
@given(programs(), st.data())
def test_the_arguments_of_a_call_go_over_as_they_are(text: str, data: Any) -> None:
    source = SourceText(text)
    calls = [node for node in inner_expressions(source.tree) if isinstance(node, ast.Call)]
    assume(calls)
    node = data.draw(st.sampled_from(calls))
    func = source.text[slice(*source.span(node.func))]
    pattern, put = f"({func}\n)($...R)", "new(0, $...R)"
    result = locate(source, scope_of(source), PatternEdit(pattern, put))
    assume(isinstance(result, Found))

    def replace(memo: dict[int, Any]) -> Replace:
        copied = memo[id(node)]
        new = ast.Call(ast.Name("new", ast.Load()), [ast.Constant(0), *copied.args], copied.keywords)
        return Replace({id(copied): new}, {})

    assert dump(ast.parse(made(source, result))) == tree_after(source, replace)


@many
@given(programs(), st.data())
def test_a_run_in_any_list_replaced_by_itself_changes_nothing(text: str, data: Any) -> None:
    source = SourceText(text)
    lists = [node for node in inner_expressions(source.tree) if items_of(node)]
    assume(lists)
    node = data.draw(st.sampled_from(lists))
    spans = item_spans(source, node)
    start = data.draw(st.integers(0, len(spans) - 1))
    end = data.draw(st.integers(start, len(spans)))
    first, last = source.span(node)
    if end > start:
        a, b = spans[start][0], spans[end - 1][1]
        pattern = f"{source.text[first:a]}$...R{source.text[b:last]}"
    else:  # a run of nothing, between two commas
        a = spans[start][0]
        pattern = f"{source.text[first:a]}$...R, {source.text[a:last]}"
    assume(not isinstance(items_of(node)[0], ast.GeneratorExp))
    try:
        parse(pattern)
    except PatternSyntaxError:
        # `{$...R}` could be a set or a dict, and `f(k=1, $...R, *a)` has no form.
        assume(False)
    assume(not check(PatternEdit(pattern, pattern)))
    result = locate(source, scope_of(source), PatternEdit(pattern, pattern))
    event(f"{type(result).__name__} {type(node).__name__}")
    if isinstance(result, Found):
        assert dump(ast.parse(made(source, result))) == dump(ast.parse(text))
    elif isinstance(node, (ast.Dict, ast.Set)):
        assume(False)
    else:
        assert isinstance(result, Several), (result, pattern)
