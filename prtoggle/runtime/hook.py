"""The finder in front of ``sys.meta_path``: makes the plan at the first import of a target package, and loads planned
modules.

Every import pays one dictionary look-up; only names in :attr:`Finder.wanted` go further. The finder claims nothing by
itself: it asks the other finders for the spec and changes what loads it.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock

from prtoggle.runtime import journal, notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    from prtoggle.integrations import Integration
    from prtoggle.runtime.resolve import Planned

SEE = "\n  see: prtoggle explain "
"""As :func:`prtoggle.errors.see` writes it, which is not imported here: at a process's end imports may not work."""


class Finder:
    """The one finder of a process.

    Attributes:
        values: the selecting variables as boot saw them.
        wanted: module name -> what to do when it is looked for.
        refused: package -> why it may not be imported here.
        watched: packages of which submodules are looked at too: not planned yet, or refused.
        planned: module name -> its plan, for every package planned so far.
        baked_in: package -> where old code would survive a live toggle of what was planned in it.
    """

    def __init__(
        self,
        values: dict[str, str | None],
        packages: tuple[str, ...],
        integrations: tuple[Integration, ...],
        cwd: str,
        fix_path: str,
    ) -> None:
        self.values = values
        self.integrations = integrations
        self.cwd = cwd
        self.fix_path = fix_path
        self.lock = RLock()
        self.done: set[str] = set()
        self.deciding: set[str] = set()
        self.refused: dict[str, str] = {}
        self.planned: dict[str, Planned] = {}
        self.baked_in: dict[str, tuple[str, ...]] = {}
        self.loaded: set[str] = set()
        self.unsaid: dict[str, str] = {}
        self.packages = packages
        self.wanted: dict[str, Any] = {name: self._package for name in packages}
        self.watched: set[str] = set(packages)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Called by the import system for every module that is not loaded yet."""
        act = self.wanted.get(name)
        if act is None:
            if not sys.meta_path or sys.meta_path[0] is not self:
                self._to_front()
            if path is None or name.partition(".")[0] not in self.watched:
                return None
            act = self._submodule
        found: ModuleSpec | None = act(name, path, target)
        return found

    def _forked(self) -> None:
        """The thread that held the lock may not be in this child."""
        self.lock = RLock()

    def _to_front(self) -> None:
        """Another hook put itself in front and could load a planned module before this finder is asked."""
        finders = sys.meta_path
        if self in finders and isinstance(finders, list):
            finders.remove(self)
            finders.insert(0, self)

    def _ask_others(self, name: str, path: Any, target: ModuleType | None) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            if finder is self:
                continue
            find_spec = getattr(finder, "find_spec", None)
            if find_spec is not None:
                spec: ModuleSpec | None = find_spec(name, path, target)
                if spec is not None:
                    return spec
        return None

    def _package(self, name: str, path: Any, target: ModuleType | None) -> ModuleSpec | None:
        """A target package at its root: make the plan, all of it, before anything of it is loaded."""
        spec = self._ask_others(name, path, target)
        if spec is None:
            return None
        self._decide(name, spec)
        if name in self.refused:
            return self._refusing(spec, name)
        return self._load_planned(name, spec) if name in self.planned else spec

    def _decide(self, package: str, spec: ModuleSpec) -> None:
        """Make the plan for ``package``, unless that was done."""
        with self.lock:
            if package in self.done:
                return
            if package in self.deciding:
                self.refuse(package, f"prtoggle needs {package} itself to resolve the selection in this process")
                return
            self.deciding.add(package)
            try:
                self._plan(package, spec)
                self.done.add(package)
            finally:
                self.deciding.discard(package)
            if package not in self.refused:
                self.watched.discard(package)

    def _submodule(self, name: str, path: Any, target: ModuleType | None) -> ModuleSpec | None:
        """A module of a package that came into ``sys.modules`` past this finder, or that is refused."""
        root = name.partition(".")[0]
        if root not in self.done:
            self._decide_loaded(root)
        if name in self.wanted:
            found: ModuleSpec | None = self.wanted[name](name, path, target)
            return found
        if root not in self.refused:
            return None
        spec = self._ask_others(name, path, target)
        return self._refusing(spec, root) if spec is not None else None

    def _decide_loaded(self, package: str) -> None:
        """Make the plan for a package that is in ``sys.modules`` already; where it is refused, whoever asks for it
        again does not get what is there."""
        module = sys.modules.get(package)
        spec = getattr(module, "__spec__", None)
        if module is not None and spec is None:
            spec = _made_up(module)
        if spec is None:
            return
        self._decide(package, spec)
        if package in self.refused and package in sys.modules:
            notice.error(f"{package} was imported before prtoggle could revert it: {self.refused[package]}")
            self._forget(package)

    def look_back(self) -> None:
        """Decide on packages that were imported before this finder was in place."""
        for package in self.packages:
            if package in sys.modules and package not in self.done:
                self._decide_loaded(package)

    def _module(self, name: str, path: Any, target: ModuleType | None) -> ModuleSpec | None:
        """A planned module, or a package's own registry."""
        spec = self._ask_others(name, path, target)
        if spec is None:
            return None
        root = name.partition(".")[0]
        if root in self.refused:
            return self._refusing(spec, root)
        if name in self.planned:
            spec = self._load_planned(name, spec)
        for integration in self.integrations:
            if integration.registry_module == name:
                seen = self.values.get(integration.variable)
                from prtoggle.runtime import loaders

                spec = loaders.after_load(spec, lambda module: integration.stand_down(module, seen))  # noqa: B023
                break
        return spec

    def _load_planned(self, name: str, spec: ModuleSpec) -> ModuleSpec:
        from prtoggle.runtime import loaders
        from prtoggle.runtime.refused import RevertRefusedError

        try:
            return loaders.revert(spec, self.planned[name])
        except RevertRefusedError as error:
            root = name.partition(".")[0]
            self.refuse(root, str(error), "limits#what-is-refused-though-it-could-be-done")
            return self._refusing(spec, root)

    def _refusing(self, spec: ModuleSpec, package: str) -> ModuleSpec:
        from prtoggle.runtime import loaders

        return loaders.refuse(spec, self._message(package))

    def _plan(self, name: str, spec: ModuleSpec) -> None:
        from prtoggle.runtime.resolve import Planned, resolve

        try:
            locations = [os.path.abspath(entry) for entry in spec.submodule_search_locations or ()]
            file = spec.origin if spec.has_location else None
            answer = resolve(name, locations, file, self.values, self.cwd, self.fix_path, self.integrations)
        except Exception as error:
            self.refuse(name, f"the selection could not be resolved: {type(error).__name__}: {error}")
            return
        if "refused" in answer:
            self.refuse(name, answer["refused"], answer.get("page", ""))
            return
        modules = [Planned(*entry) for entry in answer["modules"]]
        early = [module.name for module in modules if module.name in sys.modules]
        if early:
            reason = f"{', '.join(early)} was imported before prtoggle could revert it"
            self.refuse(name, reason, "limits#where-nothing-can-be-said")
            notice.error(reason)
            self._forget(name)
            return
        script = _run_as_script(modules)
        if script:
            self.refuse(name, script, "limits#where-nothing-can-be-said")
            notice.error(script)
            return
        self._take(name, answer, modules)

    def _forget(self, package: str) -> None:
        """Whoever asks for ``package`` from now on is refused, and does not get what was imported too early."""
        for name in list(sys.modules):
            if name == package or name.startswith(f"{package}."):
                del sys.modules[name]

    def _take(self, name: str, answer: dict[str, Any], modules: list[Planned]) -> None:
        self.baked_in[name] = tuple(answer["baked_in"])
        if modules:
            self._show_what_runs()
        if os.environ.get("PRTOGGLE_TRACE") == "1" and modules:
            from prtoggle.runtime import trace

            trace.prepare(modules)
        for module in modules:
            module.on_load = self._loaded(module)
            module.on_refusal = lambda reason, root=name: self.refuse(root, reason)
            self.planned[module.name] = module
            self.wanted.setdefault(module.name, self._module)
        for integration in self.integrations:
            if integration.package == name:
                self.wanted.setdefault(integration.registry_module, self._module)
        journal.record(
            "planned",
            package=name,
            label=answer["label"],
            parts=answer["parts"],
            notes=answer["notes"],
            modules=[{"name": m.name, "file": m.file, "parts": m.parts} for m in modules],
        )
        if answer["parts"]:
            notes = f" ({'; '.join(answer['notes'])})" if answer["notes"] else ""
            self.unsaid[name] = f"{', '.join(answer['parts'])} reverted in {answer['label']}{notes}"

    def _show_what_runs(self) -> None:
        from prtoggle.runtime import view

        view.install_printers()
        for name in view.MODULES:
            if name in sys.modules:
                view.adopt(sys.modules[name])
            else:
                self.wanted.setdefault(name, self._adopted)

    def _adopted(self, name: str, path: Any, target: ModuleType | None) -> ModuleSpec | None:
        """A module of Python's own that shows source lines, loaded for the first time."""
        from prtoggle.runtime import loaders, view

        spec = self._ask_others(name, path, target)
        return loaders.after_load(spec, view.adopt) if spec is not None else None

    def _loaded(self, module: Planned) -> Any:
        def on_load(file: str) -> None:
            self.loaded.add(module.name)
            line = self.unsaid.pop(module.name.partition(".")[0], "")
            if line:
                notice.say(line)
            if not journal.wanted():
                return
            from prtoggle.runtime.cache import digest

            journal.record(
                "reverted",
                module=module.name,
                file=file,
                before=digest(module.found),
                after=digest(module.reverted),
                parts=module.parts,
                edits=[{"parts": e[0], "place": e[1], "line": e[2], "target": e[3]} for e in module.edits],
            )

        return on_load

    def refuse(self, package: str, reason: str, page: str = "") -> None:
        """From now on importing ``package`` raises in this process; ``page`` explains why."""
        if SEE not in reason:
            reason += SEE + (page or "processes#fails-closed")
        first = package not in self.refused
        self.refused.setdefault(package, reason)
        self.wanted.setdefault(package, self._package)
        self.watched.add(package)
        self.done.add(package)
        if first:
            journal.record("refused", package=package, reason=reason)

    def _message(self, package: str) -> str:
        selected = notice.describe(self.values)
        head = f"prtoggle: {selected} is not in force in this process, so {package} may not be imported:"
        return f"{head}\n{self.refused[package]}"


def _run_as_script(modules: list[Planned]) -> str:
    """Why the program that runs here is a planned module without its revert; empty where it is none.

    Looked at now, since the name of the script's file is gone when the process ends.
    """
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    if not isinstance(file, str) or getattr(main, "__spec__", None) is not None:
        return ""
    for module in modules:
        if os.path.realpath(file) == os.path.realpath(module.file):
            return f"{file} runs as a script, without the revert of {module.name}; run it with python -m {module.name}"
    return ""


def _made_up(module: ModuleType) -> ModuleSpec:
    """A spec for a module that has none (made by hand, or run as a script)."""
    from importlib.machinery import ModuleSpec

    locations = getattr(module, "__path__", None)
    file = getattr(module, "__file__", None)
    spec = ModuleSpec(module.__name__, None, origin=file, is_package=locations is not None)
    spec.has_location = file is not None
    if locations is not None:
        spec.submodule_search_locations = list(locations)
    return spec
