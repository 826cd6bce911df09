"""What a run shows beyond the order of events: regions, schedules, the lives of scalers, and wrong arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from verifygate.execution.observed_violation import Form, ObservedViolation
from verifygate.execution.recorded_trace import Event, Section, Trace
from verifygate.execution.sharding_violations import violations_of_sharding
from verifygate.execution.trace_summary import LOW
from verifygate.execution.weight_violations import violations_of_weights
from verifygate.protocol import Violation

REPEATED = 2
"""How often something must be seen before it counts as the way the code goes."""
STEPS = ("scaler.step", "optimizer.step")


def violations_of_the_run(section: Section, trace: Trace, *, whole: bool) -> Iterator[ObservedViolation]:
    """The violations of one section. `whole`: whether it is all of a training run, so that what it lacks is lacking."""
    events = section.events
    yield from _in_regions(events)
    yield from _single(events, trace)
    yield from _empty_clips(events)
    if not section.dropped:
        yield from _idle_clips(events)
    yield from _in_forwards(events)
    yield from _penalties(events)
    yield from _scaled_reads(events)
    yield from _schedules(events)
    yield from _new_scalers(events)
    yield from _precision(section, trace, whole=whole)
    yield from _lost_regions(section, trace)
    yield from violations_of_weights(section)
    yield from violations_of_sharding(section)
    if whole and not section.dropped:
        yield from _missing(events)


def _in_regions(events: list[Event]) -> Iterator[ObservedViolation]:
    """AMP101, AMP102, AMP104: backward or step while autocast is on, several steps in one region."""
    region: Event | None = None
    steps: dict[int, Event] = {}
    backward: Event | None = None
    for event in events:
        if event.kind == "autocast":
            region, steps, backward = event, {}, None
        elif event.kind == "autocast.exit":
            region = None
        elif region is not None and event.autocast:
            framework = _is_called_within(region, event)
            if event.kind == "backward":
                if not framework:
                    yield ObservedViolation(Violation.BACKWARD_IN_AUTOCAST, event, event, (region, event))
                backward = event
            elif event.kind in STEPS:
                if not framework:
                    yield ObservedViolation(Violation.STEP_IN_AUTOCAST, event, event, (region, event))
                for number in event.optimizers():
                    earlier = steps.get(number)
                    if earlier and backward and backward.number > earlier.number and region.fields.get("cache"):
                        yield ObservedViolation(
                            Violation.AUTOCAST_STALE_WEIGHTS, region, event, (region, earlier, backward, event)
                        )
                    if event.fields.get("stepped") is not False:
                        steps[number] = event


def _is_called_within(region: Event, event: Event) -> bool:
    """Whether a framework entered the region and then called the code of the event, which cannot leave it."""
    if not region.fields.get("by_framework"):
        return False
    outer, inner = region.frames, event.frames
    return not outer or any(inner[depth:] == outer[: len(inner) - depth] for depth in range(1, len(inner)))


def _single(events: list[Event], trace: Trace) -> Iterator[ObservedViolation]:
    """AMP206, AMP215, AMP217, AMP306, AMP401: one call with the wrong argument, or that a framework refuses."""
    is_live = any(fact.get("enabled") for fact in trace.scalers.values())
    for event in events:
        if event.kind == "scaler.step":
            if event.fields.get("closure"):
                yield ObservedViolation(Violation.CLOSURE_WITH_SCALER, event, event, (event,))
            if event.fields.get("target") in ("method", "function", "builtin_function_or_method"):
                yield ObservedViolation(Violation.STEP_WRONG_OBJECT, event, event, (event,))
            if event.fields.get("half"):
                yield ObservedViolation(Violation.HALF_PARAMETERS_WITH_SCALER, event, event, (event,))
        elif event.kind == "unscale" and event.raised == "ValueError":
            yield ObservedViolation(Violation.HALF_PARAMETERS_WITH_SCALER, event, event, (event,))
        elif event.kind == "backward" and event.fields.get("refused") and is_live:
            form = Form.REFUSED_BACKWARD
            yield ObservedViolation(Violation.UNSCALED_BACKWARD, event, event, (event,), form=form)
        elif event.kind == "unscale" and event.raised == "NotImplementedError":
            form = Form.BFLOAT16_GRADIENTS
            yield ObservedViolation(Violation.HALF_PARAMETERS_WITH_SCALER, event, event, (event,), form=form)
        elif event.kind == "scaler" and not trace.scalers.get(event.scaler or 0, {}).get("device_is_name", True):
            yield ObservedViolation(Violation.SCALER_MISCONSTRUCTED, event, event, (event,))


def _empty_clips(events: list[Event]) -> Iterator[ObservedViolation]:
    """AMP219: a clip of nothing, at a line that clips more than once."""
    seen: dict[object, Event] = {}
    for event in events:
        if event.kind == "clip":
            if event.fields.get("tensors") == 0 and event.frames in seen:
                yield ObservedViolation(
                    Violation.CLIP_OVER_EXHAUSTED_ITERATOR, event, event, (seen[event.frames], event)
                )
            seen[event.frames] = event


def _idle_clips(events: list[Event]) -> Iterator[ObservedViolation]:
    """AMP211: a clip at a line that always comes when a step has used the gradients and they were zeroed since."""
    made: dict[int, Event] = {}
    zeroed: dict[int, Event] = {}
    stepped: set[int] = set()
    idle: dict[object, list[ObservedViolation]] = {}
    busy: set[object] = set()
    for event in events:
        numbers = event.optimizers()
        if event.kind == "zero_grad":
            zeroed.update(dict.fromkeys(numbers, event))
        elif event.kind in ("backward", "touched", "written", "grad"):
            made.update(dict.fromkeys(numbers, event))
            zeroed = {} if event.kind == "grad" else {k: v for k, v in zeroed.items() if k not in numbers}
        elif event.kind in STEPS:
            stepped.update(numbers)
        elif event.kind == "clip" and event.frames and not event.fields.get("endless"):
            if numbers and all(number in zeroed and number in stepped for number in numbers):
                path = (*(made[number] for number in numbers if number in made), zeroed[numbers[0]], event)
                hit = ObservedViolation(Violation.CLIP_AFTER_STEP, event, event, path[-3:])
                idle.setdefault(event.frames[0], []).append(hit)
            else:
                busy.add(event.frames[0])
    for place, hits in idle.items():
        if place not in busy and len(hits) >= REPEATED:
            yield from hits


def _in_forwards(events: list[Event]) -> Iterator[ObservedViolation]:
    """AMP105, AMP107, AMP110, AMP403, AMP404: what a region did not reach, and what half precision cannot hold."""
    regions: list[Event] = []  # of the present window
    losses: list[ObservedViolation] = []
    by_hand: dict[int, ObservedViolation] = {}
    is_half = False
    handed: dict[int, tuple[Event, ...]] = {}
    elsewhere: list[ObservedViolation] = []
    for event in events:
        if event.kind == "autocast":
            regions.append(event)
            yield from map(_evaluated, losses)
            losses = []
        elif event.kind == "overflow":
            yield ObservedViolation(Violation.MASK_OVERFLOW, event, event, (*regions[-1:], event))
        elif event.kind == "loss" and event.fields.get("refused"):
            yield ObservedViolation(Violation.UNSAFE_LOSS, event, event, (*regions[-1:], event))
        elif event.kind == "loss" and regions and regions[-1].fields.get("dtype") == "float16":
            hit = ObservedViolation(Violation.LOSS_OUTSIDE_AUTOCAST, event, event, (regions[-1], event))
            if event.fields.get("by_hand") and event.fields.get("evaluated"):
                yield _evaluated(hit)
            elif event.fields.get("by_hand"):
                by_hand[event.number] = hit
            else:
                losses.append(_evaluated(hit) if event.fields.get("evaluated") else hit)
        elif event.kind == "scale":
            is_half = event.fields.get("dtype") == "float16"
        elif event.kind == "handed":
            handed[event.number] = (*regions[-1:], event)
        elif event.kind == "forward" and (given := handed.pop(int(event.fields["handed"]), None)):
            yield ObservedViolation(Violation.AUTOCAST_LOST_IN_THREADS, given[-1], given[-1], (*given, event))
        elif event.kind == "backward":
            yield from losses
            used = [by_hand[number] for number in event.fields.get("uses", ()) if number in by_hand]
            if used and not losses:  # all of one loss are one finding
                yield replace(used[0], certain=is_half or bool(event.fields.get("half")))
            by_hand, is_half = {}, False
            devices = set(event.fields.get("devices", ()))
            if regions and devices and not any(region.fields.get("device") in devices for region in regions):
                elsewhere.append(
                    ObservedViolation(Violation.AUTOCAST_DEVICE_MISMATCH, regions[-1], event, (regions[-1], event))
                )
            losses = []
        elif event.kind in STEPS:
            yield from map(_evaluated, losses)
            regions, losses = [], []
    yield from map(_evaluated, losses)
    if len(elsewhere) >= REPEATED:
        yield from elsewhere


def _evaluated(hit: ObservedViolation) -> ObservedViolation:
    """A loss that no backward followed: what is compared by it is rounded, and nothing is trained."""
    return replace(hit, certain=False)


def _penalties(events: list[Event]) -> Iterator[ObservedViolation]:
    """AMP205: a scaled loss that is made of gradients which came unscaled out of a backward in float16."""
    grads = {event.number: event for event in events if event.kind == "grad" and event.fields.get("half")}
    for event in events:
        if event.kind == "backward" and event.fields.get("root") == "scaled":
            for number in event.fields.get("uses", ()):
                grad = grads.get(number)
                if grad is not None and grad.fields.get("root") == "plain":
                    certain = not grad.fields.get("factor")
                    yield ObservedViolation(Violation.GRADIENT_PENALTY_UNSCALED, grad, event, (grad, event), certain)


def _scaled_reads(events: list[Event]) -> Iterator[ObservedViolation]:
    """AMP204: a scaled loss that is read as a number, where nothing on the way there or back reckons with the scale."""
    asked = [event for event in events if event.kind == "get_scale"]
    last: Event | None = None
    reads: dict[object, list[ObservedViolation]] = {}
    for event in events:
        if event.kind == "scale":
            last = event
        elif event.kind == "scaled.read" and event.frames and not any(_may_divide(each, event) for each in asked):
            path = (event,) if last is None else (last, event)
            hit = ObservedViolation(Violation.SCALED_GRADIENT_READ, event, event, path, certain=not asked)
            reads.setdefault(event.frames[0], []).append(hit)
    for hits in reads.values():
        yield from hits if len(hits) >= REPEATED else (replace(hit, certain=False) for hit in hits)


def _may_divide(asked: Event, read: Event) -> bool:
    """Whether the function that asked for the scale is the one that read, or called it, or was called by it."""
    functions = [{(frame.path, frame.symbol) for frame in event.frames} for event in (asked, read)]
    inner = [(event.frames[0].path, event.frames[0].symbol) for event in (asked, read) if event.frames]
    return len(inner) < 2 or inner[0] in functions[1] or inner[1] in functions[0]


def _schedules(events: list[Event]) -> Iterator[ObservedViolation]:
    """AMP213: a schedule of every step that advances for one that the scaler skipped, behind it or before it."""
    steps: dict[int, Event] = {}
    scheduled: dict[int, int] = {}
    windows: dict[int, int] = {}
    skipped: dict[int, list[ObservedViolation]] = {}
    before: dict[int, Event] = {}
    trained = False
    for event in events:
        trained = trained or event.kind == "backward"
        for number in event.optimizers():
            if event.kind in STEPS:
                if (first := before.pop(number, None)) is not None and event.skipped:
                    yield ObservedViolation(Violation.SCHEDULER_IGNORES_SKIP, first, event, (first, event))
                steps[number] = event
                windows[number] = windows.get(number, 0) + 1
            elif event.kind == "scheduler.step":
                step = steps.get(number)
                if step is None:
                    if trained:
                        before.setdefault(number, event)
                    continue
                scheduled[number] = scheduled.get(number, 0) + 1
                by_framework = bool(event.frames) and event.frames == step.frames  # one call of the project's made both
                if step.skipped and not step.raised and not by_framework:
                    skipped.setdefault(number, []).append(
                        ObservedViolation(Violation.SCHEDULER_IGNORES_SKIP, event, event, (step, event))
                    )
    for number, hits in skipped.items():
        if scheduled[number] >= REPEATED and 2 * scheduled[number] >= windows[number]:
            yield from hits


def _new_scalers(events: list[Event]) -> Iterator[ObservedViolation]:
    """AMP301: an optimizer that was stepped by one scaler after the other, made by the same statement."""
    made = {event.scaler: event for event in events if event.kind == "scaler"}
    resumed = {event.scaler for event in events if event.kind == "scaler.load_state_dict"}
    stepped: dict[int, int] = {}
    for event in events:
        scaler = event.scaler
        if event.kind != "scaler.step" or scaler is None:
            continue
        for number in event.optimizers():
            earlier = stepped.get(number)
            stepped[number] = scaler
            one, other = made.get(earlier), made.get(scaler)
            if earlier in (None, scaler) or one is None or other is None or scaler in resumed:
                continue
            if one.frames and other.frames and one.frames[0] == other.frames[0]:
                yield ObservedViolation(Violation.SCALER_RECREATED, other, event, (one, other, event))


def _precision(section: Section, trace: Trace, *, whole: bool) -> Iterator[ObservedViolation]:
    """AMP303 to AMP306: what the region computed in, and whether a scaler was there for it."""
    region: Event | None = None
    forward: Event | None = None
    plain: list[tuple[Event, Event]] = []
    scaled: list[Event] = []
    no_region: list[Event] = []
    made = {event.scaler: event for event in section.events if event.kind == "scaler"}
    backwards = 0
    for event in section.events:
        backwards += event.kind == "backward"
        if event.kind == "autocast":
            region = forward = event
        elif event.kind == "scale" and forward is not None and forward.fields.get("dtype") == "bfloat16":
            if whole or event.scaler in made:  # a test may bring a scaler of its own
                yield ObservedViolation(
                    Violation.BF16_WITH_SCALER, event, made.get(event.scaler, event), (forward, event)
                )
        elif event.kind == "backward" and event.fields.get("root") == "plain" and forward is not None:
            if forward.fields.get("dtype") == "float16":
                plain.append((forward, event))
        elif event.kind == "scaler.step":
            scaled.append(event)
            forward = None
            if region is None:
                no_region.append(event)
        elif event.kind == "optimizer.step":
            forward = None
    # A region that only evaluates stands before few of the backwards.
    if (
        not scaled
        and len(plain) >= REPEATED
        and 2 * len(plain) > backwards
        and any(event.kind == "optimizer.step" for event in section.events)
    ):
        yield from _unscaled(section, trace, plain)
    elif whole and not scaled and not plain:
        yield from _unscaled_without_region(section, trace)
    compiled = trace.totals.get("compiled", True)
    if whole and len(no_region) == len(scaled) >= REPEATED and not compiled and not _computes_in_half(section, trace):
        first = made.get(no_region[0].scaler, no_region[0])
        certain = bool(trace.sample.get("steps")) and not trace.sample.get("casts")
        yield ObservedViolation(Violation.ENABLED_MISMATCH, first, no_region[0], (first, no_region[0]), certain)


def _lost_regions(section: Section, trace: Trace) -> Iterator[ObservedViolation]:
    """AMP303: regions were entered, and then no more, while the scaler went on."""
    region: Event | None = None
    entered = False  # since the last update
    lost: list[Event] = []
    steps = 0
    for event in section.events:
        if event.kind == "autocast":
            region, entered = event, True
        elif event.kind == "update":
            entered = False
        elif event.kind == "scaler.step":
            steps += 1
            if region is not None and not entered and not event.autocast:
                lost.append(event)
    if region is None or len(lost) < REPEATED or 2 * len(lost) <= steps:
        return
    # A forward may run ahead of the step before it; where no sampled work was in half precision, there was none.
    sampled = trace.sample.get("steps") and not trace.totals.get("compiled", True)
    if sampled and not _computes_in_half(section, trace):
        path = (region, lost[0])
        yield ObservedViolation(Violation.ENABLED_MISMATCH, lost[0], lost[0], path, form=Form.LOST_REGION)


def _computes_in_half(section: Section, trace: Trace) -> bool:
    """Whether work in half precision was seen, whatever made it: a region, a cast of the model's own, its weights."""
    stepped = {number for event in section.events for number in event.optimizers()}
    weights = {name for number in stepped for name in trace.optimizers.get(number, {}).get("dtypes", ())}
    return not weights.union(trace.sample.get("operations", ())).isdisjoint(LOW)


