"""Every row of the list of shapes that a run-time source patcher meets, at import time.

Each case gives a module as fixed and as reverted by hand, the edits between them, and a probe. A process with the fix reverted must
print what a plain process prints with the module reverted by hand, and compile it to the same bytecode.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.runtime.project import Project


@dataclass(frozen=True)
class Case:
    name: str
    fixed: str
    by_hand: str
    patches: str
    probe: str


CASES: list[Case] = []


def case(name: str, fixed: str, swap: dict[str, str] | str, patches: str, probe: str) -> None:
    """``swap`` is old text -> new text (the hand's own edit), or the whole module as reverted by hand."""
    fixed = textwrap.dedent(fixed).lstrip("\n")
    if isinstance(swap, str):
        by_hand = textwrap.dedent(swap).lstrip("\n")
    else:
        by_hand = fixed
        for old, new in swap.items():
            assert by_hand.count(old) == 1, (name, old)
            by_hand = by_hand.replace(old, new)
    CASES.append(Case(name, fixed, by_hand, textwrap.dedent(patches).strip(), textwrap.dedent(probe)))


def lines(target: str, *pairs: tuple[str, str]) -> str:
    """Patches of one target in the lines kind."""
    edits = "".join(
        "    - match: |\n"
        + textwrap.indent(textwrap.dedent(match).strip("\n"), " " * 8)
        + "\n      replacement: "
        + ("|\n" + textwrap.indent(textwrap.dedent(new).strip("\n"), " " * 8) + "\n" if new else "''\n")
        for match, new in pairs
    )
    return f"- target: {target}\n  edits:\n{edits}"


def pattern(target: str, find: str, put: str) -> str:
    """Patches of one target in the pattern kind."""
    quoted = [text.replace("'", "''") for text in (find, put)]
    return f"- target: {target}\n  edits:\n    - find: '{quoted[0]}'\n      put: '{quoted[1]}'\n"


case(
    "closure, two live instances of one inner function",
    """
    def make(n):
        def inner():
            return ("fixed", n)
        return inner
    a, b = make(1), make(2)
    """,
    {'"fixed"': '"reverted"'},
    lines("app.core.make.inner", ('return ("fixed", n)', 'return ("reverted", n)')),
    "import app.core as m; print(m.a(), m.b())",
)
case(
    "zero-argument super()",
    """
    class A:
        def who(self): return "A"
    class B(A):
        def who(self):
            x = "fixed"
            return super().who() + x
    """,
    {'x = "fixed"': 'x = "reverted"'},
    lines("app.core.B.who", ('x = "fixed"', 'x = "reverted"')),
    "import app.core as m; print(m.B().who())",
)
case(
    "a revert that introduces super()",
    """
    class A:
        def who(self): return "A"
    class B(A):
        def who(self):
            return "fixed"
    """,
    {'return "fixed"': "return super().who()"},
    lines("app.core.B.who", ('return "fixed"', "return super().who()")),
    "import app.core as m; print(m.B().who())",
)
case(
    "private names",
    """
    class C:
        def __init__(self):
            self.__x = "private"
            self.y = "fixed"
        def get(self):
            return self.y
    """,
    {"return self.y": "return self.__x"},
    lines("app.core.C.get", ("return self.y", "return self.__x")),
    "import app.core as m; print(m.C().get())",
)
case(
    "function under a functools.wraps decorator",
    """
    import functools
    def deco(f):
        @functools.wraps(f)
        def wrapper(*a):
            return ("wrapped", f(*a))
        return wrapper
    @deco
    def f(x):
        return ("fixed", x)
    """,
    {'("fixed", x)': '("reverted", x)'},
    lines("app.core.f", ('return ("fixed", x)', 'return ("reverted", x)')),
    "import app.core as m; print(m.f(1))",
)
case(
    "method under a functools.wraps decorator",
    """
    import functools
    def deco(f):
        @functools.wraps(f)
        def wrapper(self):
            return ("wrapped", f(self))
        return wrapper
    class C:
        @deco
        def m(self):
            return "fixed"
    """,
    {'return "fixed"': 'return "reverted"'},
    lines("app.core.C.m", ('return "fixed"', 'return "reverted"')),
    "import app.core as m; print(m.C().m())",
)
case(
    "lru_cache target that is warm",
    """
    import functools
    @functools.lru_cache
    def f(x):
        return ("fixed", x)
    warm = f(1)
    """,
    {'("fixed", x)': '("reverted", x)'},
    lines("app.core.f", ('return ("fixed", x)', 'return ("reverted", x)')),
    "import app.core as m; print(m.f(1), m.warm)",
)
case(
    "contextmanager target",
    """
    import contextlib
    @contextlib.contextmanager
    def ctx():
        yield "fixed"
    """,
    {'yield "fixed"': 'yield "reverted"'},
    lines("app.core.ctx", ('yield "fixed"', 'yield "reverted"')),
    "import app.core as m\nwith m.ctx() as x: print(x)",
)
case(
    "decorator with a side effect",
    """
    CALLS = []
    def register(f):
        CALLS.append(f.__name__)
        return f
    @register
    def f():
        return "fixed"
    """,
    {'return "fixed"': 'return "reverted"'},
    lines("app.core.f", ('return "fixed"', 'return "reverted"')),
    "import app.core as m; print(m.f(), m.CALLS)",
)
case(
    "decorator deleted later",
    """
    def register(f):
        return f
    @register
    def f():
        return "fixed"
    del register
    """,
    {'return "fixed"': 'return "reverted"'},
    lines("app.core.f", ('return "fixed"', 'return "reverted"')),
    "import app.core as m; print(m.f(), hasattr(m, 'register'))",
)
case(
    "default changed",
    "def f(a, b='fixed'):\n    return a, b\n",
    {"b='fixed'": "b='reverted'"},
    lines("app.core.f", ("def f(a, b='fixed'):", "def f(a, b='reverted'):")),
    "import app.core as m; print(m.f(1), m.f.__defaults__)",
)
case(
    "keyword-only default changed",
    "def f(a, *, b='fixed'):\n    return a, b\n",
    {"b='fixed'": "b='reverted'"},
    lines("app.core.f", ("def f(a, *, b='fixed'):", "def f(a, *, b='reverted'):")),
    "import app.core as m; print(m.f(1), m.f.__kwdefaults__)",
)
case(
    "default dropped",
    "def f(a, b='fixed'):\n    return a, b\n",
    {"b='fixed'": "b"},
    lines("app.core.f", ("def f(a, b='fixed'):", "def f(a, b):")),
    "import app.core as m\nprint(m.f.__defaults__)\ntry: m.f(1)\nexcept TypeError as e: print(e)",
)
case(
    "parameter added",
    "def f(a):\n    return a\n",
    "def f(a, b=2):\n    return a, b\n",
    lines("app.core.f", ("def f(a):\n    return a", "def f(a, b=2):\n    return a, b")),
    "import app.core as m; print(m.f(1), m.f(1, 3))",
)
case(
    "default that names a class attribute",
    """
    class C:
        LIMIT = 7
        def m(self, n=1):
            return n
    """,
    {"n=1": "n=LIMIT"},
    lines("app.core.C.m", ("def m(self, n=1):", "def m(self, n=LIMIT):")),
    "import app.core as m; print(m.C().m())",
)
case(
    "annotations",
    "def f(a: int) -> int:\n    return a\n",
    {"a: int": "a: str"},
    lines("app.core.f", ("def f(a: int) -> int:", "def f(a: str) -> int:")),
    "import app.core as m; print(m.f.__annotations__)",
)
case(
    "docstring",
    "def f():\n    '''fixed'''\n    return 1\n",
    {"'''fixed'''": "'''reverted'''"},
    pattern("app.core.f", "'fixed'", "'''reverted'''"),
    "import app.core as m; print(m.f.__doc__)",
)
for role, decorator, tail in (
    ("property", "@property", "m.C().p"),
    ("static method", "@staticmethod", "m.C.p(1)"),
    ("class method", "@classmethod", "m.C.p()"),
    ("cached_property", "@functools.cached_property", "m.C().p"),
):
    case(
        role,
        f"""
        import functools
        class C:
            {decorator}
            def p(self):
                return "fixed"
        """,
        {'return "fixed"': 'return "reverted"'},
        lines("app.core.C.p", ('return "fixed"', 'return "reverted"')),
        f"import app.core as m; print({tail})",
    )
case(
    "setter",
    """
    class C:
        @property
        def p(self):
            return self._p
        @p.setter
        def p(self, value):
            self._p = ("fixed", value)
    """,
    {'("fixed", value)': '("reverted", value)'},
    lines("app.core.C.p@setter", ('self._p = ("fixed", value)', 'self._p = ("reverted", value)')),
    "import app.core as m\nc = m.C()\nc.p = 1\nprint(c.p)",
)
case(
    "cached_property already computed on an instance",
    """
    import functools
    class C:
        @functools.cached_property
        def p(self):
            return "fixed"
    c = C()
    c.p
    """,
    {'return "fixed"': 'return "reverted"'},
    lines("app.core.C.p", ('return "fixed"', 'return "reverted"')),
    "import app.core as m; print(m.c.p)",
)
case(
    "lambda",
    "f = lambda x: ('fixed', x)\n",
    {"'fixed'": "'reverted'"},
    pattern("app.core", "lambda x: ('fixed', x)", "lambda x: ('reverted', x)"),
    "import app.core as m; print(m.f(1))",
)
case(
    "lambda inside a dict",
    "TABLE = {'a': lambda x: ('fixed', x), 'b': lambda x: ('other', x)}\n",
    {"'fixed'": "'reverted'"},
    pattern("app.core", "lambda x: ('fixed', x)", "lambda x: ('reverted', x)"),
    "import app.core as m; print(m.TABLE['a'](1), m.TABLE['b'](1))",
)
case(
    "nested function with a live instance",
    """
    def outer():
        def inner():
            return "fixed"
        return inner
    live = outer()
    """,
    {'return "fixed"': 'return "reverted"'},
    lines("app.core.outer.inner", ('return "fixed"', 'return "reverted"')),
    "import app.core as m; print(m.live(), m.outer()())",
)
case(
    "function made by exec",
    """
    SOURCE = "def f():\\n    return 'fixed'\\n"
    exec(SOURCE)
    """,
    {"return 'fixed'": "return 'reverted'"},
    pattern("app.core", "\"def f():\\n    return 'fixed'\\n\"", "\"def f():\\n    return 'reverted'\\n\""),
    "import app.core as m; print(m.f())",
)
case(
    "module without from __future__ import annotations",
    "def f(a: 1 + 1):\n    return 'fixed'\n",
    {"'fixed'": "'reverted'"},
    lines("app.core.f", ("return 'fixed'", "return 'reverted'")),
    "import app.core as m; print(m.f(1), m.f.__annotations__)",
)
case(
    "module with from __future__ import annotations",
    "from __future__ import annotations\ndef f(a: undefined):\n    return 'fixed'\n",
    {"'fixed'": "'reverted'"},
    lines("app.core.f", ("return 'fixed'", "return 'reverted'")),
    "import app.core as m; print(m.f(1), m.f.__annotations__)",
)
case(
    "running generator",
    """
    def gen():
        yield 1
        yield "fixed"
    running = gen()
    first = next(running)
    """,
    {'yield "fixed"': 'yield "reverted"'},
    lines("app.core.gen", ('yield "fixed"', 'yield "reverted"')),
    "import app.core as m; print(m.first, next(m.running))",
)
case(
    "line number and text in tracebacks",
    """
    def f(x):
        y = x + 1

        return 1 / (y - y) # fixed
    """,
    {"y = x + 1\n\n": "y = x\n"},
    lines("app.core.f", ("y = x + 1\n\nreturn 1 / (y - y) # fixed", "y = x\nreturn 1 / (y - y) # fixed")),
    "import traceback, app.core as m\ntry: m.f(1)\nexcept ZeroDivisionError: print(traceback.format_exc())",
)
case(
    "tabs",
    "def f():\n\tif True:\n\t\tx = 'fixed'\n\treturn x\n",
    {"'fixed'": "'reverted'"},
    lines("app.core.f", ("x = 'fixed'", "x = 'reverted'")),
    "import app.core as m; print(m.f())",
)
case(
    "U+2028 in the source",
    "def f():\n    s = 'a\u2028b'\n    return s, 'fixed'\n",
    {"'fixed'": "'reverted'"},
    lines("app.core.f", ("return s, 'fixed'", "return s, 'reverted'")),
    "import app.core as m; print(ascii(m.f()))",
)
case(
    "uniformly indented replacement",
    "def f():\n    if True:\n        x = 'fixed'\n        y = 1\n    return x\n",
    {"x = 'fixed'\n        y = 1": "x = 'reverted'\n        y = 2"},
    "- target: app.core.f\n  edits:\n    - match: |\n        x = 'fixed'\n        y = 1\n"
    "      replacement: |2\n                x = 'reverted'\n                y = 2\n",
    "import app.core as m; print(m.f())",
)
case(
    "multi-line string in a method, contents stay",
    '''
    class C:
        def m(self):
            text = """
      two
    four
            """
            flag = "fixed"
            return text, flag
    ''',
    {'flag = "fixed"': 'flag = "reverted"'},
    lines("app.core.C.m", ('flag = "fixed"', 'flag = "reverted"')),
    "import app.core as m; print(m.C().m())",
)
CASES.append(
    Case(
        "string at column 0",
        'class C:\n    def m(self):\n        text = """\nat column 0\n"""\n        return text, "fixed"\n',
        'class C:\n    def m(self):\n        text = """\nat column 0\n"""\n        return text, "reverted"\n',
        lines("app.core.C.m", ('return text, "fixed"', 'return text, "reverted"')),
        "import app.core as m; print(m.C().m())",
    )
)
case(
    "multi-line replacement",
    "class C:\n    def m(self):\n        return 'fixed'\n",
    {"return 'fixed'": "if self:\n            x = 'reverted'\n        return x"},
    lines("app.core.C.m", ("return 'fixed'", "if self:\n    x = 'reverted'\nreturn x")),
    "import app.core as m; print(m.C().m())",
)
case(
    "match text that also stands in a string literal",
    '''
    def f():
        doc = """
        return 1
        """
        return 1
    ''',
    '''
    def f():
        doc = """
        return 1
        """
        return doc
    ''',
    lines("app.core.f", ("return 1", "return doc")),
    "import app.core as m; print(repr(m.f()))",
)
case(
    "singledispatch, one name defined twice",
    """
    import functools
    @functools.singledispatch
    def f(x): return "object"
    @f.register
    def _(x: int):
        return "int"
    @f.register
    def _(x: str):
        return "fixed"
    """,
    {'return "fixed"': 'return "reverted"'},
    lines("app.core._#2", ('return "fixed"', 'return "reverted"')),
    "import app.core as m; print(m.f(1), m.f('a'), m.f(None))",
)
case(
    "dataclass default",
    "from dataclasses import dataclass\n@dataclass\nclass D:\n    x: str = 'fixed'\n",
    {"'fixed'": "'reverted'"},
    lines("app.core.D", ("x: str = 'fixed'", "x: str = 'reverted'")),
    "import app.core as m; print(m.D())",
)
case(
    "enum member",
    "import enum\nclass E(enum.Enum):\n    A = 'fixed'\n",
    {"'fixed'": "'reverted'"},
    lines("app.core.E", ("A = 'fixed'", "A = 'reverted'")),
    "import app.core as m; print(m.E.A.value)",
)
case(
    "constant",
    "LIMIT = 'fixed'\ndef f():\n    return LIMIT\n",
    {"'fixed'": "'reverted'"},
    lines("app.core", ("LIMIT = 'fixed'", "LIMIT = 'reverted'")),
    "import app.core as m; print(m.f())",
)
case(
    "class attribute",
    "class C:\n    kind = 'fixed'\n",
    {"'fixed'": "'reverted'"},
    lines("app.core.C", ("kind = 'fixed'", "kind = 'reverted'")),
    "import app.core as m; print(m.C.kind)",
)
case(
    "base class",
    "class A: name = 'A'\nclass B: name = 'B'\nclass C(A):\n    pass\n",
    {"class C(A):": "class C(B):"},
    lines("app.core.C", ("class C(A):", "class C(B):")),
    "import app.core as m; print(m.C.name)",
)
case(
    "partial as target",
    "import functools\ndef g(a, b):\n    return a, b\nf = functools.partial(g, 'fixed')\n",
    {"'fixed'": "'reverted'"},
    pattern("app.core", "functools.partial(g, 'fixed')", "functools.partial(g, 'reverted')"),
    "import app.core as m; print(m.f(1))",
)
case(
    "an earlier types.FunctionType copy",
    """
    import types
    def f():
        return "fixed"
    copy = types.FunctionType(f.__code__, globals())
    """,
    {'return "fixed"': 'return "reverted"'},
    lines("app.core.f", ('return "fixed"', 'return "reverted"')),
    "import app.core as m; print(m.copy(), m.f())",
)
case(
    "import, helper and method that the revert needs and the fix removed",
    """
    import os
    class C:
        def m(self):
            return "fixed"
    """,
    """
    import os
    import math
    def helper(x):
        return math.floor(x)
    class C:
        def old(self):
            return helper(2.5)
        def m(self):
            return self.old()
    """,
    """
    - target: app.core
      edits:
        - match: import os
          append: |
            import math
            def helper(x):
                return math.floor(x)
    - target: app.core.C
      edits:
        - match: |
            def m(self):
                return "fixed"
          replacement: |
            def old(self):
                return helper(2.5)
            def m(self):
                return self.old()
    """,
    "import app.core as m; print(m.C().m())",
)
case(
    "a running while loop",
    """
    def loop():
        n = 0
        while n < 3:
            n += 1
        return n, "fixed"
    """,
    {'"fixed"': '"reverted"'},
    lines("app.core.loop", ('return n, "fixed"', 'return n, "reverted"')),
    "import app.core as m; print(m.loop())",
)
case(
    "the same line at two depths",
    """
    def f(a):
        if a:
            x = "fixed"
            if a > 1:
                x = "fixed"
                y = 2
        return x
    """,
    """
    def f(a):
        if a:
            x = "fixed"
            if a > 1:
                x = "reverted"
                y = 2
        return x
    """,
    lines("app.core.f", ('x = "fixed"\ny = 2', 'x = "reverted"\ny = 2')),
    "import app.core as m; print(m.f(1), m.f(2))",
)
case(
    "deleting a block's only statement",
    """
    def f(a):
        x = "reverted"
        if a:
            x = "fixed"
        return x
    """,
    {'            x = "fixed"\n': "            pass\n"} and {'x = "fixed"': "pass"},
    lines("app.core.f", ('x = "fixed"', "")),
    "import app.core as m; print(m.f(1))",
)
case(
    "preamble after def f(x):  # note",
    """
    def f(x):  # note
        return x
    """,
    """
    def f(x):  # note
        import math
        return math, x
    """,
    "- target: app.core.f\n  preamble: 'import math'\n  edits:\n    - match: return x\n      replacement: return math, x\n",
    "import app.core as m; print(m.f.__code__.co_varnames)",
)
case(
    "inspect.getsource after patching",
    """
    def f():
        return "fixed"
    """,
    {'"fixed"': '"reverted"'},
    lines("app.core.f", ('return "fixed"', 'return "reverted"')),
    "import inspect, linecache, app.core as m\nprint(inspect.getsource(m.f))\nlinecache.clearcache()\nlinecache.checkcache()\n"
    "print(inspect.getsource(m.f), inspect.getsource(m))",
)
case(
    "match whose lines stand at other relative depths is found at the right nesting only",
    """
    def f(a):
        if a:
            pass
        b = "flat"
        if a:
            pass
            b = "fixed"
        return b
    """,
    {'b = "fixed"': 'b = "reverted"'},
    lines("app.core.f", ('if a:\n    pass\n    b = "fixed"', 'if a:\n    pass\n    b = "reverted"')),
    "import app.core as m; print(m.f(1), m.f(0))",
)


@pytest.mark.parametrize("each", CASES, ids=[each.name for each in CASES])
def test_the_reverted_module_is_what_a_hand_would_have_made(each: Case, tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.package({"app/__init__.py": "", "app/core.py": each.fixed.encode()})
    project.fix(7, patches=each.patches)
    by_hand = tmp_path / "by_hand"
    project.package({"app/__init__.py": "", "app/core.py": each.by_hand.encode()}, where=by_hand)
    dump = "\nimport marshal, sys, app.core as m, hashlib\nsys.stdout.flush()\n"
    dump += "from importlib.util import decode_source\ncode = m.__spec__.loader.get_code('app.core')\n"
    dump += "print(hashlib.sha256(repr(shape(code)).encode()).hexdigest())\n"
    shape = (
        "def shape(code):\n    return (code.co_name, code.co_code, code.co_names, code.co_varnames, code.co_freevars,\n"
        "        code.co_cellvars, code.co_flags, code.co_firstlineno, list(code.co_lines()),\n"
        "        [shape(c) if hasattr(c, 'co_code') else (type(c), c) for c in code.co_consts])\n"
    )
    probe = shape + each.probe + dump
    reverted = project.python(probe, revert="7")
    plain = project.python(probe, PYTHONPATH=str(by_hand))
    assert plain.code == 0, plain.err
    assert reverted.code == 0, reverted.err + "".join(reverted.notices)
    assert reverted.out == plain.out.replace(str(by_hand), str(project.site))
    fixed = project.python(probe)
    assert fixed.out != reverted.out, "the case does not tell fixed from reverted"
