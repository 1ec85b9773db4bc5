"""Which fixes there are, in which order, and what a selection means among them."""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType

import pytest

from prtoggle.catalog import Catalog, Request, load
from prtoggle.errors import MalformedError, Place, PrtoggleError, RefusedError, SelectionError
from prtoggle.integrations.sglang import INTEGRATION
from prtoggle.selection import parse
from prtoggle.spec import ONLY_PART, Fix, Origin


def write(
    source: Path, number: int, *, parts: str = "a b", project: str = "", slug: str = "x", broken: bool = False
) -> Path:
    """A fix in a folder of ``source``; its default is its first part."""
    names = parts.split()
    edits = "".join(f"        - {{part: {name}, match: 'x'}}\n" for name in names)
    text = (
        f"prtoggle: 1\nfix: {number}\ntitle: t\n"
        + (f"project: {project}\n" if project else "")
        + f"parts: {{{', '.join(f'{name}: does {name}' for name in names)}}}\n"
        + f"default: [{names[0]}]\n"
        + f"variants:\n  - package: pkg\n    patches:\n      - target: pkg.mod\n        edits:\n{edits}"
        + ("    broken: [\n" if broken else "")
    )
    folder = source / f"pr{number}_{slug}"
    folder.mkdir(parents=True)
    (folder / "revert.yaml").write_text(text)
    return source


def registry(site: Path, *numbers: int, bad: bool = False) -> tuple[object, Path]:
    """A package with a registry of its own."""
    root = site / "sglang"
    file = root / "srt" / "debug_utils" / "pr_fix_toggle.py"
    file.parent.mkdir(parents=True)
    text = "patches: [{target: sglang.f, edits: [{match: x}]}]"
    entries = "".join(f"    {number}: {'x + ' if bad else ''}{text!r},\n" for number in numbers)
    file.write_text(f"_PR_FIX_REVERT_YAML = {{\n{entries}}}\n")
    return INTEGRATION, root


def catalog(*dirs: Path, **options: object) -> Catalog:
    """The catalog of folders alone, without what this machine has."""
    options.setdefault("environ", {})
    options.setdefault("sys_path", [])
    found = load(dirs=dirs, **options)  # type: ignore[arg-type]
    entries = tuple(entry for entry in found.entries if entry.origin.kind != "bundled")
    return Catalog(entries, found.bad_sources, found.diff_fix)


def meant(requests: tuple[Request, ...]) -> list[tuple[str, list[tuple[str, tuple[str, ...]]]]]:
    """For each request: its name, and of each fix the kind of source and the parts meant."""
    return [(each.name, [(fix.origin.kind, each.parts_of(fix)) for fix in each.fixes]) for each in requests]


def refusal(catalog: Catalog, text: str, kind: type[PrtoggleError] = SelectionError) -> str:
    with pytest.raises(kind) as caught:
        catalog.resolve(parse(text))
    assert type(caught.value) is kind
    return caught.value.said


def test_sources_come_in_order(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one", 7), write(tmp_path / "two", 7)
    write(two, 8)
    info = tmp_path / "site" / "d-1.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text("[prtoggle.fixes]\na = theirs\n")
    write(tmp_path / "site" / "theirs", 7)
    found = load(
        dirs=[one],
        environ={"PRTOGGLE_PATH": str(two)},
        sys_path=[str(tmp_path / "site")],
        registries=[registry(tmp_path / "site", 7, 9)],  # type: ignore[list-item]
    )
    assert [fix.origin for fix in found.candidates(7)] == [
        Origin("dir", str(one)),
        Origin("path", str(two)),
        Origin("entry-point", "d"),
        Origin("registry", "sglang"),
    ]
    assert [fix.id for fix in found.fixes if fix.origin.kind in ("path", "registry")] == ["7", "8", "7", "9"]
    assert {"24401"} <= {fix.id for fix in found.fixes if fix.origin.kind == "bundled"}
    assert found.problems == ()


def test_the_environment_is_the_running_one_unless_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 7)
    monkeypatch.setenv("PRTOGGLE_PATH", str(tmp_path))
    assert [fix.origin.kind for fix in load().candidates(7)] == ["path"]


