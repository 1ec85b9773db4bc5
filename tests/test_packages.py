"""Packages as they lie on disk: which copy, which version, whether that is believed, and where the modules are."""

from __future__ import annotations

from pathlib import Path

import pytest

from prtoggle.packages import Package, from_locations, locate, normalise, read_version


def write(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return root


def metadata(root: Path, folder: str, version: str, record: str | None = "engine/__init__.py,,\n") -> None:
    info = root / folder
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: engine\nVersion: {version}\n\nVersion: 9.9\n")
    if record is not None:
        (info / "RECORD").write_text(record)


def found(*path: Path) -> Package:
    package = locate("engine", map(str, path))
    assert package is not None
    return package


def test_the_first_copy_on_the_path_is_found(tmp_path: Path) -> None:
    one, two = write(tmp_path / "1", "engine/__init__.py"), write(tmp_path / "2", "engine/__init__.py")
    assert found(tmp_path / "none", two, one).locations == (two / "engine",)


def test_a_package_comes_before_a_module_of_the_same_folder(tmp_path: Path) -> None:
    assert found(write(tmp_path, "engine/__init__.py", "engine.py")).file == tmp_path / "engine/__init__.py"


def test_a_single_module_is_found(tmp_path: Path) -> None:
    package = found(write(tmp_path, "engine.py"))
    assert (package.file, package.locations) == (tmp_path / "engine.py", ())
    assert package.module_file("engine") == tmp_path / "engine.py"


def test_a_namespace_package_has_all_its_folders_and_yields_to_a_real_one(tmp_path: Path) -> None:
    one, two = write(tmp_path / "1", "engine/a.py"), write(tmp_path / "2", "engine/b.py")
    package = found(one, two)
    assert (package.file, package.locations) == (None, (one / "engine", two / "engine"))
    assert package.module_file("engine.b") == two / "engine/b.py"
    assert package.module_file("engine") is None
    real = write(tmp_path / "3", "engine/__init__.py")
    assert found(one, real).locations == (real / "engine",)


def test_what_is_nowhere_is_none(tmp_path: Path) -> None:
    assert locate("engine", [str(tmp_path), str(tmp_path / "missing")]) is None


def test_the_empty_entry_is_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write(tmp_path, "engine/__init__.py"))
    package = locate("engine", [""])
    assert package is not None and package.file == tmp_path / "engine/__init__.py"


@pytest.mark.parametrize("version", ["1.2", "1.2.post1", "1.2+cu130", "2!1.0"])
def test_a_release_that_owns_the_files_is_believed(tmp_path: Path, version: str) -> None:
    write(tmp_path, "engine/__init__.py")
    metadata(tmp_path, f"engine-{version}.dist-info", version)
    package = found(tmp_path)
    assert (package.version, package.believed, package.label) == (version, True, f"engine {version}")


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("1.2.dev0", "development"),
        ("1.2rc1", "pre-release"),
        ("0.0.0", "placeholder"),
        ("0.0.0.dev0", "development"),
        ("new", "not a version"),
        ("", "states no version"),
    ],
)
def test_another_version_is_not_believed_and_it_says_why(tmp_path: Path, version: str, why: str) -> None:
    write(tmp_path, "engine/__init__.py")
    metadata(tmp_path, "engine-1.dist-info", version)
    package = found(tmp_path)
    assert not package.believed and why in package.why


@pytest.mark.parametrize("record", [None, "other/__init__.py,,\n", "my_engine/__init__.py,,\n", ""])
def test_metadata_that_does_not_own_the_files_says_nothing(tmp_path: Path, record: str | None) -> None:
    write(tmp_path, "engine/__init__.py")
    metadata(tmp_path, "engine-1.2.dist-info", "1.2", record)
    package = found(tmp_path)
    assert (package.version, package.believed) == ("", False) and "no metadata" in package.why
    assert package.label == "engine (version unknown)"


def test_metadata_of_another_name_may_own_the_files(tmp_path: Path) -> None:
    write(tmp_path, "engine/__init__.py")
    metadata(tmp_path, "another_engine-3.4.dist-info", "3.4")
    metadata(tmp_path, "unrelated-9.dist-info", "9", "unrelated.py,,\n")
    assert found(tmp_path).version == "3.4"


def test_an_egg_info_of_a_checkout_is_not_believed(tmp_path: Path) -> None:
    write(tmp_path, "engine/__init__.py", "engine.egg-info/x")
    (tmp_path / "engine.egg-info" / "PKG-INFO").write_text("Name: engine\nVersion: 1.2\n")
    (tmp_path / "engine.egg-info" / "SOURCES.txt").write_text("engine/__init__.py\n")
    assert not found(tmp_path).believed


def test_an_egg_info_that_pip_wrote_is_believed(tmp_path: Path) -> None:
    write(tmp_path, "engine/__init__.py", "engine-1.2.egg-info/x")
    (tmp_path / "engine-1.2.egg-info" / "PKG-INFO").write_text("Name: engine\nVersion: 1.2\n")
    (tmp_path / "engine-1.2.egg-info" / "installed-files.txt").write_text("../engine/__init__.py\nPKG-INFO\n")
    assert (found(tmp_path).version, found(tmp_path).believed) == ("1.2", True)


def test_only_the_head_of_the_metadata_counts(tmp_path: Path) -> None:
    metadata(tmp_path, "engine-1.2.dist-info", "1.2")
    assert read_version(tmp_path / "engine-1.2.dist-info") == "1.2"
    assert read_version(tmp_path / "missing") == ""


def test_modules_are_found_as_imports_find_them(tmp_path: Path) -> None:
    write(tmp_path, "engine/__init__.py", "engine/a.py", "engine/b/__init__.py", "engine/b.py", "engine/names/c.py")
    package = found(tmp_path)
    assert package.module_file("engine.a") == tmp_path / "engine/a.py"
    assert package.module_file("engine.b") == tmp_path / "engine/b/__init__.py"
    assert package.module_file("engine.names.c") == tmp_path / "engine/names/c.py"
    assert package.module_file("engine.names") is None and package.module_exists("engine.names")
    for name in ("engine.missing", "other.a", "engineer.a", "engine.a.b"):
        assert package.module_file(name) is None and not package.module_exists(name)


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("engine/fast.cpython-311-x86_64-linux-gnu.so", "extension module"),
        ("engine/fast.pyd", "extension module"),
        ("engine/fast.pyc", "compiled code"),
    ],
)
def test_modules_without_source_are_told_apart(tmp_path: Path, file: str, why: str) -> None:
    package = found(write(tmp_path, "engine/__init__.py", file))
    assert package.module_file("engine.fast") is None and package.module_exists("engine.fast")
    assert why in package.why_no_source("engine.fast")
    assert "no module of this name" in package.why_no_source("engine.slow")


def test_a_broken_link_and_a_folder_are_no_source(tmp_path: Path) -> None:
    package = found(write(tmp_path, "engine/__init__.py"))
    (tmp_path / "engine" / "gone.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "engine" / "folder.py").mkdir()
    assert package.module_file("engine.gone") is None and package.module_file("engine.folder") is None


def test_a_package_without_folder_is_not_believed() -> None:
    package = from_locations("engine", [], None)
    assert not package.believed and "zip" in package.why_no_source("engine.a")


@pytest.mark.parametrize("name", ["My.Engine", "my-engine", "my_engine", "MY--engine", "my-_.engine"])
def test_names_of_distributions_are_compared_as_pip_does(name: str) -> None:
    assert normalise(name) == "my-engine"
