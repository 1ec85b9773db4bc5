"""Live toggles beside compilers: compiled again, made afresh, or refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.project import Project

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]

CORE = """
import torch

def plus(x):
    return x + 1

def alone(x):
    return x + 1

class M(torch.nn.Module):
    def forward(self, x):
        return plus(x) * 2

class H:
    def inc(self, x):
        return x + 1

h = H()
compiled = torch.compile(plus, backend="eager", fullgraph=True)
model = torch.compile(M(), backend="eager")

@torch.compile(backend="eager")
def uses(x):
    return h.inc(x) + 10
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.package({"app/__init__.py": "", "app/core.py": CORE})
    for number, target in ((7, "plus"), (8, "alone"), (9, "H.inc")):
        edits = "- match: return x + 1\n  replacement: return x + 100"
        made.fix(number, target=f"app.core.{target}", edits=edits)
    return made


def run(project: Project, code: str) -> str:
    done = project.python(code, PYTHONPATH=f"{project.site}:{ROOT}")
    assert done.code == 0, done.err
    return done.out


def test_what_torch_compile_made_is_made_again(project: Project) -> None:
    code = """
        import app.core as m, prtoggle, torch
        x = torch.zeros(1)
        def look(): print([f(x).item() for f in (m.plus, m.compiled, m.model, m.uses)])
        look()
        with prtoggle.reverted("7,9"): look()
        look()
    """
    fixed, reverted = "[1.0, 1.0, 2.0, 11.0]", "[100.0, 100.0, 200.0, 110.0]"
    assert run(project, code).splitlines() == [fixed, reverted, fixed]


def test_under_load_no_compiled_call_fails_and_all_come_to_the_new_code(project: Project) -> None:
    code = """
        import app.core as m, prtoggle, threading, torch
        x = torch.zeros(1)
        stop, seen = threading.Event(), set()
        def load():
            while not stop.is_set():
                try: seen.add((m.compiled(x).item(), m.model(x).item()))
                except Exception as error: seen.add(repr(error))
        m.compiled(x), m.model(x)
        threads = [threading.Thread(target=load) for _ in range(2)]
        [thread.start() for thread in threads]
        try:
            for _ in range(5):
                with prtoggle.reverted("7"): assert m.compiled(x).item() == 100 and m.model(x).item() == 200
                assert m.compiled(x).item() == 1 and m.model(x).item() == 2
        finally:
            stop.set()
        [thread.join() for thread in threads]
        print([each for each in seen if isinstance(each, str)])
    """
    assert run(project, code) == "[]\n"


BESIDE_A_THREAD = """
import app.core as m, prtoggle, threading, torch
x = torch.zeros(1)
print(m.uses(x).item())
stop = threading.Event()
thread = threading.Thread(target=stop.wait); thread.start()
try:
    {before}
    print(prtoggle.revert("9")["cleared"])
    print(m.uses(x).item())
    prtoggle.restore("9")
    print(m.uses(x).item())
except Exception as error: print(error)
finally: stop.set()
"""


def test_a_method_that_was_inlined_changes_while_other_threads_run(project: Project) -> None:
    out = run(project, BESIDE_A_THREAD.format(before="pass")).splitlines()
    assert [out[0], *out[2:]] == ["11.0", "110.0", "11.0"]
    assert "what torch.compile made" in out[1]


@pytest.mark.parametrize(
    "gone",
    ["convert_frame.skip_code", "convert_frame.input_codes.seen_ids", "convert_frame.CatchErrorsWrapper.__call__"],
)
def test_a_method_is_refused_beside_threads_where_torch_is_not_as_it_is_known(project: Project, gone: str) -> None:
    before = f"from torch._dynamo import convert_frame; held = {gone}; del {gone}"
    out = run(project, BESIDE_A_THREAD.format(before=before))
    assert "H.inc is a method" in out and "is not as it is known" in out and "hint: restart" in out


@pytest.mark.parametrize("made", ["torch.jit.script(m.alone)", "torch.jit.trace(m.alone, x)"])
def test_what_torchscript_made_is_refused_by_name(project: Project, made: str) -> None:
    code = f"""
        import app.core as m, prtoggle, torch
        x = torch.zeros(1)
        kept = {made}
        prtoggle.revert("7")
        try: prtoggle.revert("8")
        except Exception as error: print(error)
        print(m.plus(x).item(), m.alone(x).item(), kept(x).item())
    """
    out = run(project, code)
    assert "app.core.alone is compiled by TorchScript from lines 7 to 8" in out
    assert out.endswith("100.0 1.0 1.0\n")


@pytest.mark.parametrize(("beside", "rounds"), [("nothing", 30), ("a thread", 10)])
def test_toggled_again_and_again_each_state_is_right_and_what_was_compiled_goes(
    project: Project, beside: str, rounds: int
) -> None:
    code = f"""
        import app.core as m, gc, prtoggle, threading, torch
        from torch._dynamo import convert_frame
        x, ended = torch.zeros(1), threading.Event()
        if {beside == "a thread"}: threading.Thread(target=ended.wait, daemon=True).start()
        def look(): return [f(x).item() for f in (m.plus, m.compiled, m.model, m.uses)]
        def held():
            gc.collect()
            return sum(ref() is not None for ref in convert_frame.output_codes.seen)
        look()
        seen, counts = set(), []
        for _ in range({rounds}):
            with prtoggle.reverted("7,9"): seen.add(("reverted", *look()))
            seen.add(("fixed", *look()))
            counts.append(held())
        print(sorted(seen), 0 < counts[-1] <= 2 * counts[1], counts)
    """
    states = "[('fixed', 1.0, 1.0, 2.0, 11.0), ('reverted', 100.0, 100.0, 200.0, 110.0)]"
    said = run(project, code)
    assert said.startswith(f"{states} True"), said
