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

from tests.cli.world import World

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
