"""`make gpu`: on a CUDA machine the gpu-marked tests, then the record of reference_impl; all of it in one table.

    python tests/performance/gpu_table.py

Exit code 0 where every test and every target passes, 1 where one fails, was not measured, or no test ran.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from defusedxml import ElementTree

from verifygate.model import Check, StageResult, Status
from verifygate.report.bench import HEAD, aligned, measured
from verifygate.report.escape import plain

ROOT = Path(__file__).resolve().parents[2]
Row = tuple[str, ...]


def tests(junit: str) -> Iterator[Row]:
    """A row for each test of a JUnit file: FAIL with the first line of why, NOT MEASURED where it was skipped."""
    for case in ElementTree.fromstring(junit).iter("testcase"):
        status, told = Status.PASS, ""
        for kind, means in (("skipped", Status.NOT_MEASURED), ("failure", Status.FAIL), ("error", Status.FAIL)):
            if (found := case.find(kind)) is not None:
                lines = (found.get("message") or found.text or kind).strip().splitlines()
                status, told = means, lines[0] if lines else kind
        name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
        yield plain(f"test {name}"), "passes", plain(told), "", "", str(status)


def check(found: Check) -> Row:
    """A row for a check; the measurement it rests on has its own."""
    required = "" if found.required else " (advice)"
    return plain(f"check {found.id}{required}"), plain(found.expected), plain(found.actual), "", "", str(found.status)


def table(junit: str, result: StageResult | None) -> tuple[str, int]:
    """The one table of everything, and the exit code. `result` is None where nothing could be measured."""
    ran = list(tests(junit))
    rows = [*ran]
    bad = any(row[-1] == Status.FAIL for row in ran) or all(row[-1] != Status.PASS for row in ran) or result is None
    if result is not None:
        rows += [check(each) for each in result.checks]
        rows += [measured(each) for each in result.measurements]
        fine = (Status.PASS, Status.NOT_APPLICABLE)
        bad = bad or any(each.required and each.status not in fine for each in result.checks)
    return "\n".join(aligned([HEAD, *rows])) + "\n", int(bad)


def main() -> int:
    """Run the tests and the measurement, each to its end whatever the other says, and print the table."""
    with tempfile.TemporaryDirectory() as folder:
        junit = Path(folder, "gpu.xml")
        pytest = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", f"--junitxml={junit}"]
        subprocess.run(pytest, cwd=ROOT, check=False)
        record = [sys.executable, "-m", "verifygate", "bench", "record", "--format", "json"]
        recorded = subprocess.run(record, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        told = recorded.stdout.strip()
        text, code = table(
            junit.read_text(encoding="utf-8") if junit.is_file() else "<testsuites/>",
            StageResult.model_validate_json(told) if told else None,
        )
    print(text, end="")
    return code or recorded.returncode


if __name__ == "__main__":
    sys.exit(main())
