"""Is this revision slower than another one? Both are measured in turns, in the same run, on the same device."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import NamedTuple

from verifygate.config.performance import PerformanceSettings
from verifygate.config.settings import Settings
from verifygate.model import Arm, Check, Measurement, Outcome, StageResult, Status
from verifygate.performance.attestation.closure import imported_files
from verifygate.performance.attestation.making import silent
from verifygate.performance.case import QUIETER, Answer
from verifygate.performance.comparison import BASE, ArmRecord, Comparison, Failure, Trouble
from verifygate.performance.intervals import at_least, ratio
from verifygate.performance.measuring import Run, best_precision, planned
from verifygate.performance.process import started
from verifygate.performance.reported import environment
from verifygate.process.subject import Subject
from verifygate.sources.revision_tree import tree_of

METHOD = (
    "each round: {what} of the earlier revision over this one's, both timed in turns; then the geometric mean of the "
    "rounds, with Student's t on their logarithms"
)


@dataclass(frozen=True)
class Pair:
    """One precision, at the earlier revision and here."""

    before: ArmRecord
    after: ArmRecord

    @property
    def name(self) -> str:
        return self.after.name

    @property
    def obstacle(self) -> str:
        """Why the two cannot be compared, in one line; empty where they can."""
        for which, arm in (("the earlier revision", self.before), ("this revision", self.after)):
            if arm.failure:
                return f"{which}: {arm.failure}"
        flags = {*self.before.flags, *self.after.flags}
        if differing := sorted(name for name in flags if self.before.flags.get(name) != self.after.flags.get(name)):
            return f"the revisions ran under different settings: {', '.join(differing)}"
        if self.before.samples_per_step != self.after.samples_per_step:
            return "the revisions take different numbers of samples in a step"
        return ""

    @property
    def vanished(self) -> list[str]:
        """What the earlier revision lets one measure and this one does not."""
        offers: dict[str, Callable[[ArmRecord], bool]] = {
            "scores": lambda arm: any(training.scores for training in arm.trainings),
            "losses": lambda arm: any(training.losses for training in arm.trainings),
            "loss scale": lambda arm: any(training.scales for training in arm.trainings),
            "data digest": lambda arm: any(block.digest is not None for block in arm.rounds),
            "parameter bytes": lambda arm: arm.parameter_bytes is not None,
            "peak memory": lambda arm: bool(arm.peak_bytes),
        }
        if self.before.failure or self.after.failure:
            return []
        return [
            f"{name} ({self.name})" for name, offered in offers.items() if offered(self.before) > offered(self.after)
        ]


@dataclass(frozen=True)
class Regression:
    """What was measured of two revisions."""

    commit: str
    comparison: Comparison
    """Its arms are the pairs' one after the other: before, after, before, after."""

    @property
    def pairs(self) -> list[Pair]:
        arms = self.comparison.arms
        return [Pair(before, after) for before, after in zip(arms[::2], arms[1::2], strict=True)]


def measured_against(
    subject: Subject, settings: Settings, commit: str, progress: Callable[[str], None] = silent
) -> Regression:
    """Measure the working tree against a commit: FP32 and AMP of both, in turns. Never raises for what a workload does.

    Raises UsageError where git cannot give out the commit.
    """
    performance = settings.performance
    plan = planned(performance)
    plan = replace(plan, seeds=plan.seeds[:1])
    with tree_of(settings.root, commit) as root, ExitStack() as stack:
        earlier = subject.copied(root)
        name = performance.precision or "bf16"
        records = [ArmRecord(name), ArmRecord(name), ArmRecord(BASE), ArmRecord(BASE)]
        before, after = records[::2], records[1::2]
        regression = Regression(commit, Comparison(plan, tuple(records)))
        progress("starting the arms of both revisions")
        processes = [
            *stack.enter_context(started(earlier, before, performance.seconds, plan.processes)),
            *stack.enter_context(started(subject, after, performance.seconds, plan.processes)),
        ]
        arms = [processes[number] for number in (0, 2, 1, 3)]  # in the order of the records
        greeted = [arm.greet() for arm in arms]  # each of them, whatever the first says
        if all(greeted):
            for record in records[:2]:
                record.name = performance.precision or best_precision(arms[0].host)
            undecided = lambda _so_far: any(  # noqa: E731
                answer.check.status is Status.NOT_MEASURED and not pair.obstacle
                for pair in regression.pairs
                for answer in _answers(pair, regression, performance)
            )
            Run(arms, regression.comparison, performance.seconds, progress, undecided).follow()
        refuse_other_trees(before, imported_files(root, plan.module), plan.workload)
    return regression


