"""The numeric health of a run as tables for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from verifygate.base.counts import counted
from verifygate.execution.parameter_movement import STILL
from verifygate.model.health import HealthReport, HealthRow, Movement, ShadowRow

SHOWN = 10
"""Rows of a table; the JSON has all."""


def lines(report: HealthReport) -> list[str]:
    """What the sampled steps showed; then the comparison with float32; then which parameters stand still."""
    return ["", *_values(report), *_shadow(report), *_movements(report)]


def _values(report: HealthReport) -> list[str]:
    if report.not_measured:
        return [f"health: NOT MEASURED: {report.not_measured}"]
    steps = ", ".join(str(step) for step in report.steps)
    found = [f"health of steps {steps} (reading and comparing took {report.seconds:.2g} s)"]
    if report.suitable_scale is not None:
        scales = ", ".join(f"{scale:g}" for scale in dict.fromkeys(scale for _, scale in report.scales))
        found.append(f"loss scale {scales}; a scale that suits these gradients: {report.suitable_scale:g}")
    rows = sorted(report.rows, key=_urgency)[:SHOWN]
    head = ("least headroom first", "dtype", "max|out|", "room", "max|grad|*scale", "room", "zero", "subnormal")
    body = [
        (
            row.name,
            row.dtype,
            _value(row.activation, row),
            _bits(row.activation_headroom),
            _value(row.gradient, row),
            _bits(row.gradient_headroom),
            _share(row.zero),
            _share(row.subnormal),
        )
        for row in rows
    ]
    found += _table(head, body)
    return found + _more(len(report.rows) - len(rows))


def _urgency(row: HealthRow) -> tuple[int, float]:
    rooms = [room for room in (row.activation_headroom, row.gradient_headroom) if room is not None]
    return (-row.overflows, min(rooms, default=1000.0))


def _shadow(report: HealthReport) -> list[str]:
    found = []
    for title, what in (("outputs", "output"), ("gradients", "gradient")):
        rows = [row for row in report.shadow if row.what == what]
        if rows:
            found += ["", f"against float32, {title}, worst first"]
            head = ("name", "relative error", *(("underflow",) if what == "gradient" else ()))
            found += _table(head, [_compared(row) for row in rows[:SHOWN]]) + _more(len(rows) - SHOWN)
    return found + [f"against float32: NOT MEASURED: {why}" for why in report.not_shadowed]


def _compared(row: ShadowRow) -> tuple[str, ...]:
    error = f"{row.error:.2e}" if row.error is not None else "not finite"
    return (row.name, error, *((_share(row.underflow),) if row.what == "gradient" else ()))


def _movements(report: HealthReport) -> list[str]:
    if not report.movements:
        return []
    counts = Counter(each.movement for each in report.movements)
    words = ", ".join(f"{count} {movement}" for movement, count in counts.items())
    found = ["", f"parameters in the first steps: {words}"]
    named = [each for each in report.movements if each.movement in STILL | {Movement.FROZEN_MOVED}]
    for each in named[:SHOWN]:
        share = f", {each.unmoved:.0%} of its elements unmoved" if each.unmoved is not None else ""
        found.append(f"  {each.name} ({each.dtype}): {each.movement}{share}")
    return found + _more(len(named) - SHOWN)


def _more(number: int) -> list[str]:
    return [f"  and {counted(number, 'more row')}"] if number > 0 else []


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    body = [tuple(head), *map(tuple, rows)]
    widths = [max(len(row[at]) for row in body) for at in range(len(head))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in body
    ]


def _value(value: float | None, row: HealthRow) -> str:
    return f"{value:.3g}" if value is not None else "inf or NaN" if row.overflows else "-"


def _bits(room: float | None) -> str:
    return f"{room:.1f}" if room is not None else "-"


def _share(share: float | None) -> str:
    return f"{share:.1%}" if share is not None else "-"
