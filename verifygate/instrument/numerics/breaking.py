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
_SUMMED = frozenset((*HALF, torch.float32, torch.float64))
_WRITES = frozenset(
    (
        *("full", "full_like", "fill", "fill_", "new_full", "masked_fill", "masked_fill_", "where"),
        *("scalar_tensor", "empty", "empty_like", "lift_fresh"),
    )
)
"""Operators that write a constant."""
_DIVIDES = frozenset("div reciprocal rsqrt true_divide".split())  # noqa: SIM905
_EXCHANGING = frozenset({"c10d", "_c10d_functional", "_c10d_functional_autograd"})
_LOGARITHMS = frozenset("log log2 log10 log1p logit xlogy atanh _ctc_loss _cudnn_ctc_loss".split())  # noqa: SIM905
"""Those of probabilities with them: a target that no path of a CTC loss can spell has none."""


class Breaking:
    """One operation, when its result was found not to be finite."""

    def __init__(
        self, operator: Any, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any
    ) -> None:
        self._operator, self._arguments, self._keywords = operator, arguments, keywords
        self.name = name
        self._plain = name.removesuffix("_")
        """Without the mark of an operation in place."""
        self.output = output
        self.inputs = [each for each in tensors((arguments, keywords)) if may_break(each)]
        """Those of floating point, and complex ones."""

    @cached_property
    def makes_nan(self) -> bool:
        return has_nan(self.output)

    @cached_property
    def bad_inputs(self) -> list[bool]:
        """For each input that is not finite, whether it holds a NaN. What is written in place is no input any more."""
        others = [each for each in self.inputs if each is not self.output]
        return [has_nan(each) for each in others if not is_finite(each)]

    @property
    def writes(self) -> bool:
        return self.name in _WRITES

    @property
    def brings_in(self) -> bool:
        """Whether it makes a tensor of what was there: a batch of another process, a list with a NaN."""
        return self.name == "set_" or (self.name == "lift_fresh" and self.makes_nan)

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
        if not can_be_repeated(self._operator) or sum(each.numel() for each in self.inputs) > MAX_ELEMENTS:
            return None
        mapped = torch.utils._pytree.tree_map(in_float32, (self._arguments, self._keywords))
        try:
            with torch.utils._python_dispatch._disable_current_modes():
                result = self._operator(*mapped[0], **mapped[1])
        except Exception:
            return None
        return next((each for each in tensors((result,)) if may_break(each)), None)

    @property
    def kind(self) -> str:
        """`overflow`, `zero-divisor`, `log-of-zero`, `not-a-number`."""
        if self.brings_in:
            return "came-in"
        if (self._plain in _DIVIDES and self._has_zero_divisor()) or self._is_root_of_zero():
            return "zero-divisor"
        if self._plain in _LOGARITHMS:
            return "log-of-zero"
        if self.makes_nan and not self._would_be_finite():
            return "not-a-number"
        return "overflow"

    def _would_be_finite(self) -> bool:
        return self.in_float32 is not None and is_finite(self.in_float32)

    def _is_root_of_zero(self) -> bool:
        """Whether 0 is raised to a negative power: the gradient of a root, or a reciprocal."""
        if self._plain != "pow" or self._arguments[0] is self.output:
            return False
        base, exponent = self._arguments[:2]
        return isinstance(exponent, int | float) and exponent < 0 and bool((_values(base) == 0).any())

    def _has_zero_divisor(self) -> bool:
        given = self._arguments[0] if self._plain in ("reciprocal", "rsqrt") else self._arguments[1]
        if given is self.output:  # written over: an inf has come of a zero
            return bool(torch.isinf(_values(given)).any())
        return bool((_values(given) == 0).any()) if isinstance(given, torch.Tensor) else given == 0

    def figures(self) -> dict[str, Any]:
        """Dtypes, the largest finite input, the largest result in float32: None where that is infinite, or unknown."""
        largest = max((_largest(each) for each in self.inputs if each is not self.output), default=None)
        true = _largest(self.in_float32) if self._would_be_finite() else None
        given = self.inputs or tensors((self._arguments, self._keywords))
        return {
            "dtypes": sorted({str(each.dtype).removeprefix("torch.") for each in given}),
            "of_infinite": bool(self.bad_inputs),
            "dtype": str(self.output.dtype).removeprefix("torch."),
            "largest_input": largest,
            "in_float32": true,
        }


def is_collective(operator: Any) -> bool:
    """Whether it exchanges values with other ranks; it may return before they are there."""
    return operator.namespace in _EXCHANGING and operator._schema.name != "_c10d_functional::wait_tensor"


def can_be_repeated(operator: Any) -> bool:
    """Whether it writes to nothing that it is given, draws no random number, and asks no other rank.

    A batch norm writes its running statistics without saying so.
    """
    if "batch_norm" in operator._schema.name or is_collective(operator):
        return False
    return not operator._schema.is_mutable and torch.Tag.nondeterministic_seeded not in operator.tags


def has_nan(tensor: Any) -> bool:
    """Whether an element of it is a NaN."""
    return not is_finite(tensor) and bool(torch.isnan(_values(tensor)).any())


def is_finite(tensor: Any) -> bool:
    """Whether all its elements are; of a sparse one, those that it has; of a `DTensor`, those of this rank.

    Nothing is said of other layouts, nor of memory that was given back, as FSDP does with gathered weights.
    """
    tensor = _values(tensor)
    if tensor.layout is not torch.strided or tensor.untyped_storage().nbytes() == 0:
        return True
    if tensor.dtype in _SUMMED:
        # A sum is finite only if all elements are, and seldom is it not when they are.
        wide = torch.float32 if tensor.dtype in HALF else None
        total = torch._C.TensorBase.item(torch._C.TensorBase.sum(tensor.detach(), dtype=wide))
        if total - total == 0:
            return True
    return bool(torch.isfinite(tensor).all())


def _values(tensor: Any) -> Any:
    """What can be read of a tensor: of a sparse one its elements, of a `DTensor` those of this rank."""
    tensor = getattr(tensor, "_local_tensor", tensor)
    return tensor._values() if tensor.layout is torch.sparse_coo else tensor


def is_on_purpose(breaking: Breaking) -> bool:
    """Whether it writes an inf that the program names, such as the mask of an attention."""
    if not breaking.writes or breaking.brings_in:
        return False
    return breaking.name.startswith(("empty", "lift", "where")) or any(math.isinf(each) for each in breaking.constants)


def may_break(tensor: Any) -> bool:
    """Whether a tensor can hold an inf or a NaN."""
    return bool(tensor.is_floating_point() or tensor.is_complex())


def tensors(values: Any) -> Iterator[Any]:
    """The tensors in nested tuples, lists and dicts."""
    return (each for each in torch.utils._pytree.tree_leaves(values) if isinstance(each, torch.Tensor))


def in_float32(value: Any) -> Any:
    """An argument of an operation in float32: a tensor, or a dtype; any other as it is.

    A process group cannot even be compared with a dtype.
    """
    if isinstance(value, torch.Tensor):
        return value.detach().float() if value.dtype in HALF else value
    return torch.float32 if isinstance(value, torch.dtype) and value in HALF else value


def _largest(tensor: Any) -> float:
    """The largest finite magnitude; 0 of nothing."""
    finite = _values(tensor).detach().abs().float()
    finite = finite[torch.isfinite(finite)]
    return float(finite.max()) if finite.numel() else 0.0
