"""What the environment's variables mean, for the doctor: whether what they select can be had in this Python, and which
are misspelt.

Example::

    [finding.what for finding in variables((), {"PRTOGGLE_REVERT": "27361"})]    # "... no fix has the number 27361"
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from prtoggle import selection
from prtoggle.errors import PrtoggleError, did_you_mean
from prtoggle.finding import Finding
from prtoggle.integrations import all_integrations


def variables(dirs: Sequence[Path], environ: Mapping[str, str]) -> Iterator[Finding]:
    """A finding for each variable that is, or seems to be, for prtoggle, and one where nothing is selected."""
    integrations = all_integrations()
    try:
        chosen = selection.from_environment(environ, integrations)
    except PrtoggleError as error:
        yield Finding("variables", "bad", error.what, error.hint or "unset it", error.nearest)
    else:
        if chosen is None:
            yield Finding("variables", "ok", "no selection is set: nothing is reverted in processes started from here")
        else:
            yield _selected(*chosen, dirs, environ)
    known = [*_VARIABLES, selection.VARIABLE]
    for name in sorted(name for name in environ if name.startswith("PRTOGGLE_") and name != selection.VARIABLE):
        if name in _VARIABLES:
            yield Finding("variables", "ok", f"{name}={environ[name]} ({_VARIABLES[name]})")
        else:
            what = f"{name} is set, and means nothing to this version of prtoggle"
            yield Finding("variables", "warning", what, "unset it, or spell it right", did_you_mean(name, known))
    for integration in integrations:
        for name in difflib.get_close_matches(integration.variable, list(environ), n=3, cutoff=0.85):
            if name != integration.variable:
                what = f"{name} is set, and means nothing to prtoggle"
                hint = "unset it, or spell it right"
                yield Finding("variables", "warning", what, hint, integration.variable)


_VARIABLES = {
    "PRTOGGLE_PATH": "more folders of fixes",
    "PRTOGGLE_CACHE": "where things are cached",
    "PRTOGGLE_QUIET": "1: processes do not say what is reverted in them",
    "PRTOGGLE_TRACE": "1: processes note which reverted code was executed",
    "PRTOGGLE_JOURNAL": "a folder that processes write their journals to; `prtoggle run` sets it",
    "PRTOGGLE_BISECT": "the folder of a trial of `prtoggle bisect`, by which its processes are found",
    "PRTOGGLE_CONTROL": "1: processes can be toggled while they run",
    "PRTOGGLE_DEBUG": "1: tracebacks of bugs in prtoggle",
}


def _selected(wanted: selection.Selection, variable: str, dirs: Sequence[Path], environ: Mapping[str, str]) -> Finding:
    """Whether what a variable selects can be had in this interpreter."""
    from prtoggle.known import check
    from prtoggle.library import Library
    from prtoggle.releases import Index
    from prtoggle.subjects import nowhere, plans

    said = f"{variable}={environ[variable]}"
    if wanted.is_none:
        return Finding("variables", "ok", f"{said}: nothing is reverted in processes started from here")
    library = Library(dirs, environ=environ)
    try:
        check(selection.absolute(wanted, os.getcwd()), (sys.executable,), environ, os.getcwd())
        for choice in wanted.choices:
            nowhere(choice, library)
        made = plans(wanted, library, Index())
    except PrtoggleError as error:
        what = f"{said} cannot be had in this Python: {error.place or ''}{': ' if error.place else ''}{error.what}"
        return Finding("variables", "bad", what, error.hint or "unset it", error.nearest)
    out = ", ".join(f"{', '.join(plan.in_force) or 'nothing'} of {plan.package.label}" for plan in made)
    return Finding("variables", "ok", f"{said}: {out} is reverted in every process started from here")
