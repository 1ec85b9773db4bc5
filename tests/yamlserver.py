"""The YAML language server that editors run (VS Code's YAML extension, Neovim, Helix, Emacs), as an editor talks to it.

``PRTOGGLE_YAML_SERVER`` names its executable, else it is looked for on the ``PATH``: ``npm install yaml-language-server``.

Example::

    with Server() as server:
        server.problems(file)            # ((line, column, words), ...), counted from 1
        server.offered(file, line, column)
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

VARIABLE = "PRTOGGLE_YAML_SERVER"
COMMAND = os.environ.get(VARIABLE) or shutil.which("yaml-language-server") or ""


class Server:
    """One server, for as long as the ``with`` block lasts."""

    def __enter__(self) -> Server:
        self.process = subprocess.Popen(
            [COMMAND, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.count = 0
        self.told: dict[str, list[dict[str, Any]]] = {}
        capabilities = {"textDocument": {"publishDiagnostics": {}, "completion": {}, "hover": {}}}
        self.ask("initialize", {"processId": os.getpid(), "rootUri": None, "capabilities": capabilities})
        self._send({"method": "initialized", "params": {}})
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()

    def problems(self, file: Path) -> tuple[tuple[int, int, str], ...]:
        """What it finds wrong, in the order of the lines."""
        uri = self._open(file)
        while uri not in self.told:
            self._read()
        places = [(each["range"]["start"], each["message"]) for each in self.told[uri]]
        return tuple(sorted((at["line"] + 1, at["character"] + 1, words) for at, words in places))

    def offered(self, file: Path, line: int, column: int) -> dict[str, str]:
        """What it offers there, and what it shows of each."""
        answer = self._at("textDocument/completion", file, line, column)
        items = answer["items"] if isinstance(answer, dict) else answer
        return {item["label"]: json.dumps(item.get("documentation") or "") for item in items}

    def shown(self, file: Path, line: int, column: int) -> str:
        """What it shows of the word there."""
        return json.dumps(self._at("textDocument/hover", file, line, column))

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """A request and its answer."""
        self.count += 1
        number = self.count
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._read()
            if message.get("id") == number and "method" not in message:
                return message.get("result")

    def _at(self, method: str, file: Path, line: int, column: int) -> Any:
        position = {"line": line - 1, "character": column - 1}
        return self.ask(method, {"textDocument": {"uri": self._open(file)}, "position": position})

    def _open(self, file: Path) -> str:
        uri = file.absolute().as_uri()
        self.told.pop(uri, None)
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": file.read_text(encoding="utf-8")}
        self._send({"method": "textDocument/didClose", "params": {"textDocument": {"uri": uri}}})
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        return uri

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        """The next message; a question of the server's is answered: an editor that has no settings."""
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length, "the server ended"
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        if message.get("method") == "textDocument/publishDiagnostics":
            self.told[message["params"]["uri"]] = message["params"]["diagnostics"]
        elif "method" in message and "id" in message:
            asked = message.get("params", {}).get("items", [])
            self._send({"id": message["id"], "result": [None] * len(asked) if asked else None})
        return message
