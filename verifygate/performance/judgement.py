"""What the measured arms prove about each target: one pure function per check, from a case to its answer."""

from __future__ import annotations

import math
from collections.abc import Iterator

from verifygate.config.performance import PerformanceSettings, Targets
from verifygate.model import Check, Measurement, Status
from verifygate.performance.case import ON_CUDA, Answer, Case
from verifygate.performance.comparison import ArmRecord, Comparison, Trouble
from verifygate.performance.intervals import (
    MIN_GRADED_ITEMS,
    Interval,
    at_least,
    ratio,
    too_coarse,
    within,
)
from verifygate.performance.parity import Parity, parity

NO_ACCELERATOR = "there is no accelerator"
LEAST_EFFECTIVE = 0.95
"""A gradient scaler tries a larger scale once in some thousand steps and may skip that step; an arm that skips more
than one step in twenty is fast because it does less."""


def judge(comparison: Comparison, settings: PerformanceSettings) -> list[Answer]:
    """All checks of the stage, in the order of the report."""
    case = Case(comparison, settings, comparison.judged)
    return [speedup(case), memory_reduction(case), accuracy(case), same_data(case), effective_steps(case)]


def beside(comparison: Comparison, settings: PerformanceSettings) -> Iterator[Measurement]:
    """What the arms without a target gain and cost against fp32: figures, no checks."""
    free = settings.model_copy(update={"targets": Targets()})
    for arm in comparison.arms[2:]:
        case = Case(comparison, free, arm)
        for answer in (speedup(case), memory_reduction(case), accuracy(case)):
            yield from answer.measurements


def undecided(comparison: Comparison, settings: PerformanceSettings) -> bool:
    """Whether a target of speed or memory might still be decided by more rounds."""
    case = Case(comparison, settings, comparison.judged)
    if case.obstacle or case.only_cpu:
        return False
    checks = [speedup(case).check, memory_reduction(case).check]
    return any(check.required and check.status is Status.NOT_MEASURED for check in checks)


def speedup(case: Case) -> Answer:
    """FP32 step time over AMP step time. The target is judged on an accelerator; a CPU's ratio is only reported."""
    target, amp = case.settings.targets.speedup, case.amp.name
    interval = None
    if all(math.isfinite(seconds) for arm in case.pair for seconds in arm.step_seconds):
        fp32, half = ([block.effective_step_seconds for block in arm.rounds[: case.rounds]] for arm in case.pair)
        interval = ratio(fp32, half, looks=case.looks)
    reason = case.obstacle or ("" if interval else "a step time is no positive number, or no timed step took effect")
    if not reason and any(too_coarse(arm.step_seconds) for arm in case.pair):
        reason = "the clock is too coarse for steps this short: let a step of the workload do more work"
    measured = Measurement(
        id=f"speedup.{amp}",
        title=f"Speed-up of {amp} over fp32",
        metric="speedup",
        unit="x",
        device=case.device,
        status=Status.NOT_MEASURED,
        target=f">= {target:g}" if target else "",
        arms=case.arms("s", lambda arm: arm.step_seconds),
        method="each round: the median step time of an arm, divided by the share of its steps that moved the "
        f"parameters, fp32 over {amp}; then the geometric mean of the rounds, with Student's t on their logarithms",
    )
    others: tuple[Measurement, ...] = ()
    if case.only_cpu:
        on_cpu = {"id": f"speedup-on-cpu.{amp}", "title": f"{measured.title} on the CPU", "target": ""}
        others = (case.judged(measured.model_copy(update=on_cpu), interval, Status.NOT_APPLICABLE, reason),)
        update = {"device": "accelerator", "arms": (), "reason": case.obstacle or NO_ACCELERATOR}
        first = measured.model_copy(update=update)
    else:
        status = at_least(interval, target) if interval and target else Status.NOT_APPLICABLE
        first = case.judged(measured, interval, status, reason)
    return case.answer(
        "speedup",
        f"at least {target:g}, over the whole 95 % interval, on an accelerator" if target else "",
        first,
        *others,
        failed="find what hides the gain: small matrices, waiting for data, host syncs in the loop",
        **({"noisy": ON_CUDA} if case.only_cpu else {}),
    )


