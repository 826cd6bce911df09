"""Notice every step whose loss or gradients are not finite, find where that began, and tell of it.

The loss of every backward is looked at, and the gradients of every step that no scaler looks at, where reading waits
for nobody; on a device the first bad step is kept there, and read at the end. The cause is found in the step itself:
it was watched, or its statements are run again in a copy of the process. Where neither can be, the steps after it are
watched.

To watch a step costs about twice its time. It is done of a few steps, from whose numbers more can be told than inf and
NaN, and where somebody asks, of the first ones and those whose number is a power of two.
"""

from __future__ import annotations

from typing import Any

from ..launch import Tell
from ..recorder.compilation import before_compilation, compiles
from ..recorder.gradient_versions import Track
from ..recorder.low_precision import other_modes
from ..recorder.recording import Recording
from .breaking import is_finite, tensors
from .iterations import Iterations
from .losses import Losses, is_scaled
from .operations import Operations
from .random_states import RandomStates
from .rerun import Answer, Rerun, raised_for

AFTER_BAD = 6
"""Bad steps that are run again; and steps that are watched because the cause of the one before was not found."""
FIRST = 8
"""Steps that are watched from the beginning, where somebody asks."""
UNASKED = 3
"""The step that is watched although nobody asks; after it those whose number is a power of four, from 16 on."""
MOST_TOLD = 20
MOST_CONFIRMED = 4
"""Steps that are watched only because of what the one before them showed."""
FEW = 16
"""Gradients that are looked at in each step, evenly spread; of the first steps, and now and then, all are."""


