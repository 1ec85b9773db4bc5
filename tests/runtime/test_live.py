"""Taking fixes out of a running process and putting them back, each test in a real process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.project import Done, Project
from tests.runtime.test_hard_cases import lines

ROOT = Path(__file__).resolve().parents[2]

CORE = """
def f():
    return "f fixed"
def g():
    return "g fixed"
def h():
    return f(), g()
"""
OTHER = """
def k():
    return "k fixed"
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.package({"app/__init__.py": "", "app/core.py": CORE, "app/other.py": OTHER})
    made.fix(7, target="app.core.f", edits='- match: return "f fixed"\n  replacement: return "f reverted"')
    made.fix(8, target="app.core.g", edits='- match: return "g fixed"\n  replacement: return "g reverted"')
    made.fix(9, target="app.other.k", edits='- match: return "k fixed"\n  replacement: return "k reverted"')
    return made


def run(project: Project, code: str, revert: str | None = None, **env: str) -> Done:
    env.setdefault("PYTHONPATH", f"{project.site}:{ROOT}")
    done = project.python(code, revert=revert, **env)
    assert done.code == 0, done.err
    return done


def test_prtoggle_itself_imports_nothing_for_it(project: Project) -> None:
    code = """
        import sys; before = set(sys.modules); import prtoggle
        print(set(sys.modules) - before, "reverted" in dir(prtoggle), hasattr(prtoggle, "nothing"))
    """
    assert run(project, code).out == "{'prtoggle'} True False\n"


def test_within_the_block_it_is_out_and_behind_it_it_is_in(project: Project) -> None:
    code = """
        import app.core as m, prtoggle
        with prtoggle.reverted("7"): print(m.h())
        print(m.h())
        try:
            with prtoggle.reverted("7"): raise KeyError(m.f())
        except KeyError as error: print(error)
        print(m.h())
    """
    assert run(project, code).out.splitlines() == [
        "('f reverted', 'g fixed')",
        "('f fixed', 'g fixed')",
        "'f reverted'",
        "('f fixed', 'g fixed')",
    ]


def test_any_order_of_reverts_and_restores_ends_in_what_is_out(project: Project) -> None:
    code = """
        import itertools, app.core as m, app.other as o, prtoggle
        for order in itertools.permutations("789"):
            for number in order: prtoggle.revert(number)
            assert (*m.h(), o.k()) == ("f reverted", "g reverted", "k reverted"), order
            left = set("789")
            for number in order[1:]:
                prtoggle.restore(number)
                left.discard(number)
                now = (*m.h(), o.k())
                assert [n for n, text in zip("789", now) if "reverted" in text] == sorted(left), (order, now)
            prtoggle.restore()
            assert (*m.h(), o.k()) == ("f fixed", "g fixed", "k fixed")
        print("fine")
    """
    assert run(project, code).out == "fine\n"


def test_a_part_that_is_out_already_is_said_and_stays_out_behind_the_block(project: Project) -> None:
    code = """
        import app.core as m, prtoggle
        prtoggle.revert("7")
        with prtoggle.reverted("7,8") as done: print(done["reverted"], done["already"])
        print(m.h())
    """
    assert run(project, code).out == "('8',) ('7',)\n('f reverted', 'g fixed')\n"


def test_blocks_that_overlap_are_each_reverted_to_their_end(project: Project) -> None:
    code = """
        import app.core as m, prtoggle
        for first, second in ((0, 1), (1, 0)):
            blocks = [prtoggle.reverted("7"), prtoggle.reverted("7,8")]
            for each in blocks: each.__enter__()
            blocks[first].__exit__(None, None, None)
            print(m.h())
            blocks[second].__exit__(None, None, None)
            print(m.h())
    """
    assert run(project, code).out.splitlines() == [
        "('f reverted', 'g reverted')",
        "('f fixed', 'g fixed')",
        "('f reverted', 'g fixed')",
        "('f fixed', 'g fixed')",
    ]


def test_a_block_ends_quietly_where_somebody_put_the_part_back_meanwhile(project: Project) -> None:
    code = """
        import app.core as m, prtoggle
        with prtoggle.reverted("7,8"):
            prtoggle.restore("7")
            print(m.h())
        print(m.h())
        with prtoggle.reverted("7"):
            prtoggle.restore("7")
            prtoggle.revert("7")
        print(m.f(), "until it is restored")
    """
    assert run(project, code).out.splitlines() == [
        "('f fixed', 'g reverted')",
        "('f fixed', 'g fixed')",
        "f reverted until it is restored",
    ]


