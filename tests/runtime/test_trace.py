"""Traced runs: what was executed is told from what was not, and the marks show nowhere else."""

from __future__ import annotations

import ast
import json
import textwrap
from pathlib import Path

import pytest

from prtoggle.runtime import trace
from prtoggle.runtime.resolve import Planned
from tests.runtime.project import Project

SOURCE = """\
import functools

LIMIT = 10


def plain(x):
    x = x + 1
    return x


async def waits(x):
    x = x + 2
    return x


def yields(x):
    x = x + 3
    yield x


class Outer:
    class Inner:
        def method(self, x):
            x = x + 4
            return x


def branch(x):
    if x:
        x = x + 5
    return x


def at_the_end(x):
    for _ in range(1):
        x = x + 6
    return x


@functools.lru_cache(maxsize=3)
def decorated(x):
    x = x + 7
    return x
"""
TARGETS = {
    "plain": ("x = x + 1", "x = x + 100"),
    "waits": ("x = x + 2", "x = x + 200"),
    "yields": ("x = x + 3", "x = x + 300"),
    "Outer.Inner.method": ("x = x + 4", "x = x + 400"),
    "branch": ("x = x + 5", "x = x + 500"),
    "decorated": ("x = x + 7", "x = x + 700"),
}
USES = {
    "plain": "app.core.plain(1)",
    "waits": "asyncio.run(app.core.waits(1))",
    "yields": "list(app.core.yields(1))",
    "Outer.Inner.method": "app.core.Outer.Inner().method(1)",
    "branch": "app.core.branch(1)",
    "decorated": "app.core.decorated(1)",
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.package({"app/__init__.py": "", "app/core.py": SOURCE})
    patches = "".join(
        f"- target: app.core.{target}\n  edits:\n    - match: {old}\n      replacement: {new}\n"
        for target, (old, new) in TARGETS.items()
    )
    made.fix(7, patches=patches)
    return made


def traced(project: Project, code: str, **more: str) -> tuple[set[str], set[str], set[str]]:
    """The targets that one process (or several) executed, did not execute, and did not know of."""
    journal = project.root / "journal"
    journal.mkdir(exist_ok=True)
    done = project.python(code, revert="7", PRTOGGLE_TRACE="1", PRTOGGLE_JOURNAL=str(journal), **more)
    assert done.code == 0, done.err
    hit: set[str] = set()
    unhit: dict[str, bool] = {}
    for file in journal.iterdir():
        for line in file.read_text().splitlines():
            event = json.loads(line)
            if event["event"] == "executed":
                hit.add(event["edit"]["target"])
            for each in event.get("unhit", ()):
                unhit[each["edit"]["target"]] = each["unknown"]
    names = lambda targets: {target.removeprefix("app.core.") for target in targets}  # noqa: E731
    left = {target: unknown for target, unknown in unhit.items() if target not in hit}
    return (
        names(hit),
        names(target for target, unknown in left.items() if not unknown),
        names(target for target, unknown in left.items() if unknown),
    )


@pytest.mark.parametrize("target", TARGETS)
def test_what_was_called_was_executed_and_nothing_else_was(project: Project, target: str) -> None:
    hit, unhit, unknown = traced(project, f"import app.core, asyncio; {USES[target]}")
    assert (hit, unhit, unknown) == ({target}, set(TARGETS) - {target}, set())


@pytest.mark.parametrize(
    ("target", "use"),
    [
        ("branch", "app.core.branch(0)"),
        ("yields", "app.core.yields(1)"),
        ("waits", "app.core.waits(1).close()"),
        ("plain", "app.core.plain"),
    ],
)
def test_what_was_reached_but_not_run_was_not_executed(project: Project, target: str, use: str) -> None:
    hit, unhit, _ = traced(project, f"import app.core; {use}")
    assert target not in hit and target in unhit


def test_a_forked_child_reports_for_itself(project: Project) -> None:
    code = """
    import app.core, os, time
    child = os.fork()
    if child == 0:
        app.core.plain(1)
        time.sleep(1)
        os._exit(0)
    os.waitpid(child, 0)
    """
    assert traced(project, code)[0] == {"plain"}


def test_a_mark_is_reported_while_the_process_runs_and_it_may_be_killed(project: Project) -> None:
    code = "import app.core, time, os; app.core.plain(1); time.sleep(1); os._exit(0)"
    assert traced(project, code)[0] == {"plain"}


def test_module_level_edits_are_executed_by_the_import(project: Project) -> None:
    project.fix(7, target="app.core", edits="- match: LIMIT = 10\n  replacement: LIMIT = 20")
    hit, unhit, _ = traced(project, "import app.core; assert app.core.LIMIT == 20")
    assert (hit, unhit) == ({"app.core"}, set())


def test_a_decorator_is_executed_by_the_import(project: Project) -> None:
    edit = "- match: '@functools.lru_cache(maxsize=3)'\n  replacement: '@functools.lru_cache(maxsize=4)'"
    project.fix(7, target="app.core.decorated", edits=edit)
    assert traced(project, "import app.core; assert app.core.decorated.cache_info().maxsize == 4")[0] == {"decorated"}


def test_a_statement_deleted_from_the_end_of_a_block_is_executed_with_the_block(project: Project) -> None:
    edit = (
        "- match: |\n    for _ in range(1):\n        x = x + 6\n  replacement: |\n    for _ in range(1):\n        pass"
    )
    project.fix(7, target="app.core.at_the_end", edits=edit)
    assert traced(project, "import app.core; app.core.at_the_end(1)")[0] == {"at_the_end"}
    assert traced_again(project, "import app.core")[0] == set()


def test_a_statement_deleted_from_the_end_of_a_function_counts_as_executed_when_its_end_is_reached(
    project: Project,
) -> None:
    project.package({"app/core.py": "def f(x):\n    x.append(1)\n    x.append(2)\n\n\ndef g():\n    return 1\n"})
    project.fix(7, target="app.core.f", edits="- find: x.append(2)\n  put: ''")
    assert traced(project, "import app.core; l = []; app.core.f(l); assert l == [1]")[0] == {"f"}
    assert traced_again(project, "import app.core; app.core.g()")[0] == set()


@pytest.mark.parametrize(("argument", "hit"), [("[]", set()), ("[1]", {"f"})])
def test_a_statement_deleted_from_the_end_of_a_loop_counts_only_when_the_loop_runs(
    project: Project, argument: str, hit: set[str]
) -> None:
    project.package({"app/core.py": "def f(x):\n    for y in x:\n        y += 1\n        y += 2\n    return x\n"})
    project.fix(7, target="app.core.f", edits="- find: y += 2\n  put: ''")
    assert traced(project, f"import app.core; app.core.f({argument})")[0] == hit


def traced_again(project: Project, code: str) -> tuple[set[str], set[str], set[str]]:
    for file in (project.root / "journal").iterdir():
        file.unlink()
    return traced(project, code)


@pytest.mark.parametrize("decorator", ["jit.script", "triton.jit", "jit", "torch.jit.script", "triton.autotune(x=1)"])
def test_what_is_compiled_from_its_text_is_unknown(project: Project, decorator: str) -> None:
    stub = "class Any:\n    def __getattr__(self, name): return self\n"
    stub += "    def __call__(self, f=None, **more): return f or self\n"
    stub += "jit = triton = torch = Any()\n"
    project.package({"app/core.py": f"{stub}\n\n@{decorator}\ndef f(x):\n    x = x + 1\n    return x\n"})
    project.fix(7, target="app.core.f", edits="- match: x = x + 1\n  replacement: x = x + 2")
    assert traced(project, "import app.core") == (set(), set(), {"f"})


def test_traced_code_does_what_untraced_code_does_and_looks_the_same(project: Project) -> None:
    code = """
    import app.core, asyncio, inspect, traceback
    print(app.core.plain(1), asyncio.run(app.core.waits(1)), list(app.core.yields(1)), app.core.branch(1))
    print(inspect.getsource(app.core.plain), inspect.getsource(app.core.Outer))
    for target in (app.core.plain, app.core.Outer.Inner().method):
        try: target("text")
        except TypeError: print(traceback.format_exc())
    print([name for name in vars(app.core) if not name.startswith("__")])
    print(app.core.plain.__code__.co_firstlineno, app.core.decorated.__wrapped__.__code__.co_firstlineno)
    """
    plain, with_marks = project.python(code, revert="7"), project.python(code, revert="7", PRTOGGLE_TRACE="1")
    assert with_marks.code == 0, with_marks.err
    assert plain.out == with_marks.out and "x = x + 100" in plain.out


HEADS = [
    '"""Docstring."""\nfrom __future__ import annotations\nx = 1\n',
    "from __future__ import annotations\nx = 1\n",
    '"""Docstring."""\nx = 1\n',
    "x = 1\n",
    "x = 1",
    '"""Docstring."""',
    "",
]


@pytest.mark.parametrize("text", HEADS)
@pytest.mark.parametrize("line", [1, 2, 3])
def test_marks_stand_behind_docstring_and_future_imports_in_any_module(text: str, line: int) -> None:
    edit = (("7",), "here:1", line, "m", line, False)
    tree = trace.marked(Planned("m", "m.py", "", text.encode(), ("7",), (edit,)), "m.py")
    code = compile(tree, "m.py", "exec")
    names: dict[str, object] = {"__name__": "m"}
    exec(code, names)
    assert names.get("__doc__") == ast.get_docstring(ast.parse(text))
    assert names.get("x") == (1 if "x" in text else None)


@pytest.mark.parametrize(
    "statement",
    [
        "match x:\n    case 1:\n        y = 1\n    case _:\n        y = 2",
        "try:\n    y = 1\nexcept ValueError:\n    y = 2\nelse:\n    y = 3\nfinally:\n    z = 4",
        "if x:\n    y = 1\nelif x is None:\n    y = 2\nelse:\n    y = 3",
        "while x:\n    x = 0\nelse:\n    y = 5",
        "with open('/dev/null') as f:\n    y = 6",
        "y = [\n    1,\n    2,\n]",
        "if x: y = 1; z = 2",
        "class C:\n    '''doc'''\n    y = 3",
        "def g():\n    '''doc'''",
        "lambda: (\n    1)",
    ],
)
def test_a_mark_fits_in_at_any_line_of_any_statement(statement: str) -> None:
    text = "x = 1\n" + statement + "\n"
    plain: dict[str, object] = {}
    exec(compile(text, "m.py", "exec"), plain)
    for line in range(1, text.count("\n") + 3):
        edit = (("7",), "here:1", line, "m", line, False)
        tree = trace.marked(Planned("m", "m.py", "", text.encode(), ("7",), (edit,)), "m.py")
        names: dict[str, object] = {}
        exec(compile(tree, "m.py", "exec"), names)
        for name in ("x", "y", "z"):
            assert names.get(name) == plain.get(name), (line, textwrap.indent(ast.unparse(tree), "  "))
        doc = getattr(names.get("C") or names.get("g"), "__doc__", None)
        assert doc == getattr(plain.get("C") or plain.get("g"), "__doc__", None), line
