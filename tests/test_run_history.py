"""The history of runs: what is kept, that nothing is lost, and what is no history."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from defusedxml import ElementTree

from verifygate import run_history
from verifygate.base.errors import UsageError
from verifygate.cli import main
from verifygate.model import Verdict
from verifygate.model.past_run import PastRun
from verifygate.report import trend

ONE = PastRun(
    started="2026-01-01T00:00:00+00:00", commit="0" * 40, verdict=Verdict.PASS, score=Decimal("97.5"), reasons=0,
    critical=0, high=1, medium=0, low=2,
)  # fmt: skip
SOUND = """\
import torch


def train(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
ADD = """
import sys
from pathlib import Path
from tests.test_run_history import ONE
from verifygate import run_history
for _ in range(20):
    run_history.add(Path(sys.argv[1]), ONE)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.py").write_text(SOUND, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_run_is_kept_and_shown(project: Path, capsys: pytest.CaptureFixture[str]):
    run = ["run", "--stage", "static", "--format", "md,html,badge", "--history", "history.jsonl"]
    assert main(run) == 0
    (project / "train.py").write_text(SOUND.replace("        scaler.unscale_(optimizer)\n", ""), encoding="utf-8")
    assert main(run) == 1
    kept = run_history.read(project / "history.jsonl")
    assert [(each.verdict.value, each.critical, each.reasons) for each in kept] == [("PASS", 0, 0), ("BLOCK", 1, 1)]
    report = json.loads((project / "reports/latest/report.json").read_text(encoding="utf-8"))
    assert [each["verdict"] for each in report["run"]["history"]] == ["PASS", "BLOCK"]
    assert report["run"]["history"][-1]["score"] == report["score"]
    page = (project / "reports/latest/report.html").read_text(encoding="utf-8")
    told = f"2 runs: 1 PASS, 1 BLOCK; score 100.00 at first, {report['score']:.2f} now; 0 findings at first, 1 now"
    assert f"<figcaption>Trend of {told}</figcaption>" in page
    assert f"history       {told}" in capsys.readouterr().out
    badge = ElementTree.fromstring((project / "reports/latest/badge.svg").read_text(encoding="utf-8"))
    assert badge.attrib["aria-label"] == f"verifygate: BLOCK {report['score']:.2f}/100"
    assert main(["render", "reports/latest/report.json", "--format", "html", "--output", "again.html"]) == 0
    assert (project / "again.html").read_text(encoding="utf-8").count("Trend of") == 2


def test_runs_that_end_together_lose_nothing(tmp_path: Path):
    path = tmp_path / "history.jsonl"
    command = [sys.executable, "-c", ADD, str(path)]
    children = [subprocess.Popen(command, cwd=Path(__file__).parents[1]) for _ in range(4)]
    assert [child.wait() for child in children] == [0, 0, 0, 0]
    assert len(run_history.read(path)) == 80


def test_the_last_runs_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_history, "MOST_KEPT", 3)
    path = tmp_path / "history.jsonl"
    for number in range(10):
        kept = run_history.add(path, ONE.model_copy(update={"reasons": number}))
        assert [each.reasons for each in kept] == list(range(max(0, number - 2), number + 1))
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 6
    assert [each.reasons for each in run_history.read(path)][-3:] == [7, 8, 9]


LINE = json.loads(ONE.model_dump_json())
HOSTILE = {
    "no JSON": b"x\n",
    "a list": b"[]\n",
    "one key twice": b'{"score": 1, "score": 2}\n',
    "not a number": json.dumps(LINE | {"score": float("nan")}).encode() + b"\n",
    "a score above 100": json.dumps(LINE | {"score": 1e6}).encode() + b"\n",
    "fewer than none": json.dumps(LINE | {"high": -1}).encode() + b"\n",
    "markup": json.dumps(LINE | {"commit": "<script>alert(1)</script>"}).encode() + b"\n",
    "another key": json.dumps(LINE | {"more": 1}).encode() + b"\n",
    "a key too few": b'{"verdict": "PASS"}\n',
    "cut short": json.dumps(LINE).encode(),
    "no text": b"\xff\xfe\x00\n",
    "deep": b"[" * 100_000 + b"\n",
    "large": b" " * (run_history.MOST_BYTES + 1),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_history_is_one_line_before_anything_runs(
    project: Path, data: bytes, capsys: pytest.CaptureFixture[str]
):
    (project / "kept.jsonl").write_bytes(data)
    assert main(["run", "--stage", "static", "--history", "kept.jsonl"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("verifygate: error: kept.jsonl")
    assert told.count("\n") == 1
    assert (project / "kept.jsonl").read_bytes() == data
    assert not (project / "reports").exists() or not list((project / "reports").iterdir())


@pytest.mark.parametrize("kind", ["pipe", "folder", "link"])
def test_what_is_no_file_is_refused(tmp_path: Path, kind: str):
    path = tmp_path / "kept"
    make = {"pipe": lambda: os.mkfifo(path), "folder": path.mkdir, "link": lambda: path.symlink_to(tmp_path / "x")}
    make[kind]()
    with pytest.raises(UsageError):
        run_history.read(path)
    with pytest.raises(UsageError):
        run_history.add(path, ONE)
    assert not (tmp_path / "x").exists()


def test_the_folder_of_reports_is_no_place_for_it(project: Path, capsys: pytest.CaptureFixture[str]):
    """Each run replaces that folder."""
    assert main(["run", "--stage", "static", "--history", "reports/latest/history.jsonl"]) == 2
    assert "each run replaces" in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["not/there", "train.py"])
def test_a_folder_that_is_none_is_told_before_anything_runs(
    project: Path, folder: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["run", "--stage", "static", "--history", f"{folder}/kept.jsonl"]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"verifygate: error: {folder}/kept.jsonl: ")
    assert told.count("\n") == 1
    assert not (project / "reports").exists() or not list((project / "reports").iterdir())


def test_a_full_disk_leaves_the_history_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Half a line at its end would be wrong input to each run that follows."""
    path, write = tmp_path / "kept.jsonl", os.write
    run_history.add(path, ONE)

    def full(handle: int, data: bytes) -> int:
        if len(data) < 100:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(handle, data[:100])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(UsageError, match="cannot be written: No space left"):
        run_history.add(path, ONE)
    assert run_history.read(path) == (ONE,)


def test_a_run_without_a_score_has_its_mark():
    runs = (ONE, ONE.model_copy(update={"verdict": Verdict.BLOCK, "score": None}), ONE)
    picture = ElementTree.fromstring(str(trend.drawn(runs)))
    marks = [each.tag.rpartition("}")[2] for each in picture][2:]
    assert marks == ["circle", "path", "circle"]
    assert trend.drawn(runs[:1]) == ""
