"""Whole runs: scripts that a framework drives, that compute in half by themselves, or that end at an overflow."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verifygate.cli import main
from verifygate.execution.session import Session
from verifygate.execution.stream import Record
from verifygate.execution.trace_judgement import Recorded, trace_check
from verifygate.model import Place, Status, TraceSummary
from verifygate.process.subject import Completed
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources

pytest.importorskip("torch")

Probe = Callable[..., dict[str, Any]]

LOOP = """
import torch
from torch.nn import functional as F

torch.manual_seed(0)
model = MODEL
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
for number in range(4):
    optimizer.zero_grad()
    loss = F.mse_loss(model(torch.randn(8, 6)).float(), torch.randn(8, 2))
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
HALF = """
class Half(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(6, 2))

    def forward(self, inputs):
        return (inputs.half() @ self.weight.half()).float()

"""
OVERFLOW = """
import sys
import torch

def train(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            outputs = model(batch)
        loss = outputs.float().pow(2).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        CHECK
        scaler.step(optimizer)
        scaler.update()

model = torch.nn.Linear(6, 2)
train(model, torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cpu", init_scale=SCALE), [BATCH] * 9)
"""
NORM = "norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"


@pytest.fixture
def probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Probe:
    """A function that probes a script text and returns the report."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def run(text: str) -> dict[str, Any]:
        Path("train.py").write_text(text)
        main(["probe", "--format", "json", "--", sys.executable, "train.py"])
        report: dict[str, Any] = json.loads(capsys.readouterr().out)
        return report

    return run


def _found(report: dict[str, Any]) -> list[tuple[str, int, str]]:
    return [(each["rule"], each["line"], each["certainty"]) for each in report["findings"]]


def _half_loop(text: str) -> str:
    return text.replace("torch.manual_seed", f"{HALF}torch.manual_seed").replace("MODEL", "Half()")


def test_a_scaler_without_a_region(probe: Probe):
    assert _found(probe(LOOP.replace("MODEL", "torch.nn.Linear(6, 2)"))) == [("AMP303", 8, "certain")]


def test_half_that_the_module_makes_needs_no_region(probe: Probe):
    report = probe(_half_loop(LOOP))
    assert (report["outcome"], report["findings"]) == ("clean", [])


LOST = """
import torch

def half(number, batch):
    with torch.autocast("cpu", dtype=torch.float16, enabled=True if number < 1 else False):
        return model(batch).float().pow(2).mean()

model = torch.nn.Linear(6, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
batches = torch.randn(8, 8, 6)
ahead = half(0, batches[0])
for number in range(8):
    loss = half(number, batches[number])
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("if number < 1", "if number < 1", [("AMP303", 16, "certain")]),  # the first window only
        ("if number < 1", "if number < 9", []),
        ("if number < 1", "if number < 4", []),  # half of the windows
        ("loss = half(number, batches[number])", "loss, ahead = ahead, half(0, batches[number])", []),  # it runs ahead
    ],
)
def test_regions_that_are_lost_while_the_scaler_lives(probe: Probe, old: str, new: str, found: list[object]):
    text = LOST.replace(old, new)
    assert _found(probe(text)) == found


@pytest.mark.parametrize(
    ("stepped", "status", "said"),
    [
        ((), Status.NOT_APPLICABLE, "no audited file mentions AMP"),
        (
            ("AdamW: 4 of 4 tensors float16",),
            Status.NOT_MEASURED,
            "no test ran autocast or a live scaler; stepped in the tests: AdamW: 4 of 4 tensors float16",
        ),
    ],
)
def test_tests_that_step_half_weights_are_never_called_free_of_amp(stepped: tuple[str, ...], status: Status, said: str):
    """The source names no AMP, and still it trains in low precision."""
    completed = Completed((), 0, False, 1.0, "", "", 0)
    session = Session((), completed, Record(), Path(), Path())
    runs = [Recorded(TraceSummary(not_float32=stepped), (), 0)]
    check = trace_check(runs, session, on=True, sources=Sources([SourceFile("train.py", b"x = 1\n")]), asked=())
    assert (check.status, check.actual) == (status, said)


@pytest.mark.parametrize("remedy", ["", "let the entry train"])
def test_float16_that_nothing_ran_has_the_remedy_of_the_oracle(remedy: str):
    """Where an oracle needed the same run: reports tell the two as one cause."""
    completed = Completed((), 0, False, 1.0, "", "", 0)
    session = Session((), completed, Record(), Path(), Path())
    source = SourceFile("train.py", b"scaler = GradScaler()\n")
    place = Place(path="train.py", line=1, end_line=1, text="scaler = GradScaler()")
    runs = [Recorded(TraceSummary(), (), 0)]
    check = trace_check(runs, session, on=True, sources=Sources([source]), asked=[place], remedy=remedy)
    assert (check.status, check.required) == (Status.NOT_MEASURED, True)
    assert check.remedy == (remedy or "let a test train a few steps with autocast and a live scaler")


OWN = """
class Own(torch.optim.SGD):
    def step(self, closure=None):
        return super().step(closure)
"""


