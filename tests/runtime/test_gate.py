"""The gate: functions change together under threads, or not at all."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

import pytest

from prtoggle.errors import RefusedError
from prtoggle.runtime.gate import FILE, Change, Exchanged, GateTimeout, exchange

Module = dict[str, Any]


def module(source: str, **names: object) -> Module:
    """The names that ``source`` defines."""
    made: Module = dict(names)
    exec(compile(source, "<module>", "exec", dont_inherit=True), made)
    return made


def change_to(made: Module, source: str, *names: str, **attributes: Any) -> list[Change]:
    """Changes that give the functions ``names`` of ``made`` the code that they have in ``source``."""
    other = module(source)
    return [Change(made[name], other[name].__code__, **attributes) for name in names]


@contextmanager
def threads(count: int, work: Callable[[threading.Event], None]) -> Iterator[None]:
    """``count`` threads that run ``work`` until the block ends; what one of them raises is raised here."""
    end = threading.Event()
    failed: list[BaseException] = []

    def guarded() -> None:
        try:
            work(end)
        except BaseException as error:
            failed.append(error)

    started = [threading.Thread(target=guarded, name=f"worker-{n}", daemon=True) for n in range(count)]
    for thread in started:
        thread.start()
    try:
        yield
    finally:
        end.set()
        for thread in started:
            thread.join(20)
    assert not any(thread.is_alive() for thread in started)
    if failed:
        raise failed[0]


def pair(word: str) -> str:
    return (
        f"def inner():\n    return {word!r}\n"
        f"def outer():\n    first = inner()\n    for _ in range(20): pass\n    return first, inner(), {word!r}\n"
    )


def toggles(made: Module, count: int, sources: tuple[str, str], names: tuple[str, ...]) -> list[Exchanged]:
    """Exchange ``names`` for their code in the second source, back, and so on."""
    codes = [[module(source)[name].__code__ for name in names] for source in sources]
    done = []
    for n in range(count):
        time.sleep(0.001)  # or many toggles would happen within one turn of this thread
        after = codes[(n + 1) % 2]
        done.append(exchange([Change(made[name], c) for name, c in zip(names, after, strict=True)], timeout=20))
    return done


def no_torn_calls(count: int) -> None:
    made = module(pair("old"))
    seen: list[set[tuple[str, ...]]] = []
    calls: list[int] = []

    def work(end: threading.Event) -> None:
        results, n = set(), 0
        while not end.is_set():
            results.add(made["outer"]())
            n += 1
        seen.append(results)
        calls.append(n)

    with threads(8, work):
        toggles(made, count, (pair("old"), pair("new")), ("inner", "outer"))
    assert set().union(*seen) == {("old",) * 3, ("new",) * 3}
    assert sum(calls) > count


def test_eight_threads_never_see_one_old_and_one_new() -> None:
    no_torn_calls(100)


@pytest.mark.slow
def test_eight_threads_never_see_one_old_and_one_new_in_a_thousand_toggles() -> None:
    no_torn_calls(1000)


def test_without_the_gate_calls_are_torn_so_the_tests_above_can_fail() -> None:
    made = module(pair("old"))
    codes = [[module(pair(word))[name].__code__ for name in ("inner", "outer")] for word in ("old", "new")]
    torn = threading.Event()

    def work(end: threading.Event) -> None:
        while not end.is_set():
            if len(set(made["outer"]())) > 1:
                torn.set()

    with threads(8, work):
        limit, n = time.monotonic() + 30, 0
        while not torn.is_set() and time.monotonic() < limit:
            n += 1
            for name, code in zip(("inner", "outer"), codes[n % 2], strict=True):
                made[name].__code__ = code
            time.sleep(0.001)
    assert torn.is_set()


def recursive(word: str) -> str:
    return f"def f(n):\n    return [{word!r}] + (f(n - 1) if n else [])\n"


def test_a_recursive_call_is_old_or_new_at_every_depth() -> None:
    made = module(recursive("old"))
    seen: set[tuple[str, ...]] = set()

    def work(end: threading.Event) -> None:
        while not end.is_set():
            seen.add(tuple(made["f"](20)))

    with threads(4, work):
        toggles(made, 50, (recursive("old"), recursive("new")), ("f",))
    assert {len(set(each)) for each in seen} == {1}


def through_a_generator(word: str) -> str:
    return (
        f"def inner():\n    return {word!r}\n"
        "def outer():\n"
        "    each = plain()\n"
        f"    return tuple((inner(), next(each), inner()) for _ in range(3)) + (({word!r},),)\n"
    )


def test_what_a_generator_hides_on_the_stack_is_seen() -> None:
    made = module(through_a_generator("old"))
    exec("def plain():\n    while True:\n        yield inner()\n", made)
    seen: set[str] = set()

    def work(end: threading.Event) -> None:
        while not end.is_set():
            words = {word for row in made["outer"]() for word in row}
            seen.add("+".join(sorted(words)))

    with threads(8, work):
        toggles(made, 100, (through_a_generator("old"), through_a_generator("new")), ("inner", "outer"))
    assert seen == {"old", "new"}


def test_exceptions_and_arguments_pass_the_gate_as_they_are() -> None:
    def raising(word: str) -> str:
        return (
            f"def f(a, args=1, *rest, kwargs=2, **more):\n    raise ValueError({word!r}, a, args, rest, kwargs, more)\n"
        )

    made = module(raising("old"))
    seen: set[str] = set()

    def work(end: threading.Event) -> None:
        while not end.is_set():
            with pytest.raises(ValueError) as caught:
                made["f"](0, 7, 8, kwargs=9, args_=10)
            word, *rest = caught.value.args
            assert rest == [0, 7, (8,), 9, {"args_": 10}]
            with pytest.raises(TypeError, match=r"f\(\) missing 1 required positional argument: 'a'"):
                made["f"]()
            seen.add(word)

    with threads(4, work):
        toggles(made, 50, (raising("old"), raising("new")), ("f",))
    assert seen == {"old", "new"}


def test_closures_keep_their_cells_and_their_waiting_calls() -> None:
    def source(sign: str) -> str:
        return f"def make(n):\n    def add(x):\n        return x {sign} n\n    return add\n"

    made = module(source("+"))
    instances = [made["make"](n) for n in range(5)]
    codes = [
        next(c for c in module(source(sign))["make"].__code__.co_consts if isinstance(c, CodeType)) for sign in "+-"
    ]

    def work(end: threading.Event) -> None:
        while not end.is_set():
            for n, add in enumerate(instances):
                assert add(100) in (100 + n, 100 - n)

    with threads(4, work):
        for turn in range(50):
            time.sleep(0.001)
            exchange([Change(add, codes[(turn + 1) % 2]) for add in instances], timeout=20)
    assert [add(100) for add in instances] == [100, 101, 102, 103, 104]


def test_defaults_annotations_and_docstring_change_with_the_code() -> None:
    made = module("def f(a: int = 1, *, b: int = 2):\n    'old'\n    return a, b\n")
    f = made["f"]
    new = module("def f(a: str = 'x', *, b: str = 'y', c='z'):\n    'new'\n    return a, b, c\n")["f"]
    before = (f.__code__, f.__defaults__, f.__kwdefaults__, f.__annotations__, f.__doc__)
    exchange([Change(f, new.__code__, new.__defaults__, new.__kwdefaults__, new.__annotations__, new.__doc__)])
    assert f() == ("x", "y", "z")
    assert (f.__annotations__, f.__doc__) == ({"a": str, "b": str}, "new")
    exchange([Change(f, *before)])
    assert f() == (1, 2)
    assert (f.__annotations__, f.__doc__) == ({"a": int, "b": int}, "old")


def test_functions_without_a_gate_change_in_the_same_step() -> None:
    made = module(pair("old"))
    inner, outer = change_to(made, pair("new"), "inner", "outer")
    exchange([inner], plain=[outer])
    assert made["outer"]() == ("new",) * 3


@contextmanager
def stuck(made: Module, name: str, *args: object) -> Iterator[threading.Event]:
    """A thread inside ``made[name]`` that waits for the event."""
    go = threading.Event()
    entered = threading.Event()
    made.update(entered=entered, go=go)
    with threads(1, lambda end: made[name](*args)):
        assert entered.wait(10)
        yield go
        go.set()


def waits(word: str) -> str:
    return f"def f():\n    entered.set()\n    go.wait(20)\n    return g()\ndef g():\n    return {word!r}\n"


def test_on_the_time_limit_everything_is_put_back_and_the_thread_is_named() -> None:
    made = module(waits("old"))
    before = made["f"].__code__, made["g"].__code__
    with stuck(made, "f"):
        with pytest.raises(GateTimeout) as caught:
            exchange(change_to(made, waits("new"), "f", "g", doc="new"), timeout=0.1)
        assert (made["f"].__code__, made["g"].__code__) == before
        assert made["f"].__doc__ is None
        assert made["g"]() == "old"
        assert caught.value.where == ("thread worker-0: in f, <module>:3",)
        assert "worker-0" in str(caught.value)
        assert "force" in caught.value.hint
        assert caught.value.exit_code == 3


def test_calls_that_waited_go_on_in_old_code_when_everything_is_put_back() -> None:
    made = module(waits("old"))
    results: list[str] = []
    with stuck(made, "f"):
        with threads(4, lambda end: [results.append(made["g"]()) for _ in range(50)] and None):
            with pytest.raises(GateTimeout):
                exchange(change_to(made, waits("new"), "f", "g"), timeout=0.2)
    assert results == ["old"] * 200


def test_a_thread_inside_old_code_goes_on_and_is_waited_for() -> None:
    made = module(waits("old"))
    with stuck(made, "f") as go:
        threading.Timer(0.1, go.set).start()
        done = exchange(change_to(made, waits("new"), "f", "g"), timeout=10)
    assert done.pause > 0.05
    assert not done.forced
    assert made["g"]() == "new"


def test_force_sets_the_new_code_at_the_limit_and_says_who_is_inside() -> None:
    made = module(waits("old"))
    with stuck(made, "f"):
        done = exchange(change_to(made, waits("new"), "f", "g"), timeout=0.05, force=True)
        assert done.forced
        assert done.where == ("thread worker-0: in f, <module>:3",)
        assert made["g"]() == "new"


def test_force_is_not_said_where_it_was_not_needed() -> None:
    made = module(pair("old"))
    done = exchange(change_to(made, pair("new"), "inner", "outer"), force=True)
    assert (done.forced, done.where) == (False, ())


def test_a_thread_cannot_change_what_it_is_itself_inside() -> None:
    made = module("def f(call):\n    return call()\n")
    new = module("def f(call):\n    return 'new'\n")["f"].__code__
    start = time.monotonic()
    with pytest.raises(GateTimeout, match="this thread is itself inside"):
        made["f"](lambda: exchange([Change(made["f"], new)], timeout=10))
    assert time.monotonic() - start < 5
    assert made["f"](lambda: exchange([Change(made["f"], new)], force=True)).forced
    assert made["f"](None) == "new"


def test_other_names_from_around_are_refused_before_anything_changes() -> None:
    made = module("def outer(a, b):\n    def f():\n        return a\n    return f\n")
    f = made["outer"](1, 2)
    other = module("def outer(a, b):\n    def f():\n        return b\n    return f\n")["outer"](1, 2)
    g = module("def g(): return 'old'\n")["g"]
    before = g.__code__
    new_g = module("def g(): return 'new'\n")["g"].__code__
    with pytest.raises(RefusedError, match=r"outer\.<locals>\.f takes other names .*\(a\) now, \(b\) wanted"):
        exchange([Change(g, new_g), Change(f, other.__code__)])
    assert g.__code__ is before
    assert f() == 1


def test_one_function_twice_and_what_is_no_function_are_refused() -> None:
    made = module(pair("old"))
    (once,) = change_to(made, pair("new"), "inner")
    with pytest.raises(RefusedError, match="twice"):
        exchange([once], plain=[once])
    with pytest.raises(RefusedError, match="not a Python function"):
        change = Change(made["outer"], made["outer"].__code__)
        change.function = type("NotAFunction", (), {})()  # type: ignore[assignment]
        exchange([change])


def test_a_generator_and_a_generator_expression_in_old_code_are_reported() -> None:
    made = module("def gen():\n    yield 'old'\n    yield 'old'\ndef expr():\n    return ('old' for _ in range(3))\n")
    held = [made["gen"](), made["expr"]()]
    assert [next(each) for each in held] == ["old", "old"]
    ended = list(made["gen"]())
    new = "def gen():\n    yield 'new'\ndef expr():\n    return ('new' for _ in range(3))\n"
    done = exchange(change_to(made, new, "gen", "expr"))
    assert done.suspended == ("generator expr.<locals>.<genexpr>, <module>:5", "generator gen, <module>:2")
    assert (list(made["gen"]()), next(held[0]), len(ended)) == (["new"], "old", 2)


def test_a_coroutine_and_an_async_task_in_old_code_are_reported() -> None:
    made = module(
        "async def wait(event):\n    await event.wait()\n    return 'old'\n"
        "async def numbers():\n    yield 'old'\n    yield 'old'\n"
    )
    new = "async def wait(event):\n    return 'new'\nasync def numbers():\n    yield 'new'\n"

    async def main() -> tuple[Exchanged, str, str]:
        event = asyncio.Event()
        task = asyncio.create_task(made["wait"](event))
        agen = made["numbers"]()
        await agen.__anext__()
        await asyncio.sleep(0)
        done = exchange(change_to(made, new, "wait", "numbers"))
        event.set()
        return done, await task, await made["wait"](event)

    done, before, after = asyncio.run(main())
    assert done.suspended == ("async generator numbers, <module>:5", "coroutine wait, <module>:2")
    assert (before, after) == ("old", "new")


def test_the_suspended_are_found_when_the_collector_is_frozen() -> None:
    import gc

    made = module("def gen():\n    yield 'old'\n    yield 'old'\n")
    held = made["gen"]()
    next(held)
    gc.freeze()
    try:
        done = exchange(change_to(made, "def gen():\n    yield 'new'\n", "gen"))
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
    assert done.suspended == ("generator gen, <module>:2",)


def test_in_a_running_event_loop_a_torn_call_is_one_of_a_coroutine_that_was_reported() -> None:
    def source(word: str) -> str:
        return (
            f"async def inner():\n    return {word!r}\n"
            f"async def outer():\n    return await inner(), await inner(), {word!r}\n"
        )

    made = module(source("old"))
    whole: list[tuple[str, ...]] = []
    torn: list[tuple[str, ...]] = []

    def work(end: threading.Event) -> None:
        async def loop() -> None:
            while not end.is_set():
                for each in await asyncio.gather(*(made["outer"]() for _ in range(5))):
                    (torn if len(set(each)) > 1 else whole).append(each)
                await asyncio.sleep(0)

        asyncio.run(loop())

    with threads(2, work):
        done = toggles(made, 50, (source("old"), source("new")), ("inner", "outer"))
    assert {each[2] for each in whole} == {"old", "new"}
    named = [line for each in done for line in each.suspended if line.startswith("coroutine outer")]
    assert len(torn) <= len(named)


def test_while_the_gate_is_closed_a_function_says_of_itself_what_kind_it_is_and_is_called_as_that() -> None:
    def source(word: str) -> str:
        return (
            "import time\n"
            f"def slow():\n    time.sleep(0.4)\n    return {word!r}\n"
            f"async def coroutine():\n    return {word!r}\n"
            f"def generator():\n    got = yield {word!r}\n    yield got\n"
            f"async def async_generator():\n    got = yield {word!r}\n    yield got\n"
        )

    made = module(source("old"))
    names = ("coroutine", "generator", "async_generator")
    asked = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    kinds: list[list[bool]] = []
    values: list[object] = []

    async def call() -> None:
        generator, async_generator = made["generator"](), made["async_generator"]()
        values.append(await made["coroutine"]())
        values.extend((next(generator), generator.send("sent")))
        values.extend((await async_generator.__anext__(), await async_generator.asend("sent")))

    def look() -> None:
        time.sleep(0.1)
        assert made["slow"].__code__.co_filename == FILE
        kinds.extend([ask(made[name]) for name in names] for ask in asked)
        asyncio.run(call())

    inside, looking = threading.Thread(target=made["slow"]), threading.Thread(target=look)
    inside.start()
    time.sleep(0.05)
    looking.start()
    exchange(change_to(made, source("new"), "slow", *names), timeout=20)
    looking.join()
    inside.join()
    seen = [[True, False, False], [False, True, False], [False, False, True]]
    if sys.version_info < (3, 11):
        seen[2] = [False, False, False]  # docs/limits.md
    assert kinds == seen
    assert values == ["new", "new", "sent", "new", "sent"]
    assert [ask(made[name]) for ask, name in zip(asked, names, strict=True)] == [True] * 3


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers here")
def test_a_signal_handler_in_the_toggling_thread_may_call_what_changes() -> None:
    made = module(pair("old"))
    seen: set[tuple[str, ...]] = set()
    before = signal.signal(signal.SIGALRM, lambda *_: seen.add(made["outer"]()))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        with threads(2, lambda end: [made["outer"]() for _ in iter(end.is_set, True)] and None):
            toggles(made, 200, (pair("old"), pair("new")), ("inner", "outer"))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen
    assert {len(set(each)) for each in seen} == {1}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers here")
def test_a_signal_handler_in_a_thread_that_waits_at_the_gate_may_call_what_changes() -> None:
    made = module(pair("old"))
    seen: set[tuple[str, ...]] = set()
    finished: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.add(made["outer"]()))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)

    def toggling() -> None:
        finished.append(len(toggles(made, 100, (pair("old"), pair("new")), ("inner", "outer"))))

    thread = threading.Thread(target=toggling)
    try:
        thread.start()
        while thread.is_alive():
            seen.add(made["outer"]())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        thread.join()
    assert finished == [100]
    assert {len(set(each)) for each in seen} == {1}


def test_an_interrupt_while_threads_are_waited_for_puts_everything_back() -> None:
    made = module(waits("old"))
    before = made["f"].__code__

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    handler = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with stuck(made, "f"):
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
            with pytest.raises(KeyboardInterrupt):
                exchange(change_to(made, waits("new"), "f", "g"), timeout=20)
            assert made["f"].__code__ is before
            assert made["g"]() == "old"
    finally:
        signal.signal(signal.SIGUSR1, handler)
    (change,) = change_to(made, waits("new"), "g")
    exchange([change])  # and the next one is not held up
    assert made["g"]() == "new"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_forked_while_the_gate_is_closed_has_the_functions_as_they_were() -> None:
    source = waits("old").replace("    return g()", "    return fork()")
    made = module(source)
    codes: list[int] = []

    def fork() -> None:
        time.sleep(0.05)
        child = os.fork()
        if child == 0:
            # In old code here; a thread of its own is not, and would wait at a closed gate for good.
            threading.Timer(10, os._exit, (3,)).start()
            results: list[str] = []
            thread = threading.Thread(target=lambda: results.append(made["g"]()))
            thread.start()
            thread.join()
            os._exit(0 if results == ["old"] else 1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    made["fork"] = fork
    with stuck(made, "f") as go:
        threading.Timer(0.05, go.set).start()
        exchange(change_to(made, waits("new"), "f", "g"), timeout=15)
    assert codes == [0]
    assert made["g"]() == "new"


def test_two_toggles_at_a_time_take_turns() -> None:
    made = module(pair("old"))
    results: list[Exchanged] = []

    def work(end: threading.Event) -> None:
        results.extend(toggles(made, 20, (pair("old"), pair("new")), ("inner", "outer")))

    with threads(3, work):
        pass
    assert len(results) == 60
    assert len(set(made["outer"]())) == 1


def test_frames_of_other_threads_are_not_kept_alive() -> None:
    import gc
    import weakref

    class Big:
        pass

    made = module(pair("old"))
    references: list[weakref.ref[Big]] = []

    def work(end: threading.Event) -> None:
        big = Big()
        references.append(weakref.ref(big))
        end.wait(20)

    gc.collect()
    gc.disable()
    try:
        with threads(1, work):
            while not references:
                time.sleep(0.01)
            exchange(change_to(made, pair("new"), "inner", "outer"))
        assert references[0]() is None
    finally:
        gc.enable()


def test_nothing_of_the_gate_is_left_that_runs_old_or_new_code() -> None:
    import gc

    made = module(pair("old"))
    codes = [[made[name].__code__ for name in ("inner", "outer")]]
    codes.append([change.code for change in change_to(made, pair("new"), "inner", "outer")])
    gc.collect()
    gc.disable()
    try:
        for turn in range(5):
            exchange([Change(made[n], c) for n, c in zip(("inner", "outer"), codes[(turn + 1) % 2], strict=True)])
        holders = [each for each in gc.get_referrers(*codes[0], *codes[1]) if isinstance(each, FunctionType)]
    finally:
        gc.enable()
    assert {id(each) for each in holders} == {id(made["inner"]), id(made["outer"])}
    assert len(holders) == 2


def test_functions_run_their_own_code_after_the_toggle() -> None:
    made = module(pair("old"))
    new = change_to(made, pair("new"), "inner", "outer")
    exchange(new)
    assert [change.function.__code__ for change in new] == [change.code for change in new]
