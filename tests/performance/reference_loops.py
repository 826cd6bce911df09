"""The same training, written four ways, all of them over one and the same model: what `bench_reference.py` compares."""

from __future__ import annotations

import contextlib
import copy
import logging
import queue
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from reference_impl.config import Config
from reference_impl.data import Batch, Windows, make_items
from reference_impl.model import GPT
from reference_impl.precision import choose_precision
from reference_impl.train import compiled, make_optimizer, make_scheduler, train_step
from reference_impl.world import World

OURS, ITSELF = "reference_impl", "reference_impl again"


def clock() -> float:
    """Seconds: of the processor on a CPU, of the wall where a device works beside it."""
    return time.perf_counter() if torch.cuda.is_available() else time.process_time()


def ended(began: float) -> float:
    """Seconds since `began`, the device's work included."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return clock() - began


class Setup:
    """What all loops share: the weights, the batches, the optimizer and its schedule."""

    def __init__(self, precision: str) -> None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        # Lightning refuses to clip with a fused optimizer, so nobody has one here.
        self.cfg = Config(precision=precision, device=device, train_items=12_800, fused=False)
        self.precision = choose_precision(device, precision)
        self.items = make_items(self.cfg.train_items, 1)[0].to(self.precision.device)
        torch.manual_seed(self.cfg.seed)
        self.model: Any = GPT.from_config(self.cfg).to(self.precision.device)
        self.optimizer = make_optimizer(self.model, self.cfg)
        self.scheduler = make_scheduler(self.optimizer, self.cfg)
        self.data = Windows(self.items, self.cfg.batch_size, self.cfg.accumulation, self.cfg.seed)
        self.done = 0

    def window(self) -> list[Batch]:
        """The next batches; whoever asks next gets those that follow."""
        self.done += 1
        return self.data.window(self.done - 1)

    def weights(self) -> torch.Tensor:
        """All parameters, in one copy."""
        return torch.cat([parameter.detach().flatten() for parameter in self.model.parameters()])

    def state(self) -> tuple[dict[str, Any], ...]:
        """A copy of all that training changes."""
        held = (self.model, self.optimizer, self.scheduler)
        return copy.deepcopy((*(part.state_dict() for part in held), {"done": self.done}))

    def restore(self, state: tuple[dict[str, Any], ...]) -> None:
        """Go back to a `state`."""
        *states, place = copy.deepcopy(state)
        for part, held in zip((self.model, self.optimizer, self.scheduler), states, strict=True):
            part.load_state_dict(held)
        self.done = place["done"]


class Loop:
    """A way to train what a Setup holds."""

    def __init__(self, setup: Setup) -> None:
        self.setup, self.cfg = setup, setup.cfg
        self.model, self.optimizer, self.scheduler = setup.model, setup.optimizer, setup.scheduler

    def run(self, steps: int) -> float:
        """Train so many steps; the seconds that it took, what the last one leaves behind thrown away."""
        began = clock()
        self.train(steps)
        return ended(began)

    def train(self, steps: int) -> None:
        """Train so many steps. The last loss dies with the call, and with it the graph that autograd made of it."""
        raise NotImplementedError


class Reference(Loop):
    """reference_impl as its own loop calls it."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.precision, self.world = setup.precision, World()
        self.scaler = self.precision.scaler(self.cfg.init_scale, self.cfg.growth_interval)

    def train(self, steps: int) -> None:
        for _ in range(steps):
            result = train_step(
                self.model, self.optimizer, self.scaler, self.precision, self.setup.window(), self.cfg, self.world
            )
            if not result.skipped:
                self.scheduler.step()


class NanoGPT(Loop):
    """A training loop in the manner of nanoGPT: nothing in the step that the training does not need."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.scaler = torch.amp.GradScaler(self.cfg.device, enabled=self.cfg.precision == "fp16")
        half = setup.precision.dtype if self.cfg.precision != "fp32" else None
        self.region = torch.amp.autocast(self.cfg.device, dtype=half) if half else contextlib.nullcontext()

    def train(self, steps: int) -> None:
        for _ in range(steps):
            for tokens, targets in self.setup.window():
                with self.region:
                    loss = self.model(tokens, targets) / self.cfg.accumulation
                self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.grad_clip)
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad(set_to_none=True)
            self.scheduler.step()


class Accelerate(Loop):
    """The loop of Accelerate's documentation."""

    def __init__(self, setup: Setup) -> None:
        from accelerate import Accelerator
        from accelerate.state import AcceleratorState

        super().__init__(setup)
        AcceleratorState._reset_state(reset_partial_state=True)  # one process, several precisions
        self.accelerator = Accelerator(
            mixed_precision={"fp32": "no"}.get(self.cfg.precision, self.cfg.precision),
            cpu=self.cfg.device == "cpu",
            gradient_accumulation_steps=self.cfg.accumulation,
            step_scheduler_with_optimizer=False,
        )
        # `prepare` replaces the model's forward: that of a copy which shares the parameters, not that of the others.
        prepared: Any = self.accelerator.prepare(copy.copy(self.model), self.optimizer, self.scheduler)
        self.model, self.optimizer, self.scheduler = prepared

    def train(self, steps: int) -> None:
        for _ in range(steps):
            for tokens, targets in self.setup.window():
                with self.accelerator.accumulate(self.model):
                    loss = self.model(tokens, targets)
                    self.accelerator.backward(loss)
                    if self.accelerator.sync_gradients:
                        self.accelerator.clip_grad_norm_(self.model.parameters(), self.cfg.grad_clip)
                    self.optimizer.step()
                    self.optimizer.zero_grad()
            self.scheduler.step()


