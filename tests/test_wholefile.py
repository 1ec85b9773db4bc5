"""A file is replaced whole or not at all, with the mode and on the disk as promised, and nothing is left beside it."""

from __future__ import annotations

import errno
import itertools
import os
import stat
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from prtoggle import wholefile
from tests.patching.faults import FULL, KILL, Ended, at, with_files_up_to

OLD, NEW = b"old\n", b"new\n" * 5000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "folder" / "file"
    file.parent.mkdir()
    file.write_bytes(OLD)
    return file


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


@pytest.mark.parametrize("fault", [KILL, FULL, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("wanted", [None, 0o600, 0o755])
def test_what_goes_wrong_at_any_moment_leaves_the_old_bytes_or_the_new_ones(
    file: Path, fault: int, wanted: int | None
) -> None:
    seen = set()
    file.chmod(0o640)
    for n in itertools.count(1):
        file.write_bytes(OLD)
        command = partial(wholefile.replace, file, NEW, mode=wanted, durable=True)
        ended = at(n, lambda command=command: _refused(command), file.parent, fault)
        assert file.read_bytes() == (NEW if ended in (Ended.DONE, Ended.NEVER) else OLD)
        seen.add(ended)
        beside = [each.name for each in file.parent.iterdir() if each != file]
        if fault == KILL:
            assert all(name.startswith(wholefile.HEAD) and name.endswith(wholefile.TAIL) for name in beside)
            for name in beside:
                (file.parent / name).unlink()
        else:
            assert beside == []
        if ended is Ended.NEVER:
            break
        assert n < 20
    assert len(seen) > 1


def _refused(command: partial[None]) -> None:
    from prtoggle.errors import RefusedError

    try:
        command()
    except OSError as error:
        raise RefusedError(str(error)) from error


@pytest.mark.parametrize("killed", [True, False])
def test_one_that_is_cut_short_never_takes_the_place(file: Path, killed: bool) -> None:
    for size in (0, 1, 4096, len(NEW) - 1):
        with_files_up_to(size, lambda: _refused(partial(wholefile.replace, file, NEW)), killed=killed)
        assert file.read_bytes() == OLD
        assert killed or list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_the_mode_is_that_of_the_file_that_was_there_or_the_ordinary_one_or_the_one_given(
    file: Path, umask: int
) -> None:
    old = os.umask(umask)
    try:
        for kept in (0o644, 0o600, 0o755, 0o4711):
            file.chmod(kept)
            wholefile.replace(file, NEW)
            assert mode(file) == kept
        wholefile.replace(file, NEW, mode=0o604)
        assert mode(file) == 0o604
        wholefile.replace(file.with_name("another"), NEW)
        assert mode(file.with_name("another")) == 0o666 & ~umask
    finally:
        os.umask(old)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_stays(file: Path) -> None:
    os.chown(file, 1234, 2345)
    file.chmod(0o4711)
    wholefile.replace(file, NEW)
    assert (file.stat().st_uid, file.stat().st_gid, mode(file)) == (1234, 2345, 0o4711)


def test_it_is_never_open_to_more_people_than_it_will_be(file: Path) -> None:
    """Looked at in another process, at each change that the command makes."""
    file.chmod(0o600)
    seen = file.parent.parent / "seen"

    def look() -> None:
        with seen.open("a") as out:
            for each in file.parent.iterdir():
                out.write(f"{each.stat().st_mode & 0o077:o}\n")

    for n in itertools.count(1):
        if at(n, lambda: wholefile.replace(file, NEW), file.parent, look) is Ended.NEVER:
            break
    assert set(seen.read_text().split()) == {"0"}


def test_another_name_of_it_keeps_the_old_bytes_and_a_link_is_replaced_itself(file: Path) -> None:
    other, link = file.with_name("other"), file.with_name("link")
    os.link(file, other)
    link.symlink_to(file)
    wholefile.replace(file, NEW)
    wholefile.replace(link, b"mine\n")
    assert (file.read_bytes(), other.read_bytes(), link.read_bytes()) == (NEW, OLD, b"mine\n")
    assert not link.is_symlink()


@pytest.mark.skipif(sys.platform != "linux", reason="names of descriptors are read from /proc")
def test_durable_means_that_file_and_folder_are_synced_and_else_nothing_is(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which descriptors are synced, and when: a real power cut cannot be had here."""
    done: list[tuple[str, bytes]] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        name = os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}"))
        done.append((name, file.read_bytes()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    wholefile.replace(file, NEW)
    assert done == []
    file.write_bytes(OLD)
    wholefile.replace(file, NEW, durable=True)
    (first, before), (second, after) = done
    assert first.startswith(wholefile.HEAD) and before == OLD  # on the disk before it takes the place
    assert second == "folder" and after == NEW


def test_a_relative_name_works(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    wholefile.replace(file.name, NEW, durable=True)
    assert file.read_bytes() == NEW


def test_a_target_that_only_reads_its_cache_does_not_import_it() -> None:
    code = "import sys, prtoggle.runtime.cache as c; c.read('plan', 'none'); print('prtoggle.wholefile' in sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, cwd=_ROOT, check=True)
    assert done.stdout == "False\n"


_ROOT = Path(__file__).resolve().parents[1]
