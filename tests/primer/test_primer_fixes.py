"""Fixes on copies of packages: what they leave behind is parsed and scanned again, and a second run changes nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import verifygate
from primer.fixing import fix_package, markdown_of
from primer.pins import Pin
from primer.scans import Revision

PIN = Pin("tiny", "1.0", "0" * 64, "tiny-1.0.tar.gz")
OLD = "import torch\n\nscaler = torch.cuda.amp.GradScaler()\n"
REPORTS = """
import pathlib, sys
path = pathlib.Path("train.py")
text = path.read_text()
if sys.argv[1] == "fix":
    {change}
    print("Fixed: 1; files changed: 1; findings left: 0")
else:
    rows = [] if {gone} else ['"AMP501"']
    rows += {more}
    row = '{{"rule": %s, "path": "train.py", "line": 1, "symbol": "", "message": "m", "fix": "safe"}}'
    found = ", ".join(row % rule for rule in rows)
    print('{{"findings": [%s], "not_followed": [], "not_analysed": [], "files_checked": 1}}' % found)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "train.py").write_text(OLD, encoding="utf-8")
    return folder


def revision(folder: Path, change: str, gone: str = "'new' in text", more: str = "[]") -> Revision:
    package = folder / "verifygate"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(REPORTS.format(change=change, gone=gone, more=more), encoding="utf-8")
    return Revision("head", folder)


def test_a_real_fix_is_sound_and_leaves_the_package_alone(tree: Path, tmp_path: Path):
    head = tmp_path / "head"
    shutil.copytree(Path(verifygate.__file__).parent, head / "verifygate", ignore=shutil.ignore_patterns("__pycache__"))

    result = fix_package(PIN, tree, Revision("head", head))

    assert result.sound, result
    assert (result.gone, result.changed) == ({"AMP501": 1}, ("train.py",))
    assert (tree / "train.py").read_text(encoding="utf-8") == OLD
    assert "- findings fixed: AMP501 1" in markdown_of([result])


def test_a_file_that_no_longer_parses_is_named(tree: Path, tmp_path: Path):
    result = fix_package(PIN, tree, revision(tmp_path / "head", "path.write_text('new = (')"))

    assert result.unreadable == ("train.py",)
    assert "no longer parses: train.py" in markdown_of([result])


def test_a_second_run_that_changes_more_is_named(tree: Path, tmp_path: Path):
    result = fix_package(PIN, tree, revision(tmp_path / "head", "path.write_text(text + '# new\\n')"))

    assert result.unsettled == ("train.py",)
    assert not result.sound


def test_a_finding_that_was_not_there_before_is_named(tree: Path, tmp_path: Path):
    head = revision(tmp_path / "head", "path.write_text('new = 1')", more="""['"AMP207"'] if 'new' in text else []""")

    result = fix_package(PIN, tree, head)

    assert result.new == ("train.py:1: AMP207 m",)
    assert result.gone == {"AMP501": 1}


def test_a_scan_that_is_killed_is_not_taken_for_one_without_findings(tree: Path, tmp_path: Path):
    head = revision(tmp_path / "head", "")
    (head.folder / "verifygate" / "__main__.py").write_text("import os\nos.kill(os.getpid(), 9)\n", encoding="utf-8")

    result = fix_package(PIN, tree, head)

    assert result.broke == "exit status -9: no message"
    assert not result.sound


def test_a_fix_that_breaks_is_named(tree: Path, tmp_path: Path):
    result = fix_package(PIN, tree, revision(tmp_path / "head", "raise ZeroDivisionError"))

    assert "ZeroDivisionError" in result.broke
    assert not result.sound


def test_a_package_in_which_nothing_can_be_fixed_is_only_scanned(tree: Path, tmp_path: Path):
    result = fix_package(PIN, tree, revision(tmp_path / "head", "raise ZeroDivisionError", gone="True"))

    assert result.sound
    assert (result.gone, result.changed) == ({}, ())
