"""Run the statements of a step again, in a sealed copy of this process, with every operation watched.

When a loss or a gradient turns out to be inf or NaN, the step is over or nearly so, and nobody watched it. But all
that it began with is still there: the batch, the weights, and the random state, which is kept. So the process is
forked, the copy is sealed, puts the random state back, and runs the statements around the place again, innermost loop
first, until the loss or a gradient of the same optimizer is not finite again. The run itself goes on untouched: it
waits for the answer, at most `SECONDS`.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import threading
import time
import warnings
from collections.abc import Callable
from itertools import islice
from typing import Any, NoReturn

import torch

from ..patching.frames import of_torch_or_ours
from ..raised import by_statement
from ..recorder.compilation import compiles
from ..recorder.gradient_versions import Track
from ..recorder.low_precision import other_modes
from ..recorder.recording import Recording
from .breaking import has_nan, is_finite, may_break, tensors
from .operations import Cause, Operations
from .random_states import RandomStates
from .sealed_process import can_be_sealed, seal
from .statements import BODIES, Running, bodies, raised_through

SECONDS = 30
"""For all that is run again of one step."""
_ABOUT_NUMBERS = re.compile(r"\b(nan|inf|infinite|non-?finite)\b", re.IGNORECASE)
Answer = dict[str, Any]


class Rerun:
    """Finds the cause in a step that nobody watched."""

    def __init__(self, recording: Recording, operations: Operations, randomness: RandomStates) -> None:
        self._recording, self._operations, self._randomness = recording, operations, randomness
        self._track: Track | None = None
        self._frames: list[Running] = []
        """What an error that ended the run went through."""

    def cause(self, track: Track | None, error: BaseException | None = None) -> tuple[Answer, str]:
        """What made the gradients of an optimizer, a loss, or what an `error` was raised for, inf or NaN.

        Empty, and why, where that is not known.
        """
        if why_not := self._why_not():
            return {}, why_not
        self._track, self._frames = track, self._outside_of_regions(error) if error is not None else []
        until = time.monotonic() + SECONDS
        for number in range(BODIES):
            answer = self._asked(number, until)
            if answer is None:
                break
            if answer.get("origin"):
                answer["origin"]["at"] = self._recording.places.of(answer["origin"].pop("frames"))
                return answer, ""
        return {}, "its statements were run again, and did not break"

    @staticmethod
    def _why_not() -> str:
        distributed = torch.distributed
        if not can_be_sealed():
            return "to run a step again takes Linux"
        if threading.current_thread() is not threading.main_thread():
            return "the step runs in a thread"
        if torch.cuda._initialized:  # what is emulated says so by the function
            return "the process uses a GPU, so that it cannot be copied"
        if distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1:
            return "the step talks to other processes"
        if compiles():
            return "torch.compile is in use: to run a step again would run other code"
        return "the project has a dispatch mode of its own around its steps" if other_modes() else ""

    def _asked(self, number: int, until: float) -> Answer | None:
        """What a copy of this process answers; None where there are no more statements to run."""
        reading, writing = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads that the copy will not have
            child = os.fork()
        if child == 0:
            self._in_copy(number, writing, max(int(until - time.monotonic()), 1))
        os.close(writing)
        try:
            return _read(reading, until)
        finally:
            os.close(reading)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    # --- in the copy

    def _in_copy(self, number: int, writing: int, seconds: int) -> NoReturn:
        code = 1
        try:
            seal(writing, seconds)
            self._writing = writing
            self._prepare()
            if not self._run(number):
                self._answer(None)
            self._look_at_gradients()
            code = 0
        except BaseException as raised:  # whatever it is: the run itself goes on without it, or has ended by it
            if self._frames:
                self._look_at_what_raised(raised)
        finally:
            os._exit(code)
        raise AssertionError  # os._exit never returns

    def _run(self, number: int) -> bool:
        body = next(islice(bodies(self._frames), number, None), None)
        if body is None:
            return False
        self._operations.start()
        body()
        return True

    def _prepare(self) -> None:
        """As the step began: no gradients, no state of a scaler's, no step of an optimizer."""
        recording = self._recording
        torch.set_num_threads(1)
        torch.set_grad_enabled(True)
        torch.clear_autocast_cache()
        recording.active, recording.sampler, recording.others = True, None, [self]
        recording.loss_watch, recording.gradient_watch = self._look_at_the_loss, None
        recording.inside.clear()
        recording.stepping.clear()
        for scaler in list(recording.scalers):
            if scaler.is_enabled():  # one that is off keeps none
                scaler._per_optimizer_states.clear()
        for track in recording.tracks:
            for parameter in track.parameters:
                parameter.grad = None
            optimizer: Any = track.optimizer()
            optimizer.step = self._instead_of_step(track)
        self._randomness.put_back()

    def _instead_of_step(self, track: Track) -> Callable[..., object]:
        def step(*arguments: Any, **keywords: Any) -> object:
            closure = next((each for each in (*arguments, *keywords.values()) if callable(each)), None)
            result = closure() if closure is not None else None
            if track is self._track:
                self._look_at_gradients()
            return result

        return step

    def stepped(self) -> None:
        """A scaler is through with an optimizer."""
        if self._recording.last_step.get("track") is self._track:
            self._look_at_gradients()

    def told(self) -> None:
        """Nothing: the copy ends without a word."""

    def _look_at_the_loss(self, roots: Any) -> None:
        if cause := self._operations.cause_of(roots):
            self._answer({"origin": self._portable(cause), "loss": True, "gradients": 0})

    def _look_at_gradients(self) -> None:
        causes = self._operations.causes_of_gradients(self._track)
        if causes:
            first = min(causes, key=lambda cause: int(cause["operation"]))
            self._answer({"origin": self._portable(first), "loss": False, "gradients": len(causes)})
        self._answer({})

    def _outside_of_regions(self, error: BaseException) -> list[Running]:
        """What an error went through, from the frame on whose autocast region it left: it has to be entered again."""
        found, region = raised_through(error), self._recording.region_of(error)
        frames = self._recording.places.frames(region["at"]) if region is not None else []
        for number, (frame, _) in enumerate(found):
            code = frame.f_code
            if frames and frames[0][0] == code.co_filename and frames[0][1] in (code.co_name, code.co_qualname):
                return found[number:]
        return found

    def _look_at_what_raised(self, error: BaseException) -> None:
        if cause := self._operations.cause_of(raised_for(error, self._recording)):
            self._answer({"origin": self._portable(cause)})

    def _portable(self, cause: Cause) -> Cause:
        return {**cause, "frames": self._recording.places.frames(cause["at"])}

    def _answer(self, answer: Answer | None) -> NoReturn:
        os.write(self._writing, json.dumps(answer, default=str).encode("ascii"))
        os._exit(0)


def raised_for(error: BaseException, recording: Recording) -> list[Any]:
    """The NaNs that an error may be about, and infs that are a number: of the frames of torch, and the one before them.

    None of an error that no `raise` or `assert` made, unless it says so: two dtypes that differ, for example.
    """
    found: list[Any] = []
    if not (by_statement(error) or _ABOUT_NUMBERS.search(str(error))):
        return found
    for frame, _ in raised_through(error):
        given = tensors(list(frame.f_locals.values()))
        readable = (each for each in given if may_break(each) and recording.is_readable(each))
        found += [each for each in readable if has_nan(each) or (each.numel() == 1 and not is_finite(each))]
        if not of_torch_or_ours(frame.f_code.co_filename):
            break
    return found


def _read(reading: int, until: float) -> Answer | None:
    """The whole answer; empty where the time is over, or the copy has died."""
    found = b""
    while (left := until - time.monotonic()) > 0 and select.select([reading], [], [], left)[0]:
        part = os.read(reading, 1 << 16)
        if not part:
            answer: Answer | None = json.loads(found) if found else {}
            return answer
        found += part
    return {}
