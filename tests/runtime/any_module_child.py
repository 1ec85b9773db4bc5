"""A process without torch, pytest or Hypothesis that toggles modules made at random, one a line, and says what it saw.

In: ``{"texts": [original, text, ...], "warm": bool}``. The original is imported and is to run each text in turn, and then the original
again. Out: ``{"changed": functions that changed, "refused": why, or "", "problem": what is wrong, or ""}``.

Everything that can be seen of the module is compared with a module freshly imported from the text: each function that can be reached
(bytecode, lines, defaults, annotations, docstring, closed-over values) and what each call gives or raises, and at which line. Put back, it is
what it was, the very same function and code objects. A refusal names the module, and then nothing has changed.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import json
import re
import sys
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from prtoggle.errors import RefusedError
from prtoggle.runtime import exchange
from prtoggle.runtime.codes import fingerprint, meaning

NAME = "made_at_random"


class Helpers:
    """What a module made at random finds among its globals: they are no part of its text, and are not toggled."""

    def __init__(self) -> None:
        self.live: dict[str, object] = {}
        self.suspended: list[Any] = []
        self.registered: list[str] = []

    def names(self) -> dict[str, object]:
        return {
            "contextlib": contextlib,
            "functools": functools,
            "copied": copied,
            "keep": self.keep,
            "pause": pause,
            "registering": self.registering,
            "same": same,
            "started": self.started,
            "tagged": tagged,
            "wrapping": wrapping,
        }

    def keep(self, key: str, value: object) -> Any:
        """The first that came with this key lives on."""
        self.live.setdefault(without_addresses(key), value)
        return value

    def registering(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A decorator that must not run again."""
        self.registered.append(function.__name__)
        return function

    def started(self, value: Any) -> None:
        """A generator or coroutine, suspended for good."""
        while isinstance(value, tuple):
            value = value[-1]
        with contextlib.suppress(StopIteration):
            (value.asend(None) if inspect.isasyncgen(value) else value).send(None)
        self.suspended.append(value)


def same(value: object) -> Any:
    return value


def wrapping(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: object, **kwargs: object) -> object:
        return "wrapped", function(*args, **kwargs)

    return wrapper


