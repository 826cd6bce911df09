"""Profile one arm in a process of its own: what its memory is made of, whether it grows, and where its time goes.

Usage: python bootstrap.py bench.profile_arm OPTIONS.json ANSWER.json

The options: `workload`, `precision`, `seed`, `threads` (torch's at the most, 0 for any number), `lines` (places of the
project whose cost is asked for: path, first and last line). The answer: `{"done": {...}}`, or `{"failed": {...}}` with
one line that says why. Each question has steps of its own, so that no instrument bends what another one measures; times
come from steps without any instrument that slows them down.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter as clock
from typing import Any, NoReturn

WARMUP, TIMED, PROFILED, WATCHED, TRACED = 2, 4, 1, 2, 2
EPOCHS, LEAST_EPOCHS, STEPS_PER_EPOCH = 8, 5, 1
"""The first epoch may still fill caches; the gate leaves it out."""
GROWTH_SECONDS = 5.0
"""After so long no further epoch begins, if there are enough for a line through them."""


class Profile:
    """The questions, each answered by steps of its own."""

    def __init__(self, torch: Any, options: dict[str, Any]) -> None:
        self.torch = torch
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.synchronize: Callable[[], object] = torch.cuda.synchronize if self.device == "cuda" else lambda: None
        self.options = options
        self.root = Path.cwd()
        self.standing = (0, 0)
        """Allocated and reserved before the workload was built; on CUDA."""
        self.workload: Any = None

    def answer(self) -> dict[str, Any]:
        """Everything, in the order in which nothing disturbs what comes after it."""
        self.build()
        for _ in range(WARMUP):
            self.workload.step()
        self.synchronize()
        return {
            "device": self.device,
            **self.times(),
            **self.allocator(),
            **self.anatomy(),
            "lines": self.lines(),
            "growth": self.growth(),
        }

    def build(self) -> None:
        """Build the workload as the arm that is timed does."""
        arm = importlib.import_module(f"{__package__}.arm")
        function = arm.imported(self.options["workload"])
        seed = self.options["seed"]
        self.torch.manual_seed(seed)
        random.seed(seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed % 2**32)
        if self.device == "cuda":
            self.standing = self.torch.cuda.memory_allocated(), self.torch.cuda.memory_reserved()
        self.workload = function(self.options["precision"], seed, self.device)
        arm.set_tf32(self.torch, on=False)
        if 0 < self.options["threads"] < self.torch.get_num_threads():
            self.torch.set_num_threads(self.options["threads"])

    def times(self) -> dict[str, Any]:
        """Seconds of each step, and of those the seconds before a forward."""
        from .step_time import DataTime

        data = DataTime(self.synchronize)
        rows = []
        with data.watching():
            for _ in range(TIMED):
                self.synchronize()
                data.begin()
                began = clock()
                self.workload.step()
                self.synchronize()
                seen = {"data": data.seconds if data.forwards else None, "loader": data.loader_seconds}
                rows.append({"seconds": clock() - began, "loads": data.loads, **seen})
        return {"steps": rows}

    def allocator(self) -> dict[str, Any]:
        """The allocator's peaks, and the operators that take the time."""
        from .operator_profile import profiled
        from .storages import standing_bytes

        allocated = reserved = None
        if self.device == "cuda":
            self.torch.cuda.empty_cache()
            self.torch.cuda.reset_peak_memory_stats()
            self.workload.step()
            self.synchronize()
            allocated = self.torch.cuda.max_memory_allocated() - self.standing[0]
            reserved = self.torch.cuda.max_memory_reserved() - self.standing[1]
        gc.collect()
        before = standing_bytes(self.device)
        seen = profiled(self.workload.step, PROFILED, self.synchronize, self.device)
        peak = seen.pop("peak")
        return {"allocated": allocated if peak is None else before + peak, "reserved": reserved, **seen}

    def anatomy(self) -> dict[str, Any]:
        """The storages of one step at its peak, its matrix work, and the calls that make the host wait."""
        from .host_syncs import HostWaits
        from .operator_profile import MatrixWork
        from .storages import StorageWatch

        gc.collect()
        watch, work, waits = StorageWatch(self.device), MatrixWork(), HostWaits(self.device)
        with watch.watching(), work, waits:
            for _ in range(WATCHED):
                watch.begin()
                self.workload.step()
        calls = []
        for key, count in sorted(waits.count.items()):
            (path, line), what = key
            each = {"count": count / WATCHED, "seconds": waits.seconds[key] / WATCHED}
            calls.append({"path": self._relative(path), "line": line, "call": what, **each})
        return {
            "anatomy": watch.anatomy(),
            "flops": {dtype: flops / WATCHED for dtype, flops in work.flops.items()},
            "uncounted": dict(work.uncounted),
            "waits": calls,
        }

    def lines(self) -> list[dict[str, Any]]:
        """For each line asked for: how often a step passes it, and which part of the step's time it takes."""
        from .step_time import LineClock

        asked = [tuple(each) for each in self.options["lines"]]
        shares: list[list[float]] = [[] for _ in asked]
        passes = [0] * len(asked)
        for _ in range(TRACED if asked else 0):
            watch = LineClock(self.root, asked)
            began = clock()
            with watch.watching():
                self.workload.step()
            self.synchronize()
            whole = clock() - began
            for number, seconds in enumerate(watch.seconds):
                shares[number].append(seconds / whole)
                passes[number] += watch.passes[number]
        return [
            {"path": path, "line": first, "passes": count / TRACED, "shares": share}
            for (path, first, _), count, share in zip(asked, passes, shares, strict=True)
        ]

    def growth(self) -> dict[str, Any]:
        """Live storages at the end of each epoch: some steps and one evaluation."""
        from .storages import StorageWatch

        watch, began = StorageWatch(self.device), clock()
        sizes: list[int] = []
        counts: list[int] = []
        with watch.watching():
            while len(sizes) < EPOCHS and (len(sizes) < LEAST_EPOCHS or clock() - began < GROWTH_SECONDS):
                for _ in range(STEPS_PER_EPOCH):
                    self.workload.step()
                self.workload.evaluate()
                gc.collect()
                sizes.append(watch.bytes)
                counts.append(len(watch.alive))
        return {"steps": STEPS_PER_EPOCH, "bytes": sizes, "storages": counts}

    def _relative(self, path: str) -> str:
        file = Path(path)
        return file.relative_to(self.root).as_posix() if path and file.is_relative_to(self.root) else ""


def main(arguments: Sequence[str]) -> NoReturn:
    """Read the options, profile, write the answer."""
    options, answer = json.loads(Path(arguments[0]).read_text(encoding="utf-8")), Path(arguments[1])
    try:
        import torch
    except ImportError as error:
        told: dict[str, Any] = {"failed": f"the project's interpreter cannot import torch: {error}"}
    else:
        try:
            told = {"done": Profile(torch, options).answer()}
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a workload may call sys.exit; that too is an answer
            told = {"failed": importlib.import_module(f"{__package__}.arm").described(torch, error)["text"]}
    answer.write_text(json.dumps(told), encoding="utf-8")
    os._exit(0)  # everything is said: whatever threads or exit handlers the project left must not hold the gate up
