"""A step that the scaler skips has a cause: an operation, or the search for its scale. Without one no run is clean."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from verifygate.cli import main
from verifygate.execution.numerics import numerics, skips_without_cause
from verifygate.execution.recorded_trace import Event, Section, Trace

pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("scales", "caused", "known", "unexplained"),
    [
        ("16? 8? 4 4", (), None, (0, 0)),
        ("16 16 16! 8 8", (), None, (1, 3)),
        ("16 16 16! 8 8", (3,), None, (0, 0)),
        ("16? 8? 4 4 8? 4? 2?", (), None, (3, 5)),
        ("16 32 32! 16 16 16!", (), 16.0, (0, 0)),
        ("16 32 32! 16 16 16!", (), 32.0, (1, 6)),
    ],
    ids=["search", "spoilt", "found", "never-ends", "too-large", "once-too-large"],
)
def test_skipped_steps_have_a_cause(
    scales: str, caused: tuple[int, ...], known: float | None, unexplained: tuple[int, int]
) -> None:
    """`!` is a step that is skipped, `?` one that is by a scale no step was made with."""
    events = []
    for at, (scale, mark) in enumerate((each.rstrip("!?"), each[-1]) for each in scales.split()):
        skipped = {"found_inf": 1.0, "scale": float(scale), "untried": mark == "?"} if mark in "!?" else {}
        fields = {"optimizer": 1, "scaler": 1, "stepped": not skipped, **skipped}
        events.append(Event(at, "scaler.step", at, (), "", fields))
    origin = {"operator": "mm", "kind": "overflow", "at": 0, "module": "", "backward": "", "dtypes": ["float16"]}
    origin |= {"dtype": "float16", "largest_input": 1.0, "in_float32": 7e4, "scaled": True}
    told = [{"event": "bad-step", "number": step, "steps": step, "skipped": True, "origin": origin} for step in caused]
    if known is not None:
        told.append({"event": "bad-step", "number": 3, "steps": 99, "skipped": True, "scale": known, "origin": origin})
    report = numerics(told, Trace(sections=[Section(events=events)]), lambda path: path)
    assert (report.unexplained, report.first_unexplained) == unexplained
    assert bool(skips_without_cause(report)) is bool(unexplained[0])


SPOILT = """
import sys, torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
scaler = torch.amp.GradScaler("cpu", init_scale=SCALE)
for step in range(12):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = model(torch.ones(4, 8)).float().sum()
    scaler.scale(loss).backward()
    if step == 9 and SPOILT:
        model.weight.grad.numpy()[0] = float("inf")
    scaler.step(optimizer)
    scaler.update()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "spoilt", "code", "outcome"),
    [("256.0", "True", 2, "NOT MEASURED"), ("2.0**17", "False", 0, "clean")],
    ids=["spoilt-unseen", "search"],
)
def test_a_skip_without_a_cause_is_never_clean(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    scale: str,
    spoilt: str,
    code: int,
    outcome: str,
) -> None:
    """What numpy writes is seen by nobody; the search for the scale is a cause that is known."""
    (tmp_path / "train.py").write_text(SPOILT.replace("SCALE", scale).replace("SPOILT", spoilt), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(("probe", "--format", "json", "--", sys.executable, "train.py")) == code
    report = json.loads(capsys.readouterr().out)
    assert (report["outcome"], report["trace"]["problems"]) == (outcome, [])
    assert ("1 step without a cause that was found, step 10 first" in report["reason"]) is bool(code)


REPLACED = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 9))
model[0].requires_grad_(False)
FIRST
SECOND
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
for step in range(3):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = model(torch.ones(4, 8)).float().square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_last", [False, True], ids=["optimizer-first", "optimizer-last"])
def test_an_optimizer_of_what_is_not_trained_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_last: bool
) -> None:
    """torch says that no inf checks were recorded; the reason is where the gradients went."""
    lines = ["optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)", "model[1] = torch.nn.Linear(8, 2)"]
    first, second = reversed(lines) if is_last else lines
    (tmp_path / "train.py").write_text(REPLACED.replace("FIRST", first).replace("SECOND", second), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(("probe", "--format", "json", "--", sys.executable, "train.py")) == (0 if is_last else 2)
    report = json.loads(capsys.readouterr().out)
    assert report["trace"]["problems"] == []
    told = [each for each in report["trace"]["remarks"] if "had a gradient" in each]
    assert len(told) == (not is_last)
    assert is_last or "none of the 4 tensors of SGD" in told[0]
    assert is_last or "2 are frozen; `1.weight`, `1.bias` had one" in told[0]
