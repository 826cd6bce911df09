"""Overflows that end as a number: an inf of finite numbers that a root, a division or an exponential makes 0.

Neither the loss nor a gradient shows them. So what overflowed in half precision is computed in float32 beside it, and
so is each operation on it, until the result is finite again. Where that differs from what float32 gives, and half
precision could hold that, the overflow was swallowed. `exp(-inf)` of a mask is what float32 gives as well.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

from .breaking import HALF, MAX_ELEMENTS, Breaking, can_be_repeated, in_float32, is_finite, may_break, tensors

SAME = 0.1
"""The share by which a result may differ from float32's: half precision rounds as well."""
SMALLEST = 1e-7
"""What is smaller is 0 in float16 whatever is done; so nothing is lost."""
MOST = 8


class Swallowed:
    """What overflowed in the step that is watched, and what became of it."""

    def __init__(self) -> None:
        self._true: Any = WeakIdKeyDictionary()
        """Tensor that overflowed, or was made of one -> cause, and what it is in float32."""
        self.found: list[dict[str, Any]] = []
        """The causes that were swallowed in this step, each with the operator that did."""

    def begin(self) -> None:
        self._true = WeakIdKeyDictionary()
        self.found = []

    def overflowed(self, breaking: Breaking, cause: dict[str, Any]) -> None:
        """An operation of the forward made an inf of finite numbers."""
        fits = cause["kind"] == "overflow" and breaking.output.dtype in HALF and not cause["scaled"]
        if fits and breaking.in_float32 is not None and is_finite(breaking.in_float32):
            self._true[breaking.output] = (cause, breaking.in_float32)

    def follow(self, operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], result: Any) -> None:
        """An operation, after it was computed."""
        if not len(self._true) or not isinstance(result, torch.Tensor) or not may_break(result):
            return
        if not can_be_repeated(operator):
            return
        known = [self._true[each] for each in tensors((arguments, keywords)) if each in self._true]
        if not known or result in self._true or result.numel() > MAX_ELEMENTS:
            return
        true = self._in_float32(operator, arguments, keywords)
        if true is None or true.shape != result.shape or not is_finite(true):
            return
        if not is_finite(result):
            self._true[result] = (known[0][0], true)
        elif len(self.found) < MOST and (lost := _lost(result, true)):
            name = operator._schema.name.partition("::")[2]
            self.found.append({**known[0][0], "ended": name, "lost": lost})

    def _in_float32(self, operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        def mapped(value: Any) -> Any:
            if isinstance(value, torch.Tensor) and value in self._true:
                return self._true[value][1]
            return in_float32(value)

        try:
            given, named = torch.utils._pytree.tree_map(mapped, (arguments, keywords))
            with torch.utils._python_dispatch._disable_current_modes():
                result = operator(*given, **named)
        except Exception:  # it cannot be computed in float32
            return None
        return result if isinstance(result, torch.Tensor) else None


def _lost(result: Any, true: Any) -> float:
    """The share of the elements that float32 gives otherwise, though half precision could hold them."""
    true = true.detach().float()
    differs = (result.detach().float() - true).abs() > SAME * true.abs()
    fits = (true.abs() > SMALLEST) & (true.abs() < torch.finfo(torch.float16).max)
    return float((differs & fits).float().mean()) if result.numel() else 0.0
