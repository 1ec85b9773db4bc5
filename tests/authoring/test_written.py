"""The edits of one module: together they make the older text's syntax tree, whatever the change."""

from __future__ import annotations

import ast
import random
from textwrap import dedent

from hypothesis import given, settings
from hypothesis import strategies as st

from prtoggle.authoring.names import unbound
from prtoggle.authoring.parts import parts, texts
from prtoggle.authoring.written import changed_definitions, edits, text_after
from prtoggle.edits.kinds import DiffEdit, PatternEdit
from prtoggle.edits.text import SourceText
from tests.authoring.texts import pair

PROGRAM = dedent(
    '''\
    """A module."""

    import os
    import sys

    LIMIT = 4


    class Runner:
        """Runs."""

        size = 3

        @property
        def limit(self):
            return self.size + LIMIT

        def step(self, rows, flag=False):
            if flag:
                rows = rows[: self.limit]
                check(rows, os.sep)
            else:
                other(rows)
            for row in rows:
                with guard(row):
                    self.write(row, "a # b")
            return [row for row in rows]

        def write(self, row, text):
            try:
                print(row, text, file=sys.stderr)
            except OSError as error:
                raise ValueError(str(error)) from None


    def check(rows, sep):
        return len(rows) > LIMIT and sep


    def other(rows):
        return rows


    def guard(row):
        return open(row)
    '''
)


def mutated(seed: int, count: int) -> str:
    """An older program: statements gone, put elsewhere, doubled, or with other constants and names."""
    chance = random.Random(seed)
    tree = ast.parse(PROGRAM)
    for _ in range(count):
        blocks = [each.body for each in ast.walk(tree) if isinstance(getattr(each, "body", None), list) and each.body]
        block = chance.choice(blocks)
        at = chance.randrange(len(block))
        match chance.randrange(4):
            case 0 if len(block) > 1:
                del block[at]
            case 1:
                block.insert(chance.randrange(len(block) + 1), ast.parse(f"value{seed % 7} = {at}").body[0])
            case 2:
                constants = [each for each in ast.walk(block[at]) if isinstance(each, ast.Constant)]
                if constants:
                    chance.choice(constants).value = f"v{seed}"
            case _:
                names = [each for each in ast.walk(block[at]) if isinstance(each, ast.Name)]
                if names:
                    chance.choice(names).id = "changed"
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 100_000), st.integers(1, 5))
def test_all_edits_give_the_older_tree_and_no_part_alone_leaves_a_name_unbound(seed: int, count: int) -> None:
    one = pair(PROGRAM, mutated(seed, count))
    made = edits(one)
    text = text_after(one.fixed, made)
    assert text is not None and ast.dump(ast.parse(text)) == ast.dump(one.reverted.tree)
    found = parts([one], {one.module: made})
    assert sorted(id(each.made) for part in found for each in part.edits) == sorted(map(id, made))
    for part in found if len(found) > 1 else ():
        alone = texts([one], part.edits)
        assert alone is not None
        for code in alone.values():
            assert unbound(SourceText(code)) <= unbound(one.fixed)


def test_a_pattern_is_written_where_one_will_do() -> None:
    [made] = edits(pair("def f(a):\n    a = cut(a)\n    return a\n", "def f(a):\n    return a\n"))
    assert made.kind == PatternEdit("a = cut(a)", "", ("def f($...PARAMETERS):\n    return a\n    $...REST",))


def test_what_no_edit_can_make_is_a_diff() -> None:
    # The same statements in another order, in a module that says nothing else.
    one = pair("x = 1\nx = 2\nx = 1\nx = 2\n", "x = 2\nx = 1\nx = 2\nx = 1\n")
    made = edits(one)
    assert any(isinstance(each.kind, DiffEdit) for each in made)
    assert text_after(one.fixed, made) == one.reverted.text


def test_changed_definitions_are_those_that_both_texts_have() -> None:
    one = pair(
        "def f():\n    return 1\ndef new():\n    pass\nclass C:\n    def m(self):\n        return 1\n    def same(self):\n        pass\n",
        "def f():\n    return 2\nclass C:\n    def m(self):\n        return 2\n    def same(self):\n        pass  # differs in words\n",
    )
    assert changed_definitions(one) == ("f", "C.m")
