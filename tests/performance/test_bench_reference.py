"""What bench_reference compares is the same work, on the same model, and what it tells is what the times say."""

from __future__ import annotations

import random
import shutil
from typing import Any

import bench_reference
import pytest
import torch
from bench_reference import Answer
from reference_loops import ITSELF, LOOPS, OURS, SETTINGS, Setup, quiet

from verifygate.performance.intervals import Interval


class Fixed:
    """A loop that takes a fixed time, and a few percent more or less from call to call."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.calls, self.chance = seconds, 0, random.Random(seconds)  # noqa: S311

    def run(self, steps: int) -> float:
        self.calls += 1
        return self.seconds * steps * self.chance.uniform(0.97, 1.03)


def fixed(monkeypatch: pytest.MonkeyPatch, **seconds: float) -> dict[str, Any]:
    """Loops that take so long, in place of the real ones."""
    loops: dict[str, Any] = {OURS: Fixed(1.0), ITSELF: Fixed(1.0)} | {
        name: Fixed(each) for name, each in seconds.items()
    }
    monkeypatch.setattr(bench_reference, "LOOPS", {name: lambda _, loop=loop: loop for name, loop in loops.items()})
    monkeypatch.setattr(bench_reference, "Setup", lambda _: None)
    return loops


def test_a_look_that_decides_is_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that takes 1.1 times as long is told at the first look, and one that takes 0.9 times as long as well."""
    loops = fixed(monkeypatch, slower=1.1, faster=0.9)
    answers = bench_reference.measured(list(loops), "fp32", [6, 12], 3)
    assert {name: (answer.words, answer.rounds) for name, answer in answers.items() if name != ITSELF} == {
        "slower": ("faster", 6),
        "faster": ("slower", 6),
    }
    assert answers["slower"].interval.value == pytest.approx(1.1, rel=0.02)
    assert loops["slower"].calls == 1 + 2 * 6  # one call to warm up
    assert "as fast as itself" in answers[ITSELF].row(ITSELF)


def test_what_a_look_leaves_open_takes_more_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the loop that stands beside itself goes on for as long as there is another."""
    loops = fixed(monkeypatch, close=0.99, far=1.5)
    answers = bench_reference.measured(list(loops), "fp32", [4, 8], 1)
    assert {name: answer.rounds for name, answer in answers.items()} == {ITSELF: 8, "close": 8, "far": 4}


def test_a_round_goes_there_and_back_and_the_next_one_the_other_way_round() -> None:
    """Neither loop is first, or second, more often than the other."""
    order: list[str] = []

    class Told:
        def __init__(self, name: str, seconds: float) -> None:
            self.name, self.seconds = name, seconds

        def run(self, steps: int) -> float:
            order.append(self.name)
            return self.seconds * steps

    ours, other = Told("A", 1.0), Told("B", 2.0)
    assert [bench_reference.one_round(ours, other, number, 3) for number in range(2)] == [(12.0, 6.0)] * 2
    assert "".join(order) == "ABBABAAB"


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (1.001, 1.02, "faster"),
        (0.985, 1.01, "not slower"),
        (0.985, 0.995, "slower, by less than 2%"),
        (0.97, 0.99, "slower"),
        (0.97, 1.01, "cannot tell"),
    ],
)
def test_the_words_tell_what_the_whole_interval_shows(low: float, high: float, words: str) -> None:
    assert Answer(Interval((low + high) / 2, low, high), 100).words == words


def test_a_method_that_errs_says_so() -> None:
    """reference_impl cannot be slower than itself."""
    assert "the method errs" in Answer(Interval(0.99, 0.985, 0.995), 100).row(ITSELF)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Lightning's and Accelerate's, which the benchmark does not ask about
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_every_loop_trains_the_same(precision: str) -> None:
    """Four programs and two settings, one training: from the same state, no weight differs by more than rounding does.

    Lightning waits in the middle of its `fit`, so it takes its steps in two calls. None of the loops changes the model
    for the others: Accelerate alone replaces `forward`, and that of its own copy.
    """
    quiet()
    setup = Setup(precision)
    start, before = setup.state(), setup.weights()
    # In bf16 a sum that is rounded elsewhere can become another number, of which Adam makes a whole step.
    settings = SETTINGS if precision == "fp32" and shutil.which("g++") else {}
    loops = {name: make(setup) for name, make in (LOOPS | settings).items()}
    ends = {}
    for name, loop in loops.items():
        setup.restore(start)
        assert torch.equal(setup.weights(), before)
        assert loop.run(1) > 0
        assert loop.run(2) > 0
        assert setup.done == 3
        assert all(parameter.grad is None for parameter in setup.model.parameters())
        ends[name] = setup.weights()
    assert not torch.allclose(ends[OURS], before)
    for name, end in ends.items():
        assert torch.allclose(end, ends[OURS], rtol=1e-3, atol=1e-4), name
    assert "forward" not in vars(setup.model)
    assert bench_reference.beyond(loops[OURS], 3) > 0
