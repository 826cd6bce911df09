"""Cut `recorded/reference_impl.json` from the report of a real run of reference_impl on a CPU.

    verifygate run --stage all
    python tests/requirements/record_reference.py [REPORT]        (default: reports/latest/report.json)

The record holds what a requirement can ask of: checks, tests with the requirements that they name, what the recorder
saw, measurements with their samples. The rest (who executes which function, curves, seconds, warnings) is cut away.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from verifygate.merge import handed_in
from verifygate.model import ExecutionDetails, PerformanceDetails, StageResult

REPOSITORY = Path(__file__).parents[2]
RECORD = Path(__file__).parent / "recorded" / "reference_impl.json"
STAGES = ("execution", "performance")
KEPT = {"stage", "outcome", "checks", "measurements", "environment", "details"}
CUT = {
    "functions",
    "attribution",
    "half_precision",
    "output_tail",
    "warnings",
    "hazards",
    "answers",
    "profiles",
    "curves",
}
AGAIN = "verifygate run --stage all && python tests/requirements/record_reference.py"
"""What a test that the record no longer fits tells people to do."""


def record_of(report: Path) -> dict[str, Any]:
    """The stages of a report, cut to what requirements ask of. Raises UsageError for a report that was edited."""
    return {stage.stage: _cut(stage) for stage in handed_in(report).stages if stage.stage in STAGES}


def read_record() -> dict[str, StageResult]:
    """The recorded results, by stage."""
    held = json.loads(RECORD.read_text(encoding="utf-8"))
    return {name: StageResult.model_validate_json(json.dumps(value)) for name, value in held.items()}


def _cut(stage: StageResult) -> dict[str, Any]:
    details = stage.details
    if not isinstance(details, ExecutionDetails | PerformanceDetails):
        sys.exit(f"the {stage.stage} stage {stage.outcome}: {stage.reason}")
    if isinstance(details, ExecutionDetails):
        tests = tuple(test.model_copy(update={"seconds": None}) for test in details.tests)
        details = details.model_copy(update={"tests": tests})
    held = stage.model_dump(mode="json", include=KEPT - {"details"}, exclude_defaults=True)
    left = details.model_dump(mode="json", exclude=CUT, exclude_defaults=True)
    return held | {"details": {"kind": details.kind} | left}


def main(arguments: list[str]) -> None:
    report = Path(arguments[0]) if arguments else REPOSITORY / "reports/latest/report.json"
    text = json.dumps(record_of(report), ensure_ascii=False, separators=(",", ":"))
    RECORD.write_text(text + "\n", encoding="utf-8")
    print(f"{RECORD.relative_to(REPOSITORY)}: {len(text.encode())} bytes, from {report}")


if __name__ == "__main__":
    main(sys.argv[1:])
