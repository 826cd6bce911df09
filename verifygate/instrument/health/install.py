"""Look at the numbers of a run in a few of its steps, beside the recorder: gradients, activations, updates.

A window is what happens from one step of an optimizer to the next. The windows looked at are the first ones and those
whose number is a power of two. Between them nothing of this is in place but a count. Values are reduced on the device
and read once, when the window is over.
"""

from __future__ import annotations

import time
from typing import Any

from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from ..launch import Tell
from ..recorder import install as recorder
from ..recorder.compilation import compiles
from ..recorder.low_precision import other_modes
from ..recorder.recording import Recording
from .module_names import ModuleNames
from .module_values import ModuleValues
from .parameter_moves import ParameterMoves
from .shadow import Shadow

FIRST = 3
"""Windows looked at in the beginning; after them those whose number is a power of two."""


def install(options: dict[str, Any], tell: Tell) -> None:
    """Look on, for the whole life of the process. The recorder is installed before.

    Options: `values` (look at gradients and activations), `shadow` (repeat sampled windows in float32), `moves` (tell
    which parameters the first steps move).
    """
    recording = recorder.current
    if recording is None:
        raise RuntimeError("the recorder is not installed")
    if options.get("values") or options.get("shadow"):
        recording.others.append(Sampled(recording, tell, shadow=bool(options.get("shadow"))))
    if options.get("moves"):
        recording.others.append(moves := ParameterMoves(recording, tell))
        register_optimizer_step_pre_hook(moves.before)
        register_optimizer_step_post_hook(moves.after)


class Sampled:
    """Begins and ends the windows that are looked at."""

    def __init__(self, recording: Recording, tell: Tell, *, shadow: bool) -> None:
        self._recording, self._tell = recording, tell
        self._window = 1
        self._values: ModuleValues | None = None
        self._names = ModuleNames(recording)
        self._shadow = Shadow(recording, self._names) if shadow else None
        self._seconds = 0.0
        self._sampled = 0
        self._why_not = ""
        self._begin()

    def stepped(self) -> None:
        """A window is over."""
        values, self._values = self._values, None
        if values is not None:
            began = time.perf_counter()
            values.remove()
            try:
                self._tell("health-window", step=self._window, scale=self._scale(), rows=values.read())
                if self._shadow is not None:
                    with self._recording.updates.unseen():
                        compared = self._shadow.compare(values.gradient_of)
                    self._tell("health-shadow", step=self._window, **compared)
            except Exception as error:  # an instrument's error is told, and kept from the subject
                self._recording.failed(error)
            self._sampled += 1
            self._seconds += time.perf_counter() - began
        self._window += 1
        if self._window <= FIRST or self._window & (self._window - 1) == 0:
            self._begin()

    def told(self) -> None:
        """The run ends."""
        if self._values is not None:
            self._values.remove()
            self._values = None
        self._tell("health-ended", windows=self._sampled, seconds=self._seconds, why_not=self._why_not)

    def _begin(self) -> None:
        if compiles():
            self._why_not = "torch.compile is in use: looking on would run other code"
        elif other_modes():
            self._why_not = "the project has a dispatch mode of its own around its steps"
        else:
            self._values = ModuleValues(self._recording, self._names, self._shadow)

    def _scale(self) -> float | None:
        """The loss scale, if all scalers that have one agree. It is read after the step, before its `update`."""
        found = {float(scaler._scale) for scaler in list(self._recording.scalers) if scaler._scale is not None}
        return found.pop() if len(found) == 1 else None
