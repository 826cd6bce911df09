"""From violations that a run showed to findings: whose code is at fault, and what a person reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from verifygate.base.counts import counted
from verifygate.events.record import Frame
from verifygate.execution.observed_violation import ObservedViolation
from verifygate.execution.recorded_trace import Event
from verifygate.execution.run_rules import FORMS, RULES
from verifygate.model import Certainty, Detail, Finding, PathStep, Witness
from verifygate.model.fingerprint import Fingerprints
from verifygate.protocol import Violation
from verifygate.sources.tree import Sources
from verifygate.torch_names import FINITE_WORDS

SHOWN_EVENTS = 8
SEEN_IN = "seen in"
"""Label of the detail that lists the tests."""
SHOWN_SECTIONS = 5
ASKED_WITHIN = 4
"""Lines."""
_BEHIND_A_STEP = frozenset({"update", "scheduler.step", "save"})


@dataclass(frozen=True)
class Ownership:
    """Which frames are the code under audit. What a test itself does, in whatever order, is no fault of the project."""

    sources: Sources
    relative: Callable[[str], str | None]
    """Absolute path -> path below the root; None for what lies elsewhere."""
    tests_too: bool = False
    """Whether test files are code like any other: where a script is run, there are no tests."""

    def path(self, frame: Frame) -> str | None:
        """The frame's file where it is audited."""
        path = self.relative(frame.path)
        file = self.sources.get(path) if path is not None else None
        return path if file is not None and (self.tests_too or not file.is_test) else None

    def answers_for(self, hit: ObservedViolation) -> bool:
        """Whether audited code did both things, and audited code put them in this order.

        The deepest function that both were called from is the one that put them in order.
        """
        if not (_is_in(hit.blamed, self) and _is_in(hit.shown, self)):
            return False
        return self.tests_too or all(
            self.puts_in_order(other, hit.shown) for other in (hit.blamed, hit.before) if other is not None
        )

    def puts_in_order(self, one: Event, other: Event) -> bool:
        """Whether audited code decided which of the two comes first."""
        functions = {(frame.path, frame.symbol) for frame in other.frames}
        common = next((frame for frame in one.frames if (frame.path, frame.symbol) in functions), None)
        return common is not None and self.path(common) is not None


def findings(hits: Iterable[tuple[str, ObservedViolation]], ownership: Ownership) -> tuple[Finding, ...]:
    """One finding per rule and line, in order of place; each hit comes with the name of its section."""
    together: dict[tuple[Violation, str, int], list[tuple[str, ObservedViolation]]] = {}
    for section, hit in hits:
        if hit.violation not in RULES or not ownership.answers_for(hit):
            continue
        frame = hit.blamed.frames[0]
        if hit.blamed.kind == "scaled.read" and _only_asks(ownership.path(frame) or "", frame.line, ownership.sources):
            continue
        together.setdefault((hit.violation, ownership.path(frame) or "", frame.line), []).append((section, hit))
    fingerprints = Fingerprints()
    made = []
    for (violation, path, line), same in sorted(together.items()):
        made.append(_finding(violation, path, line, same, ownership, fingerprints))
    return tuple(sorted(made, key=lambda finding: finding.order))


def _is_in(event: Event, ownership: Ownership) -> bool:
    return bool(event.frames) and ownership.path(event.frames[0]) is not None


def _finding(
    violation: Violation,
    path: str,
    line: int,
    same: list[tuple[str, ObservedViolation]],
    ownership: Ownership,
    fingerprints: Fingerprints,
) -> Finding:
    hit = next((hit for _, hit in same if hit.certain), same[0][1])
    rule = RULES[violation] if hit.form is None else FORMS[hit.form]
    snippet = ownership.sources.line(path, line)
    symbol = hit.blamed.frames[0].symbol
    symbol = "" if symbol == "<module>" else symbol
    text = snippet if len(snippet) <= 80 else f"{snippet[:77]}..."
    return Finding(
        rule=violation.value,
        name=violation.rule_name,
        path=path,
        line=line,
        column=_column(path, line, ownership.sources),
        end_line=line,
        severity=rule.severity,
        certainty=Certainty.CERTAIN if hit.certain else Certainty.LIKELY,
        message=rule.message.format(text=text) + (f" (gradients of {hit.whose})" if hit.whose else ""),
        fingerprint=fingerprints.next(violation, path, symbol, "run", snippet),
        remedy=rule.remedy,
        steps=_steps(hit, ownership),
        details=(_seen(same), *_whose(same)),
        snippet=snippet,
        symbol=symbol,
        witnesses=(Witness.RUN,),
        run=_told(hit, len(same)),
    )


def _only_asks(path: str, line: int, sources: Sources) -> bool:
    """Whether what is read there is asked for inf and NaN, in this line or soon after: the scale changes no answer."""
    lines = "".join(sources.line(path, number) for number in range(line, line + ASKED_WITHIN))
    return any(word in lines for word in FINITE_WORDS)


