"""One process of a comparison: toggles `app.core` with one tool, and prints what it saw as JSON.

python peer_child.py TOOL MODE NUMBER, in the environment that `program.write` made; what is to be toggled comes as JSON on stdin.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import sys
import threading
import time
import types
from pathlib import Path
from typing import Any


class Prtoggle:
    def __init__(self, asked: dict[str, Any]) -> None:
        import prtoggle

        self.prtoggle = prtoggle

    def out(self) -> None:
        self.prtoggle.revert("7", timeout=20)

    def back(self) -> None:
        self.prtoggle.restore("7", timeout=20)


class Sglang:
    """SGLang's own patcher, of a real release: its files alone, without what the packages around them import."""

    def __init__(self, asked: dict[str, Any]) -> None:
        folder = Path(asked["sglang"])
        for name in ("sglang", "sglang.srt", "sglang.srt.debug_utils"):
            made = types.ModuleType(name)
            made.__path__ = [str(folder.joinpath(*name.split(".")))]
            sys.modules[name] = made
        self.patcher = importlib.import_module("sglang.srt.debug_utils.source_patcher")
        self.config = json.dumps({"patches": asked["patches"]})  # JSON is YAML
        self.states: list[Any] = []

    def out(self) -> None:
        self.states = self.patcher.apply_patches_from_config(self.config)

    def back(self) -> None:
        for state in reversed(self.states):
            state.restore()


class Jurigged:
    """What jurigged does when a file has changed, without the file."""

    def __init__(self, asked: dict[str, Any]) -> None:
        from jurigged.codetools import CodeFile
        from jurigged.register import registry

        self.make, self.registry, self.asked = CodeFile, registry, asked
        self.file: Any = None
        self.failed: list[Exception] = []

    def out(self) -> None:
        self.merge(self.asked["reverted"])

    def back(self) -> None:
        self.merge(self.asked["fixed"])

    def merge(self, text: str) -> None:
        if self.file is None:
            self.file, _ = self.registry.find(sys.modules["app.core"])
            self.file.activity.register(
                lambda event: self.failed.append(event) if isinstance(event, Exception) else None
            )
        self.file.merge(self.make(self.file.filename, source=text, module_name="app.core"), order="new")
        self.file.root.stash()
        if self.failed:
            raise self.failed.pop()


def timed(tool: Any, rounds: int) -> dict[str, Any]:
    """How long a revert and a restore take, and how long a thread that calls the function waits at the most meanwhile."""
    core = sys.modules["app.core"]
    for _ in range(3):  # resolved, parsed, cached by now
        tool.out()
        tool.back()
    worst, ended = [0.0], []

    def calls() -> None:
        last = time.perf_counter()
        while not ended:
            core.target(1)
            now = time.perf_counter()
            if now - last > worst[0]:
                worst[0] = now - last
            last = now

    whole, stalls = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        tool.out()
        middle = time.perf_counter()
        assert core.target(1) == 3
        again = time.perf_counter()
        tool.back()
        whole += [middle - start, time.perf_counter() - again]
        assert core.target(1) == 2
    thread = threading.Thread(target=calls)
    thread.start()
    for turn in range(rounds):
        time.sleep(0.01)
        worst[0] = 0.0
        tool.back() if turn % 2 else tool.out()
        time.sleep(0.005)  # it is over, and the thread has called again
        stalls.append(worst[0])
    ended.append(True)
    thread.join()
    return {"whole": whole, "stalls": stalls}


def torn(tool: Any, toggles: int) -> dict[str, Any]:
    """Calls of `outer`, which calls `inner`, that saw one of each; eight threads."""
    core = sys.modules["app.core"]
    ended: list[bool] = []
    seen: list[tuple[int, int]] = []

    def calls() -> None:
        count = bad = 0
        while not ended:
            count += 1
            bad += len(set(core.outer())) > 1
        seen.append((count, bad))

    threads = [threading.Thread(target=calls) for _ in range(8)]
    for thread in threads:
        thread.start()
    for turn in range(toggles):
        time.sleep(0.002)
        tool.back() if turn % 2 else tool.out()
    ended.append(True)
    for thread in threads:
        thread.join()
    return {"calls": sum(count for count, _ in seen), "torn": sum(bad for _, bad in seen)}


def shape(tool: Any, probe: str) -> dict[str, Any]:
    """What the probe says with the fix out, and with it back; or the error."""
    said: dict[str, Any] = {"error": "", "restored": ""}
    try:
        tool.out()
    except Exception as error:
        said["error"] = f"{type(error).__name__}: {error}"
    said["reverted"] = look(probe)
    if not said["error"]:
        try:
            tool.back()
            said["restored"] = look(probe)
        except Exception as error:
            said["restored"] = f"{type(error).__name__}: {error}"
    return said


def look(probe: str) -> str:
    try:
        return repr(eval(probe, {"m": sys.modules["app.core"]}))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def main() -> None:
    name, mode, number = sys.argv[1:]
    asked = json.load(sys.stdin)
    tool: Any = None
    with contextlib.redirect_stdout(io.StringIO()):  # SGLang's patcher says what it does
        if name != "none":
            tool = {"prtoggle": Prtoggle, "sglang": Sglang, "jurigged": Jurigged}[name](asked)
        importlib.import_module("app.core")
        if mode == "timed":
            said = timed(tool, int(number))
        elif mode == "torn":
            said = torn(tool, int(number))
        elif tool is None:
            said = {"reverted": look(asked["probe"])}
        else:
            said = shape(tool, asked["probe"])
    print(json.dumps(said), flush=True)
    os._exit(0)  # whatever watches files or talks to a terminal


if __name__ == "__main__":
    main()
