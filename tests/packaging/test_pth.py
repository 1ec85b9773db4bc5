"""The ``.pth`` file: silent where nothing is selected, and closed where prtoggle cannot start."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from prtoggle.integrations import all_integrations
from tests.packaging.environment import Environment

ROOT = Path(__file__).resolve().parents[2]
PTH = ROOT / "prtoggle.pth"
LINE = PTH.read_text(encoding="ascii")
VARIABLES = ("PRTOGGLE_REVERT", "SGLANG_DEBUG_REVERT_PR")

# --- the line itself


def names_in_environ(code: ast.AST) -> list[str]:
    """The names that ``code`` looks for in ``os.environ``."""
    return [
        ast.literal_eval(node.left)
        for node in ast.walk(code)
        if isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]) == "os.environ"
    ]


def values_of_environ(code: ast.AST) -> list[str]:
    """The names whose values ``code`` asks for."""
    calls = (node for node in ast.walk(code) if isinstance(node, ast.Call))
    return [ast.literal_eval(call.args[0]) for call in calls if ast.unparse(call.func) == "os.environ.get"]


def started() -> ast.Module:
    """What the line runs when a variable is there."""
    (call,) = (n for n in ast.walk(ast.parse(LINE)) if isinstance(n, ast.Call) and ast.unparse(n.func) == "exec")
    text = call.args[0]
    assert isinstance(text, ast.Constant) and isinstance(text.value, str)
    return ast.parse(text.value)


def test_it_is_one_line_that_site_runs() -> None:
    assert LINE.count("\n") == 1 and LINE.endswith("\n")
    assert LINE.startswith("import os;")


def test_it_asks_for_prtoggles_variables_and_for_each_integrations_once() -> None:
    selecting = ["PRTOGGLE_REVERT", *(each.variable for each in all_integrations())]
    assert names_in_environ(ast.parse(LINE)) == [*selecting, "PRTOGGLE_CONTROL"]
    assert sorted(values_of_environ(started())) == sorted([*selecting, "PRTOGGLE_CONTROL"])


def test_what_is_compiled_at_each_start_is_the_look_ups_and_one_string() -> None:
    kinds = [type(node) for node in ast.walk(ast.parse(LINE)) if isinstance(node, (ast.Constant, ast.Call, ast.stmt))]
    variables = len(all_integrations()) + 2
    assert kinds.count(ast.Constant) == variables + 1
    assert kinds.count(ast.Call) == 1
    assert sorted(kind.__name__ for kind in kinds if issubclass(kind, ast.stmt)) == ["Expr", "Import"]


def test_it_refuses_each_integrations_package_and_the_bundled_one() -> None:
    (targets,) = (
        ast.literal_eval(node.value)
        for node in ast.walk(started())
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "targets"
    )
    assert targets == (*(each.package for each in all_integrations()), "prtoggle_fixes")


def test_it_is_what_the_script_makes() -> None:
    script = ROOT / "scripts" / "make_pth.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# --- where prtoggle cannot start

BROKEN = {
    "boot.py has a syntax error": "def boot(:\n",
    "boot raises an ordinary error": "def boot():\n    raise ValueError('a reason')\n",
    "boot raises ImportError": "def boot():\n    raise ImportError('a reason')\n",
    "boot exits": "def boot():\n    raise SystemExit(0)\n",
    "importing boot.py exits": "raise SystemExit(0)\n",
    "boot.py has no boot": "",
    "the error cannot be shown": (
        "class Shy(Exception):\n    def __repr__(self):\n        raise OSError\ndef boot():\n    raise Shy\n"
    ),
    "there is no boot.py": None,
    "there is no prtoggle": None,
}


def broken_environment(folder: Path, how: str) -> Environment:
    """An environment with the ``.pth``, a prtoggle broken in this way, and stand-ins for the target packages."""
    environment = Environment(folder / "venv")
    site_packages = environment.site_packages
    (site_packages / "prtoggle.pth").write_text(LINE, encoding="ascii")
    for name in ("sglang", "prtoggle_fixes", "sglang_router", "unrelated"):
        (site_packages / name).mkdir()
        (site_packages / name / "__init__.py").write_text(f"print('{name} was imported')\n")
        (site_packages / name / "__main__.py").write_text(f"print('{name} ran')\n")
        (site_packages / name / "part.py").write_text("")
    if how != "there is no prtoggle":
        (site_packages / "prtoggle" / "runtime").mkdir(parents=True)
        (site_packages / "prtoggle" / "__init__.py").write_text("")
        (site_packages / "prtoggle" / "runtime" / "__init__.py").write_text("")
        if (text := BROKEN[how]) is not None:
            (site_packages / "prtoggle" / "runtime" / "boot.py").write_text(text)
    return environment


@pytest.fixture(scope="module", params=BROKEN)
def broken(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return broken_environment(tmp_path_factory.mktemp("broken"), request.param)


@pytest.fixture(scope="module")
def raising(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return broken_environment(tmp_path_factory.mktemp("raising"), "boot raises an ordinary error")


ATTEMPTS = (
    "import sglang",
    "import sglang.part",
    "from sglang import part",
    "import prtoggle_fixes",
    "import importlib; importlib.import_module('sglang.part')",
    "import importlib.util; importlib.util.find_spec('sglang')",
    "import runpy; runpy.run_module('sglang')",
)


def attempts(statements: tuple[str, ...] = ATTEMPTS) -> str:
    """A program that tries each statement, twice, and prints what became of it."""
    return (
        f"for statement in {statements!r} * 2:\n"
        "    try:\n"
        "        try:\n"
        "            exec(statement)\n"
        "        except ImportError:\n"
        "            pass\n"
        "        print('went on after', statement)\n"
        "    except RuntimeError as error:\n"
        "        print('refused')\n"
    )


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_target_package_is_refused_again_and_again_even_where_import_errors_are_swallowed(
    broken: Environment, variable: str
) -> None:
    done = broken.python("-c", attempts(), env={variable: "27360"})
    assert done.stdout.split("\n") == ["refused"] * 2 * len(ATTEMPTS) + [""]


@pytest.mark.parametrize("flags", [("-I", "-E"), ("-s",), ("-O",), ("-B", "-W", "error")])
def test_it_is_refused_as_the_main_program_too(broken: Environment, flags: tuple[str, ...]) -> None:
    done = broken.python(*flags, "-m", "sglang", env={"PRTOGGLE_REVERT": "27360"}, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.rstrip().split("\n")[-1].startswith("RuntimeError: prtoggle: sglang is refused")


def test_a_process_that_imports_none_of_them_is_left_alone(broken: Environment) -> None:
    done = broken.python("-c", "import unrelated, sglang_router", env={"PRTOGGLE_REVERT": "27360"})
    assert done.stdout == "unrelated was imported\nsglang_router was imported\n"
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("prtoggle: could not start")


@pytest.mark.parametrize("env", [{}, {"PRTOGGLE_REVERT": "", "SGLANG_DEBUG_REVERT_PR": ""}])
def test_without_a_selection_a_broken_prtoggle_does_no_harm(broken: Environment, env: dict[str, str]) -> None:
    done = broken.python("-c", "import sglang, prtoggle_fixes", env=env)
    assert done.stdout == "sglang was imported\nprtoggle_fixes was imported\n"
    assert done.stderr == ""


def test_without_a_selection_a_control_socket_that_cannot_be_had_is_said_and_nothing_refused(tmp_path: Path) -> None:
    environment = broken_environment(tmp_path, "there is no prtoggle")
    done = environment.python("-c", "import sglang", env={"PRTOGGLE_CONTROL": "1"})
    assert done.stdout == "sglang was imported\n"
    assert done.stderr.startswith("prtoggle: ERROR: PRTOGGLE_CONTROL is set, but this process takes no requests: ")


def test_the_refusal_says_why_and_what_to_do(raising: Environment) -> None:
    done = raising.python("-c", "import sglang.part", env={"PRTOGGLE_REVERT": "27360"}, check=False)
    said = done.stderr.rstrip().split("\n")[-1]
    for part in ("sglang", "ValueError('a reason')", *VARIABLES, "reinstall prtoggle", "prtoggle doctor"):
        assert part in said
    assert "The above exception was the direct cause" in done.stderr


MULTIPROCESSING = """\
import multiprocessing
if __name__ == '__main__':
    child = multiprocessing.get_context({method!r}).Process(target=exec, args=(attempt,))
    child.start()
    child.join()
