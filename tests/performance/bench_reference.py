"""Is reference_impl's step slower than the same training in other hands? Paired, step by step, one thread.

    python tests/performance/bench_reference.py [--precision fp32|bf16] [--only LOOP] [--core NUMBER]

The same model, batches, optimizer, schedule and clipping, written four ways: reference_impl's own `train_step`, a loop
in the manner of nanoGPT, Accelerate, and Lightning's Trainer. All of them train one and the same model, with one
optimizer, on one sequence of batches: with a model of its own each, where its memory happened to lie made a loop one
percent faster or slower for as long as the process lived.

A round is a step of reference_impl, two of another loop, and one of reference_impl; in every other round the two change
places. (On CUDA ten steps stand for one: to wait for the device after every step would hide that a loop does so.)
The table shows how long each takes relative to reference_impl, with a 95 % interval over the rounds; processor time on
a CPU, so that neighbours on the machine disturb little. Every round counts, and the value is their mean: the ratios of
rounds so short have no heavy tails, and a median would only say less.
reference_impl against itself shows what error the method has; `--only fused` and `--only compile` stand it beside
itself with a setting that the others do without. The rounds after which one looks are planned, and share the error
out; a loop that a look decides is left out of the rounds that follow. That all do the same work, with equal weights
after some steps, is shown in tests/performance/test_bench_reference.py.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import platform
import sys
from dataclasses import dataclass
from typing import Any

import torch
from reference_loops import ITSELF, LOOPS, OURS, SETTINGS, Reference, Setup, clock, ended, quiet

from reference_impl.train import no_sync, require_finite
from verifygate.performance.intervals import Interval, ratio

MARGIN = 0.02
"""reference_impl counts as not slower where the whole interval lies above one minus this."""
GLIBC = {"M_TRIM_THRESHOLD": (-1, 1 << 30), "M_MMAP_THRESHOLD": (-3, 1 << 25), "M_ARENA_MAX": (-8, 1)}
"""Settings of glibc's malloc, as mallopt(3) takes them."""


def beyond(loop: Reference, times: int = 100) -> float:
    """Seconds of one step for what `train_step` does and the bare loop does not: region, loss, guard, scale.

    Timed after a whole step each time: over and over by itself, the same code takes less than half, for it then
    finds all that it needs in the caches.
    """
    spent = 0.0
    norm = torch.ones((), device=loop.precision.device)
    losses = [torch.ones((), device=loop.precision.device) for _ in range(loop.cfg.accumulation)]
    for _ in range(times):
        loop.run(1)
        began = clock()
        window_loss = torch.zeros((), device=loop.precision.device)
        for loss in losses:
            with no_sync(loop.model), loop.precision.autocast():  # the bare loop has a region too, but in fp32
                pass
            window_loss += loss.detach()
        require_finite(window_loss, norm, loop.scaler, loop.world)
        loop.scaler.get_scale()
        loop.scaler.get_scale()
        spent += ended(began)
    return spent / times


def one_round(ours: Any, other: Any, number: int, steps: int) -> tuple[float, float]:
    """Seconds of the other loop and of ours, two blocks each: there and back, and the other way round in the next."""
    first, second = (other, ours) if number % 2 else (ours, other)
    outer, inner = first.run(steps), second.run(steps)
    inner += second.run(steps)
    outer += first.run(steps)
    return (outer, inner) if number % 2 else (inner, outer)


@dataclass(frozen=True)
class Answer:
    """How long a loop takes relative to reference_impl, after so many rounds."""

    interval: Interval
    rounds: int

    @property
    def words(self) -> str:
        """What the interval shows of reference_impl; the whole of it counts."""
        if self.interval.low > 1:
            return "faster"
        if self.interval.low > 1 - MARGIN:
            return "not slower" if self.interval.high >= 1 else f"slower, by less than {MARGIN:.0%}"
        return "slower" if self.interval.high < 1 else "cannot tell"

    def row(self, name: str) -> str:
        """Of the table."""
        low, value, high = self.interval.low, self.interval.value, self.interval.high
        words = self.words
        if name == ITSELF:
            words = "as fast as itself" if low <= 1 <= high else "not as fast as itself: the method errs"
        return f"| {name} | {value:.4f} ({low:.4f} to {high:.4f}) | {self.rounds} | {words} |"


def measured(names: list[str], precision: str, looks: list[int], steps: int) -> dict[str, Answer]:
    """The answer about each loop but the first, which they are all compared with."""
    setup = Setup(precision)
    ours, *others = ((LOOPS | SETTINGS)[name](setup) for name in names)
    loops = dict(zip(names[1:], others, strict=True))
    for loop in (ours, *others):
        loop.run(3)
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in loops}
    answers: dict[str, Answer] = {}
    for look in looks:
        for number in range(len(spent[next(iter(loops))]), look):
            for name, loop in loops.items():
                spent[name].append(one_round(ours, loop, number, steps))
        for name in list(loops):
            times, base = zip(*spent[name], strict=True)
            interval = ratio(times, base, looks=len(looks))
            assert interval is not None
            answers[name] = Answer(interval, look)
            print(f"after {look} rounds: {answers[name].row(name)}", file=sys.stderr, flush=True)
            if answers[name].words != "cannot tell" and name != ITSELF:
                del loops[name]
        if not loops.keys() - {ITSELF}:
            break
    return answers


def keep_memory() -> bool:
    """Have malloc keep what is freed; whether it does.

    Left to itself, it gives memory back to the kernel whenever what is freed happens to lie at the end of the heap, and
    then a step pays for anything between none and 1,500 page faults: up to a tenth of its time, by chance, in any loop.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    libc = ctypes.CDLL(None)
    return [libc.mallopt(*setting) for setting in GLIBC.values()] == [1] * len(GLIBC)


def main() -> None:
    """Measure and print."""
    cuda = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--looks", type=int, nargs="+", default=[250, 500, 1000, 2000], help="after so many rounds")
    parser.add_argument("--steps", type=int, default=10 if cuda else 1, help="of a loop in one block")
    parser.add_argument("--only", choices=[*list(LOOPS)[2:], *SETTINGS], help="compare with this one alone")
    parser.add_argument("--core", type=int, help="stay on this core of the processor (Linux)")
    options = parser.parse_args()
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    torch.set_num_threads(1)
    quiet()
    memory = "kept" if keep_memory() else "as malloc has it"
    others = [ITSELF, options.only] if options.only else list(LOOPS)[1:]
    answers = measured([OURS, *others], options.precision, options.looks, options.steps)
    where = torch.cuda.get_device_name() if cuda else f"{platform.machine()} CPU, one thread, freed memory {memory}"
    looks = ", ".join(map(str, options.looks))
    print(f"{options.precision}, torch {torch.__version__}, {where}; {options.steps} steps a block, looks: {looks}\n")
    print("| Loop | Time against reference_impl | rounds | reference_impl is |\n|---|---|---|---|")
    for name in others:
        print(answers[name].row(name))
    ours = Reference(Setup(options.precision))
    ours.run(3)
    step, more = ours.run(10) / 10, beyond(ours)
    print(f"\nBeyond the bare loop: {more * 1e6:.0f} us of a step of {step * 1e3:.0f} ms, {more / step:.2%}")


if __name__ == "__main__":
    main()
