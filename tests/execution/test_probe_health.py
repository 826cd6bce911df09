"""`probe --health` and `--shadow`: the numbers are right, and the run is not changed."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from write_docs import DOCS

from verifygate.cli import main
from verifygate.execution.health import health
from verifygate.execution.health_text import lines
from verifygate.execution.parameter_movement import movements
from verifygate.model.health import HealthReport, HealthRow, Movement, ParameterMovement, ShadowRow

torch = pytest.importorskip("torch")

NET = """
import random, sys, torch
torch.manual_seed(0)
random.seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.norm, self.drop = torch.nn.Linear(16, 32), torch.nn.BatchNorm1d(32), torch.nn.Dropout(0.2)
        self.coarse, self.down, self.calls = torch.nn.Linear(32, 32), torch.nn.Linear(32, 4), 0
    def forward(self, x):
        self.calls += 1
        h = self.drop(torch.relu(self.norm(self.up(x)))) * (1 + random.random())
        INSIDE
        return self.down(h)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
for number in range(6):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = torch.nn.functional.mse_loss(model(torch.randn(8, 16)), torch.randn(8, 4))
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
torch.save([model.state_dict(), model.calls, random.random(), torch.rand(1), loss], sys.argv[1])
"""
PLAIN = NET.replace("INSIDE", "h = torch.relu(self.coarse(h))")


@pytest.fixture
def probed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """A function that probes a script text and returns the report's `health`, and what the script saved."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def run(text: str, *options: str):
        Path("train.py").write_text(text)
        main(["probe", *options, "--format", "json", "--", sys.executable, "train.py", "saved.pt"])
        report = json.loads(capsys.readouterr().out)
        jsonschema.validate(report, json.loads((DOCS / "schemas" / "probe.schema.json").read_text()))
        assert report["outcome"] == "clean", report["reason"]
        return report["health"], torch.load("saved.pt")

    return run


@pytest.mark.slow
def test_the_run_is_the_same_with_and_without(probed):
    none, plain = probed(PLAIN)
    health, shadowed = probed(PLAIN, "--shadow")
    assert none is None
    assert health["shadow_steps"] == [1, 2, 3, 4]
    assert not health["not_shadowed"]
    assert {row["what"] for row in health["shadow"]} == {"output", "gradient"}
    for name, value in plain[0].items():
        assert torch.equal(value, shadowed[0][name]), name
    assert plain[1:3] == shadowed[1:3]
    assert torch.equal(plain[3], shadowed[3])
    assert torch.equal(plain[4], shadowed[4])


@pytest.mark.slow
def test_the_module_that_suffers_comes_first(probed):
    rounded = "h = torch.relu(self.coarse(h) + 3000.0) - 3000.0"  # beyond 2048 float16 keeps even numbers only
    health, _ = probed(NET.replace("INSIDE", rounded), "--shadow")
    outputs = {row["name"]: row["error"] for row in health["shadow"] if row["what"] == "output"}
    assert set(list(outputs)[:2]) == {"Net", "down"}
    assert outputs["down"] > 0.05
    assert max(error for name, error in outputs.items() if name not in ("Net", "down")) < 5e-3
    assert list(outputs.values()) == sorted(outputs.values(), reverse=True)


VALUES = """
import sys, torch
class Fixed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))
    def forward(self, x):
        return (x * self.weight).half()
model = Fixed()
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
for number in range(3):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        out = model(torch.tensor([1.0, 2.0, 4.0, 1024.0]))
    loss = (out.float() * torch.tensor([0.0, 2.0**-20, 1.0, 2.0])).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
torch.save(0, sys.argv[1])
"""


@pytest.mark.slow
def test_the_numbers_by_hand(probed):
    health, _ = probed(VALUES, "--health")
    row = next(row for row in health["rows"] if not row["parameter"])
    assert health["steps"] == [1, 2, 3]
    assert (row["dtype"], row["activation"], row["gradient"]) == ("float16", 1024.0, 16.0)
    assert row["activation_headroom"] == pytest.approx(math.log2(65504 / 1024))
    assert row["gradient_headroom"] == pytest.approx(math.log2(65504 / 16))
    assert (row["zero"], row["subnormal"], row["overflows"]) == (0.25, 0.25, 0)
    assert health["suitable_scale"] == 2.0 ** math.floor(math.log2(32752 / 2))
    assert [each["movement"] for each in health["movements"]] == ["learning rate 0"]


