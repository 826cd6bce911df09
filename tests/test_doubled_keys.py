"""JSON that is believed has one meaning: an object with two values of one name is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from verifygate import report_comparison
from verifygate.base.errors import UsageError
from verifygate.base.strict_json import DocumentError, parsed
from verifygate.performance import benchmark_json
from verifygate.performance.attestation.acceptance import sound
from verifygate.sweep.reports import read_report

TWICE = '{"verdict": "PASS", "a": {"b": 1}, "verdict": "BLOCK"}'
READERS: dict[str, Callable[[Path], object]] = {
    "report": lambda file: report_comparison.read(file, file.name),
    "record": sound,
    "sweep": lambda file: read_report(file, file.name),
    "benchmark": lambda file: benchmark_json.read(file.parent, file.name),
}


@pytest.mark.parametrize("kind", READERS)
def test_a_document_with_two_values_of_one_name_is_refused(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "document.json"
    file.write_text(TWICE, encoding="utf-8")
    with pytest.raises(UsageError, match='the key "verdict" occurs twice in one object') as refused:
        READERS[kind](file)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["[1, {]", "[NaN]", '{"a": 1, "a": 1}', "[" * 100_000])
def test_what_is_no_document_says_why_in_one_line(text: str) -> None:
    with pytest.raises(DocumentError) as refused:
        parsed(text)
    assert "\n" not in str(refused.value)
