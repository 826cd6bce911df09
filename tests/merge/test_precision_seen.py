"""What recorded runs showed of the precision stands beside what the source declares."""

from __future__ import annotations

from verifygate.merge.precision_seen import with_precision_seen
from verifygate.model import ExecutionDetails, Outcome, StageResult, StaticDetails, TraceSummary
from verifygate.model.precision_contract import Aspect, ContractRow, PrecisionContract

CONTRACT = PrecisionContract(rows=tuple(ContractRow(aspect=aspect, standing="not followed") for aspect in Aspect))


def seen(**execution: TraceSummary | None) -> dict[Aspect, str]:
    stages = (
        StageResult(stage="execution", outcome=Outcome.COMPLETED, details=ExecutionDetails(**execution)),
        StageResult(stage="static", outcome=Outcome.COMPLETED, details=StaticDetails(contract=CONTRACT)),
    )
    details = with_precision_seen(stages)[1].details
    assert isinstance(details, StaticDetails)
    return {row.aspect: row.seen for row in details.contract.rows}


def test_without_a_recorded_run_every_row_says_so() -> None:
    assert set(seen().values()) == {"no run"}


def test_a_run_shows_regions_scaler_and_weights_and_nothing_else() -> None:
    found = seen(
        trace=TraceSummary(steps=3, devices=("cpu bfloat16",), not_float32=("AdamW: 4 of 4 tensors bfloat16",))
    )
    assert found[Aspect.COMPUTE] == "autocast on cpu bfloat16"
    assert found[Aspect.LOSS_SCALE] == "no live scaler"
    assert found[Aspect.WEIGHTS] == "AdamW: 4 of 4 tensors bfloat16"
    assert found[Aspect.GRADIENTS] == "as the weights that own them"
    assert found[Aspect.REDUCTION] == "not recorded"


def test_an_emulated_run_says_that_it_is_one_and_one_without_training_shows_nothing() -> None:
    found = seen(trace=TraceSummary(events=2), emulated_trace=TraceSummary(steps=1, devices=("cuda float16",)))
    assert found[Aspect.DRIVER] == (
        "without CUDA no test ran a step of training; autocast on cuda float16; no live scaler (CUDA emulated)"
    )
    assert found[Aspect.WEIGHTS] == "float32 (CUDA emulated)"
    assert seen(trace=TraceSummary(), emulated_trace=TraceSummary())[Aspect.DRIVER] == "no test ran a step of training"
