"""Numbers in words: measurements with unit, interval and number of samples; seconds and points."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from statistics import median

from verifygate.model import Arm, Measurement, ScorePart

_BARS = "▁▂▃▄▅▆▇█"
_MAX_BARS = 60


def reading(measurement: Measurement) -> str:
    """Value, interval, number of samples, device and class of the evidence, in one line."""
    if measurement.value is None:
        return f"not measured: {measurement.reason}" if measurement.reason else "not measured"
    text = amount(measurement)
    if measurement.low is not None and measurement.high is not None:
        text += f" (95 % interval {interval(measurement)})"
    counts = samples(measurement)
    return ", ".join(part for part in (text, counts, f"on {measurement.device}", measurement.kind.value) if part)


def samples(measurement: Measurement) -> str:
    """How many samples the number rests on; empty where the measurement has no arms."""
    counts = [arm.n for arm in measurement.arms]
    if not counts:
        return ""
    if len(set(counts)) == 1:
        return f"n = {counts[0]}" + (" per arm" if len(counts) > 1 else "")
    return "n = " + ", ".join(f"{arm.n} {arm.name}" for arm in measurement.arms)


def amount(measurement: Measurement) -> str:
    return "not measured" if measurement.value is None else quantity(measurement.value, measurement.unit)


def quantity(value: float, unit: str) -> str:
    """Number and unit; bytes in the unit that people read."""
    if unit == "B":
        big = next((size for size in (2**30, 2**20, 2**10) if abs(value) >= size), 1)
        value, unit = value / big, {2**30: "GiB", 2**20: "MiB", 2**10: "KiB", 1: "B"}[big]
    return f"{number(value)} {unit}".strip()


def number(value: float) -> str:
    """Four significant digits, with no exponent for the sizes that people read."""
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def interval(measurement: Measurement) -> str:
    if measurement.low is None:
        return "none"
    if measurement.high is None:
        return f"at least {number(measurement.low)}"
    return f"{number(measurement.low)} to {number(measurement.high)}"


def seconds(value: float | None) -> str:
    return "not timed" if value is None else f"{value:.2f} s"


def points(value: Decimal | None) -> str:
    return "not scored" if value is None else f"{value:.2f}"


def possible(parts: Iterable[ScorePart]) -> Decimal:
    return sum((part.possible for part in parts), Decimal("0.00"))


def spread(arm: Arm) -> tuple[str, str, str]:
    """Least, median and greatest sample."""
    if not arm.samples:
        return ("not kept", "not kept", "not kept")
    return (number(min(arm.samples)), number(median(arm.samples)), number(max(arm.samples)))


def bars(arm: Arm) -> str:
    """The samples in the order in which they were taken, from the least (a low bar) to the greatest."""
    if not arm.samples:
        return "no samples kept"
    step = -(-len(arm.samples) // _MAX_BARS)
    shown = [max(arm.samples[index : index + step]) for index in range(0, len(arm.samples), step)]
    low, high = min(arm.samples), max(arm.samples)
    span = (high - low) or 1.0
    return "".join(_BARS[round((sample - low) / span * (len(_BARS) - 1))] for sample in shown)


def plot(measurement: Measurement) -> str:
    """A line of bars for each arm, with its least and greatest sample."""
    width = max((len(arm.name) for arm in measurement.arms), default=0)
    rows = ((arm, spread(arm)) for arm in measurement.arms)
    return "\n".join(f"{arm.name:{width}}  {bars(arm)}  {low} to {high} {arm.unit}" for arm, (low, _, high) in rows)
