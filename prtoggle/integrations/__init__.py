"""What prtoggle knows of particular packages, behind one type, so that nothing else knows their names.

Standard library only: this is imported inside the target's processes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType


@dataclass(frozen=True)
class Integration:
    """A package that ships toggles of its own.

    Attributes:
        package: its import name.
        project: ``owner/name`` of the project whose PR numbers its variable takes.
        variable: the environment variable that selects a revert, as the package itself reads it.
        none_values: values of ``variable`` that select nothing, as they do for the package.
        registry_module: dotted name of the module that holds its registry of reverse patches.
        registry_name: name of the dictionary (number -> YAML text) in that module.
        stand_down: called with the loaded ``registry_module`` and the value of ``variable`` that boot saw; makes the
            package's own toggle stand down.
    """

    package: str
    project: str
    variable: str
    none_values: frozenset[str]
    registry_module: str
    registry_name: str
    stand_down: Callable[[ModuleType, str | None], None]


def all_integrations() -> tuple[Integration, ...]:
    """Every integration that prtoggle ships."""
    from prtoggle.integrations import sglang

    return (sglang.INTEGRATION,)
