"""`verifygate evidence trace accept`: from a report to a lock, by the command line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from verifygate.cli import main

TRAIN = """\
import torch


def step(model, optimizer, batch):
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(model(batch)).backward()
    scaler.step(optimizer)
    scaler.update()
"""
SPEC = """\
title: T
requirements:
  - {id: LOOP-1, title: Scaled, text: Scale the loss., group: other, severity: high, verify: [{construct: scale}]}
  - {id: LOOP-2, title: Tested, text: Test it., group: other, severity: low, verify: [{test: tests/test_a.py}]}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "spec.yaml").write_text(SPEC)
    (tmp_path / "verifygate.toml").write_text('[requirements]\nspec = "spec.yaml"\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def gate(*options: str) -> str:
    """Run the two stages that need nothing else; returns requirements.md."""
    assert main(["run", "--stage", "static", "--stage", "requirements", *options]) == 1
    return Path("reports/latest/requirements.md").read_text(encoding="utf-8")


def section(page: str, title: str) -> str:
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0].strip()


def test_accept_change_and_accept_again(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is proved is accepted; a change is named in the report until somebody accepts it."""
    assert (
        "Suspect links (nothing was accepted yet; `verifygate evidence trace accept` records" in gate().splitlines()[-1]
    )
    capsys.readouterr()
    assert main(["evidence", "trace", "accept"]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines() == [
        "LOOP-1: accepted (1 code, 0 tests, at none)",
        "Wrote spec.lock.json; commit it, and run the gate again",
    ]
    assert told.err == "verifygate: not accepted: LOOP-2 is NOT MEASURED: there is no evidence to accept\n"
    lock = json.loads((project / "spec.lock.json").read_text(encoding="utf-8"))
    assert list(lock["requirements"]["LOOP-1"]["code"]) == ["train.py::step"]
    assert section(gate(), "Suspect links").splitlines()[2:] == ["- not accepted yet: `LOOP-2`"]

    (project / "train.py").write_text(TRAIN.replace('"cpu"', '"cuda"'))
    suspect = section(gate(), "Suspect links")
    assert "- `LOOP-1` (**PARTIAL**, by its evidence alone PASS):" in suspect
    assert "  - the code `train.py::step` changed since it was accepted at none" in suspect
    assert main(["evidence", "trace", "accept", "LOOP-1"]) == 0
    assert "LOOP-1: accepted" in capsys.readouterr().out
    assert "LOOP-1" not in section(gate(), "Suspect links")
    assert main(["evidence", "trace", "accept", "LOOP-1"]) == 0
    assert "LOOP-1: as before" in capsys.readouterr().out


def test_marks_that_link_nothing_are_on_the_page(project: Path) -> None:
    (project / "late.py").write_text("# requirement: LOOP-9\nx = 1\n# requirement: LOOP-1\n")
    orphans = section(gate(), "Orphans").splitlines()
    assert orphans == [
        "- [late.py:1](../../late.py#L1) marks `LOOP-9`, which is not in the specification",
        "- [late.py:3](../../late.py#L3) marks `LOOP-1` but no code: nothing follows it",
        "- requirements without a link to code or a test: `LOOP-2`",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["LOOP-2"], "`LOOP-2` is NOT MEASURED: there is no evidence to accept"),
        (["LOOP-3"], "there is no requirement `LOOP-3` in the report; it has LOOP-1, LOOP-2"),
        (["--report", "spec.yaml"], "spec.yaml:1: not valid JSON"),
    ],
)
def test_what_cannot_be_accepted(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    """One line, exit code 2, and no lock."""
    gate()
    capsys.readouterr()
    assert main(["evidence", "trace", "accept", *arguments]) == 2
    error = capsys.readouterr().err
    assert said.partition("; ")[0] in error
    assert said.partition("; ")[2] in error
    assert len(error.splitlines()) == 1
    assert not (project / "spec.lock.json").exists()


def test_without_a_report_or_a_specification_there_is_nothing_to_accept(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evidence", "trace", "accept"]) == 2
    assert "report.json: cannot be read" in capsys.readouterr().err
    assert main(["run", "--stage", "static"]) == 0
    assert main(["evidence", "trace", "accept"]) == 2
    assert "it traces no specification, not `spec.yaml`" in capsys.readouterr().err
    (project / "verifygate.toml").write_text("")
    assert main(["evidence", "trace", "accept"]) == 2
    assert "there is no specification" in capsys.readouterr().err


def test_a_broken_lock_stops_the_run_before_any_stage(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "spec.lock.json").write_text('{"schema_version": 1,\n "requirement": {}}\n')
    assert main(["run"]) == 2
    assert "spec.lock.json:2: unknown key `requirement` (did you mean `requirements`?)" in capsys.readouterr().err


def git(*arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


def test_what_a_change_accepts_itself_stands_in_its_report(project: Path) -> None:
    """A change that edits the code and accepts it in one go is shown to its reviewers, and an untouched lock is not."""
    gate()
    assert main(["evidence", "trace", "accept"]) == 0
    git("init", "-q")
    git("add", "train.py", "spec.yaml", "spec.lock.json", "verifygate.toml")
    git("commit", "-q", "-m", "first")
    assert "accepted or dropped by this change" not in gate("--since", "HEAD")
    (project / "train.py").write_text(TRAIN.replace('"cpu"', '"cuda"'))
    gate()
    assert main(["evidence", "trace", "accept"]) == 0
    page = section(gate("--since", "HEAD"), "Suspect links")
    assert "- **accepted or dropped by this change, for its reviewers to judge:** `LOOP-1`" in page.splitlines()
    assert "+changes" in (project / "spec.lock.json").read_text(encoding="utf-8")
