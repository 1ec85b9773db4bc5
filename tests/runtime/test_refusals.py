"""Fails closed: whatever is wrong with a selection, a process that imports a target fails, and one that does not is untouched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.project import Project

CORE = 'def f():\n    x = "fixed"\n    return x\n'
TRIES = """
for attempt in range(2):
    try:
        import app
    except ImportError:
        print("swallowed")
"""
EDIT = '- match: x = "fixed"\n  replacement: x = "reverted"'


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.package({"app/__init__.py": "", "app/core.py": CORE, "other/__init__.py": ""})
    made.fix(27360, target="app.core.f", edits=EDIT, extra="parts:\n  fix: the change")
    return made


def unknown_number(project: Project) -> str:
    return "27361"


def unknown_part(project: Project) -> str:
    return "27360/fixx"


def bad_grammar(project: Project) -> str:
    return "27360;24401"


def missing_diff(project: Project) -> str:
    return "./not-there.diff"


def lacking_part(project: Project) -> str:
    project.fix(
        8,
        patches=f"- target: app.core.f\n  edits:\n    - part: one\n{indent(EDIT[2:], 6)}",
        extra="parts:\n  one: first\n  two: second",
    )
    file = project.fixes / "pr8_x" / "revert.yaml"
    file.write_text(file.read_text().replace("  - package: app\n", "  - package: app\n    lacks: [two]\n"))
    return "8/two"


def malformed_yaml(project: Project) -> str:
    file = project.fixes / "pr9_x" / "revert.yaml"
    file.parent.mkdir()
    file.write_text("prtoggle: 1\nfix: 9\nvariants:\n  - package: app\n    patches: [\n")
    return "9"


def ambiguous(project: Project) -> str:
    project.package({"app/core.py": 'def f():\n    x = "fixed"\n    x = "fixed"\n    return x\n'})
    return "27360"


def rotten(project: Project) -> str:
    project.package({"app/core.py": 'def f():\n    y = "fixed"\n    return y\n'})
    return "27360"


def target_gone(project: Project) -> str:
    project.package({"app/core.py": 'def h():\n    x = "fixed"\n    return x\n'})
    return "27360"


def already_reverted(project: Project) -> str:
    project.fix(10, target="app.core.f", edits='- find: y = "fixed"\n  put: y = "reverted"\n  unfixed: x = "fixed"')
    return "10"


def half_reverted(project: Project) -> str:
    edits = (
        EDIT.replace("match", "find").replace("replacement", "put")
        + "\n- find: y = 1\n  put: y = 2\n  unfixed: return x"
    )
    project.fix(10, target="app.core.f", edits=edits)
    return "10"


def conflicting(project: Project) -> str:
    project.fix(10, target="app.core.f", edits='- match: x = "fixed"\n  replacement: x = "other"')
    return "27360,10"


def does_not_compile(project: Project) -> str:
    project.fix(10, target="app.core.f", edits='- match: x = "fixed"\n  replacement: x = (')
    return "10"


def without_source(project: Project) -> str:
    (project.site / "app" / "core.py").rename(project.site / "app" / "core.pyc")
    return "27360"


def unreadable_path(project: Project) -> str:
    return "27360"


def indent(text: str, by: int) -> str:
    return "\n".join(" " * by + line.strip() for line in text.splitlines())


WAYS = [
    (unknown_number, "27361"),
    (unknown_part, "fixx"),
    (bad_grammar, "27360;24401"),
    (missing_diff, "not-there.diff"),
    (lacking_part, "8/two"),
    (malformed_yaml, "revert.yaml"),
    (ambiguous, "lines 2, 3"),
    (rotten, "rot"),
    (target_gone, "gone"),
    (already_reverted, "without the fix"),
    (half_reverted, "half reverted"),
    (conflicting, "conflict"),
    (does_not_compile, "compile"),
    (without_source, "no Python source"),
]


@pytest.mark.parametrize(("make", "said"), WAYS, ids=[make.__name__ for make, _ in WAYS])
def test_importing_the_target_fails_and_nothing_else_does(project: Project, make, said: str) -> None:  # type: ignore[no-untyped-def]
    revert = make(project)
    done = project.python(TRIES + "\nprint('running')", revert=revert)
    assert done.code != 0
    assert "swallowed" not in done.out and "running" not in done.out
    assert "RevertRefusedError" in done.err and said in done.err, done.err
    again = project.python(
        "for _ in range(3):\n    try:\n        import app\n    except RuntimeError:\n        print('refused')\nimport sys; print('app' in sys.modules)",
        revert=revert,
    )
    assert again.out == "refused\n" * 3 + "False\n"
    alone = project.python("import other, json; print('fine')", revert=revert)
    assert (alone.code, alone.out, alone.err) == (0, "fine\n", "")
    # A diff that is not there could be for any package: the one case in which nobody can be refused for sure.
    assert bool(alone.notices) == (make in (missing_diff, bad_grammar))


def test_finding_without_importing_is_not_refused(project: Project) -> None:
    done = project.python("import importlib.util as u; print(u.find_spec('app') is not None)", revert="27361")
    assert (done.code, done.out) == (0, "True\n")


def test_submodules_are_refused_too_however_they_are_asked_for(project: Project) -> None:
    for code in ("import app.core", "from app import core", "import importlib; importlib.import_module('app.core')"):
        assert project.python(f"try:\n    {code}\nexcept ImportError: print('swallowed')", revert="27361").code != 0
    assert project.python(["-m", "app.core"], revert="27361").code != 0


def test_two_variables_that_differ_are_an_error(project: Project) -> None:
    done = project.python("import app", revert="27360", SGLANG_DEBUG_REVERT_PR="24401")
    assert done.code != 0 and "differ" in done.err
    same = project.python("import app.core; print(app.core.f())", revert="27360", SGLANG_DEBUG_REVERT_PR="27360")
    assert same.code == 0, same.err


@pytest.mark.parametrize("value", ["", "0", "None"])
def test_in_sglangs_variable_nothing_means_nothing(project: Project, value: str) -> None:
    done = project.python("import app.core; print(app.core.f())", SGLANG_DEBUG_REVERT_PR=value)
    assert (done.code, done.out, done.notices) == (0, "fixed\n", ())


def test_a_file_that_changes_between_plan_and_import_is_noticed(project: Project) -> None:
    code = f"""
    import app
    open({str(project.site / "app/core.py")!r}, "a").write("# changed since\\n")
    import app.core
    """
    done = project.python(code, revert="27360")
    assert done.code != 0 and "changed" in done.err


def test_a_module_imported_before_boot_is_refused(project: Project) -> None:
    code = "import app.core\nimport os\nos.environ['PRTOGGLE_REVERT'] = '27360'\nfrom prtoggle.runtime import boot\nboot.boot()\nprint('late')"
    done = project.python(code)
    assert "ERROR" in "".join(done.notices) or done.code != 0


def test_an_error_is_said_also_where_notices_are_not_wanted(project: Project) -> None:
    assert "ERROR" in "".join(project.python("pass", revert=bad_grammar(project), PRTOGGLE_QUIET="1").notices)


def test_a_planned_module_that_runs_as_a_script_is_refused_when_its_package_is_imported(project: Project) -> None:
    project.package({"app/core.py": CORE + "if __name__ == '__main__':\n    import app.core\n    print(f())\n"})
    script = str(project.site / "app" / "core.py")
    done = project.python([script], revert="27360")
    assert done.code != 0 and done.out == "" and "python -m app.core" in done.err
    assert any("ERROR" in line for line in done.notices)
    assert project.python(["-m", "app.core"], revert="27360").out == "reverted\n"
