"""Record each operation of a few steps: where it ran, in which dtype, and a sketch of what it gave.

A window is what happens from one step of an optimizer to the next, the step itself left out; its rows end with the
gradients and the weights of that step. The windows are the first ones and those whose number is a power of two; the
first one begins when a module is called, as the weights are set then. A run without steps is one window. Between
windows nothing is in place but a count.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakIdKeyDictionary

from ..launch import Tell
from ..numerics.breaking import is_collective
from ..numerics.module_paths import ModulePaths
from ..recorder import install as recorder
from ..recorder.compilation import compiles
from ..recorder.low_precision import modes, other_modes
from ..recorder.recording import Recording
from .sketch import sketch

FIRST = 3
MOST_WINDOWS = 10
MOST_ROWS = 6000
"""Of one window; what comes after them is counted only."""
FILE = "values.jsonl"
Row = dict[str, Any]


def install(options: dict[str, Any], tell: Tell) -> None:
    """Write into `values.jsonl` of the options' folder. The recorder is installed before."""
    recording = recorder.current
    if recording is None:
        raise RuntimeError("the recorder is not installed")
    recording.others.append(Values(recording, tell, Path(options["folder"], FILE), Path(options["root"])))


class Values:
    """Begins and ends the windows, and writes their rows."""

    def __init__(self, recording: Recording, tell: Tell, path: Path, root: Path) -> None:
        self.recording = recording
        self._tell, self._path = tell, path
        self._root = f"{root.resolve()}{os.sep}"
        self._owner = os.getpid()
        self._number = 1
        self._written = 0
        self._why_not = ""
        self.modules = ModulePaths()
        self._mode: _Window | None = None
        self._stale: list[_Window] = []
        """Modes of windows that are over, below one of another instrument."""
        self._waiting = register_module_forward_pre_hook(self._first_call)

    def _first_call(self, module: Any, inputs: object) -> None:
        self._waiting.remove()
        if self._number == 1:
            self._begin()
            self.modules.enter(module, inputs)

    def stepped(self) -> None:
        """A step is over."""
        if self._mode is not None:
            self._end(self.recording.last_step.get("track"))
        self._number += 1
        is_sampled = self._number <= FIRST or self._number & (self._number - 1) == 0
        if is_sampled and self._written < MOST_WINDOWS:
            self._begin()

    def told(self) -> None:
        """The run ends."""
        if self._mode is not None:
            self._end(None)
        self._tell("values", windows=self._written, why_not=self._why_not)

    def place(self) -> tuple[str, int, str]:
        """File (relative to the root), line and function of the innermost frame of the project."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            if self.recording.places.is_own(frame.f_code):
                path = os.path.realpath(frame.f_code.co_filename).removeprefix(self._root)
                return path, frame.f_lineno, frame.f_code.co_qualname
            frame = frame.f_back
        return "", 0, ""

    def _begin(self) -> None:
        if compiles():
            self._why_not = "torch.compile is in use: keeping values would run other code"
        elif other_modes():
            self._why_not = "the project has a dispatch mode of its own around its steps"
        else:
            self.modules.start()
            self._mode = _Window(self)
            self._mode.__enter__()  # type: ignore[no-untyped-call]

    def _end(self, track: Any) -> None:
        mode, self._mode = self._mode, None
        if mode is None or os.getpid() != self._owner:
            return
        mode.watches = False
        self._stale.append(mode)
        while (stack := modes()) and self._stale and stack[-1] is self._stale[-1]:
            self._stale.pop().__exit__(None, None, None)  # type: ignore[no-untyped-call]
        self.modules.stop()
        try:
            if track is not None:
                mode.add_step(track, self.recording)
            rows = mode.read(self.recording)
        except Exception as error:  # an instrument's error is told, and kept from the subject
            self.recording.failed(error)
            return
        if rows:
            self._written += 1
            with self._path.open("a", encoding="ascii") as file:
                file.write(json.dumps({"step": self._number, "dropped": mode.dropped, "rows": rows}) + "\n")


class _Window(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """The rows of one window."""

    def __init__(self, values: Values) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._values = values
        self._rows: list[Row] = []
        self._sketches: list[Any] = []
        self._known: Any = WeakIdKeyDictionary()
        """Tensor -> its version when its value was kept last."""
        self._forward: dict[int, tuple[tuple[str, int, str], str]] = {}
        self._came: dict[int, Any] = {}
        """Row -> the tensor that came in from outside."""
        self.watches = True
        self.dropped = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        inputs = self._inputs(args, keywords) if self._looks else []
        result = func(*args, **keywords)
        if self._looks:
            try:
                with _disable_current_modes():
                    self._see(func, inputs, result)
            except Exception as error:
                self._values.recording.failed(error)
        return result

    @property
    def _looks(self) -> bool:
        recording = self._values.recording
        return self.watches and not recording.stepping and recording.active

    def _inputs(self, args: Any, keywords: Any) -> list[Any]:
        """The floating-point tensors that an operation is given; those from outside are kept before it writes them."""
        found = [each for each in tree_leaves((args, keywords)) if _is_kept(each)]
        try:
            with _disable_current_modes():
                for each in found:
                    if each not in self._known:
                        self._came[len(self._rows)] = each
                        self._add("input", "came in", each, place=self._values.place(), module="", dtypes=[])
        except Exception as error:
            self._values.recording.failed(error)
        return found

    def _see(self, func: Any, inputs: list[Any], result: Any) -> None:
        node: Any = torch._C._current_autograd_node()
        place, module = self._values.place(), self._values.modules.here
        if node is None:
            self._forward.setdefault(torch._C._autograd._get_sequence_nr() - 1, (place, module))
        else:
            place, module = self._forward.get(node._sequence_nr(), (place, ""))
        outputs = [each for each in tree_leaves(result) if _is_kept(each)]
        name = func._schema.name.partition("::")[2]
        is_same = func.is_view or name in ("detach", "lift_fresh", "alias")
        if is_same or name.startswith(("empty", "new_empty")) or is_collective(func):
            for each in outputs:
                self._known[each] = True
            return
        random = torch.Tag.nondeterministic_seeded in func.tags
        dtypes = sorted({_dtype(each) for each in inputs})
        for each in outputs:
            kind = "forward" if node is None else "backward"
            self._add(kind, name, each, place=place, module=module, dtypes=dtypes, random=random)

    def _add(self, kind: str, name: str, tensor: Any, **more: Any) -> None:
        self._known[tensor] = True
        if len(self._rows) >= MOST_ROWS:
            self.dropped += 1
            return
        row = {"kind": kind, "operator": name, "dtype": _dtype(tensor), "device": tensor.device.type, **more}
        autocast = self._values.recording.autocast() or ""
        self._rows.append(row | {"shape": list(tensor.shape), "autocast": autocast})
        self._sketches.append(sketch(tensor))

    def add_step(self, track: Any, recording: Recording) -> None:
        """The gradients and weights of the step that is over."""
        names = _names(recording)
        for number, parameter in enumerate(track.parameters):
            name = names.get(id(parameter), f"parameter {number}")
            for kind, tensor in (("gradient", parameter.grad), ("weight", parameter)):
                if _is_kept(tensor):
                    self._add(kind, name, tensor, place=("", 0, ""), module="", dtypes=[])

    def read(self, recording: Recording) -> list[Row]:
        """The rows, with their sketches as numbers: one copy from each device."""
        names = _names(recording)
        for number, tensor in self._came.items():
            if number < len(self._rows) and id(tensor) in names:
                self._rows[number] |= {"kind": "weight before", "operator": names[id(tensor)]}
        by_device: dict[Any, list[int]] = {}
        for number, each in enumerate(self._sketches):
            by_device.setdefault(each.device, []).append(number)
        for numbers in by_device.values():
            kept = torch._C.TensorBase.tolist(torch.stack([self._sketches[number] for number in numbers]))
            for number, figures in zip(numbers, kept, strict=True):
                self._rows[number]["sketch"] = figures
        return self._rows


def _names(recording: Recording) -> dict[int, str]:
    """The names of parameters and buffers, by id: those of the largest model that has them."""
    found: dict[int, str] = {}
    for module in sorted(recording.names.modules, key=lambda each: sum(1 for _ in torch.nn.Module.modules(each))):
        for path, part in torch.nn.Module.named_modules(module):
            for name, each in (*part._parameters.items(), *part._buffers.items()):
                found[id(each)] = f"{path}.{name}".lstrip(".")
    return found


def _is_kept(value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.is_floating_point()
        and value.layout is torch.strided
        and value.numel() > 0
    )


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")
