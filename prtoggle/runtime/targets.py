"""What a live selection means in this process: which packages, which parts, which text for which module; and the finder
and the source view, put in step with it.

Resolved as at import, by :mod:`prtoggle.runtime.resolve`, always for the set of parts and from the original text. An
answer is kept while the files on which it rests are as they were (:mod:`prtoggle.runtime.remembered`).

Example::

    for each in targets.resolve("27360"):
        each.package, each.parts, each.texts
"""

from __future__ import annotations

import os
import sys

from prtoggle import selection as selections
from prtoggle.errors import RefusedError, SelectionError, without_page
from prtoggle.runtime import boot, cache, hook, sources, view
from prtoggle.runtime.remembered import Looked, Remembered
from prtoggle.runtime.resolve import Planned
from prtoggle.runtime.resolve import resolve as ask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from importlib.machinery import ModuleSpec
    from typing import Any

    from prtoggle.runtime.versions import Versions

_LIVE = "live#what-you-can-rely-on"
_REFUSED = "live#what-is-refused-and-why"

_finder: hook.Finder | None = None
_plans: dict[str, Wanted] = {}
_kept = Remembered()


class Wanted:
    """A set of parts of one package, resolved.

    Attributes:
        texts: module -> its file, its original text, and the text that it is to run.
        planned: the modules as the loader needs them.
    """

    __slots__ = ("baked_in", "label", "package", "parts", "planned", "texts")

    def __init__(self, package: str, label: str, parts: tuple[str, ...] = (), baked_in: tuple[str, ...] = ()) -> None:
        self.package = package
        self.label = label
        self.parts = parts
        self.baked_in = baked_in
        self.texts: dict[str, tuple[str, bytes, bytes]] = {}
        self.planned: list[Planned] = []


def resolve(selection: str) -> tuple[Wanted, ...]:
    """What ``selection`` means in each package that this process has imported, or could import."""
    parsed = selections.parse(selection)
    if parsed.is_none:
        raise SelectionError("nothing is selected", hint="name what to take out: 27360")
    cwd, fix_path, looked = os.getcwd(), _fix_path(), Looked()
    wanted = selections.absolute(parsed, cwd)
    specs = {package: _spec(package, looked) for package in _packages(wanted, cwd, fix_path, looked)}
    text = str(wanted)
    made = [_resolve(package, text, spec, looked) for package, spec in specs.items() if spec is not None]
    return tuple(each for each in made if each.parts)


def _packages(wanted: selections.Selection, cwd: str, fix_path: str, looked: Looked) -> list[str]:
    """Every package that ``wanted`` could be for."""
    text = str(wanted)
    files = [path for _, path in sources.listed(fix_path)]
    files += [choice.path for choice in wanted.choices if choice.path]
    key = ("packages", text, cwd, fix_path, tuple(files))
    kept: list[str] | None = _kept.get(key, looked)
    if kept is None:
        looked.see(files)
        found, blind = boot._packages({boot.VARIABLE: text}, cwd, fix_path)
        if blind:
            raise RefusedError("\n".join(blind), page="limits#where-no-package-can-be-refused")
        kept = sorted({integration.package for integration in _integrations()} | set(found))
        _kept.put(key, files, kept, looked)
    return kept


def resolve_parts(package: str, parts: tuple[str, ...]) -> Wanted:
    """What these parts mean in ``package``."""
    before = _plans.get(package)
    if not parts:
        return Wanted(package, before.label if before else package)
    looked = Looked()
    spec = _spec(package, looked)
    if spec is None:
        raise RefusedError(f"{package} cannot be found any more", page=_LIVE)
    made = _resolve(package, written(parts), spec, looked)
    if set(made.parts) != set(parts):
        missing = ", ".join(sorted(set(parts) - set(made.parts)))
        what = f"{missing} cannot be taken out of {package} any more: the reverse patches changed"
        raise RefusedError(what, page=_LIVE)
    return made


def among(selection: str, out: tuple[str, ...]) -> set[str]:
    """Which of the parts ``out`` ``selection`` names. Raises SelectionError where it names one that is not out."""
    parsed = selections.absolute(selections.parse(selection), os.getcwd())
    if parsed.everything:
        return set(out)
    named: set[str] = set()
    for choice in parsed.choices:
        if choice.kind == "diff":
            mine = [part for part in out if part == choice.path]
            wanted = {choice.path}
        else:
            number = str(choice.number)
            mine = [part for part in out if part == number or part.startswith(f"{number}/")]
            wanted = {f"{number}/{part}" for part in choice.parts or ()} or set(mine)
        if not mine or not wanted <= set(mine):
            missing = ", ".join(sorted(wanted - set(mine))) or str(choice)
            hint = f"out are: {', '.join(out)}" if out else "nothing is out"
            raise SelectionError(f"{missing} is not reverted in this process", hint=hint, page=_LIVE)
        named |= wanted
    return named


