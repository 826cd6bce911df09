"""The page about the seeds' claims says what its command measures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import seed_claims
import torch

PAGE = Path(__file__).with_name("seed_claims.md")


@pytest.mark.slow
def test_stacking_batches_is_no_leak_and_keeping_graphs_is() -> None:
    """Bytes that stay alive, to the byte: none; the same for numbers; each epoch's activations for graphs."""
    assert seed_claims.growth(seed_claims.trains, epochs=4).high == 0
    assert seed_claims.growth(seed_claims.keeps_numbers, epochs=4).high == 0
    graphs = seed_claims.growth(seed_claims.keeps_graphs, epochs=4)
    assert graphs.low > seed_claims.ITEMS * seed_claims.WIDTH * 2  # at least the batches, in half precision
    after = seed_claims.growth(seed_claims.keeps_after_backward, epochs=4)
    assert 0 < after.high < 1024


def test_the_guard_gets_stuck() -> None:
    """Twenty steps in which nothing is learnt, and a scale that never moves, though every gradient is finite."""
    skipped, before, after = seed_claims.stuck()
    assert (skipped, after) == (20, before)


def test_the_guards_cost_is_an_interval() -> None:
    """However short the measurement: a value between its ends."""
    found = seed_claims.guard_cost(rounds=2, steps=2)
    assert found.low <= found.value <= found.high


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a device to measure")
def test_what_needs_a_device_is_not_measured() -> None:
    """No number is made up for `empty_cache` on a CPU, where it does nothing."""
    assert seed_claims.empty_cache_share() is None


def test_the_page_shows_what_the_command_answers() -> None:
    """The same claims with the same answers; its numbers are those of one run, on the machine that it names."""
    page = PAGE.read_text(encoding="utf-8")
    assert "python tests/performance/seed_claims.py" in page
    answers = dict(re.findall(r"^\| (.+?) \| .+ \| (.+?) \|$", page, re.MULTILINE))
    assert answers["`torch.stack([...]).to(device)` leaks"] == "no leak"
    assert answers["losses of forwards without a backward, kept with their graphs, leak"] == "a leak"
    assert answers["the guard protects training"].startswith("stuck")
    assert answers["`empty_cache` and the reset of the peak, once an arm, cost 10-15 %"] == "this machine cannot tell"
