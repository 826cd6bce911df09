"""The matrix as CSV and JSON: nothing in it runs, nothing in it is invented."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import jsonschema
import pytest
from report_sample import HOSTILE, completed_requirements, report

from verifygate.model import (
    Coverage,
    ExecutionDetails,
    Link,
    LinkState,
    Outcome,
    RequirementsDetails,
    StageResult,
    TraceSummary,
    Visit,
)
from verifygate.model.matrix_document import Matrix
from verifygate.model.schema import json_schema
from verifygate.report.csv import COLUMNS, cell
from verifygate.report.formats import render

STEP = Link(
    role="code",
    symbol="train.py::step",
    path="train.py",
    line=80,
    end_line=99,
    digest="d1",
    by=("mark train.py:79", "construct scale"),
    state=LinkState.CHANGED,
)
TEST = Link(
    role="test",
    symbol="tests/test_a.py::test_step",
    path="tests/test_a.py",
    line=3,
    end_line=5,
    digest="d2",
    by=("test",),
    state=LinkState.ACCEPTED,
)
DOUBT = "the code `train.py::step` changed since it was accepted at c0ffee"


def sample(**changes: Any) -> list[StageResult]:
    """The sample's requirements, the first with links, and a recorded run that went through them."""
    stage = completed_requirements()
    details = stage.details
    assert isinstance(details, RequirementsDetails)
    given = {"links": (STEP, TEST), "suspect": (DOUBT,), "tests": ("tests/test_a.py::test_step[1]",)} | changes
    first = details.requirements[0].model_copy(update=given)
    told = details.model_copy(
        update={
            "requirements": (first, *details.requirements[1:]),
            "coverage": Coverage(lock="requirements.lock.json", uncovered=("AMP-02",)),
        }
    )
    visits = (
        Visit(path="train.py", line=88, event="clip", times=7),
        Visit(path="train.py", line=100, event="update", times=7),
        Visit(path="other.py", line=88, event="step", times=7),
    )
    ran = ExecutionDetails(trace=TraceSummary(visits=visits))
    execution = StageResult(stage="execution", outcome=Outcome.COMPLETED, details=ran)
    return [execution, stage.model_copy(update={"details": told})]


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def one(fmt: str, **changes: Any) -> str:
    (text,) = render(report(tuple(sample(**changes))), fmt).values()
    return text


def test_every_requirement_is_a_row_and_every_column_has_a_name():
    found = rows(one("csv"))
    assert [row["id"] for row in found] == ["AMP-01", "AMP-02", "AMP-03", "AMP-04"]
    assert all(tuple(row) == COLUMNS for row in found)
    first = found[0]
    assert first["status"] == "PASS"
    assert first["suspect"] == DOUBT
    assert first["code"] == "train.py::step (line 80) changed"
    assert first["tests"] == "tests/test_a.py::test_step[1]"
    assert first["trace events"] == "clip train.py:88"
    assert first["measurements"] == "speedup.fp16"


def test_the_json_holds_the_same_and_fits_its_schema():
    document = json.loads(one("matrix"))
    jsonschema.Draft202012Validator(json.loads(json_schema(Matrix))).validate(document)
    assert [row["id"] for row in document["rows"]] == [row["id"] for row in rows(one("csv"))]
    assert document["rows"][0]["links"][0] == STEP.model_dump(mode="json")
    assert document["rows"][0]["events"] == ["clip train.py:88"]
    assert document["coverage"]["uncovered"] == ["AMP-02"]


def test_the_evidence_of_a_row_is_told_by_class_strongest_first():
    document = json.loads(one("matrix"))
    (third,) = [row for row in document["rows"] if row["id"] == "AMP-03"]
    assert third["evidence"]
    order = ["measured", "executed", "emulated", "static", "declared", "projected"]
    assert third["evidence"] == sorted(third["evidence"], key=order.index)


def test_a_report_without_requirements_has_a_matrix_without_rows():
    (text,) = render(report(tuple(sample()[:1])), "csv").values()
    assert text == ",".join(f'"{name}"' for name in COLUMNS) + "\r\n"
    (document,) = render(report(tuple(sample()[:1])), "matrix").values()
    assert json.loads(document)["rows"] == []


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\u200b=1", "\x00=1", "\uff1dcmd", "=HYPERLINK()"],
)
def test_no_cell_begins_a_formula(text: str):
    """Neither plainly nor behind white space, control or invisible characters."""
    assert cell(text).startswith("'")
    (read,) = csv.reader(io.StringIO(one("csv", title=text).splitlines()[1]))
    assert read[1] == cell(text)


@pytest.mark.parametrize("text", ["AMP-03", "a = b", "x@y", "1 - 2", "", "'quoted'"])
def test_ordinary_text_stays_as_it_is(text: str):
    assert cell(text) == text


def test_a_hostile_name_stays_in_its_cell():
    """Quotes, commas and line ends open no other cell or row."""
    found = rows(one("csv", title=f'a","b\n=1\n{HOSTILE}', tests=('x","=cmd', HOSTILE)))
    assert len(found) == 4
    assert {len(row) for row in found} == {len(COLUMNS)}
    assert found[0]["title"].startswith('a","b =1 ')
    assert not any(value.startswith(("=", "+", "-", "@")) for row in found for value in row.values())
