"""Findings and what stands beside them are records without pydantic: written and read just as strictly as models."""

from __future__ import annotations

import ast
import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import TypeAdapter, ValidationError

sys.path.insert(0, str(Path(__file__).parent / "report"))

import report_sample

import verifygate.model
from verifygate.model import (
    Construct,
    ConstructKind,
    Detail,
    Finding,
    NotAnalysed,
    NotFollowed,
    PathStep,
    Report,
    Suppression,
)
from verifygate.model.check_report import CheckReport
from verifygate.report.json import render_check

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

GONE = NotAnalysed(path="caf\udce9.py", reason="invalid syntax", mentions_amp=True)
GAP = NotFollowed(path="a.py", line=3, reason="a loop over names")
FOUND: Finding = report_sample.KEYS
RECORDS: tuple[DataclassInstance, ...] = (
    FOUND,
    PathStep(path="a.py", line=1, text="SCALE"),
    Detail(label="missing key", values=("a", "b")),
    Construct(kind=ConstructKind.CLIP, path="a.py", line=1, symbol="f", text="clip()"),
    GONE,
    GAP,
    Suppression(path="a.py", line=1, rule="AMP201", reason="on purpose", finding=""),
    CheckReport(files_checked=2, findings=(FOUND,), not_analysed=(GONE,), not_followed=(GAP,)),
)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_record_survives_json_and_nothing_else_is_read(record: DataclassInstance) -> None:
    """What is written is read back as it was; a key too many, one too few, or another type is refused."""
    adapter: TypeAdapter[Any] = TypeAdapter(type(record))
    written = dataclasses.asdict(record)
    assert adapter.dump_python(record, mode="json") == json.loads(json.dumps(written))
    assert adapter.validate_python(written) == record
    first = next(field.name for field in dataclasses.fields(record) if field.default is dataclasses.MISSING)
    short = {name: value for name, value in written.items() if name != first}
    for wrong in ({**written, "surprise": 1}, short, {**written, first: object()}):
        with pytest.raises(ValidationError):
            adapter.validate_python(wrong)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_record_is_a_frozen_value_without_volatile_parts(record: DataclassInstance) -> None:
    """Nobody changes one that is shared, and all of it belongs to the report that must be the same bytes."""
    first = dataclasses.fields(record)[0].name
    with pytest.raises(AttributeError, match="stays as it was made"):
        setattr(record, first, None)
    assert hash(record) == hash(dataclasses.replace(record))
    assert not [field.name for field in dataclasses.fields(record) if "Volatile" in str(field.type)]


@pytest.mark.parametrize("key", ["rule", "steps", "surprise"])
def test_forged_finding_in_a_report_is_refused(key: str) -> None:
    """A finding in a report.json that lacks something, or says more than there is to say, spoils the report."""
    document = json.loads(report_sample.report().to_json())
    findings = next(stage["findings"] for stage in document["stages"] if stage["findings"])
    assert Report.from_json(json.dumps(document))
    findings[0] |= {key: {"path": "a.py"}}
    with pytest.raises(ValueError, match=key):
        Report.from_json(json.dumps(document))


def test_check_prints_what_its_schema_says() -> None:
    """The JSON of `check`, which is written without pydantic, is what pydantic would write and read."""
    report = CheckReport(files_checked=2, findings=(FOUND,), not_analysed=(GONE,), not_followed=(GAP,))
    adapter = TypeAdapter(CheckReport)
    document = json.loads(render_check(report))
    head = ["schema_version", "files_checked", "findings", "not_analysed", "not_followed", "left_out"]
    assert list(document) == [*head, "stood_before", "in_baseline", "contract", "contract_changes", "fail_on", "folder"]
    assert document == adapter.dump_python(report, mode="json")
    assert adapter.validate_python(document) == report


def test_every_name_of_the_model_is_there() -> None:
    """What the type checker is told of the package is what there is when it runs."""
    tree = ast.parse(Path(verifygate.model.__file__).read_text(encoding="utf-8"))
    told = {
        alias.name: (node.module or "").rpartition(".")[2]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("verifygate.model.")
        for alias in node.names
    }
    assert told == verifygate.model._HOME
    assert all(getattr(verifygate.model, name) is not None for name in told)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        verifygate.model.Nothing  # noqa: B018