def told(regression: Regression, settings: PerformanceSettings) -> StageResult:
    """What the measurement of two revisions says, as checks and measurements."""
    answers = [answer for pair in regression.pairs for answer in _answers(pair, regression, settings)]
    return StageResult(
        stage="performance",
        outcome=Outcome.COMPLETED,
        checks=(
            *(answer.check for answer in answers),
            vanished([each for pair in regression.pairs for each in pair.vanished]),
        ),
        measurements=tuple(each for answer in answers for each in answer.measurements),
        environment=environment(regression.comparison),
    )


def vanished(names: list[str]) -> Check:
    """What could be measured once and cannot be any more: nobody would miss it in a report."""
    return Check(
        id="performance.vanished",
        title="Everything that could be measured still can",
        status=Status.FAIL if names else Status.PASS,
        expected="no metric is gone",
        actual=f"gone: {', '.join(names)}" if names else "",
        remedy="let the workload offer it again" if names else "",
    )


def _answers(pair: Pair, regression: Regression, settings: PerformanceSettings) -> Iterator[Answer]:
    """Whether a step takes longer, and whether it needs more memory."""
    rounds = _rounds(pair, regression.comparison)
    times = [[block.effective_step_seconds for block in arm.rounds[:rounds]] for arm in (pair.before, pair.after)]
    yield _answer(_SPEED, pair, regression, settings, times)
    if pair.before.peak_bytes and pair.after.peak_bytes:
        peaks = [list(arm.peak_bytes[:rounds]) for arm in (pair.before, pair.after)]
        yield _answer(_MEMORY, pair, regression, settings, peaks)


class _Quantity(NamedTuple):
    """What is compared between two revisions."""

    metric: str
    title: str
    text: str
    unit: str


_SPEED = _Quantity("speed", "Speed", "the step time", "s")
_MEMORY = _Quantity("memory", "Peak memory", "the peak memory", "B")


def _answer(
    quantity: _Quantity,
    pair: Pair,
    regression: Regression,
    settings: PerformanceSettings,
    figures: list[list[float]],
) -> Answer:
    """One figure of two revisions: how many times as large it was before."""
    least = 1 / (1 + settings.slowdown)
    host = regression.comparison.host
    looks = len(regression.comparison.plan.looks)
    interval = ratio(*figures, looks=looks) if not pair.obstacle else None
    reason = pair.obstacle or ("" if interval else f"{quantity.text} is no positive number")
    status = at_least(interval, least) if interval else Status.NOT_MEASURED
    if interval and status is Status.NOT_MEASURED:
        reason = "too noisy: the 95 % interval holds the limit"
    broke = pair.after.failure is not None and pair.before.failure is None
    if broke and pair.after.failure.trouble is not Trouble.TIMEOUT:  # type: ignore[union-attr]
        status = Status.FAIL
    measured = Measurement(
        id=f"{quantity.metric}-against.{pair.name}",
        title=f"{quantity.title} of {pair.name}: earlier revision over this one",
        metric=f"{quantity.metric}-against",
        unit="x",
        device=host.device_name if host else "unknown",
        status=status,
        target=f">= {least:.3g}",
        value=interval.value if interval else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        arms=tuple(
            Arm(name=name, unit=quantity.unit, samples=tuple(found), n=len(found))
            for name, values in zip((f"{pair.name} before", f"{pair.name} now"), figures, strict=True)
            if (found := [value for value in values if math.isfinite(value)])
        ),
        method=METHOD.format(what=quantity.text),
        reason=reason,
    )
    remedy = QUIETER if interval else "make both revisions run to their end under the same settings"
    check = Check(
        id=f"performance.{quantity.metric}-against.{pair.name}",
        title=measured.title,
        status=status,
        expected=f"at least {least:.3g}, over the whole 95 % interval: no more than {settings.slowdown:.0%} worse",
        actual=reason,
        measurement=measured.id,
        remedy={Status.PASS: "", Status.FAIL: "find what this revision does more of"}.get(status, remedy),
    )
    return Answer(check, (measured,))


def _rounds(pair: Pair, comparison: Comparison) -> int:
    """How many rounds count: as many as there were at the last look that both came to."""
    there = min(len(pair.before.rounds), len(pair.after.rounds))
    return max((look for look in comparison.plan.looks if look <= there), default=0)


def refuse_other_trees(records: list[ArmRecord], wanted: tuple[str, ...], workload: str) -> None:
    """Fail the arms that imported the workload from elsewhere than from their own tree."""
    name = workload.partition(":")[0].replace(".", "/")
    own = [file for file in wanted if file.endswith((f"{name}.py", f"{name}/__init__.py"))]
    for record in records:
        if record.failure is None and not set(own or record.files) & set(record.files):
            text = (
                "its workload came from another tree: a project that is installed cannot be measured at two revisions"
            )
            record.failure = Failure(Trouble.CONTRACT, text, "build")
