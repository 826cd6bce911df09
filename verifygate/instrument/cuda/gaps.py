"""What the emulation of CUDA does not do, by name: told when code uses it, once each."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..patching.frames import caller, of_torch_or_ours

NUMBERS, ANYTHING, HINT = "numbers", "anything", "hint"
"""What a gap spoils: judgements on figures; everything after it; or nothing by itself, but it explains a failure of a
judgement on figures (code that waits for the device mostly does so to time it)."""

KINDS: dict[str, tuple[str, str]] = {
    "memory": ("every figure is 0", NUMBERS),
    "time": ("Event.elapsed_time is NaN", NUMBERS),
    "waiting for the device": ("returns at once; wall-clock times are those of a CPU", HINT),
    "device sensors": ("utilisation, temperature, power and clock rate are 0", NUMBERS),
    "CUDA graphs": ("what is captured is computed then as well, and replayed operator by operator", HINT),
    "graphed callables": ("raises", ANYTHING),
    "custom kernels": ("not built, and not run", ANYTHING),
    "torch.compile": ("the code runs eagerly", ANYTHING),
    "NCCL": ("gloo in its place; what shards a model runs as it does on the CPU", ANYTHING),
    "several devices": ("all of them are one", ANYTHING),
    "attention kernels": ("torch chooses the CPU's", ANYTHING),
    "fft": ("autocast lifts it to float32, as on the CPU", ANYTHING),
    "CPU autocast": ("a region for the CPU has no effect beside an emulated CUDA", ANYTHING),
    "device handles": ("there is no pointer to a stream or a device buffer", ANYTHING),
}
"""Feature -> what happens instead, and what that spoils."""


class NotEmulatedError(RuntimeError):
    """Code asked for something of CUDA that a CPU cannot stand in for."""


class Gaps:
    """Tells, once each until `forget()`, which features were used that are not emulated, and where first."""

    def __init__(self, tell: Callable[..., None]) -> None:
        self._tell = tell
        self._told: set[str] = set()

    def forget(self) -> None:
        """From here on, tell again: what follows is judged by itself."""
        self._told.clear()

    def __call__(self, feature: str) -> None:
        instead, spoils = KINDS[feature]
        if feature not in self._told:
            self._told.add(feature)
            path, line = caller(of_torch_or_ours)
            self._tell("not-emulated", feature=feature, instead=instead, spoils=spoils, path=path, line=line)

    def wrap(self, feature: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, which says first that it is not emulated."""

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            self(feature)
            return function(*args, **kwargs)

        return wrapped

    def refuse(self, feature: str, name: str) -> Callable[..., Any]:
        """A function that raises NotEmulatedError."""

        def refused(*_args: Any, **_kwargs: Any) -> Any:
            self(feature)
            raise NotEmulatedError(f"{name} is not emulated on a CPU ({feature})")

        return refused

    def refusing_class(self, feature: str, name: str) -> type:
        """A class that raises NotEmulatedError where an object of it is made: it can still be annotated with."""
        refused = self.refuse(feature, name)
        module, _, plain = name.rpartition(".")
        return type(plain, (), {"__module__": module, "__new__": lambda cls, *args, **kwargs: refused()})
