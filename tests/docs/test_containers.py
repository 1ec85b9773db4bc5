"""What docs/guides/containers.md gives to a container engine, done without one: environments, users, read-only roots.

The files are read from the page. A read-only root is a real one, in a mount namespace of its own (``unshare``, as root).
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.blocks import blocks_of

ROOT = Path(__file__).resolve().parents[2]
FILES = {block.file: block.text for block in blocks_of(ROOT / "docs/guides/containers.md") if block.file}
CLEARED = ("PRTOGGLE_", "SGLANG_", "PYTHON")
PATH = os.pathsep.join([os.path.dirname(sys.executable), "/usr/bin", "/bin"])

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="containers are Linux's"), pytest.mark.slow]


def _namespaces() -> bool:
    command = ["unshare", "--mount", "--pid", "--fork", "mount", "-t", "tmpfs", "none", "/mnt"]
    try:
        return os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


needs_namespaces = pytest.mark.skipif(not _namespaces(), reason="mount namespaces need root and their permission here")


@pytest.fixture
def app(installed: str) -> Iterator[Path]:
    """The folder that the image would hold; another user can read it, as no folder of pytest's."""
    with tempfile.TemporaryDirectory(prefix="prtoggle-image-") as folder:
        image = Path(folder)
        image.chmod(0o755)
        for name, text in FILES.items():
            (image / name).parent.mkdir(parents=True, exist_ok=True)
            (image / name).write_text(text, encoding="utf-8")
        (image / "engine" / "__init__.py").touch()
        yield image


def environment(given: dict[str, str], app: Path) -> dict[str, str]:
    """A container's: what its engine is given and no more; `/opt/fixes` lies in ``app``."""
    return {"PATH": PATH} | {name: value.replace("/opt/fixes", str(app / "fixes")) for name, value in given.items()}


