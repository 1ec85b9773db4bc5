"""The published schema and the loader agree, on good documents and on documents with something wrong."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from prtoggle import schema as published
from prtoggle.errors import MalformedError
from prtoggle.schema import FILE, modeline, schema
from prtoggle.yamlfile import FIELDS, loads
from prtoggle.yamlfile.edits import ACTIONS
from prtoggle.yamlfile.variants import PATCH_FIELDS, VARIANT_FIELDS

VALIDATOR = Draft7Validator(schema())

BEYOND = (
    "unknown part",
    "expected one of the parts",
    "no edit takes out part",
    "which stands in 'lacks'",
    "two variants take",
    "no version is",
    "has an upper bound without a reason",
    "'contains' names",
    "expected one in the variant's package",
    "expected a version specifier",
    "expected a date",
    "the edit has no field 'part'",
    "not Python",
    "matches everything",
    "which find does not bind",
    "no unified diff",
    "corrupt hunk",
)
"""What the loader knows and no schema can say."""


def dump(value: Any) -> str:
    """``value`` as YAML in one line, every text in single quotes."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{dump(key)}: {dump(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(dump, value)) + "]"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return json.dumps(value)


def loader_problems(document: Any) -> list[str]:
    try:
        loads(dump(document), "revert.yaml", id=None if "fix" in document else "7")
    except MalformedError as error:
        return [problem.what for problem in error.problems]
    return []


def accepted(document: Any) -> bool:
    return bool(VALIDATOR.is_valid(document))


TEXTS = st.sampled_from(["a", "on", "027", "it's: odd # [", "two words"])
CODE = st.sampled_from(["x = 1", "f(a, 'b')", "return x"])
NAMES = st.sampled_from(["slice", "on", "a-1"])
RANGES = st.sampled_from([">=0.5.13", ">1", "!=1.2"])


