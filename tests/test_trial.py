"""Trials of real commands: a tiny package, a merged diff of it that nobody prepared, and processes of every kind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest

from prtoggle import descendants, journals, runs
from prtoggle.errors import MalformedError, SelectionError
from prtoggle.result import NOT_IN_FORCE, Result
from prtoggle.trial import CommandError, Trial, run

pytestmark = pytest.mark.usefixtures("installed")

OLD = """\
def first():
    return "old"


def second(values):
    total = 0
    for value in values:
        total += value
    return total


def third():
    return "old"
"""
NEW = """\
def first():
    return "new"


def second(values):
    return max(values)


def third():
    return "new, and not in the diff"
"""
DIFF = """\
diff --git a/python/tinypkg/mod.py b/python/tinypkg/mod.py
index 1111111..2222222 100644
--- a/python/tinypkg/mod.py
+++ b/python/tinypkg/mod.py
@@ -1,9 +1,6 @@
 def first():
-    return "old"
+    return "new"
 
 
 def second(values):
-    total = 0
-    for value in values:
-        total += value
-    return total
+    return max(values)
"""  # noqa: W293 - context lines of a diff
BESIDE = """\
--- a/tinypkg/beside.py
+++ b/tinypkg/beside.py
@@ -1,2 +1,2 @@
 def g():
-    return "old"
+    return "new"
"""
SEVEN = """\
prtoggle: 1
fix: 7
title: a fix of the first function alone
variants:
  - package: tinypkg
    patches:
      - target: tinypkg.mod.first
        edits:
          - find: 'return "new"'
            put: 'return "old"'
