"""Predict, before a device is rented, how much memory AMP can save: both arms take their steps with fake tensors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from verifygate.base.lifeline import temporary_folder
from verifygate.base.regular_files import MAX_ANSWER_BYTES, read_regular
from verifygate.config.performance import PerformanceSettings
from verifygate.model import Check, Evidence, EvidenceClass, Measurement, Profile, Status
from verifygate.performance.anatomy import attainable, attainable_share
from verifygate.performance.comparison import BASE, HALF
from verifygate.performance.profiling import START
from verifygate.process.subject import Completed, StartOptions, Subject

ID = "performance.memory-attainable"
DEVICE = "none: fake tensors"
SECONDS = 120.0
"""Time limit of an arm's prediction: nothing is computed."""


def predict(subject: Subject, settings: PerformanceSettings, progress: Callable[[str], None]) -> tuple[Profile, ...]:
    """The anatomy of fp32 and of bf16, of either with the reason where there is none. Float16 has bf16's sizes, and
    its scaler asks for values."""
    progress("performance: predicting memory with fake tensors")
    with ThreadPoolExecutor(2) as pool:
        return tuple(pool.map(lambda arm: _predicted(subject, settings, arm), (BASE, HALF[0])))


def _predicted(subject: Subject, settings: PerformanceSettings, arm: str) -> Profile:
    options = {"workload": settings.workload, "precision": arm, "seed": settings.seeds[0]}
    with temporary_folder() as folder:
        asked, answer = Path(folder, "options.json"), Path(folder, "answer.json")
        asked.write_text(json.dumps(options), encoding="utf-8")
        try:
            completed = subject.run(
                [str(START), "bench.predict_memory", str(asked), str(answer)],
                seconds=min(SECONDS, settings.seconds),
                start=StartOptions(safe_path=True, answers=[Path(folder)]),
            )
        except OSError as error:
            return Profile(arm=arm, reason=f"the project's interpreter cannot be started: {error.strerror}")
        return _read(arm, answer, completed)


def _read(arm: str, answer: Path, completed: Completed) -> Profile:
    try:
        told: Any = json.loads(read_regular(answer, MAX_ANSWER_BYTES))
    except OSError:
        return Profile(arm=arm, reason=f"its process ended early: {completed.ending}")
    except ValueError:
        told = None
    try:
        if "failed" in told:
            return Profile(arm=arm, reason=f"it does not run with fake tensors: {told['failed']}")
        return Profile.model_validate({"arm": arm, "device": "cpu", "anatomy": told["done"]["anatomy"]})
    except (ValidationError, TypeError, KeyError):
        return Profile(arm=arm, reason="its answer is not one that the gate's own code gives")


def measurements(predicted: Sequence[Profile], *, bound: bool) -> Iterator[Measurement]:
    """The share that AMP is predicted to save; with `bound`, also the share that it can save at the most."""
    if not predicted:
        return
    shape = Measurement(
        id="memory-predicted",
        title="Share of fp32's peak memory that AMP is predicted to save",
        metric="memory-predicted",
        unit="share",
        device=DEVICE,
        status=Status.NOT_MEASURED,
        method="one minus the peak of all live storages in a step of bf16 over that of fp32, both taken with fake "
        "tensors: copies of weights are in it; by a CPU's autocast, which lifts fewer operators to FP32 than CUDA's: "
        "there it saves rather less. What the program reads of its values were ones",
    )
    if (share := _saved(predicted)) is not None:
        yield shape.model_copy(update={"status": Status.NOT_APPLICABLE, "value": share})
    else:
        yield shape.model_copy(update={"reason": _why_not(predicted)})
    if bound and (most := attainable(predicted, DEVICE)) is not None:
        yield most


def check(predicted: Sequence[Profile], target: float | None) -> Check:
    """Whether the memory target can be met at all, told without a device. Advice: the measurement decides."""
    shape = Check(
        id=ID,
        title="The memory target can be met by autocast",
        status=Status.NOT_APPLICABLE,
        required=False,
        weight=0,
        expected=f"AMP can save {target:.0%} of fp32's peak on this workload"
        if target
        else "nothing: no target is set",
    )
    share, base = _saved(predicted), next((each.anatomy for each in predicted if each.arm == BASE), None)
    if not target:
        return shape
    if share is None or base is None:
        return shape.model_copy(update={"status": Status.NOT_MEASURED, "actual": _why_not(predicted)})
    most = attainable_share(base)
    if most < target:
        status, told = Status.FAIL, f"not attainable: {most:.1%} at the most, and {share:.1%} is predicted"
    elif share >= target:
        status, told = Status.PASS, f"attainable: {share:.1%} is predicted, and {most:.1%} is the most there is"
    else:
        status, told = (
            Status.PARTIAL,
            f"{share:.1%} is predicted of the program as it is; {most:.1%} is the most there is",
        )
    evidence = Evidence(id=f"E-{ID}", kind=EvidenceClass.EMULATED, summary="a step of each arm with fake tensors")
    remedies = {
        Status.FAIL: "set a target below it, or save what autocast does not: the optimizer's state, or activations "
        "that are computed again (checkpointing)",
        Status.PARTIAL: "look for what stays float32 in the forward: operators that autocast lifts, regions without it",
    }
    update = {"status": status, "actual": told, "evidence": (evidence,), "remedy": remedies.get(status, "")}
    return shape.model_copy(update=update)


def _saved(predicted: Sequence[Profile]) -> float | None:
    peaks = {each.arm: each.anatomy.peak for each in predicted if each.anatomy is not None}
    base, half = peaks.get(BASE), peaks.get(HALF[0])
    return None if not base or not half else 1 - half / base


def _why_not(predicted: Sequence[Profile]) -> str:
    return "; ".join(f"{each.arm}: {each.reason}" for each in predicted if each.reason) or "nothing was predicted"
