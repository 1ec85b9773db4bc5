"""TorchScript, torch.compile and Triton read a function's text: they must see the reverted one, with nothing said to them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from prtoggle.releases import cache_folder
from tests.runtime.project import Project

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")

TORCH = """
import torch

@torch.jit.script
def scripted(x: torch.Tensor) -> torch.Tensor:
    return x + 1

def plain(x):
    return x + 1

@torch.compile(backend="eager", fullgraph=True)
def compiled(x):
    return plain(x) * 10

class Module(torch.nn.Module):
    def forward(self, x):
        return x + 1
"""
PROBE = """
import torch, app.core as m
torch._dynamo.reset()
x = torch.zeros(1)
print(m.scripted(x).item(), m.compiled(x).item(), m.Module()(x).item(), torch.jit.script(m.Module())(x).item())
print(torch.compile(m.plain, backend="eager")(x).item())
print("x + 1" in m.scripted.code, "torch.add(x, 2)" in m.scripted.code)
"""


@needs_torch
@pytest.mark.parametrize("trace", ["", "1"])
def test_torchscript_and_torch_compile_see_the_reverted_text(tmp_path: Path, trace: str) -> None:
    project = Project(tmp_path)
    project.package({"app/__init__.py": "", "app/core.py": TORCH})
    patches = "".join(
        f"- target: app.core.{name}\n  edits:\n    - match: return x + 1\n      replacement: return x + 2\n"
        for name in ("scripted", "plain", "Module.forward")
    )
    project.fix(7, patches=patches)
    assert project.python(PROBE).out.splitlines()[0] == "1.0 10.0 1.0 1.0"
    for _ in range(2):
        done = project.python(PROBE, revert="7", PRTOGGLE_TRACE=trace)
        assert done.out.splitlines() == ["2.0 20.0 2.0 2.0", "2.0", "False True"], done.err


TRITON = """
import triton
import triton.language as tl

@triton.jit
def kernel(pointer, n: tl.constexpr):
    offsets = tl.arange(0, n)
    tl.store(pointer + offsets, 1)
"""


@pytest.fixture(scope="session")
def triton_folder() -> Path:
    """A folder with Triton in it, kept outside the checkout; it needs no GPU for what is asked of it here."""
    found = find_spec("triton")
    if found is not None and found.origin:
        return Path(found.origin).parent.parent
    folder = Path(cache_folder()) / "triton" / sys.implementation.cache_tag
    if not (folder / "triton" / "__init__.py").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = folder.with_name(f"{folder.name}.{os.getpid()}")
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--only-binary=:all:",
            "--target",
            str(temporary),
            "triton",
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"Triton cannot be had: {done.stderr.strip().splitlines()[-1:]}")
        try:
            temporary.rename(folder)
        except OSError:  # another process was first
            pass
    return folder


@pytest.mark.slow
def test_triton_sees_the_reverted_text(tmp_path: Path, triton_folder: Path) -> None:
    project = Project(tmp_path)
    project.package({"app/__init__.py": "", "app/core.py": TRITON})
    project.fix(
        7,
        target="app.core.kernel",
        edits="- find: tl.store(pointer + offsets, 1)\n  put: tl.store(pointer + offsets, 2)",
    )
    path = os.pathsep.join([str(project.site), str(triton_folder)])
    probe = "import app.core as m; print(m.kernel.src.splitlines()[-1].strip(), m.kernel.cache_key)"
    fixed = project.python(probe, PYTHONPATH=path)
    assert fixed.code == 0, fixed.err
    assert fixed.out.startswith("tl.store(pointer + offsets, 1)")
    by_hand = project.package(
        {"app/__init__.py": "", "app/core.py": TRITON.replace("offsets, 1", "offsets, 2")}, where=tmp_path / "hand"
    )
    hand = project.python(probe, PYTHONPATH=os.pathsep.join([str(by_hand), str(triton_folder)]))
    for _ in range(2):
        done = project.python(probe, revert="7", PYTHONPATH=path)
        assert done.out == hand.out and done.out != fixed.out, done.err


SCRIPTED_BY_A_CALL = """
import torch

def called(x: torch.Tensor) -> torch.Tensor:
    return x + 1

def calls(x: torch.Tensor) -> torch.Tensor:
    return called(x)

def never(x: torch.Tensor) -> torch.Tensor:
    return x + 1

calls = torch.jit.script(calls)
"""


@needs_torch
def test_a_function_that_torchscript_compiled_because_another_calls_it_is_unknown_in_a_traced_run(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path)
    project.package({"app/__init__.py": "", "app/core.py": SCRIPTED_BY_A_CALL})
    change = "  edits:\n    - match: return x + 1\n      replacement: return x + 2\n"
    project.fix(7, patches="".join(f"- target: app.core.{name}\n{change}" for name in ("called", "never")))
    journal = tmp_path / "journal"
    journal.mkdir()
    code = "import torch, app.core as m; print(m.calls(torch.zeros(1)).item())"
    done = project.python(code, revert="7", PRTOGGLE_TRACE="1", PRTOGGLE_JOURNAL=str(journal))
    assert done.out == "2.0\n", done.err
    events = [json.loads(line) for file in journal.iterdir() for line in file.read_text().splitlines()]
    (traced,) = [event for event in events if event["event"] == "traced"]
    assert {each["edit"]["target"]: each["unknown"] for each in traced["unhit"]} == {
        "app.core.called": True,
        "app.core.never": False,
    }


@pytest.mark.slow
def test_what_triton_compiles_from_its_text_is_refused_live_by_name(tmp_path: Path, triton_folder: Path) -> None:
    project = Project(tmp_path)
    project.package({"app/__init__.py": "", "app/core.py": TRITON})
    project.fix(
        7,
        target="app.core.kernel",
        edits="- find: tl.store(pointer + offsets, 1)\n  put: tl.store(pointer + offsets, 2)",
    )
    probe = """
    import app.core as m, prtoggle
    from prtoggle.errors import RefusedError
    before = m.kernel.src
    try:
        prtoggle.revert("7")
    except RefusedError as error:
        print(error)
    print(m.kernel.src == before, prtoggle.status()["parts"])
    """
    path = os.pathsep.join([str(project.site), str(triton_folder), str(Path(__file__).resolve().parents[2])])
    done = project.python(probe, PYTHONPATH=path)
    said = done.out.lower()
    assert "kernel" in said and "triton" in said and "prtoggle_revert" in said, done.out + done.err
    assert done.out.splitlines()[-1] in ("True ()", "True []")