def run(command: list[str], env: dict[str, str], app: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=app, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_a_service_of_compose_has_what_it_needs_in_its_environment(app: Path) -> None:
    service = yaml.safe_load(FILES["compose.yaml"])["services"]["engine"]
    assert {type(value) for value in service["environment"].values()} == {str}
    done = run(service["command"], environment(service["environment"], app), app)
    assert (done.returncode, done.stdout) == (0, "6 rows\n")
    assert "101 reverted in engine" in done.stderr


def pod() -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """The pod's specification, its container's environment, and its volumes' places."""
    spec = yaml.safe_load(FILES["pod.yaml"])["spec"]
    (container,) = spec["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    empty = {volume["name"] for volume in spec["volumes"] if "emptyDir" in volume}
    assert {mount["name"] for mount in container["volumeMounts"]} == empty
    env = {entry["name"]: entry["value"] for entry in container["env"]}
    return spec, env, [mount["mountPath"] for mount in container["volumeMounts"]]


def read_only(
    command: list[str], env: dict[str, str], app: Path, places: list[str]
) -> subprocess.CompletedProcess[str]:
    """``command`` as the pod's user, with no folder that can be written but ``places``, which are empty."""
    spec, _, _ = pod()
    user, group = spec["securityContext"]["runAsUser"], spec["securityContext"]["runAsGroup"]
    # A folder cannot be made in a read-only root: what the kubelet would make for it stands in /mnt.
    mounts = ["mount -t tmpfs -o mode=755 none /mnt"]
    mounts += [f"mkdir -m 777 /mnt{place} && mount -t tmpfs -o mode=777 none /mnt{place}" for place in places]
    mounts += ["mount -o remount,ro,bind /", "mount -o remount,ro /mnt"]
    mounts += [
        f"if mountpoint -q {folder}; then mount -o remount,ro,bind {folder}; fi" for folder in ("/tmp", "/dev/shm")
    ]
    user_words = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", *command]
    script = "set -e\n" + "\n".join(mounts) + f"\ncd {shlex.quote(str(app))}\nexec {shlex.join(user_words)}\n"
    moved = {name: f"/mnt{value}" if value in places else value for name, value in env.items()}
    return run(["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", script], moved, app)


def readable(app: Path) -> None:
    """Skips where another user cannot look into what the tests run from."""
    for needed in (app, Path(sys.executable), ROOT / "prtoggle"):
        look = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "test", "-r", str(needed)]
        if subprocess.run(look, check=False).returncode:
            pytest.skip(f"another user cannot read {needed}")


@needs_namespaces
def test_a_pod_with_a_read_only_root_and_a_user_without_a_home_runs_reverted(app: Path) -> None:
    readable(app)
    spec, env, places = pod()
    done = read_only(spec["containers"][0]["command"], environment(env, app), app, places)
    assert (done.returncode, done.stdout) == (0, "6 rows\n"), done.stderr
    assert "101 was in force in 1 process of 1 reached" in done.stderr
    assert "journals: /mnt/cache/runs/" in done.stderr


@needs_namespaces
def test_without_any_folder_the_variable_works_and_run_is_refused(app: Path) -> None:
    readable(app)
    _, env, _ = pod()
    without = {name: value for name, value in environment(env, app).items() if name != "PRTOGGLE_CACHE"}
    done = read_only(["python", "serve.py"], without | {"PRTOGGLE_REVERT": "101"}, app, [])
    assert (done.returncode, done.stdout) == (0, "6 rows\n"), done.stderr
    done = read_only(["prtoggle", "run", "101", "--", "python", "serve.py"], without, app, [])
    assert (done.returncode, done.stdout) == (3, "")
    assert "set PRTOGGLE_CACHE to a folder that can be" in done.stderr


@needs_namespaces
def test_run_as_a_containers_first_process_passes_a_signal_on(app: Path) -> None:
    (app / "serve.py").write_text(
        "import signal, sys, time, engine.core\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
        "print('up', flush=True)\ntime.sleep(60)\n"
    )
    command = ["unshare", "--pid", "--fork", "--mount-proc", "prtoggle", "run", "101", "--", "python", "serve.py"]
    env = environment({"PRTOGGLE_PATH": "/opt/fixes", "PRTOGGLE_CACHE": str(app / "cache")}, app)
    with subprocess.Popen(command, cwd=app, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as done:
        try:
            assert done.stdout is not None and done.stdout.readline() == "up\n"
            (first,) = Path(f"/proc/{done.pid}/task/{done.pid}/children").read_text().split()
            os.kill(int(first), signal.SIGTERM)
            _, err = done.communicate(timeout=30)
        finally:
            done.kill()
    assert done.returncode == 7
    assert "101 was in force in 1 process" in err and "pid 2: python serve.py" in err


def test_the_image_holds_what_its_files_name_and_its_checks_pass(app: Path) -> None:
    lines = [line.split(maxsplit=1) for line in FILES["Dockerfile"].splitlines()]
    copied = {words.split()[1] for instruction, words in lines if instruction == "COPY"}
    runs = [words for instruction, words in lines if instruction == "RUN"]
    assert {"/opt/prtoggle", "/opt/fixes"} == copied
    assert runs[0] == "python -m pip install --no-cache-dir /opt/prtoggle"
    env = environment(dict(words.split("=") for instruction, words in lines if instruction == "ENV"), app)
    assert run(["python", "serve.py"], env | {"PRTOGGLE_REVERT": "101"}, app).stdout == "6 rows\n"
    done = run(runs[1].split(), env, app)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_folder_on_the_path_is_not_site_packages_and_starts_nothing(app: Path) -> None:
    target = app / "target"
    shutil.copytree(ROOT / "prtoggle", target / "prtoggle", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "prtoggle.pth", target)
    env = environment({"PRTOGGLE_PATH": "/opt/fixes", "PRTOGGLE_REVERT": "101", "PYTHONPATH": str(target)}, app)
    plain = os.path.join(sys.base_prefix, "bin", "python3")
    if (
        sys.base_prefix == sys.prefix
        or Path(sysconfig.get_path("purelib", vars={"base": sys.base_prefix})).joinpath("prtoggle.pth").exists()
    ):
        pytest.skip("there is no Python here without prtoggle")
    assert run([plain, "serve.py"], env, app).stdout == "4 rows\n"
