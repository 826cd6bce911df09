"""An operation whose result is not finite: which limit was crossed, and by what."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import torch

MAX_ELEMENTS = 1 << 24
"""Of inputs with more elements the result in float32 is not computed."""
HALF = (torch.float16, torch.bfloat16)
_WRITES = frozenset(
    (
        *("full", "full_like", "fill", "fill_", "new_full", "masked_fill", "masked_fill_", "where"),
        *("scalar_tensor", "empty", "empty_like", "lift_fresh"),
    )
)
"""Operators that write a constant."""
_DIVIDES = frozenset("div div_ reciprocal rsqrt true_divide".split())  # noqa: SIM905
_LOGARITHMS = frozenset("log log2 log10 log1p".split())  # noqa: SIM905


class Breaking:
    """One operation, when its result was found not to be finite."""

    def __init__(
        self, operator: Any, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any
    ) -> None:
        self._operator, self._arguments, self._keywords = operator, arguments, keywords
        self.name = name
        self.output = output
        self.inputs = [each for each in tensors((arguments, keywords)) if each.is_floating_point()]
        """Those of floating point."""

    @cached_property
    def makes_nan(self) -> bool:
        return bool(torch.isnan(self.output).any())

    @cached_property
    def bad_inputs(self) -> list[bool]:
        """For each input that is not finite, whether it holds a NaN. What is written in place is no input any more."""
        others = [each for each in self.inputs if each is not self.output]
        return [bool(torch.isnan(each).any()) for each in others if not is_finite(each)]

    @property
    def writes(self) -> bool:
        return self.name in _WRITES

    @property
    def constants(self) -> Iterator[float]:
        """The numbers among its arguments."""
        given = (*self._arguments, *self._keywords.values())
        return (float(each) for each in given if isinstance(each, int | float) and not isinstance(each, bool))

    @property
    def is_scaling(self) -> bool:
        """Whether GradScaler multiplies the loss here."""
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename.endswith("grad_scaler.py") and "scale" in frame.f_code.co_name:
                return True
            frame = frame.f_back  # type: ignore[assignment]
        return False

    @cached_property
    def in_float32(self) -> Any:
        """The result from the same inputs in float32; None where it cannot be computed again."""
        if any(each is self.output for each in self.inputs) or sum(each.numel() for each in self.inputs) > MAX_ELEMENTS:
            return None
        mapped = torch.utils._pytree.tree_map(_float32, (self._arguments, self._keywords))
        try:
            with torch.utils._python_dispatch._disable_current_modes():
                result = self._operator(*mapped[0], **mapped[1])
        except Exception:
            return None
        return next((each for each in tensors((result,)) if each.is_floating_point()), None)

    @property
    def kind(self) -> str:
        """`overflow`, `zero-divisor`, `log-of-zero`, `not-a-number`."""
        if (self.name in _DIVIDES and self._has_zero_divisor()) or self._is_root_of_zero():
            return "zero-divisor"
        if self.name in _LOGARITHMS:
            return "log-of-zero"
        if self.makes_nan and not self._would_be_finite():
            return "not-a-number"
        return "overflow"

    def _would_be_finite(self) -> bool:
        return self.in_float32 is not None and is_finite(self.in_float32)

    def _is_root_of_zero(self) -> bool:
        """Whether 0 is raised to a negative power: the gradient of a root, or a reciprocal."""
        if self.name != "pow" or not isinstance(self._arguments[1], int | float) or self._arguments[1] >= 0:
            return False
        return bool((self._arguments[0] == 0).any())

    def _has_zero_divisor(self) -> bool:
        given = self._arguments[0] if self.name in ("reciprocal", "rsqrt") else self._arguments[1]
        return bool((given == 0).any()) if isinstance(given, torch.Tensor) else given == 0

    def figures(self) -> dict[str, Any]:
        """Dtypes, the largest finite input, the largest result in float32: None where that is infinite, or unknown."""
        largest = max((_largest(each) for each in self.inputs if each is not self.output), default=None)
        true = _largest(self.in_float32) if self._would_be_finite() else None
        return {
            "dtypes": sorted({str(each.dtype).removeprefix("torch.") for each in self.inputs}),
            "dtype": str(self.output.dtype).removeprefix("torch."),
            "largest_input": largest,
            "in_float32": true,
        }


def is_finite(tensor: Any) -> bool:
    return bool(torch.isfinite(tensor).all())


def is_on_purpose(breaking: Breaking) -> bool:
    """Whether it writes an inf that the program names, such as the mask of an attention."""
    if not breaking.writes:
        return False
    return breaking.name.startswith(("empty", "lift", "where")) or any(math.isinf(each) for each in breaking.constants)


def tensors(values: Any) -> Iterator[Any]:
    """The tensors in nested tuples, lists and dicts."""
    return (each for each in torch.utils._pytree.tree_leaves(values) if isinstance(each, torch.Tensor))


def _float32(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype in HALF:
        return value.detach().float()
    return torch.float32 if value in HALF else value


def _largest(tensor: Any) -> float:
    """The largest finite magnitude; 0 of nothing."""
    finite = tensor.detach().float().abs()
    finite = finite[torch.isfinite(finite)]
    return float(finite.max()) if finite.numel() else 0.0
