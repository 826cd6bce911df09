"""What the gate trusts is compared where nothing keeps the project's code from it, and a change blocks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from verifygate.cli import main
from verifygate.process import trusted
from verifygate.process.subject import Subject
from verifygate.process.trusted import changed, state_of, trusted_places


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with an environment that the gate is started from, and a repository."""
    for folder in (".git/objects", ".git/hooks", ".venv/bin", ".venv/lib/site-packages/gate"):
        (tmp_path / folder).mkdir(parents=True)
    for file in (".git/HEAD", ".git/config", ".git/index", ".venv/bin/python", ".venv/lib/site-packages/gate/run.py"):
        (tmp_path / file).write_text("x")
    (tmp_path / "test_one.py").write_text("def test_one(): pass\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path, str(tmp_path / ".venv/lib/site-packages")])
    monkeypatch.setenv("PATH", f"{tmp_path / '.venv/bin'}:{tmp_path / 'tools'}:/usr/bin")
    trusted_places.cache_clear()
    yield tmp_path
    trusted_places.cache_clear()


def test_what_is_trusted(tree: Path) -> None:
    places = trusted_places(tree)
    assert {tree / ".git", tree / ".venv/bin", tree / ".venv/lib/site-packages"} <= set(places)
    assert Path(trusted.__file__).parents[1] in places
    assert not any(tree.is_relative_to(place) for place in places)


@pytest.mark.parametrize(
    ("name", "whole", "seen"),
    [
        (".venv/lib/site-packages/way.pth", True, True),
        (".venv/lib/site-packages/gate/run.py", True, True),
        (".venv/lib/site-packages/gate/__pycache__/run.cpython-311.pyc", True, False),
        (".venv/bin/python", True, True),
        (".git/config", True, True),
        (".git/hooks/post-checkout", True, True),
        (".git/index", True, False),
        ("tools/git", False, True),
        ("test_one.py", True, False),
    ],
)
def test_what_is_seen_of_a_change(tree: Path, name: str, whole: bool, seen: bool) -> None:
    before = state_of(tree, whole=whole)
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).write_text("changed")
    assert bool(changed(before, state_of(tree, whole=whole))) == seen


def test_a_repository_that_was_not_there_and_a_link_in_place_of_another(tree: Path) -> None:
    (tree / ".git").rename(tree / "other")
    (tree / "tools").symlink_to(".venv/bin")
    trusted_places.cache_clear()
    before = state_of(tree, whole=False)
    assert changed(before, state_of(tree, whole=False)) == []
    (tree / "tools").unlink()
    (tree / "tools").symlink_to("other")
    (tree / "other").rename(tree / ".git")
    assert changed(before, state_of(tree, whole=False)) == [str(tree / ".git"), str(tree / "tools")]


@pytest.mark.slow
def test_a_test_that_changes_the_gate_blocks(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "def test_one(): open('.venv/lib/site-packages/way.pth', 'w').write('import os')\n"
    (tree / "test_one.py").write_text(code)
    (tree / "train.py").write_text("import torch\n")
    (tree / ".git").rename(tree.parent / "repository")
    monkeypatch.chdir(tree)
    monkeypatch.setattr("verifygate.process.interpreter.discover_interpreter", lambda _: Path(sys.executable))
    assert main(["run", "--stage", "execution", "--isolation", "off"]) == 1
    told = capsys.readouterr().out
    assert "somebody changed what the gate trusts" in told
    assert "way.pth" in told


def test_nothing_is_compared_that_is_kept_from_the_tests(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verifygate.process.subject.granted", lambda *_: ("gate",))
    assert len(Subject(tree, Path(sys.executable), isolation="auto").trusted_state()) < 10
