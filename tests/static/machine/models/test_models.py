"""Models of frameworks: what the machine makes of them is what the frameworks do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import recorded

from verifygate.base.errors import UsageError
from verifygate.config.model_files import ModelFile
from verifygate.config.rule_selection import RuleSelection
from verifygate.events.record import Event, Kind
from verifygate.static.machine.call import Library
from verifygate.static.machine.libraries import LIBRARIES, WITHOUT_CUDA, libraries_for
from verifygate.static.machine.machine import run_entry
from verifygate.static.machine.models import FOLDER, built_in, stated

sys.path.insert(0, str(Path(__file__).parents[1]))
import compare
from run_text import MAIN, program_of

from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.machine.entries import Entry
from verifygate.static.machine.values import Place
from verifygate.static.readers.judgement import options
from verifygate.static.symbols.program import Program

PROGRAMS = {each.name: each for each in recorded.programs()}


def events(text: str, libraries: tuple[Library, ...] = LIBRARIES) -> list[Event]:
    outcome = run_entry(program_of(text), Entry(MAIN), libraries)
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
    modelled = {path.stem for path in FOLDER.glob("*.py")} - {"shared"}
    recorded_for = {name for name in modelled for program in PROGRAMS if program.startswith(f"{name}_")}
    assert modelled - recorded_for == READ_ONLY
    docs = (FOLDER.parents[1] / "docs/machine.md").read_text("utf-8")
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


def with_models(*texts: str, **settings: object) -> tuple[Library, ...]:
    files = tuple(ModelFile(f"model_{number}.py", text) for number, text in enumerate(texts, 1))
    return libraries_for(RuleSelection(models=files, **settings))  # type: ignore[arg-type]


def backwards(text: str, libraries: tuple[Library, ...]) -> list[tuple[str, int, bool | None]]:
    return [(each.file, each.line, each.scaled) for each in events(text, libraries) if each.kind is Kind.BACKWARD]


def test_model_of_a_project() -> None:
    """A file of the project's own that says what an in-house framework does."""
    text = "import torch\nfrom our_trainer.core import Trainer\nTrainer(True).backward(torch.ones(1).sum())\n"
    assert backwards(text, with_models(OWN)) == [(MAIN, 3, True)]
    assert backwards(text, LIBRARIES) == []


def test_a_keyword_that_a_model_lacks_is_not_followed() -> None:
    text = "from our_trainer import Trainer\nTrainer(True, clip=1.0)\n"
    outcome = run_entry(program_of(text), Entry(MAIN), with_models(OWN))
    assert [(each.reason, each.place) for each in outcome.not_followed] == [
        ("`__init__` of the model has no parameter `clip`", Place(MAIN, 2))
    ]


def test_a_projects_model_wins_over_a_built_in_one() -> None:
    own = OWN.replace("our_trainer", "accelerate").replace("Trainer", "Accelerator").replace("half", "mixed_precision")
    text = PREPARED.format(prepare="", backward="accelerator.backward(loss)")
    assert backwards(text, with_models(own)) == [(MAIN, 8, True)]
    nothing = "MODELS = ('accelerate',)\nclass Accelerator:\n    def __init__(self, mixed_precision): pass\n"
    assert backwards(text, with_models(nothing)) == []


def test_a_projects_model_wins_over_the_trees_own_source() -> None:
    """The project names it; the tree's own source wins over a built-in model, as it does when Python imports it."""
    files = {
        MAIN: "import torch\nfrom our_trainer import Trainer\nTrainer(True).backward(torch.ones(1).sum())\n",
        "our_trainer/__init__.py": "from .core import Trainer\n",
        "our_trainer/core.py": "class Trainer:\n    def __init__(self, _): pass\n    def backward(self, loss): pass\n",
    }
    sources = Sources([SourceFile(path, text.encode()) for path, text in files.items()])

    def scaled(libraries: tuple[Library, ...]) -> list[bool | None]:
        found = run_entry(Program(sources, dict.fromkeys(sources.paths)), Entry(MAIN), libraries).events
        return [each.event.scaled for each in found if each.event.kind is Kind.BACKWARD]

    assert scaled(LIBRARIES) == []
    assert scaled(with_models(OWN)) == [True]
    assert scaled(with_models(OWN.replace('"our_trainer"', '"our_trainer.core"'))) == [True]


