"""Which files a workload is made of: found in the source, through every way that Python has to import."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from verifygate.performance.attestation.closure import digests, imported_files, own_files, settings_files


def written(root: Path, **files: str) -> None:
    """Write files; `__` in a name stands for a folder."""
    for name, text in files.items():
        path = root / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_imports_are_followed_from_file_to_file(tmp_path: Path) -> None:
    """What is imported counts, however far away; what merely lies there does not."""
    written(tmp_path, work="import torch, model", model="def f():\n    import layers", layers="", unused="import work")
    assert imported_files(tmp_path, "work:build") == ("layers.py", "model.py", "work.py")


@pytest.mark.parametrize(
    "line",
    [
        "from . import blocks",
        "from .blocks import Block",
        "from .. import pkg\nfrom ..pkg.blocks import *",
        "import pkg.blocks as b",
        "from pkg import (\n    nothing,  # a comment\n    blocks,\n)",
        "import importlib\nimportlib.import_module('pkg.blocks')",
        "__import__('pkg.blocks')",
        "if 1: import os; import pkg.blocks",
    ],
)
def test_every_way_to_import(tmp_path: Path, line: str) -> None:
    """Each leads to the module, and to the packages on the way, whose code runs too."""
    written(tmp_path, top__pkg__work=line, top__pkg__blocks="", pkg__blocks="", other="")
    for package in ("top", "top/pkg", "pkg"):
        (tmp_path / package / "__init__.py").touch()
    found = imported_files(tmp_path, "top.pkg.work:build")
    assert {"top/__init__.py", "top/pkg/__init__.py", "top/pkg/work.py"} < set(found)
    assert {"top/pkg/blocks.py", "pkg/blocks.py"} & set(found)
    assert "other.py" not in found


def test_dots_that_lead_out_of_the_package_lead_nowhere(tmp_path: Path) -> None:
    """Python refuses them as well."""
    written(tmp_path, work="from ... import other", other="")
    assert imported_files(tmp_path, "work:build") == ("work.py",)


def test_a_file_that_cannot_be_parsed_counts(tmp_path: Path) -> None:
    """Its bytes decide as much as any other's."""
    written(tmp_path, work="import broken", broken="def (")
    assert imported_files(tmp_path, "work:build") == ("broken.py", "work.py")


@pytest.mark.parametrize("name", ["/etc/hosts", "../other", "a/b"])
def test_a_path_in_the_place_of_a_name_leads_nowhere(tmp_path: Path, name: str) -> None:
    """Python takes such a string for a name that nothing has."""
    written(tmp_path, work=f"import importlib\nimportlib.import_module({name!r})", a__b="")
    assert imported_files(tmp_path, "work:build") == ("work.py",)


def test_circles_end(tmp_path: Path) -> None:
    """Two modules that import each other are two files."""
    written(tmp_path, work="import other", other="import work")
    assert imported_files(tmp_path, "work:build") == ("other.py", "work.py")


def test_a_module_that_shadows_an_installed_one_counts(tmp_path: Path) -> None:
    """The root comes first on the module path, so a new `torch.py` there changes what is measured."""
    written(tmp_path, work="import torch")
    before = imported_files(tmp_path, "work:build")
    written(tmp_path, torch="")
    assert set(imported_files(tmp_path, "work:build")) - set(before) == {"torch.py"}


def test_a_module_that_python_imports_by_itself_counts(tmp_path: Path) -> None:
    """`sitecustomize.py` in the root runs before the workload."""
    written(tmp_path, work="", sitecustomize="import patches", patches="")
    assert imported_files(tmp_path, "work:build") == ("patches.py", "sitecustomize.py", "work.py")


def test_a_src_layout_and_namespace_packages(tmp_path: Path) -> None:
    """`src/` is searched after the root; a folder needs no `__init__.py`."""
    written(tmp_path, src__space__work="from space import part", src__space__part="")
    assert imported_files(tmp_path, "space.work:build") == ("src/space/part.py", "src/space/work.py")


def test_a_module_that_is_not_there_is_made_of_nothing(tmp_path: Path) -> None:
    """Nothing is found, and nothing is invented."""
    assert imported_files(tmp_path, "absent.module:build") == ()
    assert imported_files(tmp_path, "..:build") == ()


def test_what_a_run_imported_is_sifted(tmp_path: Path) -> None:
    """Only files of the project count: no environment, nothing outside, nothing that is gone."""
    written(tmp_path, work="", env__lib__site="", lib__deep="")
    (tmp_path / "env" / "pyvenv.cfg").touch()
    names = ["work.py", "env/lib/site.py", "../other.py", "/etc/passwd", "gone.py", "lib/deep.py"]
    assert own_files(tmp_path, names) == ("lib/deep.py", "work.py")


def test_settings_files_stay_below_the_root(tmp_path: Path) -> None:
    """Patterns find files in order; one that leaves the root finds none."""
    root = tmp_path / "root"
    root.mkdir()
    for name in ("requirements-b.txt", "requirements-a.txt", "uv.lock"):
        (root / name).touch()
    (tmp_path / "requirements-c.txt").touch()
    patterns = ["requirements*.txt", "../requirements*.txt", "/etc/passwd", "*.lock"]
    assert settings_files(root, patterns) == ("requirements-a.txt", "requirements-b.txt", "uv.lock")


def test_digests_are_sha256(tmp_path: Path) -> None:
    """Of the bytes; a file that is gone has none."""
    (tmp_path / "a.py").write_bytes(b"x = 1\n")
    assert digests(tmp_path, ["a.py", "gone.py"]) == {"a.py": hashlib.sha256(b"x = 1\n").hexdigest()}
