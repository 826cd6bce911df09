"""Watch the steps of optimizers and schedulers."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from ..launch import UNSEEN
from ..patching.frames import stack
from ..patching.wrapping import After
from .gradient_versions import Track
from .recording import Arguments, Keywords, Recording, error_name
from .value_reads import ValueReads


class StepWatch:
    """Tells of the outermost step only: an optimizer may wrap another one, and `scaler.step` calls the optimizer's."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.happened = False
        """Whether an optimizer's own step began since somebody set this to False."""
        self.reads = ValueReads(recording)
        self._unread: dict[int, bool] = {}
        """Track -> whether nobody had read a value in its window when the step that runs began."""

    def patch(self) -> None:
        """Hook into every optimizer there will be, and wrap every scheduler that torch has."""
        from torch.optim import lr_scheduler

        register_optimizer_step_pre_hook(self._before_step)
        register_optimizer_step_post_hook(self._after_step)
        for scheduler in vars(lr_scheduler).values():
            if isinstance(scheduler, type) and issubclass(scheduler, lr_scheduler.LRScheduler):
                self.recording.around(scheduler, "step", self._schedule)

    def _before_step(self, optimizer: Any, arguments: Any, keywords: Any) -> tuple[Any, Any] | None:
        if torch.compiler.is_compiling():
            return None
        try:
            self.happened = True
            watched = None if self.is_running() else self._with_watched_closure(optimizer, arguments, keywords)
            frame = sys._getframe(1)
            if not self.is_running():
                track = self.recording.track(optimizer)
                if track is not None:
                    self.recording.notice_touched([track])
                    self._look_for_reads(track)
                    if self.recording.gradient_watch is not None:
                        self.recording.gradient_watch(track)
            self.recording.updates.before(optimizer, nested=bool(self.recording.stepping))
            self.recording.stepping.append((optimizer, frame))
        except Exception as error:
            self.recording.failed(error)
            return None
        return watched

    def _with_watched_closure(self, optimizer: Any, arguments: Any, keywords: Any) -> tuple[Any, Any] | None:
        """The arguments of a step with its closure wrapped; None where it has none."""
        if callable(given := keywords.get("closure")):
            return arguments, {**keywords, "closure": self._watched(given, optimizer)}
        if len(arguments) > 1 and callable(arguments[1]):
            return (arguments[0], self._watched(arguments[1], optimizer), *arguments[2:]), keywords
        return None

    def _watched(self, closure: Callable[..., Any], optimizer: Any) -> Callable[..., Any]:
        """A closure during which no step runs: what happens in there is the program's business, and is recorded."""

        def begin() -> Any:
            running, self.recording.stepping = self.recording.stepping, []
            return running

        def end(running: Any) -> None:
            try:
                track = self.recording.track(optimizer)
                if track is not None:
                    self.recording.notice_touched([track])
                self.recording.updates.closure_ended(optimizer)
            except Exception as error:
                self.recording.failed(error)
            self.recording.stepping = running

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            running = begin()
            try:
                return closure(*args, **kwargs)
            finally:
                end(running)

        wrapper.__code__ = wrapper.__code__.replace(co_filename=UNSEEN)
        return functools.wraps(closure)(wrapper) if hasattr(closure, "__name__") else wrapper

    def _look_for_reads(self, track: Track) -> None:
        """A step past the scaler on gradients that it unscaled: was there a look at them? The first one is let pass."""
        if track.unscaled:
            known = self.reads.on and track.read_before is not None
            self._unread[track.index] = known and self.reads.count == track.read_before
            self.reads.start()

    def _nothing_read(self, track: Track, optimizer: Any) -> bool:
        """Whether no value left torch from the backward to the step; torch's own optimizers read, but never decide."""
        unread = self._unread.pop(track.index, False)
        own = not type(optimizer).__module__.startswith("torch.optim")
        return unread and not (own and self.reads.count != track.read_before)

    def is_running(self) -> bool:
        """Whether a step runs: what happens in there, to gradients say, is the optimizer's own business."""
        if self.recording.stepping:
            # A step that raised never came to its end: its frame is not among the callers any more.
            callers = set(stack(sys._getframe(1)))
            self.recording.stepping = [entry for entry in self.recording.stepping if entry[1] in callers]
        return bool(self.recording.stepping) or "step" in self.recording.inside

    def _after_step(self, optimizer: Any, _arguments: Any, _keywords: Any) -> None:
        if torch.compiler.is_compiling():
            return
        try:
            while self.recording.stepping and self.recording.stepping.pop()[0] is not optimizer:
                pass
            self.recording.updates.after(optimizer)
            if not self.is_running():
                track = self.recording.track(optimizer)
                self.recording.remember(track)
                unread = track is not None and self._nothing_read(track, optimizer)
                self.recording.count_step("optimizer.step", track, unread=unread or None)
                if track is not None:
                    track.close()
        except Exception as error:
            self.recording.failed(error)

    def _schedule(self, arguments: Arguments, _keywords: Keywords) -> After | None:
        if sys._getframe(3).f_code.co_name == "_initial_step" or not self.recording.enters("scheduler"):
            return None  # the first step of a schedule is its constructor's
        scheduler = arguments[0]

        def after(_result: object, raised: BaseException | None) -> None:
            self.recording.leaves("scheduler")
            track = self.recording.track(getattr(scheduler, "optimizer", None))
            self.recording.tell(
                "scheduler.step",
                optimizer=track.index if track else None,
                type=type(scheduler).__qualname__,
                raised=error_name(raised),
            )

        return after
