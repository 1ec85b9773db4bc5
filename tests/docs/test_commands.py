"""docs/commands.md is what the commands say of themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from prtoggle.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "make_docs.py"
DOCUMENT = ROOT / "docs" / "commands.md"


def test_the_document_of_the_commands_is_not_stale() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_has_a_section_with_examples_and_exit_codes() -> None:
    sections = DOCUMENT.read_text(encoding="utf-8").split("\n## ")[2:]
    assert [section.partition("\n")[0] for section in sections] == list(COMMANDS)
    for section in sections:
        assert "```text" in section and "\nExit codes: " in section
