"""Each performance hazard that the static stage found, held against the profile: confirmed, refuted, or cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Literal

from verifygate.model import Finding, HazardAnswer, LineCost, Profile, Status
from verifygate.performance.anatomy import growth
from verifygate.performance.case import ON_CUDA
from verifygate.performance.spread import mean
from verifygate.rule_codes import Hazard

Answer = Literal["confirmed", "refuted", "this machine cannot tell"]
CANNOT: Answer = "this machine cannot tell"
SIGNIFICANT = 0.01
"""A part of a step's time that is worth a change of the code."""
WAITS = (Hazard.HOST_SYNC_IN_LOOP, Hazard.SCALE_READ_EACH_STEP)
"""Waiting for the device: nothing on a CPU."""
DEVICE_CALLS = (Hazard.SYNCHRONIZE_IN_LOOP, Hazard.EMPTY_CACHE_IN_LOOP)
LOADING = (Hazard.LOADER_WITHOUT_WORKERS, Hazard.LOADER_WITHOUT_PINNED_MEMORY, Hazard.BLOCKING_TRANSFER)
HOST_WORK = (Hazard.PYTHON_BATCH_ASSEMBLY,)
RETAINED = (Hazard.GRAPH_RETAINED,)


def answered(hazards: Sequence[Finding], profiles: Sequence[Profile]) -> tuple[HazardAnswer, ...]:
    """An answer for each finding, from the profile of the arm that the targets are about, or of fp32 without one."""
    usable = [profile for profile in profiles if not profile.reason]
    answers = []
    for hazard in hazards:
        if usable:
            answer, why = _answer(hazard, usable[-1])
        else:
            answer, why = CANNOT, "; ".join(f"{profile.arm}: {profile.reason}" for profile in profiles) or "no profile"
        title = f"{hazard.name} at {hazard.path}:{hazard.line}"
        answers.append(
            HazardAnswer(rule=hazard.rule, path=hazard.path, line=hazard.line, title=title, answer=answer, why=why)
        )
    return tuple(answers)


def _answer(hazard: Finding, profile: Profile) -> tuple[Answer, str]:
    line = next((each for each in profile.lines if (each.path, each.line) == (hazard.path, hazard.line)), None)
    if hazard.rule in LOADING:
        return _loading(profile)
    if hazard.rule in (*WAITS, *DEVICE_CALLS, *HOST_WORK, *RETAINED) and (line is None or not line.passes):
        return CANNOT, "the workload's step() does not pass this line: let it run the code that the finding is about"
    if line is not None and hazard.rule in RETAINED:
        return _retained(profile, line)
    if line is not None and hazard.rule in HOST_WORK:
        return _host_work(profile, line)
    if line is not None and hazard.rule in (*WAITS, *DEVICE_CALLS):
        return _device(hazard, profile, line)
    return CANNOT, "it is no cost of a step: the rule's own page says what it breaks"


def _device(hazard: Finding, profile: Profile, line: LineCost) -> tuple[Answer, str]:
    """A wait for the device costs nothing where there is none."""
    waits = [wait for wait in profile.waits if wait.path == hazard.path and hazard.line <= wait.line <= hazard.end_line]
    times = _times(sum(wait.count for wait in waits)) if waits else f"passed {_times(line.passes)}"
    if profile.device == "cpu":
        return CANNOT, f"{times} in a step; what that costs on an accelerator: {ON_CUDA}"
    return _judged(line, f"{times} in a step")


def _host_work(profile: Profile, line: LineCost) -> tuple[Answer, str]:
    answer, why = _judged(line, f"passed {_times(line.passes)} in a step")
    if profile.device == "cpu" and answer == "refuted":
        return CANNOT, f"{why} on the CPU; on an accelerator the rest of the step is shorter: {ON_CUDA}"
    return answer, why


def _judged(line: LineCost, times: str) -> tuple[Answer, str]:
    """By the part of the step's time that the line takes."""
    found = mean(line.shares)
    if found is None:
        return CANNOT, f"{times}: too few steps were timed"
    cost = f"{times}, {found.value:.2%} of its time"
    if found.low > SIGNIFICANT:
        return "confirmed", cost
    if found.high < SIGNIFICANT:
        return "refuted", f"{cost}: less than {SIGNIFICANT:.0%}"
    return CANNOT, f"{cost}, anything from {max(0.0, found.low):.2%} to {found.high:.2%}"


def _loading(profile: Profile) -> tuple[Answer, str]:
    """By the time in which a DataLoader is waited for."""
    if not any(step.loads for step in profile.steps):
        return CANNOT, "the workload's step() asks no DataLoader for a batch: let it draw its batches as training does"
    shares = [step.loader / step.seconds for step in profile.steps if step.seconds > 0]
    line = LineCost(path="", line=0, passes=fmean(step.loads for step in profile.steps), shares=tuple(shares))
    answer, why = _judged(line, f"a DataLoader is waited for {_times(line.passes)} in a step")
    if profile.device == "cpu":
        return CANNOT, f"{why} on the CPU; beside an accelerator: {ON_CUDA}"
    return answer, why


def _retained(profile: Profile, line: LineCost) -> tuple[Answer, str]:
    """By what is still alive after each epoch."""
    found = growth(profile, profile.device)
    times = f"passed {_times(line.passes)} in a step"
    if found.value is None or found.status is Status.NOT_MEASURED:
        return CANNOT, f"{times}; {found.reason}"
    cost = f"{times}; {found.value:,.0f} bytes stay alive from each epoch to the next"
    return ("confirmed" if found.status is Status.FAIL else "refuted"), cost


def _times(count: float) -> str:
    return "once" if count == 1 else f"{count:g} times"
