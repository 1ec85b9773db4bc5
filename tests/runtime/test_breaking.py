"""Attempts to run a target without the revert that was selected, with nothing said; and unlucky surroundings."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.runtime.project import Done, Project, tree_hashes

CORE = 'def f():\n    x = "fixed"\n    return x\n'
EDIT = '- match: x = "fixed"\n  replacement: x = "reverted"'
USE = "import app.core; print(app.core.f())"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.package({"app/__init__.py": "", "app/core.py": CORE, "other/__init__.py": ""})
    made.fix(7, target="app.core.f", edits=EDIT)
    return made


def reverted(done: Done) -> bool:
    return (done.code, done.out) == (0, "reverted\n")


def told(done: Done) -> bool:
    """The process failed, or says that the revert is not in force."""
    refused = done.code != 0 and "RevertRefusedError" in done.err
    return refused or any("ERROR" in notice for notice in done.notices)


# Past the finder ----------------------------------------------------------------------------------------------------

STILL_REVERTED = {
    "reload": "import app.core, importlib; importlib.reload(app); importlib.reload(app.core)",
    "deleted from sys.modules": "import app.core, sys; del sys.modules['app.core'], sys.modules['app']",
    "a root made by hand": "import sys, types; m = types.ModuleType('app'); m.__path__ = ['site/app']; sys.modules['app'] = m",
    "a root that was executed by path": (
        "import importlib.util as u, sys; s = u.spec_from_file_location('app', 'site/app/__init__.py'); "
        "m = u.module_from_spec(s); sys.modules['app'] = m; s.loader.exec_module(m)"
    ),
    "meta_path made a tuple": "import sys; sys.meta_path = tuple(sys.meta_path)",
    "a relative path": (
        "import sys; sys.path[:] = ['site', *(p for p in sys.path if p and not p.endswith('/site'))]; import app, os; "
        "app.__path__ = [os.path.abspath(p) for p in app.__path__]; os.chdir('/')"
    ),
    "runpy": "import runpy; assert runpy.run_module('app.core')['f']() == 'reverted'",
    "no executable": "import sys; sys.executable = None",
    "bytes as executable": "import sys, os; sys.executable = os.fsencode(sys.executable)",
    "an executable that is gone": "import sys; sys.executable = '/gone/python'",
    "children reaped by the kernel": "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "few file handles": "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))",
    "no room for files": "import resource, signal; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))",
}


@pytest.mark.parametrize("how", STILL_REVERTED)
def test_the_revert_is_in_force_all_the_same(project: Project, how: str) -> None:
    code = f"{STILL_REVERTED[how]}\nimport app.core\n"
    if how == "no room for files":  # which includes a redirected stdout
        done = project.python(code + "assert app.core.f() == 'reverted'", revert="7")
        assert done.code == 0, done.err
    else:
        done = project.python(code + "print(app.core.f())", revert="7")
        assert reverted(done), (done.out, done.err)


IN_FRONT = """
import sys
from importlib.machinery import PathFinder
class Front:
    def find_spec(self, name, path=None, target=None):
        sys.meta_path.remove(self); sys.meta_path.insert(0, self)
        return PathFinder.find_spec(name, path, target)
