"""Hypothesis makes modules at random: a text, and the same text with edits made at random.

A module is written once, with *sites* where the texts may differ: a value, a statement, a parameter, a docstring, a line that runs at import. The
edits are drawn from its sites when it is complete, so there is always one. A site is ``plain`` where an edit of it must be had in a
running process: values and statements of a function's body, no matter what stands around.

Example::

    @given(modules())
    def test(made: Made) -> None:
        made.texts      # the original, and one or two others
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from random import Random

from hypothesis import strategies as st

DECORATORS = {
    "function": (
        *(
            "",
            "",
            "",
            "@same",
            "@wrapping",
            "@wrapping\n@wrapping",
            "@functools.lru_cache",
            "@functools.cache",
            "@registering",
        ),
        *(
            "@functools.lru_cache(maxsize=§n§)",
            "@tagged(§w§)",
            "@wrapping\n@functools.lru_cache",
            "@functools.partial(same)",
        ),
    ),
    "method": (
        *("", "", "", "@staticmethod", "@classmethod", "@property", "@functools.cached_property", "@wrapping"),
        *(
            "@functools.lru_cache",
            "@same\n@wrapping",
            "@staticmethod\n@wrapping",
            "@classmethod\n@wrapping",
            "@property\n@wrapping",
        ),
    ),
    "suspendable": ("", "", "@same", "@wrapping"),
}
SIMPLE = (
    *(
        "value",
        "number",
        "condition",
        "loop",
        "while",
        "try",
        "with",
        "match",
        "format",
        "comprehension",
        "walrus",
        "raise",
        "blank",
    ),
    *("unpack", "import", "global", "call", "lambda", "plain lambda", "two lambdas", "lambda default", "expression"),
)
NESTED = ("inner", "inner", "inner", "class", "cell", "recursive", "partial", "generator")
KINDS = ("function",) * 6 + ("generator", "async", "async generator", "context")
OTHERS = ("constant", "conditional", "copy", "singledispatch", "partial of a lambda")
ELSE = (
    *("docstring", "default", "keyword default", "super()", "private name", "suspended", "partial at module level"),
    *(
        "class at module level",
        "table of lambdas",
        "makers",
        "nested class",
        "property with a setter",
        "bound method kept",
    ),
)
SHAPES = frozenset(
    (
        *SIMPLE,
        *NESTED,
        *KINDS,
        *OTHERS,
        *ELSE,
        *(" ".join(d.split()).partition("(")[0] for ds in DECORATORS.values() for d in ds if d),
    )
)
"""Everything that a module is made of, by the names that a :class:`Made` gives."""
EDITS = (
    "value",
    "operator",
    "statement",
    "blank line",
    "default",
    "keyword default",
    "docstring",
    "annotation",
    "parameter",
)
"""The kinds of edits that can be had in a running process, some of them at times."""


@dataclass
class Site:
    """Where two texts may differ: ``fixed`` becomes ``other``; for a line, None is that it is not there."""

    kind: str
    plain: bool
    fixed: str = ""
    other: str = ""


@dataclass
class Line:
    """A line of a module; it is left out where one of ``when`` says so."""

    text: str
    when: tuple[int, ...] = ()


@dataclass(frozen=True)
class Made:
    """A module made at random: its texts, the kinds of its shapes, and those of the sites that were edited.

    ``plain`` says that it must be had in a running process, ``suspended`` that something in it may forbid that.
    """

    texts: tuple[str, ...] = field(repr=False)
    shapes: frozenset[str]
    edits: frozenset[str]
    plain: bool
    suspended: bool
    warm: bool


@dataclass
class Maker:
    """Writes one module."""

    random: Random
    left: int
    """How many more functions and statements: the module ends soon after."""
    sites: list[Site] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    shapes: set[str] = field(default_factory=set)
    callable_names: list[str] = field(default_factory=list)
    suspended: bool = False
    count: int = 0

    def key(self) -> int:
        self.count += 1
        return self.count

    def chance(self, of: int) -> bool:
        return self.random.randrange(of) == 0

    def pick(self, values: tuple[str, ...]) -> str:
        return self.random.choice(values)

    def site(self, kind: str, plain: bool, fixed: str = "", other: str = "") -> int:
        self.sites.append(Site(kind, plain, fixed, other))
        return len(self.sites) - 1

    def word(self, kind: str = "value", plain: bool = True) -> str:
        key = self.key()
        return f"§{self.site(kind, plain, repr(f'f{key}'), repr(f'r{key}'))}§"

    def number(self, kind: str = "value", plain: bool = True) -> str:
        key = self.key()
        return f"§{self.site(kind, plain, str(key), str(-key))}§"

    def optional(self, lines: list[Line], kind: str, plain: bool) -> list[Line]:
        """Lines that one of two texts may lack."""
        which = self.site(kind, plain, *(("there", "") if self.chance(2) else ("", "there")))
        return [Line(line.text, (*line.when, which)) for line in lines]

    def decorators(self, kind: str) -> list[Line]:
        written = self.pick(DECORATORS[kind])
        if not written:
            return []
        self.shapes.add(" ".join(written.split()).partition("(")[0])
        if "§w§" in written:
            written = written.replace("§w§", self.word("outer", False))
        if "§n§" in written:
            written = written.replace("§n§", self.number("outer", False))
        found = [Line(line) for line in written.splitlines()]
        return self.optional(found, "decorator", False) if self.chance(6) else found

    def function(
        self, depth: int, method: bool = False, kept: bool = False, cached: bool = False
    ) -> tuple[str, list[Line], str]:
        """The name, the lines and the kind of a function; what it returns shows all that is in it.

        Args:
            kept: whether it may be alive when the module is toggled, made by a call.
            cached: whether somebody keeps what it returns: nothing that can be run once only.
        """
        self.left -= 1
        kind = "function" if cached else self.pick(KINDS)
        name = f"f{self.key()}"
        if kind == "function":
            above = self.decorators("method" if method else "function")
        elif kind == "context":
            above = [Line("@contextlib.contextmanager")]
        else:
            above = self.decorators("suspendable")
        self.shapes.add(kind)
        decorator = " ".join(line.text for line in above)
        cached = cached or "cache" in decorator
        first = "" if not method or "staticmethod" in decorator else "cls, " if "classmethod" in decorator else "self, "
        bare = "property" in decorator
        body: list[Line] = []
        if self.chance(5):
            self.shapes.add("docstring")
            body += [Line(self.word("docstring", False))]
        if bare:
            params = first
            body += [Line("n = 5")]
        else:
            annotation = self.pick(("", "", ": int", ": 'str'"))
            params = f"{first}n{annotation}=1"
            for kind_of, star in (("default", ""), ("keyword default", "*, ")):
                if self.chance(4):
                    self.shapes.add(kind_of)
                    value = self.word(kind_of, False)
                    if self.chance(4):  # the parameter itself comes or goes
                        which = self.site("parameter", False, f", {star}p{len(star)}=7", "")
                        params += f"§{which}§"
                    else:
                        params += f", {star}{'d' if not star else 'k'}{self.pick(('', ': str'))}={value}"
                        body += [Line(f"out.append({'d' if not star else 'k'})")]
        if self.chance(10):
            which = self.site("annotation", False, " -> int", " -> str")
            returns = f"§{which}§"
        else:
            returns = ""
        inside: list[Line] = []
        for _ in range(self.random.randint(1, 3 if depth else 4)):
            if self.left < 0:
                break
            inside += self.statement(depth, kept, cached, first == "self, ")
        if method and first and self.chance(2) and not kept:
            self.shapes.add("super()")
            asked = [Line(f"out.append(super().{self.pick(('base', 'other'))}())")]
            inside += self.optional(asked, "super", False) if self.chance(6) else asked
        body = [Line("out = [n]"), *body, *inside]
        if body[1:] and body[1].text.startswith("§") and len(body[1].text) < 6:  # a docstring comes first
            body[0], body[1] = body[1], body[0]
        if bare:
            body = [line for line in body if line.text != "n = 5"]
            body.insert(1 if body[0].text.startswith("§") else 0, Line("n = 5"))
        if kind == "generator":
            body += [Line(f"yield {self.word()}"), Line("yield out")]
        elif kind == "context":
            body += [Line("yield out")]
        elif kind == "async":
            body += [Line("await pause()"), Line("return out")]
        elif kind == "async generator":
            body += [Line("await pause()"), Line(f"yield {self.word()}"), Line("yield out")]
        else:
            body += [Line("return out")]
        define = "async def" if kind.startswith("async") else "def"
        lines = [*above, Line(f"{define} {name}({params.strip(', ') if bare else params}){returns}:"), *indented(body)]
        return name, lines, kind

    def statement(self, depth: int, kept: bool, cached: bool, method: bool) -> list[Line]:
        """A statement of a body, often under another one."""
        self.left -= 1
        nested = depth < 3 and self.chance(3)
        kind = self.pick(NESTED if nested else SIMPLE)
        if kind == "call" and (cached or not self.callable_names):
            kind = "value"  # a cache of what others gave is theirs
        self.shapes.add(kind)
        lines = self.written(kind, depth, cached)
        if method and self.chance(5):
            self.shapes.add("private name")
            lines += [
                Line("self.__dict__.setdefault('x', 0)"),
                Line("self.__hidden = n"),
                Line("out.append(self.__hidden)"),
            ]
        holds = nested or "lambda" in kind  # something alive may run it, which the other text would lack
        if self.chance(3):
            # In a function that is itself alive, another use of n would be another variable of the function around.
            lines = self.optional(lines, "statement", not holds and not kept)
        if self.chance(6):
            over = self.pick(("if n is not None:", "for j in (0,):", "with contextlib.nullcontext():", "while True:"))
            more = [Line("break")] if over.startswith("while") else []
            lines = [Line(over), *indented([*lines, *more, Line("pass")])]
        return lines

    def written(self, kind: str, depth: int, cached: bool) -> list[Line]:
        key = self.key()
        w, n = self.word, self.number

        def keep(what: str) -> str:
            return f"keep(f'{key} {{n}}', {what})"

        simple: dict[str, list[str]] = {}
        if kind == "value":
            simple[kind] = [f"out.append({w()})"]
        elif kind == "number":
            simple[kind] = [f"out.append({n()} * 2)"]
        elif kind == "expression":
            first, second = ("+", "-") if self.chance(2) else ("== 1 and", "!= 1 or")
            simple[kind] = [f"out.append(7 §{self.site('operator', True, first, second)}§ 1)"]
        elif kind == "condition":
            simple[kind] = [f"if {n()} > 0:", f"    out.append({w()})", "else:", f"    out.append({w()})"]
        elif kind == "loop":
            simple[kind] = [
                "for i in range(3):",
                f"    if i * {n()} > 0:",
                "        continue",
                "    out.append(i)",
                "else:",
                f"    out.append({w()})",
            ]
        elif kind == "while":
            simple[kind] = ["i = 0", "while i < 2:", f"    i += 1 if {n()} else 2", f"    out.append((i, {w()}))"]
        elif kind == "try":
            simple[kind] = [
                "try:",
                f"    out.append([0][{n()}])",
                f"except IndexError as e{key}:",
                f"    out.append((str(e{key}), {w()}))",
                "finally:",
                f"    out.append({w()})",
            ]
        elif kind == "with":
            simple[kind] = [
                f"with contextlib.nullcontext({w()}) as held, contextlib.suppress(ValueError):",
                "    out.append(held)",
                f"    raise ValueError({w()})",
            ]
        elif kind == "match":
            simple[kind] = [
                f"match {n()}:",
                f"    case {key}:",
                f"        out.append({w()})",
                "    case [_, *rest]:",
                "        out.append(rest)",
                "    case _:",
                f"        out.append({w()})",
            ]
        elif kind == "format":
            simple[kind] = [f'out.append(f"{{n}} {{{n()}:>4}}")']
        elif kind == "comprehension":
            simple[kind] = [
                f"out.append([({w()}, i, n) for i in range(2)])",
                f"out.append(sum(i * {n()} for i in {{1, 2}}))",
                f"out.append({{i: {n()} for i in 'ab'}})",
            ]
        elif kind == "walrus":
            simple[kind] = [f"if (given := {w()}):", "    out.append(given)"]
        elif kind == "raise":
            simple[kind] = [f"if {n()} < 0:", f"    raise KeyError({w()})"]
        elif kind == "blank":
            which = self.site("blank line", True, "there", "")
            return [Line("", (which,)), Line("# a comment", (which,)), Line(f"out.append({w()})")]
        elif kind == "unpack":
            simple[kind] = [f"a, *b = [n, {w()}, {n()}]", "out.append((b, a))", "del a"]
        elif kind == "import":
            simple[kind] = ["import math", f"out.append(math.floor({n()} + 0.5))"]
        elif kind == "global":
            simple[kind] = [f"global G{key}", f"G{key} = {w()}", f"out.append(G{key})"]
        elif kind == "call":
            simple[kind] = [f"out.append({self.pick(tuple(self.callable_names))}(2))", f"out.append({w()})"]
        elif kind == "lambda":
            simple[kind] = [f"out.append({keep(f'lambda: ({w()}, n)')}())"]
        elif kind == "plain lambda":
            simple[kind] = [f"out.append({keep(f'lambda: {w()}')}())"]
        elif kind == "two lambdas":
            # Equal ones on one line are one code object before Python 3.12.2 or so: an edit of the other is another matter.
            simple[kind] = [
                f"out.append([f() for f in ({keep('lambda: 0')}, lambda: {w('equal lambdas', False)} and 0)])"
            ]
        elif kind == "lambda default":
            simple[kind] = [f"out.append({keep(f'lambda q={w()}, r=n: (q, r, {w()})')}())"]
        elif kind == "class":
            word = self.word("outer", False) if self.chance(6) else repr(f"c{key}")
            simple[kind] = [
                f"class L{key}:",
                f"    kind = {word}",
                "    def m(self):",
                f"        return {w()}, self.kind, n",
                "    @staticmethod",
                f"    def s(): return {w()}",
                f"class M{key}(L{key}):",
                f"    def m(self): return {w()}, super().m(), __class__.__name__",
                f"out.append(({keep(f'M{key}().m')}(), {keep(f'L{key}.s')}()))",
            ]
        elif kind == "cell":
            simple[kind] = [
                f"c{key} = n * 10",
                f"def set{key}():",
                f"    nonlocal c{key}",
                f"    c{key} = c{key} + 0",
                f"    return {w()}, c{key}",
                f"def get{key}(x={w()}):",
                f"    return lambda: (x, c{key}, {w()})",
                f"out.append(({keep(f'set{key}')}(), {keep(f'get{key}()')}()))",
            ]
        elif kind == "recursive":
            simple[kind] = [
                f"def down{key}(i=2): return [{w()}] + (down{key}(i - 1) if i else [])",
                f"out.append({keep(f'down{key}')}())",
            ]
        elif kind == "partial":
            simple[kind] = [
                f"def two{key}(a, b): return a, b, {w()}",
                f"out.append({keep(f'functools.partial(two{key}, 1, b=n)')}())",
            ]
        elif kind == "generator":
            simple[kind] = [
                f"def each{key}():",
                f"    yield {w()}",
                f"    yield from (({w()}, i) for i in range(2))",
                f"out.append(list({keep(f'each{key}')}()))",
            ]
        else:
            name, lines, _ = self.function(depth + 1, kept=True, cached=cached)
            return [*lines, Line(f"out.append({keep(name)}())")]
        return [Line(text) for text in simple[kind]]

    # What stands at module level.

    def top(self) -> None:
        shape = self.pick(("function", "function", "function", "class", "class", "table", "makers", "others"))
        if shape == "function":
            name, lines, kind = self.function(0)
            self.lines += lines
            if kind == "function":
                self.callable_names.append(name)
            if kind not in ("function", "context") and self.chance(3):
                self.suspended = True
                self.shapes.add("suspended")
                self.lines += [Line(f"with contextlib.suppress(KeyError): started({name}())")]
            elif self.chance(2):
                self.lines += [
                    Line(f"with contextlib.suppress(KeyError): {name}()")
                ]  # its cache is warm, and what it makes is alive
            if self.chance(4):
                self.shapes.add("partial at module level")
                self.lines += [Line(f"P{name} = [functools.partial({name}, 2), {name}]")]
        elif shape == "class":
            self.classes()
        elif shape == "table":
            self.shapes.add("table of lambdas")
            name = f"T{self.key()}"
            self.lines += [
                Line(f"{name} = [lambda: {self.word()}, lambda: {self.word()}, lambda x=2: ({self.word()}, x)]"),
                Line(f"{name}_loop = []"),
                Line("for i in range(2):"),
                Line(f"    {name}_loop.append(lambda i=i: (i, {self.word()}))"),
                Line(f"{name}_made = {{i: (lambda: {self.word()}) for i in range(2)}}"),
            ]
        elif shape == "makers":
            self.shapes.add("makers")
            name, lines, _ = self.function(1, kept=True)
            key = self.key()
            self.lines += [
                Line(f"def make{key}(n=0):"),
                *indented([*lines, Line(f"return {name}")]),
                Line(f"A{key} = [make{key}(3), make{key}(4)]"),
            ]
        else:
            self.others()

    def classes(self) -> None:
        self.shapes.add("class at module level")
        key = self.key()
        lines = [
            Line(f"class B{key}:"),
            Line("    def base(self=None): return 'base'"),
            Line("    other = classmethod(base)"),
        ]
        kind = self.word("outer", False) if self.chance(6) else repr(f"k{key}")
        head = f"class C{key}(B{key}):"
        body = [Line(f"kind = {kind}")]
        names = []
        for _ in range(self.random.randint(1, 3)):
            name, method, _ = self.function(1, method=True)
            names.append((name, any("property" in line.text or "cache" in line.text for line in method)))
            body += method
        if self.chance(4):
            self.shapes.add("nested class")
            body += [
                Line("class Inner:"),
                Line(f"    def f0(self): return {self.word()}"),
                Line("    __slots__ = ()"),
                Line("fi = Inner().f0"),
            ]
        if self.chance(4):
            self.shapes.add("property with a setter")
            body += [
                Line("@property"),
                Line(f"def fp{key}(self): return {self.word()}"),
                Line(f"@fp{key}.setter"),
                Line(f"def fp{key}(self, value): self.value = {self.word()}"),
            ]
        lines += [Line("@same")] if self.chance(4) else []
        lines += [Line(head), *indented(body), Line(f"iC{key} = C{key}()"), Line(f"iB{key} = B{key}()")]
        free = [name for name, special in names if not special]
        if free and self.chance(2):
            self.shapes.add("bound method kept")
            lines += [Line(f"Bound{key} = [iC{key}.{free[0]}]")]
        self.lines += lines

    def others(self) -> None:
        kind = self.pick((*OTHERS, "import at module level"))
        self.shapes.add(kind)
        key, w = self.key(), self.word
        if kind == "constant":
            lines = [Line(f"K{key} = {w('outer', False)}")]
            self.lines += self.optional(lines, "outer", False) if self.chance(2) else lines
        elif kind == "conditional":
            self.lines += [
                Line("try:"),
                Line(f"    import not_there_{key}"),
                Line("except ImportError:"),
                Line(f"    def f{key}(n=1): return {w()}"),
                Line("else:"),  # no live function runs it
                Line(f"    def f{key}(n=1): return {w('dead', False)}"),
            ]
        elif kind == "copy":
            self.lines += [Line(f"def f{key}(n=1): return n, {w()}"), Line(f"f{key}c = copied(f{key})")]
        elif kind == "singledispatch":
            self.lines += [
                Line("@functools.singledispatch"),
                Line(f"def d{key}(n): return {w()}"),
                Line(f"@d{key}.register"),
                Line(f"def _(n: int): return {w()}"),
                Line(f"@d{key}.register"),
                Line(f"def _(n: str): return {w()}"),
                Line(f"S{key} = [lambda: (d{key}(1), d{key}('x'), d{key}(None))]"),
            ]
        elif kind == "import at module level":
            which = self.site("outer", False, "math", "cmath")
            self.lines += [Line(f"import §{which}§")]
        else:
            self.lines += [Line(f"Q{key} = [functools.partial(lambda a, b={w('default')}: (a, b, {w()}), 1)]")]

    def text(self, edited: frozenset[int]) -> str:
        """The module with these sites edited."""

        def value(found: re.Match[str]) -> str:
            site = self.sites[int(found[1])]
            return site.other if int(found[1]) in edited else site.fixed

        def there(line: Line) -> bool:
            return all((self.sites[w].other if w in edited else self.sites[w].fixed) for w in line.when)

        lines = []
        for line in self.lines:
            if there(line):
                lines.append(re.sub(r"§(\d+)§", value, line.text))
        return "\n".join(lines) + "\n"


def indented(lines: list[Line]) -> list[Line]:
    return [Line("    " + line.text if line.text else "", line.when) for line in lines]


@st.composite
def modules(draw: st.DrawFn) -> Made:
    """A module, and one or two sets of edits. Hypothesis shrinks its size; what it is made of is drawn from a seed, or most of what is
    tried would be variations of few modules."""
    size = draw(st.integers(1, 24))
    return made_of(draw(st.randoms(use_true_random=True)), size)


def made_of(random: Random, size: int) -> Made:
    maker = Maker(random, size)
    while maker.left > 0:
        maker.left -= 1
        maker.top()
    maker.lines += [Line(f"def f0(n=1): return {maker.word()}")]
    plain = maker.chance(2)
    kinds: dict[str, list[int]] = {}
    for number, site in enumerate(maker.sites):
        if site.plain or not plain:
            kinds.setdefault(site.kind, []).append(number)

    def drawn() -> frozenset[int]:
        """A kind first: values are many, and the others would hardly come."""
        return frozenset(random.choice(kinds[random.choice(list(kinds))]) for _ in range(random.randint(1, 3)))

    sets = [drawn() for _ in range(2 if maker.chance(4) else 1)]
    edited = [maker.sites[number] for each in sets for number in each]
    return Made(
        texts=tuple(maker.text(each) for each in (frozenset(), *sets)),
        shapes=frozenset(maker.shapes),
        edits=frozenset(site.kind for site in edited),
        plain=all(site.plain for site in edited),
        suspended=maker.suspended,
        warm=maker.chance(2),
    )
