"""Read what the recorder wrote: sections of numbered events, and what they refer to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verifygate.base.json_lines import parsed
from verifygate.base.regular_files import open_regular
from verifygate.events.record import Event as TypedEvent
from verifygate.events.record import Frame
from verifygate.execution.recorded_shapes import is_event, is_fact
from verifygate.execution.typed_events import typed

MAX_BYTES = 256 * 1024 * 1024
"""Of all files together; the recorder's own bounds are far below."""


STRANGE = "a line that the recorder did not write"
_NOT_OURS = (KeyError, TypeError, ValueError, OverflowError)
"""What a line raises that somebody else wrote: the subject's process can write there as well."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the run."""

    number: int
    kind: str
    step: int
    frames: tuple[Frame, ...]
    """Where it happened, innermost first; empty where no frame was the project's own."""
    autocast: str
    """What was in force: `cpu float16`; empty for nothing."""
    fields: dict[str, Any]
    """The line as it was read."""
    typed: TypedEvent = field(init=False, repr=False, compare=False)
    """What it says, as the static stage would."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "typed", typed(self.number, self.kind, self.frames, self.autocast, self.fields))

    def optimizers(self) -> tuple[int, ...]:
        """The optimizers that it is about, by number."""
        return self.typed.parameters or ()

    @property
    def scaler(self) -> int | None:
        return self.typed.scaler

    @property
    def skipped(self) -> bool:
        """Whether it is a step that a live scaler left out because it had found an inf: seen, not inferred."""
        return self.kind == "scaler.step" and self.fields.get("stepped") is False and bool(self.fields.get("found_inf"))

    @property
    def raised(self) -> str:
        """Type of the error that the call ended in; empty where it returned."""
        return self.typed.raised


@dataclass(frozen=True)
class Process:
    """A process of the run that trained."""

    number: int
    """In the order of their start; 0 is the one that the gate started."""
    rank: int | None = None
    """None where the process was no rank among others."""
    world: int = 1
    """How many ranks there were."""
    ended: bool = True
    """Whether it came to its end."""


@dataclass
class Section:
    """A stretch of a run that is judged by itself: one test, or all of a script."""

    name: str = ""
    events: list[Event] = field(default_factory=list)
    dropped: int = 0
    process: Process | None = None
    """The process that did it, where the subject started it; None for the one that the gate started."""

    def gaps(self) -> Iterator[tuple[Event, bool]]:
        """The events in order, each with whether events are missing right before it."""
        last = None
        for event in self.events:
            yield event, last is not None and event.number != last + 1
            last = event.number


@dataclass
class Trace:
    """One recorded run."""

    sections: list[Section] = field(default_factory=list)
    optimizers: dict[int, dict[str, Any]] = field(default_factory=dict)
    scalers: dict[int, dict[str, Any]] = field(default_factory=dict)
    places: dict[int, tuple[Frame, ...]] = field(default_factory=dict)
    totals: dict[str, Any] = field(default_factory=dict)
    """Empty where the process died before its end."""
    sample: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    rank: dict[str, Any] = field(default_factory=dict)
    """Which rank the process was; empty where it was alone."""

    @property
    def events(self) -> Iterator[Event]:
        return (event for section in self.sections for event in section.events)

    @property
    def dropped(self) -> int:
        return sum(section.dropped for section in self.sections)

    def where(self, place: object) -> tuple[Frame, ...]:
        return self.places.get(place, ()) if isinstance(place, int) else ()


@dataclass(frozen=True)
class Bases:
    """What the numbers of a process are counted from, so that those of several processes differ."""

    optimizers: int = 0
    scalers: int = 0
    places: int = 0

    @classmethod
    def of(cls, *known: Mapping[int, object]) -> Bases:
        """Those for a process that comes after others, of which these are known: optimizers, scalers, places."""
        return cls(*(max(each, default=0) for each in known))

    def renumbered(self, row: dict[str, Any]) -> dict[str, Any]:
        """A fact or an event, with the numbers of what it refers to."""
        for name, base in (("optimizer", self.optimizers), ("scaler", self.scalers)):
            if isinstance(row.get(name), int):
                row[name] += base
        for name in ("optimizers", "shared", "inf"):
            if isinstance(row.get(name), list):
                row[name] = [int(each) + self.optimizers for each in row[name]]
        if row.get("at"):
            row["at"] += self.places
        return row


def read_trace(folder: Path, bases: Bases | None = None) -> Trace:
    """Read the files in `folder`, as far as they are whole; an empty trace where there are none."""
    reader = TraceReader(folder, bases)
    reader.read()
    return reader.trace


class TraceReader:
    """Reads a trace, also while it is written: each `read` takes in what has come since the one before.

    A recorder that keeps the last events begins files anew; its trace is read when the run is over.
    """

    def __init__(self, folder: Path, bases: Bases | None = None) -> None:
        self.trace = Trace()
        names = ("facts.jsonl", "head.jsonl", "tail-0.jsonl", "tail-1.jsonl")
        self._facts, *self._events = (_Lines(folder / name) for name in names)
        self._bases = bases or Bases()
        self._section = Section()
        self._before = 0
        """Number of the last event."""

    def read(self) -> None:
        """Add to the trace what has been written since."""
        trace, bases = self.trace, self._bases
        if sum(each.size for each in (self._facts, *self._events)) > MAX_BYTES:
            trace.problems.append("its files are larger than the recorder makes them")
            return
        for fact in self._facts.new():
            try:
                if not is_fact(fact):
                    raise ValueError(STRANGE)
                _take(trace, bases.renumbered(fact), bases)
            except _NOT_OURS:
                trace.problems.append(STRANGE)
        rows = sorted(
            (row for each in self._events for row in each.new() if isinstance(row.get("n"), int)), key=_number
        )
        for row in rows:
            self._section.dropped += max(0, row["n"] - self._before - 1)
            self._before = row["n"]
            if row.get("e") == "section":
                self._section = Section(str(row.get("name", "")))
                trace.sections.append(self._section)
                continue
            if not trace.sections:
                trace.sections.append(self._section)
            try:
                if not is_event(row):
                    raise ValueError(STRANGE)
                self._section.events.append(_event(bases.renumbered(row), trace))
            except _NOT_OURS:
                trace.problems.append(STRANGE)
        if trace.sections and (made := trace.totals.get("events")):
            trace.sections[-1].dropped += max(0, int(made) - self._before)


def _take(trace: Trace, fact: dict[str, Any], bases: Bases) -> None:
    match fact["kind"]:
        case "place":
            frames = tuple(Frame(str(path), str(symbol), int(line)) for path, symbol, line in fact["frames"])
            trace.places[int(fact["id"]) + bases.places] = frames
        case "optimizer":
            trace.optimizers[int(fact["id"]) + bases.optimizers] = fact
        case "scaler":
            trace.scalers[int(fact["id"]) + bases.scalers] = fact
        case "rank":
            trace.rank = fact
        case "totals":
            trace.totals = fact
        case "sample":
            trace.sample = fact
        case "recorder-error":
            trace.problems.append(f"{fact['error']} ({fact['where']})")


def _event(row: dict[str, Any], trace: Trace) -> Event:
    return Event(
        number=row["n"],
        kind=str(row.get("e", "")),
        step=int(row.get("step", 0)),
        frames=trace.where(row.get("at")),
        autocast=str(row.get("autocast", "")),
        fields=row,
    )


def _number(row: dict[str, Any]) -> int:
    return int(row["n"])


class _Lines:
    """The whole lines of a file that have come since they were last asked for."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._offset = 0

    @property
    def size(self) -> int:
        return self._file.stat().st_size if self._file.is_file() else 0

    def new(self) -> Iterator[dict[str, Any]]:
        if not self._file.is_file():
            return
        with open_regular(self._file) as lines:
            lines.seek(self._offset)
            for line in lines:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                if isinstance(value := parsed(line), dict):
                    yield value
