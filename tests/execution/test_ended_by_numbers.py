"""A run that an error about a NaN ends is told where the NaN began; one that another error ends is not."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from verifygate.cli import main

pytest.importorskip("torch")
POLICY = """
import torch
net = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-2)
def choose(h):
    return torch.distributions.Categorical(logits=h).sample()
for step in range(6):
    x = torch.randn(5, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        h = net(x)
        seen = h - (h / (0.0 if step == 3 else 1.0)) * 1e-3  # BREAKS
        CHOICE
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(h.float(), chosen).backward()
    optimizer.step()
"""
SPOILT = """
import torch
net = torch.nn.Linear(4, 3).half()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(4):
    loss = net(torch.zeros(5, 4).half()).float().square().mean() * 1e-5  # BREAKS
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
CASES = {
    "refused": (POLICY.replace("CHOICE", "chosen = choose(seen)"), 4, "div", "zero-divisor"),
    "asserted": (
        POLICY.replace("CHOICE", "mean = seen.mean(); assert mean.isfinite(); chosen = choose(h)"),
        4,
        "div",
        "zero-divisor",
    ),
    "another-error": (
        POLICY.replace("CHOICE", "mean = seen.mean(); chosen = choose(h) if step < 3 else {}[step]"),
        0,
        "",
        "",
    ),
    "weights": (SPOILT, 2, "addmm", "came-in"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_step_that_ended_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    text, step, operator, limit = CASES[name]
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(("probe", "--format", "json", "--", sys.executable, "train.py")) == (1 if name == "weights" else 2)
    report = json.loads(capsys.readouterr().out)
    assert report["trace"]["problems"] == []
    found = report["numerics"]["bad_steps"] if report["numerics"] else []
    if not step:
        assert found == []
        return
    line = next(number for number, each in enumerate(text.splitlines(), 1) if each.endswith("# BREAKS"))
    origin = found[0]["origin"]
    assert (found[0]["step"], origin["line"], origin["operator"], origin["limit"]) == (step, line, operator, limit)
    assert found[0]["ended"] is (name != "weights")
