"""What the primer says of two revisions: by rule what is new, gone or weighed differently, judged, and what it cost."""

from __future__ import annotations

import json
import shutil
import textwrap
from pathlib import Path
from typing import Any

import pytest

import verifygate
from primer.comparison import compare
from primer.differential import run_primer
from primer.judging import Judge
from primer.pins import Pin, read_pins
from primer.scans import Revision, scan
from primer.summary import document_of, is_sound, markdown_of
from verifygate.base.errors import UsageError
from verifygate.quality.judgements import Judgement, read_judgements

PIN = Pin("tiny", "1.0", "0" * 64, "tiny-1.0.tar.gz")
CLIPS = """
from torch.amp import GradScaler, autocast
import torch

def train(model, optimizer, batches):
    scaler = GradScaler()
    for batch in batches:
        optimizer.zero_grad()
        with autocast("cuda", torch.float16):
            loss = model(batch)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


def finding(line: int = 3, **given: Any) -> dict[str, Any]:
    plain = {
        "rule": "AMP201",
        "path": "train.py",
        "line": line,
        "column": 5,
        "severity": "critical",
        "certainty": "certain",
        "message": "clips too early",
        "snippet": "clip()",
        "symbol": "train",
        "fingerprint": f"f{line}",
    }
    return plain | given


def revision(folder: Path, body: str) -> Revision:
    """A revision whose check is this program."""
    package = folder / "verifygate"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(textwrap.dedent(body), encoding="utf-8")
    return Revision(folder.name, folder)


def says(folder: Path, *findings: dict[str, Any], status: int = 1) -> Revision:
    document = {"findings": findings, "not_followed": [], "not_analysed": [], "files_checked": 1}
    return revision(folder, f"import sys\nprint({json.dumps(document)!r})\nsys.exit({status})\n")


def result_of(tmp_path: Path, base: Revision | None, head: Revision, *judgements: Judgement) -> dict[str, Any]:
    tree = tmp_path / "tree"
    tree.mkdir()
    results = run_primer([PIN], lambda _: tree, base, head, Judge(list(judgements)), lambda _: None)
    return document_of(results, base, head)


def judgement(**given: Any) -> Judgement:
    plain = {
        "package": "tiny",
        "version": "1.0",
        "rule": "AMP201",
        "path": "train.py",
        "line": 3,
        "fingerprint": "f3",
        "judgement": "true",
        "why": "no unscale_",
    }
    return Judgement.model_validate(plain | given)


def test_findings_are_new_gone_or_weighed_differently():
    before = [finding(3), finding(4), finding(5)]
    after = [finding(3), finding(4, certainty="likely"), finding(6)]

    found = compare("tiny", before, after)

    assert [(each.kind, each.line, each.before, each.after) for each in found] == [
        ("changed", 4, "critical certain", "critical likely"),
        ("gone", 5, "critical certain", ""),
        ("new", 6, "", "critical certain"),
    ]


def test_two_findings_at_one_place_are_two():
    (only,) = compare("tiny", [finding()], [finding(), finding()])

    assert (only.kind, only.line) == ("new", 3)


def test_the_document_counts_by_rule_and_shows_the_code(tmp_path: Path):
    base = says(tmp_path / "base", finding(3))
    head = says(tmp_path / "head", finding(3), finding(9, snippet="clip(model)", severity="low"))

    document = result_of(tmp_path, base, head, judgement())

    assert document["rules"] == {"AMP201": {"findings": 2, "new": 1, "gone": 0, "changed": 0}}
    assert is_sound(document)
    text = markdown_of(document)
    assert "- **new** (low certain) tiny `train.py`:9: clips too early" in text
    assert "clip(model)" in text


def test_a_blocking_finding_without_a_judgement_is_unjudged(tmp_path: Path):
    document = result_of(tmp_path, None, says(tmp_path / "head", finding(3), finding(8)), judgement())

    assert document["judgements"] == {"true": 1, "harmless": 0, "false": 0, "unjudged": 1}
    assert [each["line"] for each in document["unjudged"]] == [8]
    assert not is_sound(document)
    assert "nobody has judged" in markdown_of(document)


def test_a_fault_that_no_longer_blocks_is_named(tmp_path: Path):
    """It may rightly be likely now, so this fails nothing; but somebody has to read it."""
    head = says(tmp_path / "head", finding(3, certainty="likely"))

    document = result_of(tmp_path, None, head, judgement(), judgement(line=7, fingerprint="f7", judgement="false"))

    assert [each["line"] for each in document["lost"]] == [3]
    assert is_sound(document)
    assert "Judged true, and not blocking any more" in markdown_of(document)


@pytest.mark.parametrize("given", [{"severity": "medium"}, {"certainty": "likely"}])
def test_what_does_not_block_needs_no_judgement(tmp_path: Path, given: dict[str, str]):
    assert is_sound(result_of(tmp_path, None, says(tmp_path / "head", finding(**given))))


def test_a_finding_judged_false_is_not_sound(tmp_path: Path):
    document = result_of(
        tmp_path, None, says(tmp_path / "head", finding()), judgement(judgement="false", why="never runs")
    )

    assert not is_sound(document)
    assert "never runs" in markdown_of(document)


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ({"line": 30}, True),  # the code moved in a later version: its fingerprint stayed
        (
            {"fingerprint": "another"},
            True,
        ),  # fingerprints are made differently now: the line of the pinned version stayed
        ({"line": 30, "fingerprint": "another"}, False),
        ({"line": 30, "version": "0.9"}, True),
        ({"fingerprint": "another", "version": "0.9"}, False),  # a line of another version says nothing
        ({"rule": "AMP207"}, False),
    ],
)
def test_a_judgement_is_found_by_fingerprint_or_by_line_of_its_version(given: dict[str, Any], known: bool):
    assert (Judge([judgement(**given)]).of(PIN, finding()) is not None) is known


def test_two_runs_that_differ_are_named(tmp_path: Path):
    unstable = revision(
        tmp_path / "head",
        """
        import os
        seed = os.environ["PYTHONHASHSEED"]
        print('{"findings": [], "not_followed": [], "not_analysed": [], "files_checked": %s}' % seed)
        """,
    )

    document = result_of(tmp_path, None, unstable)

    assert document["unstable"] == ["tiny==1.0"]
    assert not is_sound(document)


def test_a_scan_that_breaks_is_named_with_what_it_printed(tmp_path: Path):
    document = result_of(
        tmp_path, says(tmp_path / "base", status=0), revision(tmp_path / "head", "raise ZeroDivisionError")
    )

    (broken,) = document["broken"]
    assert (broken["package"], broken["side"]) == ("tiny==1.0", "head")
    assert broken["ending"].startswith("exit status 1: Traceback")
    assert "ZeroDivisionError" in markdown_of(document)
    assert document["measured"]["cpu_ratio"] is None
    assert not is_sound(document)


def test_a_change_of_the_exit_status_and_the_cost_are_shown(tmp_path: Path):
    document = result_of(tmp_path, says(tmp_path / "base", status=0), says(tmp_path / "head", status=2))

    assert "exit status: tiny 0 -> 2" in markdown_of(document)
    cost = document["measured"]["packages"]["tiny==1.0"]["head"]
    assert cost["cpu_seconds"] > 0
    assert cost["peak_mib"] > 1
    assert document["measured"]["memory_ratio"] > 0


def test_a_real_scan_runs_the_given_revision_and_no_other(tmp_path: Path):
    """The package under the revision's folder goes before the one that is installed."""
    copied = tmp_path / "copied"
    shutil.copytree(
        Path(verifygate.__file__).parent, copied / "verifygate", ignore=shutil.ignore_patterns("__pycache__")
    )
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "train.py").write_text(CLIPS, encoding="utf-8")

    ended = scan(Revision("copied", copied), tree, seed=1)

    assert [each["rule"] for each in ended.document["findings"] if each["severity"] == "critical"] == ["AMP201"]
    assert scan(says(tmp_path / "other", status=0), tree, seed=1).document["findings"] == []


def test_every_judgement_that_comes_with_the_gate_is_of_a_listed_package_and_gives_a_reason():
    listed = {pin.name for pin in read_pins()}
    for each in read_judgements():
        assert each.package in listed, each
        assert each.why.strip().endswith("."), each
        assert len(each.why) > 20, each


def test_a_list_of_judgements_that_is_none_is_refused(tmp_path: Path):
    path = tmp_path / "judgements.json"
    path.write_text('[{"package": "tiny"}]', encoding="utf-8")

    with pytest.raises(UsageError, match="not a list of judgements"):
        read_judgements(path)
