"""Calculations: what the performance stage summed up, worked out once more from the raw samples beside it.

A calculation answers one thing: does the printed number follow from its samples, and its status from the number? It
does not ask whether the target was met; the requirement that names the target does. A summary without samples is a
declaration, and declarations prove nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from verifygate.model import Arm, Calculation, Measurement, Outcome, Status
from verifygate.requirements.facts import Facts, Missing

BASELINE = "fp32"
TOLERANCE = 1e-6
"""Relative: far above the error of summing in another order, far below anything worth rounding away."""
EFFECTIVE = "effective-steps"
"""Head of the measurement that holds, for each round, how many steps moved the parameters."""
Effective = Mapping[str, Sequence[float]]
"""Name of an arm -> its effective steps, round by round."""


@dataclass(frozen=True)
class Formula:
    """How a metric follows from the samples of the FP32 arm and of the AMP arm."""

    heads: tuple[str, ...]
    """What the ids of its measurements begin with, up to the first `.`."""
    title: str
    text: str
    estimates: Callable[[Arm, Arm, Effective], Iterator[float]]
    """Every value that an honest summary of the samples may have."""
    positive: bool
    """Whether a sample of 0 or below means that nothing was counted, rather than a result."""


def ratios(fp32: Arm, amp: Arm, effective: Effective) -> Iterator[float]:
    """FP32 / AMP: of the whole arms, of the pairs of equal rank, and of the rounds' times per effective step."""
    base, other = fp32.samples or (), amp.samples or ()
    for summary in (fmean, median, max):
        yield summary(base) / summary(other)
    for left, right in ((base, other), (_by_round(fp32, effective), _by_round(amp, effective))):
        if left and len(left) == len(right):
            pairs = [one / two for one, two in zip(left, right, strict=True)]
            yield fmean(pairs)
            yield median(pairs)
            yield math.exp(fmean(map(math.log, pairs)))


def savings(fp32: Arm, amp: Arm, effective: Effective) -> Iterator[float]:
    """1 - AMP / FP32."""
    return (1 - 1 / ratio for ratio in ratios(fp32, amp, effective))


def differences(fp32: Arm, amp: Arm, _: Effective) -> Iterator[float]:
    """AMP - FP32, of the whole arms; and without the sign."""
    base, other = fp32.samples or (), amp.samples or ()
    for summary in (fmean, median):
        difference = summary(other) - summary(base)
        yield difference
        yield abs(difference)


FORMULAS = (
    Formula(("speedup", "speedup-on-cpu"), "Speedup", "FP32 step time / AMP step time", ratios, positive=True),
    Formula(("memory-reduction",), "Memory reduction", "1 - AMP peak / FP32 peak", savings, positive=True),
    Formula(
        ("accuracy", "accuracy-difference"),
        "Accuracy difference",
        "AMP accuracy - FP32 accuracy",
        differences,
        positive=False,
    ),
)
_TARGET = re.compile(r"^(>=|<=|within \+-) ?([0-9.]+(?:e-?[0-9]+)?)$")
_HOLDS: dict[str, Callable[[float, float], bool]] = {
    ">=": lambda value, bound: value >= bound,
    "<=": lambda value, bound: value <= bound,
    "within +-": lambda value, bound: abs(value) <= bound,
}


def calculations(facts: Facts) -> tuple[Calculation, ...]:
    """Every formula applied to every measurement of its kind; a formula with nothing to apply to says so."""
    stage = facts.stage("performance")
    taken = () if isinstance(stage, Missing) else stage.measurements
    why = stage if isinstance(stage, Missing) else Missing("no such measurement", "name a workload in [performance]")
    result = facts.results.get("performance")
    wanted = result is None or result.outcome is not Outcome.NOT_APPLICABLE
    absent = Status.NOT_MEASURED if wanted else Status.NOT_APPLICABLE  # a project without a workload promised nothing
    return tuple(line for formula in FORMULAS for line in _lines(formula, taken, why, absent))


def of_measurement(measurement: Measurement, taken: Sequence[Measurement]) -> Calculation | None:
    """The calculation behind a measurement, where one of the formulas yields it."""
    formula = next((formula for formula in FORMULAS if _yields(formula, measurement)), None)
    return _recomputed(formula, measurement, taken) if formula else None


