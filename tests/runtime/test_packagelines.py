"""Package names are read off files that do not load."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prtoggle.runtime.packagelines import package_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("package: sglang", ("sglang",)),
        ("  - package: sglang  # a comment", ("sglang",)),
        ("- package: 'sglang'", ("sglang",)),
        ('- package: "sglang"', ("sglang",)),
        ('{"package": "sglang", "versions": ""}', ("sglang",)),
        ("variants: [{package: sglang, versions: '>=1'}, {package: vllm}]", ("sglang", "vllm")),
        ("package:sglang", ("sglang",)),
        ("package : sglang", ("sglang",)),
        ("package:\n    sglang\n", ("sglang",)),
        ("\tpackage:\tsglang\r\n", ("sglang",)),
        ("\ufeffpackage: sglang", ("sglang",)),
        ("package: google.cloud", ("google.cloud",)),
        ("package: sglang\n- package: prtoggle_fixes\n- package: sglang\n", ("sglang", "prtoggle_fixes")),
        ("patches:\n  - target: sglang.srt.x.C.m\n", ("sglang",)),
        ("target: sglang:main", ("sglang",)),
        ("my_package: no\nsubpackage: no\npackages: no\npackage_dir: no", ()),
        ("package:", ()),
        ("package", ()),
        ("package: 12", ()),
        ("package: <one>", ()),
        ("", ()),
    ],
)
def test_names_are_found(text: str, names: tuple[str, ...]) -> None:
    assert package_names(text) == names


@pytest.mark.parametrize("cut", range(0, 60, 7))
def test_a_file_broken_anywhere_else_still_gives_its_packages(cut: int) -> None:
    broken = "x: [\n\t: : 'open\n"
    text = "prtoggle: 1\nfix: 1\ntitle: t\nvariants:\n"[:cut] + "\n" + broken + "  - package: sglang\n" + broken
    assert package_names(text) == ("sglang",)


@given(st.text(), st.text())
def test_no_text_around_a_line_hides_its_package(before: str, after: str) -> None:
    assert "sglang" in package_names(f"{before}\n  - package: sglang\n{after}")


def test_undecodable_bytes_beside_it_do_not_matter() -> None:
    assert package_names(b"title: \xff\xfe\npackage: sglang\n".decode("utf-8", "replace")) == ("sglang",)


def test_it_imports_nothing_and_reads_a_long_file_quickly() -> None:
    import prtoggle

    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); before = set(sys.modules)\n"
        "import prtoggle.runtime.packagelines\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    command = [sys.executable, "-S", "-c", program, str(Path(prtoggle.__file__).parents[1])]
    modules = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert set(modules) <= {"__future__", "prtoggle", "prtoggle.runtime", "prtoggle.runtime.packagelines"}
    text = "      - match: |\n          x = package(target)\n" * 5_000 + "  - package: sglang\n"
    started = time.perf_counter()
    assert package_names(text) == ("sglang",)
    assert time.perf_counter() - started < 0.1


def cut_sign_by_sign(text: str) -> str:
    """The value at the start of ``text``, the slow way."""
    return text[: next((at for at, sign in enumerate(text) if sign in " \t\r\n\"',}]#"), len(text))]


@given(st.text("ab.:\x0b\u2028 \t\r\n\"',}]#", max_size=30), st.sampled_from([0, 1, 198, 199, 200, 201, 1000]))
def test_a_value_ends_at_the_first_sign_however_long_it_is(rest: str, letters: int) -> None:
    text = "x" * letters + rest
    value = cut_sign_by_sign(text.lstrip(" \t\r\n\"'"))
    good = value and all(piece.isidentifier() for piece in value.split("."))
    assert package_names(f"package: {text}") == ((value,) if good else ())