REFUSED = {
    "h = h + next(BATCHES)": "next()",
    "h = h + torch.randn(8, 32, generator=GENERATOR)": "a generator of its own",
    "global SUM; SUM = float(h.sum())": "a variable outside",
}


@pytest.mark.slow
@pytest.mark.parametrize("inside", REFUSED)
def test_what_cannot_be_repeated_says_why(probed, inside: str):
    setup = "BATCHES, GENERATOR, SUM = iter(torch.zeros(9, 32)), torch.Generator().manual_seed(1), 0\nmodel = Net()"
    text = NET.replace("INSIDE", inside).replace("model = Net()", setup)
    health, shadowed = probed(text, "--shadow")
    _, plain = probed(text)
    assert [REFUSED[inside] in why for why in health["not_shadowed"]] == [True]
    assert not health["shadow"]
    assert torch.equal(plain[4], shadowed[4])


@pytest.mark.slow
def test_state_that_is_kept_elsewhere_is_noticed(probed):
    text = NET.replace("INSIDE", "SEEN.append(1); h = h * len(SEEN)").replace(
        "model = Net()", "SEEN = []\nmodel = Net()"
    )
    health, _ = probed(text, "--shadow")
    assert not health["shadow"]
    assert "another when it is computed again" in health["not_shadowed"][0]


SUITS = """
import sys, torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
scaler = torch.amp.GradScaler("cpu", init_scale=SCALE)
x, y = torch.randn(512, 64), torch.randn(512, 64)
largest = 0.0
for _ in range(3):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = (model(x).float() - y).pow(2).mean()
    scaler.scale(loss).backward()
    largest = max(float(each.grad.abs().max()) for each in model.parameters())
    scaler.step(optimizer)
    scaler.update(SCALE)
torch.save(largest, sys.argv[1])
"""


@pytest.mark.slow
def test_a_scale_that_suits_is_the_largest_that_leaves_a_doubling(probed):
    """A weight's gradient is summed in float16 over the batch: it overflows long before any module's own."""
    health, largest = probed(SUITS.replace("SCALE", "256.0"), "--health")
    assert {row["name"] for row in health["rows"] if row["parameter"]} == {"0.weight", "0.bias", "2.weight", "2.bias"}
    suits = health["suitable_scale"]
    assert max(row["gradient"] for row in health["rows"] if not row["parameter"]) < largest / 8
    assert 32752 / 2 < largest / 256 * suits <= 32752
    for scale, holds in ((suits, True), (4 * suits, False)):
        Path("train.py").write_text(SUITS.replace("SCALE", str(scale)))
        subprocess.run([sys.executable, "train.py", "saved.pt"], check=True)
        assert math.isfinite(torch.load("saved.pt")) is holds


TWINS = """
import sys, torch
torch.manual_seed(0)
def net():
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8))
one, other = net(), net()
torch.nn.init.constant_(other[0].weight, 4.0)
optimizer = torch.optim.SGD([*one.parameters(), *other.parameters()], lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
for number in range(2):
    optimizer.zero_grad()
    for _ in range(3):  # accumulation
        x = torch.rand(4, 8)
        with torch.autocast("cpu", dtype=torch.float16):
            loss = one(x).float().pow(2).mean()
        scaler.scale(loss).backward()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = other(x).float().pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
torch.save(0, sys.argv[1])
"""


