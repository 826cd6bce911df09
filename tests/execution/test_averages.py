"""An average in half that never moves is found however it is written; one that moves, or is in float32, is not told."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from verifygate.cli import main

pytest.importorskip("torch")
AVERAGED = """
import copy, torch
torch.manual_seed(SEED)
net = torch.nn.Linear(16, 16, bias=False)
half, rate = torch.HALF, RATE
average = [copy.deepcopy(net.weight).detach().to(half) for _ in range(8)]
other = torch.nn.Linear(16, 1)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
first = torch.optim.SGD(other.parameters(), lr=1e-2)
for step in range(6):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        judged = other(torch.randn(4, 16)).float().square().mean()
        loss = net(torch.randn(4, 16)).float().square().mean()
    first.zero_grad()
    judged.backward()
    first.step()  # in turn: the averages are written behind the second one alone
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        weight = net.weight.to(half)
        average[0].lerp_(weight, rate)  # AVERAGE
        average[1].mul_(1 - rate).add_(weight, alpha=rate)  # AVERAGE
        average[2].copy_((1 - rate) * average[2] + rate * weight)  # AVERAGE
        average[3].copy_((1 - rate) * average[3] + rate * net.weight)  # AVERAGE
        average[4].copy_(((1 - rate) * average[4].float() + rate * net.weight).to(half))  # AVERAGE
        average[5].copy_(average[5].mul(1 - rate).add_(weight, alpha=rate))  # AVERAGE
        average[6].copy_(average[6].lerp(weight, rate))  # AVERAGE
        average[7].copy_(weight)
"""
LINES = {number for number, line in enumerate(AVERAGED.splitlines(), 1) if line.endswith("# AVERAGE")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("half", "rate", "code"),
    [("bfloat16", "1e-4", 1), ("bfloat16", "0.5", 0), ("float32", "1e-4", 0)],
    ids=["still", "moves", "float32"],
)
def test_averages_however_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], half: str, rate: str, code: int
) -> None:
    text = AVERAGED.replace("HALF", half).replace("RATE", rate).replace("SEED", "3")
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(("probe", "--format", "json", "--", sys.executable, "train.py")) == code
    report = json.loads(capsys.readouterr().out)
    assert (report["outcome"], report["trace"]["problems"]) == ("unstable" if code else "clean", [])
    unmoved = report["numerics"]["unmoved"] if report["numerics"] else []
    assert {each["line"] for each in unmoved} == (LINES if code else set())
