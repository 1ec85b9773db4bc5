"""Every fix that is known here, and what taking out each part of it would do to what is installed.

Example::

    here = survey(catalog, {"sglang": package, "absent": None})
    here.fixes[0].packages[0].parts[0].verdict      # "applies"
    Survey.from_data(here.data()) == here
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prtoggle.catalog import Catalog, Request
    from prtoggle.packages import Package
    from prtoggle.sources import Sources
    from prtoggle.spec import Fix


@dataclass(frozen=True)
class PartHere:
    """What one part would do in one package. ``chosen`` where a bare selection of the fix takes it out; ``restore`` is
    the command that puts it back into the files, where ``prtoggle revert --tree`` took it out of them."""

    part: str
    verdict: str
    applies: bool
    healthy: bool
    chosen: bool
    reason: str
    nearest: str = ""
    hint: str = ""
    page: str = ""
    restore: str = ""


@dataclass(frozen=True)
class PackageHere:
    """What a fix would do in one installed package. ``shadowed_by`` is the source whose fix is taken instead."""

    package: str
    parts: tuple[PartHere, ...]
    shadowed_by: str = ""


@dataclass(frozen=True)
class FixHere:
    """One fix of one source. ``absent`` are packages that it is for and that are not installed."""

    id: str
    title: str
    project: str
    symptom: str
    origin_kind: str
    origin_where: str
    parts: tuple[tuple[str, str], ...]
    default: tuple[str, ...]
    packages: tuple[PackageHere, ...]
    absent: tuple[str, ...]


@dataclass(frozen=True)
class Installed:
    """One package that a fix is for, as it lies here. ``where`` is empty where it is not installed."""

    name: str
    version: str = ""
    believed: bool = False
    why: str = ""
    where: str = ""

    @property
    def label(self) -> str:
        """Name and version, for messages."""
        if not self.where:
            return f"{self.name} (not installed)"
        return f"{self.name} {self.version}" if self.version else f"{self.name} (version unknown)"


@dataclass(frozen=True)
class Survey:
    """All fixes of all sources, all packages they are for, and the problems of files that do not load."""

    fixes: tuple[FixHere, ...]
    packages: tuple[Installed, ...]
    problems: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Survey:
        """What :meth:`data` gave."""
        return cls(
            tuple(_fix(**fix) for fix in data["fixes"]),
            tuple(Installed(**package) for package in data["packages"]),
            tuple(data["problems"]),
        )


def _fix(packages: Any, parts: Any, **rest: Any) -> FixHere:
    here = tuple(
        PackageHere(entry["package"], tuple(PartHere(**part) for part in entry["parts"]), entry["shadowed_by"])
        for entry in packages
    )
    return FixHere(packages=here, parts=tuple((name, text) for name, text in parts), **rest)


def survey(
    catalog: Catalog, packages: Mapping[str, Package | None], sources: Mapping[str, Sources] | None = None
) -> Survey:
    """What every fix of ``catalog`` would do in ``packages`` (name -> the copy here, or None), read by ``sources``."""
    if sources is None:
        from prtoggle.sources import Sources

        sources = {name: Sources(package) for name, package in packages.items() if package is not None}
    from prtoggle.library import problems_of

    fixes = [here for request in catalog.everything() for here in _survey(request, sources)]
    installed = []
    for name, package in packages.items():
        if package is None:
            installed.append(Installed(name))
        else:
            installed.append(Installed(name, package.version, package.believed, package.why, package.where))
    return Survey(tuple(fixes), tuple(installed), tuple(map(str, problems_of(catalog))))


def _survey(request: Request, sources: Mapping[str, Sources]) -> list[FixHere]:
    from prtoggle.plan import choose, decisions
    from prtoggle.refusals import back_into_files, refusal_of

    chosen = {name: choose(request, source) for name, source in sources.items()}
    found = []
    for fix in request.fixes:
        concerned = tuple(dict.fromkeys((*fix.packages, *fix.contains)))
        here = []
        for name in concerned:
            if name not in sources:
                continue
            choice = chosen[name]
            taken = (
                {d.part for d in choice.taken} if choice is not None and choice.fix is fix and choice.applies else set()
            )
            shadow = str(choice.fix.origin) if choice is not None and choice.fix is not fix and choice.applies else ""
            rows = []
            for part, decision in decisions(fix, sources[name]).items():
                refusal = None if decision.verdict.healthy else refusal_of(decision)
                rows.append(
                    PartHere(
                        part,
                        decision.verdict.value,
                        decision.verdict.value == "applies",
                        decision.verdict.healthy,
                        part in taken,
                        decision.reason,
                        refusal.nearest if refusal else "",
                        refusal.hint if refusal else "",
                        refusal.page if refusal else "",
                        back_into_files(decision),
                    )
                )
            here.append(PackageHere(name, tuple(rows), shadow))
        absent = tuple(name for name in concerned if name not in sources)
        found.append(_row(fix, tuple(here), absent))
    return found


def _row(fix: Fix, here: tuple[PackageHere, ...], absent: tuple[str, ...]) -> FixHere:
    return FixHere(
        fix.id,
        fix.title,
        fix.project,
        fix.symptom,
        fix.origin.kind,
        fix.origin.where,
        tuple(fix.parts.items()),
        fix.default_parts,
        here,
        absent,
    )
