"""What one look finds of all that is alive."""

from __future__ import annotations

import functools
import gc
import itertools
import types
from collections.abc import AsyncIterator, Iterator

from prtoggle.runtime import functions


def made(value: object) -> types.FunctionType:
    def inner() -> object:
        return value

    return inner


def generator() -> Iterator[int]:
    yield 1


async def coroutine() -> None:
    return None


async def asynchronous() -> AsyncIterator[int]:
    yield 1


FILES = {made.__code__.co_filename}


def found(function: object, alive: functions.Alive) -> bool:
    return any(each is function for each in alive.functions)


def test_functions_held_by_anything_are_found() -> None:
    closures = [made(number) for number in range(3)]
    held = itertools.starmap(made("in C alone"), [()])
    copy = types.FunctionType(made.__code__, globals())
    alive = functions.look(FILES)
    assert all(found(each, alive) for each in (made, copy, *closures))
    assert len([each for each in alive.functions if each.__code__ is closures[0].__code__]) >= 4
    assert next(held) == "in C alone"


def test_functions_are_found_after_a_freeze_and_stay_frozen() -> None:
    closure = made(1)
    gc.freeze()
    try:
        assert found(closure, functions.look(FILES))
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
    assert gc.isenabled()


def test_functions_of_other_files_are_left_out() -> None:
    assert not any(each.__code__.co_filename not in FILES for each in functions.look(FILES).functions)
    assert functions.look({"/no/such/file.py"}).functions == []


def test_what_is_suspended_is_found_and_what_has_ended_is_not() -> None:
    suspended, ended, fresh, asyncgen = generator(), generator(), coroutine(), asynchronous()
    next(suspended)
    list(ended)
    try:
        words = [text for code, text in functions.look(FILES).suspended]
    finally:
        fresh.close()
    assert sum("generator generator is suspended" in text for text in words) == 1
    assert any("coroutine coroutine" in text for text in words)
    assert any("async generator asynchronous" in text for text in words)
    del asyncgen


async def waiting() -> AsyncIterator[int]:
    await pause()
    yield 1


@types.coroutine
def pause() -> Iterator[None]:
    yield


def test_an_async_generator_that_awaits_something_is_suspended_though_python_says_that_it_runs() -> None:
    agen = waiting()
    step = agen.asend(None)
    step.send(None)  # type: ignore[attr-defined]
    assert agen.ag_running  # type: ignore[attr-defined]
    words = [text for code, text in functions.look(FILES).suspended]
    assert any("async generator waiting is suspended" in text for text in words)
    step.close()  # type: ignore[attr-defined]


def test_an_async_generator_that_runs_is_not_suspended() -> None:
    words: list[str] = []

    async def looks() -> AsyncIterator[int]:
        words.extend(text for code, text in functions.look(FILES).suspended)
        yield 1

    agen = looks()
    try:
        agen.asend(None).send(None)  # type: ignore[attr-defined]
    except StopIteration:
        pass
    assert not any("looks" in text for text in words)


def test_caches_of_given_functions_alone_are_cleared() -> None:
    one, other = functools.lru_cache(made), functools.lru_cache(generator)
    one(1), other()
    cleared = functions.clear([made], functions.look(FILES))
    assert cleared == ["functools.lru_cache of made"]
    assert (one.cache_info().currsize, other.cache_info().currsize) == (0, 1)


def test_values_of_a_cached_property_are_forgotten_on_every_instance() -> None:
    calls = []

    class C:
        @functools.cached_property
        def p(self) -> int:
            calls.append(1)
            return len(calls)

    class D(C):
        pass

    first, second, fresh = C(), D(), C()
    assert (first.p, second.p) == (1, 2)
    cleared = functions.clear([C.__dict__["p"].func], functions.look(FILES))
    assert cleared == ["cached_property p computed on 2 objects"]
    assert (first.p, second.p, fresh.p) == (3, 4, 5)
