"""Is reference_impl's step slower than the same training in other hands? Paired, in alternating order, one thread.

    python tests/performance/bench_reference.py [--precision fp32|bf16] [--only LOOP]

The same model, batches, optimizer, schedule and clipping, written four ways: reference_impl's own `train_step`, a loop
in the manner of nanoGPT, Accelerate, and Lightning's Trainer. Each round times every loop there and back.

The table shows how long each takes relative to reference_impl, with a 95 % interval over the rounds; processor time on
a CPU, so that neighbours on the machine disturb little. The rounds after which one looks are planned, and share the
error out; a loop that a look decides is left out of the rounds that follow. That all four do the same work, with equal
weights after some steps, is shown in tests/performance/test_bench_reference.py.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from reference_impl.config import Config
from reference_impl.data import Batch, Windows, make_items
from reference_impl.model import GPT
from reference_impl.precision import choose_precision
from reference_impl.train import make_optimizer, make_scheduler, no_sync, require_finite, train_step
from reference_impl.world import World
from verifygate.performance.intervals import Interval, ratio

MARGIN = 0.02
"""reference_impl counts as not slower where the whole interval lies above one minus this."""


class Setup:
    """What all loops share: the same weights, batches and optimizer for the same seed."""

    def __init__(self, precision: str) -> None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        self.cfg = Config(precision=precision, device=device, train_items=12_800)
        self.precision = choose_precision(device, precision)
        self.items = make_items(self.cfg.train_items, 1)[0].to(self.precision.device)
        torch.manual_seed(self.cfg.seed)
        self.model: Any = GPT.from_config(self.cfg).to(self.precision.device)
        self.optimizer = make_optimizer(self.model, self.cfg)
        self.scheduler = make_scheduler(self.optimizer, self.cfg)
        self.data = Windows(self.items, self.cfg.batch_size, self.cfg.accumulation, self.cfg.seed)
        self.done = 0

    def window(self) -> list[Batch]:
        self.done += 1
        return self.data.window(self.done - 1)

    def weights(self) -> torch.Tensor:
        return torch.cat([parameter.detach().flatten() for parameter in self.model.parameters()])


class Reference(Setup):
    """reference_impl as its own loop calls it."""

    def __init__(self, precision: str) -> None:
        super().__init__(precision)
        self.scaler = self.precision.scaler(self.cfg.init_scale, self.cfg.growth_interval)
        self.world = World()

    def run(self, steps: int) -> float:
        began = clock()
        for _ in range(steps):
            result = train_step(
                self.model, self.optimizer, self.scaler, self.precision, self.window(), self.cfg, self.world
            )
            if not result.skipped:
                self.scheduler.step()
        return ended(began)


class NanoGPT(Setup):
    """A training loop in the manner of nanoGPT: nothing in the step that the training does not need."""

    def __init__(self, precision: str) -> None:
        super().__init__(precision)
        self.scaler = torch.amp.GradScaler(self.cfg.device, enabled=precision == "fp16")
        half = self.precision.dtype if precision != "fp32" else None
        self.region = torch.amp.autocast(self.cfg.device, dtype=half) if half else contextlib.nullcontext()

    def run(self, steps: int) -> float:
        began = clock()
        for _ in range(steps):
            for tokens, targets in self.window():
                with self.region:
                    loss = self.model(tokens, targets) / self.cfg.accumulation
                self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.grad_clip)
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad(set_to_none=True)
            self.scheduler.step()
        return ended(began)


class Accelerate(Setup):
    """The loop of Accelerate's documentation."""

    def __init__(self, precision: str) -> None:
        from accelerate import Accelerator
        from accelerate.state import AcceleratorState

        super().__init__(precision)
        AcceleratorState._reset_state(reset_partial_state=True)  # one process, several precisions
        self.accelerator = Accelerator(
            mixed_precision={"fp32": "no"}.get(precision, precision),
            cpu=self.cfg.device == "cpu",
            gradient_accumulation_steps=self.cfg.accumulation,
            step_scheduler_with_optimizer=False,
        )
        prepared: Any = self.accelerator.prepare(self.model, self.optimizer, self.scheduler)
        self.model, self.optimizer, self.scheduler = prepared

    def run(self, steps: int) -> float:
        began = clock()
        for _ in range(steps):
            for tokens, targets in self.window():
                with self.accelerator.accumulate(self.model):
                    loss = self.model(tokens, targets)
                    self.accelerator.backward(loss)
                    if self.accelerator.sync_gradients:
                        self.accelerator.clip_grad_norm_(self.model.parameters(), self.cfg.grad_clip)
                    self.optimizer.step()
                    self.optimizer.zero_grad()
            self.scheduler.step()
        return ended(began)


class Lightning(Setup):
    """Lightning's Trainer with automatic optimisation; only its steps are timed, not the start of `fit`."""

    def run(self, steps: int) -> float:
        import lightning

        setup, spent = self, [0.0, 0.0]

        class Module(lightning.LightningModule):
            def __init__(self) -> None:
                super().__init__()
                self.model = setup.model

            def training_step(self, batch: Any, _index: int) -> torch.Tensor:
                loss: torch.Tensor = self.model(*batch)
                return loss

            def configure_optimizers(self) -> Any:
                return {
                    "optimizer": setup.optimizer,
                    "lr_scheduler": {"scheduler": setup.scheduler, "interval": "step"},
                }

        class Clock(lightning.Callback):
            def on_train_batch_start(self, *arguments: Any) -> None:
                if arguments[3] == 0:
                    spent[0] = clock()

            def on_train_batch_end(self, *arguments: Any) -> None:
                if arguments[4] == steps * setup.cfg.accumulation - 1:
                    spent[1] = ended(spent[0])

        def batches() -> Iterator[Batch]:
            for _ in range(steps):
                yield from setup.window()

        trainer = lightning.Trainer(
            accelerator="gpu" if self.cfg.device == "cuda" else "cpu",
            devices=1,
            precision={"fp32": "32-true", "bf16": "bf16-mixed", "fp16": "16-mixed"}[self.cfg.precision],
            max_steps=steps,
            accumulate_grad_batches=self.cfg.accumulation,
            gradient_clip_val=self.cfg.grad_clip,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=[Clock()],
        )
        trainer.fit(Module(), batches())
        return spent[1]


