"""Watch for losses that an evaluation writes by hand in float16: a log-softmax, the classes chosen, their mean.

Without gradients no graph says what becomes of a softmax. So a dispatch mode follows it, from its result to the number
that leaves torch, over a limited number of operations and a few times in a run. It is put on where the project has no
mode of its own, and taken off when it is on top again.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .compilation import before_compilation, compiles
from .low_precision import modes, other_modes
from .recording import Recording

TRAILS, OPERATIONS = 16, 200
"""How many results are followed in a run, and over how many operations each."""


class Stage(IntEnum):
    """How far a softmax has come on its way to a loss."""

    SHARES = 1
    LOGARITHMS = 2
    CHOSEN = 3
    LOSS = 4


BEGINS = {"softmax": Stage.SHARES, "log_softmax": Stage.LOGARITHMS}
_NEXT = {
    **dict.fromkeys(("log", "log_"), (Stage.SHARES, Stage.LOGARITHMS)),
    **dict.fromkeys(("gather", "index", "index_select", "take"), (Stage.LOGARITHMS, Stage.CHOSEN)),
    **dict.fromkeys(("sum", "mean"), (Stage.CHOSEN, Stage.LOSS)),
}


class EvaluatedLosses:
    """Puts the mode on, and takes it off."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._trail: _Trail | None = None
        self._begun = 0
        before_compilation(self._end)

    def begin(self, function: str, result: torch.Tensor) -> None:
        """Follow the result of a softmax from here on."""
        if self._trail is None and self._begun < TRAILS and not compiles() and not other_modes():
            self._begun += 1
            self._trail = _Trail(self.recording, function, result)
            self._trail.__enter__()  # type: ignore[no-untyped-call]

    def leave(self) -> None:
        """Take the mode off, if it has come to its end and nothing lies on top of it."""
        if self._trail is not None and self._trail.left <= 0 and (on := modes()) and on[-1] is self._trail:
            self._trail.__exit__(None, None, None)  # type: ignore[no-untyped-call]
            self._trail = None

    def _end(self) -> None:
        if self._trail is not None:
            self._trail.left = 0
            self.leave()


class _Trail(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, recording: Recording, function: str, result: torch.Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.left = OPERATIONS
        self._recording, self._function, self._place = recording, function, recording.places.here()
        self._stages = {_memory(result): (BEGINS[function], result)}
        """Address -> how far the tensor there has come; it is kept, so that its memory is not used again."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if self.left > 0:
            try:
                self._follow(func._schema.name.partition("::")[2], args, result)
            except Exception as error:
                self._recording.failed(error)
        return result

    def _follow(self, name: str, arguments: tuple[Any, ...], result: Any) -> None:
        self.left -= 1
        given = [each for each in arguments if isinstance(each, torch.Tensor)]
        known = [(self._stages[_memory(each)][0], each) for each in given if _memory(each) in self._stages]
        if known:
            stage, source = max(known, key=lambda one: one[0])
            if name == "_local_scalar_dense" and stage is Stage.LOSS:
                self._recording.tell("loss", at=self._place, function=self._function, by_hand=True, evaluated=True)
                self.left = 0
            elif isinstance(result, torch.Tensor):
                self._note(_stage_after(name, stage, source, result), result)
        if self.left <= 0:
            self._stages.clear()

    def _note(self, stage: Stage, result: torch.Tensor) -> None:
        """A cast to float32 on the way is the mending; the loss itself may be cast."""
        if result.dtype is torch.float16 or (stage is Stage.LOSS and result.is_floating_point()):
            self._stages[_memory(result)] = (stage, result)


def _stage_after(name: str, stage: Stage, source: torch.Tensor, result: torch.Tensor) -> Stage:
    before, after = _NEXT.get(name, (None, stage))
    if stage is not before or (after is Stage.LOSS and not source.numel() > result.numel() == 1):
        return stage
    return after


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr() if tensor.layout is torch.strided else 0
