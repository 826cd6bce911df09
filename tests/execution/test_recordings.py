"""Two runs of different processes are held against each other: `probe --record`, then `compare OLD NEW`."""

from __future__ import annotations

import gzip
import importlib.util
import sys
from pathlib import Path

import pytest

from verifygate.cli import main
from verifygate.execution import compared_recordings, recordings
from verifygate.model.recording import Cause, Operation, Window

torch = pytest.importorskip("torch")

PROGRAM = """
import sys
import torch
from torch import nn
dtype, seed, data = getattr(torch, sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
torch.manual_seed(seed)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(16, 32), nn.Linear(32, 4)
    def forward(self, x):
        h = OFFSET + self.a(x)
        spread = (h * h).mean(-1, keepdim=True) - h.mean(-1, keepdim=True) ** 2
        return self.b(h * spread)
net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
torch.manual_seed(data)
for step in range(4):
    x, y = torch.randn(8, 16), torch.randn(8, 4)
    with torch.autocast("cpu", dtype=dtype, enabled=dtype is not torch.float32):
        loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
GENTLE, CANCELS = PROGRAM.replace("OFFSET", "1"), PROGRAM.replace("OFFSET", "300")
EDITED = GENTLE.replace("* h).mean", "* h * 2).mean")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A function that records a program once, and gives the file."""
    made: dict[tuple[str, ...], Path] = {}

    def record(text: str, *arguments: str) -> Path:
        if (key := (text, *arguments)) not in made:
            folder = tmp_path_factory.mktemp("recorded")
            (folder / "train.py").write_text(text)
            made[key] = folder / "values.gz"
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(folder)
                patch.setenv("OMP_NUM_THREADS", "1")
                main(["probe", "--record", str(made[key]), "--", sys.executable, "train.py", *arguments])
        return made[key]

    return record


def _compared(old: Path, new: Path):
    return compared_recordings.compare(recordings.read(old), recordings.read(new))


def test_bfloat16_against_float32_is_the_same_within_rounding(recorded, capsys):
    old, new = recorded(GENTLE, "float32", "0", "1"), recorded(GENTLE, "bfloat16", "0", "1")
    assert main(["compare", str(old), str(old)]) == 0
    assert capsys.readouterr().out.endswith("the same, as far as the sketches tell\n")
    first = _compared(old, new).first
    assert (first.step, first.new.operator, first.new.module, first.cause) == (1, "addmm", "a", Cause.CAST)
    assert first.new.text == "h = 1 + self.a(x)"
    assert first.error < first.limit


@pytest.mark.slow
def test_a_cancellation_is_named_by_its_line(recorded, capsys):
    old, new = recorded(CANCELS, "float32", "0", "1"), recorded(CANCELS, "bfloat16", "0", "1")
    assert main(["compare", str(old), str(new)]) == 1
    out = capsys.readouterr().out
    assert "beyond rounding: step 1, forward `sub` in Net: train.py:13  spread = " in out
    assert "cast: float32 becomes bfloat16" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "arguments", "cause", "operator"),
    [
        (GENTLE, ("float32", "5", "1"), Cause.WEIGHTS, "a.weight"),
        (GENTLE, ("float32", "0", "2"), Cause.INPUT, "came in"),
        (EDITED, ("float32", "0", "1"), Cause.SOURCE, "mul"),
    ],
)
def test_what_explains_the_difference(recorded, text, arguments, cause, operator):
    beyond = _compared(recorded(GENTLE, "float32", "0", "1"), recorded(text, *arguments)).beyond
    assert (beyond.step, beyond.cause, beyond.new.operator) == (1, cause, operator)


@pytest.mark.slow
def test_recording_changes_no_number(recorded, tmp_path, monkeypatch, capfd):
    text = GENTLE + 'print([p.double().sum().item().hex() for p in net.parameters()], file=open("end.txt", "w"))\n'
    kept = recorded(text, "bfloat16", "0", "1").parent / "end.txt"
    (tmp_path / "train.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    main(["probe", "--", sys.executable, "train.py", "bfloat16", "0", "1"])
    assert (tmp_path / "end.txt").read_text() == kept.read_text()


def _operation(kind: str, value: float, operator: str = "w") -> Operation:
    return Operation(
        kind=kind, operator=operator, dtype="float32", device="cpu", shape=(1,), sketch=(value, value**2, 0)
    )


def test_ranks_are_held_together_by_gradients_and_weights(recorded):
    one = recordings.read(recorded(GENTLE, "float32", "0", "1"))
    window = Window(step=1, operations=(_operation("forward", 1.0, "mm"), _operation("gradient", 2.0)))
    part = Window(step=1, operations=(_operation("forward", 9.0, "mm"), _operation("gradient", 2.0)))
    alone, ranks = (one.model_copy(update={"processes": each}) for each in (((window,),), ((part,), (part,))))
    found = compared_recordings.compare(alone, ranks)
    assert (found.reduced_only, found.compared, found.first) == (True, 1, None)


def test_why_nothing_was_recorded_is_said(recorded, tmp_path, capsys):
    one = recordings.read(recorded(GENTLE, "float32", "0", "1"))
    recordings.write(
        one.model_copy(update={"processes": (), "why_not": "torch.compile is in use"}), tmp_path / "none.gz"
    )
    assert main(["compare", str(recorded(GENTLE, "float32", "0", "1")), str(tmp_path / "none.gz")]) == 2
    assert capsys.readouterr().out.endswith("NOT MEASURED: torch.compile is in use\n")


def test_a_file_that_is_no_recording(tmp_path, recorded, capsys):
    good, bad = recorded(GENTLE, "float32", "0", "1"), tmp_path / "bad.gz"
    for data in (b"{}", gzip.compress(b"{}"), good.read_bytes()[:100]):
        bad.write_bytes(data)
        assert main(["compare", str(good), str(bad)]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        assert "bad.gz" in err


@pytest.mark.parametrize("share", [1e-3, 0.5])
def test_the_distance_of_sketches_is_that_of_tensors(share):
    spec = importlib.util.spec_from_file_location(
        "sketch", Path(recordings.__file__).parents[1] / "instrument" / "values" / "sketch.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    generator = torch.Generator().manual_seed(3)
    ratios = []
    for number in (1, 7, 1000, 40_000):
        one = torch.randn(number, generator=generator)
        other = one + share * torch.randn(number, generator=generator)
        told = (module.sketch(one) - module.sketch(other))[: module.BUCKETS].norm()
        ratios.append(float(told / (one - other).double().norm()))
    assert all(0.4 < each < 1.9 for each in ratios), ratios
