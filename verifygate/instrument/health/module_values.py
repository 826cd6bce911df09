"""What modules put out and what gradients they get, in one window: largest values, zeros, subnormal numbers."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from ..patching.wrapping import After, wrapped
from ..recorder.recording import Arguments, Keywords, Recording
from .module_names import ModuleNames, dtype_name, first_tensor
from .shadow import Shadow

SMALLEST_NORMAL = 2.0**-14
"""float16's; between it and zero precision is lost bit by bit."""
CALLS = 64
"""Calls of one module that are looked at in one window."""
NODES = 64
"""Nodes of the graph behind a module's output that are searched for casts of its parameters."""
PARTS = 4
"""Operations between a parameter and its cast, such as taking a part of it."""


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
    in_half: list[Any] = field(default_factory=list)
    """Of a parameter that is cast to float16: largest size of each gradient that came back to the cast."""
    raw: list[Any] = field(default_factory=list)
    """Of a parameter, for the shadow: the gradient of the first backward that came to it."""


class ModuleValues:
    """Hooks that are in place for one window."""

    def __init__(self, recording: Recording, names: ModuleNames, shadow: Shadow | None) -> None:
        self._recording, self._names, self._shadow = recording, names, shadow
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
        """The gradient of the first backward that came to a parameter; None where none did."""
        row = self.of(module, parameter)
        return row.raw[0] if row is not None and row.raw else None

    def read(self) -> list[dict[str, Any]]:
        """All rows as numbers: one read for each device."""
        found = [row for row in self._rows.values() if row.largest or row.gradients]
        names = self._names.of([row.module for row in found])
        tensors = [tensor for row in found for tensor in (*row.largest, *row.in_half, *row.gradients)]
        numbers = iter(_read(tensors))
        told = []
        for row in found:
            largest = [next(numbers)[0] for _ in row.largest]
            in_half = [next(numbers)[0] for _ in row.in_half]
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
                    "in_half": max(in_half, default=None, key=_with_nan),
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
        if torch._C._functorch.peek_interpreter_stack() is not None:
            return None  # `torch.func`: its tensors may not be kept behind the call
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
                self._handles.append(parameter.register_hook(self._arrives(module, name)))
        output = first_tensor(result)
        if output is None or not output.numel() or len(row.largest) >= CALLS:
            return
        row.output = dtype_name(output)
        row.largest.append(output.detach().abs().amax().float().reshape(1))
        if output.requires_grad:
            self._handles.append(output.register_hook(lambda gradient: self._gradient(row, gradient)))
            for name, cast in _casts(module, output.grad_fn):
                self._handles.append(cast.register_prehook(self._comes_to_cast(self._row(module, name))))

    def _row(self, module: Any, parameter: str = "") -> Values:
        return self._rows.setdefault((id(module), parameter), Values(module, parameter))

    def _arrives(self, module: Any, name: str) -> Any:
        """A hook on what one backward brings to a parameter, before it is added to what others brought."""
        row = self._row(module, name)

        def hook(gradient: Any) -> None:
            if self._on and gradient is not None and gradient.layout is torch.strided:
                self._gradient(row, gradient)
                if self._shadow is not None and not row.raw:
                    row.raw.append(gradient.detach().clone())

        return hook

    def _comes_to_cast(self, row: Values) -> Any:
        """A hook on the cast of a parameter: what comes there is in float16 still, and the sum of all its uses."""

        def hook(gradients: tuple[Any, ...]) -> None:
            gradient = gradients[0]
            if self._on and gradient is not None and gradient.dtype is torch.float16 and gradient.numel():
                with self._recording.updates.unseen():
                    row.in_half.append(gradient.detach().abs().amax().float().reshape(1))

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


def _casts(module: Any, output: Any) -> Iterator[tuple[str, Any]]:
    """Each cast of one of the module's own parameters on the way to its output: the name, and the node of the cast."""
    own = {id(each): name for name, each in module._parameters.items() if each is not None and each.requires_grad}
    waiting, seen = deque([output]), {output}
    while own and waiting and len(seen) < NODES:
        node = waiting.popleft()
        if node.name().startswith("ToCopyBackward") and (name := own.get(_cast_variable(node))) is not None:
            yield name, node
            continue
        for before, _ in node.next_functions:
            if before is not None and before not in seen:
                seen.add(before)
                waiting.append(before)


def _cast_variable(node: Any) -> int:
    """The id of the leaf that a cast is made of, directly or of a part of it; 0 where it is made of something else."""
    for _ in range(PARTS):
        if len(node.next_functions) != 1 or (node := node.next_functions[0][0]) is None:
            return 0
        if (variable := getattr(node, "variable", None)) is not None:
            return id(variable)
    return 0


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
