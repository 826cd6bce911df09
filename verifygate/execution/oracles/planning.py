"""Which runs an entry needs, and the answers that follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from verifygate.config.settings import OraclesSettings
from verifygate.execution.oracles import edge_cases, inf_injection, numbers, scale_invariance, update
from verifygate.execution.oracles.answers import Answer, cannot_run, with_cuda_emulated
from verifygate.execution.oracles.runs import EMULATION, Job, Questions, Seen, answered
from verifygate.model import Status
from verifygate.process.subject import Subject

SCALE, INF, SCHEDULE = "oracle-scale-invariance", "oracle-inf-injection", "oracle-schedule"
UPDATE, NUMBERS = "oracle-update", "oracle-numbers"
CAPABILITY = (8, 0)
OLD_CAPABILITY = (7, 5)
"""A device without bfloat16 of its own."""
_HALF = ("torch.float16", "torch.bfloat16")
SPARE_WINDOWS = 3
"""Windows behind the poisoned one, to see that training goes on."""
ORDER = (Status.FAIL, Status.PARTIAL, Status.NOT_MEASURED, Status.PASS, Status.NOT_APPLICABLE)
"""The answer of a check is the worst of its entries' answers."""


def rank(answer: Answer) -> tuple[int, bool]:
    """How bad an answer is, the worst first: advice is better than what was not measured."""
    return ORDER.index(Status.NOT_MEASURED if answer.advises else answer.status), answer.advises


@dataclass
class Entry:
    """One entry, how its scaler is used, and the answers found so far."""

    root: Path
    """The folder it runs in: the project's, or that of a copy."""
    command: str
    emulate: bool = False
    """Whether it needs CUDA, emulated where it is missing."""
    capability: tuple[int, int] = CAPABILITY
    """Of the emulated device."""
    seen: Seen = field(default_factory=Seen)
    """The entry without any change."""
    answers: dict[str, Answer] = field(default_factory=dict)

    @property
    def enabled(self) -> bool:
        """Whether a scaler is on."""
        return any(event["enabled"] for event in self.seen.of("scaler"))

    @property
    def asked(self) -> bool:
        """Whether the project asked for a scaler; without its device it is off all the same."""
        return any(event["asked"] for event in self.seen.of("scaler"))

    @property
    def is_mixed(self) -> bool:
        """Whether anything of mixed precision was seen in it, be it off: a region, a scaler, weights in half, or a
        framework that was asked for a precision."""
        if any(self.seen.first(kind) is not None for kind in ("autocast", "scaler", "delegated")):
            return True
        return any(dtype in _HALF for event in self.seen.of("optimizer") for dtype in event["dtypes"])

    @property
    def can_be_switched_on(self) -> bool:
        """Whether the loop goes through a scaler that is off: the same lines then run with it on."""
        return not self.enabled and all(self.seen.first(kind) is not None for kind in ("scale", "updated"))


def entries_of(settings: OraclesSettings, root: Path, capability: tuple[int, int] = CAPABILITY) -> list[Entry]:
    """What is configured, to be run in `root`."""
    plain = [Entry(root, command) for command in settings.entries]
    return plain + [Entry(root, command, emulate=True, capability=capability) for command in settings.emulated_entries]


def around(entry: Entry) -> list[tuple[str, Mapping[str, Any]]]:
    """The instruments that stand before all others in a run of this entry."""
    return [(EMULATION, {"if_missing": True, "capability": entry.capability})] if entry.emulate else []


def examine(
    subject: Subject, settings: OraclesSettings, entries: Sequence[Entry], folder: Path, *, edges: bool = True
) -> None:
    """Run every entry as often as it takes, and answer every question about it; `edges`: the edge cases as well.

    Raises EntryError for an entry that cannot be run, OSError where the interpreter cannot be started.
    """
    answered(subject, folder, questions(settings, entries, edges=edges))


def questions(settings: OraclesSettings, entries: Sequence[Entry], *, edges: bool = True) -> Questions[None]:
    """The runs that the entries need. In the end each entry has its answers."""
    plain = [_job(settings, entry, {"windows": settings.steps}, sampled=edges) for entry in entries]
    for entry, seen in zip(entries, (yield plain), strict=True):
        entry.seen = seen
        if seen.error is not None or not seen.steps:
            answer = cannot_run(seen)
            answer = with_cuda_emulated(answer, [seen]) if seen.emulated else answer
            entry.answers.update(dict.fromkeys((SCALE, INF), answer))
        if (moved := update.judge(seen)) is not None:
            entry.answers[UPDATE] = with_cuda_emulated(moved, [seen]) if seen.emulated else moved
        if edges and (skipped := numbers.judge(seen, entry.root)) is not None:
            entry.answers[NUMBERS] = with_cuda_emulated(skipped, [seen]) if seen.emulated else skipped
    alive = [entry for entry in entries if SCALE not in entry.answers]
    plans = [(entry, name, job) for entry in alive for name, job in _plan(settings, entry, edges).items()]
    runs = (yield [job for _, _, job in plans]) if plans else []
    by_entry: dict[int, dict[str, Seen]] = {id(entry): {} for entry in alive}
    for (entry, name, _), one in zip(plans, runs, strict=True):
        by_entry[id(entry)][name] = one
    for entry in alive:
        if edges and _is_without_cuda(entry.seen):
            by_entry[id(entry)]["no-cuda"] = entry.seen
        _answer(entry, by_entry[id(entry)])
    yield from _settle(settings, alive, by_entry)
    for entry in alive:
        _note_emulation(entry, by_entry[id(entry)])


