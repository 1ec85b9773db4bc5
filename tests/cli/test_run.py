"""``prtoggle run``: the command's streams and code are its own, the report stands on stderr, signals pass through."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.world import FIX, FIXED, Ran, World

pytestmark = pytest.mark.usefixtures("installed")

USE = "import engine.core as c; r = c.Runner(); r.limit = 2; r.forward = len; print(r.step([1, 2, 3]))"
QUIETLY = "import engine.core"


def python(program: str) -> tuple[str, ...]:
    return (sys.executable, "-c", program)


def test_stdout_is_the_commands_and_the_report_stands_on_stderr(engine: World) -> None:
    ran = engine.run("run", "101/slice+assert", "--", *python(USE))
    assert (ran.code, ran.out) == (0, "3\n")
    assert "prtoggle: 101/assert+slice was in force in 1 process of 1 reached (engine 1.2)" in ran.err
    assert "engine.core  " in ran.err
    assert "101/slice  engine.core.Runner.step line 3" in ran.err


def test_the_dashes_may_be_left_out(engine: World) -> None:
    assert engine.run("run", "101", *python(QUIETLY)).code == 0


def test_options_behind_the_selection_are_the_commands(engine: World) -> None:
    ran = engine.run("run", "101", "--", *python(f"import sys; {QUIETLY}; print(sys.argv[1:])"), "--json", "-q", "--")
    assert ran.out == "['--json', '-q', '--']\n"


def test_the_commands_own_code_is_kept(engine: World) -> None:
    assert engine.run("run", "101", "--", *python(f"{QUIETLY}; raise SystemExit(41)")).code == 41


def test_a_command_ended_by_a_signal_gives_128_and_the_signal(engine: World) -> None:
    program = f"{QUIETLY}; import os, signal; os.kill(os.getpid(), signal.SIGTERM)"
    assert engine.run("run", "101", "--", *python(program)).code == 128 + signal.SIGTERM


def test_a_refusal_is_125_and_says_why_even_where_the_command_swallows_it(engine: World) -> None:
    program = "try:\n    import engine.core\nexcept Exception:\n    pass"
    ran = engine.run("run", "-q", "101/pad", "--", *python(program))
    assert ran.code == 125
    assert "ERROR: 101/pad was NOT in force (1 reached): a process refused" in ran.err
    assert "not in this release" in ran.err


def test_a_selection_that_nothing_imports_is_125_unless_allowed(engine: World) -> None:
    ran = engine.run("run", "101", "--", *python("print(1)"))
    assert (ran.code, ran.out) == (125, "1\n")
    assert "no process imported a package that it changes" in ran.err
    assert "the command's own was 0" in ran.err
    allowed = engine.run("run", "--allow-unused", "101", "--", *python("raise SystemExit(3)"))
    assert allowed.code == 3
    assert "ERROR" not in allowed.err


def test_a_package_whose_planned_module_is_never_imported_is_125_and_says_so(engine: World) -> None:
    ran = engine.run("run", "101", "--", *python("import engine"))
    assert ran.code == 125
    assert "never imported: engine.core (101/slice): its revert took no effect" in ran.err


class TestASelectionOfWhichSomeIsNotUsed:
    def run(self, engine: World, *options: str) -> Ran:
        engine.package("motor", "1.2", core=FIXED)
        engine.fix(102, FIX.replace("101", "102").replace("engine", "motor"))
        return engine.run("run", *options, "101,102", "--", *python(QUIETLY))

    def test_is_125_and_the_headlines_tell_both_apart(self, engine: World) -> None:
        ran = self.run(engine)
        assert ran.code == 125
        lines = [line for line in ran.err.splitlines() if line.startswith("prtoggle: ")]
        assert lines[-2:] == [
            "prtoggle: ERROR: 102 was NOT in force: no process imported a package that it changes"
            " (exit code 125; the command's own was 0)",
            "prtoggle: 101 was in force in 1 process of 1 reached (engine 1.2)",
        ]

    def test_is_the_commands_own_code_where_allowed(self, engine: World) -> None:
        ran = self.run(engine, "--allow-unused")
        assert ran.code == 0
        assert "prtoggle: 102 was not used: no process imported a package that it changes\n" in ran.err

    def test_is_said_also_when_quiet_and_in_the_report(self, engine: World) -> None:
        ran = self.run(engine, "-q", "--json", "r.json")
        assert ran.err.startswith("prtoggle: ERROR: 102 was NOT in force")
        assert "101 was" not in ran.err
        report = json.loads((engine.here / "r.json").read_text())
        assert (report["verdict"], report["unused"], report["exit_code"]) == ("in part", ["102"], 125)

    def test_a_package_that_is_not_installed_is_named_before_the_command_and_behind(self, engine: World) -> None:
        (engine.here / "x.diff").write_text("--- a/kvq/cache.py\n+++ b/kvq/cache.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n")
        ran = engine.run("run", "./x.diff", "--", *python("print(1)"))
        said = f"not seen here: {engine.here}/x.diff changes kvq/cache.py, and no package of that is installed for"
        assert ran.code == 125
        assert [line.partition("not seen")[0] for line in ran.err.splitlines() if said in line] == [
            "prtoggle: note: ",
            "  ",
        ]


def test_what_cannot_be_seen_is_said_where_asked_for_or_where_it_may_matter(engine: World) -> None:
    blind = "cannot be seen from here"
    assert blind not in engine.run("run", "101", "--", *python(QUIETLY)).err
    assert blind in engine.run("run", "-v", "101", "--", *python(QUIETLY)).err
    assert blind in engine.run("run", "101", "--", *python("print(1)")).err


def test_the_resource_tracker_of_multiprocessing_is_not_said_to_be_running(engine: World) -> None:
    # The child holds the tracker's pipe open, so that both go on when the command ends.
    program = f"""
{QUIETLY}
import os, time
from multiprocessing import resource_tracker
resource_tracker.ensure_running()
time.sleep(0.5)
child = os.fork()
if not child:
    time.sleep(3)
    os._exit(0)
