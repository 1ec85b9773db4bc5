"""What is wrong with this installation: one finding a thing looked at, each ``ok``, a ``warning`` or ``bad``.

Nothing is changed; processes are started to see whether a selection reaches them.

Example::

    [finding for finding in examine() if finding.state == "bad"]
"""

from __future__ import annotations

import base64
import hashlib
import os
import site
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from prtoggle import __version__, selection
from prtoggle.dependencies import MODULES, absent, install_line
from prtoggle.errors import PrtoggleError
from prtoggle.finding import Finding
from prtoggle.integrations import all_integrations
from prtoggle.runtime import cache, sources
from prtoggle.variables import variables

PTH = "prtoggle.pth"
_BOOTED = """
import sys
print([type(finder).__module__ for finder in sys.meta_path if type(finder).__module__.startswith("prtoggle")]
      + [type(finder).__name__ for finder in sys.meta_path if type(finder).__name__ == "PrtoggleBlocker"])
"""
_REVERTED = """
import importlib.util, json, sys
found = {}
for name in sys.argv[1:]:
    spec = importlib.util.find_spec(name)
    with open(spec.origin, encoding="utf-8") as file:
        found[name] = spec.loader.get_source(name) != file.read()
print(json.dumps(found))
"""


def examine(
    *,
    dirs: Sequence[Path] = (),
    environ: Mapping[str, str] | None = None,
    site_folders: Sequence[Path] | None = None,
    trees: Sequence[Path] = (),
) -> Iterator[Finding]:
    """Every finding, one after another."""
    env = os.environ if environ is None else environ
    folders = _site_folders() if site_folders is None else tuple(site_folders)
    looks: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
        ("python", _python),
        ("copies", _copies),
        ("dependencies", _dependencies),
        ("pth", lambda: _pth(folders)),
        ("boot", lambda: _boot(env)),
        ("cache", _cache),
        ("leftovers", _leftovers),
        ("fixes", lambda: _fixes(dirs, env)),
        ("targets", lambda: _targets(dirs, env)),
        ("files", lambda: _files(dirs, env, trees)),
        ("variables", lambda: variables(dirs, env)),
        ("pip", _pip),
    )
    for name, look in looks:
        try:
            yield from look()
        except Exception as error:
            yield Finding(name, "bad", f"could not be looked at: {type(error).__name__}: {error}")


def _python() -> Iterator[Finding]:
    here = f"{sys.implementation.name} {'.'.join(map(str, sys.version_info[:3]))} at {sys.executable or '(unknown)'}"
    if sys.flags.no_site:
        yield Finding("python", "bad", f"{here} runs with -S: .pth files are not read", "leave -S out")
    elif not sys.executable:
        yield Finding("python", "warning", f"{here}: selections are resolved in the target's own process")
    else:
        yield Finding("python", "ok", here)


def _copies() -> Iterator[Finding]:
    here = Path(__file__).resolve().parent
    found = {here: None}
    for entry in sys.path:
        folder = Path(entry or ".", "prtoggle")
        if (folder / "__init__.py").is_file():
            found[folder.resolve()] = None
    others = ", ".join(str(folder) for folder in found if folder != here)
    if others:
        yield Finding(
            "copies",
            "warning",
            f"prtoggle {__version__} at {here}, and more copies on sys.path: {others}",
            "uninstall all but one: which of them a process takes depends on its path",
        )
    else:
        yield Finding("copies", "ok", f"prtoggle {__version__} at {here}")


def _dependencies() -> Iterator[Finding]:
    from importlib.metadata import PackageNotFoundError, version

    missing = absent()
    if missing:
        hint = f"{sys.executable or 'python'} -m pip install {' '.join(missing)}"
        yield Finding("dependencies", "bad", f"not installed: {', '.join(missing)}", hint)
        return
    known = []
    for name in MODULES:
        try:
            known.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            known.append(f"{name} (no metadata)")
    yield Finding("dependencies", "ok", ", ".join(known))


