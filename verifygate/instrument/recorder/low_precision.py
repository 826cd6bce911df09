"""How much of a step's matrix work runs in half precision: told from a few steps in which every operation is seen.

A dispatch mode costs from a quarter to twice the time of a step, so it is on for a few consecutive ones only. It is
put on the stack of modes between two steps, when no other is there but the emulation's, and taken off when it is on
top again: the modes of the subject are never disturbed. A run that uses torch.compile is not sampled, because a mode
would turn compiled code into eager code, which may round differently.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .compilation import before_compilation, compiles
from .recording import Recording

_INSTRUMENTS = __name__.removesuffix(".recorder.low_precision")
AFTER_STEPS, STEPS = 1, 4
MAX_OPERATIONS = 200_000
ISLANDS = 20
LOW = (torch.float16, torch.bfloat16)
MATRIX_WORK = frozenset(
    """mm addmm bmm baddbmm convolution convolution_backward _convolution mkldnn_linear linear
    _scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_for_cpu
    _scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention _scaled_dot_product_attention_math
    _scaled_dot_product_flash_attention_backward _scaled_dot_product_flash_attention_for_cpu_backward
    _scaled_dot_product_efficient_attention_backward _scaled_dot_product_cudnn_attention_backward
    _cudnn_rnn _cudnn_rnn_backward miopen_rnn mkldnn_rnn_layer""".split()  # noqa: SIM905
)
"""Operators of aten that multiply matrices, convolve or attend."""


class Sampler:
    """Switches the mode on and off, and keeps what it counted."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.in_backward = False
        self.counting = False
        self.steps = 0
        self.operations: Counter[str] = Counter()
        """Matrix operations by the dtype of their input."""
        self.of_backward: Counter[str] = Counter()
        """Those of them that a backward made."""
        self.flops: Counter[str] = Counter()
        self.casts: Counter[str] = Counter()
        self.islands: Counter[tuple[int, str, str]] = Counter()
        """Matrix operations in float32 in the forward, where autocast is on: place, operator, whether it was on."""
        self.island_flops: Counter[tuple[int, str, str]] = Counter()
        self.uncounted: Counter[str] = Counter()
        """Operators without a formula for their floating-point operations."""
        self.why_not = "no second step was taken"
        self._mode: _Mode | None = None
        self._is_told = False
        before_compilation(self._leave)

    def stepped(self) -> None:
        """A step is over: begin to sample, or end it."""
        if self._mode is not None:
            if self.counting:
                self.steps += 1
            if self.steps >= STEPS or sum(self.operations.values()) > MAX_OPERATIONS:
                self.counting = False
            if not self.counting:
                self._remove()
        elif self.recording.steps >= AFTER_STEPS and not self.steps:
            self._begin()

    def _begin(self) -> None:
        if compiles():
            self.why_not = "torch.compile is in use: a sample would run other code"
        elif other_modes():
            self.why_not = "the project has a dispatch mode of its own around its steps"
        else:
            self._mode = _Mode(self)
            self._mode.__enter__()  # type: ignore[no-untyped-call]
            self.counting = True
            self.why_not = ""

    def _leave(self) -> None:
        """The project begins to compile: what was sampled until then is told."""
        if self._mode is not None:
            self.counting = False
            self._remove()

    def _remove(self) -> None:
        """Take the mode off the stack, if nothing lies on top of it; else after a later step."""
        if (on := modes()) and on[-1] is self._mode and self._mode is not None:
            self._mode.__exit__(None, None, None)
            self._mode = None
            self.told()

    def see(self, operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], result: Any) -> None:
        """Count one operation."""
        name = operator._schema.name.partition("::")[2]
        if name == "_to_copy":
            self._cast(arguments, result)
            return
        if name not in MATRIX_WORK:
            return
        tensor = next((each for each in arguments if isinstance(each, torch.Tensor)), None)
        if tensor is None or not tensor.is_floating_point():
            return
        dtype = str(tensor.dtype).removeprefix("torch.")
        self.operations[dtype] += 1
        if self.in_backward:
            self.of_backward[dtype] += 1
        flops = flops_of(operator, arguments, keywords, result)
        if flops is None:
            self.uncounted[name] += 1
        else:
            self.flops[dtype] += flops
        if tensor.dtype not in LOW and not self.in_backward:
            key = (self.recording.places.here(), name, "on" if self.recording.autocast() else "off")
            self.islands[key] += 1
            self.island_flops[key] += flops or 0

    def _cast(self, arguments: tuple[Any, ...], result: Any) -> None:
        source = arguments[0]
        if isinstance(source, torch.Tensor) and (source.dtype in LOW) is not (result.dtype in LOW):
            one, other = (str(each.dtype).removeprefix("torch.") for each in (source, result))
            self.casts[f"{one} -> {other}"] += 1

    def told(self) -> None:
        """Write what was counted, once."""
        if self._is_told:
            return
        self._is_told = True
        islands = [
            {"at": place, "operator": name, "autocast": autocast, "count": count, "flops": self.island_flops[key]}
            for key, count in self.islands.most_common(ISLANDS)
            for place, name, autocast in (key,)
        ]
        self.recording.journal.fact(
            "sample",
            steps=self.steps,
            why_not="" if self.steps else self.why_not or "the run ended inside the sample",
            operations=dict(self.operations),
            of_backward=dict(self.of_backward),
            flops=dict(self.flops),
            casts=dict(self.casts),
            uncounted=dict(self.uncounted),
            islands=islands,
        )


class _Mode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, sampler: Sampler) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._sampler = sampler

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        result = func(*args, **keywords)
        if self._sampler.counting:
            try:
                self._sampler.see(func, args, keywords, result)
            except Exception as error:
                self._sampler.recording.failed(error)
        return result


def modes() -> list[Any]:
    """The modes of the subject, and the sampler's; what emulates CUDA is under everything, and in nobody's way."""
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    emulation = f"{_INSTRUMENTS}.cuda.tensors"
    return [mode for mode in _get_current_dispatch_mode_stack() if type(mode).__module__ != emulation]


def other_modes() -> bool:
    """Whether a dispatch mode of the subject would see what an instrument computes."""
    return any(not type(mode).__module__.startswith(f"{_INSTRUMENTS}.") for mode in modes())


def flops_of(operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], result: Any) -> int | None:
    """Floating-point operations by torch's own formulas; None where it has none."""
    from torch.utils.flop_counter import flop_registry, sdpa_backward_flop_count, sdpa_flop_count

    packet = operator._overloadpacket
    if packet in flop_registry:
        return int(flop_registry[packet](*arguments, **keywords, out_val=result))
    name = operator._schema.name.partition("::")[2]
    if name == "_scaled_dot_product_flash_attention_for_cpu":
        return int(sdpa_flop_count(*(each.shape for each in arguments[:3])))  # type: ignore[no-untyped-call]
    if name == "_scaled_dot_product_flash_attention_for_cpu_backward":
        return int(sdpa_backward_flop_count(*(each.shape for each in arguments[:4])))  # type: ignore[no-untyped-call]
    return None
