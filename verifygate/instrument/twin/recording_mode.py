"""Record what a run computes: each operator that the project's lines call, and the events of the protocol.

An event is a row: kind, path, line, operator, dtypes in, dtypes out, region, grad mode, scaled; what an event does not
have is null. A region is `[device, dtype, enabled]`; dtypes are names without `torch.`. Each row is kept once: the twin
asks whether something happens at a line, not how often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.overrides import TorchFunctionMode, resolve_name

from ..patching.wrapping import After, replace
from .places import Places

Row = tuple[Any, ...]
_MARK = "_verifygate_scaled"
_DEVICES = ("cuda", "cpu")


class Recording:
    """The rows of one run."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.rows: dict[Row, None] = {}
        self.lines: dict[CodeType, set[int]] = {}
        """Lines of the project that ran."""
        self.errors: list[str] = []

    def tell(self, kind: str, place: tuple[str, int] | None, *rest: Any) -> None:
        """Keep a row: kind and place, then operator, dtypes in, dtypes out, region, grad mode, scaled."""
        if place is not None:
            self.rows[(kind, *place, *rest)] = None

    def happened(self, kind: str, *, scaled: bool | None = None, from_step: bool = False) -> None:
        """Keep an event of the protocol at the present place."""
        place = self.places.here(of_protocol=True, from_step=from_step)
        self.tell(kind, place, None, None, None, region(), torch.is_grad_enabled(), scaled)

    def failed(self, error: Exception) -> None:
        """An error of our own, kept from the program."""
        self.errors.append(f"{type(error).__name__}: {error}")

    def trace(self, frame: FrameType, _event: str, _argument: object) -> Callable[..., Any] | None:
        """For `sys.settrace`: note the lines of the project that run."""
        if not self.places.own(frame.f_code):
            return None
        lines = self.lines.setdefault(frame.f_code, set())

        def line(frame: FrameType, event: str, _argument: object) -> Callable[..., Any]:
            if event == "line":
                lines.add(frame.f_lineno)
            return line

        return line


class OperatorMode(TorchFunctionMode):
    """Sees every call of torch by its public name, from Python code; what those call in turn, it does not see."""

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self._recording = recording

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        before = region()
        given = [*_tensors(args), *_tensors(kwargs or {})]
        dtypes = tuple(str(each.dtype)[6:] for each in given)
        result = func(*args, **(kwargs or {}))
        try:
            self._operator(func, given, dtypes, result, before)
        except Exception as error:
            self._recording.failed(error)
        return result

    def _operator(self, func: Any, given: list[Any], dtypes: tuple[str, ...], result: Any, within: Any) -> None:
        name = canonical(func)
        made = list(_tensors(result)) if name else []
        if not made:
            return
        if any(is_scaled(each) for each in given):
            for each in made:
                setattr(each, _MARK, True)
        out = tuple(str(each.dtype)[6:] for each in made)
        place = self._recording.places.here()
        self._recording.tell("operator", place, name, dtypes, out, within, torch.is_grad_enabled(), None)


def canonical(func: Any) -> str:
    """`torch.nn.functional.linear`: what an operator is called; empty for an attribute and for what is no operator.

    A move to a device is `torch.Tensor.to`, however it is written: an emulated device makes it that.
    """
    name = resolve_name(func) or ""
    if name.endswith((".__get__", ".__set__", ".__delete__", ".backward")):
        return ""
    name = name.replace("torch.functional.", "torch.")
    return "torch.Tensor.to" if name in ("torch.Tensor.cuda", "torch.Tensor.cpu") else name


def region() -> tuple[str, str, bool] | None:
    """The autocast that is in force."""
    for device in _DEVICES:
        if torch.is_autocast_enabled(device):
            return device, str(torch.get_autocast_dtype(device))[6:], True
    return None


def is_scaled(tensor: Any) -> bool:
    """Whether it comes of a loss that a live scaler multiplied."""
    return getattr(tensor, _MARK, False) is True


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _tensors(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _tensors(each)


def watch(current: Callable[[], Recording | None]) -> None:
    """Watch the protocol for the rest of the process; `current` is the recording that is told, None for none.

    Called before anything but torch is imported, so that every name for these functions means the watched ones.
    """

    def failed(error: Exception) -> None:
        if (recording := current()) is not None:
            recording.failed(error)

    def around(owner: Any, name: str, tell: Tell) -> None:
        def before(arguments: tuple[Any, ...], _keywords: dict[str, Any]) -> After | None:
            recording = current()
            return tell(recording, arguments) if recording is not None else None

        replace(owner, name, before, failed)

    scaler: Any = torch.amp.GradScaler
    around(scaler, "scale", _scale)
    for name, kind in (("unscale_", "unscale"), ("step", "scaler.step"), ("update", "update")):
        around(scaler, name, _of_enabled(kind))
    for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            around(owner, name, _plain("clip"))
    around(torch.optim.Optimizer, "zero_grad", _plain("zero_grad"))
    around(torch.nn.Module, "zero_grad", _plain("zero_grad"))
    around(torch.autograd, "backward", _backward)
    around(torch.amp.autocast_mode.autocast, "__enter__", _enter)

    def stepped(*_given: Any) -> None:
        recording = current()
        if recording is not None:
            recording.happened("optimizer.step", from_step=True)

    register_optimizer_step_pre_hook(stepped)


Tell = Callable[[Recording, tuple[Any, ...]], After | None]
"""Keeps what a call is about, given the recording and the arguments; and may give what is to be called after it."""


def _plain(kind: str) -> Tell:
    def tell(recording: Recording, _arguments: tuple[Any, ...]) -> None:
        recording.happened(kind)

    return tell


def _of_enabled(kind: str) -> Tell:
    """A call of a scaler's method, which does nothing where the scaler is off."""

    def tell(recording: Recording, arguments: tuple[Any, ...]) -> None:
        if arguments[0]._enabled:
            recording.happened(kind)

    return tell


def _scale(recording: Recording, arguments: tuple[Any, ...]) -> After | None:
    if not arguments[0]._enabled:
        return None
    recording.happened("scale")

    def after(result: Any, _raised: BaseException | None) -> None:
        for each in _tensors(result):
            setattr(each, _MARK, True)

    return after


def _backward(recording: Recording, arguments: tuple[Any, ...]) -> None:
    recording.happened("backward", scaled=any(is_scaled(each) for each in _tensors(arguments[0])))


def _enter(recording: Recording, arguments: tuple[Any, ...]) -> None:
    made = arguments[0]
    entered = (str(made.device), str(made.fast_dtype)[6:], bool(made._enabled))
    place = recording.places.here(of_protocol=True)
    recording.tell("autocast", place, None, None, None, entered, torch.is_grad_enabled(), None)
