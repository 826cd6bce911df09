"""A window of fewer batches than the others whose losses are divided by the full count all the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from verifygate.base.counts import counted
from verifygate.execution.recorded_trace import Event

FULL = 2
"""Windows of the full count that there have to be: they show what the losses are divided for."""


@dataclass(frozen=True)
class _Window:
    """The backwards that led to one step."""

    step: Event
    backwards: int
    share: float
    place: object


def remarks(events: Iterable[Event], relative: Callable[[str], str | None]) -> Iterator[str]:
    """The first short window of each optimizer."""
    for windows in _windows(events).values():
        count, times = Counter(each.backwards for each in windows).most_common(1)[0]
        alike = [each for each in windows if (each.share, each.place) == (round(1 / count, 9), windows[0].place)]
        full = [each for each in alike if each.backwards == count]
        short = [each for each in alike if each.backwards < count]
        if count < 2 or times < FULL or not short or len(short) >= len(full) or len(alike) < len(windows):
            continue
        first = short[0]
        frame = first.step.frames[0] if first.step.frames else None
        path = relative(frame.path) if frame is not None else None
        at = f", {path}:{frame.line}" if frame is not None and path else ""
        yield (
            f"step {first.step.step + 1}{at}: a window of {counted(first.backwards, 'backward')} of a loss that is "
            f"divided by {count}: its gradient is {first.backwards}/{count} of the mean; divide by the number of "
            "batches in the window"
        )


def _windows(events: Iterable[Event]) -> dict[int, list[_Window]]:
    """The windows of each optimizer in which all losses were divided by one number, at one place."""
    found: dict[int, list[_Window]] = {}
    waiting: dict[int, list[Event]] = {}
    for event in events:
        for number in event.optimizers():
            if event.kind == "backward" and not event.raised:
                waiting.setdefault(number, []).append(event)
            elif event.kind in ("scaler.step", "optimizer.step"):
                backwards = waiting.pop(number, [])
                known = {(each.fields.get("share"), each.frames) for each in backwards}
                if len(known) == 1 and (one := known.pop())[0]:
                    share, place = round(float(one[0]), 9), one[1]
                    found.setdefault(number, []).append(_Window(event, len(backwards), share, place))
    return found