def test_half_precision_without_a_region_is_said(probe: Probe):
    """Float32 weights by casts of the model's own are judged; so is what half weights lose, where that is known."""
    text = _half_loop(LOOP).replace("half()", "bfloat16()").replace("scaler.scale(loss)", "loss")
    text = text.replace("scaler.step(optimizer)", "optimizer.step()").replace("    scaler.update()\n", "")
    text = text.replace('scaler = torch.amp.GradScaler("cpu", init_scale=64.0)', "")
    report = probe(text)
    said = "no autocast region: a sharding policy, or casts of the model's own, made the half precision"
    assert (report["outcome"], report["reason"]) == ("clean", said)
    text = text.replace("Half()", "Half().bfloat16()").replace("randn(8, 6)", "randn(8, 6).bfloat16()")
    report = probe(text)
    assert report["trace"]["updates"][0]["steps"] >= 4
    assert "what their updates lose" not in report["reason"]
    assert "import torch\n" in text
    report = probe(text.replace("torch.optim.SGD(", "Own(").replace("import torch\n", f"import torch\n{OWN}", 1))
    assert report["outcome"] == "NOT MEASURED"
    assert report["reason"].endswith("the weights are in low precision, and what their updates lose is not known")


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("scaler.scale(loss).backward()", "loss.backward()", [("AMP305", 21, "likely")]),
        (
            "scaler.scale(loss).backward()",
            "(64 * loss).backward(); [each.grad.div_(64) for each in model.parameters()]",
            [],
        ),
        ("self.weight.half()).float()", "self.weight.half()).float().detach() + self.weight.sum()", []),
    ],
)
def test_half_that_nothing_scales(probe: Probe, old: str, new: str, found: list[tuple[str, int, str]]):
    """A module that casts, without a scaler: wrong where its backward is in half, and nobody scales by hand."""
    text = _half_loop(LOOP).replace(old, new).replace("scaler.scale(loss)", "loss")
    text = text.replace("scaler.step(optimizer)", "optimizer.step()").replace("    scaler.update()\n", "")
    text = text.replace('scaler = torch.amp.GradScaler("cpu", init_scale=64.0)', "")
    assert _found(probe(text)) == found


@pytest.mark.parametrize(
    ("check", "scale", "batch", "found"),
    [
        (
            f"{NORM}\n        if not norm.isfinite():\n            raise ValueError('bad')",
            "2.0**127",
            "torch.ones(8, 6)",
            [("AMP214", 15, "likely")],
        ),
        (f"{NORM}\n        norm.isfinite() or sys.exit(3)", "2.0**127", "torch.ones(8, 6)", [("AMP214", 14, "likely")]),
        (
            NORM.replace("1.0)", "1.0, error_if_nonfinite=True)"),
            "2.0**127",
            "torch.ones(8, 6)",
            [("AMP214", 13, "certain")],
        ),
        (f"{NORM}\n        if norm < 1e9:\n            raise ValueError('other')", "64.0", "torch.ones(8, 6)", []),
        (
            f"{NORM}\n        if not loss.isfinite():\n            raise ValueError('bad')",
            "64.0",
            "torch.ones(8, 6) / 0",
            [],
        ),
        (
            f"{NORM}\n        if norm.isinf() and scaler.get_scale() < 2.0**124:\n            raise ValueError('bad')",
            "2.0**127",
            "torch.ones(8, 6) * 1e4",
            [],
        ),
    ],
)
def test_a_run_that_its_own_code_ends(
    probe: Probe, check: str, scale: str, batch: str, found: list[tuple[str, int, str]]
):
    report = probe(OVERFLOW.replace("CHECK", check).replace("SCALE", scale).replace("BATCH", batch))
    assert _found(report) == found
    assert report["outcome"] == ("violations" if found else "failed")


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (
            "if loss.item() < 0: scaler.step(optimizer)",
            "no optimizer step was recorded after 4 backwards: the script's own code left it out",
        ),
        ("break", "no optimizer step was recorded after 1 backward: the script's own code left it out"),
    ],
)
def test_a_guard_that_lets_no_step_through(probe: Probe, step: str, reason: str):
    text = _half_loop(LOOP).replace("scaler.step(optimizer)", step).replace("    scaler.update()\n", "")
    report = probe(text)
    assert (report["outcome"], report["reason"]) == ("NOT MEASURED", reason)


DRIVER = """
import torch

def fit(module, batches):
    for batch in batches:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            module.training_step(batch)

def region():
    return torch.autocast("cpu", dtype=torch.bfloat16)
"""
DRIVEN = """
import torch
import driver

class Module:
    def __init__(self):
        self.model = torch.nn.Linear(6, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def training_step(self, batch):
        self.optimizer.zero_grad()
        loss = self.model(batch).float().pow(2).mean()
        loss.backward()
        self.optimizer.step()

RUN
"""
LOOPED = "module = Module()\nfor _ in range(2):\n    "
DECORATED = "Module.training_step = torch.autocast('cpu', dtype=torch.bfloat16)(Module.training_step)\n"
FIT = "driver.fit(Module(), [torch.ones(8, 6)] * 3)"


@pytest.mark.parametrize(
    ("run", "found"),
    [
        (FIT, []),
        (f"{LOOPED}with driver.region():\n        module.training_step(torch.ones(8, 6))", [13, 14]),
        (f"{DECORATED}{LOOPED}module.training_step(torch.ones(8, 6))", [13, 14]),
    ],
)
def test_a_region_that_an_installed_package_opens(
    probe: Probe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: str, found: list[int]
):
    """A framework that calls the step in its own region leaves it no way out; one that is asked for a region does."""
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "driver.py").write_text(DRIVER)
    monkeypatch.setenv("PYTHONPATH", str(package))
    assert [line for _, line, _ in _found(probe(DRIVEN.replace("RUN", run)))] == found


def test_a_message_says_whose_gradients(probe: Probe):
    text = LOOP.replace(
        "MODEL", "torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.Linear(4, 2), torch.nn.Linear(2, 2))"
    )
    text = text.replace("scaler.step(optimizer)", "optimizer.step()").replace("    scaler.update()\n", "")
    found = [each for each in probe(text)["findings"] if each["rule"] == "AMP207"]
    assert found[0]["message"].endswith(
        "(gradients of SGD 1 (Sequential: 0.weight, 0.bias, 1.weight, 1.bias and 2 more))"
    )
