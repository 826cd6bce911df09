"""Lines that the subject's process wrote into the gate's files: told as strange, and no error of the gate's."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate.execution.instruments import read_told
from verifygate.execution.order import OrderJudge
from verifygate.execution.recorded_trace import STRANGE, read_trace
from verifygate.execution.run_violations import violations_of_the_run

DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("facts.jsonl", '{"kind":"place","id":1e999,"frames":[]}'),
        ("head.jsonl", '{"n":1,"e":"x","step":Infinity}'),
        ("head.jsonl", '{"n":1,"e":"x","step":null,"at":"a"}'),
    ],
)
def test_a_strange_line_of_a_recorder_is_a_problem(tmp_path: Path, file: str, line: str) -> None:
    (tmp_path / file).write_text(f"{line}\n", encoding="ascii")
    assert read_trace(tmp_path).problems == [STRANGE]


def test_what_is_nested_too_deeply_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "head.jsonl").write_text(f"{DEEP}\n", encoding="ascii")
    (tmp_path / "told.jsonl").write_text(f"{DEEP}\n", encoding="ascii")
    assert list(read_trace(tmp_path).events) == []
    assert read_told(tmp_path / "told.jsonl") == ()


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("facts.jsonl", '{"kind":"optimizer","id":1,"type":"SGD"}'),
        ("facts.jsonl", '{"kind":"sample","steps":1,"operations":[]}'),
        ("facts.jsonl", '{"kind":"totals","events":"many"}'),
        ("head.jsonl", '{"n":1,"e":"optimizer"}'),
        ("head.jsonl", '{"n":1,"e":"scaler.step","optimizer":"one"}'),
        ("head.jsonl", '{"n":1,"e":"backward","optimizers":["one"]}'),
        ("head.jsonl", '{"n":1,"e":"updates","dtype":"float16"}'),
        ("head.jsonl", '{"n":1,"e":"written","norm":[1.0,2.0]}'),
    ],
)
def test_a_field_of_another_type_is_a_problem(tmp_path: Path, file: str, line: str) -> None:
    """Who judges the trace finds in each event what the recorder writes there."""
    (tmp_path / file).write_text(f"{line}\n", encoding="ascii")
    trace = read_trace(tmp_path)
    assert trace.problems == [STRANGE]
    assert list(trace.events) == []
    assert (trace.optimizers, trace.sample, trace.totals) == ({}, {}, {})


def test_an_event_of_a_scaler_that_was_not_told_of_is_judged(tmp_path: Path) -> None:
    """Its fact may be among the lines that were lost; a factor may be larger than its square can be."""
    lines = (
        '{"n":1,"e":"optimizer","optimizer":1,"empty":true}',
        '{"n":2,"e":"scaler","scaler":7}',
        '{"n":3,"e":"autocast","device":"cuda","dtype":"float16"}',
        '{"n":4,"e":"autocast.exit"}',
        '{"n":5,"e":"backward","root":"plain","optimizers":[1]}',
        '{"n":6,"e":"optimizer.step","optimizer":1}',
        '{"n":7,"e":"update","scaler":7,"scale":65536.0}',
        '{"n":8,"e":"backward","root":"scaled","scaler":7,"optimizers":[1]}',
        '{"n":9,"e":"touched","optimizers":[1],"factor":1e200}',
    )
    (tmp_path / "head.jsonl").write_text("\n".join(lines) + "\n", encoding="ascii")
    trace = read_trace(tmp_path)
    assert trace.problems == []
    (section,) = trace.sections
    OrderJudge(trace).judge(section)
    list(violations_of_the_run(section, trace, whole=True))