@pytest.mark.parametrize(
    ("text", "parts", "named"),
    [
        ("7", ("a",), None),
        ("7/all", ("a", "b", "c"), None),
        ("7/c+b", ("b", "c"), ("b", "c")),
        ("7,7/c", ("a", "c"), ("c",)),
        ("7,o/n#7/b", ("a", "b"), ("b",)),
        ("O/N#7", ("a",), None),
    ],
)
def test_what_a_selection_means(
    tmp_path: Path, text: str, parts: tuple[str, ...], named: tuple[str, ...] | None
) -> None:
    (request,) = catalog(write(tmp_path, 7, parts="a b c", project="o/n")).resolve(parse(text))
    assert request.parts_of(request.fixes[0]) == parts
    assert request.named_parts == named
    assert request.explicit


def test_none_means_nothing_whatever_is_broken(tmp_path: Path) -> None:
    assert catalog(write(tmp_path, 7, broken=True), tmp_path / "gone").resolve(parse("none")) == ()


def test_all_means_every_number_with_its_default_parts_and_nobody_asked_for_each(tmp_path: Path) -> None:
    write(tmp_path / "one", 7, project="o/n")
    write(tmp_path / "one", 7, project="p/q", slug="y")
    write(tmp_path / "one", 8, project="o/n")
    write(tmp_path / "two", 8, parts="b c")
    found = catalog(tmp_path / "one", tmp_path / "two")
    requests = found.resolve(parse("all"))
    assert meant(requests) == [
        ("o/n#7", [("dir", ("a",))]),
        ("p/q#7", [("dir", ("a",))]),
        ("8", [("dir", ("a",)), ("dir", ("b",))]),
    ]
    assert not any(request.explicit for request in requests)
    assert requests == found.everything()


def test_a_source_without_the_parts_named_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "one", 7, parts="a b", project="sgl-project/sglang")
    found = catalog(tmp_path / "one", registries=[registry(tmp_path, 7)])
    assert meant(found.resolve(parse("7"))) == [("7", [("dir", ("a",)), ("registry", (ONLY_PART,))])]
    assert meant(found.resolve(parse("7/b"))) == [("7", [("dir", ("b",))])]
    assert meant(found.resolve(parse("7/fix"))) == [("7", [("registry", (ONLY_PART,))])]
    assert refusal(found, "7/b+fix") == "no source of 7 has all of the parts b, fix\n  hint: its parts are a, b, fix"


def test_an_unknown_number_says_which_is_near(tmp_path: Path) -> None:
    found = catalog(write(tmp_path, 27360))
    assert refusal(found, "27361") == ("no fix has the number 27361\n  nearest: 27360\n  hint: prtoggle list shows all")
    assert refusal(found, "1") == "no fix has the number 1\n  hint: prtoggle list shows all"


def test_a_folder_of_fixes_that_is_not_looked_at_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = catalog(write(tmp_path, 27360))
    write(tmp_path / "here" / "fixes", 12)
    monkeypatch.chdir(tmp_path / "here")
    (there,) = Path("fixes").glob("pr12_*/revert.yaml")
    said = f"prtoggle list shows all; {there} is not looked at: --fixes fixes, or PRTOGGLE_PATH=fixes"
    assert refusal(found, "12") == f"no fix has the number 12\n  hint: {said}"
    assert "not looked at" not in refusal(found, "1")


def test_an_unknown_part_says_which_is_near(tmp_path: Path) -> None:
    found = catalog(write(tmp_path, 7, parts="slice assert"))
    assert refusal(found, "7/slise") == (
        "7 has no part 'slise'\n  nearest: 7/slice\n  hint: its parts are slice, assert"
    )


def test_all_that_is_unknown_is_said_at_once(tmp_path: Path) -> None:
    text = refusal(catalog(write(tmp_path, 7)), "7/z,8,9")
    assert [line for line in text.splitlines() if not line.startswith("  ")] == [
        "7 has no part 'z'",
        "no fix has the number 8",
        "no fix has the number 9",
    ]


