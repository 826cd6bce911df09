"""Properties of what reads, judges and writes, tried on inputs made at random: a small budget, the same in every run.

`make fuzz` searches longer. What it found is replayed here for ever, as is what it reached.
"""

from __future__ import annotations

import pytest
from fuzz_targets import CORPUS, CRASHES, TABLE, TARGETS, Target, kept
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from time_limit import time_limit

QUICK = {"static-accounted": 25, "static-unchanged": 5, "claims": 20, "stored-report": 30, "recording": 40}
QUICK["hostile-trees"] = 20
"""Inputs of a target in the small budget, where it is not the usual number: an analysis takes a while."""
USUAL = 100
LONGER = 5
"""How many times as many the slow test tries."""
NEVER_SLOW = settings(
    derandomize=True,
    database=None,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
"""The same inputs in every run. Hypothesis need not make a find small: `campaign.py` keeps the smallest."""


def searched(target: Target, inputs: int) -> None:
    @settings(NEVER_SLOW, max_examples=inputs)
    @given(st.randoms(use_true_random=True))
    def holds(random) -> None:
        data = target.made(random)
        try:
            with time_limit():
                target.holds(data)
        except BaseException as error:
            error.add_note(f"the input: {data!r}")
            raise

    holds()


@pytest.mark.parametrize("target", TABLE, ids=lambda target: target.name)
def test_property_holds(target: Target) -> None:
    searched(target, QUICK.get(target.name, USUAL))


@pytest.mark.slow
@pytest.mark.parametrize("target", TABLE, ids=lambda target: target.name)
def test_property_holds_for_longer(target: Target) -> None:
    searched(target, LONGER * QUICK.get(target.name, USUAL))


@pytest.mark.parametrize("folder", [CRASHES, CORPUS], ids=["crashes", "corpus"])
@pytest.mark.parametrize("name", TARGETS)
def test_kept_inputs_are_replayed(folder, name: str) -> None:
    """What broke a property once does not break it any more, nor does what reached much."""
    for path in kept(folder, name):
        try:
            with time_limit():
                TARGETS[name].holds(path.read_bytes())
        except BaseException as error:
            error.add_note(f"the input: {path}")
            raise