sys.meta_path.insert(0, Front())
"""
PAST = {
    "a finder that always returns to the front": IN_FRONT,
    "meta_path replaced": "import sys; from importlib.machinery import PathFinder; sys.meta_path = [PathFinder]",
    "our finder removed": "import sys; sys.meta_path[:] = [f for f in sys.meta_path if not hasattr(f, 'refused')]",
    "our finder removed in between": (
        "import sys, app; sys.meta_path[:] = [f for f in sys.meta_path if not hasattr(f, 'refused')]"
    ),
    "executed by path": (
        "import app, sys, importlib.util as u; s = u.spec_from_file_location('app.core', 'site/app/core.py'); "
        "m = u.module_from_spec(s); sys.modules['app.core'] = app.core = m; s.loader.exec_module(m)"
    ),
    "another name for the file": "import os; os.symlink('core.py', 'site/app/other.py'); import app.other, app.core",
    "another name for the folder": "import os; os.symlink('app', 'site/app2'); import app2.core, app.core",
    "a module of its own folder": "import sys; sys.path.insert(0, 'site/app'); import core, app.core",
}


@pytest.mark.parametrize("how", PAST)
def test_what_gets_past_the_finder_is_told_at_the_end_of_the_process(project: Project, how: str) -> None:
    done = project.python(f"{PAST[how]}\nimport app.core", revert="7")
    assert told(done), (done.out, done.err, done.notices)


def test_a_package_that_was_imported_before_boot_is_still_reverted_where_it_can_be(project: Project) -> None:
    late = "import os; os.environ['PRTOGGLE_REVERT'] = '7'; from prtoggle.runtime import boot; boot.boot()"
    assert reverted(project.python(f"import app; {late}; {USE}"))


def test_a_module_that_was_imported_before_boot_cannot_be_had_again(project: Project) -> None:
    late = "import os; os.environ['PRTOGGLE_REVERT'] = '7'; from prtoggle.runtime import boot; boot.boot()"
    for again in ("import app", "import app.core", "from app.core import f"):
        done = project.python(f"import app.core; {late}\ntry:\n    {again}\nexcept ImportError: pass\nprint('ran')")
        assert done.code != 0 and "was imported before" in done.err and "ran" not in done.out


def test_a_refused_package_that_is_in_sys_modules_gives_no_submodules(project: Project) -> None:
    code = "import sys, types; m = types.ModuleType('app'); m.__path__ = ['site/app']; sys.modules['app'] = m"
    done = project.python(f"{code}\nimport app.core", revert="99")
    assert done.code != 0 and "99" in done.err


# Targets of an unusual kind ------------------------------------------------------------------------------------------


def test_a_module_of_the_standard_library_can_be_a_target(project: Project) -> None:
    project.fix(8, target="colorsys.rgb_to_yiq", edits="- find: y = 0.30*r + 0.59*g + 0.11*b\n  put: y = 42")
    done = project.python("import colorsys; print(colorsys.rgb_to_yiq(1, 1, 1)[0])", revert="8")
    assert (done.code, done.out) == (0, "42\n"), done.err


def test_linecache_itself_can_be_a_target(project: Project) -> None:
    edit = "- match: lines = getlines(filename, module_globals)\n  replacement: lines = ['reverted']"
    project.fix(8, target="linecache.getline", edits=edit)
    assert reverted(project.python("import linecache; print(linecache.getline('x', 1))", revert="8"))


def test_what_python_loads_before_any_hook_is_refused_as_a_target(project: Project) -> None:
    project.fix(
        8, target="os.makedirs", edits="- match: head, tail = path.split(name)\n  replacement: head = tail = ''"
    )
    done = project.python("import os; print('ran')", revert="8")
    assert done.code != 0 and "ran" not in done.out and told(done)
    assert project.python("import os; print('ran')", revert="7").out == "ran\n"


@pytest.mark.parametrize("executable", ["sys.executable", "None"])
def test_a_package_that_prtoggle_itself_uses_can_be_a_target(project: Project, executable: str) -> None:
    project.package({"yaml/__init__.py": CORE})
    project.fix(8, target="yaml.f", edits=EDIT)
    done = project.python(f"import sys; sys.executable = {executable}\nimport yaml; print(yaml.f())", revert="8")
    assert reverted(done) if executable != "None" else told(done)


def test_prtoggle_itself_is_no_target(project: Project) -> None:
    project.fix(8, target="prtoggle.errors.did_you_mean", edits="- match: import difflib\n  replacement: pass")
    done = project.python("import prtoggle.errors; print('fine')", revert="8")
    assert (done.code, done.out) == (0, "fine\n") and told(done) and "itself" in done.notices[0]


@pytest.mark.parametrize("text", ["import app\nfrom app import third\n" + CORE, CORE + "from app import third\n"])
def test_circular_imports_inside_the_target(project: Project, text: str) -> None:
    project.package({"app/__init__.py": "from app import core", "app/core.py": text, "app/third.py": "import app.core"})
    assert reverted(project.python(USE, revert="7"))


def test_two_hundred_fixes_at_once(project: Project) -> None:
    numbers = range(1000, 1200)
    project.package({"app/core.py": "".join(f"def f{n}():\n    return 'fixed'\n" for n in numbers)})
    for n in numbers:
        project.fix(n, target=f"app.core.f{n}", edits="- match: return 'fixed'\n  replacement: return 'reverted'")
    code = "import app.core; print({getattr(app.core, f'f{n}')() for n in range(1000, 1200)})"
    assert project.python(code, revert=",".join(map(str, numbers))).out == "{'reverted'}\n"


def test_a_long_module_takes_no_more_than_seconds(project: Project) -> None:
    project.package({"app/core.py": (CORE + "a = 1\n" * 30_000).encode()})
    begun = time.monotonic()
    assert reverted(project.python(USE, revert="7"))
    assert time.monotonic() - begun < 20


# Reverse patches that cannot be read ---------------------------------------------------------------------------------

UNREADABLE = {
    "a pipe": lambda path: os.mkfifo(path),
    "an endless device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": lambda path: path.mkdir(),
    "a broken link": lambda path: path.symlink_to("/gone"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "empty": lambda path: path.write_text(""),
    "another encoding": lambda path: path.write_text("package: app\n", encoding="utf-16"),
}


@pytest.mark.parametrize("how", UNREADABLE)
def test_a_selected_reverse_patch_that_cannot_be_read_is_told_even_where_no_package_can_be_refused(
    project: Project, how: str
) -> None:
    path = project.fixes / "pr7_x" / "revert.yaml"
    path.unlink()
    UNREADABLE[how](path)
    done = project.python(USE, revert="7")
    assert told(done) and str(path) in done.notices[0], (done.out, done.notices)
    project.fix(8, target="app.core.f", edits=EDIT, slug="good")
    assert reverted(project.python(USE, revert="8"))  # beside what is selected it does not matter
    assert told(project.python(USE, revert="7"))


@pytest.mark.parametrize("where", ["/gone", "/dev/zero", "/dev/null/x"])
def test_a_folder_of_fixes_that_is_not_there_is_told(project: Project, where: str) -> None:
    assert told(project.python(USE, revert="7", PRTOGGLE_PATH=where))


def test_a_diff_that_is_not_there_is_told_where_no_package_is_known(project: Project) -> None:
    done = project.python(USE, revert="./gone.diff", PRTOGGLE_PATH="")
    assert told(done) and "gone.diff" in done.notices[0]


# Unlucky surroundings -------------------------------------------------------------------------------------------------


def shell(project: Project, command: str, **env: str) -> Done:
    """A program started by a shell, with ``$PY`` the interpreter."""
    done = subprocess.run(
        ["sh", "-c", command],
        env={**project.env("7"), "PY": sys.executable, **env},
        cwd=project.root,
        capture_output=True,
        text=True,
        timeout=60,
    )
    lines = done.stderr.splitlines(keepends=True)
    return Done(done.returncode, done.stdout, done.stderr, tuple(line for line in lines if line.startswith("prtoggle")))


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams(project: Project, closed: str) -> None:
    code = "import app.core; open('answer', 'w').write(app.core.f())"
    assert shell(project, f'exec "$PY" -c "{code}" {closed}').code == 0
    assert (project.root / "answer").read_text() == "reverted"


def test_a_current_folder_that_was_deleted(project: Project) -> None:
    assert reverted(shell(project, f'mkdir gone; cd gone; rmdir ../gone; exec "$PY" -c "{USE}"'))
    lost = shell(project, f'mkdir gone; cd gone; rmdir ../gone; exec "$PY" -c "{USE}"', PRTOGGLE_PATH="../fixes")
    assert told(lost), lost


def test_a_home_that_is_nowhere_or_belongs_to_nobody(project: Project) -> None:
    for home in ("/proc/nowhere", "", "relative"):
        assert reverted(shell(project, f'exec "$PY" -c "{USE}"', PRTOGGLE_CACHE="", HOME=home, XDG_CACHE_HOME=""))


def test_customisations_of_the_site_that_print_or_import_the_target(project: Project) -> None:
    project.package({"sitecustomize.py": "print('noise', flush=True)\nimport app.core"})
    assert project.python(USE, revert="7").out == "noise\nreverted\n"


@pytest.mark.parametrize("script", ['echo noise; exec {0} "$@"', "exit 3", "exec {0} -c 1", "kill -9 $$"])
def test_an_interpreter_behind_a_wrapper(project: Project, script: str) -> None:
    wrapper = project.root / "python-wrapped"
    wrapper.write_text(f"#!/bin/sh\n{script.format(sys.executable)}\n")
    wrapper.chmod(0o755)
    assert reverted(project.python(f"import sys; sys.executable = {str(wrapper)!r}; {USE}", revert="7"))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems take no such names")
def test_names_that_are_not_utf8(project: Project) -> None:
    base = os.fsencode(project.root) + b"/b\xff\xfed"
    os.mkdir(base)
    os.rename(project.site, base + b"/site")
    os.rename(project.fixes, base + b"/fixes")
    env = {name: os.fsencode(value) for name, value in project.env("7").items()}
    env.update(PYTHONPATH=base + b"/site", PRTOGGLE_PATH=base + b"/fixes")
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", USE], env=env, cwd=project.root, capture_output=True, timeout=60)
        assert done.stdout == b"reverted\n", done.stderr


@pytest.mark.parametrize("selection", ["7\n7", "7;", "7,,7", "\u0667", "7/", "none,", "None", "0", "7\x1b[31m"])
def test_a_selection_that_means_nothing_is_refused(project: Project, selection: str) -> None:
    assert told(project.python(USE, revert=selection))


def test_a_selection_of_many_thousand_items(project: Project) -> None:
    assert reverted(project.python(USE, revert=" , ".join(["7"] * 20_000)))


def test_an_interrupted_plan_is_made_again(project: Project) -> None:
    code = """
    import signal
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.03)
    try:
        import app.core
        signal.pause()
    except KeyboardInterrupt:
        pass
    import app.core
    print(app.core.f())
    """
    assert reverted(project.python(code, revert="7"))


def test_a_fork_while_a_thread_makes_the_plan(project: Project) -> None:
    """The child never runs fixed code. (Python itself can leave it an import lock that a thread of the parent held, or a
    module half imported: then it ends otherwise.)"""
    project.package({"second/__init__.py": "", "second/core.py": CORE})
    project.fix(8, target="second.core.f", edits=EDIT, slug="y")
    code = """
    import os, signal, threading, time
    def load():
        import app.core
    thread = threading.Thread(target=load)
    thread.start()
    time.sleep(0.03)
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        import second.core
        os._exit(0 if second.core.f() == "reverted" else 3)
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 3
    import app.core
    print(app.core.f())
    """
    assert reverted(project.python(code, revert="7,8"))


def test_a_fork_in_the_middle_of_the_target(project: Project) -> None:
    fork = "import os\nchild = os.fork()\n"
    project.package({"app/core.py": fork + CORE + "if child == 0:\n    os._exit(f() != 'reverted')\n"})
    assert reverted(project.python("import os\n" + USE + "\nassert os.wait()[1] == 0", revert="7"))


def test_a_sub_interpreter(project: Project) -> None:
    code = f"import _xxsubinterpreters as s; s.run_string(s.create(), {USE!r} + ';import sys; sys.stdout.flush()')"
    if sys.version_info >= (3, 13):
        code = code.replace("_xxsubinterpreters", "_interpreters")
    elif sys.version_info >= (3, 12):  # one with a lock of its own reverts too, and then Python 3.12.1 dies at its end
        code = code.replace("s.create()", "s.create(isolated=False)")
    done = project.python(code, revert="7")
    assert reverted(done), done.err


# The private store ------------------------------------------------------------------------------------------------------


def test_twenty_cold_starts_at_once(project: Project) -> None:
    with ThreadPoolExecutor(20) as pool:
        done = Counter(each.out for each in pool.map(lambda _: project.python(USE, revert="7"), range(20)))
    assert done == {"reverted\n": 20}
    left = Counter(path.name.partition("-")[0] for path in (project.cache / "runtime").iterdir())
    assert left == {"plan": 1, "code": 1}


def test_cold_starts_killed_at_random_leave_a_store_that_works_and_the_tree_as_it_was(project: Project) -> None:
    project.python(USE)  # the target's ordinary bytecode
    before, chance = tree_hashes(project.site), random.Random(7)
    for _ in range(12):
        process = subprocess.Popen(
            [sys.executable, "-c", USE], env=project.env("7"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(chance.uniform(0.02, 0.4))
        process.kill()
        process.wait()
        assert tree_hashes(project.site) == before
    assert reverted(project.python(USE, revert="7"))
    assert project.python(USE).out == "fixed\n"


@pytest.mark.parametrize("cut", [0, 5, 20, 40, -1])
def test_an_entry_of_the_store_that_is_cut_short_or_altered_is_not_used(project: Project, cut: int) -> None:
    project.python(USE, revert="7")
    for path in (project.cache / "runtime").iterdir():
        whole = path.read_bytes()
        for data in (whole[:cut], whole[:cut] + bytes([whole[cut] ^ 1]) + whole[cut:][1:], whole + b"x"):
            path.write_bytes(data)
            assert reverted(project.python(USE, revert="7"))


def test_a_source_that_changed_with_size_and_time_kept_is_noticed(project: Project) -> None:
    file = project.site / "app" / "core.py"
    assert reverted(project.python(USE, revert="7"))
    kept = file.stat()
    file.write_text(CORE.replace("fixed", "other"))
    os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert told(project.python(USE, revert="7"))


def test_an_upgrade_with_size_and_time_kept_is_noticed(project: Project) -> None:
    info = project.site / "app-1.0.dist-info"
    project.package({f"{info.name}/METADATA": "Name: app\nVersion: 1.0\n\n", f"{info.name}/RECORD": "app/core.py,,\n"})
    patch = project.fixes / "pr7_x" / "revert.yaml"
    patch.write_text(patch.read_text().replace("  - package: app\n", "  - package: app\n    versions: '<2.0'\n"))
    assert reverted(project.python(USE, revert="7"))
    kept = (info / "METADATA").stat()
    (info / "METADATA").write_text("Name: app\nVersion: 2.0\n\n")
    os.utime(info / "METADATA", ns=(kept.st_atime_ns, kept.st_mtime_ns))
    done = project.python(USE, revert="7")
    assert told(done) and "app 2.0" in done.err


def test_a_clock_that_went_back(project: Project) -> None:
    project.python(USE, revert="7")
    for path in project.cache.rglob("*"):
        os.utime(path, (2e9, 2e9))
    assert reverted(project.python(USE, revert="7"))
