"""A comparison survives JSON to the last bit, and what is no comparison is refused in one line."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifygate.performance.comparison import (
    PROTOCOL_VERSION,
    ArmRecord,
    Comparison,
    Failure,
    Host,
    Plan,
    Round,
    Training,
    Trouble,
    dumped,
    loaded,
)

PLAN = Plan("m:f", steps=4, warmup=1, train_steps=60, seeds=(0, 1), rounds=3, rounds_max=12)
HOST = Host("Linux x86_64", "3.11", "2.13", "cuda", "Some GPU", True, True, {"driver": "570.1"})
number = st.floats(allow_nan=True, allow_infinity=True)


def comparison(*samples: float) -> Comparison:
    blocks = [Round(tuple(samples), 2, 10, 20, "d", {"load": 0.5})]
    trainings = [Training(0, 60, 59, tuple(samples), "digest", tuple(samples), (65536.0,))]
    base = ArmRecord("fp32", HOST, 8, 400, "w", {"TF32": "off"}, trainings, blocks)
    return Comparison(PLAN, (base, ArmRecord("bf16", failure=Failure(Trouble.MEMORY, "out of memory", "block", 9))))


@given(st.lists(number, max_size=5))
def test_a_comparison_comes_back_as_it_was(samples: list[float]) -> None:
    """Every sample comes back bit by bit, NaN and infinity too, through strict JSON."""
    text = json.dumps(dumped(comparison(*samples)), allow_nan=False)
    again = loaded(json.loads(text))
    assert json.dumps(dumped(again)) == text
    back = again.base.rounds[0].seconds
    assert [math.isnan(a) or a == b for a, b in zip(samples, back, strict=True)] == [True] * len(samples)
    assert again.judged == comparison().judged
    assert again.plan == PLAN


def broken(change: dict[str, Any]) -> dict[str, Any]:
    return {**dumped(comparison(1.0)), **change}


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (3, "`document`"),
        ({}, "`plan`: Field required"),
        (broken({"extra": 1}), "`extra`"),
        (broken({"protocol": PROTOCOL_VERSION + 1}), f"this version reads {PROTOCOL_VERSION}"),
        (broken({"arms": dumped(comparison(1.0))["arms"][:1]}), "at least two arms"),
        (broken({"arms": dumped(comparison(1.0))["arms"][::-1]}), "the first is fp32"),
        (broken({"plan": {**dumped(comparison())["plan"], "steps": "many"}}), "`plan.steps`"),
    ],
)
def test_what_is_no_comparison_is_refused(document: object, told: str) -> None:
    """The line says where the document goes wrong."""
    with pytest.raises(ValueError, match=told) as refused:
        loaded(document)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("rounds", "most", "looks"),
    [(3, 3, (3,)), (6, 24, (6, 12, 24)), (6, 20, (6, 12, 20)), (6, 12, (6, 12)), (5, 6, (5, 6))],
)
def test_the_looks_are_fixed_in_advance(rounds: int, most: int, looks: tuple[int, ...]) -> None:
    """They double, and end at the greatest number of rounds."""
    assert Plan("m:f", 4, 1, 60, (0,), rounds, most).looks == looks
