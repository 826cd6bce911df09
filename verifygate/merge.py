"""Join what the stages found apart: each finding learns which tests execute its function, and so why none caught it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from verifygate.model import ExecutionDetails, Finding, FunctionCoverage, StageResult, TestOutcome


def merged(stages: Sequence[StageResult]) -> tuple[StageResult, ...]:
    """The stages, with every finding completed from what the other stages know."""
    details = [stage.details for stage in stages if isinstance(stage.details, ExecutionDetails)]
    if not details:
        return tuple(stages)
    return tuple(
        stage.model_copy(update={"findings": tuple(_with_tests(finding, details[0]) for finding in stage.findings)})
        for stage in stages
    )


def _with_tests(finding: Finding, execution: ExecutionDetails) -> Finding:
    around = _enclosing(finding, execution.functions)
    if around is None:
        return finding
    return finding.model_copy(update={"untested": _why(around, execution.tests)})


def _enclosing(finding: Finding, functions: Iterable[FunctionCoverage]) -> FunctionCoverage | None:
    """The innermost function around the finding."""
    around = [each for each in functions if each.path == finding.path and each.line <= finding.line <= each.end_line]
    return max(around, key=lambda each: each.line, default=None)


def _why(function: FunctionCoverage, tests: Sequence[TestOutcome]) -> str:
    if not function.tests:
        skipped = sum(test.outcome == "skipped" for test in tests)
        note = f" ({skipped} skipped)" if skipped else ""
        return f"no test executes `{function.symbol}`{note}"
    count, first = len(function.tests), function.tests[0]
    if count == 1:
        return f"one test executes `{function.symbol}` and does not see it: {first}"
    return f"{count} tests execute `{function.symbol}` and do not see it, for example {first}"
