"""The third oracle: a run that is stopped behind a checkpoint and resumed is the unbroken run, bit by bit.

Four runs: one is stopped behind its first checkpoint; another resumes from it, in a process of its own; two are not
broken, and show what equal runs differ by. Where the resumed run differs, the states that its first step began with
tell what the checkpoint, or the code that loads it, left out.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from verifygate.config.settings import OraclesSettings, ResumeSettings
from verifygate.execution.oracles.answers import Answer, Fact, died, with_cuda_emulated
from verifygate.execution.oracles.planning import Entry, around
from verifygate.execution.oracles.runs import Event, Job, Questions, Seen, place
from verifygate.execution.oracles.scale_invariance import MARGIN, NOISE_LIMIT, distance
from verifygate.model import Status

RESUME = "oracle-resume"
MOST_WINDOWS = 200
"""A run that saved nothing within so many updates is not asked any further."""

STATES = {
    "weights": "the weights",
    "buffers": "the model's buffers",
    "optimizer": "the optimizer's state",
    "schedule": "the schedule",
    "rates": "the learning rates",
    "scale": "the loss scale",
    "growth": "the scaler's growth tracker",
}
"""Part of a state -> its name. Each of them is in a checkpoint, or lost."""
REMEDY = "save what is named with the checkpoint, and load it before the first step"


def questions(settings: OraclesSettings, root: Path, folder: Path) -> Questions[list[Answer]]:
    """The runs that the entries of `execution.oracles.resume` need, then the answers; checkpoints are in `folder`."""
    entries, kept = settings.resume, []
    for number, _ in enumerate(settings.resume):
        kept.append(folder / f"checkpoint{number}")
        kept[-1].mkdir(parents=True)

    def job(entry: ResumeSettings, command: str, windows: int, own: Path | None = None, *, stop: bool = False) -> Job:
        watched = (("oracle", {"windows": windows}), ("resume", {"stop": stop}))
        instruments = (*around(Entry(root, command, emulate=entry.emulated)), *watched)
        return Job(command if own is None else _in(own, command), root, instruments, settings.seconds, own)

    jobs = [job(each, each.train, MOST_WINDOWS, own, stop=True) for each, own in zip(entries, kept, strict=True)]
    broken = yield jobs
    jobs = []
    for each, own, seen in zip(entries, kept, broken, strict=True):
        if (saved := _saved(seen)) is not None:
            unbroken = job(each, each.train, saved["window"] + settings.steps)
            jobs += [unbroken, unbroken, job(each, each.resume, settings.steps, own)]
    runs = iter((yield jobs) if jobs else [])
    return [_answer(seen, runs) for seen in broken]


def _saved(broken: Seen) -> Event | None:
    """The checkpoint behind which a run was stopped."""
    return broken.first("saved") if broken.error is None else None


def _answer(broken: Seen, runs: Iterator[Seen]) -> Answer:
    """Judge one entry; its other runs are the next three, if it saved anything."""
    saved = _saved(broken)
    if saved is None:
        text = f"the entry {broken.ending}; in {len(broken.steps)} steps nothing was saved with `torch.save` behind one"
        remedy = "let `train` save a checkpoint, and make steps after that"
        lacking = Answer(Status.NOT_MEASURED, text, (Fact(text, place(broken.error)),), (), remedy)
        return died(broken, f"the entry {broken.ending}") or lacking
    whole, again, resumed = next(runs), next(runs), next(runs)
    answer, every = judge(whole, again, resumed, saved), (broken, whole, again, resumed)
    return with_cuda_emulated(answer, every) if any(seen.emulated for seen in every) else answer


def _in(folder: Path, command: str) -> str:
    return command.replace("{temporary}", shlex.quote(str(folder)))


def judge(whole: Seen, again: Seen, resumed: Seen, saved: Event) -> Answer:
    """Compare the resumed run with the steps of the unbroken one (`whole`, and `again`) behind the checkpoint."""
    steps = int(saved["steps"])
    for seen, name in ((whole, "unbroken"), (again, "unbroken"), (resumed, "resumed")):
        if (error := seen.error) is not None:
            text = f"the {name} run {seen.ending}"
            return died(seen, text) or _unknown(Fact(text, place(error)))
    before, first = _state(whole, steps), _state(resumed, 0)
    pairs = list(zip(whole.steps[steps:], resumed.steps, strict=False))
    if before is None or first is None or not pairs:
        name = "resumed" if not resumed.steps else "unbroken"
        return _unknown(Fact(f"the {name} run makes no step behind the checkpoint", place(saved)))
    if not any(one["moved"] for one, _ in pairs):
        return _unknown(Fact("no step behind the checkpoint moved the weights", place(saved)))
    equal = _state(again, steps) or {}
    lost = [part for part in before if before[part] != first.get(part) and before[part] == equal.get(part)]
    apart = any(one["weights"] != other["weights"] for one, other in pairs)
    names = [_named(part, before, first) for part in STATES if part in lost]
    if not names and apart and (noise := _calibrated(whole.steps[steps:], again.steps[steps:], pairs)) is not None:
        return noise
    if not names and not apart:
        text = f"resumed after step {steps}, the next {len(pairs)} steps: the same bits as in the unbroken run"
        return Answer(Status.PASS, text, (Fact(text, place(saved)),))
    if apart and "batch" in lost:
        names.append("the position in the data (the next batch is another)")
    if apart and "random" in lost:
        names.append("the random state")
    what = ", ".join(names) or "something that is not recorded"
    text = f"resumed after step {steps}, not restored: {what}"
    facts = (Fact(text, place(saved)), Fact("the first step that was resumed", place(resumed.steps[0])))
    return Answer(Status.FAIL, text, facts, (), REMEDY)


def _state(seen: Seen, step: int) -> Mapping[str, Any] | None:
    """The parts of the state that a step, counted from 0, began with."""
    return next((event["parts"] for event in seen.of("state") if event["step"] == step), None)


def _named(part: str, unbroken: Mapping[str, Any], resumed: Mapping[str, Any]) -> str:
    """`the loss scale (1024, not 65536)`; a digest is not shown."""
    one, other = unbroken[part], resumed.get(part)
    if isinstance(one, str):
        return STATES[part]
    return f"{STATES[part]} ({_shown(other)}, unbroken {_shown(one)})"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_shown(each) for each in value) or "none"
    return "none" if value is None else f"{value:g}"


def _calibrated(whole: Sequence[Event], again: Sequence[Event], pairs: Sequence[tuple[Event, Event]]) -> Answer | None:
    """The answer where even two unbroken runs differ; None where they do not, or differ by less."""
    equal = list(zip(whole, again, strict=False))
    noise = max((distance(one, other) for one, other in equal), default=0.0)
    if all(one["weights"] == other["weights"] for one, other in equal):
        return None
    way = distance(whole[0], whole[-1])
    if noise > NOISE_LIMIT * way:
        return _unknown(Fact(f"two unbroken runs differ by {noise:.2g} (the weights went {way:.2g})"))
    apart = max(distance(one, other) for one, other in pairs)
    if apart > MARGIN * noise:
        return None
    text = f"the resumed run differs by {apart:.2g}; two unbroken runs differ by {noise:.2g}"
    return Answer(Status.PASS, text, (Fact(text),))


def _unknown(fact: Fact) -> Answer:
    remedy = "let `train` save and go on, `resume` load it and go on to the same end; seed all that is random"
    return Answer(Status.NOT_MEASURED, fact.text, (fact,), (), remedy)
