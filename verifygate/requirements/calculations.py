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
FEWEST_ROUNDS = 3
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
    by_steps: bool = False
    """Whether steps that took no effect count for nothing."""


def speedups(fp32: Arm, amp: Arm, effective: Effective) -> Iterator[float]:
    """FP32 / AMP: of the rounds' times per effective step; of the whole arms, where the rounds are not known."""
    if BASELINE not in effective:
        yield from _whole(fp32, amp)
        return
    base, other = _by_round(fp32, effective), _by_round(amp, effective)
    yield from _of_pairs(base, other)


def savings(fp32: Arm, amp: Arm, _: Effective) -> Iterator[float]:
    """1 - AMP / FP32: of the rounds' peaks, or of the whole arms'."""
    base, other = fp32.samples or (), amp.samples or ()
    ways = (*_of_pairs(base, other), *_whole(fp32, amp))
    return (1 - 1 / ratio for ratio in ways)


def differences(fp32: Arm, amp: Arm, _: Effective) -> Iterator[float]:
    """AMP - FP32, of the whole arms; and without the sign."""
    base, other = fp32.samples or (), amp.samples or ()
    for summary in (fmean, median):
        difference = summary(other) - summary(base)
        yield difference
        yield abs(difference)


def _whole(fp32: Arm, amp: Arm) -> Iterator[float]:
    base, other = fp32.samples or (), amp.samples or ()
    for summary in (fmean, median, max):
        yield summary(base) / summary(other)
    yield from _of_pairs(base, other)


def _of_pairs(base: Sequence[float], other: Sequence[float]) -> Iterator[float]:
    """The geometric mean of the pairs' ratios; of the first ones too: a run that was cut short counts to its last look.

    And their mean and median, which other honest summaries give.
    """
    pairs = [one / two for one, two in zip(base, other, strict=False)]
    if len(base) == len(other) and pairs:
        yield math.exp(fmean(map(math.log, pairs)))
        yield fmean(pairs)
        yield median(pairs)
    for size in range(FEWEST_ROUNDS, len(pairs)):
        yield math.exp(fmean(map(math.log, pairs[:size])))


FORMULAS = (
    Formula(
        ("speedup", "speedup-on-cpu"),
        "Speedup",
        "FP32 step time / AMP step time",
        speedups,
        positive=True,
        by_steps=True,
    ),
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
    status, reason, again = _judged(formula, measurement, _effective(taken))
    counted = [f"{arm.n} of {arm.name} in {arm.unit}" for arm in measurement.arms]
    return Calculation(
        title=measurement.title or formula.title,
        formula=formula.text,
        inputs=f"samples: {', '.join(counted)}" if counted else "none",
        expected=f"the reported value follows from its samples; target: {measurement.target or 'none, reported only'}",
        measurement=measurement.id,
        recomputed=again,
        status=status,
        reason=reason,
    )


def _judged(formula: Formula, measurement: Measurement, effective: Effective) -> tuple[Status, str, float | None]:
    """Status, why it is not PASS, and the value that the samples give: the nearest to the reported one."""
    if problem := _not_finite(measurement):
        return Status.FAIL, problem, None
    value, arms = measurement.value, _arms(measurement.arms)
    if value is None:
        return Status.NOT_MEASURED, measurement.reason or "no value was reported", None
    if arms is None:
        only = f"no raw samples of an {BASELINE} arm and one AMP arm: the value is only declared"
        return Status.NOT_MEASURED, only, None
    for arm in arms:
        if arm.n != len(arm.samples or ()):
            return Status.FAIL, f"{arm.name} does not hold as many samples as it says", None
        if formula.positive and min(arm.samples or (0,)) <= 0:
            return Status.NOT_MEASURED, f"a sample of {arm.name} is 0 or below: the device did not count", None
    again = min(formula.estimates(*arms, effective), key=lambda estimate: abs(estimate - value), default=None)
    if again is None or not math.isclose(value, again, rel_tol=TOLERANCE, abs_tol=1e-12):
        if formula.by_steps and BASELINE in effective and arms[1].name not in effective:
            untold = f"the report does not say how many steps of {arms[1].name} took effect"
            return Status.NOT_MEASURED, untold, again
        return Status.FAIL, "the reported value does not follow from its samples", again
    if measurement.status is Status.PASS and not meets(measurement.target, value):
        return Status.FAIL, f"the status says PASS, and the value misses the target {measurement.target}", again
    return Status.PASS, "", again


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
    """Each round's median, divided by the share of its steps that took effect: of all, where nobody counted them.

    Empty where the samples do not fall into as many rounds as FP32 had.
    """
    samples, rounds = arm.samples or (), len(effective[BASELINE])
    size, rest = divmod(len(samples), rounds) if rounds else (0, 0)
    taken = effective.get(arm.name, (size,) * rounds)
    if rest or not size or len(taken) != rounds or min(taken) <= 0:
        return []
    return [median(samples[at * size : (at + 1) * size]) * size / steps for at, steps in enumerate(taken)]


def _effective(taken: Iterable[Measurement]) -> Effective:
    """How many steps of each arm took effect, round by round, where a measurement tells."""
    told = (item for item in taken if item.id.partition(".")[0] == EFFECTIVE)
    return {arm.name: arm.samples for item in told for arm in item.arms if arm.samples}


def meets(target: str, value: float) -> bool:
    """Whether the value meets `>= 1.5` or `within +-0.01`; a target in other words is left to the stage that set it."""
    found = _TARGET.match(target)
    return found is None or _HOLDS[found[1]](value, float(found[2]))
