"""Read what the instrument `health` told of a run, and put it together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from verifygate.execution.parameter_movement import movements
from verifygate.model.health import HealthReport, HealthRow, ShadowRow

LARGEST = 65504.0
"""float16's."""
MOST_ROWS = 2000

Told = dict[str, Any]


def health(told: Sequence[Told]) -> HealthReport:
    """The report of the process that was started, or of the first one that it started, if that trained."""
    windows = _first_process([each for each in told if each["event"] in ("health-window", "health-shadow")])
    sampled = [each for each in windows if each["event"] == "health-window" and each["rows"]]
    shadows = [each for each in windows if each["event"] == "health-shadow"]
    compared = [each for each in shadows if each["rows"]]
    ends = [each for each in told if each["event"] == "health-ended"]
    missing = next((each["why_not"] for each in ends if each["why_not"]), "no module was called before a step")
    return HealthReport(
        steps=tuple(each["step"] for each in sampled),
        scales=tuple((each["step"], each["scale"]) for each in sampled if each["scale"] is not None),
        rows=tuple(_rows(sampled))[:MOST_ROWS],
        suitable_scale=_suitable(sampled),
        shadow=tuple(_shadow(compared))[:MOST_ROWS],
        shadow_steps=tuple(each["step"] for each in compared),
        not_shadowed=tuple(dict.fromkeys(each["why_not"] for each in shadows if each["why_not"])),
        movements=movements(told),
        seconds=sum(each["seconds"] for each in ends),
        not_measured="" if sampled else missing,
    )


def _first_process(windows: list[Told]) -> list[Told]:
    """The windows of the first process; their numbers begin anew with each."""
    found: list[Told] = []
    for each in windows:
        if found and each["step"] < found[-1]["step"]:
            break
        found.append(each)
    return found


def _rows(sampled: Sequence[Told]) -> Iterable[HealthRow]:
    """Each module and parameter, over all sampled steps."""
    by_name: dict[tuple[str, bool], list[tuple[int, Told]]] = {}
    for window in sampled:
        for row in window["rows"]:
            by_name.setdefault((row["name"], row["parameter"]), []).append((window["step"], row))
    for (name, parameter), rows in by_name.items():
        last = rows[-1][1]
        elements = sum(row["elements"] for _, row in rows)
        activation = _largest(row["activation"] for _, row in rows)
        gradient = _largest(row["gradient"] for _, row in rows)
        heads = [(step, _headroom(_half(row))) for step, row in rows if _half(row) is not None]
        yield HealthRow(
            name=name,
            kind=last["kind"],
            parameter=parameter,
            dtype=last["gradient_dtype"] if parameter else last["output"],
            activation=activation,
            activation_headroom=_headroom(activation) if last["output"] == "float16" else None,
            gradient=gradient,
            gradient_headroom=_headroom(_largest(_half(row) for _, row in rows)),
            overflows=sum(not all(map(_finite, (row["activation"], row["gradient"]))) for _, row in rows),
            zero=sum(row["zeros"] for _, row in rows) / elements if elements else None,
            subnormal=sum(row["subnormal"] for _, row in rows) / elements if elements else None,
            headrooms=tuple(heads),
            rooms=tuple((step, min(rooms, default=None)) for step, row in rows if (rooms := _rooms(row)) is not None),
        )


def _rooms(row: Told) -> list[float] | None:
    """The headroom of its float16 output and gradient; empty where one is not finite, None where there is neither."""
    sizes = [row["activation"] if row["output"] == "float16" else None, _half(row)]
    known = [size for size in sizes if size is not None]
    if not all(map(math.isfinite, known)):
        return []
    return [room for size in known if (room := _headroom(size)) is not None] or None


def _half(row: Told) -> float | None:
    """The largest gradient that float16 has to hold: the row's own, or what came to the parameter's cast."""
    value: float | None = row["gradient"] if row["gradient_dtype"] == "float16" else row["in_half"]
    return value


def _suitable(sampled: Sequence[Told]) -> float | None:
    """The largest power of two with which every sampled gradient in float16 stays below half of the largest."""
    found = []
    for window in sampled:
        sizes = [_half(row) for row in window["rows"]]
        finite = [size for size in sizes if size and math.isfinite(size)]
        if window["scale"] is None or not finite or len(finite) < sum(size is not None and size > 0 for size in sizes):
            continue
        found.append(2.0 ** math.floor(math.log2(LARGEST / 2 * window["scale"] / max(finite))))
    return min(found, default=None)


def _shadow(compared: Sequence[Told]) -> list[ShadowRow]:
    """Each output and gradient, the worst first; outputs before gradients."""
    by_name: dict[tuple[str, str], list[tuple[int, Told]]] = {}
    for window in compared:
        for row in window["rows"]:
            by_name.setdefault((row["what"], row["name"]), []).append((window["step"], row))
    rows = []
    for (what, name), seen in by_name.items():
        elements = sum(row["elements"] for _, row in seen)
        rows.append(
            ShadowRow(
                name=name,
                what=what,
                error=_worst([row["error"] for _, row in seen], gradient=what == "gradient"),
                underflow=sum(row["flushed"] for _, row in seen) / elements if elements else None,
                errors=tuple((step, _known(row["error"])) for step, row in seen),
                underflows=tuple((step, row["flushed"] / row["elements"]) for step, row in seen if row["elements"]),
            )
        )
    return sorted(rows, key=lambda row: (row.what != "output", -(row.error if row.error is not None else math.inf)))


def _largest(values: Iterable[float | None]) -> float | None:
    """None where there is none, or where one is not finite."""
    known = [value for value in values if value is not None]
    return max(known) if known and all(map(math.isfinite, known)) else None


def _worst(errors: list[float], *, gradient: bool) -> float | None:
    """The largest error. Gradients that overflow while the loss scale is being found are left out, unless all do."""
    finite = [each for each in errors if math.isfinite(each)]
    return max(finite) if finite and (gradient or len(finite) == len(errors)) else None


def _known(error: float) -> float | None:
    return error if math.isfinite(error) else None


def _headroom(value: float | None) -> float | None:
    return math.log2(LARGEST / value) if value and math.isfinite(value) else None


def _finite(value: float | None) -> bool:
    return value is None or math.isfinite(value)
