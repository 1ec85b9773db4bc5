"""Packages that a real pip installed, in a root of their own like an image's: what pip says and does once files are reverted."""

from __future__ import annotations

import base64
import hashlib
import shlex
import sys
import zipfile
from pathlib import Path

import pytest

from tests.patching.namespaces import permitted, shell
from tests.patching.project import FIX, A, B, C

pytestmark = pytest.mark.slow

IMAGE = "mount -t tmpfs none /mnt && mkdir /mnt/u /mnt/w /mnt/l"
IMAGE += " && mount -t overlay -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w image /mnt/l"
IMAGE += " && mount --bind /dev /mnt/l/dev && mount -t proc proc /mnt/l/proc"


def wheel(folder: Path, version: str, texts: dict[str, str]) -> Path:
    """A wheel of ``engine``."""
    info = f"engine-{version}.dist-info"
    files = {f"engine/{name}.py": text for name, text in {"__init__": "", **texts}.items()}
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: engine\nVersion: {version}\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    rows = []
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(text.encode())}")
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""])
    path = folder / f"engine-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def image(tmp_path: Path) -> str:
    """A shell's beginning: this machine's files as the layer below, and above it an environment with ``engine`` installed."""
    permitted(IMAGE)
    first = wheel(tmp_path, "1.2", {"a": A, "b": B, "c": C})
    second = wheel(tmp_path, "1.3", {"a": A + "# newer\n", "b": B, "c": C})
    (tmp_path / "fixes" / "pr7_x").mkdir(parents=True)
    (tmp_path / "fixes" / "pr7_x" / "revert.yaml").write_text(FIX)
    script = f"""
cd {shlex.quote(str(Path(__file__).resolve().parents[2]))}
export PRTOGGLE_PATH={tmp_path}/fixes PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
PYTHON={shlex.quote(sys.executable)}
"$PYTHON" -m venv /opt/app
SITE=$(echo /opt/app/lib/python3*/site-packages)
FIRST={first} SECOND={second}
pip() {{ /opt/app/bin/python -m pip -q "$@"; }}
prtoggle() {{ "$PYTHON" -m prtoggle "$@" 2>&1; }}
runs() {{ /opt/app/bin/python -c 'import engine.a, engine.b; print("runs", engine.a.f(), engine.b.g())'; }}
pip install $FIRST
sums() {{ (cd $SITE; find engine engine-* -type f ! -path '*__pycache__*' | sort | xargs sha256sum); }}
sums > /tmp/before
runs
"""
    return script


def said(image: str, script: str) -> list[str]:
    """What the script prints in the image, in which nothing of this machine is changed."""
    return shell(f"{IMAGE}; exec chroot /mnt/l /bin/sh -c {shlex.quote('set -e' + image + script)}").splitlines()


def test_it_is_reverted_checked_and_put_back(image: str) -> None:
    lines = said(
        image,
        """
prtoggle revert 7 --tree /opt/app
runs
/opt/app/bin/python -m pip check
prtoggle status --tree $SITE
prtoggle restore --tree /opt/app
runs
sums | diff - /tmp/before && echo same
ls -A $SITE | grep -c prtoggle || true
""",
    )
    assert [line for line in lines if line.startswith("runs")] == ["runs 1 2", "runs reverted reverted", "runs 1 2"]
    assert "No broken requirements found." in lines
    assert "same" in lines and lines[-1] == "0"
    assert any(line.startswith("engine 1.2 in /opt/app/lib") and "7/one, 7/both reverted" in line for line in lines)


def test_an_upgrade_by_pip_is_not_overwritten_and_what_is_kept_can_be_cleared_away(image: str) -> None:
    lines = said(
        image,
        """
prtoggle revert 7 --tree $SITE > /dev/null
pip install --upgrade $SECOND
runs
sums > /tmp/newer
prtoggle doctor --tree $SITE | grep -A1 '^.*files' || true
prtoggle restore --tree $SITE && echo restored || echo "exit $?"
sums | diff - /tmp/newer && echo same
prtoggle restore --tree $SITE --force
sums | diff - /tmp/newer && echo same
prtoggle revert 7 --tree $SITE > /dev/null; runs
prtoggle restore --tree $SITE > /dev/null; sums | diff - /tmp/newer && echo same
""",
    )
    text = "\n".join(lines)
    assert "changed since prtoggle reverted" in text and "it was engine 1.2, and is engine 1.3 now" in text
    assert "exit 3" in lines and lines.count("same") == 3
    assert [line for line in lines if line.startswith("runs")] == [*("runs 1 2", "runs 1 2", "runs reverted reverted")]


def test_what_pip_takes_away_is_gone_and_what_was_kept_is_said_and_cleared_away(image: str) -> None:
    lines = said(
        image,
        """
prtoggle revert 7 --tree $SITE > /dev/null
pip uninstall -y engine
ls -A $SITE | grep -E 'engine|prtoggle' || true
prtoggle restore --tree $SITE && echo restored || echo "exit $?"
prtoggle restore --tree $SITE --force && echo restored
ls -A $SITE | grep -c prtoggle || true
pip install $FIRST
sums | diff - /tmp/before && echo same
""",
    )
    text = "\n".join(lines)
    assert lines[1] == ".prtoggle", lines  # nothing of the package, not even what was changed
    assert "(gone)" in text and "exit 3" in lines
    assert lines[-3:] == ["restored", "0", "same"]


def test_installed_anew_while_reverted_it_is_as_at_first(image: str) -> None:
    lines = said(
        image,
        """
prtoggle revert 7 --tree $SITE > /dev/null
pip install --force-reinstall $FIRST
runs
sums | diff - /tmp/before && echo same
prtoggle revert 7/one --tree $SITE > /dev/null
runs
prtoggle restore --tree $SITE
sums | diff - /tmp/before && echo same
""",
    )
    assert [line for line in lines if line.startswith("runs")] == ["runs 1 2", "runs 1 2", "runs reverted 2"]
    assert lines.count("same") == 2
