"""Three claims about performance that reviews without measurements made, done again small enough to run anywhere.

    python tests/performance/seed_claims.py

Prints one table: the claim, what was measured here, the answer. Bytes are those of all live storages (what only an
autograd graph holds counts too); times are compared in pairs, in alternating order, as ratios with a 95 % interval.
What needs an accelerator says so, with the command.
"""

from __future__ import annotations

import gc
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from verifygate.instrument.bench.storages import StorageWatch
from verifygate.performance.intervals import Interval
from verifygate.performance.spread import mean, slope

WIDTH, BATCH, ITEMS = 64, 32, 512
ROUNDS = 16
ON_CUDA = "NOT MEASURED here; on a machine with CUDA: python tests/performance/seed_claims.py"


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    claim: str
    measured: str
    answer: str


class Loop:
    """A small classifier with explicit AMP in fp16, a loss scale and clipping; on the CPU the scaler works as well."""

    def __init__(self, *, half: bool = True) -> None:
        torch.manual_seed(0)
        self.half = half
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        layers = [torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.ReLU(), torch.nn.Linear(4 * WIDTH, 2)]
        self.model = torch.nn.Sequential(*layers).to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.scaler = torch.amp.GradScaler(self.device, init_scale=1024.0)
        self.data = [torch.randn(WIDTH) for _ in range(ITEMS)]
        self.labels = torch.randint(0, 2, (ITEMS,))
        self.guarded = 0

    def batch(self, first: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The line that was called a leak."""
        rows = range(first, first + BATCH)
        return torch.stack([self.data[i] for i in rows]).to(self.device), self.labels[first : first + BATCH].to(
            self.device
        )

    def loss(self, first: int) -> torch.Tensor:
        points, labels = self.batch(first)
        with torch.autocast(self.device, dtype=torch.float16, enabled=self.half):
            logits = self.model(points)
        return torch.nn.functional.cross_entropy(logits.float(), labels)

    def step(self, first: int, *, guard: bool = False, factor: float = 1.0) -> torch.Tensor:
        loss = self.loss(first)
        self.scaler.scale(loss * factor).backward()
        self.scaler.unscale_(self.optimizer)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        if not guard or torch.isfinite(norm):
            self.scaler.step(self.optimizer)
        else:
            self.guarded += 1
        self.scaler.update()
        self.optimizer.zero_grad()
        return loss


def growth(epoch: Callable[[Loop, list[Any]], None], epochs: int = 6) -> Interval:
    """Bytes that stay alive from each epoch to the next, the first one left out."""
    loop, kept, sizes = Loop(), [], []
    watch = StorageWatch(loop.device)
    with watch.watching():
        for _ in range(epochs):
            epoch(loop, kept)
            gc.collect()
            sizes.append(watch.bytes)
    found = slope(sizes[1:])
    assert found is not None
    return found


def trains(loop: Loop, _kept: list[Any]) -> None:
    """An epoch whose batches are stacked and moved, and nothing is kept."""
    for first in range(0, ITEMS, BATCH):
        loop.step(first)


def keeps_numbers(loop: Loop, kept: list[Any]) -> None:
    """Losses of an evaluation kept as numbers, as they should be."""
    kept.extend(loop.loss(first).item() for first in range(0, ITEMS, BATCH))


def keeps_graphs(loop: Loop, kept: list[Any]) -> None:
    """Losses of an evaluation without no_grad, kept with their graphs: no backward ever frees them."""
    kept.extend(loop.loss(first) for first in range(0, ITEMS, BATCH))


def keeps_after_backward(loop: Loop, kept: list[Any]) -> None:
    """Training losses kept with their graphs: the backward has freed what the graphs had saved."""
    kept.extend(loop.step(first) for first in range(0, ITEMS, BATCH))


def guard_cost(rounds: int = ROUNDS, steps: int = 24) -> Interval:
    """How many times as long a step with the guard takes, in processor time, from paired alternating blocks."""
    arms = {False: Loop(), True: Loop()}
    for guard, loop in arms.items():
        _block(loop, guard, steps)
    logs = []
    for number in range(rounds):
        order = (False, True, True, False) if number % 2 == 0 else (True, False, False, True)
        spent = {False: 0.0, True: 0.0}
        for guard in order:
            spent[guard] += _block(arms[guard], guard, steps)
        logs.append(spent[True] / spent[False])
    found = mean(logs)
    assert found is not None
    return found


def _block(loop: Loop, guard: bool, steps: int) -> float:
    clock = time.process_time if loop.device == "cpu" else time.perf_counter
    began = clock()
    for number in range(steps):
        loop.step(number * BATCH % (ITEMS - BATCH), guard=guard)
    if loop.device == "cuda":
        torch.cuda.synchronize()
    return clock() - began


def stuck(steps: int = 20) -> tuple[int, float, float]:
    """Gradients that are finite and whose norm is not: how often the guard skips, and the scale before and after.

    They belong to layers that run in float32, whose range holds 1e20, though not the square of it.
    """
    loop = Loop(half=False)
    loop.step(0)
    before = loop.scaler.get_scale()
    for _ in range(steps):
        loop.step(0, guard=True, factor=1e22)
    return loop.guarded, before, loop.scaler.get_scale()


def empty_cache_share(steps: int = 50) -> float | None:
    """The part of an arm that `empty_cache` and the reset of the peak take, once an arm; None without CUDA."""
    if not torch.cuda.is_available():
        return None
    loop = Loop()
    _block(loop, False, 5)
    began = time.perf_counter()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.synchronize()
    once = time.perf_counter() - began
    return once / (once + _block(loop, False, steps))


def rows() -> list[Row]:
    """Measure everything."""
    plain, numbers, graphs, after = map(growth, (trains, keeps_numbers, keeps_graphs, keeps_after_backward))
    cost, (skipped, before, later), share = guard_cost(), stuck(), empty_cache_share()
    return [
        Row("`torch.stack([...]).to(device)` leaks", _bytes(plain), _leak(plain)),
        Row("losses kept as numbers leak", _bytes(numbers), _leak(numbers)),
        Row("losses of forwards without a backward, kept with their graphs, leak", _bytes(graphs), _leak(graphs)),
        Row("training losses kept with their graphs leak", _bytes(after), _leak(after)),
        Row(
            "the finite-gradient guard costs nothing",
            f"a step takes {cost.value:.3f} times as long "
            f"(95 % interval {cost.low:.3f} to {cost.high:.3f}; {ROUNDS} pairs)",
            "refuted" if cost.low > 1 else "cannot tell: the interval holds 1",
        ),
        Row(
            "the guard protects training",
            f"finite gradients with an infinite norm: {skipped} of 20 steps skipped, scale {before:g} -> {later:g}",
            "stuck: the scaler never hears of it" if skipped == 20 and later >= before else "recovers",
        ),
        Row(
            "`empty_cache` and the reset of the peak, once an arm, cost 10-15 %",
            f"{share:.2%} of an arm of 50 steps" if share is not None else ON_CUDA,
            "refuted"
            if share is not None and share < 0.1
            else "this machine cannot tell"
            if share is None
            else "holds",
        ),
    ]


def _bytes(found: Interval) -> str:
    return f"{found.value:,.0f} bytes an epoch (95 % interval {found.low:,.0f} to {found.high:,.0f})"


def _leak(found: Interval) -> str:
    return "a leak" if found.low > 1024 else "no leak" if found.high <= 1024 else "cannot tell"


def main() -> None:
    """Print the table, and the machine."""
    torch.set_num_threads(1)
    where = torch.cuda.get_device_name() if torch.cuda.is_available() else f"{platform.machine()} CPU, one thread"
    print(f"torch {torch.__version__}, Python {platform.python_version()}, {where}\n")
    print("| Claim | Measured | Answer |\n|---|---|---|")
    for row in rows():
        print(f"| {row.claim} | {row.measured} | {row.answer} |")


if __name__ == "__main__":
    main()
