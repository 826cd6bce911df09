"""A comparison with the settings it was made under, and the words in which checks and measurements speak of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from verifygate.config.performance import PerformanceSettings
from verifygate.model import Arm, Check, Evidence, EvidenceClass, Measurement, Status
from verifygate.performance.comparison import HALF, RUN_AGAIN, TF32, ArmRecord, Comparison
from verifygate.performance.intervals import Interval

ON_CUDA = "run `verifygate bench record` on a machine with a CUDA device: the record that it writes counts here"
TF32_FLAGS = frozenset({"TF32", "float32 matmul precision"})
"""Settings in which the arm `tf32` differs from the others on purpose."""
QUIETER = "raise `performance.rounds_max`, and measure on a device that nothing else uses"


@dataclass(frozen=True)
class Answer:
    """One check, and the measurements it rests on: the first is the one that it names."""

    check: Check
    measurements: tuple[Measurement, ...] = ()


@dataclass(frozen=True)
class Case:
    """What is to be judged: one arm of a comparison against fp32."""

    comparison: Comparison
    settings: PerformanceSettings
    amp: ArmRecord

    @property
    def fp32(self) -> ArmRecord:
        return self.comparison.base

    @property
    def pair(self) -> tuple[ArmRecord, ArmRecord]:
        return self.fp32, self.amp

    @property
    def rounds(self) -> int:
        """How many rounds count: as many as there were at the last look that both arms came to; 0 where at none."""
        there = min(len(arm.rounds) for arm in self.pair)
        return max((look for look in self.comparison.plan.looks if look <= there), default=0)

    @property
    def looks(self) -> int:
        """At how many numbers of rounds one planned to look; each of them takes its share of the error."""
        return len(self.comparison.plan.looks)

    @property
    def failure(self) -> str:
        """Which of the two arms ended early and why, in one line; empty where both are complete."""
        return "; ".join(f"{arm.name}: {arm.failure}" for arm in self.pair if arm.failure)

    @property
    def remedy(self) -> str:
        """What to do about an obstacle to comparing the arms."""
        failed = [arm.failure for arm in self.pair if arm.failure]
        if failed:
            return failed[0].remedy
        wanted = "let autocast follow `precision`" if self.same_bits else "make the arms equal in all but precision"
        return f"{wanted}, then{RUN_AGAIN}"

    @property
    def device(self) -> str:
        host = self.comparison.host
        return host.device_name if host else "unknown"

    @property
    def only_cpu(self) -> bool:
        """Whether the machine is known to have no accelerator."""
        host = self.comparison.host
        return host is not None and not host.accelerator

    @property
    def obstacle(self) -> str:
        """Why the arms cannot be compared, in one line; empty where they can."""
        fp32, amp = self.fp32, self.amp
        if failure := self.failure:
            return failure
        free = TF32_FLAGS if amp.name == TF32 else frozenset()
        if differing := sorted(
            name for name in fp32.flags if fp32.flags[name] != amp.flags.get(name) and name not in free
        ):
            return f"the arms ran under different settings: {', '.join(differing)}"
        if fp32.samples_per_step != amp.samples_per_step:
            return "the arms take different numbers of samples in a step"
        if fp32.weights_digest != amp.weights_digest:
            return "the arms start from different weights"
        seen = self.digests
        if seen[0] != seen[1]:
            return "the arms saw different data"
        if self.same_bits:
            return f"{amp.name} computed what fp32 did, to the last bit: nothing in the training heeds `precision`"
        return ""

    @property
    def same_bits(self) -> bool:
        """Whether an arm in half precision had the losses and graded scores of fp32, in every step and of every item.

        Scores of nought and one tell nothing: two good models answer alike.
        """
        fp32, amp = (
            [value for each in arm.trainings for value in (*each.losses, *each.scores) if value not in (0, 1)]
            for arm in self.pair
        )
        return self.amp.name in HALF and len(set(fp32)) > 1 and fp32 == amp

    @property
    def digests(self) -> list[tuple[str | None, ...]]:
        """Each arm's digests of its data, after each training and each round that both arms came to."""
        trainings = min(len(arm.trainings) for arm in self.pair)
        rounds = min(len(arm.rounds) for arm in self.pair)
        return [
            (*(each.digest for each in arm.trainings[:trainings]), *(each.digest for each in arm.rounds[:rounds]))
            for arm in self.pair
        ]

    def arms(self, unit: str, pick: Callable[[ArmRecord], Sequence[float]]) -> tuple[Arm, ...]:
        """The samples of each arm that ran to its end. Values that are no numbers are left out: JSON has none."""
        found = []
        for record in self.pair:
            if record.failure is None and self.rounds and (values := pick(record)):
                finite = tuple(value for value in values if math.isfinite(value))
                found.append(Arm(name=record.name, unit=unit, samples=finite, n=len(finite)))
        return tuple(found)

    def judged(self, shape: Measurement, interval: Interval | None, status: Status, reason: str) -> Measurement:
        """`shape` with the interval and what it proves; a reason against comparing makes it NOT MEASURED."""
        if reason or interval is None:
            return shape.model_copy(update={"status": Status.NOT_MEASURED, "reason": reason})
        noisy = "too noisy: the 95 % interval holds the target" if status is Status.NOT_MEASURED else ""
        ends = {"value": interval.value, "low": interval.low, "high": interval.high}
        return shape.model_copy(update={"status": status, "reason": noisy, **ends})

    def answer(
        self, name: str, expected: str, first: Measurement, *others: Measurement, failed: str, noisy: str = QUIETER
    ) -> Answer:
        """The check that follows from a measurement; required exactly where the measurement has a target.

        `failed` says what to do where the target is missed, `noisy` where the interval is too wide to tell.
        """
        measured = first.status in (Status.PASS, Status.FAIL)
        counts = ", ".join(f"{arm.name} {arm.n}" for arm in first.arms)
        evidence = Evidence(
            id=f"E-performance-{name}",
            kind=EvidenceClass.MEASURED,
            summary=f"{first.id} on {first.device}" + (f", samples: {counts}" if counts else ""),
        )
        remedy = ""
        if first.target and first.status is not Status.PASS:
            remedy = failed if first.status is Status.FAIL else self.remedy if self.obstacle else noisy
        check = Check(
            id=f"performance.{name}",
            title=first.title,
            status=first.status,
            required=bool(first.target),
            expected=expected if first.target else "nothing: no target is set",
            actual=first.reason,
            measurement=first.id,
            evidence=(evidence,) if measured else (),
            remedy=remedy,
        )
        return Answer(check, (first, *others))
