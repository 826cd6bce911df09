"""The steps of a finding: in the order of the source or of the run, with the calls that lead from one to the next."""

from __future__ import annotations

from pathlib import Path

from verifygate.config.rule_selection import RuleSelection
from verifygate.sources.discovery import read_sources
from verifygate.static.engine import analyse

KINDS = range(12)


def test_dicts_that_lack_a_key_are_told_in_the_order_they_stand_in(tmp_path: Path):
    """Twelve of them: values are kept in sets, and those of dicts go by where they happen to lie in memory."""
    arms = "".join(f"    if kind == {kind}:\n        return {{'loss_{kind}': kind, 'step': 0}}\n" for kind in KINDS)
    text = (
        "from torch.amp import autocast\n\n\ndef measure(kind):\n"
        + arms
        + "    return {'loss': kind}\n\n\ndef tell(kind):\n    return measure(kind)['epoch']\n"
    )
    (tmp_path / "train.py").write_text(text, encoding="utf-8")

    found = analyse(read_sources(tmp_path, ["."]), RuleSelection(select=("KEY101",))).findings

    (finding,) = found
    lines = [step.line for step in finding.steps]
    assert len(lines) == len(KINDS) + 2
    assert lines == sorted(lines)


def test_the_way_to_a_breach_names_the_calls_between_its_events(tmp_path: Path):
    """Two calls of one function: without them the steps would name the same lines twice and not tell which is which."""
    text = """import torch


def back(scaler, loss):
    scaler.scale(loss).backward()


def train(model, first, second, batches):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        first.zero_grad()
        second.zero_grad()
        back(scaler, model(batch))
        back(scaler, model(batch) ** 2)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(first)
        scaler.step(second)
        scaler.update()


train(*torch.load("everything.pt"))
"""
    (tmp_path / "train.py").write_text(text, encoding="utf-8")

    found = analyse(read_sources(tmp_path, ["."]), RuleSelection(select=("AMP201",))).findings

    (finding,) = found
    told = [(step.line, step.text.partition(":")[0]) for step in finding.steps]
    assert told == [
        (11, "zero_grad"),
        (12, "zero_grad"),
        (13, "call"),
        (5, "scaled backward"),
        (14, "call"),
        (5, "scaled backward"),
        (15, "clip"),
    ]


def test_the_way_to_a_breach_says_where_no_run_goes_until_somebody_edits_a_switch(tmp_path: Path):
    text = """import torch

USE_AMP = False


def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch)
        if USE_AMP:
            scaler.scale(loss).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
"""
    (tmp_path / "train.py").write_text(text, encoding="utf-8")

    found = analyse(read_sources(tmp_path, ["."]), RuleSelection(select=("AMP201",))).findings

    (finding,) = found
    told = [(step.line, step.text.partition(":")[0]) for step in finding.steps]
    assert told == [(9, "zero_grad"), (12, "scaled backward, once a switch is edited"), (13, "clip")]
