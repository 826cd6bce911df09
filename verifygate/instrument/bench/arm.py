"""One arm of the performance comparison: builds the project's workload and does what the gate asks, order by order.

Runs by file path in the project's interpreter, on torch and the standard library alone. The gate speaks to it through
a private socket, one JSON object a line; what the workload prints is never read. Between two orders the process
sleeps in a read, so that the other arm has the machine to itself.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import importlib
import importlib.util
import json
import math
import os
import platform
import random
import re
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from time import perf_counter as clock  # bound here, before any code of the project can put another in its place
from typing import Any

SOCKET_VARIABLE = "VERIFYGATE_ARM_SOCKET"
MAX_TEXT = 300
CONTRACT = "build(precision, seed, device) -> workload with step(), evaluate(), effective_steps, samples_per_step"


class ContractError(Exception):
    """The workload is not what the contract asks for; the text says what is missing or wrong."""


class Arm:
    """The workload of one precision, and the steps it has taken."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.synchronize: Callable[[], object] = lambda: None
        self.event: Callable[..., Any] | None = None
        self.peak_allocated: Callable[[], int] | None = None
        self.peak_reserved: Callable[[], int] | None = None
        if self.device == "cuda" and "LOCAL_RANK" in os.environ:  # torchrun: a device for each process
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        if self.device == "cuda":  # bound here for the same reason as the clock
            self.synchronize, self.event = torch.cuda.synchronize, torch.cuda.Event
            self.peak_allocated, self.peak_reserved = torch.cuda.max_memory_allocated, torch.cuda.max_memory_reserved
        self.imported = Imported()
        self.machine = beside("machine_state").Machine(torch)
        self.precision = beside("float32_precision")
        self.workload: Any = None
        self.driven: Any = None
        """The module `driven`, where the workload is a training rather than something that is asked for steps."""
        self.tf32 = False
        self.allocated_before = self.reserved_before = 0
        self.orders: dict[str, Callable[..., dict[str, Any]]] = {
            "build": self.build,
            "train": self.train,
            "evaluate": self.evaluate,
            "block": self.block,
        }

    def hello(self) -> dict[str, Any]:
        """What this process runs on."""
        on_cuda = self.device == "cuda"
        return {
            "rank": int(os.environ.get("RANK", "0")),
            "platform": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            "torch": str(self.torch.__version__),
            "device": self.device,
            "device_name": self.torch.cuda.get_device_name() if on_cuda else "cpu",
            "bf16": bool(self.torch.cuda.is_bf16_supported()) if on_cuda else True,
            "details": self.machine.facts(),
            "tf32": on_cuda and tuple(self.torch.cuda.get_device_capability()) >= (8, 0),
        }

    def answer(self, order: dict[str, Any]) -> dict[str, Any]:
        """Do what `order` says; whatever goes wrong comes back as one line, never as an exception."""
        try:
            return {"done": self.orders[order.pop("order")](**order)}
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a workload may call sys.exit; that too is an answer
            return {"failed": {**described(self.torch, error), "peak_bytes": self._peak()}}

    def build(self, kind: str, workload: str, precision: str, seed: int, tf32: bool, most_steps: int) -> dict[str, Any]:
        """Import and build the workload under equal seeds and flags; report the flags that then hold.

        `kind`: `build` is a function that gives a workload, `function` one that trains, `command` a script that does.
        """
        self.tf32 = tf32
        function: Any = None if kind == "command" else imported(workload)
        if self.workload is not None:  # of another seed
            if self.driven:
                self.workload.close()
            self.workload = None
            gc.collect()
            if self.device == "cuda":
                self.torch.cuda.empty_cache()
        self.torch.manual_seed(seed)
        random.seed(seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed % 2**32)
        if self.device == "cuda":
            self.allocated_before = self.torch.cuda.memory_allocated()
            self.reserved_before = self.torch.cuda.memory_reserved()
        if kind == "build":
            self.workload = function(precision, seed, self.device)
        else:
            self.driven = driven = self.driven or beside(
                "stepwise_training"
            )  # once: its jobs are what the main thread waits for
            wanted = (workload, driven.of_command) if function is None else (function, driven.of_function)
            train = wanted[1](wanted[0], precision, seed, self.device)
            self.workload = driven.Driven(self.torch, train, most_steps, ContractError)
        set_tf32(self.torch, tf32)  # after the project's code, which may have set it too
        for name in ("step", "evaluate"):
            if not callable(getattr(self.workload, name, None)):
                raise ContractError(f"the workload has no method `{name}`; wanted: {CONTRACT}")
        self._effective()
        return {
            "samples_per_step": self._whole("samples_per_step", 1),
            "parameter_bytes": self._parameter_bytes(),
            "weights_digest": self._weights_digest(),
            "flags": flags(self.torch),
            "computed_in": self.precision.computed_in(self.torch, self.device),
        }

    def train(self, steps: int, evaluations: int, threads: int) -> dict[str, Any]:
        """Take `steps` steps: the training whose outcome is evaluated, and the first warm-up.

        Of so many `evaluations` all but the last are made on the way; the last is an order of its own. With `threads`
        above 0 it takes no more of torch's threads than these: another arm is training beside it.
        """
        before = self._effective()
        losses, scales = [], []
        accuracy: list[tuple[int, float]] = []
        on_the_way = {part * steps // evaluations for part in range(1, evaluations)} - {0, steps}
        if self.driven:
            self.workload.begin(steps)
        with self._no_more_than(threads):
            for step in range(1, steps + 1):
                losses.append(number(self.workload.step()))
                scales.append(number(getattr(self.workload, "loss_scale", None)))
                if self.driven and step == 1:
                    set_tf32(self.torch, self.tf32)  # its own beginning may have set it
                if step in on_the_way and not self.driven:  # a training that is held at its steps scores at its end
                    scores = self._scores()
                    accuracy.append((step, math.fsum(scores) / len(scores)))
            self.synchronize()
        return {
            "effective": self._gained(before, steps),
            "digest": self._digest(),
            "losses": [] if None in losses else losses,
            "scales": [] if None in scales else scales,
            "accuracy": accuracy,
        }

    def evaluate(self) -> dict[str, Any]:
        """One score per item."""
        return {"scores": self._scores(), "files": self.imported.files()}

    def _scores(self) -> list[float]:
        """What the items score now. A score that is no finite number passes here: the gate judges it."""
        scores = [float(score) for score in self.workload.evaluate()]
        if not scores and not self.driven:
            raise ContractError("evaluate() returned no score; it returns one number per item")
        return scores

    @contextmanager
    def _no_more_than(self, threads: int) -> Iterator[None]:
        """Take at most so many of torch's threads, and then as many as before; 0 changes nothing."""
        usual = self.torch.get_num_threads()
        if not 0 < threads < usual:
            yield
            return
        self.torch.set_num_threads(threads)
        try:
            yield
        finally:
            self.torch.set_num_threads(usual)

    def block(self, warmup: int, steps: int) -> dict[str, Any]:
        """Time `steps` steps one by one, after `warmup` steps that bring caches and clocks back from the other arm."""
        started = clock()
        state = self.machine.state()
        for _ in range(warmup):
            self.workload.step()
        if self.driven:
            set_tf32(self.torch, self.tf32)
        self.synchronize()
        self._reset_peak()
        before, begin = self._effective(), clock()
        seconds = self._timed(steps)
        if self.event and not 0.9 * (clock() - begin) - 0.001 * steps <= sum(seconds):
            raise ContractError("the steps run on another stream than the current one, where they cannot be timed")
        return {
            "seconds": seconds,
            "effective": self._gained(before, steps),
            "digest": self._digest(),
            "peak_bytes": self._peak(),
            "reserved_bytes": self._peak_reserved(),
            "flags": flags(self.torch),
            "computed_in": self.precision.computed_in(self.torch, self.device),
            "state": state,
            "files": self.imported.files(),
            "block_seconds": clock() - started,  # the last: all of the order is in it, as in the gate's own time
        }

    def _timed(self, steps: int) -> list[float]:
        """Seconds of each of `steps` steps.

        On a device the ends of the steps are marked by events on its own stream: waiting for the device after each
        step would keep the host from running ahead, and charge every arm for a wait that training does not have.
        """
        if self.event is None:
            ends = [clock()]
            for _ in range(steps):
                self.workload.step()
                ends.append(clock())
            return [end - begin for begin, end in pairwise(ends)]
        marks = [self.event(enable_timing=True) for _ in range(steps + 1)]
        marks[0].record()
        for mark in marks[1:]:
            self.workload.step()
            mark.record()
        self.synchronize()
        return [before.elapsed_time(after) / 1000 for before, after in pairwise(marks)]

    def _gained(self, before: int, steps: int) -> int:
        gained = self._effective() - before
        if not 0 <= gained <= steps:
            raise ContractError(f"`effective_steps` rose by {gained} over {steps} calls of step()")
        return gained

    def _effective(self) -> int:
        return self._whole("effective_steps", 0)

    def _whole(self, name: str, least: int) -> int:
        try:
            value = float(getattr(self.workload, name))
        except AttributeError:
            raise ContractError(f"the workload has no attribute `{name}`; wanted: {CONTRACT}") from None
        except (TypeError, ValueError):
            raise ContractError(f"`{name}` is not a number") from None
        if not math.isfinite(value) or value != int(value) or value < least:
            raise ContractError(f"`{name}` must be a whole number of at least {least}")
        return int(value)

    def _digest(self) -> str | None:
        digest = getattr(self.workload, "data_digest", None)
        return None if digest is None else str(digest())

    def _parameter_bytes(self) -> int | None:
        count = getattr(self.workload, "parameter_bytes", None)
        return None if count is None else int(count())

    def _weights_digest(self) -> str | None:
        """SHA-256 of the parameters, where the workload shows its `model`: two arms must start alike."""
        parameters = getattr(getattr(self.workload, "model", None), "parameters", None)
        if parameters is None:
            return None
        digest = hashlib.sha256()
        for parameter in parameters():
            raw = parameter.detach().to("cpu").contiguous()
            digest.update(ctypes.string_at(raw.data_ptr(), raw.numel() * raw.element_size()))
        return digest.hexdigest()

    def _reset_peak(self) -> None:
        if self.device == "cuda":
            self.torch.cuda.reset_peak_memory_stats()

    def _peak(self) -> int | None:
        """Peak bytes above what was allocated before the workload; torch counts none of it on a CPU."""
        if self.peak_allocated is None:
            return None
        try:
            return int(self.peak_allocated()) - self.allocated_before
        except RuntimeError:  # the device is lost: the error that lost it is the one to report
            return None

    def _peak_reserved(self) -> int | None:
        """The same of what the allocator holds: what other processes cannot have."""
        return None if self.peak_reserved is None else int(self.peak_reserved()) - self.reserved_before


def number(value: object) -> float | None:
    """`value` as a number, a tensor of one element too; None where it is none."""
    try:
        return None if value is None else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, RuntimeError):
        return None


