"""Fill the precision contract with what the recorded run showed, and with what the specification asks for, beside what
the source declares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from verifygate.model import ExecutionDetails, RequirementsDetails, StageResult, StaticDetails, TraceSummary
from verifygate.model.precision_contract import NO_RUN, AskedPrecision, Aspect, PrecisionContract

_NOT_RECORDED = "not recorded"
_NO_STEP = "no test ran a step of training"


def with_precision_seen(stages: Sequence[StageResult]) -> tuple[StageResult, ...]:
    """The stages' results; without a recorded run, or without a contract, as they are."""
    execution = next((each.details for each in stages if isinstance(each.details, ExecutionDetails)), None)
    seen = _seen(execution) if execution is not None else {}
    asked = {
        each.aspect: each
        for stage in stages if isinstance(stage.details, RequirementsDetails) for each in stage.details.precision
    }  # fmt: skip
    if not seen and not asked:
        return tuple(stages)
    return tuple(
        stage.model_copy(update={"details": _filled(stage.details, seen, asked)})
        if isinstance(stage.details, StaticDetails)
        else stage
        for stage in stages
    )


def _filled(details: StaticDetails, seen: dict[Aspect, str], asked: dict[Aspect, AskedPrecision]) -> StaticDetails:
    other = _NOT_RECORDED if seen else NO_RUN
    rows = (
        replace(row, seen=seen.get(row.aspect, other), asked=asked.get(row.aspect)) for row in details.contract.rows
    )
    return details.model_copy(update={"contract": PrecisionContract(rows=tuple(rows))})


def _seen(execution: ExecutionDetails) -> dict[Aspect, str]:
    """What the runs showed; where one was emulated, it says so."""
    found: dict[Aspect, list[str]] = {}
    for trace, suffix in ((execution.trace, ""), (execution.emulated_trace, " (CUDA emulated)")):
        for aspect, text in _of(trace) if trace is not None else ():
            found.setdefault(aspect, []).append(text + suffix)
    if set(found) <= {Aspect.DRIVER}:  # no run showed anything
        return dict.fromkeys(found, _NO_STEP)
    found[Aspect.DRIVER] = [f"without CUDA {_NO_STEP}" if each == _NO_STEP else each for each in found[Aspect.DRIVER]]
    return {aspect: "; ".join(dict.fromkeys(texts)) for aspect, texts in found.items()}


def _of(trace: TraceSummary) -> list[tuple[Aspect, str]]:
    """The dtypes of one run. Counts of what was skipped may differ from run to run, and are not told here."""
    if not (trace.steps or trace.devices or trace.scales):
        return [(Aspect.DRIVER, _NO_STEP)]
    regions = ", ".join(f"autocast on {each}" for each in trace.devices) or "no autocast region"
    scaled = "a live scaler" if trace.scales else "no live scaler"
    told = [(Aspect.DRIVER, f"{regions}; {scaled}"), (Aspect.COMPUTE, regions), (Aspect.LOSS_SCALE, scaled)]
    if trace.steps:
        told.append((Aspect.WEIGHTS, ", ".join(trace.not_float32) or "float32"))
        told.append((Aspect.GRADIENTS, "as the weights that own them"))
    return told