def test_a_number_of_another_project_is_the_nearest(tmp_path: Path) -> None:
    found = catalog(write(tmp_path, 7, project="o/n"))
    assert refusal(found, "x/y#7").splitlines()[:2] == ["no fix of x/y has the number 7", "  nearest: o/n#7"]


def test_a_bare_number_that_two_projects_use_is_an_error_that_names_both(tmp_path: Path) -> None:
    write(tmp_path / "one", 7, project="o/n")
    write(tmp_path / "two", 7, project="p/q")
    found = catalog(tmp_path / "one", tmp_path / "two")
    assert refusal(found, "7") == "7 is a number of 2 projects: o/n and p/q\n  hint: write o/n#7 or p/q#7"
    assert meant(found.resolve(parse("p/q#7/b"))) == [("p/q#7", [("dir", ("b",))])]


def test_a_fix_of_no_known_project_counts_for_every_one(tmp_path: Path) -> None:
    found = catalog(write(tmp_path, 7))
    assert len(found.candidates(7, "o/n")) == 1
    assert meant(found.resolve(parse("o/n#7"))) == [("o/n#7", [("dir", ("a",))])]


def test_two_folders_of_one_source_with_one_number_are_an_error_that_names_both(tmp_path: Path) -> None:
    write(tmp_path, 7, slug="x")
    write(tmp_path, 7, slug="y")
    write(tmp_path, 8)
    found = catalog(tmp_path)
    text = refusal(found, "7", MalformedError)
    assert f"two folders are for 7: {tmp_path / 'pr7_x'} and {tmp_path / 'pr7_y'}, expected one" in text
    assert len(found.problems) == 2 and found.candidates(7) == ()
    assert meant(found.resolve(parse("8"))) == [("8", [("dir", ("a",))])]


def distribution(site: Path, name: str, *numbers: int, project: str = "") -> Path:
    """A distribution in ``site`` that announces fixes."""
    info = site / f"{name}-1.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text(f"[prtoggle.fixes]\na = {name}\n")
    for number in numbers:
        write(site / name, number, project=project)
    return site


def test_two_distributions_with_one_number_of_one_project_are_an_error_that_names_both(tmp_path: Path) -> None:
    site = distribution(distribution(tmp_path, "ours", 7, 8, project="o/n"), "theirs", 7, project="O/N")
    found = catalog(sys_path=[str(site)])
    for text in ("7", "o/n#7", "7/b", "all"):
        said = refusal(found, text, MalformedError).splitlines()[0]
        assert said.endswith("revert.yaml: 2 distributions have a fix 7: ours and theirs, expected one")
    assert "ours and theirs" in str(found.problems_of("pkg")[0])
    assert meant(found.resolve(parse("8"))) == [("8", [("entry-point", ("a",))])]


def test_a_folder_that_was_named_comes_before_distributions_that_contradict_each_other(tmp_path: Path) -> None:
    site = distribution(distribution(tmp_path, "ours", 7), "theirs", 7)
    found = catalog(write(tmp_path / "named", 7), sys_path=[str(site)])
    assert meant(found.resolve(parse("7"))) == [("7", [("dir", ("a",))])]


def test_two_distributions_with_one_number_of_two_projects_are_told_apart_by_the_project(tmp_path: Path) -> None:
    site = distribution(distribution(tmp_path, "ours", 7, project="o/n"), "theirs", 7, project="p/q")
    found = catalog(sys_path=[str(site)])
    assert refusal(found, "7").splitlines()[0] == "7 is a number of 2 projects: o/n and p/q"
    (request,) = found.resolve(parse("p/q#7"))
    assert [fix.origin.where for fix in request.fixes] == ["theirs"]


def test_a_file_that_does_not_load_is_raised_where_it_was_asked_for(tmp_path: Path) -> None:
    write(tmp_path, 7, broken=True)
    write(tmp_path, 8)
    found = catalog(tmp_path)
    file = tmp_path / "pr7_x" / "revert.yaml"
    assert refusal(found, "7", MalformedError).startswith(f"{file}:13:13: not YAML: the [ is not closed")
    assert refusal(found, "all", MalformedError).startswith(f"{file}:13:13: ")
    assert meant(found.resolve(parse("8"))) == [("8", [("dir", ("a",))])]
    (problem,) = found.problems
    assert (problem.number, problem.packages, problem.path) == ("7", ("pkg",), str(file))