def _site_folders() -> tuple[Path, ...]:
    """The folders whose ``.pth`` files this interpreter reads."""
    folders = list(site.getsitepackages())
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    return tuple(dict.fromkeys(Path(folder) for folder in folders))


def _pth(folders: Sequence[Path]) -> Iterator[Finding]:
    found = [folder / PTH for folder in folders if (folder / PTH).is_file()]
    if not found:
        yield Finding(
            "pth",
            "bad",
            f"{PTH} is not in {' or '.join(map(str, folders))}: a selection reaches no process of this interpreter",
            f"{install_line()}; a checkout on PYTHONPATH alone does not do it",
        )
    for file in found:
        problem = _pth_differs(file)
        if problem:
            yield Finding("pth", "bad", f"{file} {problem}", "reinstall prtoggle")
        else:
            yield Finding("pth", "ok", str(file))
        if file.with_suffix(".start").exists() and sys.version_info >= (3, 15):
            yield Finding("pth", "bad", f"{file.with_suffix('.start')} switches {PTH} off", "delete it")


def _pth_differs(file: Path) -> str:
    """Why ``file`` is not what was shipped, or an empty string: as RECORD says, or as the one beside this package."""
    data = file.read_bytes()
    for record in sorted(file.parent.glob("prtoggle-*.dist-info/RECORD")):
        for line in record.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, rest = line.partition(",")
            if name == PTH and rest.startswith("sha256="):
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                if rest.partition(",")[0] != f"sha256={digest}":
                    return f"is not the file that {record.parent.name} installed"
    beside = Path(__file__).resolve().parents[1] / PTH
    if beside.is_file() and beside.resolve() != file.resolve() and beside.read_bytes() != data:
        return f"differs from {beside}"
    return ""


