"""Triage of error paths: what the exploration finds possible and two iterations would have to disagree on."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate.config.rule_selection import RuleSelection
from verifygate.sources.discovery import read_sources
from verifygate.static.engine import analyse

LOOP = """import torch


def train(model, optimizer, scaler, batches, kind):
    for data in batches:
        if {first}:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = model(data).sum()
            scaler.scale(loss).backward()
            {inside}
        if {second}:
            {last}
"""


def reported(tmp_path: Path, text: str) -> list[str]:
    """The codes reported in one module."""
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    return [finding.rule for finding in analyse(read_sources(tmp_path, ["."]), RuleSelection()).findings]


STEP = "scaler.unscale_(optimizer); scaler.step(optimizer); scaler.update()"


@pytest.mark.parametrize(
    ("last", "code"),
    [("torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)", "AMP211"), ("optimizer.step()", "AMP208")],
)
def test_a_step_of_an_earlier_iteration_proves_nothing(tmp_path: Path, last: str, code: str):
    """Both conditions may hold of the same batches: a clip or step without the other would need them to disagree."""
    unrelated = LOOP.format(first="data.labelled", second="has_labels(data)", inside="pass", last=f"{last}; {STEP}")
    assert code not in reported(tmp_path, unrelated)

    same_iteration = LOOP.format(first="data.labelled", second="has_labels(data)", inside=STEP, last=last)
    assert code in reported(tmp_path, same_iteration)
