"""Measure the arms of a comparison: all alive side by side, trained, evaluated, then timed in turns."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from verifygate.config.performance import PerformanceSettings
from verifygate.performance.comparison import (
    BASE,
    HALF,
    SPARE_ROUNDS,
    TF32,
    ArmRecord,
    Comparison,
    Failure,
    Host,
    Plan,
    Round,
    Training,
    Trouble,
)
from verifygate.performance.process import ArmProcess, started
from verifygate.process.subject import Subject

CLOCK_SLACK_SECONDS = 0.5
"""What the gate's clock may show on top of an arm's own: waking up, and the way to and fro."""
RESERVE = 1.2
"""An estimate of what is still to do is taken so many times, so that it does not run into the time limit."""
Undecided = Callable[[Comparison], bool]
Kept = Callable[[Comparison], None]


def dropped(_comparison: Comparison) -> None:
    """Keep nothing of a comparison that is not over."""


def planned(settings: PerformanceSettings) -> Plan:
    """What is going to be measured; further seeds only where a target is about accuracy."""
    kind, text = settings.measured
    return Plan(
        kind=kind,
        workload=text,
        steps=settings.steps,
        warmup=settings.warmup,
        train_steps=settings.train_steps,
        seeds=settings.seeds if settings.targets.accuracy_difference else settings.seeds[:1],
        rounds=settings.rounds,
        rounds_max=max(settings.rounds, settings.rounds_max),
        processes=settings.cluster.processes,
        evaluations=settings.evaluations if kind == "build" else 1,
    )


def compare(
    subject: Subject,
    settings: PerformanceSettings,
    progress: Callable[[str], None],
    undecided: Undecided,
    kept: Kept = dropped,
) -> Comparison:
    """Run FP32 against AMP on the device that is there. Never raises for what the workload does.

    `undecided` says at each look, from what there is by then, whether more rounds could decide something. `kept` is
    given what there is after each training and each round, so that it outlives a process that is killed.
    """
    plan = planned(settings)
    base, amp = ArmRecord(BASE), ArmRecord(settings.precision or HALF[0])
    comparison = Comparison(plan, (base, amp))
    progress("performance: starting the arms")
    with ExitStack() as stack:
        arms = stack.enter_context(started(subject, (base, amp), settings.seconds, plan.processes))
        greeted = [arm.greet() for arm in arms]  # each of them, whatever the first says
        if all(greeted):
            host = arms[0].host
            amp.name = settings.precision or best_precision(host)
            names = further(host, amp.name) if settings.arms is None else settings.arms
            others = tuple(ArmRecord(name) for name in dict.fromkeys(names) if name != amp.name)
            if others:
                comparison = replace(comparison, arms=(base, amp, *others))
                arms += [
                    arm
                    for arm in stack.enter_context(started(subject, others, settings.seconds, plan.processes))
                    if arm.greet()
                ]
            Run(arms, comparison, settings.seconds, progress, undecided, kept).follow()
    for record in comparison.arms:
        if record.failure and record.failure.trouble is Trouble.MEMORY:
            progress(f"performance: {record.name} ran out of memory; trying it alone")
            record.failure = _alone(subject, settings, plan, record.name, record.failure)
    return comparison


def best_precision(host: Host) -> str:
    """The AMP precision that a device does best."""
    return "bf16" if host.bf16 else "fp16"


def further(host: Host, judged: str) -> tuple[str, ...]:
    """What else is worth measuring on a device: TF32, and the half precision that is not judged; nothing on a CPU."""
    if not host.accelerator:
        return ()
    return (
        *((TF32,) if host.tf32 else ()),
        *(name for name in HALF if name != judged and (name != "bf16" or host.bf16)),
    )


def order_of(number: int, arms: Sequence[ArmProcess]) -> list[ArmProcess]:
    """The turns of round `number`, there and back: A B B A, and B A A B in the next one.

    So a machine that steadily warms up or slows down favours no arm, in any single round.
    """
    there = list(arms) if number % 2 == 0 else list(reversed(arms))
    return there + there[::-1]


class Run:
    """One run of the protocol with arms that are up."""

    def __init__(
        self,
        arms: Sequence[ArmProcess],
        comparison: Comparison,
        seconds: float,
        progress: Callable[[str], None],
        undecided: Undecided,
        kept: Kept = dropped,
    ) -> None:
        self.running = list(arms)
        self.comparison = comparison
        self.plan = comparison.plan
        self.progress = progress
        self.undecided = undecided
        self.kept = kept
        self.end = time.monotonic() + seconds
        self.training_seconds = 0.0
        self.spare_rounds = SPARE_ROUNDS

    def follow(self) -> None:
        """Build, train and evaluate each arm, time them in turns, then train from the other seeds."""
        first, *seeds = self.plan.seeds
        began = time.monotonic()
        if not self._trained(self.running, first):
            return
        self.training_seconds = (time.monotonic() - began) * len(seeds)
        if not self._timed():
            return
        compared = [arm for arm in self.running if arm.record in (self.comparison.base, self.comparison.judged)]
        for seed in seeds:
            if not self._trained(compared, seed):
                return

    def _trained(self, arms: Sequence[ArmProcess], seed: int) -> bool:
        """Train the arms from a seed: one after the other, or all beside each other where that disturbs nothing."""
        together = len(arms) > 1 and beside_each_other(self.plan, arms[0].host)
        for turn in [tuple(arms)] if together else [(arm,) for arm in arms]:
            turn = tuple(arm for arm in turn if arm in self.running)
            if not turn:
                continue
            names = ", ".join(arm.record.name for arm in turn)
            self.progress(f"performance: {names}: training from seed {seed}")
            _build(turn, self.plan, seed)
            _train(turn, self.plan, seed, max(1, cores() // len(arms)) if together else 0)
            going_on = [self._goes_on(arm) for arm in turn]  # each of them, whatever the first says
            self.kept(self.comparison)
            if not all(going_on):
                return False
        return True

    def _timed(self) -> bool:
        """Rounds up to the first look, then up to the next while something is undecided and there is time."""
        done, began = 0, time.monotonic()
        for look in self.plan.looks:
            if done:
                ahead = RESERVE * ((time.monotonic() - began) / done * (look - done) + self.training_seconds)
                if time.monotonic() + ahead > self.end or not self.undecided(self.comparison):
                    return True
            for number in range(done, look):
                self.progress(f"performance: round {number + 1} of {look}")
                if not self._round(number):
                    return False
                self.kept(self.comparison)
            done = look
        return True

    def _round(self, number: int) -> bool:
        """Time every arm there and back.

        Where a clock contradicts the gate's, all of them do the round again, as often as there are rounds to spare: a
        machine that is busy may have held up the gate, and an arm that tells other times than the true ones does so
        again.
        """
        blocks: dict[int, list[Round]] = {}
        """Of each arm, by its identity: two revisions have arms of the same name."""
        contradicted: list[ArmProcess] = []
        for arm in order_of(number, self.running):
            mine = blocks.setdefault(id(arm), [])
            if arm not in self.running:
                continue
            steps = self.plan.steps // 2 if not mine else self.plan.steps - self.plan.steps // 2
            if timed := _block(arm, steps, self.plan.warmup):
                block, agrees = timed
                mine.append(block)
                contradicted += [] if agrees or arm in contradicted else [arm]
            if not self._goes_on(arm):
                return False
        if contradicted and self.spare_rounds:
            self.spare_rounds -= 1
            return self._round(number)
        for arm in contradicted:
            arm.record.failure = Failure(Trouble.TAMPERED, "its own clock contradicts the gate's", "block")
            if not self._goes_on(arm):
                return False
        for arm in self.running:
            arm.record.rounds.append(joined(*blocks[id(arm)]))
        return True

    def _goes_on(self, arm: ArmProcess) -> bool:
        """Whether there is anything left to learn after what `arm` did last.

        An arm that runs out of memory leaves, and the others go on: how much they need is worth knowing. So does one
        that no target is about.
        """
        failure = arm.record.failure
        if failure is None:
            return True
        self.running.remove(arm)
        arm.hang_up()
        beside = arm.record not in (self.comparison.base, self.comparison.judged)
        return (beside or failure.trouble is Trouble.MEMORY) and bool(self.running)


def joined(there: Round, back: Round) -> Round:
    """The two timed blocks of an arm in one round, as one."""
    return Round(
        there.seconds + back.seconds,
        there.effective + back.effective,
        _larger(there.peak_bytes, back.peak_bytes),
        _larger(there.reserved_bytes, back.reserved_bytes),
        back.digest,
        there.state,
    )


def _larger(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)


def _build(arms: Sequence[ArmProcess], plan: Plan, seed: int) -> None:
    for arm in arms:
        name = arm.record.name
        arm.tell(
            "build",
            kind=plan.kind,
            workload=plan.workload,
            precision=BASE if name == TF32 else name,
            seed=seed,
            tf32=name == TF32,
            most_steps=plan.most_steps,
        )
    for arm in arms:
        record, done = arm.record, arm.hear("build")
        if done and not record.trainings:  # the first seed's workload is the one that is timed
            record.samples_per_step = done["samples_per_step"]
            record.parameter_bytes = done["parameter_bytes"]
            record.weights_digest = done["weights_digest"]
            record.flags = done["flags"]
            record.computed_in = done["computed_in"]


def _train(arms: Sequence[ArmProcess], plan: Plan, seed: int, threads: int = 0) -> None:
    evaluations = plan.evaluations if seed == plan.seeds[0] else 1
    trained = _asked(arms, "train", steps=plan.train_steps, evaluations=evaluations, threads=threads)
    scored = _asked(arms, "evaluate")
    for arm, done, scores in zip(arms, trained, scored, strict=True):
        if done and scores:
            done["losses"], done["scales"] = tuple(done["losses"]), tuple(done["scales"])
            done["accuracy"] = tuple((step, mean) for step, mean in done["accuracy"])
            training = Training(seed=seed, steps=plan.train_steps, scores=tuple(scores["scores"]), **done)
            arm.record.trainings.append(training)
            _saw(arm.record, scores)


def _asked(arms: Sequence[ArmProcess], order: str, **details: Any) -> list[dict[str, Any] | None]:
    """Give all arms an order before waiting for any: what comes of it, None where an arm has failed by then."""
    going = [arm for arm in arms if not arm.record.failure]
    for arm in going:
        arm.tell(order, **details)
    return [arm.hear(order) if arm in going else None for arm in arms]


def beside_each_other(plan: Plan, host: Host) -> bool:
    """Whether arms may train at the same time, each on its share of the cores: a training is not timed.

    On an accelerator they may not: both might not fit at once, and whose memory it was would be open.
    """
    return plan.kind == "build" and plan.processes == 1 and not host.accelerator and cores() > 1


def cores() -> int:
    """Of the processor, as many as this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _block(arm: ArmProcess, steps: int, warmup: int) -> tuple[Round, bool] | None:
    """Timed steps of an arm, and whether its clock agrees with the gate's; None where it failed."""
    began = time.perf_counter()
    done = arm.ask("block", warmup=warmup, steps=steps)
    if not done:
        return None
    agrees = plausible(done, steps, time.perf_counter() - began)
    held = {**arm.record.flags, **arm.record.computed_in}
    holds = {**done["flags"], **done["computed_in"]}
    if changed := sorted(name for name, value in held.items() if holds.get(name) != value):
        text = f"its steps changed settings that are the same in every arm: {', '.join(changed)}"
        arm.record.failure = Failure(Trouble.CONTRACT, text, "block")
        return None
    _saw(arm.record, done)
    block = Round(
        tuple(done["seconds"]),
        done["effective"],
        done["peak_bytes"],
        done["reserved_bytes"],
        done["digest"],
        done["state"],
    )
    return block, agrees


def _saw(record: ArmRecord, done: dict[str, Any]) -> None:
    """Keep the files that an arm's answer tells of."""
    record.files = tuple(sorted({*record.files, *map(str, done["files"])}))


def plausible(done: dict[str, Any], steps: int, wall: float) -> bool:
    """Whether the times of a block agree with one another and with the gate's own clock."""
    seconds, own = done["seconds"], done["block_seconds"]
    if len(seconds) != steps or sum(seconds) > 1.01 * own + 1e-3:  # a device's clock and the host's are two
        return False
    return bool(own <= wall <= 2 * own + CLOCK_SLACK_SECONDS)


def _alone(subject: Subject, settings: PerformanceSettings, plan: Plan, name: str, failure: Failure) -> Failure:
    """Whether an arm that ran out of memory beside the other one does so by itself too."""
    again, seed = ArmRecord(name), plan.seeds[0]
    with started(subject, (again,), settings.seconds, plan.processes) as (arm,):
        if arm.greet():
            _build([arm], plan, seed)
            _train([arm], plan, seed)
    if again.failure is None:
        return replace(failure, trouble=Trouble.BESIDE, text="out of memory beside the other arm, though it fits alone")
    return again.failure if again.failure.trouble is Trouble.MEMORY else failure