def test_where_one_of_several_cannot_change_none_does(project: Project) -> None:
    project.package({"app/last.py": "LIMIT = 'fixed'\n"})
    project.fix(10, target="app.last", edits="- match: LIMIT = 'fixed'\n  replacement: LIMIT = 'reverted'")
    code = """
        import app.core as m, app.other as o, app.last, prtoggle
        try: prtoggle.revert("7,8,9,10")
        except prtoggle.errors.RefusedError as error: print(error)
        print(m.h(), o.k(), prtoggle.status()["parts"])
    """
    out = run(project, code).out
    assert "app.last: line 1" in out and "hint: restart the process with PRTOGGLE_REVERT=7,8,9,10 set" in out
    assert out.endswith("('f fixed', 'g fixed') k fixed []\n")


def test_a_module_that_is_imported_later_comes_reverted_and_reload_keeps_it(project: Project) -> None:
    code = """
        import app.core as m, importlib, prtoggle
        prtoggle.revert("7,9")
        import app.other as o
        print(m.f(), o.k())
        importlib.reload(m); importlib.reload(o)
        print(m.f(), o.k())
        prtoggle.restore("9")
        print(m.f(), o.k())
        importlib.reload(m); importlib.reload(o)
        print(m.f(), o.k())
        prtoggle.restore()
        print(m.f(), o.k())
    """
    done = run(project, code)
    assert done.out.splitlines() == [
        "f reverted k reverted",
        "f reverted k reverted",
        "f reverted k fixed",
        "f reverted k fixed",
        "f fixed k fixed",
    ]
    assert not any("ERROR" in line for line in done.notices)


def test_a_package_that_nobody_imported_yet_comes_reverted(project: Project) -> None:
    code = """
        import prtoggle
        prtoggle.revert("7")
        import app.core as m
        print(m.h())
        prtoggle.restore()
        print(m.h())
    """
    assert run(project, code).out == "('f reverted', 'g fixed')\n('f fixed', 'g fixed')\n"


def test_what_the_variable_took_out_can_be_put_back_and_more_taken_out(project: Project, installed: str) -> None:
    code = """
        import app.core as m, inspect, prtoggle
        print(m.h(), [(p["part"], p["how"]) for p in prtoggle.status()["parts"]])
        prtoggle.revert("8")
        print(m.h(), [(p["part"], p["how"]) for p in prtoggle.status()["parts"]])
        prtoggle.restore("7")
        print(m.h(), [(p["part"], p["how"]) for p in prtoggle.status()["parts"]])
        prtoggle.restore()
        print(m.h(), prtoggle.status()["parts"], "fixed" in inspect.getsource(m.f))
    """
    done = run(project, code, revert="7", PYTHONPATH=str(project.site))
    assert done.out.splitlines() == [
        "('f reverted', 'g fixed') [('7', 'import')]",
        "('f reverted', 'g reverted') [('7', 'import'), ('8', 'live')]",
        "('f fixed', 'g reverted') [('8', 'live')]",
        "('f fixed', 'g fixed') [] True",
    ]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ('revert("77")', "SelectionError: no fix has the number 77"),
        ('revert("none")', "SelectionError: nothing is selected"),
        ('revert("7/")', "SelectionError: selection:1:3: a part's name is missing"),
        ('restore("7")', "SelectionError: 7 is not reverted in this process"),
        ('restore("8,7")', "SelectionError: 7 is not reverted in this process"),
    ],
)
def test_what_means_nothing_here_is_an_error(project: Project, call: str, said: str) -> None:
    code = f"""
        import app.core as m, prtoggle
        if "8" in {call!r}: prtoggle.revert("8")
        try: prtoggle.{call}
        except Exception as error: print(f"{{type(error).__name__}}: {{error}}")
    """
    assert run(project, code).out.startswith(said)


def test_functions_are_found_after_gc_freeze_and_where_only_c_holds_them(project: Project) -> None:
    code = """
        import functools, gc, itertools, app.core as m, prtoggle
        held = itertools.starmap(m.f, [(), ()])
        del m.f
        gc.freeze()
        frozen = gc.get_freeze_count()
        prtoggle.revert("7")
        print(next(held), gc.get_freeze_count() >= frozen > 0)
    """
    assert run(project, code).out == "f reverted True\n"


def test_a_function_that_no_longer_exists_is_refused_by_name(project: Project) -> None:
    code = """
        import app.core as m, prtoggle
        del m.f
        try: prtoggle.revert("7")
        except Exception as error: print(error)
    """
    assert "app.core.f: no live function runs it" in run(project, code).out


