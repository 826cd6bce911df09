"""The numeric health of a run as tables for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from verifygate.base.counts import counted
from verifygate.execution.parameter_movement import STILL
from verifygate.model.health import HealthReport, HealthRow, ShadowRow

SHOWN = 10
"""Rows of a table; the JSON has all."""
Row = TypeVar("Row")


def lines(report: HealthReport) -> list[str]:
    """What the sampled steps showed; then the comparison with float32; then which parameters stand still."""
    return ["", *_values(report), *_shadow(report), *_movements(report)]


def _values(report: HealthReport) -> list[str]:
    if report.not_measured:
        return [f"health: NOT MEASURED: {report.not_measured}"]
    steps = ", ".join(str(step) for step in report.steps)
    found = [f"health of steps {steps} (reading and comparing took {_seconds(report.seconds)} s)"]
    if report.suitable_scale is not None:
        scales = ", ".join(f"{scale:g}" for scale in dict.fromkeys(scale for _, scale in report.scales))
        found.append(f"loss scale {scales}; a scale that suits these gradients: {report.suitable_scale:g}")
    groups = _alike(sorted(report.rows, key=_urgency), _figures)
    head = ("least headroom first", "dtype", "max|out|", "room", "max|grad|*scale", "room", "zero", "subnormal")
    body = [
        (
            _name(row, more),
            row.dtype,
            "-" if row.parameter else _value(row.activation, row),
            _bits(row.activation_headroom),
            _value(row.gradient, row),
            _bits(row.gradient_headroom),
            _share(row.zero),
            _share(row.subnormal),
        )
        for row, more in groups[:SHOWN]
    ]
    return [*found, *_table(head, body), *_more(groups)]


def _figures(row: HealthRow) -> tuple[object, ...]:
    """What tells a row of the table from another; a parameter stands alone."""
    mine = row.name if row.parameter or row.activation is None else ""
    return (mine, row.dtype, row.activation, row.gradient, row.zero, row.subnormal)


def _urgency(row: HealthRow) -> tuple[int, float]:
    rooms = [room for room in (row.activation_headroom, row.gradient_headroom) if room is not None]
    return (-row.overflows, min(rooms, default=1000.0))


def _shadow(report: HealthReport) -> list[str]:
    found = []
    for title, what in (("outputs", "output"), ("gradients", "gradient")):
        groups = _alike((row for row in report.shadow if row.what == what), lambda row: row.error or row.name)
        if groups:
            found += ["", f"against float32, {title}, worst first"]
            head = ("name", "relative error", *(("underflow",) if what == "gradient" else ()))
            found += _table(head, [_compared(row, more) for row, more in groups[:SHOWN]]) + _more(groups)
            found += _left_out([row for row, _ in groups])
    return found + [f"against float32: NOT MEASURED: {why}" for why in report.not_shadowed]


def _left_out(rows: Sequence[ShadowRow]) -> list[str]:
    """The steps of which a gradient that was not finite is in no error."""
    steps = sorted({step for row in rows if row.error is not None for step, error in row.errors if error is None})
    return [f"  left out, where not finite: step {', '.join(map(str, steps))}"] if steps else []


def _compared(row: ShadowRow, more: int) -> tuple[str, ...]:
    error = f"{row.error:.2e}" if row.error is not None else "not finite"
    return (_name(row, more), error, *((_share(row.underflow),) if row.what == "gradient" else ()))


def _movements(report: HealthReport) -> list[str]:
    if not report.movements:
        return []
    counts = Counter(each.movement for each in report.movements)
    words = ", ".join(f"{count} {movement}" for movement, count in counts.items())
    found = ["", f"parameters in the first steps: {words}"]
    named = [each for each in report.movements if each.movement in STILL]
    for each in named[:SHOWN]:
        share = f", {each.unmoved:.0%} of its elements unmoved" if each.unmoved is not None else ""
        found.append(f"  {each.name} ({each.dtype}): {each.movement}{share}")
    return found + _more([(each, 0) for each in named])


def _alike(rows: Iterable[Row], figures: Callable[[Row], object]) -> list[tuple[Row, int]]:
    """The first row of each kind, and how many more have the same figures: a module that hands on another's output."""
    kinds: dict[object, list[Row]] = {}
    for row in rows:
        kinds.setdefault(figures(row), []).append(row)
    return [(same[0], len(same) - 1) for same in kinds.values()]


def _name(row: HealthRow | ShadowRow, more: int) -> str:
    return f"{row.name} (+{more} alike)" if more else row.name


def _more(groups: Sequence[tuple[object, int]]) -> list[str]:
    number = sum(1 + more for _, more in groups[SHOWN:])
    return [f"  and {counted(number, 'more row')}"] if number else []


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    body = [tuple(head), *map(tuple, rows)]
    widths = [max(len(row[at]) for row in body) for at in range(len(head))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in body
    ]


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.2g}"


def _value(value: float | None, row: HealthRow) -> str:
    return f"{value:.3g}" if value is not None else "inf or NaN" if row.overflows else "-"


def _bits(room: float | None) -> str:
    return f"{room:.1f}" if room is not None else "-"


def _share(share: float | None) -> str:
    return f"{share:.1%}" if share is not None else "-"
