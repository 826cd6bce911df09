"""Fixes that a report offers line by line: each holds by itself, and those of one file hold together."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from scanning import scan

from verifygate.fix import proven, with_edits, with_fixes
from verifygate.model import Applicability, Edit, Finding
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources

CLIPS = """import torch


def train(model, loss_fn, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
OTHER = CLIPS.partition("def train")[2].replace("(model,", "def fine_tune(model,", 1)


def sources_of(**files: str) -> Sources:
    return Sources([SourceFile(f"{name}.py", text.encode()) for name, text in files.items()])


def proved(sources: Sources) -> tuple[Finding, ...]:
    return with_edits(with_fixes(scan(sources).findings, sources), sources, scan)


def applied(text: str, edits: Iterable[Edit]) -> str:
    """As a reader applies suggestions: whole lines, from the last to the first."""
    lines = text.splitlines(keepends=True)
    for edit in sorted(edits, key=lambda each: -each.line):
        lines[edit.line - 1 : edit.end_line] = [edit.text]
    return "".join(lines)


def test_the_offered_lines_repair_the_file() -> None:
    """One edit, at the line of the clip, after which nothing is found."""
    (finding,) = proved(sources_of(train=CLIPS))
    (edit,) = finding.edits
    assert (edit.line, edit.end_line) == (11, 11)
    fixed = applied(CLIPS, finding.edits)
    assert fixed == CLIPS.replace("        torch.nn", "        scaler.unscale_(optimizer)\n        torch.nn")
    assert scan(sources_of(train=fixed)).findings == ()


def test_several_of_one_file_hold_together() -> None:
    """Both functions are repaired by their own lines, alone and both."""
    text = CLIPS + "\n\n" + OTHER
    found = proved(sources_of(train=text))
    assert [len(each.edits) for each in found] == [1, 1]
    assert len(scan(sources_of(train=applied(text, found[0].edits))).findings) == 1
    assert scan(sources_of(train=applied(text, [*found[0].edits, *found[1].edits]))).findings == ()


def test_a_fix_of_two_places_is_one_suggestion() -> None:
    """An `unscale_` that moves up: to insert it alone, and leave the other, would raise."""
    text = CLIPS.replace("        scaler.step(", "        scaler.unscale_(optimizer)\n        scaler.step(")
    (finding,) = [each for each in proved(sources_of(train=text)) if each.rule == "AMP201"]
    (edit,) = finding.edits
    fixed = applied(text, finding.edits)
    assert (edit.line, fixed.count("unscale_")) == (11, 1)
    assert scan(sources_of(train=fixed)).findings == ()


def test_two_fixes_that_break_each_other_are_not_both_offered() -> None:
    """Two clips before one step: each may be repaired by an `unscale_`, but two of them raise."""
    clip = "        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
    text = CLIPS.replace(clip, clip + "        torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)\n")
    found = proved(sources_of(train=text))
    offered = [each for each in found if each.edits]
    fixed = applied(text, [edit for each in offered for edit in each.edits])
    assert fixed.count("unscale_") == 1
    assert not scan(sources_of(train=fixed)).findings


def test_a_fix_that_does_not_hold_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a scan still finds the fault, no lines are offered."""
    sources = sources_of(train=CLIPS)
    (finding,) = with_fixes(scan(sources).findings, sources)
    assert finding.fix is Applicability.SAFE
    (unproven,) = with_edits((finding,), sources, lambda _files: scan(sources))
    assert unproven.edits == ()
    monkeypatch.setattr(proven, "MAX_SCANS", 0)
    assert with_edits((finding,), sources, scan)[0].edits == ()


def test_lines_are_counted_as_python_counts() -> None:
    """A form feed ends no line; with CRLF the ends stay."""
    for text in (CLIPS.replace("import torch\n", "import torch  # \x0c \u2028\n"), CLIPS.replace("\n", "\r\n")):
        (finding,) = with_edits(
            with_fixes(scan(sources_of(train=text)).findings, sources_of(train=text)), sources_of(train=text), scan
        )
        (edit,) = finding.edits
        assert edit.line == finding.line
        assert edit.text.endswith(text[-2:] if "\r" in text else "\n")


def test_check_offers_them_to_reviewdog(tmp_path: Path) -> None:
    """The command, with the format that can show them."""
    (tmp_path / "train.py").write_text(CLIPS, encoding="utf-8")
    command = [sys.executable, "-m", "verifygate", "check", "--format", "rdjson"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 1, ended.stderr
    (diagnostic,) = json.loads(ended.stdout)["diagnostics"]
    assert diagnostic["suggestions"][0]["text"].startswith("        scaler.unscale_(optimizer)\n")
