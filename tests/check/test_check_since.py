"""`check --since REV`: what is new since the tree left a revision, and nothing else."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from verifygate.cli import main

FAULTY = """\
import torch


def train(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "old.py").write_text(FAULTY, encoding="utf-8")
    (tmp_path / "tools").mkdir()
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_stood_is_counted_and_not_reported(repository: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["check"]) == 1
    capsys.readouterr()
    assert main(["check", "--since", "main", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["findings"], document["stood_before"]) == ([], 1)
    assert main(["check", "--since", "main"]) == 0
    assert "No new findings in 1 file; 1 place not followed; 1 stood before, at " in capsys.readouterr().out


def test_what_is_new_fails(repository: Path, capsys: pytest.CaptureFixture[str]):
    """Also where the same function stood before: of one cause, the location that is new."""
    (repository / "new.py").write_text(FAULTY, encoding="utf-8")

    assert main(["check", "--since", "main"]) == 1
    told = capsys.readouterr().out
    assert "new.py:8:9: AMP201" in told
    assert "old.py:8" not in told


def test_a_commit_is_stopped_by_what_it_brings(repository: Path, capsys: pytest.CaptureFixture[str]):
    """What a hook asks: named files, against the last commit."""
    (repository / "old.py").write_text(f"# a note\n{FAULTY}", encoding="utf-8")
    assert main(["check", "--since", "HEAD", "old.py"]) == 0
    again = FAULTY.replace("def train", "def again").replace("1.0", "2.0")
    (repository / "old.py").write_text(f"{FAULTY}\n\n{again}", encoding="utf-8")
    assert main(["check", "--since", "HEAD", "old.py"]) == 1
    assert "1 stood before" in capsys.readouterr().out


def test_files_that_are_renamed_are_followed(repository: Path):
    git(repository, "mv", "old.py", "tools/loops.py")

    assert main(["check", "--since", "HEAD"]) == 0
    assert main(["check", "--since", "HEAD", "tools/loops.py"]) == 0


def test_the_merge_base_counts(repository: Path):
    """The base has mended its fault since this tree left it: that does not make it new here."""
    git(repository, "checkout", "-qb", "notes")
    git(repository, "checkout", "-q", "main")
    (repository / "old.py").write_text("import torch\n", encoding="utf-8")
    git(repository, "commit", "-qam", "mended")
    git(repository, "checkout", "-q", "notes")

    assert main(["check", "--since", "main"]) == 0


def test_the_folder_of_the_command_does_not_matter(repository: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(repository / "tools")

    assert main(["check", "--since", "HEAD", "../old.py"]) == 0
    assert main(["check", "../old.py"]) == 1


def test_a_kept_answer_is_against_its_revision(repository: Path):
    """The same files, and another question."""
    (repository / "new.py").write_text(FAULTY, encoding="utf-8")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    for _ in range(2):
        assert main(["check", "--since", "HEAD"]) == 0
        assert main(["check", "--since", "HEAD~1"]) == 1
        assert main(["check"]) == 1


def test_a_revision_that_is_not_there_ends_2(repository: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["check", "--since", "nowhere"]) == 2
    assert "git knows no revision `nowhere` here" in capsys.readouterr().err