class Lightning(Loop):
    """Lightning's Trainer with automatic optimisation, in one `fit` that waits between two calls of `run`.

    It waits in a thread of its own, where it asks for the next batch. A step is what lies between two such questions,
    Lightning's own loop included; neither the start of `fit` nor the change of threads is timed.
    """

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.threads = torch.get_num_threads()
        self.asked: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[float | BaseException] = queue.SimpleQueue()
        threading.Thread(target=self.work, daemon=True).start()
        self.run(0)  # the start of `fit` touches what all loops share: it is over before another one runs

    def run(self, steps: int) -> float:
        self.asked.put(steps)
        answer = self.answers.get()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def __len__(self) -> int:
        """Of the batches: with a length, Lightning does not fetch one ahead, that is, into the next call."""
        return 1 << 40

    def __iter__(self) -> Iterator[Batch]:
        parameters, gradients = list(self.model.parameters()), None
        while True:
            steps = self.asked.get()
            # Lightning drops the gradients when the next step begins, the others when theirs ends: it finds its own
            # again, and nobody else does.
            for parameter, gradient in zip(parameters, gradients or [], strict=False):
                parameter.grad = gradient
            began = clock()
            for _ in range(steps):
                yield from self.setup.window()
            seconds, gradients = ended(began), [parameter.grad for parameter in parameters]
            for parameter in parameters:
                parameter.grad = None
            self.answers.put(seconds)

    def work(self) -> None:
        """What the thread does: train until the process ends."""
        torch.set_num_threads(self.threads)  # each thread has its own number
        try:
            self.fit()
        except BaseException as error:  # told to whoever called `run`
            self.answers.put(error)

    def fit(self) -> None:
        import lightning

        loop = self

        class Module(lightning.LightningModule):
            def __init__(self) -> None:
                super().__init__()
                self.model = loop.model

            def training_step(self, batch: Any, _index: int) -> torch.Tensor:
                loss: torch.Tensor = self.model(*batch)
                return loss

            def configure_optimizers(self) -> Any:
                return {
                    "optimizer": loop.optimizer,
                    "lr_scheduler": {"scheduler": loop.scheduler, "interval": "step"},
                }

        trainer = lightning.Trainer(
            accelerator="gpu" if self.cfg.device == "cuda" else "cpu",
            devices=1,
            precision={"fp32": "32-true", "bf16": "bf16-mixed", "fp16": "16-mixed"}[self.cfg.precision],
            max_epochs=1,
            accumulate_grad_batches=self.cfg.accumulation,
            gradient_clip_val=self.cfg.grad_clip,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(Module(), self)


class Fused(Reference):
    """With an optimizer of its own, which is one kernel (`fused = true`)."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.optimizer = make_optimizer(self.model, replace(self.cfg, fused=True))
        self.scheduler = make_scheduler(self.optimizer, self.cfg)


class Compiled(Reference):
    """With a compiled model (`compile = true`); the parameters are the same."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.model = compiled(self.model, replace(self.cfg, compile=True))


LOOPS: dict[str, Callable[[Setup], Any]] = {
    OURS: Reference,
    ITSELF: Reference,
    "nanoGPT-like": NanoGPT,
    "Accelerate": Accelerate,
    "Lightning": Lightning,
}
SETTINGS: dict[str, Callable[[Setup], Any]] = {"fused": Fused, "compile": Compiled}
"""reference_impl with a setting that the loops beside it do without."""


def quiet() -> None:
    """Lightning and Accelerate tell much that is not asked here."""
    warnings.simplefilter("ignore")
    for name in ("lightning", "lightning.pytorch", "lightning.fabric", "lightning.pytorch.utilities.rank_zero"):
        logging.getLogger(name).setLevel(logging.ERROR)