def test_a_function_whose_code_somebody_rewrote_is_refused_by_name(project: Project) -> None:
    code = """
        import app.core as m, prtoggle
        m.f.__code__ = m.f.__code__.replace(co_consts=(None, "somebody's"))
        try: prtoggle.revert("7")
        except Exception as error: print(error)
        print(m.f())
    """
    out = run(project, code).out
    assert "app.core.f: runs code that" in out and out.endswith("somebody's\n")


def test_a_file_that_changed_since_it_was_imported_is_refused(project: Project) -> None:
    code = """
        import app.core as m, prtoggle
        text = open(m.__file__).read()
        open(m.__file__, "w").write("# moved" + text)
        open(m.__file__, "w").write("# moved\\n" + text)
        try: prtoggle.revert("7")
        except Exception as error: print(error)
        print(m.f())
    """
    out = run(project, code).out
    assert "the file changed since it was imported" in out and out.endswith("f fixed\n")


def test_force_changes_what_a_suspended_generator_ends_in_and_says_so(project: Project) -> None:
    project.package({"app/gen.py": "def gen():\n    yield 1\n    yield 'fixed'\n"})
    project.fix(11, target="app.gen.gen", edits="- match: yield 'fixed'\n  replacement: yield 'reverted'")
    code = """
        import app.gen as m, prtoggle
        running = m.gen(); next(running)
        done = prtoggle.revert("11", force=True)
        print(next(running), list(m.gen()))
        print(done["left"])
    """
    out = run(project, code).out.splitlines()
    assert out[0] == "fixed [1, 'reverted']"
    assert "generator gen" in out[1]


def test_a_thread_inside_is_named_and_everything_is_put_back(project: Project) -> None:
    project.package(
        {"app/loop.py": "def loop(stop):\n    while not stop.wait(0.001):\n        pass\n    return 'fixed'\n"}
    )
    project.fix(12, target="app.loop.loop", edits="- match: return 'fixed'\n  replacement: return 'reverted'")
    code = """
        import app.core as c, app.loop as m, prtoggle, threading
        stop = threading.Event()
        thread = threading.Thread(target=m.loop, args=(stop,), name="the loop"); thread.start()
        try: prtoggle.revert("7,12", timeout=0.2)
        except Exception as error: print(error)
        stop.set(); thread.join()
        print(c.f(), m.loop(stop), prtoggle.status()["parts"])
    """
    out = run(project, code).out
    assert "thread the loop: in loop" in out
    assert out.endswith("f fixed fixed []\n")


def test_code_of_the_file_under_another_path_changes_too(project: Project) -> None:
    (project.site / "app2").symlink_to("app")
    (project.site / "elsewhere.py").symlink_to("app/core.py")
    code = """
        import os, runpy, app.core as m, app2.core, elsewhere, prtoggle
        os.chdir(os.path.dirname(m.__file__))
        script = runpy.run_path("core.py")
        every = (m.h, app2.core.h, elsewhere.h, script["h"])
        with prtoggle.reverted("7"): print(*(each()[0] for each in every), sep=", ")
        print(*(each()[0] for each in every), sep=", ")
    """
    assert run(project, code).out.splitlines() == [
        "f reverted, f reverted, f reverted, f reverted",
        "f fixed, f fixed, f fixed, f fixed",
    ]


def test_copies_that_cloudpickle_made_change_too(project: Project) -> None:
    code = """
        import types, app.core as m, prtoggle
        def sent(function):  # as cloudpickle rebuilds a function that it sent by value, in a process that got it
            code = function.__code__.replace(co_filename="<dynamic-code>")
            made = types.FunctionType(code, {"__builtins__": __builtins__}, function.__name__)
            made.__module__ = function.__module__
            return made
        def stranger():
            return "stranger"
        copy, other = sent(m.f), sent(stranger)
        with prtoggle.reverted("7"): print(m.f(), copy(), other(), sep=", ")
        print(m.f(), copy(), other(), sep=", ")
    """
    assert run(project, code).out.splitlines() == [
        "f reverted, f reverted, stranger",
        "f fixed, f fixed, stranger",
    ]


def test_a_greenlet_that_is_switched_out_inside_is_named(project: Project) -> None:
    pytest.importorskip("greenlet")
    code = """
        import greenlet, app.other, prtoggle
        main = greenlet.getcurrent()
        app.other.k.__globals__["wait"] = main.switch
        inside = greenlet.greenlet(app.other.waits)
        inside.switch()
        try: prtoggle.revert("10")
        except Exception as error: print(error)
        print(prtoggle.revert("10", force=True)["left"])
        app.other.wait = int; print(inside.switch(), "-", app.other.waits())
    """
    project.package({"app/other.py": OTHER + "def waits():\n    wait()\n    return 'waits fixed'\n"})
    edits = "- match: return 'waits fixed'\n  replacement: return 'waits reverted'"
    project.fix(10, target="app.other.waits", edits=edits)
    out = run(project, code).out
    assert "app.other: a greenlet is switched out in waits at line 5, in code that is to change" in out
    assert out.splitlines()[-1] == "waits fixed - waits reverted"


