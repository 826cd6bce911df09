"""Float16 that the code asks for has to be seen at work: here, with CUDA emulated, or in an entry of the oracles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from verifygate.execution.asked_float16 import asked_float16
from verifygate.model import Check, EvidenceClass, ExecutionDetails, StageResult, Status
from verifygate.sources.discovery import read_sources
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


def asked(folder: Path, **files: str) -> list[tuple[str, int]]:
    """Where a project asks for float16: `__` in a name stands for a slash, `_dot_` for a dot."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [(each.path, each.line) for each in asked_float16(read_sources(folder, ["."]))]


OPEN = "from accelerate import Accelerator\naccelerator = Accelerator()\n"
OF_ACCELERATE = "compute_environment: LOCAL_MACHINE\nmixed_precision: {}\n"
ARGUMENTS = "import transformers\nparser = transformers.HfArgumentParser(transformers.TrainingArguments)\n"


def test_a_configuration_alone_asks_for_float16(tmp_path: Path) -> None:
    assert asked(tmp_path, train_dot_py=OPEN, accelerate_dot_yaml=OF_ACCELERATE.format("fp16")) == [
        ("accelerate.yaml", 2)
    ]


@pytest.mark.parametrize(
    ("train", "name", "text", "line"),
    [
        (
            "import hydra, lightning\n@hydra.main(config_path='conf', config_name='main')\ndef main(cfg): ...\n",
            "conf__main_dot_yaml",
            "trainer:\n  _target_: lightning.Trainer\n  precision: 16-mixed\n",
            3,
        ),
        (
            "import deepspeed, torch\ndeepspeed.initialize(args=args, config='ds.json')\n",
            "ds_dot_json",
            '{\n "train_batch_size": 8,\n "fp16": {"enabled": true}\n}\n',
            3,
        ),
        (
            ARGUMENTS,
            "arguments_dot_json",
            '{\n "output_dir": "out",\n "num_train_epochs": 3,\n "fp16": true\n}\n',
            4,
        ),
        (OPEN, "run_dot_sh", "#!/bin/sh\naccelerate launch --mixed_precision fp16 train.py\n", 2),
        (ARGUMENTS, "run_dot_sh", "python train.py --output_dir out --fp16\n", 1),
    ],
)
def test_each_kind_of_configuration_asks_for_float16(
    tmp_path: Path, train: str, name: str, text: str, line: int
) -> None:
    files = {"train_dot_py": train, name: text}
    path = name.replace("__", "/").replace("_dot_", ".")
    assert asked(tmp_path, **files) == [(path, line)]
    files[name] = text.replace("fp16", "bf16").replace("16-mixed", "bf16-mixed")
    assert asked(tmp_path, **files) == []


def test_the_default_of_an_option_asks_for_float16(tmp_path: Path) -> None:
    train = """
import argparse
from accelerate import Accelerator
parser = argparse.ArgumentParser()
parser.add_argument(
    "--mixed-precision",
    default="fp16",
)
args = parser.parse_args()
accelerator = Accelerator(mixed_precision=args.mixed_precision)
"""
    assert asked(tmp_path, train_dot_py=train) == [("train.py", 7)]
    assert asked(tmp_path, train_dot_py=train.replace('"fp16"', '"bf16"')) == []
    assert asked(tmp_path, train_dot_py=train.replace("=args.mixed_precision", "=other.mixed")) == []


@pytest.mark.parametrize(
    "files",
    [
        {"train_dot_py": OPEN.replace("()", "(mixed_precision='bf16')")},  # the code has the last word
        {"train_dot_py": "import torch\n"},  # nothing there takes it
        {"other_dot_yaml": OF_ACCELERATE.format("bf16")},  # which of the two is used, nothing says
        {"run_dot_sh": "accelerate launch --config_file b/bf16.yaml train.py\n",
         "b__bf16_dot_yaml": OF_ACCELERATE.format("bf16")},
        {"tests__accelerate_dot_yaml": OF_ACCELERATE.format("fp16"), "fp16_dot_yaml": "a: 1\n"},
    ],
)  # fmt: skip
def test_a_configuration_that_is_not_in_force_asks_for_nothing(tmp_path: Path, files: dict[str, str]) -> None:
    project = {"train_dot_py": OPEN, "fp16_dot_yaml": OF_ACCELERATE.format("fp16")}
    assert asked(tmp_path, **(project | files)) == []


@pytest.mark.slow
def test_what_only_a_configuration_asks_for_is_run_again_with_cuda_emulated(run_suite: Run) -> None:
    pytest.importorskip("accelerate")
    result = run_suite("configures_float16", seconds=900.0)
    trace = check(result)

    assert (trace.status, trace.required) == (Status.PASS, False)
    assert trace.actual == "no violation in 1 test with CUDA emulated, with AMP at work"


@pytest.mark.slow
def test_what_only_a_configuration_asks_for_and_nothing_shows_blocks(run_suite: Run) -> None:
    pytest.importorskip("torch")
    trace = check(run_suite("configures_float16", seconds=900.0, emulate_cuda=False))

    assert (trace.status, trace.required) == (Status.NOT_MEASURED, True)
    assert trace.actual.startswith("float16 is asked for at accelerate.yaml:2, and no step of its code with")
    assert [(each.path, each.line) for each in trace.evidence] == [("accelerate.yaml", 2)]


@pytest.mark.slow
def test_tests_that_trained_in_float32_run_again_with_cuda_emulated(run_suite: Run) -> None:
    pytest.importorskip("torch")
    result = run_suite("asks_float16", seconds=900.0, pytest=("test_right.py",))
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
    emulated = check(run_suite("asks_float16", seconds=900.0, pytest=("test_right.py",)), "execution.emulated")

    assert emulated.status is Status.NOT_APPLICABLE


@pytest.mark.slow
def test_a_fault_that_only_a_live_scaler_shows_is_found(run_suite: Run) -> None:
    pytest.importorskip("torch")
    result = run_suite("asks_float16", seconds=900.0, pytest=("test_wrong.py",))

    assert check(result).status is Status.FAIL
    assert {each.kind for each in check(result).evidence} == {EvidenceClass.EMULATED}
    assert [(each.rule, each.path, each.line) for each in result.findings] == [("AMP201", "loop.py", 20)]


@pytest.mark.slow
def test_without_emulation_it_is_not_measured_and_blocks(run_suite: Run) -> None:
    pytest.importorskip("torch")
    trace = check(run_suite("asks_float16", seconds=900.0, pytest=("test_right.py",), emulate_cuda=False))

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
    trace = check(run_suite("asks_float16", seconds=900.0, pytest=("test_untrained.py",)))

    assert (trace.status, trace.required) == (Status.NOT_MEASURED, True)
    assert [(each.path, each.line) for each in trace.evidence] == [("loop.py", 11)]