def tagged(word: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorator(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: object, **kwargs: object) -> object:
            return word, function(*args, **kwargs)

        return wrapper

    return decorator


def copied(function: types.FunctionType) -> types.FunctionType:
    """Another function of the same code."""
    made = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


@types.coroutine
def pause() -> Iterator[None]:
    yield


@contextlib.contextmanager
def imported(text: str, file: str) -> Iterator[tuple[types.ModuleType, Helpers]]:
    module, helpers = types.ModuleType(NAME), Helpers()
    module.__file__ = file
    module.__dict__.update(helpers.names())
    sys.modules[NAME] = module
    try:
        exec(compile(text.encode(), file, "exec", dont_inherit=True), module.__dict__)
        yield module, helpers
    finally:
        for each in helpers.suspended:
            with contextlib.suppress(Exception):
                each.aclose().send(None) if inspect.isasyncgen(each) else each.close()
        del sys.modules[NAME]


def shown(value: object) -> str:
    """A value in words, without addresses; what is to be run is run to its end."""
    return without_addresses(repr(ran(value)))


def without_addresses(text: str) -> str:
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def ran(value: Any) -> Any:
    """What comes of a generator, coroutine or async generator, wherever it stands in ``value``."""
    if isinstance(value, (tuple, list)):
        return type(value)(ran(each) for each in value)
    if inspect.isgenerator(value):
        return ["yields", *(ran(each) for each in value)]
    if inspect.iscoroutine(value):
        try:
            while True:
                value.send(None)
        except StopIteration as end:
            return ["returns", ran(end.value)]
    if inspect.isasyncgen(value):
        made = []
        while True:
            step = value.asend(None)
            try:
                while True:
                    step.send(None)
            except StopIteration as end:
                made.append(ran(end.value))
            except StopAsyncIteration:
                return ["yields", *made]
    if isinstance(value, contextlib.AbstractContextManager) and hasattr(value, "gen"):
        with value as entered:
            return ["enters", ran(entered)]
    return value


def call(value: object) -> str:
    """What a call gives, or raises and where."""
    try:
        return shown(value() if callable(value) else value)
    except Exception as error:
        where = []
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_globals.get("__name__") == NAME:
                where.append((trace.tb_frame.f_code.co_name, trace.tb_lineno))
            trace = trace.tb_next
        return f"{type(error).__name__}: {error} {where}"


def asked(instance: object, key: str) -> object:
    """A member of an instance, looked up twice, and called where it can be."""
    first, second = getattr(instance, key), getattr(instance, key)
    return (first, second()) if callable(second) else (first, second)


def inside(value: Any) -> Iterator[tuple[str, object]]:
    """What can be reached from a value in one step."""
    if isinstance(value, type):
        yield from ((f".{name}", each) for name, each in list(vars(value).items()) if not name.startswith("__"))
        yield from ((f".{name}", vars(value)[name]) for name in ("__init__", "__call__") if name in vars(value))
    elif isinstance(value, (list, tuple)):
        yield from ((f"[{number}]", each) for number, each in enumerate(value))
    elif isinstance(value, dict):
        yield from ((f"[{key}]", each) for key, each in list(value.items()))
    elif isinstance(value, types.FunctionType):
        for number, cell in enumerate(value.__closure__ or ()):
            with contextlib.suppress(ValueError):
                yield f"<{number}>", cell.cell_contents
        yield "~", value.__dict__.get("__wrapped__")
    else:
        for name in ("__func__", "__wrapped__", "fget", "fset", "func"):
            yield f"~{name}", getattr(value, name, None)
        if getattr(type(value), "__module__", "") == NAME:
            yield "~class", type(value)


def functions_of(module: types.ModuleType, helpers: Helpers) -> dict[str, types.FunctionType]:
    """Every function of the module's text that can be reached, by a path to it."""
    own = helpers.names()
    left: list[tuple[str, object]] = [(name, each) for name, each in vars(module).items() if name not in own]
    left += [(f"LIVE {key}", each) for key, each in sorted(helpers.live.items())]
    found, seen = {}, set()
    while left:
        path, value = left.pop()
        if isinstance(value, (str, int, types.ModuleType, type(None))) or path.count("~") + path.count("<") > 9:
            continue
        key = (path.split("~")[0].split("<")[0], id(value))
        if key in seen or path.startswith("__"):
            continue
        seen.add(key)
        if isinstance(value, types.FunctionType) and value.__module__ == NAME:
            found[path] = value
        left += [(path + step, each) for step, each in inside(value)]
    return found


def portrait(module: types.ModuleType, helpers: Helpers) -> dict[str, object]:
    """Everything that can be seen of a module: what each call gives, and then what each function is."""
    own = helpers.names()
    found: dict[str, object] = {}
    for name, value in list(vars(module).items()):
        if name in own or name.startswith(("__", "G")):  # G: a global that a call sets
            continue
        if isinstance(value, type):
            instance = getattr(module, f"i{name}", None)
            for key in [key for key in dir(value) if key.startswith("f")]:
                found[f"{name}.{key}"] = call(functools.partial(asked, instance, key))
        elif isinstance(value, (list, dict)):
            for number, each in enumerate(value.values() if isinstance(value, dict) else value):
                found[f"{name}[{number}]()"] = call(each)
        elif not isinstance(value, types.ModuleType):
            found[f"{name}()"] = call(value)
    for key, value in sorted(helpers.live.items()):
        found[f"LIVE {key}()"] = call(value)
    for number, each in enumerate(helpers.suspended):
        # It ends in the code that it was begun with: that must be what the text has, other lines aside.
        found[f"suspended[{number}]"] = meaning(running_code(each))
    for path, each in functions_of(module, helpers).items():
        cells = [shown(value) for step, value in inside(each) if step != "~" and not callable(value)]
        found[path] = (
            fingerprint(each.__code__),
            without_addresses(repr(each.__defaults__)),
            without_addresses(repr(each.__kwdefaults__ or None)),
            {name: str(value) for name, value in each.__annotations__.items()},
            each.__doc__,
            each.__qualname__,
            cells,
        )
    return found


def running_code(value: Any) -> types.CodeType:
    code: types.CodeType = next(
        getattr(value, name) for name in ("gi_code", "cr_code", "ag_code") if hasattr(value, name)
    )
    return code


def identities(module: types.ModuleType, helpers: Helpers) -> dict[str, tuple[int, int]]:
    """Which function object stands where, and which code object it runs."""
    return {path: (id(each), id(each.__code__)) for path, each in functions_of(module, helpers).items()}


def toggle(file: str, original: str, text: str) -> int:
    """Have the running module run ``text``. How many functions changed."""
    result: dict[str, Any] = {}
    exchange.exchange([(NAME, file, original.encode(), text.encode())], result, "7", 2.0, False)
    changed: int = result["functions"]
    return changed


def differ(what: str, seen: dict[str, Any], wanted: dict[str, Any], *, both_ways: bool = True) -> str:
    """Empty, or the first thing that differs; without ``both_ways`` more may be seen than is wanted."""
    for key in sorted({*wanted, *(seen if both_ways else ())}):
        if seen.get(key) != wanted.get(key):
            return f"{what}: {key} is {seen.get(key, 'not there')!r:.900}, wanted {wanted.get(key, 'not there')!r:.900}"
    return ""


def look(number: int, texts: list[str], warm: bool) -> dict[str, Any]:
    original, *others = texts
    fresh = {}
    for text in {*texts}:
        with imported(text, f"/made/up/{number}/fresh.py") as made:
            if warm and text == original:
                portrait(*made)
            fresh[text] = portrait(*made)
    file = f"/made/up/{number}/live.py"
    changed = 0
    try:
        with imported(original, file) as made:
            if warm:
                portrait(*made)
            first = now = original
            begun = identities(*made)
            for text in (*others, first):
                before, kept, registered = identities(*made), set(made[1].live), len(made[1].registered)
                try:
                    changed += toggle(file, original, text)
                except RefusedError as error:
                    said = str(error)
                    problem = "" if NAME in said and "hint: restart" in said else f"a refusal without a name: {said}"
                    problem = problem or differ("refused, objects", identities(*made), before)
                    seen = portrait(*made)
                    problem = problem or differ("refused", seen, fresh[now], both_ways=False)
                    return {"changed": changed, "refused": said, "back": text == first, "problem": problem}
                if len(made[1].registered) != registered:
                    return {"changed": changed, "refused": "", "back": False, "problem": "a decorator ran again"}
                same_ones = {path: (each[0],) for path, each in before.items()}
                after = identities(*made)
                problem = differ(
                    "other function objects", {k: v[:1] for k, v in after.items()}, same_ones, both_ways=False
                )
                if text == first:
                    problem = problem or differ("put back, objects", after, begun, both_ways=False)
                seen = portrait(*made)
                gone = [key for key in kept if f"keep(f'{key.split()[0]} " not in text]
                if gone:
                    problem = problem or f"alive, and not in the text that runs: {gone}"
                wanted = fresh[text]
                problem = problem or differ("running", seen, wanted, both_ways=False)
                more = [key for key in seen if key not in wanted and not key.startswith("LIVE")]
                if more:
                    problem = problem or f"more than a fresh import has: {more}"
                if problem:
                    return {"changed": changed, "refused": "", "back": text == first, "problem": problem}
                now = text
    finally:
        exchange.modules.pop(file, None)
        exchange.running.pop(file, None)
    return {"changed": changed, "refused": "", "back": False, "problem": ""}


def main() -> None:
    warnings.simplefilter("ignore")  # of coroutines that are never awaited
    heavy = [name for name in ("torch", "pytest", "hypothesis") if name in sys.modules]
    print(json.dumps({"heavy": heavy}), flush=True)
    for number, line in enumerate(sys.stdin):
        gc.collect()  # a toggle looks at every object, and what earlier ones left is in cycles
        try:
            said = look(number, **json.loads(line))
        except Exception:
            said = {"changed": 0, "refused": "", "problem": traceback.format_exc()}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
