"""What bench_reference compares is the same work: all loops end with the same weights."""

from __future__ import annotations

from typing import Any

import bench_reference
import pytest
import torch


class Fixed:
    """A loop that takes a fixed time, and a little more or less from call to call."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.calls = seconds, 0

    def run(self, steps: int) -> float:
        self.calls += 1
        return self.seconds * steps * (1 + 0.02 * (self.calls % 3))


def test_a_look_that_decides_is_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that takes 1.1 times as long is told at the first look, and one that takes 0.9 times as long as well."""
    loops: dict[str, Any] = {"ours": Fixed(1.0), "slower": Fixed(1.1), "faster": Fixed(0.9)}
    monkeypatch.setattr(bench_reference, "LOOPS", {name: lambda _, loop=loop: loop for name, loop in loops.items()})
    answers = bench_reference.measured(list(loops), "fp32", [6, 12], 3)
    assert {name: (answer.words, answer.rounds) for name, answer in answers.items()} == {
        "slower": ("not slower", 6),
        "faster": ("slower", 6),
    }
    assert answers["slower"].interval.value == pytest.approx(1.1, rel=0.02)
    assert loops["slower"].calls == 1 + 2 * 6


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Lightning's and Accelerate's, which the benchmark does not ask about
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_every_loop_trains_the_same(precision: str) -> None:
    """Four programs, one training: after three steps no weight differs by more than rounding does."""
    bench_reference.quiet()
    loops = {name: make(precision) for name, make in bench_reference.LOOPS.items()}
    start = loops["reference_impl"].weights()
    assert all(torch.equal(loop.weights(), start) for loop in loops.values())
    for loop in loops.values():
        assert loop.run(3) > 0
    assert bench_reference.beyond(loops["reference_impl"], 3) > 0
    end = loops["reference_impl"].weights()
    assert not torch.allclose(end, start)
    for name, loop in loops.items():
        assert torch.allclose(loop.weights(), end, rtol=1e-3, atol=1e-4), name
