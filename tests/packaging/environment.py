"""A throw-away virtual environment for one test, made in well under a second and without a network.

It sees what the running environment has installed, all but prtoggle and ``.pth`` files, so that pip, the build backend
and prtoggle's dependencies are there and prtoggle is not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from pathlib import Path

# What would reach into a child from the session that runs the tests.
LEFT_OUT = ("PYTHON", "PRTOGGLE_", "SGLANG_", "PIP_REQUIRE", "PIP_TARGET", "PIP_PREFIX", "VIRTUAL_ENV")


class Environment:
    """One virtual environment: ``python(...)`` runs in it, ``files()`` lists what it holds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder, with_pip=False, symlinks=True)
        self.bin = folder / "bin"
        self.site_packages = Path(
            sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}, scheme="posix_prefix")
        )
        assert self.site_packages.is_dir()
        (folder / "elsewhere").mkdir()

    def see_dependencies(self) -> None:
        """Let it see what the running environment has installed, all but prtoggle.

        One link for each: with its whole site-packages on the path, pip would find, and uninstall, the prtoggle in it.
        """
        links = self.folder / "dependencies"
        links.mkdir()
        for source in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
            for entry in Path(source).iterdir():
                ours = "prtoggle" in entry.name or entry.suffix == ".pth" or entry.name == "__pycache__"
                if not ours and not (links / entry.name).exists():
                    (links / entry.name).symlink_to(entry)
        (self.site_packages / "zz_dependencies.pth").write_text(f"{links}\n", encoding="utf-8")

    def run(
        self, *command: str, env: Mapping[str, str] | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of its ``bin``, in an empty folder, without the session's variables."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}
        clean |= {"PATH": f"{self.bin}{os.pathsep}{clean.get('PATH', '')}", **(env or {})}
        done = subprocess.run(
            [str(self.bin / command[0]), *command[1:]],
            cwd=self.folder / "elsewhere",
            env=clean,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert not check or done.returncode == 0, (
            f"{command}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
        return done

    def python(
        self, *arguments: str, env: Mapping[str, str] | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        return self.run("python", *arguments, env=env, check=check)

    def pip(self, *arguments: str) -> None:
        self.python("-m", "pip", "--disable-pip-version-check", *arguments)

    def uv(self, *arguments: str) -> None:
        """``uv pip ...`` on it, with the uv of the running environment."""
        uv = Path(sys.executable).parent / "uv"
        env = {"UV_CACHE_DIR": str(self.folder / "uv-cache"), "UV_OFFLINE": "1", "UV_LINK_MODE": "copy"}
        command, *rest = arguments
        self.run(str(uv), "pip", command, "--python", str(self.bin / "python"), *rest, env=env)

    def files(self) -> set[str]:
        """Everything in its ``bin`` and site-packages, byte code aside."""
        roots = (self.bin, self.site_packages)
        found = (path for root in roots for path in root.rglob("*") if "__pycache__" not in path.parts)
        return {path.relative_to(self.folder).as_posix() for path in found}