LOOPS: dict[str, Callable[[str], Any]] = {
    "reference_impl": Reference,
    "nanoGPT-like": NanoGPT,
    "Accelerate": Accelerate,
    "Lightning": Lightning,
}


def clock() -> float:
    """Seconds: of the processor on a CPU, of the wall where a device works beside it."""
    return time.perf_counter() if torch.cuda.is_available() else time.process_time()


def ended(began: float) -> float:
    """Seconds since `began`, the device's work included."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return clock() - began


def beyond(loop: Reference, times: int = 1000) -> float:
    """Seconds of one step for what `train_step` does and the bare loop does not: loss, guard, scale.

    Timed by itself, it is known far better than as the difference of two whole steps.
    """
    loss, norm = (torch.ones((), device=loop.precision.device) for _ in range(2))
    began = clock()
    for _ in range(times):
        window_loss = torch.zeros((), device=loop.precision.device)
        for _ in range(loop.cfg.accumulation):
            with no_sync(loop.model), loop.precision.autocast():  # the bare loop has a region too, but in fp32
                pass
            window_loss += loss.detach()
        require_finite(window_loss, norm, loop.scaler, loop.world)
        loop.scaler.get_scale()
        loop.scaler.get_scale()
    return ended(began) / times


def one_round(loops: dict[str, Any], number: int, steps: int) -> dict[str, float]:
    """Seconds of each loop: its block on the way there and the one on the way back."""
    order = list(loops) if number % 2 == 0 else list(reversed(loops))
    spent = dict.fromkeys(loops, 0.0)
    for name in (*order, *reversed(order)):
        spent[name] += loops[name].run(steps)
    return spent


@dataclass(frozen=True)
class Answer:
    """How long a loop takes relative to reference_impl, after so many rounds."""

    interval: Interval
    rounds: int

    @property
    def words(self) -> str:
        """What the interval shows; the whole of it counts."""
        if self.interval.low > 1 - MARGIN:
            return "not slower"
        return "slower" if self.interval.high < 1 else "cannot tell"

    def row(self, name: str) -> str:
        """Of the table."""
        low, value, high = self.interval.low, self.interval.value, self.interval.high
        return f"| {name} | {value:.3f} ({low:.3f} to {high:.3f}) | {self.rounds} | {self.words} |"


def measured(names: list[str], precision: str, looks: list[int], steps: int) -> dict[str, Answer]:
    """The answer about each loop but the first, which they are all compared with."""
    loops = {name: LOOPS[name](precision) for name in names}
    for loop in loops.values():
        loop.run(steps)
    rounds: list[dict[str, float]] = []
    answers: dict[str, Answer] = {}
    for look in looks:
        while len(rounds) < look:
            rounds.append(one_round(loops, len(rounds), steps))
        for name in list(loops)[1:]:
            interval = ratio([spent[name] for spent in rounds], [spent[names[0]] for spent in rounds], looks=len(looks))
            assert interval is not None
            answers[name] = Answer(interval, look)
            print(f"after {look} rounds: {answers[name].row(name)}", file=sys.stderr, flush=True)
            if answers[name].words != "cannot tell":
                del loops[name]
        if len(loops) == 1:
            break
    return answers


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--looks", type=int, nargs="+", default=[24, 48, 96, 192], help="after so many rounds each")
    parser.add_argument("--steps", type=int, default=3, help="of a loop in one block")
    parser.add_argument("--only", choices=list(LOOPS)[1:], help="compare with this loop alone")
    options = parser.parse_args()
    torch.set_num_threads(1)
    quiet()
    first, *others = LOOPS
    others = [options.only] if options.only else others
    answers = measured([first, *others], options.precision, options.looks, options.steps)
    where = torch.cuda.get_device_name() if torch.cuda.is_available() else f"{platform.machine()} CPU, one thread"
    looks = ", ".join(map(str, options.looks))
    print(f"{options.precision}, torch {torch.__version__}, {where}; {options.steps} steps a block, looks: {looks}\n")
    print("| Loop | Time against reference_impl | rounds | reference_impl is |\n|---|---|---|---|")
    for name in others:
        print(answers[name].row(name))
    ours = Reference(options.precision)
    ours.run(3)
    step, more = ours.run(10) / 10, beyond(ours)
    print(f"\nBeyond the bare loop: {more * 1e6:.0f} us of a step of {step * 1e3:.0f} ms, {more / step:.2%}")


def quiet() -> None:
    """Lightning and Accelerate tell much that is not asked here."""
    warnings.simplefilter("ignore")
    for name in ("lightning", "lightning.pytorch", "lightning.fabric", "lightning.pytorch.utilities.rank_zero"):
        logging.getLogger(name).setLevel(logging.ERROR)


if __name__ == "__main__":
    main()
