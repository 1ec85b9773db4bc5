"""The resolver: from a selection and a package's place to a plan, as plain values that marshal takes.

Runs in a process of its own (see :mod:`prtoggle.runtime.resolve`), where everything may be imported.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prtoggle import catalog, plan, selection
from prtoggle.difffix import diff_fix
from prtoggle.errors import PrtoggleError
from prtoggle.integrations import all_integrations
from prtoggle.lineshift import LineShift
from prtoggle.packages import from_locations
from prtoggle.runtime import cache


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request.

    ``{"refused": why, "page": what explains it, "code": exit code}``, or ``{"label": "sglang 0.5.16", "parts": (...),
    "notes": (...), "baked_in": (...), "modules": ((name, file, digest before, reverted bytes, parts, edits), ...),
    "read": ((path, digest or None), ...)}``, where an edit is ``(parts, where it is written, line of the original,
    target, line of the reverted text, baked in)``.
    """
    try:
        return _answer(request)
    except PrtoggleError as error:
        return {"refused": error.said, "page": error.page, "code": error.exit_code}
    except Exception as error:
        return {"refused": f"a bug in prtoggle: {type(error).__name__}: {error}", "code": 70}


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    integrations = {integration.package: integration for integration in all_integrations()}
    chosen = selection.from_environment(request["values"], tuple(integrations.values()))
    if chosen is None:
        return {"label": "", "parts": (), "notes": (), "baked_in": (), "modules": (), "read": ()}
    wanted = selection.absolute(chosen[0], request["cwd"])
    environ = {"PRTOGGLE_PATH": request["path"]}
    package = from_locations(request["package"], request["locations"], request["file"])
    known = catalog.load(
        environ=environ,
        sys_path=request["sys_path"],
        registries=[(integrations[name], Path(where)) for name, where in request["registries"]],
        diff_fix=lambda path: diff_fix(path, package=package),
    )
    made = plan.make(wanted, known, package)
    read = [
        (path, cache.content(data) if data is not None else None)
        for path, data in made.read
        if not path.startswith("?")
    ]
    read += [(path, cache.content(Path(path).read_bytes())) for path in _more_files(wanted, request)]
    return {
        "label": package.label,
        "parts": made.in_force,
        "notes": made.notes,
        "baked_in": made.baked_in,
        "modules": tuple(
            (
                module.name,
                str(module.file),
                cache.content(module.original),
                module.reverted,
                module.parts,
                _edits(module, made),
            )
            for module in made.modules
        ),
        "read": tuple(read),
    }


def _edits(module: plan.PlannedModule, made: plan.Plan) -> tuple[tuple[object, ...], ...]:
    shift = LineShift(module.original, module.reverted)
    baked = {d.name for choice in made.choices for d in choice.taken if d.variant and d.variant.baked_in}
    return tuple(
        (edit.parts, edit.place, edit.line, edit.target, shift(edit.line), not baked.isdisjoint(edit.parts))
        for edit in module.edits
    )


def _more_files(wanted: selection.Selection, request: dict[str, Any]) -> list[str]:
    """Files besides the package's sources that the answer depends on: diffs that were named, registries that were
    read."""
    files = [choice.path for choice in wanted.choices if choice.path]
    for integration in all_integrations():
        for name, where in request["registries"]:
            if name == integration.package:
                relative = integration.registry_module.split(".")[1:]
                file = Path(where).joinpath(*relative).with_suffix(".py")
                if file.is_file():
                    files.append(str(file))
    return files
