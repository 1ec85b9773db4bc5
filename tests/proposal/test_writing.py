"""Edits from two texts: found once each, together they make one of the other, and are as short as a person would
write them."""

from __future__ import annotations

import ast
from textwrap import dedent, indent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prtoggle.edits import lines, pattern
from prtoggle.edits.combine import combine
from prtoggle.edits.kinds import LinesEdit, PatternEdit
from prtoggle.edits.outcome import Found
from prtoggle.edits.scope import Scope, resolve
from prtoggle.edits.text import SourceText
from prtoggle.proposal.writing import Known, Unwritable, Written, write

PROGRAM = dedent(
    '''\
    import os

    LIMIT = 4


    class Runner:
        """Runs."""

        @property
        def size(self):
            return self.n

        def step(self, rows, flag=False):
            if self.page > 1:
                check(rows.shape[1], self.n)
                rows = rows[:, : self.limit]
                draft(rows)
            else:
                other(rows)
            slot = Slot("positions", (n,), int64, axis="tokens", padding=Padding.ZERO)
            z = size * self.topk  # a comment
            if a and b and c.d:
                q(z, "text with $ sign")
            for row in rows:
                with guard(row):
                    self.write(row, slot)
            return z


    def free(x):
        return max(
            x,
            reserve(x) + LIMIT - 1,
        )
    '''
)


def written(
    reverted: str, known: tuple[Known, ...] = (), fixed: str = PROGRAM, earlier: tuple[str, str] | None = None
) -> list[Written]:
    before = (SourceText(earlier[0]), SourceText(earlier[1])) if earlier else None
    return list(write(SourceText(fixed), SourceText(reverted), known, earlier=before))


def without(*pieces: str, by: str = "") -> str:
    text = PROGRAM
    for piece in pieces:
        assert text.count(piece) == 1
        text = text.replace(piece, by)
    return text


def applied(edits: list[Written], fixed: str = PROGRAM) -> str:
    """The text that ordinary locators make of the edits."""
    source = SourceText(fixed)
    named = []
    for each in edits:
        scope = resolve(source, each.qualname)
        assert isinstance(scope, Scope)
        locate = lines.locate if isinstance(each.kind, LinesEdit) else pattern.locate
        found = locate(source, scope, each.kind)  # type: ignore[arg-type]
        assert isinstance(found, Found), (each, found)
        named += [("", replacement) for replacement in found.replacements]
    text = combine(source, named)
    assert isinstance(text, str)
    return text


def tree(text: str) -> str:
    return ast.dump(ast.parse(text))


