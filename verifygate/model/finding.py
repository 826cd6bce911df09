"""A finding: one violation of a rule, at one statement, with the path that leads to it.

These are records of the standard library, for `verifygate check` makes them and loads no pydantic. Where one is a field
of a model, pydantic reads and checks it like any other.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from verifygate.base.records import record, replace


class Severity(StrEnum):
    """How much harm the violation does when it happens, most harm first."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for critical, rising as the harm falls: sorts the worst first."""
        return list(Severity).index(self)


class Certainty(StrEnum):
    """`certain`: on every feasible path that reaches the statement, or seen in a run. `likely`: on some path."""

    CERTAIN = "certain"
    LIKELY = "likely"


SETTLED_BY = "settled by"
"""The label of the detail that says what would make a likely finding certain, or refute it."""
BLOCKING = (Severity.CRITICAL, Severity.HIGH)
"""Severities at which a certain finding blocks, unless `[verdict] block` names others."""


class Witness(StrEnum):
    """Who saw it."""

    STATIC = "static"
    RUN = "run"
    MUTATION = "mutation"


class Applicability(StrEnum):
    """Whether the rule's fix keeps the meaning of correct code (`safe`) or needs a person's eye (`unsafe`)."""

    SAFE = "safe"
    UNSAFE = "unsafe"


@record(kw_only=True, guarded=True)
class PathStep:
    """One event on the way to a violation."""

    __pydantic_config__ = {"extra": "forbid"}

    path: str
    line: int
    text: str
    """What happens there, for example `CLIP clip_grad_norm_(model.parameters(), 1.0)`."""


@record(kw_only=True, guarded=True)
class Detail:
    """A labelled list beside the message, for example the keys a dict has and the key that is missing."""

    __pydantic_config__ = {"extra": "forbid"}

    label: str
    values: tuple[str, ...]


@record(kw_only=True, guarded=True)
class Place:
    """One more location of a finding: the same fault, for the same cause."""

    __pydantic_config__ = {"extra": "forbid"}

    path: str
    line: int
    end_line: int
    text: str
    """The source line as it stands in the file, without its indent."""
    fingerprint: str = ""
    """Of a finding at this location alone, as a report has it where the cause has no other; empty where none would."""


@record(kw_only=True, guarded=True)
class Edit:
    """Lines of a file, and what a proven fix puts in their place."""

    __pydantic_config__ = {"extra": "forbid"}

    path: str
    line: int
    end_line: int
    """The last line that is replaced: at least one is, so that every reader can show it as a suggestion."""
    text: str
    """The new lines, each with its line end."""


@record(kw_only=True, guarded=True)
class Finding:
    """One violation of one rule. The fingerprint holds no line number, so it survives edits elsewhere in the file."""

    __pydantic_config__ = {"extra": "forbid"}

    rule: str
    """The rule's code, for example `AMP201`."""
    name: str
    """The rule's name, for example `clip-before-unscale`."""
    path: str
    line: int
    column: int
    """In characters, from 1."""
    end_line: int
    severity: Severity
    certainty: Certainty
    message: str
    fingerprint: str
    fix: Applicability | None = None
    edits: tuple[Edit, ...] = ()
    """A safe fix that was proven: applied by itself and scanned again. Empty where nobody asked, or it did not hold."""
    remedy: str = ""
    """What to write instead, in one sentence."""
    steps: tuple[PathStep, ...] = ()
    details: tuple[Detail, ...] = ()
    places: tuple[Place, ...] = ()
    """Further locations of the same fault, which one cause has: one finding says them all."""
    beside_amp: bool = False
    """Its file holds no AMP code of its own: other files, or the text of the whole project, bring it in."""
    snippet: str = ""
    """The source line as it stands in the file, without its indent."""
    symbol: str = ""
    """The qualified name of the enclosing function, `Trainer.step`; empty at module level."""
    witnesses: tuple[Witness, ...] = (Witness.STATIC,)
    run: str = ""
    """What a recorded run says of it: seen there, or passed by without it."""
    untested: str = ""
    """Why the tests did not catch it, filled in by the merger: `no test executes train_epoch`."""

    @property
    def settled_by(self) -> tuple[str, ...]:
        """What would show whether a likely one is right: an annotation, a run."""
        return next((each.values for each in self.details if each.label == SETTLED_BY), ())

    @property
    def is_note(self) -> bool:
        """Whether it reports a fact, and no fault: nothing is to be corrected, and no commit is to be stopped."""
        return self.severity is Severity.INFO

    def blocks(self, severities: Collection[Severity] = BLOCKING) -> bool:
        """Whether it is enough to block: certain, and of a severity at which the policy blocks."""
        return self.certainty is Certainty.CERTAIN and self.severity in severities

    @property
    def locations(self) -> tuple[Place, ...]:
        """Its own location and the further ones."""
        here = Place(
            path=self.path, line=self.line, end_line=self.end_line, text=self.snippet, fingerprint=self.fingerprint
        )
        return (here, *self.places)

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """Its own and those of its further locations: all of it stood in an earlier report if all of them did."""
        return (self.fingerprint, *(place.fingerprint for place in self.places if place.fingerprint))

    def stood_in(self, known: Collection[str]) -> bool:
        """Whether these fingerprints, of an earlier report, hold all of it."""
        return all(each in known for each in self.fingerprints)

    def apart(self, known: Collection[str]) -> tuple[Finding | None, Finding | None]:
        """It in two: the locations that are new since an earlier report of these fingerprints, and those that stood.

        A location without a fingerprint goes with the one before it.
        """
        new: list[Place] = []
        stood: list[Place] = []
        side = new
        for each in self.locations:
            if each.fingerprint:
                side = stood if each.fingerprint in known else new
            side.append(each)
        return self._at(new), self._at(stood)

    def _at(self, locations: list[Place]) -> Finding | None:
        """The same finding at some of its locations."""
        if len(locations) == 1 + len(self.places):
            return self
        if not locations:
            return None
        first, *others = locations
        if first.fingerprint == self.fingerprint:
            return replace(self, places=tuple(others))
        return replace(
            self,
            path=first.path,
            line=first.line,
            column=1,
            end_line=first.end_line,
            snippet=first.text,
            fingerprint=first.fingerprint,
            symbol="",
            edits=(),
            steps=(),
            places=tuple(others),
        )

    def is_at(self, path: str, line: int) -> bool:
        """Whether the line belongs to it, or to one of its further locations."""
        return any(path == each.path and each.line <= line <= each.end_line for each in self.locations)

    @property
    def order(self) -> tuple[int, str, int, int, str]:
        """Sorts by harm, then by place."""
        return (self.severity.rank, self.path, self.line, self.column, self.rule)
