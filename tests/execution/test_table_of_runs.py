"""The table in docs/test-runs.md: plain pytest and the gate say of each suite what stands there."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import verifygate
from verifygate.model import StageResult
from verifygate.process.subject import Subject

SUITES = Path(__file__).parent / "suites"
PAGE = Path(verifygate.__file__).parent / "docs" / "test-runs.md"
SETTINGS: dict[str, dict[str, Any]] = {
    "hang_in_library": {"seconds": 600.0, "until": "hangs"},
    "loud": {"pytest": ("-s", ".")},
}
LEAVES_A_PROCESS = ("grandchild", "daemon")
FAULTS = {
    "exit_in_test", "exit_at_import", "polite_exit", "killed", "segfault", "forged_junit", "lying_conftest",
    "collect_only", "keyword_in_addopts", "all_skipped", "xfail_and_xpass", "no_tests", "loud", "grandchild",
    "lingering_thread", "hang_in_library",
}  # fmt: skip
"""What the table has to have at least."""


class Row(NamedTuple):
    suite: str
    code: str
    junit: str
    status: str
    check: str
    said: str


def _rows() -> list[Row]:
    rows = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 5 and (suite := re.fullmatch(r"`(\w+)`", cells[0])):
            gate = re.fullmatch(r"([A-Z ]+) `([\w-]+)`: (.+)", cells[4])
            assert gate is not None, cells[4]
            rows.append(Row(suite[1], cells[2], cells[3], *gate.groups()))
    return rows


ROWS = _rows()


def test_the_table_has_every_fault() -> None:
    assert {row.suite for row in ROWS} >= FAULTS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.suite)
def test_the_gate_says_what_the_table_says(
    row: Row, run_suite: Callable[..., StageResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status and words of the check, from a real run."""
    if row.suite in LEAVES_A_PROCESS and sys.platform != "linux":
        pytest.skip("processes are followed on Linux only")
    monkeypatch.setattr("verifygate.execution.session.LINGER_SECONDS", 1.0)
    result = run_suite(row.suite, **SETTINGS.get(row.suite, {}))
    check = next(check for check in result.checks if check.id == f"execution.{row.check}")
    assert check.status == row.status
    assert row.said in check.actual


@pytest.mark.parametrize("row", [row for row in ROWS if row.code != "never"], ids=lambda row: row.suite)
def test_pytest_says_what_the_table_says(row: Row, tmp_path: Path) -> None:
    """Exit code and JUnit file, from plain pytest on the same suite."""
    root, report = tmp_path / row.suite, tmp_path / row.suite / "report.xml"
    shutil.copytree(SUITES / row.suite, root, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "pytest.ini").touch()
    command = ["-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={report}"]
    ended = Subject(root, Path(sys.executable)).run(command, seconds=600)  # it ends what the suite leaves behind
    assert str(ended.exit_code) == row.code
    assert _junit(report) == row.junit


def _junit(report: Path) -> str:
    """`2 tests, 1 failure`, as the file tells."""
    if not report.exists():
        return "none"
    suite = re.search(r"<testsuite .*?>", report.read_text(encoding="utf-8"))
    assert suite is not None
    told = {name: int(number) for name, number in re.findall(r'(\w+)="(\d+)"', suite[0])}
    tests, failures = told["tests"], told["failures"]
    return f"{tests} test{'s' * (tests != 1)}, {failures} failure{'s' * (failures != 1)}"
