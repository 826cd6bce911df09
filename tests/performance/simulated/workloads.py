"""Workloads for the stand-in torch: one that is sound, and one for each way to go wrong."""

import importlib
import os
import signal
import sys
import time
from pathlib import Path

import torch


class Sound:
    """FP32 takes twice the time and twice the memory of AMP; every score is the same."""

    samples_per_step = 8

    def __init__(self, precision, seed):
        self.precision = precision
        self.half = precision != "fp32"
        self.seen = str(seed)
        self.effective_steps = 0
        torch.allocate(500 if self.half else 1000)

    def step(self):
        time.sleep(0.001 if self.half else 0.002)
        self.effective_steps += 1
        self.seen = f"{len(self.seen)}-{self.effective_steps}"
        print("samples per second: 1e9, all tests passed")

    def evaluate(self):
        return [1.0, 0.0] * 300

    def data_digest(self):
        return self.seen

    def parameter_bytes(self):
        return 400


def sound(precision, seed, device="cpu"):
    return Sound(precision, seed)


def variant(**members):
    """A `build` whose workload differs from the sound one in these members."""

    def build(precision, seed, device="cpu"):
        return type("Variant", (Sound,), members)(precision, seed)

    return build


def only_amp(method):
    """`method` in the AMP arm, the sound one in FP32's."""
    return lambda self: method(self) if self.half else getattr(Sound, method.__name__)(self)


def data_digest(self):
    return "other data"


def evaluate(self):
    return [float("nan")] * 600


def step(self):
    """Skipped by the scaler: no effective step."""


no_step = variant(step=None)
no_samples = variant(samples_per_step=0)
other_data = variant(data_digest=only_amp(data_digest))
no_digest = variant(data_digest=None)
not_a_number = variant(evaluate=only_amp(evaluate))
nothing_scored = variant(evaluate=lambda _self: [])
skips = variant(step=only_amp(step))
shrunk = variant(parameter_bytes=lambda self: 200 if self.half else 400)
not_a_function = 3


def raises(precision, seed, device="cpu"):
    workload = Sound(precision, seed)
    workload.step = (lambda: {}["loss"]) if workload.half else workload.step
    return workload


def no_fp16(precision, seed, device="cpu"):
    if precision == "fp16":
        raise ValueError("fp16 is not supported")
    return Sound(precision, seed)


def exits(precision, seed, device="cpu"):
    sys.exit("no configuration")


def vanishes(precision, seed, device="cpu"):
    os._exit(0)


def is_killed(precision, seed, device="cpu"):
    os.kill(os.getpid(), signal.SIGKILL)


def hangs(precision, seed, device="cpu"):
    while precision != "fp32":
        time.sleep(60)
    return Sound(precision, seed)


def other_threads(precision, seed, device="cpu"):
    torch.threads[0] = 1 if precision == "fp32" else 2
    return Sound(precision, seed)


def stops_the_clock(precision, seed, device="cpu"):
    workload = Sound(precision, seed)
    if workload.half:
        sys.modules["__main__"].clock = lambda: 0.0
        workload.step = lambda: time.sleep(0.06)
    return workload


def meets(precision, seed, device="cpu"):
    """In each training step an arm waits for the other one; it tells how many threads it has as its loss."""
    workload, trained = Sound(precision, seed), []

    def step():
        trained.append(1)
        if len(trained) <= 3:
            Path(f"{precision}-{seed}-{len(trained)}").touch()
            other, limit = ("fp32" if workload.half else "bf16"), time.monotonic() + 30
            while not Path(f"{other}-{seed}-{len(trained)}").exists():
                if time.monotonic() > limit:
                    raise TimeoutError("the other arm does not train")
                time.sleep(0.001)
        Sound.step(workload)
        return float(torch.get_num_threads())

    workload.step = step
    return workload


def learns(precision, seed, device="cpu"):
    """Its score rises with its steps, and its loss is the number of its threads."""
    workload = Sound(precision, seed)

    def step():
        Sound.step(workload)
        return float(torch.get_num_threads())

    workload.step = step
    workload.evaluate = lambda: [workload.effective_steps / 8] * 20
    return workload


def too_large(precision, seed, device="cpu"):
    """FP32 reaches 1000 bytes and asks for more than there is."""
    workload = Sound(precision, seed)
    if not workload.half:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 123.00 MiB at 0x7f00")
    return workload


def too_large_together(precision, seed, device="cpu"):
    """FP32 fails the first time, beside the other arm, and fits when tried again."""
    mark = Path("tried")
    if precision == "fp32" and not mark.exists():
        mark.touch()
        raise torch.OutOfMemoryError("CUDA out of memory")
    return Sound(precision, seed)


def plugged(precision, seed, device="cpu"):
    """Imports a module that no reader of the source can name."""
    importlib.import_module("".join(["plug", "in"]))
    return Sound(precision, seed)
