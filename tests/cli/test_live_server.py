"""A server of several processes under load: a fix is taken out and put back from outside while requests run."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import urllib.request

import pytest

from tests.cli.world import World

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs SO_PEERCRED and /proc"),
    pytest.mark.usefixtures("installed"),
]

MODEL = """\
def scale(x):
    return x * 2


def forward(x):
    first = scale(x)
    total = sum(range(50))
    return f"fixed:{first}:{scale(x)}:{total}"
"""

# Two functions that change together: a torn answer has a 10 and a 20 in it, or the word of the other state.
FIX = """\
prtoggle: 1
fix: 7
title: the scale is two
variants:
  - package: app
    patches:
      - target: app.model.scale
        edits:
          - find: 'return x * 2'
            put: 'return x * 4'
      - target: app.model.forward
        edits:
          - match: 'return f"fixed:{first}:{scale(x)}:{total}"'
            replacement: 'return f"reverted:{first}:{scale(x)}:{total}"'
"""

SERVER = """\
import itertools, subprocess, sys, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def serve(answer):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = answer().encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128

    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


def start(*role):
    child = subprocess.Popen([sys.executable, "-m", "app.server", *role], stdout=subprocess.PIPE, text=True)
    return child, child.stdout.readline().strip()


def worker():
    from app import model

    serve(lambda: model.forward(5))


def scheduler():
    workers = itertools.cycle([start("worker")[1] for _ in range(2)])
    serve(lambda: urllib.request.urlopen(f"http://127.0.0.1:{next(workers)}", timeout=20).read().decode())


def launcher():
    child, port = start("scheduler")
    print(port, flush=True)
    child.wait()


if __name__ == "__main__":
    {"worker": worker, "scheduler": scheduler, "launcher": launcher}[sys.argv[1]]()
"""

FIXED, REVERTED = "fixed:10:10:1225", "reverted:20:20:1225"


class Load:
    """Four clients that ask without a pause, and what they were answered."""

    def __init__(self, port: str) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.answers: list[tuple[float, str]] = []
        self.failures: list[BaseException] = []
        self.end = threading.Event()
        self.threads = [threading.Thread(target=self._ask) for _ in range(4)]
        for thread in self.threads:
            thread.start()

    def _ask(self) -> None:
        while not self.end.is_set():
            begun = time.monotonic()
            try:
                with urllib.request.urlopen(self.url, timeout=20) as answer:
                    self.answers.append((begun, answer.read().decode()))
            except OSError as error:
                self.failures.append(error)

    def between(self, start: float, end: float) -> set[str]:
        """The answers to what was asked in that time."""
        return {answer for begun, answer in self.answers if start <= begun < end}

    def stop(self) -> None:
        self.end.set()
        for thread in self.threads:
            thread.join()


def test_a_fix_is_taken_out_and_put_back_under_load_and_no_request_fails(world: World) -> None:
    world.package("app", "1.0", model=MODEL, server=SERVER)
    world.fix(7, FIX)
    env = world.environ({"PRTOGGLE_CONTROL": "1", "PRTOGGLE_QUIET": "1"})
    launcher = subprocess.Popen(
        [sys.executable, "-m", "app.server", "launcher"], env=env, stdout=subprocess.PIPE, text=True
    )
    pid = str(launcher.pid)
    pids: list[str] = []
    try:
        assert launcher.stdout
        load = Load(launcher.stdout.readline().strip())
        try:
            pids = [line.split()[0] for line in world.run("status", "--pid", pid).out.splitlines()[1:]]
            assert len(pids) == 4
            marks = [time.monotonic()]
            for command in ("revert", "restore", "revert", "restore"):
                time.sleep(0.5)
                marks.append(time.monotonic())
                done = world.run(command, "7", "--pid", pid, "--timeout", "20")
                assert done.code == 0, done
                assert len(done.out.splitlines()) == 4
                marks.append(time.monotonic())
            time.sleep(0.5)
            marks.append(time.monotonic())
        finally:
            load.stop()
    finally:
        for each in (pid, *pids):
            subprocess.run(["kill", each], stderr=subprocess.DEVNULL)
        launcher.wait()
    assert load.failures == []
    quiet = [load.between(*marks[n : n + 2]) for n in range(0, len(marks), 2)]
    assert quiet == [{FIXED}, {REVERTED}, {FIXED}, {REVERTED}, {FIXED}]
    assert {answer for _, answer in load.answers} == {FIXED, REVERTED}
