"""What modules put out and what gradients they get, in one window: largest values, zeros, subnormal numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch

from ..patching.wrapping import After, wrapped
from ..recorder.recording import Arguments, Keywords, Recording
from .module_names import dtype_name, first_tensor, module_names
from .shadow import Shadow

SMALLEST_NORMAL = 2.0**-14
"""float16's; between it and zero precision is lost bit by bit."""
CALLS = 64
"""Calls of one module that are looked at in one window."""


@dataclass
class Values:
    """What was reduced of one module, or of one parameter."""

    module: Any
    parameter: str = ""
    """Empty for the module itself: its first output, and the gradient of that."""
    output: str = ""
    """dtype of the output."""
    gradient: str = ""
    largest: list[Any] = field(default_factory=list)
    """Largest size of each output looked at, on the device."""
    gradients: list[Any] = field(default_factory=list)
    """Of each gradient: largest size, zeros, subnormal elements, elements."""
    raw: list[Any] = field(default_factory=list)
    """Of a parameter, for the shadow: its gradients as they were."""


class ModuleValues:
    """Hooks that are in place for one window."""

    def __init__(self, recording: Recording, shadow: Shadow | None) -> None:
        self._recording, self._shadow = recording, shadow
        self._rows: dict[tuple[int, str], Values] = {}
        self._handles: list[Any] = []
        self._depth = 0
        self._on = True
        self._original = torch.nn.Module._call_impl
        self._ours = wrapped(self._original, self._called, recording.failed)
        torch.nn.Module._call_impl = self._ours  # type: ignore[method-assign]

    def remove(self) -> None:
        """Take everything away. What somebody else has wrapped since stays, and passes calls on."""
        self._on = False
        if torch.nn.Module._call_impl is self._ours:
            torch.nn.Module._call_impl = self._original  # type: ignore[method-assign]
        for handle in self._handles:
            handle.remove()

    def of(self, module: Any, parameter: str = "") -> Values | None:
        return self._rows.get((id(module), parameter))

    def gradient_of(self, module: Any, parameter: str) -> Any:
        """The gradient that one backward left in a parameter; None where there was none, or several wrote it."""
        row = self.of(module, parameter)
        return row.raw[0] if row is not None and len(row.raw) == 1 else None

    def read(self) -> list[dict[str, Any]]:
        """All rows as numbers: one read for each device."""
        found = [row for row in self._rows.values() if row.largest or row.gradients]
        names = module_names(self._recording, [row.module for row in found])
        tensors = [tensor for row in found for tensor in (*row.largest, *row.gradients)]
        numbers = iter(_read(tensors))
        told = []
        for row in found:
            largest = [next(numbers)[0] for _ in row.largest]
            gradients = [next(numbers) for _ in row.gradients]
            told.append(
                {
                    "name": ".".join(filter(None, (names[id(row.module)], row.parameter))),
                    "kind": type(row.module).__qualname__,
                    "parameter": bool(row.parameter),
                    "output": row.output,
                    "activation": max(largest, default=None, key=_with_nan),
                    "gradient_dtype": row.gradient,
                    "gradient": max((each[0] for each in gradients), default=None, key=_with_nan),
                    "zeros": int(sum(each[1] for each in gradients)),
                    "subnormal": int(sum(each[2] for each in gradients)),
                    "elements": int(sum(each[3] for each in gradients)),
                }
            )
        return told

    def _called(self, arguments: Arguments, keywords: Keywords) -> After | None:
        module = arguments[0]
        if not self._on or not torch.is_grad_enabled() or isinstance(module, torch.jit.ScriptModule):
            return None
        if not self._depth and self._shadow is not None:
            self._shadow.called(module, arguments[1:], keywords)
        self._depth += 1

        def after(result: Any, raised: BaseException | None) -> None:
            self._depth -= 1
            if raised is None and self._on:
                with self._recording.updates.unseen():
                    self._returned(module, result)
                if self._shadow is not None:
                    self._shadow.returned(module, result, outermost=not self._depth)

        return after

    def _returned(self, module: Any, result: Any) -> None:
        row = self._row(module)
        for name, parameter in module._parameters.items():
            if parameter is not None and parameter.requires_grad and parameter.is_leaf and not self.of(module, name):
                self._handles.append(parameter.register_post_accumulate_grad_hook(self._accumulated(module, name)))
        output = first_tensor(result)
        if output is None or not output.numel() or len(row.largest) >= CALLS:
            return
        row.output = dtype_name(output)
        row.largest.append(output.detach().abs().amax().float().reshape(1))
        if output.requires_grad:
            self._handles.append(output.register_hook(lambda gradient: self._gradient(row, gradient)))

    def _row(self, module: Any, parameter: str = "") -> Values:
        return self._rows.setdefault((id(module), parameter), Values(module, parameter))

    def _accumulated(self, module: Any, name: str) -> Any:
        row = self._row(module, name)
        row.output = ""

        def hook(parameter: Any) -> None:
            if self._on and parameter.grad is not None and not parameter.grad.is_sparse:
                row.gradients.clear()  # what was accumulated last holds all of it
                self._gradient(row, parameter.grad)
                if self._shadow is not None:
                    row.raw.append(parameter.grad.detach().clone())

        return hook

    def _gradient(self, row: Values, gradient: Any) -> None:
        """Reduce a gradient; it stays as it is."""
        if not self._on or not isinstance(gradient, torch.Tensor) or not gradient.numel():
            return
        try:
            with self._recording.updates.unseen():
                row.gradient = dtype_name(gradient)
                size = gradient.detach().abs()
                zeros = (size == 0).sum()
                below = (size < SMALLEST_NORMAL).sum()
                count = torch.full((), size.numel(), device=size.device)
                row.gradients.append(
                    torch.stack([each.double() for each in (size.amax(), zeros, below - zeros, count)])
                )
        except Exception as error:
            self._recording.failed(error)


def _with_nan(value: float) -> float:
    """NaN is beyond everything."""
    return float("inf") if math.isnan(value) else value


def _read(tensors: list[Any]) -> list[list[float]]:
    """The numbers of many small tensors, with one copy from each device."""
    by_device: dict[Any, list[int]] = {}
    for at, tensor in enumerate(tensors):
        by_device.setdefault(tensor.device, []).append(at)
    found: list[list[float]] = [[] for _ in tensors]
    for places in by_device.values():
        flat = torch._C.TensorBase.tolist(torch.cat([tensors[at].double() for at in places]))
        for at in places:
            size = tensors[at].numel()
            found[at], flat = flat[:size], flat[size:]
    return found