def written(parts: Iterable[str]) -> str:
    """Parts as a selection."""
    choices = (
        str(selections.Choice("diff", path=part)) if part.lower().endswith((".diff", ".patch")) else part
        for part in parts
    )
    return ",".join(choices)


def planned_at_import() -> dict[str, list[str]]:
    """Package -> parts that the variable took out when it was imported."""
    found: dict[str, list[str]] = {}
    for name, planned in list((boot.finder.planned if boot.finder else {}).items()):
        parts = found.setdefault(name.partition(".")[0], [])
        parts += [part for part in planned.parts if part not in parts]
    return found


def modules_of(package: str, part: str) -> list[str]:
    """The modules that ``part`` changes in ``package``."""
    planned: Iterable[Planned] = _plans[package].planned if package in _plans else _planned_in(package)
    return [each.name for each in planned if part in each.parts]


def baked_in(plans: Iterable[Wanted], out: tuple[str, ...], back: tuple[str, ...]) -> tuple[str, ...]:
    """Where old code lives on when ``out`` goes out under ``plans`` and ``back`` comes back of what is in force now, as
    the reverse patches say; also of what went out at import."""
    found: dict[str, None] = {}
    for plan in plans:
        now = _plans.get(plan.package)
        names = now.baked_in if now else boot.finder.baked_in.get(plan.package, ()) if boot.finder else ()
        in_force = now.planned if now else _planned_in(plan.package)
        for where, planned, parts in ((plan.baked_in, plan.planned, out), (names, in_force, back)):
            # An edit: its parts, place, line, target, line in the reverted text, and whether it is baked in.
            if any(edit[5] and not set(edit[0]).isdisjoint(parts) for each in planned for edit in each.edits):
                found.update(dict.fromkeys(where))
    return tuple(found)


def loaded_text(name: str) -> bytes | None:
    """The text that module ``name`` was loaded from; None where it is not loaded. Empty: the file as it is."""
    module = sys.modules.get(name)
    if module is None:
        return None
    planned = getattr(getattr(getattr(module, "__spec__", None), "loader", None), "_prtoggle", None)
    return planned.reverted if planned is not None else b""


def reverted_modules(package: str, known: Mapping[str, Versions]) -> dict[str, tuple[str, bytes]]:
    """The modules of ``package`` that do not run their original text now: name -> file and original."""
    if package in _plans:
        return {name: (file, base) for name, (file, base, _) in _plans[package].texts.items()}
    return {each.name: _file_and_base(each) for each in _planned_in(package)}


def put_in_force(plan: Wanted) -> None:
    """What is imported from now on, and what tracebacks show, is ``plan``."""
    finder = _the_finder()
    gone = {each.name: each for each in _planned_in(plan.package)}
    for name, (file, _) in reverted_modules(plan.package, {}).items():
        view.unregister(file)
        gone.pop(name, None)
        finder.planned.pop(name, None)
        if finder.wanted.get(name) == finder._module and name not in {i.registry_module for i in _integrations()}:
            del finder.wanted[name]
    if plan.planned:
        finder._show_what_runs()
    for planned in plan.planned:
        file = plan.texts[planned.name][0]
        planned.found = plan.texts[planned.name][1]
        planned.on_load = finder._loaded(planned)
        planned.on_refusal = lambda reason, root=plan.package: finder.refuse(root, reason)
        finder.planned[planned.name] = planned
        finder.wanted.setdefault(planned.name, finder._module)
        if planned.name in sys.modules:
            view.register(file, planned.reverted)
            finder.loaded.add(planned.name)
    _plans[plan.package] = plan


def _the_finder() -> hook.Finder:
    global _finder
    if boot.finder is not None:
        return boot.finder
    if _finder is None:
        _finder = hook.Finder({}, (), _integrations(), os.getcwd(), _fix_path())
        sys.meta_path.insert(0, _finder)
    return _finder


def _integrations() -> Any:
    from prtoggle.integrations import all_integrations

    return all_integrations()


def _fix_path() -> str:
    entries = os.environ.get(sources.VARIABLE, "").split(os.pathsep)
    return os.pathsep.join(os.path.abspath(entry) for entry in entries if entry.strip())


def _planned_in(package: str) -> list[Planned]:
    planned = boot.finder.planned if boot.finder else {}
    return [each for name, each in list(planned.items()) if name.partition(".")[0] == package]


