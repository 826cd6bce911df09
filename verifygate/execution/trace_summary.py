"""Count what a run did with AMP: steps, skips, the scale's way, how much of the work was in half precision."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from verifygate.base.counts import counted
from verifygate.execution import short_windows
from verifygate.execution.recorded_trace import Event, Trace
from verifygate.model import Island, LowPrecision, ScaleChange, TraceSummary, Visit, WeightUpdates

SCALES = 200
VISITS = 2000
GROUPS = 50
LOW = ("float16", "bfloat16")
COLLAPSED = 1.0
"""torch's documentation: a scale below 1 says that something is wrong."""
STALLED = 20
"""Skipped steps in a row after which training stands still; the scale's own search takes about a dozen."""

Relative = Callable[[str], str | None]


def summary(trace: Trace, visits: Mapping[tuple[str, int, str], int], relative: Relative) -> TraceSummary:
    """The run in numbers; `relative` turns an absolute path into one below the root."""
    events = list(trace.events)
    steps = [event for event in events if event.kind in ("scaler.step", "optimizer.step") and not event.raised]
    scales = [
        ScaleChange(scaler=event.scaler or 0, step=event.step, scale=float(event.fields["scale"]))
        for event in events
        if _has_scale(event)
    ]
    values = [each.scale for each in scales]
    sampled = _low_precision(trace, relative)
    return TraceSummary(
        events=len(events),
        dropped=trace.dropped,
        counts=tuple(sorted(Counter(event.kind for event in events).items())),
        devices=tuple(sorted({_region(event) for event in events if event.kind == "autocast"})),
        optimizers=_optimizers(trace),
        steps=len(steps),
        skipped=sum(event.skipped for event in steps),
        unknown=sum(
            event.kind == "scaler.step" and not (event.skipped or event.fields.get("stepped")) for event in steps
        ),
        scale_min=min(values, default=None),
        scale_max=max(values, default=None),
        scale_last=values[-1] if values else None,
        scales=_changes(sorted([*_first_scales(events, trace), *scales], key=lambda one: one.scaler)),
        low_precision=sampled,
        not_sampled="" if sampled else str(trace.sample.get("why_not") or "no steps were sampled"),
        not_float32=not_float32(trace, trace.optimizers),
        updates=_updates(events, trace),
        remarks=(*_remarks(events, trace), *_short_windows(trace, relative)),
        visits=_visits(visits, relative),
        problems=tuple(trace.problems),
    )


def _optimizers(trace: Trace) -> tuple[str, ...]:
    """Each kind of optimizer once."""
    kinds = Counter(f"{fact['type']}, {counted(int(fact['tensors']), 'tensor')}" for fact in trace.optimizers.values())
    return tuple(kind if times == 1 else f"{times} x {kind}" for kind, times in sorted(kinds.items()))


def _has_scale(event: Event) -> bool:
    scale = event.fields.get("scale")
    return event.kind in ("update", "get_scale") and isinstance(scale, int | float) and math.isfinite(scale)


def _region(event: Event) -> str:
    return f"{event.fields.get('device')} {event.fields.get('dtype')}"


def _first_scales(events: list[Event], trace: Trace) -> list[ScaleChange]:
    """The scale that each live scaler was made with: without it, what the first update did could not be told."""
    made = [(event, trace.scalers.get(event.scaler or 0, {})) for event in events if event.kind == "scaler"]
    return [
        ScaleChange(scaler=event.scaler or 0, step=event.step, scale=float(fact["init_scale"]))
        for event, fact in made
        if fact.get("enabled") and isinstance(fact.get("init_scale"), int | float) and math.isfinite(fact["init_scale"])
    ]


def _changes(scales: list[ScaleChange]) -> tuple[ScaleChange, ...]:
    """Those that differ from the one before of the same scaler."""
    last: dict[int, float] = {}
    changed = []
    for each in scales:
        if last.get(each.scaler) != each.scale:
            changed.append(each)
        last[each.scaler] = each.scale
    return tuple(changed[:SCALES])


def _low_precision(trace: Trace, relative: Relative) -> LowPrecision | None:
    sample = trace.sample
    if not sample.get("steps"):
        return None
    operations, flops, casts = (dict(sample.get(name, {})) for name in ("operations", "flops", "casts"))
    islands = []
    for island in sample.get("islands", ()):
        frame = next((frame for frame in trace.where(island.get("at")) if relative(frame.path)), None)
        if frame is not None:
            islands.append(_island(island, relative(frame.path) or "", frame.line))
    return LowPrecision(
        steps=int(sample["steps"]),
        operations=sum(operations.values()),
        low_operations=sum(operations.get(name, 0) for name in LOW),
        flops=sum(flops.values()),
        low_flops=sum(flops.get(name, 0) for name in LOW),
        uncounted=tuple(sorted(sample.get("uncounted", {}))),
        casts_per_step=round(sum(casts.values()) / int(sample["steps"]), 1),
        islands=tuple(islands),
    )


def _island(told: Mapping[str, Any], path: str, line: int) -> Island:
    return Island(
        path=path,
        line=line,
        operator=str(told.get("operator", "")),
        autocast=told.get("autocast") == "on",
        count=int(told.get("count", 0)),
        flops=int(told.get("flops", 0)),
    )


