"""What `verifygate bench` prints: one table of what was measured, and how to measure the rest."""

from __future__ import annotations

from collections.abc import Sequence

from verifygate.model import Measurement, StageResult, Status
from verifygate.report.escape import plain
from verifygate.report.quantities import amount, interval

HEAD = ("", "asked", "measured", "95 % interval", "device", "status")

NAMED = {"python": "Python ", "torch": "torch ", "processors": "processors: "}
"""What nobody could tell a number in the environment by."""


def text(result: StageResult) -> str:
    """The result as plain text."""
    where = ", ".join(f"{NAMED.get(name, '')}{plain(value)}" for name, value in result.environment.items())
    lines = [f"on {where}"] if where else []
    lines += aligned([HEAD, *(measured(each) for each in result.measurements)])
    for check in result.checks:
        if check.status in (Status.FAIL, Status.NOT_MEASURED) and (check.required or check.status is Status.FAIL):
            lines.append(f"{check.status}: {plain(check.title)}: {plain(check.actual or check.expected)}")
            if check.remedy:
                lines.append(f"  -> {plain(check.remedy)}")
    return "\n".join(lines) + "\n"


def measured(measurement: Measurement) -> tuple[str, ...]:
    """The row of a measurement, below HEAD."""
    status = "" if measurement.status is Status.NOT_APPLICABLE else str(measurement.status)
    return (
        plain(measurement.title),
        plain(measurement.target),
        "-" if measurement.value is None else amount(measurement),
        "" if measurement.low is None else interval(measurement),
        plain(measurement.device),
        status,
    )


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """The lines of a table whose columns are as wide as their widest cell."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
