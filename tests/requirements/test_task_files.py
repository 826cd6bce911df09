"""Acceptance criteria in free text: an id is taken at its word, and nothing else is guessed."""

from __future__ import annotations

from pathlib import Path

import pytest
from requirement_world import Traced, World

from verifygate.base.errors import UsageError
from verifygate.model import Status
from verifygate.requirements import read_specification

T035 = """\
id: T035
title: Training Loop Improvements - Mixed Precision Training (AMP)
priority: high
files: [train.py]
acceptance_criteria:
  - "AMP-01: Enable PyTorch AMP with GradScaler"
  - Wrap forward pass in autocast context
  - "Scale gradients for numerical stability (AMP-03)"
  - Log loss scale to W&B
  - "[AMP-05] Measure speedup (target 1.5-2x)"
  - "T035-6: Verify no accuracy degradation"
"""


def task(tmp_path: Path, text: str = T035) -> Path:
    path = tmp_path / "T035.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def traced(tmp_path: Path, text: str = T035) -> Traced:
    return World().trace(task(tmp_path, text))


def test_a_line_is_what_its_id_says(tmp_path: Path) -> None:
    """In front, in brackets, or in parentheses at the end; with the task's own words."""
    rows = traced(tmp_path).rows
    assert [*rows] == ["AMP-01", "T035-2", "AMP-03", "T035-4", "AMP-05", "T035-6"]
    assert rows["AMP-01"].text == "AMP-01: Enable PyTorch AMP with GradScaler"
    assert rows["AMP-01"].title == "GradScaler in use"
    assert [query.query for query in rows["AMP-05"].queries] == ["measurement speedup on accelerator"]
    assert rows["AMP-05"].status is Status.PASS


def test_any_other_line_is_not_verifiable_as_written(tmp_path: Path) -> None:
    """However plain its words are: the world holds autocast, and no row may claim that this is what was meant."""
    found = traced(tmp_path)
    assert {found.statuses[name] for name in ("T035-2", "T035-4", "T035-6")} == {Status.NOT_MEASURED}
    check = found.checks["T035-2"]
    assert check.required
    assert check.actual == "not verifiable as written: it names no requirement of amp-core"
    assert (check.evidence[0].path, check.evidence[0].line) == ("T035.yaml", 7)
    assert "as in `AMP-03: ...`" in check.remedy
    assert found.checks["T035-6"].actual == "not verifiable as written: amp-core has no T035-6"


@pytest.mark.parametrize(
    ("line", "near"),
    [
        ("Wrap forward pass in autocast context", "AMP-02 (Forward and loss under autocast)"),
        ("Verify no accuracy degradation", "AMP-06 (No loss of accuracy)"),
        ("Log the loss scale to W&B for monitoring", "AMP-04 (Loss scale logged)"),
    ],
)
def test_the_nearest_requirements_are_suggested(tmp_path: Path, line: str, near: str) -> None:
    found = traced(tmp_path, f"acceptance_criteria:\n  - {line}\n")
    assert near in found.checks["CRITERION-1"].remedy


def test_words_that_nothing_is_near_to_suggest_nothing(tmp_path: Path) -> None:
    assert "nearest" not in traced(tmp_path, "acceptance_criteria: [Paint it blue]\n").checks["CRITERION-1"].remedy


def test_the_criteria_may_lie_below_task_and_have_fields(tmp_path: Path) -> None:
    text = "task:\n  id: T036\n  name: Title\n  acceptance_criteria:\n    - {id: DATA-02, text: Stay in FP32}\n"
    found = traced(tmp_path, text)
    assert [*found.rows] == ["DATA-02"]
    assert found.rows["DATA-02"].text == "DATA-02: Stay in FP32"
    specification = read_specification(tmp_path, "T035.yaml")
    assert (specification.spec.task, specification.spec.title) == ("T036", "Title")


def test_a_task_may_be_toml(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text('id = "T1"\nacceptance_criteria = ["AMP-01: scale", "Be fast"]\n')
    specification = read_specification(tmp_path, "task.toml")
    assert [each.id for each in specification.spec.requirements] == ["AMP-01", "T1-2"]


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("acceptance_criteria: []\n", "T035.yaml:1: ", "at least one criterion"),
        ("acceptance_criteria: be fast\n", "T035.yaml:1: ", "must be a list"),
        ("acceptance_criteria:\n  - be fast\n  - 7\n", "T035.yaml:3: ", "must be text"),
        ("acceptance_criteria:\n  - ' '\n", "T035.yaml:2: ", "must be text"),
        ("acceptance_criteria:\n  - Speed: fast\n", "T035.yaml:2: ", "in quotes"),
        ("acceptance_criteria:\n  - 'AMP-01: a'\n  - b (AMP-01)\n", "T035.yaml:3: ", "named by two criteria"),
        ("id: T035\ntitle: T\n", "T035.yaml:1: ", "unknown key `id`"),
    ],
)
def test_a_task_that_cannot_be_read(tmp_path: Path, text: str, where: str, what: str) -> None:
    task(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        read_specification(tmp_path, "T035.yaml")
    assert str(caught.value).startswith(where)
    assert what in str(caught.value)