def test_a_broken_file_counts_before_a_good_one_and_not_behind_it(tmp_path: Path) -> None:
    good, broken = write(tmp_path / "good", 7), write(tmp_path / "broken", 7, broken=True)
    assert "not closed" in refusal(catalog(broken, good), "7", MalformedError)
    assert meant(catalog(good, broken).resolve(parse("7"))) == [("7", [("dir", ("a",))])]


def test_the_packages_of_what_does_not_load_are_known(tmp_path: Path) -> None:
    write(tmp_path / "one", 7, broken=True)
    found = catalog(tmp_path / "one", registries=[registry(tmp_path, 8)])
    assert (found.packages, found.problem_packages) == (("pkg", "sglang"), frozenset({"pkg"}))
    assert found.problems_of("pkg")[0].said.endswith("not closed")
    assert found.problems_of("sglang") == ()


def test_a_folder_without_a_number_may_be_what_was_asked_for(tmp_path: Path) -> None:
    write(tmp_path, 7)
    (tmp_path / "pr7_x").rename(tmp_path / "seven")
    text = refusal(catalog(tmp_path), "7")
    assert text.startswith("no fix has the number 7")
    assert f"what could not be read may have it: {tmp_path / 'seven' / 'revert.yaml'}" in text


def test_a_folder_that_was_named_and_is_not_there_is_an_error(tmp_path: Path) -> None:
    found = catalog(write(tmp_path / "one", 7), environ={"PRTOGGLE_PATH": f"{tmp_path / 'gone'}{os.pathsep}"})
    message = f"PRTOGGLE_PATH {tmp_path / 'gone'}: no folder of fixes: No such file or directory"
    assert refusal(found, "7") == message
    assert [error.said for error in found.problems_of("anything")] == [message]
    assert found.problem_packages == {"pkg"}


def test_a_distribution_whose_package_is_gone_stops_only_what_needs_it(tmp_path: Path) -> None:
    info = tmp_path / "d-1.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[prtoggle.fixes]\na = gone\n")
    found = catalog(write(tmp_path / "one", 7), sys_path=[str(tmp_path)])
    assert len(found.resolve(parse("7"))) == 1
    assert "may have it: d" in refusal(found, "8")
    assert "the distribution d: the package gone that it names" in refusal(found, "all")


def test_a_registry_that_is_not_there_is_none_and_one_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    assert catalog(registries=[(INTEGRATION, tmp_path / "sglang")]).entries == ()
    found = catalog(registries=[registry(tmp_path, 7, bad=True)])
    assert "the text of 7 is not a string constant" in refusal(found, "7", MalformedError)
    assert [(problem.number, problem.packages) for problem in found.problems] == [("7", ("sglang",))]


def test_a_diff_is_made_a_fix_by_the_hook(tmp_path: Path) -> None:
    def diff_fix(path: str) -> Fix:
        none = MappingProxyType({})
        parts = MappingProxyType({ONLY_PART: ""})
        return Fix(path, "", "", "", "", none, parts, (), (), Place(path), Origin("diff", path))

    found = catalog(write(tmp_path, 7), diff_fix=diff_fix)
    assert meant(found.resolve(parse("7,/x.diff"))) == [
        ("7", [("dir", ("a",))]),
        ("/x.diff", [("diff", (ONLY_PART,))]),
    ]
    assert "without a package" in refusal(catalog(tmp_path), "x.diff", RefusedError)


def test_refusals_have_the_exit_codes_of_their_kind(tmp_path: Path) -> None:
    found = catalog(write(tmp_path, 7, broken=True))
    for text, code in (("8", 2), ("7", 3), ("7,8", 3)):
        with pytest.raises(PrtoggleError) as caught:
            found.resolve(parse(text))
        assert caught.value.exit_code == code
