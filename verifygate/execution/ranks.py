"""Join what the processes of a run wrote, and compare ranks that trained together.

Ranks share a model, so they step, skip and scale alike. Where they do not, the run says so; it is AMP307 where each
rank holds a part of the gradients (`FullyShardedDataParallel`) and scaler or clip asked nobody but itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from verifygate.base.counts import counted
from verifygate.execution.instruments import TOLD, children, read_told
from verifygate.execution.observed_violation import Form, ObservedViolation
from verifygate.execution.recorded_trace import Bases, Event, Process, Section, Trace, read_trace
from verifygate.model import RankSummary, TraceSummary
from verifygate.protocol import Violation

NEARLY = 1e-3
"""Norms that differ by less, relatively, are taken for equal: ranks add in different orders."""
PLAIN_SCALERS = ("torch.amp.grad_scaler.GradScaler", "torch.cuda.amp.grad_scaler.GradScaler")


def read_run(written: Path) -> Trace:
    """Read what a run wrote in all its processes, as one trace: each that it started has sections of its own."""
    whole = read_trace(written / "trace")
    if whole.rank:
        for section in whole.sections:
            section.process = _process(0, whole)
    for number, child in enumerate(children(written), 1):
        join_child(whole, child, number)
    return whole


def join_child(whole: Trace, child: Path, number: int) -> None:
    """Add what a process that the run started wrote into its folder; the number tells it from others."""
    told = next((one for one in read_told(child / TOLD) if one["event"] == "child"), {})
    bases = Bases.of(whole.optimizers, whole.scalers, whole.places)
    _join(whole, read_trace(child / "trace", bases), number, str(told.get("section") or ""))


def _join(whole: Trace, child: Trace, number: int, name: str) -> None:
    """Add the trace of a process that the run started; one in which nothing happened adds nothing."""
    whole.problems += child.problems
    if not any(section.events for section in child.sections):
        return
    for section in child.sections:
        section.name, section.process = name, _process(number, child)
    whole.sections += child.sections
    whole.optimizers |= child.optimizers
    whole.scalers |= child.scalers
    whole.places |= child.places
    if child.sample and not whole.sample.get("steps"):
        whole.sample = child.sample
    if compiled := child.totals.get("compiled"):
        whole.totals["compiled"] = compiled


def _process(number: int, trace: Trace) -> Process:
    rank = trace.rank.get("rank")
    world = trace.rank.get("world", 1)
    return Process(number, int(rank) if rank is not None else None, int(world), bool(trace.totals))


@dataclass(frozen=True)
class Rank:
    """What one rank did, as far as ranks are compared by it."""

    section: Section
    process: Process
    rank: int
    steps: tuple[Event, ...]
    scaler_steps: tuple[Event, ...]
    """Of those, the scaler's of which it is known whether the optimizer stepped."""
    updates: tuple[Event, ...]
    clips: tuple[Event, ...]

    @property
    def summary(self) -> RankSummary:
        return RankSummary(
            test=self.section.name,
            rank=self.rank,
            world=self.process.world,
            steps=len(self.steps),
            skipped=sum(event.skipped for event in self.steps),
            scale_last=_last(self.updates, "scale"),
            norm_last=_last(self.clips, "norm"),
        )


@dataclass(frozen=True)
class Ranks:
    """What the ranks of a run show beyond what each shows by itself."""

    ranks: tuple[RankSummary, ...] = ()
    remarks: tuple[str, ...] = ()
    """Where ranks that train together differ."""
    hits: tuple[tuple[str, ObservedViolation], ...] = ()
    """Violations, each with the name of its section."""


def compare(trace: Trace) -> Ranks:
    """Compare the ranks of each group that trained together."""
    groups = list(_groups(trace))
    remarks = dict.fromkeys(remark for group in groups for remark in _differences(group))
    hits = [(group[0].section.name, hit) for group in groups for hit in _violations(group, trace)]
    return Ranks(tuple(rank.summary for group in groups for rank in group), tuple(remarks), tuple(hits))


def with_ranks(seen: TraceSummary, ranks: Ranks, named: Callable[[str], str]) -> TraceSummary:
    """A summary with what its ranks show; `named` turns the name of a section into one for people."""
    shown = tuple(rank.model_copy(update={"test": named(rank.test)}) for rank in ranks.ranks)
    return seen.model_copy(update={"ranks": shown, "remarks": (*seen.remarks, *ranks.remarks)})


def _groups(trace: Trace) -> Iterator[list[Rank]]:
    """The ranks that trained together: of one test and as many ranks in all, in the order in which they started."""
    found: dict[tuple[str, int], dict[int, list[Rank]]] = {}
    for section in trace.sections:
        process = section.process
        if process is not None and process.rank is not None:
            rank = _rank(section, process, process.rank)
            if rank.steps:
                by_rank = found.setdefault((section.name, process.world), {})
                by_rank.setdefault(process.rank, []).append(rank)
    for by_rank in found.values():
        for turn in range(max(map(len, by_rank.values()))):
            group = [ranks[turn] for _, ranks in sorted(by_rank.items()) if len(ranks) > turn]
            if len(group) > 1:
                yield group


