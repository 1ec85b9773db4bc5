"""What prtoggle knows of particular packages, behind one type, so that nothing else knows their names.

Standard library only: this is imported inside the target's processes.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing costs milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


class Integration:
    """A package that ships toggles of its own. (A plain class: dataclasses cost milliseconds at a target's start.)

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

    __slots__ = (
        "none_values",
        "package",
        "project",
        "registry_module",
        "registry_name",
        "stand_down",
        "variable",
    )

    def __init__(
        self,
        *,
        package: str,
        project: str,
        variable: str,
        none_values: frozenset[str],
        registry_module: str,
        registry_name: str,
        stand_down: Callable[[ModuleType, str | None], None],
    ) -> None:
        self.package = package
        self.project = project
        self.variable = variable
        self.none_values = none_values
        self.registry_module = registry_module
        self.registry_name = registry_name
        self.stand_down = stand_down

    def selects(self, value: str | None) -> bool:
        """Whether ``value`` of the variable selects anything."""
        return value is not None and value.strip() not in self.none_values


_all: tuple[Integration, ...] | None = None


def all_integrations() -> tuple[Integration, ...]:
    """Every integration that prtoggle ships: the ``INTEGRATION`` of each module beside this one."""
    global _all
    if _all is None:
        files = {name.partition(".")[0] for name in os.listdir(__path__[0]) if name.endswith((".py", ".pyc"))}
        found = [__import__(f"{__name__}.{name}", fromlist=["INTEGRATION"]) for name in sorted(files - {"__init__"})]
        _all = tuple(module.INTEGRATION for module in found)
    return _all