CASES = {
    "a statement goes": without("            check(rows.shape[1], self.n)\n"),
    "two statements go": without(
        "            check(rows.shape[1], self.n)\n            rows = rows[:, : self.limit]\n"
    ),
    "two far apart go": without("            check(rows.shape[1], self.n)\n", "        return z\n"),
    "a keyword goes": without(", padding=Padding.ZERO"),
    "a factor goes": without(" * self.topk"),
    "a condition goes": without(" and b"),
    "a statement comes": without("        return z\n", by="        flush(z)\n        return z\n"),
    "a statement comes at the end": without("    return self.n\n", by="    return self.n\n    print()\n"),
    "a parameter goes": without(", flag=False"),
    "a decorator goes": without("    @property\n"),
    "an if around statements goes": without(
        '        if a and b and c.d:\n            q(z, "text with $ sign")\n', by='        q(z, "text with $ sign")\n'
    ),
    "a with around statements goes": without(
        "            with guard(row):\n                self.write(row, slot)\n",
        by="            self.write(row, slot)\n",
    ),
    "an else goes": without("        else:\n            other(rows)\n"),
    "the only statement of a block goes": without('            q(z, "text with $ sign")\n', by="            pass\n"),
    "a function goes": PROGRAM[: PROGRAM.index("def free")],
    "a method goes": without("    @property\n    def size(self):\n        return self.n\n\n"),
    "a constant changes": without("LIMIT = 4", by="LIMIT = 3"),
    "an import goes": without("import os\n\n"),
    "an expression over lines changes": without(" + LIMIT - 1"),
    "a statement becomes three": without(
        "            draft(rows)", by="            a(rows)\n            draft(rows)\n            b(rows)"
    ),
    "much at once": without("import os\n\n", " * self.topk", " + LIMIT - 1", "            draft(rows)\n").replace(
        "flag=False", "flag=True"
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_edits_make_the_syntax_of_the_reverted_text(name: str) -> None:
    assert tree(applied(written(CASES[name]))) == tree(CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_what_they_made_is_not_made_twice(name: str) -> None:
    reverted = SourceText(CASES[name])
    for each in written(CASES[name]):
        scope = resolve(reverted, each.qualname)
        if isinstance(scope, Scope):
            locate = lines.locate if isinstance(each.kind, LinesEdit) else pattern.locate
            assert not isinstance(locate(reverted, scope, each.kind), Found)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", CASES)
def test_unfixed_is_seen_in_the_reverted_text_alone(name: str) -> None:
    for each in written(CASES[name]):
        for look in getattr(each.kind, "unfixed", ()):
            seen = []
            for text in (PROGRAM, CASES[name]):
                scope = resolve(SourceText(text), each.qualname)
                assert isinstance(scope, Scope)
                source = SourceText(text)
                scope = resolve(source, each.qualname)
                assert isinstance(scope, Scope)
                seen.append(bool(pattern.sightings(source, scope, look)))
            assert seen == [False, True], look


def test_a_deletion_is_a_short_pattern_that_is_recognised_when_it_is_gone() -> None:
    [edit] = written(CASES["a statement goes"])
    assert edit.qualname == "Runner.step"
    assert edit.kind == PatternEdit(
        "check(rows.shape[1], self.n)",
        "",
        ("if self.page > 1:\n    rows = rows[:, : self.limit]\n    $...REST\nelse:\n    $...OTHERWISE",),
    )


def test_a_keyword_is_taken_out_whatever_the_other_arguments_are() -> None:
    [edit] = written(CASES["a keyword goes"])
    assert edit.kind == PatternEdit(
        'Slot("positions", $...ARGS, padding=Padding.ZERO)',
        'Slot("positions", $...ARGS)',
        ('Slot("positions", (n,), int64, axis="tokens")',),
    )


def test_the_code_that_stays_is_a_hole() -> None:
    [edit] = written(CASES["an if around statements goes"])
    assert isinstance(edit.kind, PatternEdit)
    assert (edit.kind.find, edit.kind.put) == ("if a and b and c.d:\n    $...KEPT", "$...KEPT")


def test_what_drifted_is_a_hole() -> None:
    earlier = PROGRAM.replace("self.limit", "self.most")
    gone = "            rows = rows[:, : self.{}]\n"
    [edit] = written(without(gone.format("limit")), earlier=(earlier, earlier.replace(gone.format("most"), "")))
    assert isinstance(edit.kind, PatternEdit) and edit.kind.find == "rows = rows[:, :$X]"


def test_an_edit_of_the_old_variant_is_taken_as_it_is() -> None:
    old = PatternEdit(
        "check($...WHAT)", "", ("if self.page > 1:\n    rows = $ROWS\n    $...REST\nelse:\n    $...ELSE",)
    )
    [edit] = written(CASES["a statement goes"], (Known(old, "Runner.walk"), Known(old, None)))
    assert edit == Written("Runner.step", old, reused=True)


def test_an_edit_of_the_old_variant_that_does_something_else_is_not() -> None:
    old = PatternEdit("draft($...WHAT)", "")
    [edit] = written(CASES["a statement goes"], (Known(old, None),))
    assert not edit.reused


def test_a_function_that_is_another_one_is_rewritten() -> None:
    fixed = "def f(a):\n    x = a; y = 2\n    if x:\n        return y\n    return 0\n"
    reverted = "def f(a):\n    y = 1; x = a\n    while x:\n        y = g(y)\n        x -= 1\n    return y\n"
    edits = written(reverted, fixed=fixed)
    assert tree(applied(edits, fixed)) == tree(reverted)


def test_a_place_that_no_edit_can_name_is_said() -> None:
    with pytest.raises(Unwritable) as error:
        written("x = 1; y = 2; x = 1\n", fixed="x = 1; y = 2\n")
    assert error.value.line == 1


def test_strings_in_f_strings_keep_their_quotes() -> None:
    fixed = "def f(a):\n    if a:\n        log(f\"{a['x']} {a!r}\", 'y')\n        go(a)\n"
    [edit] = written(
        fixed.replace("    go(a)", "    return go(a)"), fixed=fixed.replace("    go(a)", "    while a: go(a)")
    )
    [gone] = written("def f(a):\n    pass\n", fixed=fixed)
    assert isinstance(gone.kind, PatternEdit) and "f\"{a['x']} {a!r}\"" in gone.kind.find and '"y"' in gone.kind.find
    assert edit.qualname == "f"


STATEMENTS = (
    "a(x)",
    "b(x, y=1)",
    "x = x[: n]",
    "x = c(x) * d",
    "return x",
    "if x:\n    a(x)\n    b(y)",
    "for i in x:\n    c(i)",
)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_change_of_any_function_is_made_exactly_or_refused(data: st.DataObject) -> None:
    body = data.draw(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=6))
    at = data.draw(st.integers(0, len(body) - 1))
    changed = [*body]
    match data.draw(st.sampled_from(["delete", "replace", "insert"])):
        case "delete":
            changed[at : at + 1] = [] if len(body) > 1 else ["pass"]
        case "replace":
            changed[at] = data.draw(st.sampled_from(STATEMENTS))
        case _:
            changed.insert(at, data.draw(st.sampled_from(STATEMENTS)))
    texts = ["def f(x, y, n, d):\n" + indent("\n".join(each), "    ") + "\n" for each in (body, changed)]
    try:
        edits = written(texts[1], fixed=texts[0])
    except Unwritable:
        return
    assert tree(applied(edits, texts[0])) == tree(texts[1])
