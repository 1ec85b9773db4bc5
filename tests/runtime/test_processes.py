"""In every process: every way of starting one, what must not be touched, and what stays as it was."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.runtime.project import Project, tree_hashes

CORE = """
def f():
    return "fixed"


def g():
    return f()
"""
SHOW = "import app.core; print(app.core.f())"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.package(
        {"app/__init__.py": "", "app/core.py": CORE, "app/__main__.py": "from app.core import f\nprint(f())\n"}
    )
    made.fix(7, target="app.core.f", edits='- match: return "fixed"\n  replacement: return "reverted"')
    return made


def test_the_variable_alone_reverts(project: Project) -> None:
    assert project.python(SHOW).out == "fixed\n"
    done = project.python(SHOW, revert="7")
    assert (done.code, done.out, done.err) == (0, "reverted\n", "")
    assert len(done.notices) == 1 and "7 reverted in app" in done.notices[0]


def test_one_line_says_so_once_and_can_be_stopped(project: Project) -> None:
    done = project.python(SHOW + "; import app.core as c, importlib; importlib.reload(c); print(c.f())", revert="7")
    assert done.out == "reverted\nreverted\n" and len(done.notices) == 1
    assert project.python(SHOW, revert="7", PRTOGGLE_QUIET="1").notices == ()


@pytest.mark.parametrize(
    "flags", [("-E",), ("-I",), ("-s",), ("-P",), ("-O",), ("-OO",), ("-B",), ("-X", "dev"), ("-I", "-O")]
)
def test_interpreter_flags_do_not_keep_it_out(project: Project, flags: tuple[str, ...]) -> None:
    if "-P" in flags and sys.version_info < (3, 11):
        pytest.skip("-P came with Python 3.11")
    code = f"import sys; sys.path.insert(0, {str(project.site)!r}); " + SHOW
    for _ in range(2):
        assert project.python(code, revert="7", flags=flags).out == "reverted\n"
        assert project.python(code, flags=flags).out == "fixed\n"


def test_run_as_a_module(project: Project) -> None:
    assert project.python(["-m", "app"], revert="7").out == "reverted\n"
    project.package({"app/tool.py": "def f():\n    return 'fixed'\nif __name__ == '__main__':\n    print(f())\n"})
    project.fix(8, target="app.tool.f", edits="- match: return 'fixed'\n  replacement: return 'reverted'")
    assert project.python(["-m", "app.tool"], revert="8").out == "reverted\n"
    assert (
        project.python("import runpy; runpy.run_module('app.tool', run_name='__main__')", revert="8").out
        == "reverted\n"
    )


CHILD = {
    "spawn": "import multiprocessing as m\nfrom app.work import job\nif __name__ == '__main__':\n    c = m.get_context('spawn')\n"
    "    with c.Pool(1) as p: print(p.apply(job))\n",
    "fork": "import multiprocessing as m\nfrom app.work import job\nif __name__ == '__main__':\n    c = m.get_context('fork')\n"
    "    with c.Pool(1) as p: print(p.apply(job))\n",
    "forkserver": "import multiprocessing as m\nfrom app.work import job\nif __name__ == '__main__':\n    c = m.get_context('forkserver')\n"
    "    with c.Pool(1) as p: print(p.apply(job))\n",
    "subprocess": "import subprocess, sys\nprint(subprocess.check_output([sys.executable, '-c', 'import app.work; print(app.work.job())'],"
    " text=True), end='')\n",
    "fork before the import": "import os, sys\nr, w = os.pipe()\npid = os.fork()\nif not pid:\n    import app.work\n"
    "    os.write(w, app.work.job().encode())\n    os._exit(0)\nos.waitpid(pid, 0)\nprint(os.read(r, 99).decode())\n",
}


@pytest.mark.parametrize("way", CHILD)
def test_child_processes_are_reached(project: Project, way: str) -> None:
    project.package({"app/work.py": "from app.core import f\ndef job():\n    return f()\n"})
    script = project.root / "script.py"
    script.write_text(CHILD[way])
    assert project.python([str(script)]).out == "fixed\n"
    done = project.python([str(script)], revert="7")
    assert (done.out, done.code) == ("reverted\n", 0), done.err


def test_eight_threads_importing_at_once(project: Project) -> None:
    names = [f"m{n}" for n in range(8)]
    project.package({f"app/{name}.py": "from app.core import f\nvalue = f()\n" for name in names})
    done = project.python(
        f"""
        import importlib, threading
        start, seen = threading.Barrier(8), []
        def work(name):
            start.wait()
            seen.append(importlib.import_module("app." + name).value)
        threads = [threading.Thread(target=work, args=(n,)) for n in {names}]
        [t.start() for t in threads]; [t.join() for t in threads]
        print(seen)
        """,
        revert="7",
    )
    assert done.out == str(["reverted"] * 8) + "\n", done.err
    assert len(done.notices) == 1


def test_plain_and_reverted_processes_do_not_disturb_each_other(project: Project) -> None:
    for _ in range(3):
        assert project.python(SHOW, revert="7").out == "reverted\n"
        assert project.python(SHOW).out == "fixed\n"
    for _ in range(2):  # and with ordinary bytecode not written at all
        assert project.python(SHOW, revert="7", PYTHONDONTWRITEBYTECODE="1").out == "reverted\n"
        assert project.python(SHOW, PYTHONDONTWRITEBYTECODE="1").out == "fixed\n"


def test_sources_and_bytecode_files_stay_byte_for_byte(project: Project) -> None:
    project.python(SHOW)
    before = tree_hashes(project.site)
    assert any(name.endswith(".pyc") for name in before)
    for _ in range(2):
        assert project.python(SHOW, revert="7").out == "reverted\n"
    assert tree_hashes(project.site) == before


def test_a_reverted_process_that_comes_first_writes_no_bytecode_of_the_module(project: Project) -> None:
    assert project.python(SHOW, revert="7").out == "reverted\n"
    assert not [name for name in tree_hashes(project.site) if "core" in name and name.endswith(".pyc")]
    assert project.python(SHOW).out == "fixed\n"


@pytest.mark.slow
def test_kill_9_at_any_moment_leaves_the_tree_as_it_was(project: Project) -> None:
    project.python(SHOW)
    before = {name: hashlib.sha256(data).hexdigest() for name, data in tree_hashes(project.site).items()}
    for step in range(12):
        shutil.rmtree(project.cache, ignore_errors=True)
        child = subprocess.Popen(
            [sys.executable, "-c", SHOW + "; import time; time.sleep(5)"], env=project.env("7"), stderr=-1, stdout=-1
        )
        time.sleep(0.04 * step)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.communicate()
        after = {name: hashlib.sha256(data).hexdigest() for name, data in tree_hashes(project.site).items()}
        assert after == before
    assert project.python(SHOW, revert="7").out == "reverted\n"
    assert project.python(SHOW).out == "fixed\n"


def test_a_warm_start_asks_no_resolver_process(project: Project) -> None:
    assert project.python(SHOW, revert="7").out == "reverted\n"
    probe = (
        "import sys\n"
        + SHOW
        + "\nprint('subprocess' in sys.modules, 'yaml' in sys.modules, 'prtoggle.plan' in sys.modules)"
    )
    assert project.python(probe, revert="7").out == "reverted\nFalse False False\n"


def test_the_cache_is_used_and_a_damaged_entry_is_not(project: Project) -> None:
    assert project.python(SHOW, revert="7").out == "reverted\n"
    kept = sorted((project.cache / "runtime").iterdir())
    assert {path.name.partition("-")[0] for path in kept} == {"plan", "code"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept)
    for path in kept:
        data = path.read_bytes()
        path.write_bytes(data[:-3] + bytes([data[-3] ^ 1]) + data[-2:])
    assert project.python(SHOW, revert="7").out == "reverted\n"
    for path in kept:
        path.write_bytes(path.read_bytes()[:20])
    assert project.python(SHOW, revert="7").out == "reverted\n"


def test_a_changed_source_file_a_changed_patch_and_a_changed_selection_are_noticed(project: Project) -> None:
    assert project.python(SHOW, revert="7").out == "reverted\n"
    project.package({"app/core.py": CORE + "\n# changed\n"})
    assert project.python(SHOW, revert="7").out == "reverted\n"
    project.fix(7, target="app.core.f", edits='- match: return "fixed"\n  replacement: return "reverted again"')
    assert project.python(SHOW, revert="7").out == "reverted again\n"
    assert project.python(SHOW, revert="none").out == "fixed\n"
    project.package({"app/core.py": "def f():\n    return 'other'\n"})
    assert project.python(SHOW, revert="7").code != 0


@pytest.mark.parametrize("how", ["read-only", "a file", "full"])
def test_without_a_cache_folder_it_works_all_the_same(project: Project, how: str) -> None:
    if how == "read-only":
        where = "/proc/prtoggle"
    elif how == "full":
        where = "/dev/full/prtoggle"
    else:
        (project.root / "taken").write_text("")
        where = str(project.root / "taken")
    for _ in range(2):
        assert project.python(SHOW, revert="7", PRTOGGLE_CACHE=where).out == "reverted\n"


def test_a_disk_that_fills_up_while_the_cache_is_written(project: Project) -> None:
    """The file size limit makes every write of the cache fail half way, as a full disk does."""
    code = "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
    assert project.python(code + SHOW, revert="7").out == "reverted\n"
    runtime = project.cache / "runtime"
    assert not runtime.exists() or list(runtime.iterdir()) == []


def test_a_cache_that_another_user_could_write_is_not_read(project: Project) -> None:
    runtime = project.cache / "runtime"
    runtime.mkdir(parents=True)
    runtime.chmod(0o777)
    assert project.python(SHOW, revert="7").out == "reverted\n"
    assert list(runtime.iterdir()) == []


def test_a_checkout_in_the_current_folder_shadows_the_installed_copy(project: Project) -> None:
    here = project.root / "checkout"
    project.package(
        {"app/__init__.py": "", "app/core.py": "def f():\n    x = 'checkout'\n    return \"fixed\"\n"}, where=here
    )
    done = project.python("import app.core; print(app.core.f(), app.core.__file__)", revert="7", cwd=here)
    assert done.out == f"reverted {here / 'app/core.py'}\n", done.err


def test_a_namespace_package(project: Project) -> None:
    project.package({"space/inner/core.py": CORE})
    project.fix(9, target="space.inner.core.f", edits='- match: return "fixed"\n  replacement: return "reverted"')
    assert project.python("import space.inner.core as c; print(c.f())", revert="9").out == "reverted\n"


def test_a_single_file_module(project: Project) -> None:
    project.package({"single.py": CORE})
    project.fix(9, target="single.f", edits='- match: return "fixed"\n  replacement: return "reverted"')
    assert project.python("import single; print(single.f())", revert="9").out == "reverted\n"
    assert project.python(["-m", "single"], revert="9").code == 0


def test_the_package_itself_can_be_edited(project: Project) -> None:
    project.package({"app/__init__.py": "STATE = 'fixed'\n"})
    project.fix(9, target="app", edits="- match: STATE = 'fixed'\n  replacement: STATE = 'reverted'")
    assert project.python(
        "import app; print(app.STATE, app.__path__ is not None, app.__file__)", revert="9"
    ).out.startswith("reverted True")


def test_an_editable_install_by_a_finder_of_its_own(project: Project) -> None:
    source = project.root / "elsewhere" / "src"
    project.package({"edit/__init__.py": "", "edit/core.py": CORE}, where=source)
    project.package(
        {
            "my_finder.py": f"""
            import sys, importlib.util
            class Finder:
                def find_spec(self, name, path=None, target=None):
                    if name == "edit":
                        return importlib.util.spec_from_file_location(name, {str(source / "edit/__init__.py")!r})
            sys.meta_path.append(Finder())
            """
        }
    )
    project.fix(9, target="edit.core.f", edits='- match: return "fixed"\n  replacement: return "reverted"')
    assert project.python("import my_finder, edit.core; print(edit.core.f())", revert="9").out == "reverted\n"


def test_an_import_hook_that_changes_the_source_itself_keeps_working(project: Project) -> None:
    hook = """
    import sys
    from importlib.machinery import SourceFileLoader, PathFinder
    class Shouting(SourceFileLoader):
        def source_to_code(self, data, path, *, _optimization=-1):
            return super().source_to_code(bytes(data).replace(b'return "', b'return "hook:'), path)
    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name.startswith("app."):
                spec = PathFinder.find_spec(name, path, target)
                spec.loader = Shouting(name, spec.origin)
                return spec
    sys.meta_path.insert(0, Finder())
    """
    project.package({"hook.py": hook})
    assert project.python("import hook\n" + SHOW, PYTHONDONTWRITEBYTECODE="1").out == "hook:fixed\n"
    assert project.python("import hook\n" + SHOW, revert="7").out == "hook:reverted\n"


def test_a_lazy_loader_is_reverted_too(project: Project) -> None:
    code = """
    import importlib.util, sys, app
    spec = importlib.util.find_spec("app.core")
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules["app.core"] = module
    spec.loader.exec_module(module)
    print(module.f())
    """
    assert project.python(code, revert="7").out == "reverted\n"


def test_pytest_with_its_own_import_hook_beside(project: Project) -> None:
    test = project.root / "test_app.py"
    test.write_text("import app.core\ndef test_it():\n    assert app.core.f() == 'reverted'\n")
    fixed = project.python(["-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)])
    assert fixed.code == 1
    done = project.python(["-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)], revert="7")
    assert done.code == 0, done.out


def test_a_loader_that_cannot_take_the_text_is_refused_by_name(project: Project) -> None:
    test = project.root / "test_app.py"
    test.write_text("def test_it():\n    import app.core\n")
    (project.root / "conftest.py").write_text("import pytest\npytest.register_assert_rewrite('app')\n")
    done = project.python(["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_app.py"], revert="7")
    assert done.code == 1
    assert "AssertionRewritingHook" in done.out and "RevertRefusedError" in done.out


def test_a_hook_that_gets_in_front_is_never_silent(project: Project) -> None:
    hook = """
    import sys
    from importlib.machinery import PathFinder
    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == "app.core":
                return PathFinder.find_spec(name, path, target)
    import app
    sys.meta_path.insert(0, Finder())
    import app.core
    print(app.core.f())
    """
    project.package({"hook.py": hook})
    done = project.python("import hook", revert="7")
    assert done.out == "reverted\n" or any("ERROR" in line and "app.core" in line for line in done.notices)


def test_reload_and_a_second_boot_change_nothing(project: Project) -> None:
    code = """
    from prtoggle.runtime import boot
    boot.boot(); boot.boot()
    import sys, importlib, app.core
    importlib.reload(app.core)
    print(app.core.f(), sum(type(f).__module__.startswith("prtoggle") for f in sys.meta_path))
    """
    assert project.python(code, revert="7").out == "reverted 1\n"


def test_a_users_own_modules_called_as_ours_break_nothing(project: Project) -> None:
    shadow = {
        name: "raise RuntimeError('a user module was imported')\n"
        for name in ("yaml.py", "packaging.py", "unidiff.py", "plan.py")
    }
    project.package({**shadow, "fixes/__init__.py": "MINE = 1\n"})
    done = project.python("import fixes; print(fixes.MINE); " + SHOW, revert="7")
    assert done.out == "1\nreverted\n", done.err


def test_file_spec_and_data_stay_as_they_were(project: Project) -> None:
    project.package({"app/data.txt": "data"})
    probe = """
    import app.core as c, pkgutil, importlib.resources as r
    print(c.__file__, c.__cached__, c.__spec__.origin, type(c.__loader__).__name__, c.__package__, c.__spec__.parent)
    print(pkgutil.get_data("app", "data.txt"), (r.files("app") / "data.txt").read_text())
    """
    assert project.python(probe, revert="7").out == project.python(probe).out


def test_two_fixes_of_one_function_and_parts_alone(project: Project) -> None:
    project.package({"app/core.py": "def f():\n    a = 'fixed'\n    b = 'fixed'\n    return a, b\n"})
    project.fix(7, target="app.core.f", edits="- match: a = 'fixed'\n  replacement: a = 'seven'")
    project.fix(8, target="app.core.f", edits="- match: b = 'fixed'\n  replacement: b = 'eight'")
    assert project.python(SHOW, revert="7,8").out == "('seven', 'eight')\n"
    assert project.python(SHOW, revert="8").out == "('fixed', 'eight')\n"
    parts = "parts:\n  one: first\n  two: second\ndefault: [one]"
    project.fix(
        9,
        target="app.core.f",
        edits="- part: one\n  match: a = 'fixed'\n  replacement: a = 'one'\n- part: two\n  match: b = 'fixed'\n  replacement: b = 'two'",
        extra=parts,
    )
    assert project.python(SHOW, revert="9").out == "('one', 'fixed')\n"
    assert project.python(SHOW, revert="9/two").out == "('fixed', 'two')\n"
    assert project.python(SHOW, revert="9/all").out == "('one', 'two')\n"


def test_a_process_that_never_imports_a_target_is_left_alone(project: Project) -> None:
    done = project.python("import json, sys; print('subprocess' in sys.modules)", revert="12345")
    assert (done.code, done.out, done.err, done.notices) == (0, "False\n", "", ())


def test_with_nothing_selected_nothing_is_loaded(project: Project) -> None:
    probe = "import sys; print([name for name in sys.modules if name.startswith('prtoggle')])"
    assert project.python(probe).out == "[]\n"
    assert project.python(probe, revert="").out == "[]\n"


def test_the_runtime_loads_only_what_is_cheap(project: Project) -> None:
    probe = "import sys; print(sorted(set(sys.modules) - before))"
    plain = project.python("import sys; print(' '.join(sys.modules))")
    loaded = project.python("import sys; print(' '.join(sys.modules))", revert="7")
    extra = set(loaded.out.split()) - set(plain.out.split())
    heavy = {
        "click",
        "rich",
        "torch",
        "yaml",
        "unidiff",
        "packaging",
        "dataclasses",
        "typing",
        "re",
        "json",
        "subprocess",
        "inspect",
        "ast",
    }
    assert probe and not extra & heavy, extra & heavy
    assert all(
        name.startswith("prtoggle") or name in {"__future__", "_blake2", "atexit", "_json", "marshal", "time"}
        for name in extra
    ), extra


WAYS_TO_SEE = textwrap.dedent(
    """
    import app.core as c, inspect, linecache, traceback, sys, threading, pdb, io, tokenize
    linecache.clearcache(); linecache.checkcache()
    print(inspect.getsource(c.f)); print(inspect.getsource(c)); print(c.__loader__.get_source("app.core"))
    try: c.boom()
    except ZeroDivisionError: print(traceback.format_exc())
    linecache.clearcache()
    out = io.StringIO()
    pdb.Pdb(stdout=out, stdin=io.StringIO("l 1,9\\n"))
    print(linecache.getline(c.__file__, 2), inspect.getsourcelines(c.boom))
    """
)


def test_what_runs_is_what_you_see(tmp_path: Path) -> None:
    project = Project(tmp_path)
    fixed = 'def f():\n    x = 1\n    y = 2\n    return "fixed"\n\n\ndef boom():\n    return 1 / 0\n'
    by_hand = 'def f():\n    return "reverted"\n\n\ndef boom():\n    return 1 / 0\n'
    project.package({"app/__init__.py": "", "app/core.py": fixed})
    project.fix(
        7,
        target="app.core.f",
        edits='- match: |\n    x = 1\n    y = 2\n    return "fixed"\n  replacement: return "reverted"',
    )
    hand = project.package({"app/__init__.py": "", "app/core.py": by_hand}, where=tmp_path / "hand")
    expected = project.python(WAYS_TO_SEE, PYTHONPATH=str(hand)).out.replace(str(hand), str(project.site))
    assert project.python(WAYS_TO_SEE, revert="7").out == expected
    assert 'return "reverted"' in expected


@pytest.mark.parametrize("where", ["main", "thread", "unraisable"])
def test_uncaught_exceptions_print_the_reverted_lines(tmp_path: Path, where: str) -> None:
    project = Project(tmp_path)
    project.package({"app/__init__.py": "", "app/core.py": "def f():\n    a = 1\n    b = 2\n    return fixed_name\n"})
    project.fix(
        7,
        target="app.core.f",
        edits="- match: |\n    b = 2\n    return fixed_name\n  replacement: return reverted_name",
    )
    code = {
        "main": "import app.core; app.core.f()",
        "thread": "import app.core, threading; t = threading.Thread(target=app.core.f); t.start(); t.join()",
        "unraisable": "import app.core\nclass D:\n    def __del__(self): app.core.f()\nD()",
    }[where]
    for _ in range(2):
        err = project.python(code, revert="7").err
        assert "return reverted_name" in err and "fixed_name" not in err.replace("reverted_name", ""), err


def test_torn_state_is_impossible_when_a_later_patch_fails(project: Project) -> None:
    project.package({"app/second.py": "def g():\n    return 'moved'\n"})
    project.fix(8, target="app.second.g", edits="- match: return 'gone'\n  replacement: return 'x'")
    code = "try:\n    import app.core\nexcept ImportError:\n    print('swallowed')\nprint('running')"
    done = project.python(code, revert="7,8")
    assert done.code != 0 and "running" not in done.out and "swallowed" not in done.out
    assert "8" in done.err and "rot" in done.err


def test_the_child_environment_reaches_programs_started_by_full_path(project: Project) -> None:
    script = project.root / "tool.py"
    script.write_text(SHOW)
    done = subprocess.run(
        [sys.executable, str(script)], env=project.env("7"), capture_output=True, text=True, cwd=os.path.sep
    )
    assert done.stdout == "reverted\n"


def test_everything_takes_out_what_applies_and_says_what_it_skips(project: Project) -> None:
    project.fix(8, target="app.core.g", edits="- match: return f()\n  replacement: return 'g ' + f()")
    project.fix(9, target="app.core.gone", edits="- match: x\n  replacement: y")
    done = project.python("import app.core; print(app.core.g())", revert="all")
    assert done.out == "g reverted\n", done.err
    assert "9 skipped: rot: app.core.gone" in done.notices[0] and "7, 8 reverted" in done.notices[0]


def test_an_import_error_inside_a_reverted_module_is_not_masked(project: Project) -> None:
    project.package({"app/core.py": CORE + "import no_such_module_here\n"})
    done = project.python("try:\n    import app.core\nexcept ImportError as error:\n    print(error.name)", revert="7")
    assert done.out == "no_such_module_here\n", done.err


def test_a_revert_whose_module_is_never_imported_is_said_at_the_end(project: Project) -> None:
    done = project.python("import app", revert="7")
    assert (done.code, len(done.notices)) == (0, 1)
    assert "took no effect here" in done.notices[0] and "app.core" in done.notices[0]


def test_a_notice_is_one_line_whatever_the_command_is(project: Project) -> None:
    done = project.python("import app.core\n\nprint(app.core.f())\n", revert="7")
    assert (done.out, done.err, len(done.notices)) == ("reverted\n", "", 1)
