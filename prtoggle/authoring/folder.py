"""The folder of a new fix: its files, written whole or not at all, and never over anything that is there.

Example::

    keep(Path("fixes"), "pr101_cut_the_batch", {"revert.yaml": "...", "scenario.py": "..."})
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from prtoggle import wholefile
from prtoggle.errors import RefusedError, UsageError
from prtoggle.folderlock import alone

_PAGE = "guides/write-a-reverse-patch#3-let-it-be-written"

_LONGEST = 40
_SMALL = frozenset({"a", "an", "the", "of", "in", "on", "for", "to", "and", "with", "is", "at", "by", "change", "more"})


def slug(title: str) -> str:
    """A few words of a title, for the folder's name."""
    words = re.findall(r"[a-z0-9]+", re.sub(r"\[[^\]]*\]", " ", title.lower())) or re.findall(
        r"[a-z0-9]+", title.lower()
    )
    found = ""
    for word in [word for word in words if word not in _SMALL][:6]:
        if found and len(found) + 1 + len(word) > _LONGEST:
            break
        found = f"{found}_{word}" if found else word[:_LONGEST]
    return found or "change"


def place(out: Path, number: str, title: str) -> Path:
    """The folder for a new fix in ``out``.

    Raises:
        RefusedError: there is a folder for the number already.
        UsageError: ``out`` is no folder.
    """
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is no folder")
    _free(out, number)
    return out / f"pr{number}_{slug(title)}"


def _free(out: Path, number: str) -> None:
    there = sorted(out.glob(f"pr{number}_*")) if out.is_dir() else []
    if there:
        raise RefusedError(
            f"{there[0]} is there already, and nothing is written over",
            hint="--dry-run shows what would be written; --out names another folder; or move it away",
            page=_PAGE,
        )


def keep(folder: Path, files: Mapping[str, str]) -> tuple[Path, ...]:
    """Write ``files`` into the new folder ``folder``, all of them or none; of several at once for one number, one does.

    Raises:
        RefusedError: one for its number is there, or it cannot be written.
    """
    number = folder.name.removeprefix("pr").partition("_")[0]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # One folder further down than fixes are looked for: what a kill leaves behind is not taken for one.
        aside = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    except OSError as error:
        raise RefusedError(f"{folder} cannot be written: {error.strerror or error}", page=_PAGE) from None
    try:
        whole = aside / folder.name
        whole.mkdir()
        for name, text in files.items():
            wholefile.make(whole / name, text.encode(), 0o666)
        wholefile.sync_folder(whole)
        with alone(folder.parent):  # another `new` that is about to have its folder there waits
            _free(folder.parent, number)  # asked again: another one may have been as far; it has another title
            if os.path.lexists(folder):  # an empty folder would be replaced
                raise RefusedError(f"{folder} is there already, and nothing is written over", page=_PAGE)
            os.rename(whole, folder)
        wholefile.sync_folder(folder.parent)
    except OSError as error:
        raise RefusedError(f"{folder} cannot be written: {error.strerror or error}", page=_PAGE) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return tuple(folder / name for name in files)


def scenario(number: str, title: str) -> str:
    """The skeleton of ``scenario.py``: it says that it cannot be run until somebody has written it."""
    return f'''"""{_sentence(title)}

:func:`observe` exercises the component; it does not know in which state it runs. To be written: until then
``prtoggle prove {number}`` fails.
"""

from __future__ import annotations

from typing import Any

from prtoggle.scenario import Case


def observe(device: str) -> dict[str, Any]:
    """Use what the fix is about on ``device`` ("cpu" or "cuda") and return what was seen, as plain JSON values."""
    raise NotImplementedError("write the smallest use that shows the symptom of {number} where it is reverted")


CASES = (
    Case("none", "say what is seen when all is well", lambda seen: bool(seen["right"])),
    Case("{number}", "say what is seen without the fix", lambda seen: not seen["right"]),
)
'''


def guard(number: str, title: str) -> str:
    """The skeleton of a test that guards the fix: it fails until somebody has written it."""
    name = re.sub(r"\W+", "_", slug(title))
    head = f'"""Guards {number}: {_sentence(title)}"""\n\nfrom __future__ import annotations\n\n'
    return f'''{head}import pytest


@pytest.mark.guards("{number}")
def test_{name}() -> None:
    """It must pass as things are, and fail once the fix is reverted; the mark runs it both ways."""
    pytest.fail("write a test that only the fix makes pass")
'''


def _sentence(title: str) -> str:
    text = " ".join(title.replace("\\", "/").replace('"""', "'''").split()).rstrip(".")
    return f"{text[:100].rstrip()}." if text else "A fix."