def _unscaled(section: Section, trace: Trace, plain: list[tuple[Event, Event]]) -> Iterator[ObservedViolation]:
    """Training in float16 that no scaler had a part in: none was made, or it is off."""
    made = [event for event in section.events if event.kind == "scaler"]
    off = [event for event in made if not trace.scalers.get(event.scaler or 0, {}).get("enabled")]
    touched = any(event.kind in ("touched", "scale") for event in section.events)
    if touched or len(off) < len(made):
        return  # scaled by hand, or by a scaler that does things its own way
    region, backward = plain[0]
    if not off:
        yield ObservedViolation(Violation.FP16_WITHOUT_SCALER, region, backward, (region, backward))
    elif trace.scalers.get(off[0].scaler or 0, {}).get("asked"):
        yield ObservedViolation(Violation.SCALER_MISCONSTRUCTED, off[0], backward, (off[0], region, backward))
    else:
        yield ObservedViolation(Violation.ENABLED_MISMATCH, off[0], backward, (off[0], region, backward))


def _unscaled_without_region(section: Section, trace: Trace) -> Iterator[ObservedViolation]:
    """AMP305: float32 weights trained through float16 that no region made: a sharding policy, or the model's casts."""
    backwards = [event for event in section.events if event.kind == "backward" and event.optimizers()]
    steps = any(event.kind == "optimizer.step" for event in section.events)
    in_half = "float16" in trace.sample.get("of_backward", ())
    master = any("float32" in fact.get("dtypes", ()) for fact in trace.optimizers.values())
    by_hand = any(event.kind in ("touched", "scale") for event in section.events)
    live = any(fact.get("enabled") for fact in trace.scalers.values())
    plain = all(event.fields.get("root") == "plain" for event in backwards)
    if steps and in_half and master and plain and not by_hand and not live and len(backwards) >= REPEATED:
        first = backwards[0]
        yield ObservedViolation(Violation.FP16_WITHOUT_SCALER, first, first, (first,), certain=False)


def _missing(events: list[Event]) -> Iterator[ObservedViolation]:
    """AMP209, AMP302: what a whole run never did."""
    steps = [event for event in events if event.kind == "scaler.step" and not event.raised]
    updated = {event.scaler for event in events if event.kind == "update"}
    if lonely := [event for event in steps if event.scaler not in updated]:
        yield ObservedViolation(Violation.MISSING_UPDATE, lonely[0], lonely[-1], (lonely[0],))
    saves = [event for event in events if event.kind == "save" and "optimizer" in event.fields.get("holds", ())]
    kept = any(event.kind == "save" and "scaler" in event.fields.get("holds", ()) for event in events)
    if steps and saves and not kept and not any(event.kind == "scaler.state_dict" for event in events):
        yield ObservedViolation(Violation.SCALER_NOT_CHECKPOINTED, saves[0], saves[0], (saves[0],))
