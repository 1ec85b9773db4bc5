"""What prtoggle needs of other distributions, and how pip is told to install prtoggle itself.

Standard library only, since it speaks where the rest cannot be imported.

Example::

    missing("yaml")                     # "prtoggle: PyYAML is not installed for /usr/bin/python3, and ..."
    install_line("/venv/bin/python")    # "/venv/bin/python -m pip install prtoggle"
"""

from __future__ import annotations

import os
import shlex
import sys

MODULES = {"click": "click", "packaging": "packaging", "PyYAML": "yaml", "rich": "rich", "unidiff": "unidiff"}
"""Distribution -> the module that is imported of it."""

EXIT_CODE = 3
"""Of a command that cannot run for want of a distribution: understood, and refused."""


def missing(module: str, python: str = "") -> str:
    """The words for a module of another distribution that is not there; empty where it is none that prtoggle needs."""
    top = module.partition(".")[0]
    python = python or sys.executable or "python"
    for distribution, name in MODULES.items():
        if name == top:
            return (
                f"prtoggle: {distribution} is not installed for {python}, and prtoggle needs it\n"
                f"  hint: {shlex.quote(python)} -m pip install {' '.join(absent() or [distribution])}"
            )
    return ""


def absent() -> list[str]:
    """The distributions that are not installed here."""
    from importlib.util import find_spec

    return [distribution for distribution, name in MODULES.items() if find_spec(name) is None]


def install_line(python: str = "") -> str:
    """The command that installs this prtoggle for ``python``: from its checkout where it runs in one."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    what = folder if os.path.isfile(os.path.join(folder, "pyproject.toml")) else "prtoggle"
    return f"{shlex.quote(python or sys.executable or 'python')} -m pip install {shlex.quote(what)}"
