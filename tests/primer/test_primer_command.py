"""`python -m primer` from its options to its files and its exit code."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from primer import __main__ as command
from primer.pins import Pin

PIN = Pin("tiny", "1.0", "0" * 64, "tiny-1.0.tar.gz")
CLIPS = """
from torch.amp import GradScaler
import torch

def train(model, optimizer, loader):
    scaler = GradScaler()
    for batch in loader:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
TEXTS = {name: name for name in ("path", "message", "snippet", "symbol", "fingerprint")}
FOUND = {"rule": "AMP201", "line": 1, "column": 1, "severity": "critical", "certainty": "certain"} | TEXTS


def gate(*findings: dict[str, object]) -> str:
    """A check that finds this."""
    report = {"findings": findings, "not_followed": [], "not_analysed": [], "files_checked": 1}
    return f"print({json.dumps(report)!r})\n"


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that holds the one package of a list, and a repository of ours whose second commit finds something."""
    tree = tmp_path / "cache" / "trees" / f"tiny-1.0-{PIN.sha256[:12]}"
    tree.mkdir(parents=True)
    (tree / "train.py").write_text(CLIPS, encoding="utf-8")
    root = tmp_path / "ours"
    (root / "verifygate").mkdir(parents=True)
    (root / "verifygate" / "__init__.py").touch()
    main = root / "verifygate" / "__main__.py"
    main.write_text(gate(), encoding="utf-8")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=root, check=True)
    main.write_text(gate(FOUND), encoding="utf-8")
    monkeypatch.setattr(command, "ROOT", root)
    monkeypatch.setattr(command, "read_pins", lambda: [PIN])
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str) -> int:
    monkeypatch.setattr(
        "sys.argv", ["primer", *arguments, "--cache", str(folder / "cache"), "--out", str(folder / "out")]
    )
    return command.main()


def test_the_working_tree_is_compared_with_a_commit(
    packages: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    code = run(monkeypatch, packages, "compare", "--base", "HEAD")

    assert code == 1  # the new finding is unjudged
    document = json.loads((packages / "out" / "primer.json").read_text(encoding="utf-8"))
    assert [(each["kind"], each["rule"]) for each in document["differences"]] == [("new", "AMP201")]
    assert document["head"] == f"{document['base']}+changes"
    assert capsys.readouterr().out == (packages / "out" / "primer.md").read_text(encoding="utf-8")


def test_two_runs_differ_in_nothing_but_what_is_measured(packages: Path, monkeypatch: pytest.MonkeyPatch):
    documents = []
    for _ in range(2):
        run(monkeypatch, packages, "compare", "--base", "HEAD")
        documents.append(json.loads((packages / "out" / "primer.json").read_text(encoding="utf-8")))

    assert all(document.pop("measured") for document in documents)
    assert documents[0] == documents[1]


@pytest.mark.parametrize("arguments", [["--only", "unknown"], ["--base", "no-such-revision"]])
def test_what_cannot_be_used_is_one_line_and_exit_code_2(
    packages: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
):
    assert run(monkeypatch, packages, "compare", *arguments) == 2
    assert arguments[1] in capsys.readouterr().err
