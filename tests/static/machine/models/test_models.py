"""Models of frameworks: what the machine makes of them is what the frameworks do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import recorded

from verifygate.base.errors import UsageError
from verifygate.events.record import Event, Kind
from verifygate.static.machine.libraries import LIBRARIES, WITHOUT_CUDA
from verifygate.static.machine.machine import run_entry
from verifygate.static.machine.models import BUILT_IN, Models, read_model, stated

sys.path.insert(0, str(Path(__file__).parents[1]))
import compare
from run_text import MAIN, program_of

from verifygate.static.machine.entries import Entry

PROGRAMS = {each.name: each for each in recorded.programs()}


def events(text: str, libraries: tuple[object, ...] = LIBRARIES) -> list[Event]:
    outcome = run_entry(program_of(text), Entry(MAIN), libraries)  # type: ignore[arg-type]
    assert outcome.ended == ""
    return [each.event for each in outcome.events]


@pytest.mark.parametrize("name", PROGRAMS)
def test_model_is_what_the_framework_does(name: str) -> None:
    """Every event of the real run is the machine's, and no other one at a line that ran."""
    program = PROGRAMS[name]
    version, run = recorded.kept()[name]
    assert version.partition("-")[0] == name.partition("_")[0]
    assert (run.digest, run.ended) == (program.digest, ""), "record it again: recorded.py"
    text = (program.folder / program.entry).read_text("utf-8")
    theirs = [
        each
        for each in events(text.replace("\r", ""), LIBRARIES if program.has_cuda else WITHOUT_CUDA)
        if each.file == MAIN
    ]
    shown = [recorded.at(each, MAIN) for each in run.events]
    sound, precise = compare.covered(shown, theirs), compare.precise(shown, theirs, {MAIN: run.lines[program.entry]})
    assert (dict(sound.missing), dict(precise.missing)) == ({}, {})


READ_ONLY = {"apex", "torch_xla", "transformer_engine"}
"""Not installable here: `test_models_that_are_not_proved.py`."""


def test_every_model_is_proved() -> None:
    """A model has a recording, or the docs say that it is not proved."""
    modelled = {path.stem for path in BUILT_IN.glob("*.py")}
    recorded_for = {name for name in modelled for program in PROGRAMS if program.startswith(f"{name}_")}
    assert modelled - recorded_for == READ_ONLY
    docs = (BUILT_IN.parents[1] / "docs/machine.md").read_text("utf-8")
    rows = {name: line for name in modelled for line in docs.splitlines() if line[:1] == "|" and f"`{name}.py`" in line}
    assert {name for name, line in rows.items() if "not proved" in line} == READ_ONLY
    assert set(rows) == modelled


PREPARED = """\
import torch
from accelerate import Accelerator
accelerator = Accelerator(mixed_precision="fp16")
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters())
{prepare}
loss = model(torch.randn(2)).sum()
{backward}
optimizer.step()
"""


def test_a_model_has_no_place() -> None:
    """What a framework does happens at the project's line; what it computes for itself is no operator."""
    given = {
        "prepare": "model, optimizer = accelerator.prepare(model, optimizer)",
        "backward": "accelerator.backward(loss)",
    }
    found = events(PREPARED.format(**given))
    assert {frame.path for each in found for frame in each.frames} == {MAIN}
    lines = {each.kind: each.line for each in found}
    assert (lines[Kind.BACKWARD], lines[Kind.SCALER_STEP], lines[Kind.STEP]) == (8, 9, 9)
    assert [each.operator for each in found if each.kind is Kind.OPERATOR] == ["torch.randn", "torch.Tensor.sum"]


@pytest.mark.parametrize(
    ("prepare", "backward", "is_scaled", "steps_through_scaler"),
    [
        ("model, optimizer = accelerator.prepare(model, optimizer)", "accelerator.backward(loss)", True, True),
        ("model, optimizer = accelerator.prepare(model, optimizer)", "loss.backward()", False, True),
        ("model = accelerator.prepare(model)", "accelerator.backward(loss)", True, False),
    ],
)
def test_what_goes_past_a_framework(prepare: str, backward: str, is_scaled: bool, steps_through_scaler: bool) -> None:
    """A backward past the framework and a step past it are the ordinary events: no rule need know the framework."""
    found = events(PREPARED.format(prepare=prepare, backward=backward))
    assert [each.scaled for each in found if each.kind is Kind.BACKWARD] == [is_scaled]
    assert any(each.kind is Kind.SCALER_STEP for each in found) is steps_through_scaler


OWN = """\
import torch
MODELS = ("our_trainer",)
class Trainer:
    def __init__(self, half):
        self.scaler = torch.amp.GradScaler("cuda", enabled=half)
    def backward(self, loss):
        self.scaler.scale(loss).backward()
"""


def test_model_of_a_project(tmp_path: Path) -> None:
    """A file of the project's own that says what an in-house framework does."""
    (tmp_path / "our_trainer_model.py").write_text(OWN, "utf-8")
    text = "import torch\nfrom our_trainer.core import Trainer\nTrainer(True).backward(torch.ones(1).sum())\n"
    with_model = events(text, (*LIBRARIES, Models([tmp_path / "our_trainer_model.py"])))
    assert [(each.line, each.scaled) for each in with_model if each.kind is Kind.BACKWARD] == [(3, True)]
    assert not any(each.kind is Kind.BACKWARD for each in events(text))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("class Trainer:\n    pass\n", "does not state what it models"),
        ("MODELS = 'our_trainer'\n", "does not state what it models"),
        ("MODELS = ('our_trainer',\n", "is not Python"),
        (None, "cannot be read"),
    ],
)
def test_broken_model_is_one_line(tmp_path: Path, text: str | None, problem: str) -> None:
    path = tmp_path / "model.py"
    if text is not None:
        path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=problem):
        read_model(path)


def test_what_models_state() -> None:
    assert stated(read_model(BUILT_IN / "fabric.py")) == ("lightning.fabric", "lightning_fabric")


def test_hooks_run_around_a_forward() -> None:
    """What they give stands in for the input and for the output."""
    found = events(
        "import torch\n"
        "net = torch.nn.Linear(2, 2).half()\n"
        "net.register_forward_pre_hook(lambda module, args: tuple([each.half() for each in args]))\n"
        "net.register_forward_hook(lambda module, args, output: output.double())\n"
        "net(torch.ones(2)).sum()\n"
    )
    at_call = {each.operator: each.dtypes_in for each in found if each.line == 5}
    assert at_call["torch.nn.functional.linear"] == (frozenset({"float16"}),) * 3
    assert at_call["torch.Tensor.sum"] == (frozenset({"float64"}),)
