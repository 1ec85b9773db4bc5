"""Pieces of modules, canonical texts and digests that do not depend on layout, comments or the Python that reads them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from prtoggle.trees import GONE, canonical, changed, digest, pieces

MODULE = '''
"""doc"""
LIMIT = 3
NAMES: set[str] = {"a"}

def top(x):
    def inner(): ...
    return x

class C(Base, metaclass=M):
    size = 1

    @property
    def p(self): return 1

    @p.setter
    def p(self, value): pass
'''


def changes(before: str, after: str) -> Sequence[str]:
    return sorted(changed(before, after))


def test_a_module_falls_into_its_functions_methods_names_and_the_rest() -> None:
    assert sorted(pieces(MODULE)) == ["<body>", "C.<body>", "C.p", "C.size", "LIMIT", "NAMES", "top"]


def test_only_the_piece_that_differs_is_changed() -> None:
    assert changes(MODULE, MODULE.replace("LIMIT = 3", "LIMIT = 4")) == ["LIMIT"]
    assert changes(MODULE, MODULE.replace("return x", "return -x")) == ["top"]
    assert changes(MODULE, MODULE.replace("def inner(): ...", "def inner(): pass")) == ["top"]
    assert changes(MODULE, MODULE.replace("value): pass", "value): return")) == ["C.p"]
    assert changes(MODULE, MODULE.replace("metaclass=M", "metaclass=N")) == ["C.<body>"]
    assert changes(MODULE, MODULE.replace('"""doc"""', "import os")) == ["<body>"]


def test_a_piece_that_is_gone_and_one_that_is_new() -> None:
    assert changed("def f(): pass\ndef g(): pass\n", "def g(): pass\n") == {"f": GONE}
    assert list(changed("", "def f(): pass\n")) == ["f"]


def test_layout_comments_quotes_and_parentheses_do_not_count() -> None:
    one = "def f(a, *, b=1):\n    return g(a, 'x', (b))\n"
    other = 'def f(\n    a,\n    *,\n    b=1,\n):  # why\n    return g(\n        a, "x", b)\n'
    assert changed(one, other) == {}


def test_what_differs_in_meaning_differs() -> None:
    for one, other in (
        ("1", "True"),
        ("1", "1.0"),
        ("'a'", "b'a'"),
        ("f(a)", "f(*a)"),
        ("a < b", "a <= b"),
        ("-1", "1"),
    ):
        assert changed(f"X = {one}\n", f"X = {other}\n"), (one, other)


def test_a_digest_is_the_same_on_every_python() -> None:
    """Written once; what Pythons parse differently: texts in format specifications, type parameters, ``u''``, positions."""
    source = "async def f(a, /, b: int = 1, *c, d, **e) -> None:\n    return f'{a!r:>{b}.{d}}x' u'y', [*c], {**e}, ..., 1j, 'é'\n"
    assert digest(pieces(source)["f"]) == "6c04b517cfd7b7c9d8c5fe6f347c4c50"


@given(
    st.recursive(
        st.sampled_from(["a", "1", "'s'"]),
        lambda inner: st.lists(inner, min_size=1, max_size=3).map(", ".join).map("f({})".format),
    )
)
def test_what_is_unparsed_and_parsed_again_is_the_same(expression: str) -> None:
    tree = ast.parse(f"X = {expression}\n")
    assert canonical(ast.parse(ast.unparse(tree))) == canonical(tree)
