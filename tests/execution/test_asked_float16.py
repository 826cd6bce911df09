"""Float16 that the code asks for has to be seen at work: here, with CUDA emulated, or in an entry of the oracles."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verifygate.execution.asked_float16 import asked_float16
from verifygate.model import Check, EvidenceClass, ExecutionDetails, StageResult, Status
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources

Run = Callable[..., StageResult]


def check(result: StageResult, name: str = "execution.trace") -> Check:
    return next(check for check in result.checks if check.id == name)


@pytest.mark.parametrize(
    "line",
    [
        'scaler = torch.amp.GradScaler("cuda")',
        'scaler = GradScaler("cuda", enabled=amp)',
        "scaler = ShardedGradScaler()",
        'trainer = Trainer(precision="16-mixed")',
        "trainer = Trainer(precision=16, max_epochs=1)",
        "accelerator = Accelerator(mixed_precision='fp16')",
        "arguments = TrainingArguments(output, fp16=True)",
        "policy = MixedPrecisionPolicy(param_dtype=torch.float16, reduce_dtype=torch.float32)",
        "policy = MixedPrecision(reduce_dtype=torch.float32, param_dtype=torch.half)",
    ],
)
def test_what_asks_for_float16(line: str) -> None:
    (place,) = asked_float16(Sources([SourceFile("train.py", f"import torch\n{line}\n".encode())]))
    assert (place.path, place.line, place.text) == ("train.py", 2, line)


@pytest.mark.parametrize(
    "line",
    [
        'scaler = GradScaler("cuda", enabled=False)',
        "scaler = GradScaler(device_of(model), init_scale=2.0 ** 10, enabled=False)",
        "scaler: GradScaler | None = None",
        'trainer = Trainer(precision="bf16-mixed")',
        'trainer = Trainer(precision="16-true")',
        "trainer = Trainer(precision=32)",
        'accelerator = Accelerator(mixed_precision="bf16")',
        "arguments = TrainingArguments(output, fp16=False, bf16=True)",
        "policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float16)",
        '# scaler = GradScaler("cuda")',
        '"""\nscaler = GradScaler()\n"""',
    ],
)
def test_what_does_not(line: str) -> None:
    assert not asked_float16(Sources([SourceFile("train.py", f"{line}\n".encode())]))


def test_a_test_asks_for_nothing() -> None:
    assert not asked_float16(Sources([SourceFile("tests/test_train.py", b"scaler = GradScaler()\n")]))


@pytest.mark.slow
def test_tests_that_trained_in_float32_run_again_with_cuda_emulated(run_suite: Run) -> None:
    pytest.importorskip("torch")
    result = run_suite("asks_float16", seconds=200.0, pytest=("test_right.py",))
    trace = check(result)

    assert (trace.status, trace.required) == (Status.PASS, False)
    assert trace.actual == "no violation in 2 tests with CUDA emulated, with AMP at work"
    assert {each.kind for each in trace.evidence} == {EvidenceClass.EMULATED}
    assert isinstance(result.details, ExecutionDetails)
    assert result.details.emulated_trace is not None
    assert dict(result.details.emulated_trace.counts)["scaler.step"] == 3


@pytest.mark.slow
def test_a_pass_that_does_not_hold_there_is_not_held_against_the_code(run_suite: Run) -> None:
    """`test_holds_on_a_cpu_alone` fails with CUDA emulated."""
    pytest.importorskip("torch")
    emulated = check(run_suite("asks_float16", seconds=200.0, pytest=("test_right.py",)), "execution.emulated")

    assert emulated.status is Status.NOT_APPLICABLE


@pytest.mark.slow
def test_a_fault_that_only_a_live_scaler_shows_is_found(run_suite: Run) -> None:
    pytest.importorskip("torch")
    result = run_suite("asks_float16", seconds=200.0, pytest=("test_wrong.py",))

    assert check(result).status is Status.FAIL
    assert {each.kind for each in check(result).evidence} == {EvidenceClass.EMULATED}
    assert [(each.rule, each.path, each.line) for each in result.findings] == [("AMP201", "loop.py", 20)]


@pytest.mark.slow
def test_without_emulation_it_is_not_measured_and_blocks(run_suite: Run) -> None:
    pytest.importorskip("torch")
    trace = check(run_suite("asks_float16", seconds=200.0, pytest=("test_right.py",), emulate_cuda=False))

    assert (trace.status, trace.required) == (Status.NOT_MEASURED, True)
    assert trace.actual == (
        "float16 is asked for at loop.py:11, and no step of its code with a live scaler was recorded: "
        "turned off by "
        "`execution.emulate_cuda = false` or `--no-emulate-cuda`"
    )


@pytest.mark.slow
def test_what_no_test_trains_is_not_measured_and_blocks(run_suite: Run) -> None:
    """A test there steps with a scaler of its own, which shows nothing of the project's code."""
    pytest.importorskip("torch")
    trace = check(run_suite("asks_float16", seconds=200.0, pytest=("test_untrained.py",)))

    assert (trace.status, trace.required) == (Status.NOT_MEASURED, True)
    assert [(each.path, each.line) for each in trace.evidence] == [("loop.py", 11)]
