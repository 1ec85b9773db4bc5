"""A real browser without a screen: what a page says to its console, what it asks of the network, how it looks.

Everything that the browser wants of the network goes to a proxy here that answers nothing and remembers what was asked.

Example::

    seen = look_at(file, tmp_path)
    seen.asked, seen.console, seen.text
"""

from __future__ import annotations

import re
import shutil
import socket
import struct
import subprocess
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import pytest

PROGRAM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
needs_browser = pytest.mark.skipif(not PROGRAM, reason="no browser here (Debian: apt-get install chromium)")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--disable-extensions",
    "--metrics-recording-only",
    "--password-store=basic",
    "--force-device-scale-factor=1",
)

_ITS_OWN = re.compile(r"^(GET|POST|CONNECT) (https?://)?[\w.-]+\.(google|googleapis|gstatic)\.com\b")
"""What the browser asks for itself, whatever the page is: the time, its maker's services. And connections that it opens in
advance, and on which it asks nothing."""


@dataclass(frozen=True)
class Seen:
    """``asked``: the first line of everything that the page sent to the network; ``console``: the page's messages; ``text``: what
    stands in its body once it is loaded; ``corner``: the colour of its first pixel; ``picture``: the file with all of
    them."""

    asked: tuple[str, ...]
    console: tuple[str, ...]
    text: str
    corner: str
    picture: Path


def look_at(
    page: Path, work: Path, *, dark: bool = False, size: tuple[int, int] = (1100, 1400), query: str = ""
) -> Seen:
    """Open ``page`` from its file, ``query`` after its address."""
    address = page.as_uri() + query
    picture = work / f"{page.stem}-{'dark' if dark else 'light'}.png"
    with _proxy() as (port, asked):
        common = [
            PROGRAM,
            *QUIET,
            f"--user-data-dir={work / 'profile'}",
            f"--proxy-server=127.0.0.1:{port}",
            "--proxy-bypass-list=<-loopback>",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            "--enable-logging=stderr",
            "--virtual-time-budget=2000",
        ]
        shot = _run([*common, f"--window-size={size[0]},{size[1]}", f"--screenshot={picture}", address], work)
        dom = _run([*common, "--dump-dom", address], work)
    console = tuple(dict.fromkeys(re.findall(r"CONSOLE[^\]]*\] (.*)", shot.stderr + dom.stderr)))
    assert picture.is_file(), shot.stderr
    pages = tuple(line for line in dict.fromkeys(asked) if line and not _ITS_OWN.search(line))
    return Seen(pages, console, _text(dom.stdout), _corner(picture.read_bytes()), picture)


def _run(command: list[str], work: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=120, check=True)


@contextmanager
def _proxy() -> Iterator[tuple[int, list[str]]]:
    asked: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(5)
                    try:
                        asked.append(connection.recv(4096).split(b"\r\n")[0].decode("latin-1"))
                    except OSError:
                        asked.append("a connection")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], asked
        server.shutdown(socket.SHUT_RDWR)
    thread.join(10)


class _Body(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in ("style", "script")

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("style", "script")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.words.append(data)


def _text(html: str) -> str:
    body = _Body()
    body.feed(html)
    return "".join(body.words)


def _corner(png: bytes) -> str:
    """The first pixel, ``#rrggbb``: in the first row nothing stands before or above it, so every filter leaves it."""
    at, data = 8, b""
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + length]
        at += length + 12
    return "#" + zlib.decompress(data)[1:4].hex()
