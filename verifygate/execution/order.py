"""Walk the events of a run through the protocol's table, one set of parameters at a time.

The table and the exceptions to it stand in `protocol.py`. What is added here is what only a run has to decide: which
gradients an event is about, what a write by hand left of them, and whether the gradients of a violation were ever used.
A backward that leaves scaled gradients in a discriminator, say, accuses nobody when they are zeroed before any step.
Gradients belong to the parameters; what the scaler remembers belongs to the optimizer object that it was given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from verifygate.events.record import Kind
from verifygate.execution.observed_violation import Form, ObservedViolation
from verifygate.execution.parameter_sets import ParameterSet, named
from verifygate.execution.recorded_trace import Event, Section, Trace
from verifygate.execution.rewrites import Rewrite, Rewrites
from verifygate.protocol import Event as ProtocolEvent
from verifygate.protocol import Gradients, OptimizerState, ScalerState, Violation, advance

PATH_EVENTS = 10
NEARLY = 1e-3
"""By what a factor may differ from 1 that changes nothing."""
LEAST_LIMIT = 0.01
"""A limit below this part of the loss scale is not multiplied by it: few clip to so small a norm."""
LARGE = 16.0
"""A loss scale from which on a division by it is told from any other: a factor below its square root is none."""


_USES = (ProtocolEvent.SCALER_STEP, ProtocolEvent.OPTIMIZER_STEP, ProtocolEvent.CHECKED_STEP)
_SCALED = (Gradients.SCALED, Gradients.STALE)
_KNOWN = frozenset(Gradients) - {Gradients.UNKNOWN, Gradients.UNKNOWN_CLIPPED}


class OrderJudge:
    """Judges sections one after the other; each begins with nothing known but what its events tell."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.visits: Counter[tuple[str, int, str]] = Counter()
        """Absolute path, line and event of what happened under a live scaler in a known state."""
        self._lines: dict[int, ParameterSet] = {}
        self._hits: list[ObservedViolation] = []
        self._scale_read: dict[int, bool] = {}
        self._scales: dict[int, float] = {}
        self._rewrites = Rewrites()
        self._scaled_last = 0
        """The number of the last event by which something may have been scaled, or divided, by hand."""

    def judge(self, section: Section) -> list[ObservedViolation]:
        """The violations of one section, in the order in which they showed."""
        self._lines, self._hits, self._scale_read, self._rewrites = {}, [], {}, Rewrites()
        self._scaled_last = 0
        for event, gap in section.gaps():
            if gap:
                self._lines = {}
            self._take(event)
        for line in self._lines.values():
            # To throw one bad batch away is no fault; to do so in most windows is to lose what was accumulated.
            if len(line.wiped_again) >= 2 and 2 * len(line.wiped_again) >= line.windows:
                self._hits.append(line.wiped_again[0])
        for one, certain in self._rewrites.clips():
            violation = Violation.CLIP_BEFORE_UNSCALE
            self._hits += [
                self._hit(line, violation, one.written, one.used, one.path, certain=certain, before=one.before)
                for line in self._of(one.written)
            ]
        for one, certain in self._rewrites.sums():
            violation, form = Violation.SCALED_GRADIENT_READ, Form.UNSCALED_SUM
            self._hits += [
                replace(self._hit(line, violation, one.written, one.used, one.path, certain=certain), form=form)
                for line in self._of(one.written)
            ]
        return sorted(self._hits, key=lambda hit: hit.shown.number)

    # -- what each event means -----------------------------------------------------------------------------------

    def _take(self, event: Event) -> None:
        match event.typed.kind:
            case Kind.OPTIMIZER:
                (number,) = event.optimizers()
                gradients = Gradients.NONE if event.typed.empty else Gradients.UNKNOWN
                self._lines[number] = ParameterSet(number, OptimizerState(gradients))
            case Kind.BACKWARD:
                self._backward(event)
            case Kind.WRITTEN:
                self._written(event)
            case Kind.TOUCHED:
                self._touched(event)
            case Kind.BOUNDED:
                for line in self._of(event):
                    if line.state.gradients in _SCALED:
                        line.bounded = event
                        line.path.append(event)
            case Kind.ZERO_GRAD:
                self._zero(event)
            case Kind.CLIP:
                self._clip(event)
            case Kind.UNSCALE:
                self._unscale(event)
            case Kind.SCALER_STEP:
                self._scaler_step(event)
            case Kind.STEP:
                self._optimizer_step(event)
            case Kind.UPDATE:
                self._update(event)
            case Kind.SCALE | Kind.GRAD:
                self._scaled_last = event.number
            case Kind.GET_SCALE:
                self._scale_read[event.scaler or 0] = True
                self._scaled_last = event.number

    def _written(self, event: Event) -> None:
        for line in self._of(event):
            if line.state.gradients in _SCALED:
                line.rewritten.append(event)
                if event.typed.measured.hid:
                    line.hidden = line.hidden or event
            if event.typed.measured.replaced:
                line.replaced = event

    def _touched(self, event: Event) -> None:
        """A write that shows only in the gradients: what it left of them is told from what it did to their size."""
        for line in self._of(event):
            replaced, line.replaced = line.replaced, None
            line.wiped = line.wiped_now = None  # kept, and put back together
            line.divided = None
            if self._keeps_scale(line, event):
                continue
            line.pending.clear()
            line.bounded = None
            step = max((line.last[move].number for move in _USES if move in line.last), default=0)
            copied = replaced is not None and event.typed.measured.factor is not None  # and they are not all zeros
            if (copied or event.typed.measured.replaced) and step > self._scaled_last:
                # what replaces spent gradients comes from elsewhere; else it may be made of them
                is_new = line.state.gradients in (Gradients.SPENT, Gradients.WRITTEN)
                self._feed(line, ProtocolEvent.WRITE if is_new else ProtocolEvent.ASSIGN, replaced or event)
            else:
                line.state = OptimizerState(Gradients.UNKNOWN, line.state.scaler)

    def _keeps_scale(self, line: ParameterSet, event: Event) -> bool:
        """Whether scaled gradients are still scaled after a write: it changed them by far less than by the scale."""
        factor, scale = event.typed.measured.factor, self._scale(line.scaler)
        if line.state.gradients not in _SCALED or factor is None or scale is None:
            return False
        if self._scale_read.get(line.scaler or 0) and abs(factor - 1) > NEARLY:
            return False
        return scale >= LARGE and factor * factor * scale >= 1

    def _scale(self, scaler: int | None) -> float | None:
        """The loss scale, as far as it was read."""
        if scaler is None:
            return None
        first = self._trace.scalers.get(scaler, {}).get("init_scale")
        return self._scales.get(scaler, first if isinstance(first, int | float) else None)

    def _backward(self, event: Event) -> None:
        for line in self._of(event):
            line.backwards += 1
            if event.raised or event.typed.measured.unclear:
                line.state = OptimizerState(Gradients.UNKNOWN, line.state.scaler)
                continue
            scaled = event.typed.scaled is True
            if scaled:
                line.scaler = event.scaler
            self._note_wiped(line, event)
            self._feed(line, ProtocolEvent.SCALED_BACKWARD if scaled else ProtocolEvent.PLAIN_BACKWARD, event)

    def _note_wiped(self, line: ParameterSet, event: Event) -> None:
        """Whether this statement made gradients in the present window already, which were zeroed since."""
        if line.state.gradients is Gradients.CLEARED and line.wiped is not None and line.wiped.frames == event.frames:
            zero = line.last.get(ProtocolEvent.ZERO_GRAD)
            if line.wiped_now is None and zero is not None and zero.frames and line.scaler is not None:
                line.wiped_now = self._hit(line, Violation.ZERO_GRAD_MISPLACED, zero, event)

    def _zero(self, event: Event) -> None:
        zeroed = set(event.optimizers())
        for line in self._lines.values():
            if line.divided is not None and not zeroed.isdisjoint(line.divided.optimizers()):
                line.divided = None
        for line in self._of(event):
            backward = line.last.get(ProtocolEvent.SCALED_BACKWARD)
            self._feed(line, ProtocolEvent.ZERO_GRAD, event)
            line.pending.clear()
            line.bounded = line.hidden = line.divided = None
            line.rewritten.clear()
            if line.state.gradients is Gradients.CLEARED:
                line.wiped = backward
            else:
                line.path = [event]

    def _clip(self, event: Event) -> None:
        if event.typed.measured.endless:
            return  # it measures, and changes nothing
        lines = [line for line in self._of(event) if line.state.gradients in _KNOWN]
        lines = [line for line in lines if not self._is_of_the_divided(line, event)]
        spent = bool(lines) and all(line.state.gradients is Gradients.SPENT for line in lines)
        for line in lines:
            if (self._limit_over_scale(line, event) or 0.0) >= LEAST_LIMIT:
                continue  # the limit is multiplied by the scale as well
            if line.state.gradients is not Gradients.SPENT or spent:
                self._feed(line, ProtocolEvent.CLIP, event)

    def _is_of_the_divided(self, line: ParameterSet, clip: Event) -> bool:
        """Whether the clip is of no other gradients of this line than those that another optimizer unscaled."""
        if line.divided is None:
            return False
        (number,) = line.divided.optimizers()
        return (clip.typed.measured.tensors or 0) <= int(self._trace.optimizers.get(number, {}).get("tensors", 0))

    def _unscale(self, event: Event) -> None:
        for number in event.typed.measured.shared:
            if not event.raised:
                self._lines.setdefault(number, ParameterSet(number)).divided = event
        for line in self._of(event):
            self._note_divided(line, event)
            if event.typed.measured.inner:
                continue
            self._note_other_scaler(line, event)
            line.scaler = event.scaler
            self._note_by_hand(line, event)
            self._feed(line, ProtocolEvent.UNSCALE, event)

    def _scaler_step(self, event: Event) -> None:
        for line in self._of(event):
            self._turn_to(line, event)
            self._note_other_scaler(line, event)
            line.scaler = event.scaler
            self._note_by_hand(line, event)
            self._feed(line, ProtocolEvent.SCALER_STEP, event)
            self._after_step(line, event)

    def _note_other_scaler(self, line: ParameterSet, event: Event) -> None:
        """One scaler scaled the gradients that another one divides: by a scale of its own, or none yet."""
        if line.state.gradients in _SCALED and line.scaler not in (None, event.scaler):
            before = line.last.get(ProtocolEvent.SCALED_BACKWARD)
            hit = self._hit(line, Violation.STEP_WRONG_OBJECT, event, event, before=before)
            self._hits.append(replace(hit, form=Form.OTHER_SCALER))

    def _turn_to(self, line: ParameterSet, event: Event) -> None:
        """The scaler's part of the state becomes that of the optimizer which this event is about."""
        number = event.typed.object
        if number is None or number == line.object:
            return
        if line.object is not None:
            line.others[line.object] = line.state.scaler
            line.state = OptimizerState(line.state.gradients, line.others.pop(number, ScalerState.READY))
        line.object = number

    def _note_divided(self, line: ParameterSet, event: Event) -> None:
        """Gradients that were unscaled as those of another optimizer, over all or some of the same parameters."""
        self._turn_to(line, event)
        gradients, divided = line.state.gradients, line.divided
        line.divided = None
        if divided is None:
            unscaled = gradients is Gradients.UNSCALED and ScalerState.UNSCALED in line.others.values()
            stepped = gradients is Gradients.SPENT and ScalerState.STEPPED in line.others.values()
            divided = line.last.get(ProtocolEvent.UNSCALE if unscaled else ProtocolEvent.SCALER_STEP)
            if not (unscaled or stepped):
                return
        if divided is not None and gradients in (*_SCALED, Gradients.UNSCALED, Gradients.SPENT):
            path = (*line.path_to(divided), event)
            self._hits.append(self._hit(line, Violation.UNSCALE_TWICE, event, event, path, before=divided))
            line.state = OptimizerState(Gradients.UNSCALED, ScalerState.UNSCALED)

    def _note_by_hand(self, line: ParameterSet, event: Event) -> None:
        """What was written by hand to scaled gradients counts once the scaler divides them."""
        self._note_bounded(line, event)
        read = self._scale_read.get(line.scaler or 0)
        before, path = line.last.get(ProtocolEvent.SCALED_BACKWARD), line.path_to(event)
        for written in line.rewritten:
            self._rewrites.add(Rewrite(written, event, (written, *path), before, self._scale(line.scaler), bool(read)))
        line.rewritten.clear()
        if line.hidden is not None and event.typed.measured.found_inf == 0:
            line.checked = event

    def _note_hidden(self, line: ParameterSet, update: Event) -> None:
        """An inf that was taken out of the gradients before the scaler looked, so that it never backs off."""
        hidden, checked = line.hidden, line.checked
        line.hidden = line.checked = None
        if hidden is not None and checked is not None and not update.typed.measured.given:
            path, before = (*line.path_to(checked), update), line.last.get(ProtocolEvent.SCALED_BACKWARD)
            certain, violation = not self._scale_read.get(line.scaler or 0), Violation.CLIP_BEFORE_UNSCALE
            hit = self._hit(line, violation, hidden, checked, path, certain=certain, before=before)
            self._hits.append(replace(hit, form=Form.HIDDEN_OVERFLOW))

    def _note_bounded(self, line: ParameterSet, event: Event) -> None:
        """A clip before unscale_, once the scaler divides what was bounded by hand: till then, the program may have."""
        bounded, line.bounded = line.bounded, None
        if bounded is not None and not any(hit.violation is Violation.CLIP_BEFORE_UNSCALE for hit in line.pending):
            # Bounds that are multiplied by the scale, too, take the inf out; but they are thought of.
            certain = not self._scale_read.get(line.scaler or 0)
            before = line.last.get(ProtocolEvent.SCALED_BACKWARD)
            self._hits.append(
                self._hit(line, Violation.CLIP_BEFORE_UNSCALE, bounded, event, certain=certain, before=before)
            )

    def _optimizer_step(self, event: Event) -> None:
        for line in self._of(event):
            move = ProtocolEvent.OPTIMIZER_STEP
            state = line.state.gradients
            if state is Gradients.UNSCALED and not (self._is_inf(line) or event.typed.measured.unread):
                # a hand-written check may stand before it, and what it let through is finite
                move = ProtocolEvent.CHECKED_STEP
            if state in _SCALED and self._scale_read.get(line.scaler or 0):
                line.state = OptimizerState(Gradients.UNKNOWN, line.state.scaler)  # perhaps divided by hand
            self._feed(line, move, event)
            self._after_step(line, event)

    def _update(self, event: Event) -> None:
        if (scale := event.typed.measured.scale) is not None:
            self._scales[event.scaler or 0] = scale
        lines = [line for line in self._lines.values() if line.scaler == event.scaler]
        if event.raised == "AssertionError":
            path = lines[0].path_to(event) if lines else (event,)
            self._hits.append(ObservedViolation(Violation.MISPLACED_UPDATE, event, event, path))
        for line in lines:
            self._note_hidden(line, event)
            self._feed(line, ProtocolEvent.UPDATE, event)
            line.others = dict.fromkeys(line.others, ScalerState.READY)
        self._scale_read[event.scaler or 0] = False

    def _after_step(self, line: ParameterSet, event: Event) -> None:
        line.windows += 1
        line.closed_after, line.backwards = line.backwards, 0
        if line.wiped_now is not None:
            line.wiped_again.append(line.wiped_now)
        line.wiped = line.wiped_now = None
        if event.typed.empty:
            self._feed(line, ProtocolEvent.ZERO_GRAD, event)

    @staticmethod
    def _is_inf(line: ParameterSet) -> bool:
        found = line.last.get(ProtocolEvent.UNSCALE)
        return found is not None and bool(found.typed.measured.found_inf)

    # -- the table -----------------------------------------------------------------------------------------------

    def _of(self, event: Event) -> Iterable[ParameterSet]:
        return [self._lines.setdefault(number, ParameterSet(number)) for number in event.optimizers()]

    def _feed(self, line: ParameterSet, move: ProtocolEvent, event: Event) -> None:
        """Advance one optimizer, and book the violation."""
        before = line.state
        if before.gradients in _KNOWN and line.scaler is not None and event.frames:
            self.visits[(event.frames[0].path, event.frames[0].line, move.value)] += 1
        line.state, fault = advance(before, move)
        uses_amp = line.scaler is not None or move is not ProtocolEvent.PLAIN_BACKWARD
        if fault is not None and uses_amp:
            blamed = event if fault.event is move else line.last.get(fault.event, event)
            hit = self._hit(
                line,
                _under_guard(fault.violation, line, event),
                blamed,
                event,
                certain=self._certain(line, before) and self._limit_over_scale(line, event) is not None,
                before=line.path[-1] if line.path else None,
            )
            if fault.violation.traits.about_zero_grad and before.gradients is Gradients.CLEARED and move not in _USES:
                pass  # `_note_wiped` tells what was accumulated from what another loss left behind
            elif fault.violation.traits.counts_when_used and move not in _USES and move is not ProtocolEvent.UNSCALE:
                line.pending.append(hit)
            else:
                self._hits.append(hit)
        if move in _USES or event.raised:
            self._hits += [hit for hit in line.pending if hit not in self._hits]
            line.pending.clear()
        line.last[move] = event
        line.path.append(event)
        del line.path[:-PATH_EVENTS]

    def _limit_over_scale(self, line: ParameterSet, clip: Event) -> float | None:
        """What part of the loss scale the limit of a clip is, if the program read the scale in this window; else 0.

        None where it read the scale, and the limit is not known.
        """
        if clip.typed.kind is not Kind.CLIP or not self._scale_read.get(line.scaler or 0):
            return 0.0
        limit, scale = clip.typed.measured.limit, self._scale(line.scaler)
        return limit / scale if limit is not None and scale else None

    def _certain(self, line: ParameterSet, before: OptimizerState) -> bool:
        """A write through `.data` is seen only where values are read; without, gradients may not be what they seem."""
        if before.gradients not in (Gradients.SPENT, Gradients.SCALED, Gradients.STALE):
            return before.gradients is not Gradients.WRITTEN  # what was written may have been scaled when it was kept
        return bool(self._trace.optimizers.get(line.number, {}).get("read", True))

    def _hit(
        self,
        line: ParameterSet,
        violation: Violation,
        blamed: Event,
        shown: Event,
        path: tuple[Event, ...] = (),
        *,
        certain: bool = True,
        before: Event | None = None,
    ) -> ObservedViolation:
        whose = named(line.number, self._trace.optimizers.get(line.number, {}))
        return ObservedViolation(violation, blamed, shown, path or line.path_to(shown), certain, before, whose=whose)


def _under_guard(violation: Violation, line: ParameterSet, event: Event) -> Violation:
    """The violation in the table, or the guard that left a step out while the gradients were unscaled."""
    unscaled, zeroed = line.last.get(ProtocolEvent.UNSCALE), line.last.get(ProtocolEvent.ZERO_GRAD)
    skipped = unscaled is not None and zeroed is not None and zeroed.number > unscaled.number
    earlier = line.last.get(ProtocolEvent.SCALED_BACKWARD)
    if violation is Violation.UNSCALE_MID_ACCUMULATION and earlier is not None and line.closed_after == 1:
        skipped |= earlier.frames == event.frames  # the next iteration, and no micro-batches: a window has one backward
    return violation.under_guard if skipped and violation.traits.depends_on_unscale else violation
