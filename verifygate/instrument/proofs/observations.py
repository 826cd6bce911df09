"""What a training of the tiny model shows while it runs: dtypes, losses, scales, updates, sizes of graphs."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


class Seen:
    """What is recorded while an example trains."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.dtypes: set[str] = set()
        self.losses: list[float] = []
        self.scales: list[float] = []
        self.updates: list[float] = []
        self.graph: list[int] = []
        self.norms: list[float] = []
        self.reductions = self.operations = self.reads = self.loaded = self.waits = 0
        self.aside = 0
        """Above zero while something that records is at work."""

    def watch(self, stack: contextlib.ExitStack, model: torch.nn.Module) -> None:
        """Hooks and one patch, all gone when the stack ends."""
        import torch
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        for layer in model.children():
            stack.callback(layer.register_forward_hook(self._output).remove)
        stack.callback(model.register_forward_pre_hook(self._graph_size).remove)
        before: dict[int, torch.Tensor] = {}

        def remember(optimizer: torch.optim.Optimizer, _arguments: object, _keywords: object) -> None:
            with self.recording():
                before[id(optimizer)] = _flat(optimizer)

        def compare(optimizer: torch.optim.Optimizer, _arguments: object, _keywords: object) -> None:
            with self.recording():
                length = float((_flat(optimizer) - before.pop(id(optimizer))).norm())
            self.updates.append(length / optimizer.param_groups[0]["lr"])

        stack.callback(register_optimizer_step_pre_hook(remember).remove)
        stack.callback(register_optimizer_step_post_hook(compare).remove)
        self.watch_scale(stack, torch.amp.GradScaler)

    def watch_scale(self, stack: contextlib.ExitStack, kind: type) -> None:
        """Note the scale after each update of a kind of scaler that has an update of its own."""
        update: Callable[..., None] = kind.update  # type: ignore[attr-defined]

        def recorded_update(scaler: torch.amp.GradScaler, new_scale: Any = None) -> None:
            update(scaler, new_scale)
            with self.recording():
                self.scales.append(scaler.get_scale())

        stack.enter_context(replaced(kind, "update", recorded_update))

    def recorded(self, loss_fn: Callable[..., torch.Tensor], factor: float) -> Callable[..., torch.Tensor]:
        """The loss function times a factor, which also keeps what it returned."""

        def loss(*arguments: Any, **keywords: Any) -> torch.Tensor:
            value = loss_fn(*arguments, **keywords)
            if factor != 1.0:
                value = value * factor
            with self.recording():
                self.losses.append(float(value.detach().mean()))
            return value

        return loss

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """What torch is given to do in here is not the example's."""
        self.aside += 1
        try:
            yield
        finally:
            self.aside -= 1

    def _output(self, _layer: object, _inputs: object, output: torch.Tensor) -> None:
        self.dtypes.add(str(output.dtype).removeprefix("torch."))

    def _graph_size(self, _model: object, _inputs: object) -> None:
        """Count the autograd nodes that the example's own variables still hold when the next forward begins."""
        frame: types.FrameType | None = sys._getframe()
        held: list[object] = []
        while frame is not None:
            if frame.f_code.co_filename == self.filename:
                held.extend(frame.f_locals.values())
            frame = frame.f_back
        self.graph.append(graph_nodes(held))


def graph_nodes(values: Iterable[object]) -> int:
    """Autograd nodes reachable from the tensors among the values, one level into lists, tuples and dicts."""
    import torch

    flat = list(values)
    for value in values:
        if isinstance(value, list | tuple):
            flat.extend(value)
        elif isinstance(value, dict):
            flat.extend(value.values())
    stack = [value.grad_fn for value in flat if isinstance(value, torch.Tensor) and value.grad_fn is not None]
    nodes: set[object] = set()
    while stack:
        node = stack.pop()
        if node not in nodes:
            nodes.add(node)
            stack.extend(child for child, _ in node.next_functions if child is not None)
    return len(nodes)


@contextlib.contextmanager
def replaced(owner: object, name: str, value: object) -> Iterator[None]:
    """An attribute with another value for a while."""
    old = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, old)


def _flat(optimizer: torch.optim.Optimizer) -> torch.Tensor:
    return joined(parameter for group in optimizer.param_groups for parameter in group["params"])


def joined(parameters: Iterable[torch.Tensor]) -> torch.Tensor:
    """All numbers in one row; of a tensor that is spread over ranks, this rank's part."""
    import torch

    own = [getattr(parameter, "to_local", lambda here=parameter: here)() for parameter in parameters]
    return torch.cat([part.detach().double().flatten() for part in own])


Instrument = Callable[[contextlib.ExitStack, Seen, "torch.nn.Module"], None]
"""Adds to what is recorded of a run, until the stack ends."""