def memory_reduction(case: Case) -> Answer:
    """Share of FP32's peak memory that AMP saves, as the accelerator's own allocator counts it."""
    target, amp = case.settings.targets.memory_reduction, case.amp.name
    needed, full = case.amp.peak_bytes[: case.rounds], case.fp32.peak_bytes[: case.rounds]
    rounds = ratio(needed, full, looks=case.looks)
    saved = Interval(1 - rounds.value, 1 - rounds.high, 1 - rounds.low) if rounds else None
    measured = Measurement(
        id=f"memory-reduction.{amp}",
        title=f"Share of fp32's peak memory that {amp} saves",
        metric="memory-reduction",
        unit="share",
        device="accelerator" if case.only_cpu else case.device,
        status=Status.NOT_MEASURED,
        target=f">= {target:g}" if target else "",
        arms=case.arms("B", lambda arm: arm.peak_bytes),
        method="each round: peak allocated bytes above what was allocated before the workload was built; one minus "
        f"{amp} over fp32, with Student's t on the logarithms of the rounds",
    )
    if case.only_cpu:
        no_count = f"{NO_ACCELERATOR}, and a CPU process's resident memory is not comparable"
        first = measured.model_copy(update={"reason": case.obstacle or no_count})
    elif floor := least_reduction(case.fp32, case.amp):
        proved = target is not None and floor >= target
        reason = f"fp32 does not fit on the device, so this is a floor: {case.fp32.failure}"
        update = {"low": floor, "reason": reason, "status": Status.PASS if proved else Status.NOT_MEASURED}
        first = measured.model_copy(update=update)
    else:
        status = at_least(saved, target) if saved and target else Status.NOT_APPLICABLE
        reason = case.obstacle or ("" if saved else "the device counts no peak memory")
        first = case.judged(measured, saved, status, reason)
    return case.answer(
        "memory-reduction",
        f"at least {target:g}, over the whole 95 % interval, on an accelerator" if target else "",
        first,
        failed="look for what autocast cannot shrink: parameters, gradients and optimizer state stay FP32",
        **({"noisy": ON_CUDA} if case.only_cpu else {}),
    )


def least_reduction(fp32: ArmRecord, amp: ArmRecord) -> float | None:
    """What AMP saves at the least where FP32 does not fit at all: FP32 needs more than it had when it ran out."""
    failure = fp32.failure
    if failure is None or failure.trouble is not Trouble.MEMORY or not failure.peak_bytes:
        return None
    if amp.failure is not None or not amp.peak_bytes:
        return None
    return 1 - max(amp.peak_bytes) / failure.peak_bytes


def accuracy(case: Case) -> Answer:
    """Mean score after equal training, item by item and seed by seed; judged on any device."""
    target = case.settings.targets.accuracy_difference
    seeds = min(len(arm.trainings) for arm in case.pair)
    fp32, amp = ([training.scores for training in arm.trainings[:seeds]] for arm in case.pair)
    found = parity(fp32, amp)
    measured = Measurement(
        id=f"accuracy-difference.{case.amp.name}",
        title=f"Mean score of {case.amp.name} minus fp32",
        metric="accuracy-difference",
        unit="score",
        device=case.device,
        status=Status.NOT_MEASURED,
        target=f"within +-{target:g}" if target else "",
        arms=case.arms("score", lambda arm: [score for training in arm.trainings for score in training.scores]),
        method="mean of the paired differences over the same items and seeds; Student's t on the seeds' differences "
        "and the interval of the items' differences (of yes-or-no scores: Agresti and Min's), added as independent",
    )
    expected = f"the whole 95 % interval of the difference lies within {target:g} of zero" if target else ""
    failed = (
        "look for what AMP changes in the training: findings of the static stage, skipped steps, half-precision sums"
    )
    if target and not case.obstacle and broken_by_amp(case):
        reason = f"{case.amp.name} gives scores that are no finite numbers, and fp32 does not"
        first = measured.model_copy(update={"status": Status.FAIL, "reason": reason})
        return case.answer("accuracy", expected, first, failed=failed)
    if found is None or case.obstacle:
        first = case.judged(measured, None, Status.NOT_MEASURED, case.obstacle or unscored(case))
        noisy = f"evaluate at least {MIN_GRADED_ITEMS} items, and let every score be a finite number"
        return case.answer("accuracy", expected, first, failed=failed, noisy=noisy)
    status = within(found.interval, target) if target else Status.NOT_APPLICABLE
    if target and found.seeds < 2:
        status = Status.NOT_MEASURED
    first = case.judged(measured, found.interval, status, "")
    if status is Status.NOT_MEASURED and found.seeds < 2:
        one = "one seed cannot tell a cost of AMP from the luck of a seed; the interval is about these two trainings"
        first = first.model_copy(update={"reason": one})
        return case.answer("accuracy", expected, first, failed=failed, noisy="set `performance.seeds` to three or more")
    if not target or status is not Status.NOT_MEASURED:
        return case.answer("accuracy", expected, first, *spread(case, found), failed=failed)
    more = list(enough(case, found, target))
    noisy = f"more items, more seeds or both: {' and '.join(each.id for each in more)} say about how many would decide"
    return case.answer("accuracy", expected, first, *spread(case, found), *more, failed=failed, noisy=noisy)


