"""Which parameters the first steps of a run move, and what stands in the way of the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ..launch import Tell
from ..recorder.recording import Recording
from ..recorder.update_watch import is_scaled_within, spread

STEPS = 8
"""Steps that are looked at."""


@dataclass
class Moves:
    """One parameter, and what was seen of it."""

    parameter: Any
    first: Any
    """A sample of it, as it was when it was first seen."""
    stepped: int = 0
    """Steps of its optimizer that began with a gradient that is not zero, in the sample."""
    moved: int = 0
    """Those of them after which it was another."""
    began_alike: int = 0
    """Those of them that began with what was there in the beginning."""
    reached: int = 0
    """Elements with a gradient that is not zero, over these steps."""
    unmoved: int = 0
    """Those of them that stayed bit for bit as they were."""
    gradient: bool = False
    """Whether a gradient was ever there at a step, of whichever optimizer."""
    sparse: bool = False
    rate: float = 0.0
    """Largest learning rate of these steps."""
    before: Any = None
    mask: Any = None


class ParameterMoves:
    """Stands around the first steps of all optimizers."""

    def __init__(self, recording: Recording, tell: Tell) -> None:
        self._recording, self._tell = recording, tell
        self._seen: dict[int, Moves] = {}
        self._optimized: set[int] = set()
        self._steps = self._counted = 0
        self._is_told = False

    def before(self, optimizer: Any, _arguments: Any, _keywords: Any) -> None:
        """A step begins."""
        if self._counted >= STEPS or torch.compiler.is_compiling() or is_scaled_within(optimizer):
            return
        try:
            with self._recording.updates.unseen():
                self._look()
                for group in optimizer.param_groups:
                    rate = float(group["lr"]) if isinstance(group.get("lr"), int | float) else 1.0
                    for parameter in group["params"]:
                        self._begin(parameter, rate)
        except Exception as error:
            self._recording.failed(error)

    def after(self, optimizer: Any, _arguments: Any, _keywords: Any) -> None:
        """A step is over."""
        if torch.compiler.is_compiling():
            return
        self._steps += 1
        try:
            with self._recording.updates.unseen():
                for parameter in (each for group in optimizer.param_groups for each in group["params"]):
                    if (seen := self._seen.get(id(parameter))) is not None and seen.before is not None:
                        self._end(seen)
        except Exception as error:
            self._recording.failed(error)

    def stepped(self) -> None:
        """A step was made, or skipped."""
        self._counted += 1
        if self._counted <= STEPS:
            with self._recording.updates.unseen():
                self._look()  # a step that was skipped never began
        if self._counted == STEPS:
            self.told()

    def told(self) -> None:
        """Tell it, once."""
        if self._is_told:
            return
        self._is_told = True
        rows = []
        for name, seen in self._named():
            now = spread(seen.parameter)
            rows.append(
                {
                    "name": name,
                    "dtype": str(seen.parameter.dtype).removeprefix("torch."),
                    "trainable": seen.parameter.requires_grad,
                    "optimized": id(seen.parameter) in self._optimized,
                    "gradient": seen.gradient,
                    "sparse": seen.sparse,
                    "changed": not bool((now == seen.first).all()) if now.shape == seen.first.shape else True,
                    "rate": seen.rate,
                    **{each: getattr(seen, each) for each in ("stepped", "moved", "began_alike", "reached", "unmoved")},
                }
            )
        self._tell("parameter-moves", windows=self._counted, steps=self._steps, rows=rows)

    def _look(self) -> None:
        """Find the parameters of all modules known; note which have a gradient, in an optimizer or not."""
        for track in self._recording.tracks:
            for parameter in track.parameters:
                self._see(parameter)
                self._optimized.add(id(parameter))
        for module in self._recording.names.modules:
            for parameter in torch.nn.Module.parameters(module):
                self._see(parameter)
        for seen in self._seen.values():
            gradient = seen.parameter.grad
            if gradient is not None and not seen.gradient:
                seen.sparse |= gradient.is_sparse
                seen.gradient = gradient.is_sparse or bool((gradient != 0).any())

    def _see(self, parameter: Any) -> None:
        if id(parameter) not in self._seen and parameter.numel() and parameter.layout is torch.strided:
            self._seen[id(parameter)] = Moves(parameter, spread(parameter).clone())

    def _begin(self, parameter: Any, rate: float) -> None:
        self._see(parameter)
        self._optimized.add(id(parameter))
        seen, gradient = self._seen.get(id(parameter)), parameter.grad
        if seen is None or gradient is None or gradient.is_sparse or not rate:
            return
        seen.rate = max(seen.rate, rate)
        mask = spread(gradient) != 0
        if bool(mask.any()):
            seen.before, seen.mask = spread(parameter).clone(), mask

    def _end(self, seen: Moves) -> None:
        before, mask, seen.before, seen.mask = seen.before, seen.mask, None, None
        same = spread(seen.parameter) == before
        seen.stepped += 1
        seen.moved += not bool(same.all())
        seen.began_alike += bool((before == seen.first).all())
        seen.reached += int(mask.sum())
        seen.unmoved += int((same & mask).sum())

    def _named(self) -> Iterator[tuple[str, Moves]]:
        """Each parameter with what the project calls it."""
        names: dict[int, str] = {}
        order = {key: number for number, key in enumerate(self._seen)}

        def rank(module: torch.nn.Module) -> tuple[int, int]:
            """The largest first; equal ones in the order of the optimizers."""
            own = [order.get(id(each), len(order)) for each in torch.nn.Module.parameters(module)]
            return -len(own), min(own, default=len(order))

        for module in sorted(self._recording.names.modules, key=rank):
            used = set(names.values())
            for name, parameter in torch.nn.Module.named_parameters(module):
                other = f"{name} (another {type(module).__qualname__})" if name in used else name
                names.setdefault(id(parameter), other)
        for number, (key, seen) in enumerate(self._seen.items(), 1):
            yield names.get(key, f"parameter {number} of shape {list(seen.parameter.shape)}"), seen