@st.composite
def edits(draw: st.DrawFn, parts: list[str]) -> dict[str, Any]:
    way = draw(
        st.sampled_from(
            [
                ("match",),
                ("match", "replacement"),
                ("match", "prepend"),
                ("match", "append"),
                ("find", "put", "unfixed"),
            ]
        )
    )
    edit: dict[str, Any] = {name: draw(CODE) for name in way}
    if "find" in edit:
        edit |= {"find": "f($X)", "put": draw(st.sampled_from(["$X", ""]))}
        if draw(st.booleans()):
            del edit["unfixed"]
        elif draw(st.booleans()):
            edit["unfixed"] = [edit["unfixed"], "g($Y)"]
    some = draw(st.lists(st.sampled_from(parts), min_size=1, unique=True))
    edit["part"] = some if draw(st.booleans()) else some[0]
    return edit


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Documents of ours that are right in everything."""
    parts = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    some = st.lists(st.sampled_from(parts), min_size=1, unique=True)
    variants = []
    for package in draw(st.lists(st.sampled_from(["pkg", "a.b", "sglang"]), min_size=1, max_size=2, unique=True)):
        done = {"match": draw(CODE), "part": parts}
        patch = {"target": package + draw(st.sampled_from(["", ".mod", ":f", ".C.p@setter", ".f#2"]))}
        patch["edits"] = [done, *draw(st.lists(edits(parts), max_size=2))]
        patch |= draw(st.sampled_from([{}, {"preamble": "import x"}]))
        variant = {"package": package, "patches": [patch]}
        variant |= draw(st.sampled_from([{}, {"versions": ">=0.5.13,<9"}, {"baked_in": ["cuda-graph"]}]))
        variants.append(variant)
    bounded = {"versions": "<1", "reason": draw(TEXTS)}
    optional = {
        "project": "owner/name",
        "merged": "2026-06-06",
        "symptom": draw(TEXTS),
        "links": draw(st.lists(TEXTS, min_size=1, max_size=2)),
        "contains": {variants[0]["package"]: draw(RANGES | st.just(bounded))},
        "default": draw(some),
    }
    chosen = draw(st.sets(st.sampled_from(sorted(optional))))
    return {
        "prtoggle": 1,
        "fix": draw(st.integers(1, 99_999)),
        "title": draw(TEXTS),
        "parts": {part: draw(TEXTS) for part in parts},
        "variants": variants,
        **{name: optional[name] for name in sorted(chosen)},
    }


@st.composite
def foreign(draw: st.DrawFn) -> dict[str, Any]:
    """Documents of SGLang's kind that are right in everything."""
    patches = []
    for name in draw(st.lists(st.sampled_from(["mod.f", "x.C.m"]), min_size=1, max_size=2)):
        kinds = [{}, {"replacement": ""}, {"replacement": "b", "append": " "}, {"prepend": "x", "replacement": ""}]
        edit = st.sampled_from(kinds).map(lambda more: {"match": "a", **more})
        patch: dict[str, Any] = {"target": f"sglang.{name}", "edits": draw(st.lists(edit, min_size=1, max_size=2))}
        patches.append(patch | draw(st.sampled_from([{}, {"preamble": "import x"}, {"preamble": ""}])))
    return {"patches": patches}


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every value in ``value`` but itself."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in items for place in [(*at, key), *places(item, (*at, key))]]


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """Documents with one thing changed: taken away, renamed, replaced, or put there."""
    document = deepcopy(draw(documents() | foreign()))
    place = draw(st.sampled_from(places(document)))
    holder: Any = document
    for step in place[:-1]:
        holder = holder[step]
    last = place[-1]
    change = draw(st.sampled_from(["delete", "rename", "replace", "add"]))
    if change == "delete":
        del holder[last]
    elif change == "replace":
        junk = [
            "",
            " ",
            "A b",
            "all",
            "x",
            None,
            True,
            7,
            -1,
            1.5,
            [],
            {},
            ["x"],
            [""],
            {"x": "y"},
            [[]],
            "x/y",
            "2026-1-1",
        ]
        holder[last] = draw(st.sampled_from(junk))
    elif isinstance(holder, dict):
        known = [
            "put",
            "match",
            "append",
            "find",
            "diff",
            "part",
            "unfixed",
            "fix",
            "patches",
            "lacks",
            "versions",
            "Odd",
        ]
        name = draw(st.sampled_from(known))
        value = holder.pop(last) if change == "rename" else "x"
        holder[name] = value
    else:
        holder.append(deepcopy(holder[0]))
    return document


def test_the_schema_is_a_schema() -> None:
    Draft7Validator.check_schema(schema())
    assert json.loads(json.dumps(schema())) == schema()


@settings(deadline=None)
@given(documents() | foreign())
def test_good_documents_pass_both(document: dict[str, Any]) -> None:
    assert loader_problems(document) == []
    assert list(VALIDATOR.iter_errors(document)) == []


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(mutated())
def test_documents_with_something_wrong_are_judged_alike(document: dict[str, Any]) -> None:
    found = loader_problems(document)
    if not accepted(document):
        assert found, "the schema refuses what the loader takes"
    else:
        beyond = [problem for problem in found if not any(words in problem for words in BEYOND)]
        assert not beyond, "the loader refuses what the schema could refuse too"


@pytest.mark.parametrize(
    "file", sorted(Path(__file__).parents[1].glob("fixes/*/revert.yaml")), ids=lambda f: f.parent.name
)
def test_the_bundled_files_pass_the_schema(file: Path) -> None:
    document = yaml.safe_load(file.read_text())
    document["merged"] = str(document.get("merged", "2026-01-01"))  # editors read YAML 1.2, which knows no dates
    assert [error.message for error in VALIDATOR.iter_errors(document)] == []


ROOT = Path(__file__).parents[1]


def described(value: Any, at: str = "") -> list[tuple[str, str]]:
    """Each field that an editor may offer, and what it shows of it."""
    found = []
    if isinstance(value, dict):
        for name, field in (value.get("properties") or {}).items():
            if isinstance(field, dict) and at != "properties" and field is not published._SAYS:
                found.append((f"{at}.{name}", str(field.get("description", ""))))
        for name, inner in value.items():
            found += described(inner, name if name != "properties" else at) if name != "not" else []
    elif isinstance(value, list):
        found = [each for item in value for each in described(item, at)]
    return found


