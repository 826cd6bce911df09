"""Streams, events, generators and typed tensors of a CUDA that is none: all is done when it is asked for."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import torch

from .gaps import Gaps
from .tensors import CPU, CUDA, REAL_DEVICE_CLASS, is_cuda, mark


class Stream:
    """A stream on which everything is done as soon as it is asked for."""

    device, device_index, device_type, stream_id, priority = CUDA, 0, 1, 0, 0

    def __init__(self, device: Any = None, priority: int = 0, **_kwargs: Any) -> None:
        self.priority = priority

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False

    def synchronize(self) -> None: ...

    def wait_stream(self, stream: Stream) -> None: ...

    def wait_event(self, event: Event) -> None: ...

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_error: object) -> None: ...


class Event:
    """An event that has happened as soon as it is recorded. Its times are not a number: nothing was timed."""

    gaps: Gaps

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self.enable_timing, self._recorded = enable_timing, False
        self.device = CUDA

    def record(self, stream: Stream | None = None) -> None:
        self._recorded = True

    def wait(self, stream: Stream | None = None) -> None: ...

    def query(self) -> bool:
        return True

    def synchronize(self) -> None: ...

    def elapsed_time(self, end_event: Event) -> float:
        """NaN milliseconds. Raises what CUDA raises for events that were not recorded, or not made for timing."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self._recorded and end_event._recorded):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        self.gaps("time")
        return math.nan


class StreamContext(contextlib.AbstractContextManager["Stream | None"]):
    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> Stream | None:
        return self.stream

    def __exit__(self, *_error: object) -> None: ...


class Device(contextlib.AbstractContextManager[None]):
    """`with torch.cuda.device(0):`"""

    def __init__(self, device: Any = None) -> None:
        self.idx, self.prev_idx = 0, -1

    def __exit__(self, *_error: object) -> None: ...


class TensorType(type):
    """`torch.cuda.FloatTensor`: makes tensors, names a type, and answers isinstance."""

    plain: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> torch.Tensor:
        made: torch.Tensor = mark(cls.plain(*args, **kwargs))
        return made

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch.Tensor) and instance.is_cuda and isinstance(instance, cls.plain)


class GeneratorType(type(torch._C.Generator)):  # type: ignore[misc]
    """`isinstance(g, torch.Generator)` holds for torch's own as well."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch._C.Generator)


class Generator(torch._C.Generator, metaclass=GeneratorType):
    """A generator of the CPU, which says that it is CUDA's where it was made as one."""

    on_cuda = False

    def __new__(cls, device: Any = "cpu") -> Generator:
        made: Generator = super().__new__(cls, device=CPU if is_cuda(device) else device)  # type: ignore[call-arg]
        made.on_cuda = is_cuda(device)
        return made

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return CUDA if self.on_cuda else super().device


class DeviceClass(type):
    """`torch.device`, which takes a bare number for that of a CUDA device, as torch does where there is one."""

    def __call__(cls, *args: Any, **kwargs: Any) -> torch.device:
        is_number = not kwargs and [type(one) for one in args] == [int]
        made: torch.device = REAL_DEVICE_CLASS("cuda", *args) if is_number else REAL_DEVICE_CLASS(*args, **kwargs)
        return made

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, REAL_DEVICE_CLASS)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, REAL_DEVICE_CLASS)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is REAL_DEVICE_CLASS

    def __hash__(cls) -> int:
        return hash(REAL_DEVICE_CLASS)

    def __getattr__(cls, name: str) -> Any:
        return getattr(REAL_DEVICE_CLASS, name)


def device_class() -> type:
    """What stands in the place of `torch.device`; the devices themselves are torch's own."""
    return DeviceClass("device", (), {"__module__": "torch", "__doc__": REAL_DEVICE_CLASS.__doc__})
