"""Events of audited code in a trace: count them, and list the orders of its steps. A test's own events are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from verifygate.execution.recorded_trace import Event, Section, Trace
from verifygate.execution.run_findings import Ownership
from verifygate.execution.trace_summary import not_float32
from verifygate.model import OwnEvents, StepOrder

ORDERS = 50
NAMES = {"clip": "clip", "unscale": "unscale", "scaler.step": "step", "optimizer.step": "optimizer-step"}
"""Kind of event -> its name in an order; `backward` and `update` are treated by themselves."""
STEPS = ("step", "optimizer-step")


def own_events(trace: Trace, ownership: Ownership) -> OwnEvents:
    """Count the events whose innermost frame is audited code, and list the orders of its steps."""

    own = [event for event in trace.events if _is_own(event, ownership) and not event.raised]
    regions = {f"{event.fields.get('device')} {event.fields.get('dtype')}" for event in own if event.kind == "autocast"}
    made = {event.optimizers()[0] for event in own if event.kind == "optimizer"}
    return OwnEvents(
        counts=tuple(sorted(Counter(event.kind for event in own).items())),
        regions=tuple(sorted(regions)),
        not_float32=not_float32(trace, made & set(trace.optimizers)),
        orders=_counted((window for section in trace.sections for window in _windows(section)), ownership),
    )


def _is_own(event: Event, ownership: Ownership) -> bool:
    return bool(event.frames) and ownership.path(event.frames[0]) is not None


@dataclass
class _Window:
    """What happened to one optimizer's gradients from the forward of their first backward on, in order."""

    events: list[tuple[str, Event]] = field(default_factory=list)
    scaler: int | None = None
    whole: bool = True
    """Whether its beginning was recorded, and nothing in it raised."""

    @property
    def step(self) -> Event | None:
        return next((event for name, event in self.events if name in STEPS), None)

    @property
    def names(self) -> tuple[str, ...]:
        """The order, with what repeats once: a window accumulates over many backwards."""
        names: list[str] = []
        for name, _ in self.events:
            if names[-1:] != [name]:
                names.append(name)
            for size in (2, 3):
                if names[-size:] == names[-2 * size : -size]:
                    del names[-size:]
        return tuple(names)


def _counted(windows: Iterable[_Window], ownership: Ownership) -> tuple[StepOrder, ...]:
    """The orders of the windows in which audited code took a step, did all else as well, and put it in this order."""
    found: dict[tuple[str, ...], list[Event]] = {}
    for window in windows:
        step = window.step
        if step is None or not window.whole or not all(_is_own(event, ownership) for _, event in window.events):
            continue
        others = [event for _, event in window.events if event is not step]
        if ownership.tests_too or all(ownership.puts_in_order(event, step) for event in others):
            found.setdefault(window.names, []).append(step)
    return tuple(
        StepOrder(
            events=names,
            times=len(steps),
            path=ownership.path(steps[0].frames[0]) or "",
            line=steps[0].frames[0].line,
        )
        for names, steps in sorted(found.items())[:ORDERS]
    )


def _windows(section: Section) -> list[_Window]:
    """The windows of one test, of every optimizer in it."""
    now: dict[int, _Window] = {}
    ahead: dict[int, list[tuple[str, Event]]] = {}
    """Backwards that came after a step and before its update: they belong to the next window."""
    closed: list[_Window] = []

    def close(optimizer: int) -> None:
        closed.append(now.pop(optimizer))
        if waiting := ahead.pop(optimizer, []):
            scaler = next((event.scaler for name, event in waiting if name == "scale"), None)
            now[optimizer] = _Window(waiting, scaler)

    entered: Event | None = None
    for event, gap in section.gaps():
        if event.kind == "autocast":
            entered = event
            continue
        if gap:
            now = {optimizer: _Window(whole=False) for optimizer in now}
            ahead.clear()
        if event.kind == "update":
            for optimizer in [each for each, window in now.items() if window.scaler == event.scaler]:
                now[optimizer].events.append(("update", event))
                now[optimizer].whole &= not event.raised
                close(optimizer)
            continue
        for optimizer in event.optimizers():
            _take(event, optimizer, entered, now, ahead, close)
        if event.kind == "backward":
            entered = None  # the region that its forward ran in
    return closed + list(now.values())


def _take(
    event: Event,
    optimizer: int,
    entered: Event | None,
    now: dict[int, _Window],
    ahead: dict[int, list[tuple[str, Event]]],
    close: Callable[[int], None],
) -> None:
    window = now.setdefault(optimizer, _Window())
    if event.kind == "backward":
        scaled = event.fields.get("root") == "scaled"
        made = [("autocast", entered)] if entered is not None else []
        made += [("scale", event), ("backward", event)] if scaled else [("backward", event)]
        if window.step is not None and window.scaler is None:
            close(optimizer)  # nothing but the step ends a window without a scaler
            window = now.setdefault(optimizer, _Window())
        if window.step is not None:
            ahead.setdefault(optimizer, []).extend(made)
            return
        window.events += made
        window.scaler = event.scaler if scaled else window.scaler
    elif event.kind in NAMES and not event.fields.get("inner"):
        if optimizer in ahead and event.kind in ("unscale", "scaler.step", "optimizer.step"):
            close(optimizer)  # the update never came
            window = now[optimizer]
        window.events.append((NAMES[event.kind], event))
        if event.scaler is not None:
            window.scaler = event.scaler
    window.whole &= not event.raised
