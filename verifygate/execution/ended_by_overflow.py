"""AMP214: a run that its own code ended at an inf, which the scaler meets with a skipped step and a lower scale."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from verifygate.events.record import Frame
from verifygate.execution.observed_violation import Form, ObservedViolation
from verifygate.execution.recorded_trace import Event, Trace
from verifygate.protocol import Violation

SKIPS = 2
"""After so many skipped steps in a row, to end the run is a guard against a training that stands still."""


def ended_by_overflow(
    trace: Trace, calls: Sequence[tuple[str, int]], is_own: Callable[[str], bool]
) -> Iterable[ObservedViolation]:
    """The violation, where the last window of the run overflowed.

    `calls` are path and line of the error's frames, outermost first; `is_own` tells which paths are the project's.
    """
    events = trace.sections[-1].events if trace.sections else []
    found = next((event for event in reversed(events) if _is_inf(event)), None)
    if found is None:
        return
    number = next(iter(found.fields.get("inf") or found.optimizers()), None)
    after = [event for event in events if event.number > found.number]
    closing = ("scaler.step", "optimizer.step", "zero_grad", "update", "backward")
    if number is None or any(event.kind in closing for event in after) or not _is_searching(trace, events, found):
        return
    own = [call for call in calls if is_own(call[0]) and "site-packages" not in Path(call[0]).parts]
    if own and (own[-1] == calls[-1] or _is_clip(calls[-1][0])):
        end = _end(found, own)
        certain = own[-1] != calls[-1]  # torch says that it is for the inf; the project's code may have other reasons
        violation = Violation.SKIP_GUARD_BREAKS_SCALER
        yield ObservedViolation(violation, end, found, (found, end), certain, form=Form.ENDED_RUN)


def _is_clip(path: str) -> bool:
    """Whether torch's clip raised, by `error_if_nonfinite`."""
    return Path(path).parts[-4:] == ("torch", "nn", "utils", "clip_grad.py")


def _is_inf(event: Event) -> bool:
    if event.kind == "unscale":
        return not event.raised and bool(event.fields.get("found_inf"))
    return event.kind == "backward" and event.fields.get("root") == "scaled" and bool(event.fields.get("inf"))


def _is_searching(trace: Trace, events: list[Event], found: Event) -> bool:
    """Whether the scale is what overflowed: the loss was finite, and the scaler had not backed off in vain before."""
    scale: float | None = None
    skips, is_finite = 0, True
    for event in events:
        if event.number > found.number:
            break
        if event.kind == "scaler":
            first = trace.scalers.get(event.scaler or 0, {}).get("init_scale")
            scale = first if isinstance(first, float) else scale
        elif event.kind == "update" and isinstance(now := event.fields.get("scale"), int | float):
            scale = float(now)
        elif event.kind == "scaler.step":
            skips = skips + 1 if event.skipped else 0
        elif event.kind == "scale":
            is_finite = event.fields.get("finite") is not False
    return is_finite and skips < SKIPS and scale is not None and scale > 1


def _end(found: Event, calls: Sequence[tuple[str, int]]) -> Event:
    """The end of the run as an event: what raised, or left the interpreter."""
    symbols = {frame.path: frame.symbol for frame in reversed(found.frames)}
    paths = [(os.path.realpath(path), line) for path, line in reversed(calls)]
    frames = tuple(Frame(path, symbols.get(path, ""), line) for path, line in paths)
    return Event(found.number, "end", found.step, frames, "", {"raised": "an error of its own"})
