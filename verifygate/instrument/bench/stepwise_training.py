"""A training function, or a training script, as a workload: stopped at the end of each of its optimizer steps.

The project's training runs as it is, in the main thread. What takes the orders of the gate runs beside it and lets it
go on for one step at a time, so that the training of the other arm has the machine to itself in between. A step ends
where the optimizer that stepped first has stepped again, or its scaler has skipped it.
"""

from __future__ import annotations

import inspect
import json
import queue
import runpy
import shlex
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

Training = Callable[[int], Any]
"""Trains for so many steps, and gives back the scores that the outcome got, or nothing."""


class Enough(BaseException):
    """Ends a training that nobody needs any longer; no `except Exception` of the project stops it."""


class Driven:
    """The workload that a training is to those who drive it."""

    samples_per_step = 1  # unknown: rates are in steps

    def __init__(self, torch: Any, train: Training, most_steps: int, complaint: type[Exception]) -> None:
        self._train, self._most, self._complaint = train, most_steps, complaint
        self._steps = Steps(torch, self._at_the_end_of_a_step)
        self._go, self._there = threading.Semaphore(0), threading.Semaphore(0)
        self._running = self._unpaused = self._over = False
        self._error: BaseException | None = None
        self._scores: Any = None

    @property
    def effective_steps(self) -> int:
        return self._steps.effective

    def begin(self, steps: int) -> None:
        """Start a training of `steps` steps from the seed; it waits for the first step() to be asked for."""
        self.close()
        self._running, self._unpaused, self._over, self._error = True, False, False, None
        JOBS.put(lambda: self._run(steps))

    def step(self) -> None:
        """Let the training go on until its next step has ended. Raises what the training raises."""
        if not self._running:
            self.begin(self._most)
        self._go.release()
        self._there.acquire()
        if not self._running:
            raise self._error or self._complaint(
                "the training ended before it had taken as many optimizer steps as it was asked for"
            )

    def evaluate(self) -> list[float]:
        """Let the training go on to its end; the scores that it gave back, none where it gave none."""
        self._finish()
        if self._error:
            raise self._error
        given = self._scores
        if given is None:
            return []
        return [float(score) for score in given] if hasattr(given, "__iter__") else [float(given)]

    def close(self) -> None:
        """End a training that is still going on."""
        self._over = True
        self._finish()

    def _finish(self) -> None:
        if self._running:
            self._unpaused = True
            self._go.release()
            self._there.acquire()

    def _run(self, steps: int) -> None:
        """In the main thread: the training, from its beginning to its end."""
        self._go.acquire()
        try:
            if not self._over:
                with self._steps:
                    self._scores = self._train(steps)
        except Enough:
            pass
        except BaseException as error:  # a script may call sys.exit; whoever asked for the step tells of it
            self._error = error
        self._running = False
        self._there.release()

    def _at_the_end_of_a_step(self) -> None:
        if self._over:
            raise Enough
        if not self._unpaused:
            self._there.release()
            self._go.acquire()
            if self._over:
                raise Enough


JOBS: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
"""What the main thread is to run."""


class Steps:
    """Counts the steps of the optimizer that steps first, seen from outside; only while it is entered."""

    def __init__(self, torch: Any, at_the_end: Callable[[], None]) -> None:
        self._torch, self._at_the_end = torch, at_the_end
        self.attempts = 0
        """Steps that were tried, skipped ones too."""
        self._skipped = 0
        self._found_inf: Any = None
        """How many fused steps found inf, on the device: to read it after each step would make the host wait."""
        self._first: int | None = None
        self._taken = 0
        self._depth = 0

    @property
    def effective(self) -> int:
        return self.attempts - self._skipped - (0 if self._found_inf is None else int(self._found_inf))

    def __enter__(self) -> None:
        from torch.optim.optimizer import register_optimizer_step_post_hook

        scaler = self._torch.amp.GradScaler
        self._first = None
        self._handle = register_optimizer_step_post_hook(self._stepped)
        self._original = original = scaler.step
        steps = self

        def step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if not scaler.is_enabled():
                return original(scaler, optimizer, *args, **kwargs)
            before, steps._depth = steps._taken, steps._depth + 1
            try:
                result = original(scaler, optimizer, *args, **kwargs)
            finally:
                steps._depth -= 1
            steps._tried(scaler, optimizer, taken=steps._taken > before)
            return result

        scaler.step = step

    def __exit__(self, *_exception: object) -> None:
        self._handle.remove()
        self._torch.amp.GradScaler.step = self._original

    def _stepped(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        """A hook of torch's: an optimizer has stepped, by itself or for a scaler."""
        if self._is_first(optimizer):
            self._taken += 1
            if not self._depth:
                self.attempts += 1
                self._at_the_end()

    def _tried(self, scaler: Any, optimizer: Any, *, taken: bool) -> None:
        """A scaler has let an optimizer step, or has skipped the step."""
        if not self._is_first(optimizer):
            return
        self.attempts += 1
        if not taken:
            self._skipped += 1
        elif getattr(optimizer, "_step_supports_amp_scaling", False):
            # Fused: it skips on the device, and torch's hook fires all the same.
            for found in scaler._per_optimizer_states[id(optimizer)]["found_inf_per_device"].values():
                self._found_inf = found.clone() if self._found_inf is None else self._found_inf + found
        self._at_the_end()

    def _is_first(self, optimizer: Any) -> bool:
        if self._first is None:
            self._first = id(optimizer)
        return self._first == id(optimizer)


def of_function(function: Callable[..., Any], precision: str, seed: int, device: str) -> Training:
    """`train(precision, steps, seed)`, and `device` where it takes one; it may give back scores."""
    more = {"device": device} if "device" in inspect.signature(function).parameters else {}
    return lambda steps: function(precision=precision, steps=steps, seed=seed, **more)


def of_command(command: str, precision: str, seed: int, device: str) -> Training:
    """`python script.py ...` or `python -m module ...`, run in this process as the main program.

    `{precision}`, `{seed}`, `{steps}`, `{device}` are filled in, and `{scores}` with a file for a JSON list.
    """

    def train(steps: int) -> Any:
        with tempfile.TemporaryDirectory(prefix="verifygate-") as folder:
            scores = Path(folder, "scores.json")
            values = {"precision": precision, "seed": seed, "steps": steps, "device": device, "scores": str(scores)}
            _python, *argv = (word.format(**values) for word in shlex.split(command))
            usual_argv, usual_path = sys.argv, list(sys.path)
            try:
                if argv[0] == "-m":
                    sys.argv = argv[1:]
                    runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
                else:
                    sys.argv = argv
                    sys.path.insert(0, str(Path(argv[0]).absolute().parent))
                    runpy.run_path(argv[0], run_name="__main__")
            except SystemExit as end:
                if end.code not in (None, 0):
                    raise
            finally:
                sys.argv, sys.path[:] = usual_argv, usual_path
            return json.loads(scores.read_text(encoding="utf-8")) if scores.exists() else None

    return train
