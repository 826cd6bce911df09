"""Run small training programs on the CPU and tell whether what they train depends on the loss scale.

A program asks for float16 on CUDA; here it gets bfloat16 on the CPU and a live scaler, so that powers of two change no
bit. Its weights, those of all optimizers that it makes, must be the same from loss scale 2^8, from 2^16 and with the
scaler switched off, and a gradient that overflows must not reach them.

As a script it prints one JSON object, of program and what each run came to: `python oracle.py RUN,... PATH...`.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import runpy
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

RUNS: dict[str, dict[str, Any]] = {
    "low": {"scale": 2.0**8},
    "high": {"scale": 2.0**16},
    "off": {"enabled": False},
    "overflow": {"scale": 2.0**8, "poisoned": 2},
    "overflow at first": {"scale": 2.0**8, "poisoned": 1},
    "overflow in third": {"scale": 2.0**8, "poisoned": 3},
}
ENTRY = "main.py"
"""What is run of a program that is a folder."""
SEED = 7
LIMIT = 20
"""Seconds for one run."""


def run_all(runs: Sequence[str], paths: Sequence[Path]) -> dict[str, dict[str, str]]:
    """Every program in some kinds of run, each in a process of its own forked from this one."""
    import torch

    torch.set_num_threads(1)
    first = torch.nn.Parameter(torch.zeros(1))
    torch.optim.SGD([first]).zero_grad()
    torch.optim.Adam([first]).step()  # what torch imports late is imported before the fork, once
    return {str(path): {name: _forked(path, **RUNS[name]) for name in runs} for path in paths}


def _forked(path: Path, **options: Any) -> str:
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.close(reading)
        signal.alarm(LIMIT)
        os.write(writing, _run(path, **options).encode("utf-8", "replace")[:4096])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        outcome = told.read().decode("utf-8")
    os.waitpid(child, 0)
    return outcome or f"ended by a signal, after {LIMIT} s or earlier"


def _run(path: Path, **options: Any) -> str:
    """The digest of the weights, `not finite`, or the error that ended the run."""
    import torch

    optimizers = _instrument(**options)
    torch.manual_seed(SEED)
    entry = path / ENTRY if path.is_dir() else path
    sys.path.insert(0, str(entry.parent))
    sys.dont_write_bytecode = True
    warnings.simplefilter("ignore")
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            runpy.run_path(str(entry), run_name="__main__")
    except BaseException as error:
        return f"raised {type(error).__name__}: {error}"
    weights = {id(each): each for made in optimizers for group in made.param_groups for each in group["params"]}
    if not weights:
        return "no optimizer was made"
    if not all(each.isfinite().all() for each in weights.values()):
        return "not finite"
    digest = hashlib.sha256()
    for each in weights.values():
        digest.update(each.detach().float().numpy().tobytes())
    return digest.hexdigest()[:16]


def _instrument(scale: float = 1.0, *, enabled: bool = True, poisoned: int = 0) -> list[Any]:
    """Put the CPU and bfloat16 in the place of CUDA and float16; the list will hold every optimizer made."""
    import torch

    optimizers: list[Any] = []
    autocast, scaler, optimizer = torch.amp.autocast, torch.amp.GradScaler, torch.optim.Optimizer

    def wrapped(of: type, replacement: Callable[..., None]) -> None:
        original = of.__init__
        of.__init__ = lambda self, *given, **named: replacement(original, self, *given, **named)  # type: ignore[misc]

    def as_cpu_region(original: Any, self: Any, device_type: str = "cuda", dtype: Any = None, **named: Any) -> None:
        original(self, "cpu", dtype=torch.bfloat16, **named)

    def as_cpu_scaler(original: Any, self: Any, device: str = "cuda", **named: Any) -> None:
        on = named.get("enabled", True) and enabled
        original(self, "cpu", init_scale=scale, growth_interval=10**6, enabled=on)

    def kept(original: Any, self: Any, *given: Any, **named: Any) -> None:
        original(self, *given, **named)
        optimizers.append(self)

    wrapped(autocast, as_cpu_region)
    wrapped(scaler, as_cpu_scaler)
    wrapped(optimizer, kept)
    if poisoned:
        _poison(torch, poisoned)
    return optimizers


def _poison(torch: Any, at: int) -> None:
    """Make a scaled loss overflow: the gradients of the backward after the `at`-th call of `scale` are infinite."""
    calls = 0
    original = torch.amp.GradScaler.scale

    def scale(self: Any, outputs: Any) -> Any:
        nonlocal calls
        calls += 1
        made = original(self, outputs)
        return made * float("inf") if calls == at and isinstance(made, torch.Tensor) and made.requires_grad else made

    torch.amp.GradScaler.scale = scale


if __name__ == "__main__":
    print(json.dumps(run_all(sys.argv[1].split(","), [Path(given) for given in sys.argv[2:]])))