def imported(workload: str) -> Any:
    """The function that `module:function` names. Raises ContractError, or whatever the module's import raises."""
    module_name, colon, function_name = workload.partition(":")
    if not (colon and module_name and function_name):
        raise ContractError(f"`{workload}` does not name a workload; write `module:function`")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module_name != missing and not module_name.startswith(missing + "."):
            raise  # the module is there; something that it imports is not
        raise ContractError(f"there is no module `{missing}` below the project's root") from None
    function = getattr(module, function_name, None)
    if not callable(function):
        raise ContractError(f"module `{module_name}` has no function `{function_name}`; wanted: {CONTRACT}")
    return function


class Imported:
    """Paths below the working folder, relative to it, of all modules that are loaded: what a measurement rests on.

    A module is looked at once: there are thousands, and the file system is slow where many arms ask it.
    """

    def __init__(self) -> None:
        self.root = os.path.realpath(Path.cwd()) + os.sep
        self.elsewhere = (str(Path(os.__file__).parent) + os.sep, f"{os.sep}site-packages{os.sep}")
        self.known = {"__main__"}  # this file: it is the gate's
        self.found: set[str] = set()

    def files(self) -> list[str]:
        """All of them by now, in order."""
        for name in sys.modules.keys() - self.known:
            self.known.add(name)
            file = getattr(sys.modules.get(name), "__file__", None)
            if not isinstance(file, str) or any(place in file for place in self.elsewhere):
                continue
            if (path := os.path.realpath(file)).startswith(self.root):
                self.found.add(Path(path[len(self.root) :]).as_posix())
        return sorted(self.found)