class BadSteps:
    """Switches the watch on and off between steps, and tells of each bad step."""

    def __init__(self, recording: Recording, tell: Tell, *, asked: bool, first: int = FIRST) -> None:
        self._recording, self._tell = recording, tell
        self._asked, self._first = asked, first
        self.operations = Operations(recording)
        self._randomness = RandomStates()
        self._rerun = Rerun(recording, self.operations, self._randomness)
        self._iterations = Iterations()
        self._losses = Losses(recording)
        self._loss_broke = False
        """Whether a loss since the last step was inf or NaN, and not by its scale."""
        self._found: Answer = {}
        """What was found of the step that runs, by running it again."""
        self._spoiler: Answer = {}
        """What was found of the step since whose update weights are not finite."""
        self._reruns = self._after_bad = self._told = self._watched = self._bad = 0
        self._swallowed = 0
        """Steps in which an overflow was swallowed."""
        self._doubtful = 0
        """Steps in which something else was seen that no inf shows."""
        self._confirm = self._unmoved = False
        self._confirmed = 0
        self._until: Track | None = None
        """The optimizer whose step was skipped: the watch goes on until its next one."""
        self._why_not = ""
        before_compilation(self._leave)

    def begin(self) -> None:
        """The run begins."""
        if self._asked:
            self._start()

    # --- what is not finite

    def look_at_the_loss(self, roots: Any) -> None:
        """Before a backward."""
        bad = self._losses.look(roots, self._iterations.number + 1)
        if bad and not self._is_by_scale(roots):
            self._loss_broke = True
            self._losses.count()
            if not self.operations.on and not self._found:
                self._look_again(None)
        if not self._loss_broke:
            self._randomness.keep_torch()

    def _is_by_scale(self, roots: Any) -> bool:
        """Whether the scaler multiplied a finite loss by its scale."""
        return self._recording.scaled_loss_is_finite and any(map(is_scaled, tensors((roots,))))

    def look_at_gradients(self, track: Track) -> None:
        """Before a step that no scaler decides about."""
        if self.operations.on or self._found or self._loss_broke:
            return
        gradients = [each.grad for each in track.parameters if each.grad is not None]
        number = self._iterations.number
        if len(gradients) > FEW and number >= 64 and number & (number - 1):
            gradients = [*gradients[:: len(gradients) // FEW + 1], gradients[-1]]
        if any(self._recording.is_readable(each) and not is_finite(each) for each in gradients):
            self._look_again(track)

    def look_at_the_error(self, error: BaseException) -> None:
        """The error that ends the run: a step may have been refused for a NaN, before any backward."""
        if self._found or not (about := raised_for(error, self._recording)):
            return
        cause = self.operations.cause_of(about) if self.operations.on else None
        if cause is not None:
            self._found = {"origin": cause}
        else:
            self._look_again(None, error)
        self._found = {**self._found, "ended": True} if "origin" in self._found else {}

    def _look_again(self, track: Track | None, error: BaseException | None = None) -> None:
        """Find the cause in the step that runs, or that ended by an error."""
        if self._spoiler:
            self._found = self._spoiler
        elif self._reruns < AFTER_BAD:
            self._reruns += 1
            self._found, why_not = self._rerun.cause(track, error)
            if why_not:
                self._found = {"why_not": why_not}
        self._found = {"loss": self._loss_broke, "gradients": 0, **self._found}

    # --- steps

    def stepped(self) -> None:
        """A step is over: tell what was seen of it, and decide whether to watch the next one."""
        last = self._recording.last_step
        track, skipped = last.get("track"), last.get("stepped") is False
        is_new = self._iterations.stepped(track, self._recording.tracks.newest)
        number = self._iterations.number
        if self._loss_broke:
            self._losses.stepped(number)
        if self.operations.on:
            self._watched += is_new
            self._found = self._seen(track)
            self._tell_what_is_lost(number)
        elif skipped and not self._found:
            self._look_again(track)
        if self._found or skipped or self._loss_broke:
            self._tell_step(number, track, skipped=skipped)
        has_cause = "origin" in self._found
        if has_cause and not skipped:
            self._spoiler = self._found
        if self._spoiler and not self._are_spoilt():
            self._spoiler = {}
        self._decide(track, number, again=(skipped or self._loss_broke) and not (has_cause and not self.operations.on))
        self._loss_broke, self._found = False, {}
        self._randomness.keep()

    def _decide(self, track: Track | None, number: int, *, again: bool) -> None:
        """Whether to watch the step that begins."""
        if track is self._until:
            self._until = None
        after_bad = again and self._after_bad < AFTER_BAD
        if after_bad:
            self._after_bad += 1
            self._until = track
        if after_bad or self._until is not None or self._confirm or self._is_sampled(number + 1):
            self._start()
        else:
            self.operations.stop()

    def _seen(self, track: Track | None) -> Answer:
        """What the watch saw of the step that is over; empty where all was finite."""
        causes = self.operations.causes_of_gradients(track)
        of_loss = self.operations.of_loss
        spoilt = 0 if causes else self._spoilt(track)
        if not causes and of_loss is None:
            return {"loss": self._loss_broke, "gradients": spoilt} if spoilt or self._loss_broke else {}
        origin = min([*causes, *filter(None, [of_loss])], key=lambda cause: int(cause["operation"]))
        if self._spoiler:
            origin = self._spoiler["origin"]
        self._loss_broke |= of_loss is not None
        return {"origin": origin, "loss": of_loss is not None, "gradients": len(causes) or spoilt}

    def _are_spoilt(self) -> bool:
        """Whether any weight is not finite."""
        return any(not is_finite(each) for track in self._recording.tracks for each in track.parameters)

    @staticmethod
    def _spoilt(track: Any) -> int:
        """How many gradients are not finite, where nobody saw them become so: of shards, for example."""
        found = (each.grad for each in track.parameters) if track is not None else ()
        return sum(each is not None and not is_finite(each) for each in found)

    def _tell_step(self, number: int, track: Track | None, *, skipped: bool) -> None:
        self._bad += 1
        is_known = "origin" in self._found or self._reruns < AFTER_BAD
        if self._told >= max(MOST_TOLD, self._first) or (self._told and not is_known):
            return
        self._told += 1
        found = {"loss": self._loss_broke, "gradients": 0, **self._found}
        found["gradients"] = found["gradients"] or self._spoilt(track)
        scale = self.operations.scale()
        if origin := found.get("origin"):
            scale = origin["scale"] or scale
        steps = self._recording.last_step.get("number")
        self._tell("bad-step", number=number, steps=steps, skipped=skipped, scale=scale, **found)

    def _tell_what_is_lost(self, number: int) -> None:
        """Overflows that ended as a number, averages that did not move. What lasts shows in the step after it."""
        found = self.operations.swallowed.found
        unmoved = self.operations.averages.end()
        suspicious = self._tell_what_is_doubtful(number) or self.operations.averages.is_suspicious
        self._confirm = (bool(found) and not self._swallowed) or (
            suspicious and not self._unmoved and self._confirmed < MOST_CONFIRMED
        )
        self._confirmed += self._confirm
        self._swallowed += bool(found)
        for each in unmoved if not self._unmoved else ():
            self._tell("unmoved-average", number=number, **each)
        self._unmoved |= bool(unmoved)
        for each in found if self._swallowed <= MOST_TOLD else ():
            self._tell("swallowed", number=number, origin=each, ended=each["ended"], lost=each["lost"])

    def _tell_what_is_doubtful(self, number: int) -> bool:
        """Statistics, ratios of log-probabilities, calls past a wrapper; whether the next step can tell more."""
        watched = self.operations
        found = [*watched.statistics.end(), *watched.ratios.found, *watched.past_wrappers.found]
        for each in found if self._doubtful < MOST_TOLD else ():
            self._tell("doubtful", number=number, **each)
        is_first = bool(watched.ratios.found) and not self._doubtful
        self._doubtful += bool(found)
        return is_first or watched.statistics.is_suspicious

    def _is_sampled(self, number: int) -> bool:
        """Whether a step is watched whatever happens; they are counted from 1."""
        if self._asked:
            return number <= self._first or (number - 1) & (number - 2) == 0
        return number == UNASKED or (number >= 16 and number & (number - 1) == 0 and number.bit_length() % 2 == 1)

    def told(self) -> None:
        """The run is over. Of one that never came to a step, the last operation that broke is told."""
        last = self.operations.last
        if self._found:
            self._tell_step(self._iterations.number + 1, None, skipped=False)
        elif not self._iterations.number and last is not None:
            self._tell("bad-step", number=1, skipped=False, loss=False, gradients=0, origin=last, scale=last["scale"])
        found = {"watched": self._watched, "why_not": self._why_not, "asked": self._asked, "bad": self._bad}
        self._tell("numerics", iterations=self._iterations.number, **found, **self._losses.told())

    def _start(self) -> None:
        if compiles():
            self._leave()
        elif other_modes():
            self._why_not = "the project has a dispatch mode of its own around its steps"
        else:
            self.operations.start()

    def _leave(self) -> None:
        self._why_not = "torch.compile is in use: a watch would run other code"
        self.operations.stop()
