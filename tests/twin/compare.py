"""Whether a witness has what a run showed, and the other way round.

Two events are the same where kind, path and line are, and every attribute that the run shows. A witness that does not
say an attribute, or says more than two values, does not have it: the twin cannot be fooled by *anything may be*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from programs import TwinProgram

from verifygate.events.record import Dtypes, Event, Kind

Witness = Callable[[Path, TwinProgram], Iterable[Event]]
"""Folder and the program that lies in it -> events; paths in frames are relative to the folder, or below it."""
MOST_VALUES = 2
KINDS = (
    Kind.OPERATOR,
    Kind.REGION_ENTER,
    Kind.SCALE,
    Kind.BACKWARD,
    Kind.UNSCALE,
    Kind.CLIP,
    Kind.SCALER_STEP,
    Kind.STEP,
    Kind.UPDATE,
    Kind.ZERO_GRAD,
)
NOTHING_THERE = "no event of the kind at the line"
ANOTHER = "another operator at the line"
Line = tuple[Kind, str, int]


@dataclass
class Tally:
    """Of one program: what was asked for and what was had, by kind; what is missing, by reason."""

    asked: Counter[Kind] = field(default_factory=Counter)
    had: Counter[Kind] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    """Reason -> the first place at which it is given."""

    def share(self, kinds: Sequence[Kind] = KINDS) -> float | None:
        """Of what was asked for; None where nothing was."""
        asked = sum(self.asked[kind] for kind in kinds)
        return sum(self.had[kind] for kind in kinds) / asked if asked else None


def covered(run: Iterable[Event], witness: Iterable[Event]) -> Tally:
    """The soundness of a witness: of the distinct events of a run, those that it has."""
    theirs = _by_line(witness)
    tally = Tally()
    for event in set(run):
        if event.kind not in KINDS:
            continue
        tally.asked[event.kind] += 1
        reason = _missing(event, theirs.get((event.kind, event.file, event.line), []))
        if reason is None:
            tally.had[event.kind] += 1
        else:
            words = f"{event.kind.value}: {reason}"
            tally.missing[words] += 1
            tally.examples[words] = min(tally.examples.get(words, "~"), f"{event.file}:{event.line}")
    return tally


def precise(run: Iterable[Event], witness: Iterable[Event], lines: Mapping[str, Iterable[int]]) -> Tally:
    """The precision: of a witness's events on lines that ran, those that the run showed as well."""
    seen = _by_line(run)
    ran = {(path, line) for path, each in lines.items() for line in each}
    tally = Tally()
    for event in set(witness):
        if event.kind not in KINDS or (event.file, event.line) not in ran:
            continue
        tally.asked[event.kind] += 1
        shown = seen.get((event.kind, event.file, event.line), [])
        if any(_differs(each, event, unknown=False) is None for each in shown):
            tally.had[event.kind] += 1
        else:
            tally.missing[f"{event.kind.value}: no run showed it"] += 1
    return tally


def _by_line(events: Iterable[Event]) -> dict[Line, list[Event]]:
    found: dict[Line, list[Event]] = {}
    for event in events:
        found.setdefault((event.kind, event.file, event.line), []).append(event)
    return found


def _missing(event: Event, candidates: Sequence[Event]) -> str | None:
    """Why none of a witness's events is this one; None where one is. Of several, the reason of the nearest."""
    named = [each for each in candidates if each.operator == event.operator]
    if not named:
        return f"{ANOTHER if candidates else NOTHING_THERE}" + (f" ({event.operator})" if event.operator else "")
    reasons = [_differs(event, each, unknown=True) for each in named]
    return None if None in reasons else min(reason for reason in reasons if reason is not None)


def _differs(shown: Event, said: Event, *, unknown: bool) -> str | None:
    """The first attribute in which they differ; what is not said counts where `unknown` is set."""
    if shown.operator != said.operator:
        return "operator"
    if shown.kind is Kind.OPERATOR:
        for name, run, theirs in (
            ("dtypes out", shown.dtypes_out, said.dtypes_out),
            ("dtypes in", shown.dtypes_in, said.dtypes_in),
        ):
            if run is not None and (reason := _dtypes(run, theirs, unknown=unknown)):
                return f"{name}: {reason}"
    for name, of in _ATTRIBUTES.get(shown.kind, {}).items():
        one, other = of(shown), of(said)
        if one is not None and one != other and (unknown or other is not None):
            return f"{name}: {'not said' if other is None else 'another'}"
    return None


def _region(event: Event) -> object:
    """Device and dtype; False where autocast is off, None where that is not said."""
    if event.in_region is False:
        return False
    return (event.region.device, event.region.dtype) if event.region else None


_ATTRIBUTES: dict[Kind, dict[str, Callable[[Event], object]]] = {
    Kind.OPERATOR: {"region": _region, "grad mode": lambda event: event.grad_mode},
    Kind.REGION_ENTER: {"region": _region},
    Kind.BACKWARD: {"scaled": lambda event: event.scaled},
}
"""What is compared beside the place; of an operator its dtypes, too."""


def _dtypes(run: tuple[Dtypes, ...], theirs: tuple[Dtypes, ...] | None, *, unknown: bool) -> str:
    """Why the one is not among the other; empty where it is."""
    if theirs is None:
        return "not said" if unknown else ""
    if len(run) != len(theirs):
        return "another number of tensors"
    for one, other in zip(run, theirs, strict=True):
        if not other:
            if unknown:
                return "not said"
        elif not one <= other:
            return "another"
        elif unknown and len(other) > MOST_VALUES:
            return "more than two values"
    return ""