def beside(name: str) -> Any:
    """The module in the file `name`.py beside this one, under a name that no project has."""
    spec = importlib.util.spec_from_file_location(f"_verifygate_{name}", Path(__file__).with_name(f"{name}.py"))
    if spec is None or spec.loader is None:
        raise ContractError(f"{name}.py is not beside {Path(__file__).name}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def set_tf32(torch: Any, on: bool) -> None:
    """Switch TF32 on or off in every backend."""
    beside("float32_precision").set_tf32(torch, on)


def flags(torch: Any) -> dict[str, str]:
    """The settings that bend speed or results; two arms are comparable only where they are equal."""
    return {
        "threads": str(torch.get_num_threads()),
        "interop threads": str(torch.get_num_interop_threads()),
        "TF32": "off" if not torch.backends.cuda.matmul.allow_tf32 else "on",
        "float32 matmul precision": str(torch.get_float32_matmul_precision()),
        "cudnn.benchmark": str(torch.backends.cudnn.benchmark),
        "deterministic algorithms": str(torch.are_deterministic_algorithms_enabled()),
        "default dtype": str(torch.get_default_dtype()),
    }


def described(torch: Any, error: BaseException) -> dict[str, str]:
    """An error as one line with the project's line it came from, free of memory addresses and machine paths."""
    if isinstance(error, ContractError):
        return {"kind": "contract", "text": str(error)}
    # A plain RuntimeError is how torch says that host memory ran out.
    exhausted = isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)) or "not enough memory" in str(error)
    text = "" if exhausted else (str(error).strip().splitlines() or [""])[0]
    text = re.sub(r"\b0x[0-9a-fA-F]+", "0x...", text.replace(f"{Path.cwd()}{os.sep}", ""))
    what = "out of memory" if exhausted else f"{type(error).__name__}{': ' if text else ''}{text[:MAX_TEXT]}"
    return {"kind": "memory" if exhausted else "raised", "text": what + place(error)}