def not_float32(trace: Trace, optimizers: Iterable[int]) -> tuple[str, ...]:
    """What these optimizers step that is no float32."""
    lines = [
        f"{fact['type']}: {number} of {fact['tensors']} tensors {name}"
        for _, fact in sorted((number, trace.optimizers[number]) for number in optimizers)
        for name, number in fact.get("dtypes", {}).items()
        if name != "float32"
    ]
    return tuple(dict.fromkeys(lines))


def _updates(events: list[Event], trace: Trace) -> tuple[WeightUpdates, ...]:
    """The sampled steps of equal parameter groups together."""
    alike: dict[tuple[str, int, str], list[Event]] = {}
    for event in events:
        if event.kind == "updates":
            key = (_optimizer(event, trace), int(event.fields["group"]), str(event.fields["dtype"]))
            alike.setdefault(key, []).append(event)
    rows = []
    for (optimizer, group, dtype), same in sorted(alike.items()):
        known = all("lost" in event.fields for event in same)
        count = {
            name: sum(int(event.fields.get(name, 0)) for event in same)
            for name in ("steps", "reached", "unchanged", "movable", "lost")
        }
        rows.append(
            WeightUpdates(
                optimizer=optimizer,
                group=group,
                dtype=dtype,
                tensors=max(int(event.fields["tensors"]) for event in same),
                steps=count["steps"],
                reached=count["reached"],
                unchanged=count["unchanged"],
                movable=count["movable"] if known else None,
                lost=count["lost"] if known else None,
            )
        )
    return tuple(rows[:GROUPS])


def _optimizer(event: Event, trace: Trace) -> str:
    return next((str(trace.optimizers.get(number, {}).get("type")) for number in event.optimizers()), "")


def _remarks(events: list[Event], trace: Trace) -> list[str]:
    """What is no violation of a rule, and still worth a word."""
    remarks = []
    scaler_steps = [event for event in events if event.kind == "scaler.step" and not event.raised]
    updates = [float(event.fields["scale"]) for event in events if event.kind == "update" and _has_scale(event)]
    if updates and min(updates) < COLLAPSED:
        remarks.append(f"the loss scale collapsed: it fell to {min(updates):g}, and below 1 something is wrong")
    if (longest := _longest_skip(scaler_steps)) >= STALLED:
        remarks.append(f"{longest} steps in a row were skipped: training stood still")
    if any(event.fields.get("native") is False for event in events):
        remarks.append(
            "bfloat16 ran on a CUDA device that has none of its own (compute capability below 8.0): its share of low "
            "precision saves memory there, and no time; float16 with a scaler does"
        )
    for event in events:
        if event.kind == "nonfinite":
            remarks.append(f"the weights of {_optimizer(event, trace)} were inf or NaN after step {event.step + 1}")
        if event.fields.get("gradless"):
            remarks.append(_without_gradients(event, trace))
    in_half = not trace.sample.get("operations", {}).keys().isdisjoint(LOW)
    if scaler_steps and not in_half and not any(event.kind == "autocast" for event in events):
        remarks.append("a live scaler stepped, and autocast was never on")
    for number, fact in sorted(trace.scalers.items()):
        if fact.get("asked") and not fact.get("enabled"):
            device = fact.get("device")
            remarks.append(
                f"torch switched scaler {number} off: there is no {device} here, so its protocol was not run"
            )
    if trace.totals.get("compiled"):
        remarks.append("torch.compile was in use: autocast regions inside compiled code are not seen")
    return list(dict.fromkeys(remarks))


def _without_gradients(event: Event, trace: Trace) -> str:
    """Why a scaler finds no gradient to look at: the optimizer has other tensors than those that train."""
    frozen, elsewhere = event.fields.get("frozen", 0), event.fields.get("elsewhere", ())
    tensors = counted(event.fields["gradless"], "tensor")
    found = f"none of the {tensors} of {_optimizer(event, trace)} had a gradient at its step, {frozen} are frozen"
    if elsewhere:
        names = ", ".join(f"`{each}`" for each in elsewhere)
        found += f"; {names} had one, and it does not have them: make the optimizer after the last change of the model"
    return found


def _short_windows(trace: Trace, relative: Relative) -> tuple[str, ...]:
    """Of each section by itself; where events are missing, windows look shorter than they are."""
    whole = (section for section in trace.sections if not section.dropped)
    return tuple(dict.fromkeys(one for section in whole for one in short_windows.remarks(section.events, relative)))


def _longest_skip(steps: list[Event]) -> int:
    longest = now = 0
    for step in steps:
        now = now + 1 if step.skipped else 0
        longest = max(longest, now)
    return longest


def _visits(visits: Mapping[tuple[str, int, str], int], relative: Relative) -> tuple[Visit, ...]:
    seen: Counter[tuple[str, int, str]] = Counter()
    for (path, line, event), times in visits.items():
        if (inside := relative(path)) is not None:
            seen[(inside, line, event)] += times
    return tuple(
        Visit(path=path, line=line, event=event, times=times) for (path, line, event), times in sorted(seen.items())
    )[:VISITS]
