"""The oracle of numbers: why the scaler skipped steps of an unchanged run, and whose doing that is.

It reads what the watch over the steps after a skipped one told. Skips while the loss scale is being found are no fault.
It is one if the run skips more than half of its steps and ends so, and the same operation of the project's overflows,
divides by 0 or makes a NaN at any loss scale.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from verifygate.base.counts import counted
from verifygate.execution.numerics import happened, numerics, remedy, where
from verifygate.execution.oracles.answers import Answer, Fact
from verifygate.execution.oracles.runs import Seen
from verifygate.execution.recorded_trace import read_trace
from verifygate.execution.trace_summary import summary
from verifygate.model import Status
from verifygate.model.numerics import BadStep, Limit

TWICE = 2
"""Watched steps in which the same operation has to break, before it is blamed."""


def judge(seen: Seen, root: Path) -> Answer | None:
    """The answer of one entry that runs in `root`; None where the scaler skipped nothing."""

    def shown(path: str) -> str | None:
        return path if Path(path).is_relative_to(root) else None

    trace = read_trace(seen.folder / "trace")
    run = summary(trace, {}, shown)
    if not run.skipped:
        return None
    report = numerics(seen.events, trace, shown)
    told = f"the scaler skipped {run.skipped} of {counted(run.steps, 'step')}"
    bad = [each for each in report.bad_steps if each.origin is not None]
    mine = [each for each in bad if each.at_any_scale and each.origin is not None and each.origin.line]
    facts = (Fact(told), *(_fact(each) for each in _one_of_each(bad)))
    if mine:
        return _whose(told, mine, facts, mostly=2 * run.skipped > run.steps and _ends_so(report.bad_steps, run.steps))
    unknown = report.unexplained or any(each.at_any_scale is not False for each in bad)
    if unknown or (not bad and 2 * run.skipped > run.steps):
        text = f"{told}; where that begins in the project's code is not known"
        how = report.not_watched or "run `verifygate probe --numerics -- ...`, which watches more steps"
        return Answer(Status.NOT_MEASURED, text, facts, (), how)
    if not bad:
        return Answer(Status.PASS, f"{told}, each by a scale that no step had been made with; smaller ones held", facts)
    return Answer(Status.PASS, f"{told}, all that were watched for the loss scale, which is being found", facts)


def _whose(told: str, mine: list[BadStep], facts: tuple[Fact, ...], *, mostly: bool) -> Answer:
    """The answer where an operation of the project's breaks at any loss scale."""
    (worst, times), *_ = Counter(map(_key, mine)).most_common()
    each = next(each for each in mine if _key(each) == worst)
    came_in = each.origin is not None and each.origin.limit is Limit.CAME_IN
    status = Status.FAIL if mostly and times >= TWICE and not came_in else Status.PARTIAL
    return Answer(status, f"{told}; at any loss scale, {_broke(each)}", facts, (), remedy(each))


def _ends_so(bad: tuple[BadStep, ...], steps: int) -> bool:
    """Whether the last step of the run was a skipped one."""
    return bool(bad) and bad[-1].skipped and bad[-1].step >= steps


def _key(bad: BadStep) -> tuple[str, int, str, str]:
    origin = bad.origin
    return (origin.path, origin.line, origin.operator, origin.backward) if origin is not None else ("", 0, "", "")


def _one_of_each(bad: list[BadStep]) -> list[BadStep]:
    """The last step of each operation that broke."""
    return list({_key(each): each for each in bad}.values())


def _fact(bad: BadStep) -> Fact:
    origin = bad.origin
    place = (origin.path, origin.line) if origin is not None else ("", 0)
    by = " by the loss scale" if bad.at_any_scale is False else ""
    return Fact(f"step {bad.step}{by}: {_broke(bad)}", place)


def _broke(bad: BadStep) -> str:
    """`train.py:8 in attention: `exp`: larger than 65504 ...`."""
    origin = bad.origin
    return f"{where(origin, at=Path(origin.path).name)}: {happened(origin)}" if origin is not None else ""
