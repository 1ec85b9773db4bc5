"""Writes ``prtoggle.pth``, the one line that Python runs at every start of an interpreter.

What the line promises:

* With none of the variables set, it costs one look-up for each variable. What is compiled at each start (twice in a
  virtual environment) is those look-ups: all the rest is one string, which is compiled where a variable is set.
* With one set to nothing, nothing of prtoggle is imported.
* With a selecting variable set, it hands over to ``prtoggle.runtime.boot``, which handles its own errors.
* If that cannot even be imported, or fails, it *fails closed*: Python prints and forgets an error in a ``.pth`` file,
  and the process would run with the fix in that it was told to take out. So a finder is put in front of
  ``sys.meta_path`` that refuses the target packages.

* With ``PRTOGGLE_CONTROL`` set, it then starts ``prtoggle.runtime.control``; where that cannot start, it says so.

The line is made from the readable text below; a test keeps the file, this text and ``prtoggle.integrations`` together.

Example::

    python scripts/make_pth.py           # writes prtoggle.pth
    python scripts/make_pth.py --check   # exit 1 if it is stale
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PTH = ROOT / "prtoggle.pth"

# Notes on the text, which stands in every installation and so carries no comments:
# - It is run in a fresh dictionary, which is both its globals and its locals. Without one it would run in two (site's),
#   the class could not see the names beside it, and the line would fail open.
# - RuntimeError, since `except ImportError` around an optional import would swallow anything milder; new each time.
# - Submodules are refused too: something may have imported the root before us.
# - Not print(file=sys.stderr): where there is no stderr, that is None, and print would take stdout.
# - The finder is in place before anything is formatted or printed, since either can fail.
# - site may read the file twice (a virtual environment that also sees the system's packages): one finder is enough.
# - KeyboardInterrupt goes on as it would without us; everything else, SystemExit too, ends here.
FALLBACK = """\
try:
    from prtoggle.runtime import boot
    boot.boot()
except BaseException as error:
    import sys
    targets = {targets}
    cause = error
    class PrtoggleBlocker:
        def find_spec(self, name, path=None, target=None):
            if name.partition('.')[0] in targets:
                raise RuntimeError(
                    f'prtoggle: {{name}} is refused: a revert was asked for, and prtoggle could not start: {{why()}}. '
                    'Unset {variables}, or reinstall prtoggle; "prtoggle doctor" says more'
                ) from cause
    def why():
        try:
            return repr(cause)
        except BaseException:
            return type(cause).__name__
    if 'PrtoggleBlocker' not in [type(finder).__name__ for finder in sys.meta_path]:
        sys.meta_path.insert(0, PrtoggleBlocker())
        try:
            names = ' or '.join(targets)
            told = f'could not start, so nothing selected is in force here, and nothing can import {{names}}'
            sys.stderr.write(f'prtoggle: {{told}}: {{why()}}\\n')
        except BaseException:
            pass
    if isinstance(cause, KeyboardInterrupt):
        raise
"""

# Nothing was asked to be reverted yet: where the control socket cannot be had, that is said, and nothing refused.
CONTROL = """\
try:
    from prtoggle.runtime import control
    control.start()
except Exception as error:
    import sys
    try:
        sys.stderr.write(f'prtoggle: ERROR: {variable} is set, but this process takes no requests: {{error!r}}\\n')
    except BaseException:
        pass
"""


def pth_line(variables: tuple[str, ...], targets: tuple[str, ...], control: str) -> str:
    """The line for these selecting variables, these packages to refuse, and the variable of the control socket."""
    start = FALLBACK.format(targets=repr(targets), variables=" and ".join(variables))
    asked = " or ".join(f"os.environ.get({name!r})" for name in variables)
    listen = CONTROL.format(variable=control)
    text = f"import os\nif {asked}:\n{_below(start)}if os.environ.get({control!r}):\n{_below(listen)}"
    # Whether a name is there, not its value: `in` is the least to compile. ASCII: Python before 3.13 reads the file in
    # the locale's encoding.
    there = " or ".join(f"{name!r} in os.environ" for name in (*variables, control))
    return f"import os; ({there}) and exec({text!a}, {{}})\n"


def _below(text: str) -> str:
    """``text`` one level deeper, with one space for each level: Python reads every byte of it at each start."""
    lines = (line.lstrip(" ") for line in text.splitlines())
    levels = ((len(line) - len(line.lstrip(" "))) // 4 + 1 for line in text.splitlines())
    return "".join(f"{' ' * level}{line}\n" for level, line in zip(levels, lines, strict=True))


def wanted() -> str:
    """The line for what prtoggle ships."""
    sys.path.insert(0, str(ROOT))
    from prtoggle.integrations import all_integrations

    integrations = all_integrations()
    variables = ("PRTOGGLE_REVERT", *(each.variable for each in integrations))
    return pth_line(variables, (*(each.package for each in integrations), "prtoggle_fixes"), "PRTOGGLE_CONTROL")


def main() -> int:
    line = wanted()
    if "--check" not in sys.argv[1:]:
        PTH.write_text(line, encoding="ascii")
        return 0
    if PTH.read_text(encoding="ascii") == line:
        return 0
    print(f"{PTH.name} is stale: run `python scripts/make_pth.py`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