class TestTheFileInThePackage:
    def test_it_is_not_stale(self) -> None:
        assert FILE.read_text(encoding="utf-8") == published.text(), "run `python scripts/make_docs.py`"

    def test_every_field_is_described_in_a_sentence(self) -> None:
        fields = described(schema())
        assert {name.rpartition(".")[2] for name, _ in fields} >= {*FIELDS, *VARIANT_FIELDS, *PATCH_FIELDS, *ACTIONS}
        assert [each for each in fields if not re.fullmatch(r"[A-Z].+[.]", each[1])] == []

    def test_a_reference_stands_beside_nothing_but_words(self) -> None:
        """Draft 07 lets a validator pass over all that stands beside ``$ref``."""

        def beside(value: Any) -> list[str]:
            inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
            own = sorted(set(value) - {"$ref", "description"}) if isinstance(value, dict) and "$ref" in value else []
            return own + [each for item in inner for each in beside(item)]

        assert beside(schema()) == []


class TestModeline:
    @pytest.mark.parametrize("file", sorted(ROOT.glob("fixes/*/revert.yaml")), ids=lambda f: f.parent.name)
    def test_each_bundled_file_begins_with_it(self, file: Path) -> None:
        first = file.read_text(encoding="utf-8").partition("\n")[0]
        assert first == "# yaml-language-server: $schema=../../prtoggle/reverse-patch.schema.json" == modeline(file)
        assert modeline(ROOT / "prtoggle_fixes" / file.parent.name / file.name) == first  # the link that is installed

    def test_it_is_relative_beside_the_package_wherever_that_is_installed(self, tmp_path: Path) -> None:
        site = tmp_path / "site-packages"
        made = modeline_of(site, site / "engine_fixes" / "pr1_x" / "revert.yaml")
        assert made == "# yaml-language-server: $schema=../../prtoggle/reverse-patch.schema.json"

    def test_it_is_relative_in_a_project_that_holds_its_environment(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").touch()
        made = modeline_of(tmp_path / ".venv" / "lib", tmp_path / "fixes" / "pr1_x" / "revert.yaml")
        assert made == "# yaml-language-server: $schema=../../.venv/lib/prtoggle/reverse-patch.schema.json"

    def test_it_is_relative_to_where_a_linked_folder_stands(self, tmp_path: Path) -> None:
        (tmp_path / "site" / "engine_fixes").mkdir(parents=True)
        (tmp_path / "short").symlink_to(tmp_path / "site" / "engine_fixes")
        made = modeline_of(tmp_path / "site", tmp_path / "short" / "pr1_x" / "revert.yaml")
        # by its letters ../../prtoggle would be beside `short`, where nothing is
        assert made == f"# yaml-language-server: $schema={(tmp_path / 'site').as_uri()}/prtoggle/{FILE.name}"

    def test_it_is_an_address_elsewhere_also_with_a_space_in_it(self, tmp_path: Path) -> None:
        made = modeline_of(tmp_path / "my site", tmp_path / "elsewhere" / "revert.yaml")
        assert made == f"# yaml-language-server: $schema={tmp_path.as_uri()}/my%20site/prtoggle/{FILE.name}"

    def test_it_is_an_address_where_a_relative_path_would_have_a_space(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").touch()
        made = modeline_of(tmp_path / "my env", tmp_path / "fixes" / "revert.yaml")
        assert made == f"# yaml-language-server: $schema={tmp_path.as_uri()}/my%20env/prtoggle/{FILE.name}"


def modeline_of(site: Path, at: Path) -> str:
    """What :func:`modeline` says of ``at`` where prtoggle is installed in ``site``."""
    at.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT / "prtoggle", site / "prtoggle", ignore=shutil.ignore_patterns("__pycache__"))
    code = "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]);"
    code += "from prtoggle.schema import modeline; print(modeline(Path(sys.argv[2])))"
    done = subprocess.run([sys.executable, "-c", code, str(site), str(at)], capture_output=True, text=True, check=True)
    return done.stdout.rstrip("\n")