"""
CHILDREN = {
    "subprocess": "import subprocess, sys; subprocess.run([sys.executable, '-c', attempt])",
    "fork": "import os; pid = os.fork(); (exec(attempt), os._exit(0)) if pid == 0 else os.waitpid(pid, 0)",
    "spawn": MULTIPROCESSING.format(method="spawn"),
    "forkserver": MULTIPROCESSING.format(method="forkserver"),
    "a thread": "import threading; t = threading.Thread(target=exec, args=(attempt, {})); t.start(); t.join()",
}


@pytest.mark.parametrize("child", CHILDREN)
def test_it_is_refused_in_children(raising: Environment, child: str) -> None:
    # The child's own output goes to the same pipe, flushed since fork's child ends without.
    attempt = attempts(("import sglang",)) + "import sys; sys.stdout.flush()\n"
    done = raising.python("-c", f"attempt = {attempt!r}\n{CHILDREN[child]}", env={"PRTOGGLE_REVERT": "27360"})
    assert done.stdout == "refused\nrefused\n", done.stderr


def test_submodules_are_refused_where_something_imported_the_root_before(tmp_path: Path) -> None:
    """Another ``.pth`` file, earlier in the alphabet."""
    environment = broken_environment(tmp_path, "boot raises an ordinary error")
    (environment.site_packages / "early.pth").write_text("import sglang\n", encoding="ascii")
    done = environment.python("-c", attempts(("import sglang.part",)), env={"PRTOGGLE_REVERT": "27360"})
    assert done.stdout.splitlines()[-2:] == ["refused", "refused"]


def test_a_file_that_site_reads_twice_says_it_once(raising: Environment) -> None:
    code = (
        "import site, sys; site.addsitedir(sys.argv[1]); exec(open(sys.argv[1] + '/prtoggle.pth').read())\n"
        "print([type(finder).__name__ for finder in sys.meta_path].count('PrtoggleBlocker'))"
    )
    done = raising.python("-c", code, str(raising.site_packages), env={"PRTOGGLE_REVERT": "27360"})
    assert (done.stdout, done.stderr.count("\n")) == ("1\n", 1)


def test_without_a_stderr_it_is_refused_all_the_same(raising: Environment) -> None:
    program = attempts(("import sglang",))
    command = f'exec {raising.bin / "python"} -c "$0" 2>&-'
    done = raising.run("/bin/sh", "-c", command, program, env={"PRTOGGLE_REVERT": "27360"})
    assert done.stdout == "refused\nrefused\n"


def test_control_c_while_it_starts_ends_the_process(tmp_path: Path) -> None:
    BROKEN["control-C"] = "def boot():\n    raise KeyboardInterrupt\n"
    environment = broken_environment(tmp_path, "control-C")
    done = environment.python("-c", "print('went on')", env={"PRTOGGLE_REVERT": "27360"}, check=False)
    assert done.returncode != 0
    assert done.stdout == ""


def test_a_prtoggle_that_starts_is_left_to_its_work(tmp_path: Path) -> None:
    """In a virtual environment, site may read the file twice."""
    BROKEN["not at all"] = "import sys\ndef boot():\n    print('booted', file=sys.stderr)\n"
    environment = broken_environment(tmp_path, "not at all")
    done = environment.python("-c", "import sglang, prtoggle_fixes", env={"PRTOGGLE_REVERT": "27360"})
    assert done.stdout == "sglang was imported\nprtoggle_fixes was imported\n"
    assert set(done.stderr.splitlines()) == {"booted"}
