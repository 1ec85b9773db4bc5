"""The fixes as they are seen for one package or another: what is on disk is read once, registries with their packages.

Example::

    library = Library(dirs=[Path("my-fixes")])
    library.catalog(package).resolve(parse("27360"))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from prtoggle import catalog, difffix, installed
from prtoggle.catalog import Catalog
from prtoggle.entries import registry_entries
from prtoggle.errors import MalformedError, PrtoggleError
from prtoggle.integrations import Integration, all_integrations
from prtoggle.packages import Package
from prtoggle.runtime.sources import BUNDLED, bundled_folder
from prtoggle.selection import ALL, Selection


class Library:
    """Everything that commands ask of fixes and of what is installed."""

    def __init__(
        self, dirs: Sequence[Path] = (), path: Sequence[str] | None = None, environ: Mapping[str, str] | None = None
    ) -> None:
        self.dirs = tuple(dirs)
        self.path = tuple(installed.search_path() if path is None else path)
        self.environ = environ
        self._found: dict[str, Package | None] = {}

    @cached_property
    def base(self) -> Catalog:
        """The fixes of all sources but the registries of packages."""
        return catalog.load(dirs=self.dirs, environ=self.environ, sys_path=self.path)

    @cached_property
    def here(self) -> Catalog:
        """The fixes of all sources, with the registries of what is installed."""
        return self._with(installed.registries(self.path), None)

    def known(self, selection: Selection) -> None:
        """Raises where the selection names a fix or part that nobody here knows, or one whose file does not load."""
        numbers = Selection(tuple(choice for choice in selection.choices if choice.kind == "fix"))
        self.here.resolve(numbers)

    def catalog(self, package: Package) -> Catalog:
        """The fixes as they are seen for ``package``: its own registry, and diffs taken for changes of it."""
        own = [each for each in all_integrations() if each.package == package.name and package.locations]
        if own:
            return self._with(tuple((each, package.locations[0]) for each in own), package)
        return self._with(installed.registries(self.path), package)

    def _with(self, registries: Sequence[tuple[Integration, Path]], package: Package | None) -> Catalog:
        more = [entry for integration, root in registries for entry in registry_entries(integration, root)]
        diff_fix = None if package is None else lambda path: difffix.diff_fix(path, package=package)
        return Catalog((*self.base.entries, *more), self.base.bad_sources, diff_fix)

    @cached_property
    def package_names(self) -> tuple[str, ...]:
        """Every package that a fix here is for, or that has a registry of its own."""
        return tuple(dict.fromkeys((*self.here.packages, *(each.package for each in all_integrations()))))

    def find(self, name: str) -> Package | None:
        """The installed copy of package ``name``; the bundled one is found beside prtoggle wherever that is."""
        if name not in self._found:
            found = installed.find(name, self.path)
            if found is None and name == BUNDLED:
                found = installed.find(name, [str(Path(bundled_folder()).parent)])
            self._found[name] = found
        return self._found[name]

    @cached_property
    def problems(self) -> tuple[PrtoggleError, ...]:
        """Every source and file that does not load."""
        return problems_of(self.here)


def problems_of(known: Catalog) -> tuple[PrtoggleError, ...]:
    """Everything of a catalog that does not load."""
    try:
        known.resolve(ALL)
    except MalformedError as error:
        return error.problems
    except PrtoggleError as error:
        return (error,)
    return ()