def _rank(section: Section, process: Process, rank: int) -> Rank:
    events = [event for event in section.events if not event.raised]
    steps = tuple(event for event in events if event.kind in ("scaler.step", "optimizer.step"))
    return Rank(
        section,
        process,
        rank,
        steps,
        tuple(event for event in steps if event.kind == "scaler.step" and "stepped" in event.fields),
        tuple(event for event in events if event.kind == "update" and _is_number(event.fields.get("scale"))),
        tuple(event for event in events if event.kind == "clip" and _is_number(event.fields.get("norm"))),
    )


def _last(events: Sequence[Event], name: str) -> float | None:
    """The last value that a person can read anything in."""
    return next(
        (value for value in (float(event.fields[name]) for event in reversed(events)) if math.isfinite(value)), None
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _differences(group: Sequence[Rank]) -> Iterator[str]:
    """What differs between ranks that train together, in words."""
    named = f"{counted(len(group), 'rank')} of {group[0].process.world}"
    whole = all(rank.process.ended and not rank.section.dropped for rank in group)
    if whole and len({len(rank.steps) for rank in group}) > 1:
        yield f"{named} took different numbers of steps: {_listed(group, [len(rank.steps) for rank in group])}"
    for pair in zip(*(rank.scaler_steps for rank in group), strict=False):
        if len({event.fields["stepped"] for event in pair}) > 1:
            did = ["stepped" if event.fields["stepped"] else "skipped" for event in pair]
            yield f"{named} parted at step {pair[0].step + 1}: {_listed(group, did)}"
            break
    for pair in zip(*(rank.updates for rank in group), strict=False):
        scales = [float(event.fields["scale"]) for event in pair]
        if len(set(scales)) > 1:
            yield f"{named} scale by different numbers from step {pair[0].step} on: {_listed(group, scales)}"
            break
    for pair in zip(*(rank.clips for rank in group), strict=False):
        norms = [float(event.fields["norm"]) for event in pair]
        if _differ(norms):
            yield f"{named} clip by different norms: {_listed(group, norms)}"
            break


def _listed(group: Sequence[Rank], values: Iterable[object]) -> str:
    shown = (f"{value:.6g}" if isinstance(value, float) else str(value) for value in values)
    return ", ".join(f"rank {rank.rank} {value}" for rank, value in zip(group, shown, strict=True))


def _differ(norms: Sequence[float]) -> bool:
    """Whether norms differ by more than the order of their sums explains; an inf or NaN is the scaler's business."""
    if not all(map(math.isfinite, norms)):
        return False
    return any(abs(one - other) > NEARLY * max(abs(one), abs(other)) for one, other in combinations(norms, 2))


def _violations(group: Sequence[Rank], trace: Trace) -> Iterator[ObservedViolation]:
    """AMP307: ranks that hold parts of the gradients, and a scaler or a clip that asked nobody but itself."""
    violation = Violation.SHARDED_NEEDS_SHARDED_SCALER
    for pair in zip(*(rank.scaler_steps for rank in group), strict=False):
        apart = [event for event in pair if event.fields["stepped"] is False]
        if 0 < len(apart) < len(pair) and all(_is_flattened(event, trace) for event in pair):
            skipped = apart[0]
            fact = trace.scalers.get(skipped.scaler or 0, {})
            if fact.get("type") in PLAIN_SCALERS:
                made = _made(group, skipped)
                yield ObservedViolation(violation, made, skipped, (made, skipped))
                break
    for pair in zip(*(rank.clips for rank in group), strict=False):
        norms = [float(event.fields["norm"]) for event in pair]
        if _differ(norms) and all(_is_flattened(event, trace) for event in pair):
            yield ObservedViolation(violation, pair[0], pair[0], (pair[0],), form=Form.SHARD_NORM)
            break
    yield from _never_averaged(group)


def _never_averaged(group: Sequence[Rank]) -> Iterator[ObservedViolation]:
    """AMP218: no forward of DDP came before a step, and the norms that the ranks clip by show that nobody averaged."""
    alone = [{event.step: event for event in rank.steps if event.fields.get("alone")} for rank in group]
    for pair in zip(*(rank.clips for rank in group), strict=False):
        if all(clip.step in steps for clip, steps in zip(pair, alone, strict=True)):
            step = alone[0][pair[0].step]
            if _differ([float(event.fields["norm"]) for event in pair]):
                yield ObservedViolation(Violation.NO_SYNC_INVERTED, step, step, (pair[0], step))
                return


def _made(group: Sequence[Rank], step: Event) -> Event:
    """The event of the scaler's construction."""
    events = (event for rank in group for event in rank.section.events)
    return next((event for event in events if event.kind == "scaler" and event.scaler == step.scaler), step)


def _is_flattened(event: Event, trace: Trace) -> bool:
    """Whether the gradients it is about are parts, as `FullyShardedDataParallel` deals them out."""
    numbers = event.optimizers()
    return bool(numbers) and all(trace.optimizers.get(number, {}).get("flattened") for number in numbers)