"""
SHOW = "import tinypkg.mod as m; print(m.first(), m.second([2, 3]), m.third())"


class Tiny:
    """The package in its newer version, and the diff that made it so."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        package = folder / "site" / "tinypkg"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "mod.py").write_text(NEW)
        (package / "beside.py").write_text('def g():\n    return "new"\n')
        self.diff = self.write("change.diff", DIFF)

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(dedent(text))
        return str(path)

    def command(self, program: str) -> tuple[str, ...]:
        return (sys.executable, self.write("program.py", program))

    def run(self, program: str, **options: object) -> Result:
        """Run a program with the diff taken out; what it prints lies in ``out``."""
        selection = str(options.pop("selection", self.diff))
        command = options.pop("command", None) or self.command(program)
        with (self.folder / "out").open("wb") as out:
            return run(Trial(selection, command, quiet=True, stdout=out, **options))  # type: ignore[arg-type]

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text()


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tiny:
    for name in list(os.environ):
        if name.startswith(("PRTOGGLE_", "SGLANG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PRTOGGLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    return Tiny(tmp_path)


def reverted_pids(result: Result) -> set[int]:
    return {pid for module in result.in_force for pid in module.pids}


def reasons(result: Result) -> str:
    return "\n".join(seen.reason for seen in result.unreached)


# What is in force


def test_newer_code_runs_the_older_text_of_the_functions_in_a_diff(tiny: Tiny) -> None:
    result = tiny.run(SHOW)
    assert tiny.out == "old 5 new, and not in the diff\n"
    assert (result.verdict, result.code, result.exit_code()) == ("in force", 0, 0)
    (module,) = result.in_force
    assert (module.module, module.file) == ("tinypkg.mod", str(tiny.folder / "site/tinypkg/mod.py"))
    assert module.parts == (tiny.diff,)
    assert module.before != module.after
    assert len(module.pids) == 1


def test_none_runs_fixed_and_takes_every_selecting_variable_away(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGLANG_DEBUG_REVERT_PR", "27360")
    monkeypatch.setenv("PRTOGGLE_REVERT", tiny.diff)
    show = SHOW + "; import os; print([n for n in os.environ if 'REVERT' in n or 'JOURNAL' in n])"
    result = tiny.run(show, selection="none")
    assert tiny.out == "new 3 new, and not in the diff\n[]\n"
    assert (result.verdict, result.exit_code(), result.processes) == ("fixed", 0, ())
    assert "SGLANG_DEBUG_REVERT_PR=27360" in result.notes[0]


def test_a_relative_diff_means_the_same_in_a_process_that_changes_its_folder(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tiny.folder)
    again = f"import os, subprocess, sys; os.chdir('/'); subprocess.run([sys.executable, '-c', {SHOW!r}], check=True)"
    assert tiny.run(again, selection="change.diff").verdict == "in force"
    assert tiny.out.startswith("old 5")


def test_the_commands_own_code_is_kept(tiny: Tiny) -> None:
    assert tiny.run("import sys, tinypkg.mod; sys.exit(7)").exit_code() == 7


def test_a_signal_that_ends_the_command_is_its_code(tiny: Tiny) -> None:
    result = tiny.run("import os, signal, tinypkg.mod; os.kill(os.getpid(), signal.SIGKILL)")
    assert (result.verdict, result.code) == ("in force", 128 + signal.SIGKILL)


# What is not in force


def test_a_process_that_refused_makes_it_125(tiny: Tiny) -> None:
    (tiny.folder / "site/tinypkg/mod.py").write_text("def first():\n    return 'moved on'\n")
    result = tiny.run("try:\n    import tinypkg.mod\nexcept Exception:\n    pass")
    assert (result.verdict, result.code, result.exit_code(allow_unused=True)) == ("refused", 0, NOT_IN_FORCE)
    (refused,) = result.refused
    assert (refused.package, len(refused.pids)) == ("tinypkg", 1)
    assert "tinypkg.mod" in refused.reason


def test_a_selection_that_no_process_imports_is_125_unless_that_is_allowed(tiny: Tiny) -> None:
    result = tiny.run("pass")
    assert (result.verdict, len(result.processes)) == ("unused", 1)
    assert (result.exit_code(), result.exit_code(allow_unused=True)) == (NOT_IN_FORCE, 0)
    assert result.unused == (tiny.diff,)


def test_a_package_imported_without_the_planned_module_is_unused_too(tiny: Tiny) -> None:
    result = tiny.run("import tinypkg.beside")
    assert (result.verdict, result.exit_code()) == ("unused", NOT_IN_FORCE)
    assert [module.module for module in result.never_imported] == ["tinypkg.mod"]


def test_a_planned_module_that_is_never_imported_is_named(tiny: Tiny) -> None:
    both = tiny.write("both.diff", DIFF + BESIDE)
    result = tiny.run(SHOW, selection=both)
    assert (result.verdict, result.exit_code()) == ("in force", 0)
    assert [(module.module, module.parts) for module in result.never_imported] == [("tinypkg.beside", (both,))]


def test_one_of_two_selected_that_comes_out_nowhere_is_named(tiny: Tiny) -> None:
    result = tiny.run(SHOW, selection=f"{tiny.diff},27360")
    assert (result.verdict, result.unused) == ("in part", ("27360",))
    assert (result.exit_code(), result.exit_code(allow_unused=True)) == (NOT_IN_FORCE, 0)


# Which processes are reached


def test_subprocess_spawn_and_fork_children_are_reached(tiny: Tiny) -> None:
    program = f"""\
        import multiprocessing, os, subprocess, sys

        def child(name):
            import tinypkg.mod
            print(name, os.getpid(), tinypkg.mod.first(), flush=True)

        if __name__ == "__main__":
            subprocess.run([sys.executable, "-c", {SHOW!r}], check=True)
            for method in ("spawn", "fork", "forkserver"):
                process = multiprocessing.get_context(method).Process(target=child, args=(method,))
                process.start()
                process.join()
                assert process.exitcode == 0
            import tinypkg.mod
            if os.fork() == 0:
                child("inherited")
                os._exit(0)
            os.wait()
            print("main", os.getpid())
        """
    result = tiny.run(program)
    lines = {words[0]: words[1:] for words in map(str.split, tiny.out.splitlines())}
    assert (result.verdict, reasons(result)) == ("in force", "")
    for name in ("spawn", "fork", "forkserver", "inherited"):
        pid, value = lines[name]
        assert (value, int(pid) in reverted_pids(result)) == ("old", True), name
    assert int(lines["main"][0]) in reverted_pids(result)
    told = {process.pid: process for process in result.processes}
    assert told[int(lines["inherited"][0])].forked
    assert told[int(lines["inherited"][0])].ppid == int(lines["main"][0])


def wait_then_import(*command: str) -> str:
    """A program that starts ``command`` with a child program that stays for long enough to be seen."""
    child = "import time, tinypkg.mod; time.sleep(0.5)"
    return f"import subprocess, sys, tinypkg.mod; subprocess.run([*{command!r}, '-c', {child!r}], check=True)"


@pytest.mark.skipif(not descendants.SEES, reason="needs /proc")
def test_a_child_without_site_is_seen_and_not_reached(tiny: Tiny) -> None:
    result = tiny.run(wait_then_import(sys.executable, "-S"))
    assert result.verdict == "in force"
    assert [seen.argv[:2] for seen in result.unreached] == [(sys.executable, "-S")]
    assert "-S" in reasons(result)


@pytest.mark.skipif(not descendants.SEES, reason="needs /proc")
def test_a_child_in_a_cleared_environment_is_seen_and_not_reached(tiny: Tiny) -> None:
    path = f"PYTHONPATH={tiny.folder / 'site'}"
    result = tiny.run(wait_then_import("env", "-i", path, sys.executable))
    assert "its environment lacks PRTOGGLE_REVERT" in reasons(result)


@pytest.mark.skipif(not descendants.SEES, reason="needs /proc")
def test_a_child_of_a_python_without_prtoggle_is_seen_and_not_reached(tiny: Tiny) -> None:
    bare = tiny.folder / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    result = tiny.run(wait_then_import(str(bare / "bin" / "python"), "-s"))
    assert "prtoggle is not installed for its Python" in reasons(result)


@pytest.mark.skipif(not descendants.SEES, reason="needs /proc")
def test_a_daemon_that_left_the_family_is_seen_by_its_environment(tiny: Tiny) -> None:
    program = """\
        import os, subprocess, sys, time, tinypkg.mod
        inner = [sys.executable, "-S", "-c", "import time; time.sleep(1)"]
        subprocess.run(["sh", "-c", '"$@" & exit', "sh", *inner], start_new_session=True, check=True)
        time.sleep(0.6)
        """
    result = tiny.run(program)
    assert "-S" in reasons(result)
    assert len(result.still_running) == 1


def test_a_run_inside_the_run_is_told_apart(tiny: Tiny) -> None:
    program = f"""\
        import subprocess, sys, tinypkg.mod
        inner = [sys.executable, "-c", "import time, tinypkg.mod; time.sleep(0.5)"]
        subprocess.run([sys.executable, "-m", "prtoggle", "run", "-q", {str(tiny.diff)!r}, "--", *inner], check=True)
        """
    result = tiny.run(program)
    assert result.verdict == "in force"
    if descendants.SEES:
        assert "another `prtoggle run`" in reasons(result)


@pytest.mark.parametrize(
    "options",
    [
        ["-S"],
        ["-IS"],
        ["-I"],
        ["-W", "ignore", "-S"],
        ["-Wignore", "-B"],
        ["-X", "utf8", "-sS"],
        ["-Xutf8"],
        ["-u", "-B"],
    ],
    ids=" ".join,
)
def test_options_are_read_as_python_reads_them(options: list[str]) -> None:
    command = (sys.executable, *options, "-c", "import sys; print(sys.flags.no_site)", "-S")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ("S" in descendants.flags(command)) == (done.stdout.strip() == "1")


# Was it executed?


def test_a_traced_run_says_which_edits_were_executed(tiny: Tiny) -> None:
    two = tiny.write("two.diff", DIFF + BESIDE)
    program = "import tinypkg.mod, tinypkg.beside; tinypkg.mod.first(); tinypkg.mod.second([1])"
    result = tiny.run(program, selection=two, trace=True)
    states = {module.module: {edit.state for edit in module.edits} for module in result.in_force}
    assert states == {"tinypkg.mod": {"executed"}, "tinypkg.beside": {"not executed"}}


def test_code_that_one_of_two_processes_executes_is_executed(tiny: Tiny) -> None:
    program = """\
        import subprocess, sys, tinypkg.mod
        subprocess.run([sys.executable, "-c", "import tinypkg.mod as m; m.first(); m.second([1])"], check=True)
        """
    result = tiny.run(program, trace=True)
    assert len(reverted_pids(result)) == 2
    assert {edit.state for module in result.in_force for edit in module.edits} == {"executed"}


def test_what_a_killed_process_executed_is_unknown(tiny: Tiny) -> None:
    result = tiny.run("import os, signal, tinypkg.mod; os.kill(os.getpid(), signal.SIGKILL)", trace=True)
    assert {edit.state for module in result.in_force for edit in module.edits} == {"unknown"}


# Before it starts


def test_a_selection_that_does_not_parse_starts_nothing(tiny: Tiny) -> None:
    with pytest.raises(SelectionError, match="neither a PR number"):
        tiny.run("print('started')", selection="what")
    assert tiny.out == ""


def test_a_number_that_nobody_knows_starts_nothing_under_this_python(tiny: Tiny) -> None:
    with pytest.raises(SelectionError, match="no fix has the number 27361") as error:
        tiny.run("print('started')", selection="27361")
    assert (error.value.nearest, tiny.out) == ("27360", "")


def test_a_number_that_another_python_may_know_is_left_to_it(tiny: Tiny) -> None:
    result = tiny.run("", selection="27361", command=("sh", "-c", "exit 0"))
    assert (result.verdict, result.code) == ("unused", 0)
    assert "no fix has the number 27361" in result.notes[0]


def test_a_diff_that_is_not_there_or_is_none_starts_nothing(tiny: Tiny) -> None:
    with pytest.raises(SelectionError, match=r"absent\.diff"):
        tiny.run("print('started')", selection="absent.diff")
    with pytest.raises(MalformedError):
        tiny.run("print('started')", selection=tiny.write("bad.diff", "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-a\n"))
    assert tiny.out == ""


def test_fixes_from_a_named_folder_are_seen_by_all_processes(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny.folder / "fixes" / "pr7_tiny"
    folder.mkdir(parents=True)
    (folder / "revert.yaml").write_text(SEVEN)
    monkeypatch.chdir(tiny.folder)
    result = tiny.run(f"import os; os.chdir('/'); {SHOW}", selection="7", fixes=("fixes",))
    assert (result.verdict, tiny.out.split()[:2]) == ("in force", ["old", "3"])


@pytest.mark.parametrize(("name", "code"), [("no-such-command", 127), ("./no-such-command", 127), ("/", 126)])
def test_a_command_that_cannot_be_started_has_the_shells_code(tiny: Tiny, name: str, code: int) -> None:
    with pytest.raises(CommandError) as error:
        tiny.run("", command=(name,))
    assert error.value.exit_code == code
    assert runs.past() == ()


# Ends


def test_a_time_limit_ends_the_command_and_its_processes(tiny: Tiny) -> None:
    program = """\
        import subprocess, sys, time, tinypkg.mod
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        time.sleep(60)
        """
    begun = time.monotonic()
    result = tiny.run(program, timeout=1.0)
    assert result.timed_out
    assert time.monotonic() - begun < 20
    assert result.still_running == ()
    assert not any(alive(process.pid) for process in result.processes)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_signals_are_as_they_were_when_the_trial_is_over(tiny: Tiny) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    tiny.run(SHOW)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_the_command_starts_with_the_signals_as_they_were(tiny: Tiny) -> None:
    tiny.run("import signal, tinypkg.mod; print(len(signal.pthread_sigmask(signal.SIG_BLOCK, ())))")
    assert tiny.out == "0\n"


# Journals and past runs


def test_a_journal_line_cut_short_is_passed_over_and_counted(tmp_path: Path) -> None:
    whole = json.dumps({"event": "booted", "pid": 5, "time": 1.0, "argv": ["python"], "ppid": 4})
    (tmp_path / "5-99.jsonl").write_text(whole + '\n{"event": "reverted", "module": "a')
    (tmp_path / "notes.jsonl").write_text("{}")
    (entry,) = journals.read(tmp_path)
    assert (entry.pid, entry.start, entry.argv, entry.cut) == (5, 99, ("python",), 1)


def test_a_run_says_what_it_was_and_how_it_ended(tiny: Tiny) -> None:
    result = tiny.run(SHOW)
    (folder,) = runs.past()
    described = runs.load(folder)
    assert described is not None
    assert str(folder) == result.folder
    assert (folder.stat().st_mode & 0o777) == 0o700
    assert (described["selection"], described["command"]) == (tiny.diff, list(result.command))
    assert described["start"] <= described["end"]
    assert described["result"]["verdict"] == "in force"


def test_the_last_runs_are_kept_and_older_ones_pruned_but_none_that_goes_on(tmp_path: Path) -> None:
    going_on = runs.create(tmp_path, keep=3)
    made = []
    for _ in range(6):
        made.append(runs.create(tmp_path, keep=3))
        runs.describe(made[-1], {"end": 1.0})
    assert set(runs.past(tmp_path)) == {going_on, *made[-3:]}


def test_a_run_without_a_place_for_journals_still_runs(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tiny.write("a-file", "")
    monkeypatch.setenv("PRTOGGLE_CACHE", blocked)
    result = tiny.run(SHOW)
    assert result.verdict == "in force"
    assert not result.folder.startswith(blocked)