def _column(path: str, line: int, sources: Sources) -> int:
    """Where the line's text begins, counted from 1: a run knows no columns."""
    file = sources.get(path)
    text = file.lines[line - 1] if file is not None and 0 < line <= len(file.lines) else ""
    return len(text) - len(text.lstrip()) + 1


def _step(hit: ObservedViolation) -> int:
    """The step that an event belongs to, counted from 1: a schedule, an update, a checkpoint comes behind its own."""
    event = hit.shown
    return event.step if event.kind in _BEHIND_A_STEP and event.step else event.step + 1


def _told(hit: ObservedViolation, times: int) -> str:
    numbers = sorted({hit.blamed.number, hit.shown.number})
    where = f"event{'s' if len(numbers) > 1 else ''} {' and '.join(map(str, numbers))}"
    return f"seen in a run: {where}, step {_step(hit)}" + (f"; {times} times in all" if times > 1 else "")


def _seen(same: list[tuple[str, ObservedViolation]]) -> Detail:
    """In which tests (or when in the run) it was seen."""
    names = list(dict.fromkeys(name for name, _ in same if name))
    if not names:
        return Detail(label="seen in step", values=tuple(str(_step(hit)) for _, hit in same[:SHOWN_SECTIONS]))
    more = [f"and {len(names) - SHOWN_SECTIONS} more"] if len(names) > SHOWN_SECTIONS else []
    return Detail(label=SEEN_IN, values=(*names[:SHOWN_SECTIONS], *more))


def _whose(same: list[tuple[str, ObservedViolation]]) -> list[Detail]:
    """The optimizers and parameters whose gradients it is about, where they are more than one set."""
    sets = list(dict.fromkeys(hit.whose for _, hit in same if hit.whose))
    return [Detail(label="gradients of", values=tuple(sets[:SHOWN_SECTIONS]))] if len(sets) > 1 else []


def _steps(hit: ObservedViolation, ownership: Ownership) -> tuple[PathStep, ...]:
    steps = []
    for event in hit.path[-SHOWN_EVENTS:]:
        frame = next((frame for frame in event.frames if ownership.relative(frame.path)), None)
        if frame is not None:
            path = ownership.relative(frame.path) or ""
            line = ownership.sources.line(path, frame.line)
            steps.append(PathStep(path=path, line=frame.line, text=f"event {event.number}, {described(event)}: {line}"))
    return tuple(steps)


def described(event: Event) -> str:
    """What happened, with what was read."""
    fields = event.fields
    words = _WORDS.get(event.kind, event.kind)
    match event.kind:
        case "backward":
            root = fields.get("root")
            words = f"{'scaled' if root == 'scaled' else 'plain'} backward"
        case "autocast":
            words = f"enter autocast {fields.get('device')} {fields.get('dtype')}"
        case "loss":
            words = f"{fields.get('function')} in float16" if not fields.get("refused") else str(fields.get("function"))
        case "overflow":
            words = f"{fields.get('function')} with {fields.get('value'):g}"
        case "handed":
            words = f"a {fields.get('what')} for another thread"
        case "forward":
            words = f"forward of {fields.get('type')} without autocast"
        case "optimizer.step" if fields.get("unread"):
            words = "optimizer.step, with no value read since the backward"
        case "clip":
            words = f"clip of {fields.get('tensors')} tensors"
        case "scaler.step" if event.skipped:
            words = "scaler.step, skipped"
        case "updates":
            words = lost_updates(event)
        case "sharded":
            words = f"{counted(fields.get('tensors', 0), 'tensor')} in {fields.get('dtype')} sharded"
            words += f", to compute in {policy}" if (policy := fields.get("policy")) else ""
        case "reduced":
            words = f"gradients added up in {fields.get('dtype')} over {fields.get('ranks')} ranks"
        case "nonfinite":
            gradients = "finite" if fields.get("gradients") else "inf or NaN"
            words = f"weights inf or NaN after step {event.step + 1}, gradients {gradients}"
        case "update" if (scale := fields.get("scale")) is not None:
            words = f"update, scale {scale:g}"
    words += " (by hand)" if fields.get("by_hand") else ""
    return f"{words}, raised {event.raised}" if event.raised else words


def lost_updates(event: Event) -> str:
    """What became of the updates of weights in half, in the sampled steps."""
    fields = event.fields
    words = f"steps of {fields.get('dtype')} weights, {counted(fields['steps'], 'sample')}: "
    if (movable := fields.get("movable")) and (lost := fields.get("lost")) is not None:
        return f"{words}{lost / movable:.0%} of the updates were lost that float32 would have kept"
    reached = fields["reached"]
    return (
        f"{words}{fields['unchanged'] / reached:.0%} of what had a gradient stayed"
        if reached
        else f"{words}no gradient"
    )


_WORDS = {
    "unscale": "unscale_",
    "scaler": "new scaler",
    "touched": "gradients written by hand",
    "written": "gradients written by hand",
    "grad": "autograd.grad",
    "scaled.read": "a scaled loss is read",
    "bounded": "gradients bounded by hand",
    "save": "torch.save",
    "end": "end of the run",
}