def place(error: BaseException) -> str:
    """` at path:line` of the innermost frame in the project, or nothing where the error arose outside it."""
    root = Path.cwd()
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        inside = file.is_relative_to(root) and "site-packages" not in file.parts
        if inside and file != Path(__file__).absolute():
            return f" at {file.relative_to(root).as_posix()}:{frame.lineno}"
    return ""


def main() -> None:
    """Connect, say hello, answer orders until the gate hangs up or one fails."""
    own_folder = str(Path(__file__).absolute().parent)
    sys.path[:] = [entry for entry in sys.path if entry != own_folder]  # the project must not import what lies here
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.connect(os.environ.pop(SOCKET_VARIABLE))
    stream = link.makefile("rw", encoding="utf-8", newline="\n")

    def send(message: dict[str, Any]) -> None:
        stream.write(json.dumps(message) + "\n")
        stream.flush()

    try:
        import torch
    except ImportError as error:
        send({"failed": {"kind": "torch", "text": f"the project's interpreter cannot import torch: {error}"}})
        return
    arm = Arm(torch)
    send({"done": arm.hello()})

    def obey(line: str) -> bool:
        answer = arm.answer(json.loads(line))
        send(answer)
        return "failed" not in answer

    def obey_the_rest() -> None:
        try:
            while (line := stream.readline()) and obey(line):
                pass
        except (BrokenPipeError, ConnectionResetError):
            pass  # the gate has gone
        os._exit(0)

    while (line := stream.readline()) and obey(line):
        if arm.driven:  # the training has the main thread: it may install signal handlers, and start processes
            threading.Thread(target=obey_the_rest).start()
            while True:
                arm.driven.JOBS.get()()


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        pass  # the gate has gone
    os._exit(0)  # everything is said: whatever threads or exit handlers the project left must not hold the gate up