def spread(case: Case, found: Parity) -> Iterator[Measurement]:
    """How far another seed moves fp32 itself: what a difference between the arms has to be compared with."""
    if found.seed_spread is not None:
        yield Measurement(
            id="accuracy-seed-spread.fp32",
            title="Standard deviation of fp32's mean score from seed to seed",
            metric="accuracy-seed-spread",
            unit="score",
            device=case.device,
            status=Status.NOT_APPLICABLE,
            value=found.seed_spread,
            method=f"of the mean scores of {found.seeds} trainings that differ in nothing but the seed",
        )


def enough(case: Case, found: Parity, target: float) -> Iterator[Measurement]:
    """How many items and how many seeds would settle the question: the remedy of a test that is too small."""
    for unit, value in (("items", found.items_needed(target)), ("seeds", found.seeds_needed(target))):
        yield Measurement(
            id=f"accuracy-{unit}-needed.{case.amp.name}",
            title=f"{unit.capitalize()} that would decide the accuracy difference, about",
            metric=f"accuracy-{unit}-needed",
            unit=unit,
            device=case.device,
            status=Status.NOT_APPLICABLE,
            value=value,
            method="so many that items and seeds each leave half of the room between the value and the target",
        )


def broken_by_amp(case: Case) -> bool:
    """Whether AMP alone ended in scores that are no numbers."""
    fp32, amp = ([score for training in arm.trainings for score in training.scores] for arm in case.pair)
    return all(map(math.isfinite, fp32)) and not all(map(math.isfinite, amp))


def unscored(case: Case) -> str:
    """Why two arms' scores cannot be compared."""
    for arm in case.pair:
        if not all(math.isfinite(score) for training in arm.trainings for score in training.scores):
            return f"a score of {arm.name} is no finite number"
    if len({len(training.scores) for arm in case.pair for training in arm.trainings}) > 1:
        return "not every training was evaluated on the same number of items"
    return f"fewer than {MIN_GRADED_ITEMS} graded items show no spread to judge by"


def same_data(case: Case) -> Answer:
    """Whether both arms trained on the same data, by the workload's own digest; not required where it keeps none."""
    fp32, amp = case.digests
    offered = any(digest is not None for digest in (*fp32, *amp))
    if fp32 != amp:
        status, actual = Status.FAIL, "the digests differ"
        remedy = "let `seed` alone decide which data a workload draws, and in which order"
    elif case.failure:
        status, actual, remedy = Status.NOT_MEASURED, case.failure, case.remedy
    elif not offered:
        status, actual = Status.NOT_MEASURED, "the workload has no data_digest()"
        remedy = "give the workload `data_digest() -> str`, a digest of the data it has trained on so far"
    else:
        status, actual, remedy = Status.PASS, "equal after the training and after every round", ""
    check = Check(
        id="performance.same-data",
        title="Both arms saw the same data",
        status=status,
        required=offered,
        expected="equal digests of the data in both arms",
        actual=actual,
        remedy=remedy,
    )
    return Answer(check)


def effective_steps(case: Case) -> Answer:
    """Whether both arms ran to their end, and AMP's timed steps moved the parameters as often as FP32's did."""
    name, amp = "effective-steps", case.amp.name
    done = [sum(block.effective for block in arm.rounds) for arm in case.pair]
    share = done[1] / done[0] if done[0] else None
    measured = Measurement(
        id=f"{name}.{amp}",
        title=f"Timed steps of {amp} that moved the parameters, against fp32",
        metric=name,
        unit="share",
        device=case.device,
        status=Status.NOT_MEASURED,
        target=f">= {LEAST_EFFECTIVE:g}",
        arms=case.arms("steps", lambda arm: [float(block.effective) for block in arm.rounds]),
        method=f"optimizer steps of each round that took effect, as the workload counts them; {amp} over fp32",
    )
    if failure := case.failure:
        broke = any(arm.failure and arm.failure.broke_in_training for arm in case.pair)
        update: dict[str, object] = {"status": Status.FAIL if broke else Status.NOT_MEASURED, "reason": failure}
    elif share is None:
        update = {"reason": "no timed step of fp32 moved the parameters"}
    elif share < LEAST_EFFECTIVE:
        less = f"{amp} did less work: its scaler skipped steps, and a skipped step trains nothing"
        update = {"status": Status.FAIL, "value": share, "reason": less}
    else:
        update = {"status": Status.PASS, "value": share}
    return case.answer(
        name,
        f"at least {LEAST_EFFECTIVE:.0%} of the steps that fp32 takes, and both arms run to their end",
        measured.model_copy(update=update),
        failed=case.remedy if case.failure else "find what overflows in half precision, or why the scale is stuck",
        noisy="let `effective_steps` count the optimizer steps that moved the parameters",
    )