def test_callbacks_are_called_and_what_is_baked_in_is_said(project: Project) -> None:
    edits = '- match: return "k fixed"\n  replacement: return "k reverted"'
    file = project.fix(13, target="app.other.k", edits=edits)
    file.write_text(file.read_text().replace("package: app\n", "package: app\n    baked_in: [cuda-graph]\n"))
    code = """
        import app.other as m, prtoggle
        @prtoggle.on_toggle
        def recapture(event): print(event.reverted, event.restored, event.baked_in, m.k())
        @prtoggle.on_toggle
        def broken(event): raise ValueError("broken")
        done = prtoggle.revert("13")
        print(done["warnings"])
        prtoggle.restore()
    """
    out = run(project, code).out.splitlines()
    assert out[0] == "('13',) () ('cuda-graph',) k reverted"
    assert "cuda-graph" in out[1] and "ValueError: broken" in out[1]
    assert out[2] == "() ('13',) ('cuda-graph',) k fixed"


def test_caches_of_results_are_cleared_and_named(project: Project) -> None:
    text = """
        import functools
        @functools.lru_cache
        def f():
            return "fixed"
        class C:
            @functools.cached_property
            def p(self):
                return "fixed"
            @functools.lru_cache
            def m(self):
                return "fixed"
    """
    project.package({"app/caches.py": text})
    edit = ('return "fixed"', 'return "reverted"')
    patches = "".join(lines(f"app.caches.{name}", edit) for name in ("f", "C.p", "C.m"))
    project.fix(14, patches=patches)
    code = """
        import app.caches as m, prtoggle
        c = m.C(); m.f(), c.p, c.m()
        print(sorted(prtoggle.revert("14")["cleared"]))
        print(m.f(), c.p, c.m())
        prtoggle.restore()
        print(m.f(), c.p, c.m())
    """
    out = run(project, code).out.splitlines()
    assert out[0].count("functools.lru_cache of") == 2 and "cached_property p computed on 1 object" in out[0]
    assert out[1:] == ["reverted reverted reverted", "fixed fixed fixed"]


def test_tracebacks_and_source_show_the_text_that_runs(project: Project) -> None:
    project.package({"app/lines.py": "def a():\n    return 1\ndef b():\n    return 1 / 0  # here\n"})
    project.fix(15, target="app.lines.a", edits="- match: return 1\n  replacement: |\n    x = 1\n    return x")
    code = """
        import app.lines as m, inspect, linecache, prtoggle, traceback
        def look():
            linecache.checkcache()
            try: m.b()
            except ZeroDivisionError as error: frame = traceback.extract_tb(error.__traceback__)[-1]
            print(frame.lineno, frame.line, inspect.getsource(m.a).count("x = 1"))
        look()
        with prtoggle.reverted("15"): look()
        look()
    """
    line = "return 1 / 0  # here"
    assert run(project, code).out.splitlines() == [f"4 {line} 0", f"5 {line} 1", f"4 {line} 0"]


def test_toggling_leaves_nothing_behind_also_where_the_collector_does_not_run(project: Project) -> None:
    code = """
        import app.core as m, gc, prtoggle, types
        gc.disable()
        def count(): return sum(type(o) is types.FunctionType and o.__code__.co_filename == m.__file__ for o in gc.get_objects())
        before, code = count(), m.f.__code__
        for _ in range(8):
            done = prtoggle.revert("7")
            prtoggle.restore()
        print(count() - before, done["functions"], m.f.__code__ is code)
    """
    assert run(project, code).out == "0 1 True\n"


def test_the_source_of_a_class_below_the_change_is_its_own(project: Project) -> None:
    text = "def a():\n    return 1\nclass C:\n    class D:\n        z = 1\n    def m(self):\n        return 2\n"
    project.package({"app/classes.py": text})
    project.fix(16, target="app.classes.a", edits="- match: return 1\n  replacement: |\n    x = 1\n    return x")
    code = """
        import app.classes as m, inspect, prtoggle
        one = [inspect.getsource(each) for each in (m.C, m.C.D, m.C.m)]
        with prtoggle.reverted("16"):
            two = [inspect.getsource(each) for each in (m.C, m.C.D, m.C.m)]
        three = [inspect.getsource(each) for each in (m.C, m.C.D, m.C.m)]
        print(one == two == three, len(set(one)))
    """
    assert run(project, code).out == "True 3\n"