print(child, flush=True)
time.sleep(0.5)
os._exit(0)
"""
    ran = engine.run("run", "--json", "r.json", "101", "--", *python(program))
    assert ran.code == 0
    assert json.loads((engine.here / "r.json").read_text())["still_running"] == [int(ran.out)]


def test_a_python_without_prtoggle_is_named_by_its_place_with_what_to_do(engine: World) -> None:
    plain = engine.root / "plain"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(plain)], check=True)
    env = {"PATH": f"{plain / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": ""}
    ran = engine.run("run", "101", "--", "sh", "-c", "python -c 'import time; time.sleep(1)'; true", env=env)
    assert ran.code == 125
    assert f"{plain}/bin/python -m pip install " in ran.err
    assert "prtoggle doctor" in ran.err
    ran = engine.run("run", "101", "--", "python", "-c", "pass", env=env)
    assert ran.code == 125
    assert f"prtoggle: note: prtoggle is not installed for {plain}/bin/python: {plain}/bin/python -m pip" in ran.err
    (plain / "bin" / "python").unlink()
    (plain / "bin" / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (plain / "bin" / "python").chmod(0o755)
    assert "note: " not in engine.run("run", "101", "--", "python", "-c", "pass", env=env).err


def test_none_runs_fixed_and_reports_nothing(engine: World) -> None:
    ran = engine.run("run", "none", "--", *python(USE), env={"PRTOGGLE_REVERT": "101"})
    assert (ran.code, ran.out, ran.err) == (0, "2\n", "")


def test_quiet_reports_nothing_where_all_is_well(engine: World) -> None:
    ran = engine.run("run", "-q", "101/slice+assert", "--", *python(USE))
    assert (ran.code, ran.out, ran.err) == (0, "3\n", "")


@pytest.mark.parametrize(("command", "code"), [("no-such-command", 127), ("/", 126)])
def test_a_command_that_cannot_be_started_has_the_shells_code(engine: World, command: str, code: int) -> None:
    ran = engine.run("run", "101", "--", command)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(f"prtoggle: {command}: ")


@pytest.mark.parametrize("selection", ["1001", "101/slise", "what", "absent.diff"])
def test_what_is_typed_wrong_is_2_and_starts_nothing(engine: World, selection: str) -> None:
    ran = engine.run("run", selection, "--", *python("print('started')"))
    assert (ran.code, ran.out) == (2, "")


@pytest.mark.parametrize("text", ["", "\n", "notes\n"])
def test_a_diff_that_changes_no_file_is_refused_before_anything_starts(engine: World, text: str) -> None:
    (engine.here / "suspect.diff").write_text(text)
    ran = engine.run("run", "./suspect.diff", "--", *python("print('started')"))
    assert (ran.code, ran.out) == (3, "")
    assert "no unified diff: it changes no file" in ran.err


class TestTheWordsOfTheCommandLine:
    def test_options_may_stand_behind_the_selection(self, engine: World) -> None:
        ran = engine.run("run", "101/slice+assert", "--trace", "--json", "r.json", "-q", "--", *python(USE))
        assert (ran.code, ran.out, ran.err) == (0, "3\n", "")
        assert json.loads((engine.here / "r.json").read_text())["traced"] is True

    def test_an_unknown_option_behind_the_selection_is_one(self, engine: World) -> None:
        ran = engine.run("run", "101", "--trase", "--", *python("print('started')"))
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.splitlines()[:2] == ["prtoggle: no such option: --trase", "  nearest: --trace"]

    def test_several_fixes_are_one_argument(self, engine: World) -> None:
        engine.fix(102, FIX.replace("101", "102"))
        for words in (["101", "102/slice", "--"], ["101", "102/slice"]):
            ran = engine.run("run", *words, *python("print('started')"))
            assert (ran.code, ran.out) == (2, "")
            assert "several fixes are one argument" in ran.err and "nearest: 101,102/slice\n" in ran.err

    def test_a_missing_selection_is_said(self, engine: World) -> None:
        for words in (["--"], ["-q", "--"], ["--json", "r.json", "--"]):
            ran = engine.run("run", *words, *python("print('started')"))
            assert (ran.code, ran.out) == (2, "")
            assert ran.err.startswith("prtoggle: the selection is missing before --\n")

    @pytest.mark.parametrize(
        ("words", "hint"),
        [
            (
                ["python serve.py --tp 8"],
                "leave the quotes out, each word is an argument of its own: -- python serve.py",
            ),
            (["FOO=1", "python", "x y.py"], "put env before it: -- env FOO=1 python 'x y.py'"),
            (["cd", "/tmp"], "cd is the shell's own: -- sh -c 'cd /tmp && ...'"),
            (["nosuch"], "without a shell"),
        ],
    )
    def test_what_is_no_program_has_a_hint(self, engine: World, words: list[str], hint: str) -> None:
        ran = engine.run("run", "101", "--", *words)
        assert ran.code == 127
        assert hint in ran.err


def test_no_command_is_2(engine: World) -> None:
    assert engine.run("run", "101").code == 2
    assert engine.run("run", "101", "--").code == 2


def test_the_report_as_json_has_processes_edits_and_the_exit_code(engine: World) -> None:
    ran = engine.run("run", "--trace", "--json", "report.json", "101/slice+assert", "--", *python(USE))
    report = json.loads((engine.here / "report.json").read_text())
    assert (ran.code, report["exit_code"], report["code"], report["verdict"]) == (0, 0, 0, "in force")
    (module,) = report["in_force"]
    assert module["module"] == "engine.core"
    assert {edit["state"] for edit in module["edits"]} == {"executed"}
    (process,) = report["processes"]
    assert (process["pid"], process["argv"]) == (module["pids"][0], list(python(USE)))
    assert Path(report["folder"]).is_dir()


def test_a_report_that_cannot_be_written_is_said_before_the_command_starts(engine: World) -> None:
    ran = engine.run("run", "--json", "no/such/folder.json", "101", "--", *python("print('started')"))
    assert (ran.code, ran.out) == (2, "")


def test_reverted_code_that_is_never_executed_is_said(engine: World) -> None:
    ran = engine.run("run", "--trace", "101", "--", *python(QUIETLY))
    assert ran.code == 0
    assert "never executed: 101/slice at engine.core:3" in ran.err


def test_a_child_that_is_not_reached_is_said_also_when_quiet(engine: World) -> None:
    child = [sys.executable, "-S", "-c", "import time; time.sleep(0.5)"]
    ran = engine.run("run", "-q", "101", "--", *python(f"{QUIETLY}; import subprocess; subprocess.run({child!r})"))
    assert ran.code == 0
    assert "1 Python process seen and not reached: started with -S" in ran.err


def test_stdin_is_the_commands(engine: World) -> None:
    program = f"{QUIETLY}; import sys; sys.stdout.write(sys.stdin.read().upper())"
    inner = [sys.executable, "-m", "prtoggle", "run", "101", "--", *python(program)]
    done = subprocess.run(
        inner, input="spoken", env=engine.environ(), cwd=engine.here, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "SPOKEN")


# Signals

COUNTS = """
import signal, sys, time, engine.core
came = []
for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"):
    signal.signal(getattr(signal, name), lambda number, frame: came.append(number))