@pytest.mark.slow
def test_two_models_of_one_class_have_rows_of_their_own(probed):
    """And what is accumulated over several calls is compared by its first one."""
    health, _ = probed(TWINS, "--shadow")
    largest = {row["name"]: row["activation"] for row in health["rows"] if not row["parameter"]}
    twins = {"Sequential", "Sequential 2"}
    assert set(largest) == {f"{model}{part}" for model in twins for part in ("", ".0", ".1", ".2")}
    assert largest["Sequential 2.0"] > 2 * largest["Sequential.0"]
    assert health["shadow_steps"] == [1, 2]
    assert not health["not_shadowed"]
    assert {row["name"] for row in health["shadow"]} == {"Sequential", "Sequential.0", "Sequential.1", "Sequential.2"}
    assert all(row["error"] < 5e-3 for row in health["shadow"])
    assert {row["name"] for row in health["shadow"] if row["what"] == "gradient"} == {"Sequential.0", "Sequential.2"}


def test_gradients_that_overflow_while_the_scale_is_found_hide_no_error() -> None:
    """Of an output it is the worst there is; of a gradient it counts only where no step was finite."""

    def compared(what: str, *errors: float) -> dict[str, object]:
        return {
            "event": "health-shadow", "why_not": "",
            "rows": [{"what": what, "name": "head", "elements": 4, "flushed": 0, "error": each} for each in errors],
        }  # fmt: skip

    inf = float("inf")
    told = [{**compared("gradient", error), "step": step} for step, error in enumerate((inf, 2e-3, 1e-3), 1)]
    (row,) = health(told).shadow
    assert (row.error, row.errors) == (2e-3, ((1, None), (2, 2e-3), (3, 1e-3)))
    assert "  left out, where not finite: step 1" in lines(HealthReport(steps=(1, 2, 3), shadow=(row,)))
    for what, errors in (("gradient", (inf, inf)), ("output", (inf, 1e-3))):
        (row,) = health([{**compared(what, error), "step": step} for step, error in enumerate(errors, 1)]).shadow
        assert row.error is None


@pytest.mark.parametrize(("gradient", "movement"), [(True, Movement.SKIPPED), (False, Movement.NO_GRADIENT)])
def test_where_no_step_was_made_a_parameter_without_a_gradient_says_so(gradient: bool, movement: Movement) -> None:
    """A head that was replaced after its optimizer was made: nothing skips it, it never gets a gradient."""
    row = {
        "name": "head", "dtype": "float32", "trainable": True, "optimized": True, "gradient": gradient, "sparse": False,
        "changed": False, "rate": 0.1, "stepped": 0, "moved": 0, "began_alike": 0, "reached": 0, "unmoved": 0,
    }  # fmt: skip
    (told,) = movements([{"event": "parameter-moves", "windows": 4, "steps": 0, "rows": [row]}])
    assert told.movement is movement


def test_modules_that_hand_on_one_tensor_are_one_line():
    figures = {"kind": "X", "dtype": "float16", "activation": 2.0, "gradient": 3.0, "zero": 0.0, "subnormal": 0.0}
    rows = [HealthRow(name=name, parameter=False, **figures) for name in ("a.lin", "a.drop", "a")]
    rows += [HealthRow(name="a.lin.weight", parameter=True, overflows=1, **(figures | {"gradient": None}))]
    shadow = [ShadowRow(name=name, what="output", error=0.25) for name in ("a.lin", "a")]
    shadow += [ShadowRow(name=name, what="output", error=0.0) for name in ("b", "c")]
    frozen = ParameterMovement(name="ema.weight", dtype="float32", movement=Movement.FROZEN_MOVED)
    told = lines(HealthReport(steps=(1,), rows=tuple(rows), shadow=tuple(shadow), movements=(frozen,), seconds=123.4))
    table = [line.split()[0] for line in told if line.startswith("  ")]
    assert table == ["least", "a.lin.weight", "a.lin", "name", "a.lin", "b", "c"]
    assert told[1].endswith("took 123 s)")
    plain = [" ".join(line.split()) for line in told]
    assert "a.lin.weight float16 - - inf or NaN - 0.0% 0.0%" in plain
    assert "a.lin (+2 alike) float16 2 - 3 - 0.0% 0.0%" in plain
    assert told[-1] == "parameters in the first steps: 1 moved though frozen"
