"""Lines that the subject's process wrote into the gate's files: told as strange, and no error of the gate's."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate.execution.instruments import read_told
from verifygate.execution.recorded_trace import STRANGE, read_trace

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