def _spec(package: str, looked: Looked) -> ModuleSpec | None:
    """How the package is, or would be, imported; a package that is in the variable's plan is decided first."""
    module = sys.modules.get(package)
    if module is not None:
        spec = getattr(module, "__spec__", None)
        return spec if spec is not None else hook._made_up(module)
    finder = _the_finder()
    known = package not in finder.refused and (package not in finder.wanted or package in finder.done)
    finders, folders = tuple(sys.meta_path), _folders()
    key = ("spec", package, os.getcwd(), tuple(map(str, sys.path)), tuple(map(id, finders)))
    kept = _kept.get(key, looked) if known else None
    if kept is not None:
        found: ModuleSpec | None = kept[0]
        return found
    looked.see(folders)
    spec = finder._ask_others(package, None, None)
    if spec is not None and package in finder.wanted and package not in finder.done:
        finder._decide(package, spec)
    if spec is not None and package in finder.refused:
        said, page = without_page(finder.refused[package])
        raise RefusedError(said, page=page)
    if known:
        _kept.put(key, folders, (spec, finders), looked)  # the finders too: an identity is theirs while they live
    return spec


def _folders() -> list[str]:
    """Where packages are looked for: what comes or goes there changes the folder's own stamp."""
    return [str(entry) or os.curdir for entry in sys.path]


def _resolve(package: str, text: str, spec: ModuleSpec, looked: Looked) -> Wanted:
    locations = [os.path.abspath(entry) for entry in spec.submodule_search_locations or ()]
    file = spec.origin if spec.has_location else None
    cwd, fix_path = os.getcwd(), _fix_path()
    fixes = [path for _, path in sources.listed(fix_path)]
    key = ("plan", package, text, tuple(locations), file, cwd, fix_path, tuple(fixes), tuple(map(str, sys.path)))
    kept = _kept.get(key, looked)
    if kept is None or any(_place(entry[0]) != place for entry, place, _, _ in kept[1]):
        kept = _asked(package, text, locations, file, cwd, fix_path)
        rests = _rests(package, locations, file, fixes, kept)
        looked = Looked()
        looked.see(rests)
        # Only now is it known what it rests on: whether it did so when it was looked at, a second answer tells, which
        # comes from the store.
        if kept == _asked(package, text, locations, file, cwd, fix_path):
            _kept.put(key, rests, kept, looked)
    answer, modules = kept
    made = Wanted(package, answer["label"], tuple(answer["parts"]), tuple(answer["baked_in"]))
    for entry, _, where, base in modules:
        planned = Planned(*entry)
        made.planned.append(planned)
        made.texts[planned.name] = (where, base, planned.reverted)
    return made


def _asked(
    package: str, text: str, locations: list[str], file: str | None, cwd: str, fix_path: str
) -> tuple[dict[str, Any], list[Any]]:
    """The answer, and of its modules: the entry, where the module was imported from, its file, its original text."""
    answer = ask(package, locations, file, {boot.VARIABLE: text}, cwd, fix_path, _integrations())
    if "refused" in answer:
        kind = SelectionError if answer.get("code") == SelectionError.exit_code else RefusedError
        raise kind(answer["refused"], page=answer.get("page", ""))
    return answer, [(entry, _place(entry[0]), *_file_and_base(Planned(*entry))) for entry in answer["modules"]]


def _rests(package: str, locations: list[str], file: str | None, fixes: list[str], kept: Any) -> list[str]:
    """The files and folders on which an answer rests."""
    answer, modules = kept
    rests = [*fixes, *_folders(), *_metadata(package, locations, file), *(path for path, _ in answer["read"])]
    return [*rests, *(path for entry, _, where, _ in modules for path in (entry[1], where))]


def _metadata(package: str, locations: list[str], file: str | None) -> list[str]:
    """What says which version of the package this is: the folder that has its metadata beside it, in which every other
    version has another name, and the metadata that is called as the package is."""
    top = locations[0] if locations else file
    if not top:
        return []
    parent = os.path.dirname(top)
    try:
        names = [name for name in os.listdir(parent) if name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return [parent]
    plain = package.replace("_", "").lower()
    mine = [name for name in names if "".join(c for c in name.lower() if c not in "-_.").startswith(plain)]
    return [parent, *(os.path.join(parent, name, part) for name in mine for part in ("METADATA", "RECORD"))]


def _place(name: str) -> str | None:
    """Where module ``name`` was imported from; None where it was not."""
    return getattr(sys.modules.get(name), "__file__", None)


def _file_and_base(planned: Planned) -> tuple[str, bytes]:
    """The module's file as its code names it, and its original text."""
    module = sys.modules.get(planned.name)
    where = getattr(module, "__file__", None) or planned.file
    if os.path.realpath(where) != os.path.realpath(planned.file):
        what = f"{planned.name} was imported from {where}, and the plan is for {planned.file}"
        raise RefusedError(what, page=_REFUSED)
    base = sources.read(planned.file)
    if cache.content(base) != planned.before:
        raise RefusedError(f"{planned.file} changes while it is read", page=_REFUSED)
    return where, base