def _is_without_cuda(seen: Seen) -> bool:
    """Whether the unchanged run is the run without CUDA already, because this machine has none."""
    return any(event["cuda"] is False for event in seen.of("devices"))


def _job(
    settings: OraclesSettings,
    entry: Entry,
    options: Mapping[str, Any],
    poison: Mapping[str, Any] | None = None,
    *,
    sampled: bool = False,
) -> Job:
    """One run. `sampled`: a few of its steps are looked at operation by operation, which changes nothing in it."""
    there = options.get("cuda") is not False  # a run that shall find no CUDA finds no emulated one either
    sampler = [("recorder", {"sample": True, "emulated": entry.emulate})] if sampled else []
    looks = [("numerics", {}), ("health", {"moves": True})] if sampled else []
    instruments = [*(around(entry) if there else []), *sampler, ("oracle", options), *looks]
    if poison:
        instruments.append(("injection", poison))
    return Job(entry.command, entry.root, tuple(instruments), settings.seconds)


def _plan(settings: OraclesSettings, entry: Entry, edges: bool) -> dict[str, Job]:
    """Name -> run, for all that can be asked of this entry."""
    on = entry.can_be_switched_on
    exact = {"bfloat16": True, "switch_on": on}
    at, behind = settings.inject_at - 1, settings.inject_at + SPARE_WINDOWS

    def job(options: Mapping[str, Any], poison: Mapping[str, Any] | None = None) -> Job:
        return _job(settings, entry, options, poison)

    once = {"at": at, "times": 1}
    many = {"kind": "inf", "at": 1, "times": edge_cases.STREAK}
    plan: dict[str, Job] = {}
    if edges and not _is_without_cuda(entry.seen):
        plan["no-cuda"] = job({"windows": settings.steps, "cuda": False})
    if edges:
        plan["mps-only"] = job({"windows": settings.steps, "cuda": False, "mps": True})
    if edges and entry.seen.emulated:
        plan["pre-ampere"] = _job(settings, replace(entry, capability=OLD_CAPABILITY), {"windows": settings.steps})
    if entry.enabled or on:
        watched = {**exact, "windows": settings.steps, "rewrites": True}
        plan["low"] = job({**watched, "init_scale": scale_invariance.LOW})
        plan["high"] = job({**watched, "init_scale": scale_invariance.HIGH})
        plan["inf"] = job({**exact, "windows": behind}, {"kind": "inf", **once})
    if edges and (entry.enabled or on):
        plan["nan-loss"] = job({**exact, "windows": behind}, {"kind": "nan", **once})
        plan["overflow-streak"] = job({**exact, "windows": edge_cases.STREAK + 2}, many)
        plan["half-parameters"] = job({"windows": settings.steps, "switch_on": on, "half_parameters": True})
    if not entry.asked and entry.is_mixed:
        plan["unguarded"] = job({"windows": behind}, {"kind": "inf", **once})
    return plan


def _answer(entry: Entry, runs: Mapping[str, Seen]) -> None:
    """The answers that need no further run. A scaler that is off by choice is not blamed for what it does when on."""
    guarded = "inf" in runs
    if guarded:
        entry.answers[INF] = inf_injection.judge(runs["inf"], guarded=True, may_stop=not entry.asked)
        if (schedule := inf_injection.schedule(runs["inf"], guarded=True)) is not None:
            entry.answers[SCHEDULE] = schedule
    if "unguarded" in runs:
        unguarded = inf_injection.judge(runs["unguarded"], guarded=False)
        entry.answers[INF] = _worse(entry.answers.get(INF), unguarded)
    elif not guarded:
        entry.answers[INF] = Answer(Status.NOT_APPLICABLE, "nothing of mixed precision was seen in this entry")
    if not guarded:
        entry.answers[SCALE] = Answer(Status.NOT_APPLICABLE, "no scaler is used in this entry")
    for name, judge in edge_cases.JUDGES.items():
        if name in runs:
            entry.answers[f"edge-{name}"] = judge(runs[name], guarded)


RUNS_OF = {SCALE: ("low", "high"), INF: ("inf", "unguarded"), SCHEDULE: ("inf",)}
"""Question -> the runs that its answer speaks of; an edge case has one of its own."""


def _note_emulation(entry: Entry, runs: Mapping[str, Seen]) -> None:
    for name, answer in entry.answers.items():
        if name == UPDATE:
            continue  # said where it was answered
        own = [runs[run] for run in RUNS_OF.get(name, (name.removeprefix("edge-"),)) if run in runs] or [entry.seen]
        if any(seen.emulated for seen in own):
            entry.answers[name] = with_cuda_emulated(answer, own)


def _settle(
    settings: OraclesSettings, alive: Iterable[Entry], runs: Mapping[int, Mapping[str, Seen]]
) -> Questions[None]:
    """Compare the scales; where they differ, run the low one again to see what equal runs differ by."""
    unsettled = []
    for entry in alive:
        own = runs[id(entry)]
        if "low" not in own:
            continue
        answer = scale_invariance.judge(own["low"], own["high"], None, switched_on=entry.can_be_switched_on)
        if answer is None:
            unsettled.append(entry)
        else:
            entry.answers[SCALE] = answer
    if not unsettled:
        return
    jobs = [_plan(settings, entry, False)["low"] for entry in unsettled]
    for entry, again in zip(unsettled, (yield jobs), strict=True):
        own = runs[id(entry)]
        answer = scale_invariance.judge(own["low"], own["high"], again, switched_on=entry.can_be_switched_on)
        assert answer is not None  # noqa: S101 - with a second run there is always an answer
        entry.answers[SCALE] = answer


def _worse(one: Answer | None, other: Answer) -> Answer:
    if one is None:
        return other
    return min((one, other), key=rank)
