"""What is told of a finding besides: the code around it and around the calls on its path, its fix, its impact."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from verifygate.config.settings import StaticSettings
from verifygate.gate.backgrounds import backgrounds_of, impacts_of
from verifygate.model import IN_FULL, Edit, Finding, PathStep
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse
from verifygate.static.registry import load_rules

TRAIN = """import torch
from helpers import backward, clip


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        backward(scaler, loss)
        clip(model)
        scaler.step(optimizer)
        scaler.update()
"""
HELPERS = """import torch


def backward(scaler, loss):
    scaler.scale(loss).backward()


def unrelated():
    first = 1
    second = 2
    return first + second


def clip(model):
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
"""


def sources_of(**files: str) -> Sources:
    return Sources([SourceFile(f"{name}.py", text.encode()) for name, text in files.items()])


@pytest.fixture
def sources() -> Sources:
    return sources_of(train=TRAIN, helpers=HELPERS)


@pytest.fixture
def finding(sources: Sources) -> Finding:
    (found,) = analyse(sources, StaticSettings(select=("AMP201",))).findings
    return found


def test_caller_and_callee_are_shown(sources: Sources, finding: Finding) -> None:
    """First the place in the helper, then its caller with the lines on the way, then the other helper on the path."""
    (told,) = backgrounds_of([finding], sources)
    place, caller, callee = told.excerpts
    assert (place.path, place.line, place.marked) == ("helpers.py", 13, (15,))
    assert place.lines[1:] == ("def clip(model):", "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)", "")
    assert caller.path == "train.py"
    assert {10, 11} <= set(caller.marked)
    assert caller.lines[11 - caller.line] == "        clip(model)"
    assert (callee.path, callee.marked) == ("helpers.py", (5,))
    assert not any("first = 1" in line for each in told.excerpts for line in each.lines)


def test_a_place_at_the_edge_of_its_file(finding: Finding) -> None:
    """Five lines, or as many as there are; a file that is not among the sources has none."""
    short = replace(finding, path="a.py", line=1, steps=(PathStep(path="gone.py", line=3, text="x"),))
    (told,) = backgrounds_of([short], sources_of(a="one()\ntwo()\n"))
    assert [(each.path, each.line, each.lines) for each in told.excerpts] == [("a.py", 1, ("one()", "two()", ""))]


def test_edits_are_a_diff_that_git_applies(sources: Sources, finding: Finding, tmp_path: Path) -> None:
    """Whole lines, by their numbers in the old file, as many as a fix has; git's own reader takes it."""
    edits = (
        Edit(path="train.py", line=2, end_line=2, text="from helpers import backward\n"),
        Edit(path="train.py", line=11, end_line=11, text="        scaler.unscale_(optimizer)\n        clip(model)\n"),
    )
    (told,) = backgrounds_of([replace(finding, edits=edits)], sources)
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=told.diff, text=True, check=True)
    fixed = (tmp_path / "train.py").read_text(encoding="utf-8")
    expected = TRAIN.replace("backward, clip", "backward")
    assert fixed == expected.replace("        clip", "        scaler.unscale_(optimizer)\n        clip")


def test_without_edits_there_is_no_diff(sources: Sources, finding: Finding) -> None:
    """A fix that nobody has proven is not shown."""
    (told,) = backgrounds_of([finding], sources)
    assert told.diff == ""


def test_the_worst_have_a_background_each_once(sources: Sources, finding: Finding) -> None:
    """Thousands of excerpts would be a copy of the project; one that two stages report is told once."""
    many = [replace(finding, line=n, fingerprint=f"{n:032}") for n in range(1, 1000)]
    told = backgrounds_of([*many, *many], sources)
    assert len(told) <= IN_FULL
    assert len({each.fingerprint for each in told}) == len(told)


def test_impacts_of_the_rules_that_were_broken(finding: Finding) -> None:
    """Each rule once; a code that no rule has, in a report of an added stage, is left out."""
    told = impacts_of([finding, finding, replace(finding, rule="XYZ1")])
    assert [(each.rule, each.text) for each in told] == [("AMP201", load_rules()["AMP201"].impact)]