def _lines(formula: Formula, taken: Sequence[Measurement], why: Missing, absent: Status) -> Iterator[Calculation]:
    found = [measurement for measurement in taken if _yields(formula, measurement)]
    yield from (_recomputed(formula, measurement, taken) for measurement in found)
    if not found:
        yield Calculation(
            title=formula.title,
            formula=formula.text,
            inputs="none",
            expected="a measurement with its raw samples",
            status=absent,
            reason=f"{why.reason}; {why.remedy}",
        )


def _yields(formula: Formula, measurement: Measurement) -> bool:
    return measurement.id.partition(".")[0] in formula.heads


def _recomputed(formula: Formula, measurement: Measurement, taken: Sequence[Measurement]) -> Calculation:
    status, reason = _judged(formula, measurement, _effective(measurement, taken))
    counted = [f"{arm.n} of {arm.name} in {arm.unit}" for arm in measurement.arms]
    return Calculation(
        title=measurement.title or formula.title,
        formula=formula.text,
        inputs=f"samples: {', '.join(counted)}" if counted else "none",
        expected=f"the reported value follows from its samples; target: {measurement.target or 'none, reported only'}",
        measurement=measurement.id,
        status=status,
        reason=reason,
    )


def _judged(formula: Formula, measurement: Measurement, effective: Effective) -> tuple[Status, str]:
    if problem := _not_finite(measurement):
        return Status.FAIL, problem
    value, arms = measurement.value, _arms(measurement.arms)
    if value is None:
        return Status.NOT_MEASURED, measurement.reason or "no value was reported"
    if arms is None:
        return Status.NOT_MEASURED, f"no raw samples of an {BASELINE} arm and one AMP arm: the value is only declared"
    for arm in arms:
        if arm.n != len(arm.samples or ()):
            return Status.FAIL, f"{arm.name} does not hold as many samples as it says"
        if formula.positive and min(arm.samples or (0,)) <= 0:
            return Status.NOT_MEASURED, f"a sample of {arm.name} is 0 or below: the device did not count"
    again = formula.estimates(*arms, effective)
    if not any(math.isclose(value, estimate, rel_tol=TOLERANCE, abs_tol=1e-12) for estimate in again):
        return Status.FAIL, "the reported value does not follow from its samples"
    if measurement.status is Status.PASS and not meets(measurement.target, value):
        return Status.FAIL, f"the status says PASS, and the value misses the target {measurement.target}"
    return Status.PASS, ""


def _arms(arms: Sequence[Arm]) -> tuple[Arm, Arm] | None:
    """The FP32 arm and the other, where there are exactly these two and both kept their samples."""
    fp32 = [arm for arm in arms if arm.name == BASELINE and arm.samples]
    amp = [arm for arm in arms if arm.name != BASELINE and arm.samples]
    return (fp32[0], amp[0]) if len(fp32) == len(amp) == 1 else None


def _not_finite(measurement: Measurement) -> str:
    """What is NaN or infinite, looked for first: no comparison with such a number means anything."""
    if measurement.value is not None and not math.isfinite(measurement.value):
        return "the reported value is not a finite number"
    bad = [arm.name for arm in measurement.arms if not all(map(math.isfinite, arm.samples or ()))]
    return f"a sample of {', '.join(bad)} is not a finite number" if bad else ""


def _by_round(arm: Arm, effective: Effective) -> list[float]:
    """Each round's median, divided by the share of its steps that took effect; empty where the rounds are not known."""
    taken, samples = effective.get(arm.name, ()), arm.samples or ()
    size, rest = divmod(len(samples), len(taken)) if taken else (0, 0)
    if rest or not size or min(taken, default=0) <= 0:
        return []
    return [median(samples[at * size : (at + 1) * size]) * size / steps for at, steps in enumerate(taken)]


def _effective(measurement: Measurement, taken: Iterable[Measurement]) -> Effective:
    """The effective steps of the arms that a measurement such as `speedup.bf16` compares."""
    wanted = f"{EFFECTIVE}.{measurement.id.partition('.')[2]}"
    return {arm.name: arm.samples or () for item in taken if item.id == wanted for arm in item.arms}


def meets(target: str, value: float) -> bool:
    """Whether the value meets `>= 1.5` or `within +-0.01`; a target in other words is left to the stage that set it."""
    found = _TARGET.match(target)
    return found is None or _HOLDS[found[1]](value, float(found[2]))