BROKEN = [
    ("class Trainer:\n    pass\n", "1: the model does not state what it models"),
    ("import torch\nMODELS = 'our_trainer'\n", "2: the model does not state what it models"),
    ("MODELS = ('our trainer',)\n", "1: the model does not state what it models"),
    ("MODELS = ('our_trainer',)\nclass Trainer\n", "2: the model is no Python: expected ':'"),
    ("MODELS = ('t',)\nfrom .core import x\n", "2: an import of the project's own files"),
    ("MODELS = ('t',)\nfrom torch import *\n", "2: an import of `*`"),
    ("MODELS = ('t',)\nimport threading\n", "2: `threading`"),
    ("MODELS = ('t',)\ndef f():\n    try:\n        g()\n    except OSError:\n        pass\n", "3: `except`"),
    ("MODELS = ('t',)\ndef f(x):\n    match x:\n        case 1: pass\n", "3: `match`"),
    ("MODELS = ('t',)\nasync def f(x):\n    pass\n", "2: `async`"),
    ("MODELS = ('t',)\nclass T(metaclass=M):\n    pass\n", "2: `metaclass` of a class"),
    ("MODELS = ('t',)\nclass T:\n    def __get__(self, of, kind):\n        pass\n", "3: `__get__`"),
    ("MODELS = ('t',)\ndef f(x, name):\n    setattr(x, name, 1)\n", "3: `setattr()` with a computed name"),
    ("MODELS = ('t',)\ndef f(x):\n    exec(x)\n", "3: `exec()`"),
    ("MODELS = ('t',)\ndef f(x):\n    del x[0]\n", "3: `del` of a part"),
    ("MODELS = ('t',)\ndef f(x):\n    x = yield 1\n", "3: what is sent into a generator"),
    ("import verifygate\nMODELS = ('t',)\nNEW = verifygate.at_least('t', '2')\n", "3: `verifygate.at_least('t', '2')`"),
    ("MODELS = ('t',)\nclass T(Base):\n    pass\n", "2: the model cannot be followed: `Base` is not seen to be bound"),
    ("MODELS = ('t',)\ndef f():\n    return MODS\n", "3: the model cannot be followed: `MODS` is not seen to be bound"),
]


@pytest.mark.parametrize(("text", "problem"), BROKEN)
def test_broken_model_is_one_line(text: str, problem: str) -> None:
    with pytest.raises(UsageError) as refused:
        with_models(text)
    assert str(refused.value).startswith(f"model_1.py:{problem}")
    assert refused.value.remedy
    assert "\n" not in str(refused.value)


def test_one_package_has_one_model() -> None:
    with pytest.raises(UsageError, match=r"^model_2.py:2: `our_trainer` has a model in model_1.py too \(keep one"):
        with_models(OWN, OWN)


def test_the_built_in_models_pass_what_a_projects_model_has_to() -> None:
    for model in built_in():
        name = stated(model)[0]
        assert with_models(model.file.text)[1].model(f"{name}.{min(model.bound)}") is not None
    assert ("lightning.fabric", "lightning_fabric") in map(stated, built_in())


HOOKED = """\
import torch
from transformers import Trainer, TrainerCallback
class Clip(TrainerCallback):
    def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
        torch.nn.utils.clip_grad_value_(model.parameters(), 1.0)
Trainer(model=torch.nn.Linear(2, 2), train_dataset=[1], callbacks=[Clip()]).train()
"""


@pytest.mark.parametrize(
    ("versions", "clips", "under"),
    [
        ({}, 1, ""),
        ({"transformers": "4.45.2"}, 1, ""),
        ({"transformers": "4.44.2"}, 0, ""),
        ({"transformers": ">=4.40"}, 1, "transformers >= 4.45"),
    ],
)
def test_what_a_version_changes(versions: dict[str, str], clips: int, under: str) -> None:
    """Trainer calls `on_pre_optimizer_step` from 4.45 on; a range with both is an option."""
    libraries = with_models(framework_versions=versions)
    found = run_entry(program_of(HOOKED), Entry(MAIN), libraries).events
    clipped = [each for each in found if each.event.kind is Kind.CLIP and each.event.line == 5]
    assert len(clipped) == clips
    assert {test for each in clipped for test in options(each.decisions)} == ({under} if under else set())


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
