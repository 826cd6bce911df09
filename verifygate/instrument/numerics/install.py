"""Look for the operation at which the numbers of a step break: of each bad step, and of a few whatever happens."""

from __future__ import annotations

from typing import Any

from .. import launch
from ..launch import Tell
from ..recorder import install as recorder
from .bad_steps import FIRST, BadSteps


def install(options: dict[str, Any], tell: Tell) -> None:
    """Look on, for the whole life of the process. The recorder is installed before.

    Options: `asked` (watch the first steps, and those whose number is a power of two, whatever happens); `first` (how
    many from the beginning).
    """
    recording = recorder.current
    if recording is None:
        raise RuntimeError("the recorder is not installed")
    watch = BadSteps(recording, tell, asked=bool(options.get("asked")), first=int(options.get("first", FIRST)))
    recording.loss_watch, recording.gradient_watch = watch.look_at_the_loss, watch.look_at_gradients
    recording.others.append(watch)
    launch.at_failure.append(watch.look_at_the_error)
    watch.begin()
