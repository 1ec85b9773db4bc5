"""Random programs, as text, with layout of all sorts: more parentheses than needed, comments, tabs, long brackets."""

from __future__ import annotations

import ast
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

Draw = Any

_ATOMS = [
    "a", "b", "c", "é", "0", "1", "2.0", "1j", "True", "None", "'s'", '"# no"', "b'x'", "'$X'", "f'{a}{b!r:>{c}}'",
    "'one' \"two\"", "...", "a.b", "f()", "()", "[]", "{}",
]  # fmt: skip
_OPERATORS = ["+", "-", "*", "/", "**", "%", "@", "|", "<<", "<", "==", "is not", "not in", "and", "or"]


@st.composite
def expressions(draw: Draw, depth: int = 3) -> str:
    if depth == 0:
        return str(draw(st.sampled_from(_ATOMS)))

    def inner() -> str:
        return str(draw(expressions(depth - draw(st.integers(1, depth)))))

    def operand() -> str:
        text = inner()
        return text if draw(st.booleans()) and text.isidentifier() else f"({text})"

    def items(*more: str) -> str:
        made = [*[inner() for _ in range(draw(st.integers(0, 2)))], *more]
        separator = draw(st.sampled_from([", ", ",", ",\n  ", ",  # c\n ", " , "]))
        return separator.join(made) + draw(st.sampled_from(["", ","] if made else [""]))

    kind = draw(st.integers(0, 15))
    if kind == 0:
        return f"({inner()})"
    if kind <= 2:
        parts = [operand()]
        for _ in range(draw(st.integers(1, 3))):
            parts += [draw(st.sampled_from(_OPERATORS)), operand()]
        return " ".join(parts)
    if kind <= 5:
        extra = draw(st.lists(st.sampled_from(["*", "k=", "j=", "**"]), max_size=3, unique=True))
        extra.sort(key=["*", "k=", "j=", "**"].index)
        if draw(st.booleans()):
            return f"{operand()}(\n  {items(*[each + operand() for each in extra])}\n)"
        return f"{operand()}({items(*[each + operand() for each in extra])})"
    if kind == 6:
        return f"{operand()}[{draw(st.sampled_from([':', '1:', '::2', ':, 1', 'a, :b']))}]"
    if kind == 7:
        return f"{operand()}[{inner()}]"
    if kind == 8:
        return f"{operand()}.{draw(st.sampled_from('xyz'))}"
    if kind == 9:
        return f"lambda a, *b, k={operand()}: {operand()}"
    if kind == 10:
        return f"{operand()} if {operand()} else {operand()}"
    if kind == 11:
        return draw(st.sampled_from(["[%s]", "(%s,)", "{%s, 0}", "[\n%s\n]", "[*a, %s]"])) % (items() or "1").rstrip(
            ","
        )
    if kind == 12:
        return f"{{{operand()}: {operand()}, **{operand()}}}"
    if kind == 13:
        return draw(st.sampled_from(["[%s for a in %s]", "f(%s for a, b in %s)", "{%s: a for a in %s if a}"])) % (
            operand(),
            operand(),
        )
    if kind == 14:
        return f"(w := {operand()})"
    return f"{draw(st.sampled_from(['not ', '-', '~', '+']))}{operand()}"


@st.composite
def blocks(draw: Draw, depth: int, indent: str, unit: str, function: bool) -> str:
    out = []
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.integers(0, 4)) == 0:
            out.append(f"{indent}# comment\n")
        out.append(draw(statements(depth, indent, unit, function)))
        if draw(st.integers(0, 6)) == 0:
            out.append("\n")
    return "".join(out)


@st.composite
def statements(draw: Draw, depth: int, indent: str, unit: str, function: bool) -> str:
    def e(deep: int = 2) -> str:
        return str(draw(expressions(deep)))

    def block(inside: bool = function) -> str:
        return str(draw(blocks(depth - 1, indent + unit, unit, inside)))

    end = draw(st.sampled_from(["\n", "\n", "  # note\n", " \n", ";\n"]))
    simple = [
        lambda: f"x = ({e()})",
        lambda: f"x.y, z = ({e()})",
        lambda: f"x[({e(1)})] += ({e()})",
        lambda: f"x: int = ({e()})",
        lambda: f"({e()})",
        lambda: f"f({e()},\n  k={e(1)})",
        lambda: f"del x[({e(1)})]",
        lambda: f"assert ({e()}), ({e(0)})",
        lambda: f"return ({e()})" if function else "pass",
        lambda: "import a.b as c, d",
        lambda: "s = '''\n# in\n  a\n'''",
        lambda: f"x = 1 + \\\n({e(1)})",
        lambda: f"a = ({e(1)}); b = ({e(1)})",
    ]
    number = draw(st.integers(0, len(simple) + (9 if depth else 0) - 1))
    if number < len(simple):
        return f"{indent}{simple[number]()}{end}"
    compound = [
        lambda: f"{indent}if ({e()}):\n{block()}",
        lambda: f"{indent}if ({e(1)}):\n{block()}{indent}elif ({e(1)}):\n{block()}{indent}else:\n{block()}",
        lambda: f"{indent}for i, j in ({e()}):  # loop\n{block()}{indent}else:\n{block()}",
        lambda: f"{indent}while ({e()}): x = ({e(1)})\n",
        lambda: f"{indent}with ({e(1)}) as v, w:\n{block()}",
        lambda: f"{indent}try:\n{block()}{indent}except ({e(0)}) as n:\n{block()}{indent}finally:\n{block()}",
        lambda: (
            f"{indent}@d\n{indent}@d({e(1)})\n{indent}def g(a, /, b=({e(1)}), *c, k: int = 1, **d) -> a:\n{block(True)}"
        ),
        lambda: f"{indent}class C(B, m=({e(1)})):\n{block(False)}",
        lambda: (
            f"{indent}match ({e(1)}):\n{indent}{unit}case [1, *r] if ({e(1)}):\n"
            + str(draw(blocks(depth - 1, indent + unit + unit, unit, function)))
        ),
    ]
    return compound[number - len(simple)]()


@st.composite
def programs(draw: Draw) -> str:
    unit = draw(st.sampled_from(["    ", "  ", "\t"]))
    text = str(draw(blocks(2, "", unit, False)))
    try:
        ast.parse(text)
    except SyntaxError:
        assume(False)
    return text