print("ready", flush=True)
until = time.monotonic() + 30
while not came and time.monotonic() < until:
    time.sleep(0.02)
time.sleep(0.4)
print(*map(int, came), flush=True)
sys.exit(9)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"])
def test_a_signal_to_prtoggle_reaches_the_command_once(engine: World, name: str) -> None:
    number = int(getattr(signal, name))
    running = engine.start("run", "-q", "101", "--", *python(COUNTS))
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    running.send_signal(number)
    out, err = running.communicate(timeout=60)
    assert (out, running.returncode, err) == (f"{number}\n", 9, "")


def test_a_command_that_a_passed_on_signal_ends_gives_128_and_the_signal_also_where_unused(engine: World) -> None:
    running = engine.start("run", "101", "--", *python("print('ready', flush=True); import time; time.sleep(60)"))
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    running.send_signal(signal.SIGTERM)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 128 + signal.SIGTERM
    assert "NOT in force" in err


def test_ctrl_c_at_a_terminal_reaches_the_command_once(engine: World) -> None:
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover - becomes another program
        os.chdir(engine.here)
        command = [sys.executable, "-m", "prtoggle", "run", "-q", "101", "--", *python(COUNTS)]
        os.execve(sys.executable, command, engine.environ())
    said = read_until(terminal, "ready")
    os.write(terminal, b"\x03")
    said += read_until(terminal, "2\r\n")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 9
    assert said.replace("^C", "").split()[-2:] == ["ready", str(int(signal.SIGINT))]


def read_until(terminal: int, text: str) -> str:
    said = ""
    until = time.monotonic() + 60
    while text not in said and time.monotonic() < until:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                said += os.read(terminal, 1000).decode()
            except OSError:
                break
    return said
