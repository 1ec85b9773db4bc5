"""SGLang: the only module that knows its name.

SGLang from 0.5.13 on reads ``SGLANG_DEBUG_REVERT_PR`` itself, in its scheduler process, and edits its own functions.
With prtoggle in force that would be done twice, or fail for what its patcher cannot do, so its entry point stands
down.
"""

from __future__ import annotations

import os
import sys

from prtoggle.integrations import Integration

TYPE_CHECKING = False  # typing costs milliseconds to import
if TYPE_CHECKING:
    from types import ModuleType

VARIABLE = "SGLANG_DEBUG_REVERT_PR"
_ENTRY_POINT = "maybe_revert_pr_fix"


def stand_down(module: ModuleType, seen: str | None) -> None:
    """Replace SGLang's own entry point in ``module``.

    The replacement looks at the variable again: where it is what boot saw it returns, with one line on stderr the
    first time; where it changed since, it raises RuntimeError, since what the variable now asks for is not in force.
    """
    said = False

    def maybe_revert_pr_fix() -> None:
        nonlocal said
        now = os.environ.get(VARIABLE)
        if now != seen:
            raise RuntimeError(
                f"prtoggle: {VARIABLE} was {seen!r} when this process started and is {now!r} now; "
                "a revert is chosen before the process starts: set the variable for the process and start it again"
            )
        if not said and seen is not None and os.environ.get("PRTOGGLE_QUIET") != "1":
            said = True
            print(f"prtoggle: SGLang's own toggle stands down; prtoggle applies {VARIABLE}={seen}", file=sys.stderr)

    maybe_revert_pr_fix.__module__ = module.__name__
    setattr(module, _ENTRY_POINT, maybe_revert_pr_fix)


INTEGRATION = Integration(
    package="sglang",
    project="sgl-project/sglang",
    variable=VARIABLE,
    none_values=frozenset({"", "0", "None"}),
    registry_module="sglang.srt.debug_utils.pr_fix_toggle",
    registry_name="_PR_FIX_REVERT_YAML",
    stand_down=stand_down,
)
