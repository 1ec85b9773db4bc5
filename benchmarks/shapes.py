"""Shapes of ordinary Python that a live toggle meets, of the list in tests/runtime: those that three tools can be asked alike.

A shape's module says 'fixed' where the reverted text says 'reverted'; `swap` is another line for another edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """A module, what is patched in it, and an expression of the module `m` that tells fixed from reverted."""

    name: str
    target: str
    fixed: str
    probe: str
    swap: tuple[str, str] = ("", "")

    @property
    def reverted(self) -> str:
        return self.fixed.replace(*self.swap) if self.swap[0] else self.fixed.replace("'fixed'", "'reverted'")

    @property
    def edits(self) -> list[dict[str, str]]:
        """In the form that SGLang's patcher and prtoggle share."""
        pairs = zip(self.fixed.splitlines(), self.reverted.splitlines(), strict=True)
        return [{"match": one.strip(), "replacement": other.strip()} for one, other in pairs if one != other]


_WRAPPING = """import functools
def wrapping(f):
    @functools.wraps(f)
    def wrapper(*args):
        return f(*args)
    return wrapper
"""

SHAPES = (
    Shape("function", "f", "def f():\n    return 'fixed'\n", "m.f()"),
    Shape(
        "method",
        "C.f",
        "class C:\n    def f(self):\n        return 'fixed'\nc = C()\nbound = c.f\n",
        "m.c.f(), m.bound()",
    ),
    Shape(
        "two live closures",
        "make.inner",
        "def make(n):\n    def inner():\n        return 'fixed', n\n    return inner\na, b = make(1), make(2)\n",
        "m.a(), m.b(), m.make(3)()",
    ),
    Shape(
        "function around a live closure",
        "make",
        "def make(n):\n    word = 'always'\n    def inner():\n        return word, 'fixed', n\n    return inner\na = make(1)\n",
        "m.a(), m.make(2)()",
    ),
    Shape(
        "super() without arguments",
        "B.f",
        "class A:\n    def f(self):\n        return 'A'\nclass B(A):\n    def f(self):\n        return super().f(), 'fixed'\n",
        "m.B().f()",
    ),
    Shape(
        "private name",
        "C.f",
        "class C:\n    def __init__(self):\n        self.__x = 1\n    def f(self):\n        return self.__x, 'fixed'\n",
        "m.C().f()",
    ),
    Shape("wrapped function", "f", _WRAPPING + "@wrapping\ndef f():\n    return 'fixed'\n", "m.f()"),
    Shape(
        "wrapped method",
        "C.f",
        _WRAPPING + "class C:\n    @wrapping\n    def f(self):\n        return 'fixed'\n",
        "m.C().f()",
    ),
    Shape(
        "lru_cache that is warm",
        "f",
        "import functools\n@functools.lru_cache\ndef f():\n    return 'fixed'\nf()\n",
        "m.f()",
    ),
    Shape(
        "contextmanager",
        "f",
        "import contextlib\n@contextlib.contextmanager\ndef f():\n    yield 'fixed'\n",
        "m.f().__enter__()",
    ),
    Shape(
        "decorator that must not run again",
        "f",
        "seen = []\ndef register(f):\n    seen.append(f)\n    return f\n@register\ndef f():\n    return 'fixed'\n",
        "m.f(), m.seen[0](), len(m.seen)",
    ),
    Shape("default", "f", "def f(x='fixed'):\n    return x\n", "m.f()"),
    Shape("keyword-only default", "f", "def f(*, x='fixed'):\n    return x\n", "m.f()"),
    Shape("parameter added", "f", "def f(x=1):\n    return x\n", "m.f(1, 2)", ("x=1", "x=1, y=2")),
    Shape("annotation", "f", "def f(x: 'fixed'):\n    return x\n", "m.f.__annotations__"),
    Shape("docstring", "f", "def f():\n    'fixed'\n    return 1\n", "m.f.__doc__"),
    Shape("property", "C.f", "class C:\n    @property\n    def f(self):\n        return 'fixed'\nc = C()\n", "m.c.f"),
    Shape(
        "cached_property, computed",
        "C.f",
        "import functools\nclass C:\n    @functools.cached_property\n    def f(self):\n        return 'fixed'\nc = C()\nc.f\n",
        "m.c.f",
    ),
    Shape("static method", "C.f", "class C:\n    @staticmethod\n    def f():\n        return 'fixed'\n", "m.C.f()"),
    Shape(
        "class method",
        "C.f",
        "class C:\n    @classmethod\n    def f(cls):\n        return cls.__name__, 'fixed'\n",
        "m.C.f()",
    ),
    Shape("lambda", "", "f = lambda: 'fixed'\ntable = {'f': f}\n", "m.f(), m.table['f']()"),
    Shape(
        "copy of a function",
        "f",
        "import types\ndef f():\n    return 'fixed'\ng = types.FunctionType(f.__code__, globals())\n",
        "m.f(), m.g()",
    ),
    Shape("coroutine", "f", "async def f():\n    return 'fixed'\n", "__import__('asyncio').run(m.f())"),
    Shape(
        "line numbers",
        "f",
        "import sys\n\n\ndef f():\n    word = 'fixed'\n    return word, sys._getframe().f_lineno\n",
        "m.f()",
    ),
    Shape("constant", "", "LIMIT = 'fixed'\ndef f():\n    return LIMIT\n", "m.f()"),
    Shape(
        "nested in a class in a function",
        "make",
        "def make():\n    class C:\n        def f(self):\n            return 'fixed'\n    return C()\nc = make()\n",
        "m.c.f(), m.make().f()",
    ),
    Shape(
        "annotations that are evaluated",
        "f",
        "def f(x: int):\n    word = 'fixed'\n    def g(y: int): return y\n    return word, g.__annotations__\n",
        "m.f(1)",
    ),
    Shape(
        "string over several lines in a method",
        "C.f",
        "class C:\n    def f(self):\n        text = '''a\n        b'''\n        return text, 'fixed'\n",
        "m.C().f()",
    ),
)