def _boot(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Whether a process without a selection stays as it is, and one with a selection has it in force."""
    idle = _spawn([_BOOTED], environ, "none")
    if idle.returncode or idle.stdout.strip() != "[]":
        yield Finding("boot", "bad", f"with nothing selected a process is not left alone: {_last(idle)}")
        return
    number, modules = _probe()
    if not number:
        yield Finding("boot", "warning", "no bundled fix applies to the bundled package, so the boot was not tried")
        return
    with tempfile.TemporaryDirectory(prefix="prtoggle-doctor-") as folder:
        done = _spawn([_REVERTED, *modules], {**environ, "PRTOGGLE_JOURNAL": folder}, number)
        journals = "".join(path.read_text(encoding="utf-8", errors="replace") for path in Path(folder).glob("*.jsonl"))
    expected = "{" + ", ".join(f'"{name}": true' for name in modules) + "}"
    if done.returncode == 0 and done.stdout.strip() == expected:
        yield Finding("boot", "ok", f"a process started with {selection.VARIABLE}={number} has it reverted")
    elif not journals and "prtoggle" not in done.stderr:
        yield Finding(
            "boot",
            "bad",
            f"a process started with {selection.VARIABLE}={number} did not notice: prtoggle does not start in it",
            f"see what is said of {PTH}",
        )
    else:
        yield Finding("boot", "bad", f"a process started with {selection.VARIABLE}={number} refused: {_last(done)}")


def _probe() -> tuple[str, tuple[str, ...]]:
    """A bundled fix that applies to the bundled package, and the modules that it changes."""
    from prtoggle import catalog, plan
    from prtoggle.packages import locate

    package = locate(sources.BUNDLED, [str(Path(sources.bundled_folder()).parent)])
    if package is None:
        return "", ()
    known = catalog.load(environ={}, sys_path=[])
    for request in known.everything():
        for fix in request.fixes:
            if package.name not in fix.packages:
                continue
            try:
                made = plan.make(selection.parse(fix.id), known, package)
            except PrtoggleError:
                continue
            return fix.id, tuple(module.name for module in made.modules)
    return "", ()


def _spawn(arguments: Sequence[str], environ: Mapping[str, str], selected: str) -> subprocess.CompletedProcess[str]:
    ours = {selection.VARIABLE, sources.VARIABLE, *(integration.variable for integration in all_integrations())}
    env = {name: value for name, value in environ.items() if name not in ours}
    env |= {selection.VARIABLE: selected, "PYTHONUTF8": "1"}
    # In an empty folder, so that nothing in the current one is taken for a package.
    with tempfile.TemporaryDirectory(prefix="prtoggle-doctor-") as folder:
        return subprocess.run(
            [sys.executable, "-c", *arguments],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
            check=False,
        )


def _last(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"


def _cache() -> Iterator[Finding]:
    base = cache.root()
    if base is None:
        yield Finding("cache", "warning", "there is no home folder to cache in", "set PRTOGGLE_CACHE")
        return
    folder = cache.folder()
    if folder is None:
        yield Finding(
            "cache",
            "warning",
            f"{base} cannot be used: it must be a folder that only you can write to; all works without, but slower",
            "chmod go-w it, or set PRTOGGLE_CACHE to a folder of your own",
        )
        return
    key = cache.digest(b"doctor", os.urandom(8))
    if not cache.write("doctor", key, 1) or cache.read("doctor", key) != 1:
        yield Finding("cache", "warning", f"{folder} cannot be written; everything works without, but slower")
        return
    os.unlink(os.path.join(folder, f"doctor-{key}"))
    yield Finding("cache", "ok", f"{folder} is private and writable")


def _leftovers() -> Iterator[Finding]:
    base = cache.root()
    found = []
    if base is not None:
        found = [*Path(base).glob("runtime/*.tmp"), *Path(base).glob("releases/**/.aside-*")]
    if found:
        yield Finding(
            "leftovers",
            "warning",
            f"{len(found)} temporary files of processes that were killed, such as {found[0]}",
            "delete them, unless such a process still runs",
        )
    else:
        yield Finding("leftovers", "ok", "no temporary files were left behind")


def _fixes(dirs: Sequence[Path], environ: Mapping[str, str]) -> Iterator[Finding]:
    from prtoggle.library import Library

    library = Library(dirs, environ=environ)
    for problem in library.problems:
        yield Finding(
            "fixes", "bad", f"{problem.place}: {problem.what}" if problem.place else problem.what, problem.hint
        )
    count = len(library.here.fixes)
    if not count:
        yield Finding("fixes", "bad", "there are no fixes, not even the bundled ones", "reinstall prtoggle")
    elif not library.problems:
        yield Finding("fixes", "ok", f"{count} fixes load")


def _targets(dirs: Sequence[Path], environ: Mapping[str, str]) -> Iterator[Finding]:
    """The packages that fixes are for, as they are installed in this interpreter."""
    from prtoggle.library import Library

    library = Library(dirs, environ=environ)
    for name in library.package_names:
        package = library.find(name)
        if name == sources.BUNDLED:
            continue
        if package is None:
            yield Finding(
                "targets",
                "warning",
                f"{name} is not installed for this Python: fixes of it have nothing to be taken out of here",
                "ask the Python that has it: /path/to/its/bin/python -m prtoggle doctor",
            )
        else:
            believed = "" if package.believed else f"; its version is not relied on ({package.why})"
            yield Finding("targets", "ok", f"{package.label} at {package.where}{believed}")


def _files(dirs: Sequence[Path], environ: Mapping[str, str], trees: Sequence[Path]) -> Iterator[Finding]:
    """What ``revert --tree`` changed in the packages that are installed, and in ``trees``."""
    from prtoggle.library import Library
    from prtoggle.patching.findings import findings

    library = Library(dirs, environ=environ)
    found = (library.find(name) for name in library.package_names)
    return findings(trees, [each.changed_tree for each in found if each is not None and each.changed_tree])


def _pip() -> Iterator[Finding]:
    from prtoggle.releases import own_pip

    try:
        command = own_pip()
    except PrtoggleError as error:
        yield Finding(
            "pip", "warning", f"{error.what}: prtoggle check --against takes wheels and folders only", error.hint
        )
    else:
        yield Finding("pip", "ok", f"releases are fetched by {' '.join(command)}")
