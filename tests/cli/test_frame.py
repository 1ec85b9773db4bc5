"""The frame: commands by name, help, exit codes, what goes to which stream."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec

import click
import pytest
from click.testing import CliRunner

from prtoggle.cli import COMMANDS, errors, main
from prtoggle.errors import InconclusiveError, MalformedError, Place, PrtoggleError, RefusedError, UsageError
from tests.cli.world import CHECKOUT, FIX, FIXED, GONE, REVERTED, Ran, World

Golden = Callable[[str, World, Ran], None]


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_with_examples(name: str, flag: str) -> None:
    result = CliRunner().invoke(main, [name, flag])
    assert result.exit_code == 0, result.output
    assert "Examples:" in result.output
    assert f"prtoggle {name}" in result.output


def test_the_help_lists_all_commands_without_loading_one(world: World) -> None:
    code = "import sys; from prtoggle.cli import main; main(['--help'], standalone_mode=False);"
    code += "print([m for m in sys.modules if m.startswith(('prtoggle.cli.', 'rich', 'yaml', 'packaging'))])"
    done = subprocess.run([sys.executable, "-c", code], env=world.environ(), capture_output=True, text=True, check=True)
    assert all(f"\n  {name} " in done.stdout for name in COMMANDS)
    assert done.stdout.splitlines()[-1] == "['prtoggle.cli.errors']"


def test_no_command_loads_rich_where_nothing_is_a_terminal(engine: World) -> None:
    code = "import sys; from prtoggle.cli import main; main(['list'], standalone_mode=False);"
    code += "main(['check'], standalone_mode=False); assert not [m for m in sys.modules if m.startswith('rich')]"
    done = subprocess.run([sys.executable, "-c", code], env=engine.environ(), cwd=engine.here, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


class TestExitCodes:
    def test_0_fine(self, engine: World) -> None:
        assert engine.run("check").code == 0

    def test_1_the_answer_is_no(self, engine: World) -> None:
        engine.package("engine", "1.2", core=GONE)
        assert engine.run("check").code == 1

    @pytest.mark.parametrize(
        "args",
        [
            ["nonsense"],
            ["check", "--nonsense"],
            ["diff"],
            ["diff", "102"],
            ["diff", "101/nonsense"],
            ["diff", "1o1"],
            ["show", "101,102"],
            ["check", "none"],
            ["check", "--against", "no/such/folder"],
        ],
    )
    def test_2_what_was_typed_is_wrong(self, args: list[str], engine: World) -> None:
        ran = engine.run(*args)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err

    def test_3_refused(self, engine: World) -> None:
        engine.package("engine", "1.2", core=REVERTED)
        assert engine.run("diff", "101").code == 3

    def test_3_malformed(self, engine: World) -> None:
        engine.fix(102, "prtoggle: 1\nfix: 103\n")
        assert engine.run("check").code == 3

    def test_4_a_release_could_not_be_had(self, engine: World) -> None:
        ran = engine.run("check", "--against", "engine>=1", env={"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull})
        assert (ran.code, ran.out) == (4, "")

    def test_70_a_bug(self, engine: World) -> None:
        script = engine.root / "lib" / "sitecustomize.py"
        script.write_text(
            "import prtoggle.surveyed as s\ndef broken(*a): raise ZeroDivisionError('oh')\ns.surveyed = broken\n"
        )
        ran = engine.run("list")
        assert ran.code == 70
        assert (
            ran.err
            == "prtoggle: a bug in prtoggle: ZeroDivisionError: oh\n  hint: PRTOGGLE_DEBUG=1 shows the traceback\n"
        )
        assert "Traceback" in engine.run("list", env={"PRTOGGLE_DEBUG": "1"}).err

    @pytest.mark.skipif(os.name == "nt", reason="signals")
    def test_130_interrupted(self, engine: World) -> None:
        script = engine.root / "lib" / "sitecustomize.py"
        script.write_text(
            "import prtoggle.surveyed as s, time, sys\n"
            "def slow(*a): print('now', flush=True); time.sleep(60)\n"
            "s.surveyed = slow\n"
        )
        started = engine.start("list")
        assert started.stdout is not None
        assert started.stdout.readline() == "now\n"
        time.sleep(0.1)
        started.send_signal(signal.SIGINT)
        _, err = started.communicate(timeout=60)
        assert (started.returncode, err.strip()) == (130, "prtoggle: interrupted")

    def test_a_reader_that_went_away_is_no_bug(self, engine: World) -> None:
        command = f"{sys.executable} -m prtoggle list --json | true; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(
            ["bash", "-c", command], env=engine.environ(), cwd=engine.here, capture_output=True, text=True
        )
        assert done.stderr == ""
        assert done.stdout.strip() in ("0", "141")

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
    @pytest.mark.parametrize("command", ["list", "list --json", "show 101", "schema", "explain", "--help"])
    def test_a_full_disk_is_no_bug_and_no_answer(self, engine: World, command: str) -> None:
        done = self._shell(engine, f"prtoggle {command} > /dev/full")
        assert (done.returncode, done.stderr.splitlines()) == (
            4,
            [
                "prtoggle: what was to be shown could not be written: No space left on device",
                "  see: prtoggle explain reference/exit-codes#4-inconclusive",
            ],
        )

    @pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX")
    @pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-", "2>/dev/full"])
    def test_a_closed_stream_changes_no_exit_code(self, engine: World, closed: str) -> None:
        done = self._shell(engine, f"prtoggle list {closed}; echo $? >&9; prtoggle lis {closed}; echo $? >&9")
        assert done.stdout.splitlines()[-2:] == ["0", "2"]
        ran = self._shell(
            engine, f"prtoggle run none -- {sys.executable} -c 'raise SystemExit(7)' {closed}; echo $? >&9"
        )
        assert ran.stdout.splitlines()[-1] == "7" and "a bug" not in ran.stderr
        for command in (f"{sys.executable} -c 'import engine.core; raise SystemExit(7)'", "sh -c 'exit 7'"):
            ran = self._shell(engine, f"prtoggle run 101 --allow-unused -- {command} {closed}; echo $? >&9")
            assert ran.stdout.splitlines()[-1] == "7" and "a bug" not in ran.stderr

    def _shell(self, engine: World, command: str) -> subprocess.CompletedProcess[str]:
        """In bash, with descriptor 9 as another name of standard output."""
        script = f'prtoggle() {{ {sys.executable} -m prtoggle "$@"; }}; exec 9>&1; {command}'
        return subprocess.run(
            ["bash", "-c", script], env=engine.environ(), cwd=engine.here, capture_output=True, text=True
        )

    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (UsageError("x"), 2),
            (RefusedError("x"), 3),
            (MalformedError((RefusedError("x", place=Place("f", 1)),)), 3),
            (InconclusiveError("x"), 4),
            (PrtoggleError("x"), 70),
            (KeyboardInterrupt(), 130),
            (click.UsageError("x"), 2),
            (BrokenPipeError(), 141),
            (KeyError("x"), 70),
        ],
    )
    def test_each_error_has_its_code(
        self, error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def fail() -> None:
            raise error

        monkeypatch.setattr(errors, "_discard_stdout", lambda: None)
        assert errors.guarded(fail) == code
        assert capsys.readouterr().out == ""

    def test_a_command_may_return_its_own(self) -> None:
        assert errors.guarded(lambda: 17) == 17
        assert errors.guarded(lambda: None) == 0


class TestADependencyThatIsMissing:
    """As after `pip install --no-deps`."""

    def run(self, world: World, *args: str, there: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        for module in there:
            spec = find_spec(module)
            assert spec is not None and spec.submodule_search_locations
            (world.lib / module).symlink_to(spec.submodule_search_locations[0])
        command = [sys.executable, "-S", "-m", "prtoggle", *args]
        return subprocess.run(command, env=world.environ(), cwd=world.here, capture_output=True, text=True)

    @pytest.mark.parametrize("args", [["list"], ["-h"], ["run", "101", "--", "true"]])
    def test_click(self, args: list[str], engine: World) -> None:
        done = self.run(engine, *args, there=())
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr == (
            f"prtoggle: click is not installed for {sys.executable}, and prtoggle needs it\n"
            f"  hint: {sys.executable} -m pip install click packaging PyYAML rich unidiff\n"
        )

    @pytest.mark.parametrize("args", [["list"], ["check"], ["run", "101", "--", "true"]])
    def test_packaging(self, args: list[str], engine: World) -> None:
        done = self.run(engine, *args, there=("click", "yaml", "rich", "unidiff"))
        assert done.returncode == 3
        assert done.stderr.startswith(f"prtoggle: packaging is not installed for {sys.executable}, and")
        assert done.stderr.endswith("-m pip install packaging\n")

    def test_a_doctor_still_looks_at_the_rest(self, engine: World) -> None:
        done = self.run(engine, "doctor", "--json", there=("click", "yaml", "rich", "unidiff"))
        found = {each["name"]: each for each in json.loads(done.stdout)["findings"]}
        assert (done.returncode, found["dependencies"]["what"]) == (1, "not installed: packaging")
        assert found["leftovers"]["state"] == "ok"


class TestWhatIsTyped:
    @pytest.mark.parametrize(
        ("args", "what", "more"),
        [
            (["show"], "missing argument 'ID'", "hint: prtoggle show -h shows how it is called"),
            (["list", "--jsn"], "no such option: --jsn", "nearest: --json"),
            (
                ["diff", "101", "102"],
                "one argument too many: 102",
                "hint: several fixes are one argument: 27360,24401; ",
            ),
            (["list", "101"], "one argument too many: 101", "hint: prtoggle list -h shows how it is called"),
            (["help"], "no command 'help'", "nearest: prtoggle --help"),
        ],
    )
    def test_is_said_as_every_other_error(self, args: list[str], what: str, more: str, world: World) -> None:
        ran = world.run(*args)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"prtoggle: {what}\n")
        assert f"\n  {more}" in ran.err

    def test_an_unknown_command_has_its_nearest_named(self, world: World, golden: Golden) -> None:
        golden("unknown_command", world, world.run("chekc"))

    def test_the_version(self, world: World, golden: Golden) -> None:
        golden("version", world, world.run("--version"))


class TestStreams:
    def test_no_colour_where_nothing_is_a_terminal(self, engine: World) -> None:
        for args in (["list"], ["show", "101"], ["check"], ["doctor"]):
            ran = engine.run(*args)
            assert "\x1b" not in ran.out + ran.err

    @pytest.mark.skipif(sys.platform != "linux", reason="a pseudo-terminal")
    @pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
    def test_colour_on_a_terminal(self, env: dict[str, str], coloured: bool, engine: World) -> None:
        assert ("\x1b[" in on_terminal(engine, "check", env=env)) is coloured

    @pytest.mark.skipif(sys.platform != "linux", reason="a pseudo-terminal")
    def test_a_wide_matrix_comes_in_blocks_on_a_narrow_terminal(self, engine: World) -> None:
        folders = []
        for minor in range(9):
            folders.append(engine.root / f"r{minor}")
            engine.package("engine", f"1.{minor}", into=folders[-1], core=FIXED if minor % 2 else GONE)
        against = [word for folder in folders for word in ("--against", str(folder))]
        shown = on_terminal(engine, "check", *against, env={"COLUMNS": "60", "NO_COLOR": "1"})
        lines = shown.splitlines()
        assert max(len(line) for line in lines[: lines.index("")]) <= 60
        assert sum(line.startswith("101/slice ") for line in lines) > 1

    @pytest.mark.parametrize("args", [["list"], ["show", "101"], ["diff", "101"], ["check"], ["schema"], ["doctor"]])
    def test_json_is_all_that_stands_on_stdout(self, args: list[str], engine: World) -> None:
        ran = engine.run(*args, *([] if args == ["schema"] else ["--json"]))
        assert isinstance(json.loads(ran.out), dict)

    def test_nothing_typed_is_answered_by_the_help_alone(self, world: World) -> None:
        ran, helped = world.run(), world.run("--help")
        assert (ran.code, ran.out, helped.code) == (2, "", 0)
        assert ran.err == helped.out

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_shell_completion(self, shell: str, world: World) -> None:
        assert "prtoggle" in world.run(env={"_PRTOGGLE_COMPLETE": f"{shell}_source"}).out

    def test_commands_are_completed(self, world: World) -> None:
        env = {"_PRTOGGLE_COMPLETE": "bash_complete", "COMP_WORDS": "prtoggle ch", "COMP_CWORD": "1"}
        assert world.run(env=env).out.split() == ["plain,check"]

    @pytest.mark.parametrize(
        ("typed", "offered"),
        [
            ("show 10", ["101", "102"]),
            ("run 101,1", ["101,101", "101,102"]),
            ("run 101/", ["101/assert", "101/pad", "101/slice"]),
            ("run 102,101/slice+", ["102,101/slice+assert", "102,101/slice+pad"]),
            ("check 101 102/", ["102/fix"]),
            ("bisect --among 102", ["102"]),
            ("revert --pid 1 101/a", ["101/assert"]),
            ("run 7", []),
            ("run 103/", []),
        ],
    )
    def test_fixes_and_parts_are_completed(self, typed: str, offered: list[str], engine: World) -> None:
        engine.fix(102, ONE_PART)
        assert sorted(completed(engine, typed)) == [f"plain,{each}" for each in offered]

    def test_fixes_of_a_folder_that_is_named_are_completed(self, engine: World) -> None:
        engine.fix(7, FIX.replace("fix: 101", "fix: 7"), into=engine.here / "mine")
        assert completed(engine, "run --fixes mine 7/s") == ["plain,7/slice"]
        assert completed(engine, "run --fixes nowhere 101/s") == ["plain,101/slice"]

    def test_the_list_of_pages_says_how_one_is_read(self, world: World) -> None:
        ran = world.run("explain")
        assert "guides/bisect" in ran.out and ran.err.startswith("prtoggle explain PAGE shows one")

    def test_a_heading_of_several_words_needs_no_quotes(self, world: World) -> None:
        assert world.run("explain", "When", "it", "was", "killed").out.startswith("When it was killed\n---")

    def test_a_path_is_completed_as_a_file(self, engine: World) -> None:
        assert completed(engine, "run ./sus") == ["file,./sus"]

    def test_what_does_not_load_spoils_no_completion(self, engine: World) -> None:
        engine.fix(104, "prtoggle: 1\nfix: [")
        assert completed(engine, "show 101") == ["plain,101"]


ONE_PART = """prtoggle: 1
fix: 102
title: another
variants:
  - package: engine
    patches:
      - target: engine.core.Runner.step
        edits:
          - match: 'batch = batch[: self.size]'
"""


def completed(world: World, typed: str) -> list[str]:
    """What bash is offered behind ``prtoggle TYPED``."""
    words = typed.split()
    env = {"_PRTOGGLE_COMPLETE": "bash_complete", "COMP_WORDS": f"prtoggle {typed}", "COMP_CWORD": str(len(words))}
    ran = world.run(env=env)
    assert (ran.code, ran.err) == (0, "")
    return ran.out.split()


def on_terminal(world: World, *args: str, env: dict[str, str] | None = None) -> str:
    """What ``prtoggle ARGS`` writes to a terminal."""
    import pty

    clean = {"TERM": "xterm", **world.environ(env)}
    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "prtoggle", *args], cwd=world.here, env=clean, stdout=slave, stderr=slave, stdin=slave
    ) as process:
        os.close(slave)
        pieces = []
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            pieces.append(piece)
        process.wait(timeout=60)
    os.close(master)
    return b"".join(pieces).decode().replace("\r\n", "\n")


def test_the_example_fix_of_these_tests_is_a_good_one(engine: World) -> None:
    assert "fix: 101" in FIX
    assert (CHECKOUT / "prtoggle").is_dir()
    assert engine.run("check", "101").code == 0
