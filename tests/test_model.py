"""A report survives the trip to disk, and only `run` tells two runs with the same inputs apart."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent / "report"))

import report_sample

from verifygate.model import Arm, Measurement, Report, StageResult, Status
from verifygate.model import schema as model_schema
from verifygate.model.base import volatile_pointers
from verifygate.model.json_document import put, take

SCHEMAS = Path(model_schema.__file__).parents[1] / "docs" / "schemas"
numbers = st.floats(allow_nan=False, allow_infinity=False)


def test_report_survives_json() -> None:
    """Nothing is lost and nothing is added between `to_json` and `from_json`."""
    report = report_sample.report()
    assert Report.from_json(report.to_json()) == report
    assert Report.from_json(report.to_json()).to_json() == report.to_json()


def test_volatile_values_lie_in_run_only() -> None:
    """Every place that a pointer names is null outside `run`, and the value is under the pointer."""
    report = report_sample.report()
    document = json.loads(report.to_json())
    measured = document["run"]["measured"]
    assert list(volatile_pointers(report)) == list(measured)
    assert measured["/stages/0/seconds"] == 2.01
    assert all(take(document, pointer) is None for pointer in measured)


def with_values(seconds: float, sample: float, command: str) -> Report:
    """The sample with other volatile values."""
    report = report_sample.report(command=command, seconds=seconds)
    stages = []
    for stage in report.stages:
        measurements = tuple(
            m.model_copy(
                update={
                    "value": sample,
                    "arms": tuple(a.model_copy(update={"samples": (sample,) * a.n}) for a in m.arms),
                }
            )
            for m in stage.measurements
        )
        stages.append(stage.model_copy(update={"seconds": seconds, "measurements": measurements}))
    return report.model_copy(update={"stages": tuple(stages)})


@given(numbers, numbers, st.text(max_size=9))
def test_two_runs_differ_only_inside_run(seconds: float, sample: float, command: str) -> None:
    """Other seconds, other samples, another command: the same bytes but for `run`; and all of it comes back."""
    base, other = with_values(1.0, 2.0, "verifygate run"), with_values(seconds, sample, command)
    first, second = json.loads(base.to_json()), json.loads(other.to_json())
    del first["run"], second["run"]
    assert first == second
    assert Report.from_json(other.to_json()).stages == other.stages


@given(st.dictionaries(st.text(max_size=5), st.integers(), min_size=1))
def test_pointers_reach_any_key(document: dict[str, int]) -> None:
    """Slashes and tildes in a key are escaped both ways."""
    key = next(iter(document))
    pointer = "/" + key.replace("~", "~0").replace("/", "~1")
    before = dict(document)
    put(document, pointer, take(document, pointer))
    assert document == before


def test_odd_file_names_can_be_written() -> None:
    """A name that is not UTF-8 holds lone surrogates: the JSON escapes them and gives them back."""
    stage = StageResult(stage="static", outcome="completed", reason="caf\udce9.py")
    report = report_sample.report((stage,), ())
    assert report.to_json().encode("utf-8")
    assert Report.from_json(report.to_json()).stages[0].reason == "caf\udce9.py"


@pytest.mark.parametrize(
    "broken",
    [
        "{}",
        "[]",
        "{",
        '{"run": {"measured": {"/stages/9/seconds": 1}}, "stages": []}',
        '{"run": {"measured": 3}}',
        '{"run": {"measured": {}}, "surprise": 1}',
    ],
)
def test_anything_else_is_a_value_error(broken: str) -> None:
    """A file that is not a report never becomes half of one."""
    with pytest.raises(ValueError, match=r"."):
        Report.from_json(broken)


def test_no_number_is_infinite() -> None:
    """JSON has no NaN, and a comparison with NaN proves nothing."""
    with pytest.raises(ValueError, match="finite"):
        Measurement(id="m", title="", metric="", unit="", device="cpu", status=Status.PASS, value=float("nan"))
    with pytest.raises(ValueError, match="finite"):
        Arm(name="fp32", unit="ms", samples=(float("inf"),), n=1)


def test_schema_fits_what_is_written() -> None:
    """The published schemas accept the sample's JSON and refuse a key they do not know."""
    schema = json.loads(model_schema.json_schema(Report))
    document = json.loads(report_sample.report().to_json())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "surprise": 1}, schema)


@pytest.mark.parametrize("name", sorted(model_schema.SCHEMAS))
def test_published_schema_is_current(name: str) -> None:
    """`python tests/write_docs.py` was run after the last change of a model."""
    assert (SCHEMAS / name).read_text(encoding="utf-8") == model_schema.json_schema(model_schema.SCHEMAS[name])
