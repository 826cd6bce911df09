"""What a statement adds to a gradient: how large that is, and whether it is a multiple of the weights.

A sum that a write in place adds is read off its operand. Of an assignment, `p.grad = p.grad + x`, only the difference
is left, less what rounding hides of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from .recording import Arguments, Keywords

SIGNS = {"add_": 1, "__iadd__": 1, "_foreach_add_": 1, "sub_": -1, "__isub__": -1, "_foreach_sub_": -1}
ASSIGNING = ("copy_", "grad")
ALIKE = 1e-2
"""By what part of its size an addend may differ from a multiple."""
FEWEST = 8
"""Elements from which on two tensors are no multiples of each other by chance; smaller ones are not asked."""
LOUD = 20.0
"""How many times what rounding hides a difference must be to be read at all."""


class Write(NamedTuple):
    """The call that writes to a gradient, or an assignment to `grad`."""

    name: str
    arguments: Arguments
    keywords: Keywords
    number: int = 0
    """Which of the tensors, where it writes to a list of them."""


class Addend(NamedTuple):
    """What is added to one gradient."""

    values: torch.Tensor
    hidden: float = 0.0
    """The norm of what rounding may hide of it."""


@dataclass
class Added:
    """What one statement added to the gradients of one optimizer in one window."""

    squares: float = 0.0
    """The square of its norm."""
    factors: list[float | None] = field(default_factory=list)
    """Of each tensor, by what it is a multiple of the weights, or of their signs; None where it is none."""
    known: bool = True
    """Whether every part of it was measured."""

    @property
    def norm(self) -> float | None:
        """Of all tensors together; None where it is zero, or not known."""
        return self.squares**0.5 if self.known and self.squares > 0 else None

    @property
    def factor(self) -> float | None:
        """The one factor of all tensors; None where there is none."""
        found = [each for each in self.factors if each is not None]
        if self.norm is None or not found or len(found) < len(self.factors):
            return None
        return found[0] if max(found) - min(found) <= ALIKE * abs(found[0]) else None

    def take(self, part: Addend | None, weights: torch.Tensor) -> None:
        """Count one tensor's part in; None for a write that is no sum."""
        norm = float("nan") if part is None else _norm(part.values)
        if part is None or not LOUD * part.hidden <= norm < float("inf"):
            self.known = False
        elif norm:  # what is added for weights that are zero says nothing
            self.squares += norm * norm
            if weights.numel() >= FEWEST:
                self.factors.append(_factor(part.values, weights, ALIKE * norm + 2 * part.hidden))


def addend(write: Write, gradient: torch.Tensor) -> Addend | None:
    """What a write is about to add to this gradient; None for a write that is no sum, or a sum of another shape."""
    given = write.arguments[1] if len(write.arguments) > 1 else None
    if isinstance(given, list | tuple) and write.number < len(given):
        given = given[write.number]
    if not isinstance(given, torch.Tensor) or given.shape != gradient.shape:
        return None
    values = given.detach().double()
    if (sign := SIGNS.get(write.name)) is not None:
        alpha = write.keywords.get("alpha", 1)
        return Addend(values * (sign * alpha)) if isinstance(alpha, int | float) else None
    if write.name in ASSIGNING:
        before = gradient.detach().double()
        if given is gradient:  # the second half of `p.grad += x`
            return Addend(torch.zeros_like(before))
        return Addend(values - before, _norm(before) * torch.finfo(gradient.dtype).eps / 2)
    return None


def _factor(values: torch.Tensor, weights: torch.Tensor, tolerance: float) -> float | None:
    wide = weights.detach().double()
    for base in (wide, wide.sign()):
        square = _norm(base) ** 2
        factor = _value((values * base).sum()) / square if square else 0.0
        if factor and _norm(values - base * factor) <= tolerance:
            return factor
    return None


def _norm(tensor: torch.Tensor) -> float:
    return _value(torch.linalg.vector_norm(tensor))


def _value(tensor: Any) -> float:
    return float(torch._C.TensorBase.item(tensor))  # not Tensor.item: it may be watched
