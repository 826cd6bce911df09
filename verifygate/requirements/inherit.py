"""What a specification takes over from a catalogue, and in what it asks for something else: no change goes unseen."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from verifygate.base.errors import UsageError
from verifygate.config.documents import Document, read_yaml
from verifygate.model import Deviation, Severity
from verifygate.requirements.queries import MeasurementQuery, Query
from verifygate.requirements.spec import Lines, Override, Requirement, SpecFile

CATALOGUES = Path(__file__).parent / "catalogues"
Direction = Literal["tightened", "loosened", "changed"]


@cache
def catalogue(name: str) -> SpecFile:
    """A catalogue that comes with verifygate, with what it takes over itself. Raises KeyError for a name of none."""
    if name not in names():
        raise KeyError(name)
    document = read_yaml(CATALOGUES / f"{name}.yaml", name)
    file = document.validate(SpecFile)
    if not file.extends:
        return file
    taken, _, _ = inherited(document, file)
    return file.model_copy(update={"requirements": (*taken, *file.requirements)})


def names() -> list[str]:
    """The catalogues there are."""
    return sorted(file.stem for file in CATALOGUES.glob("*.yaml"))


def inherited(
    document: Document, file: SpecFile
) -> tuple[tuple[Requirement, ...], dict[str, Lines], tuple[Deviation, ...]]:
    """The requirements taken over, where the file speaks of each, and the differences. Raises UsageError."""
    if file.extends not in names():
        raise UsageError(
            f"there is no catalogue `{file.extends}`",
            where=document.place(("extends",)),
            remedy=f"write {' or '.join(names())}",
        )
    every = catalogue(file.extends).requirements
    wanted = _selected(document, file, every)
    kept: list[Requirement] = []
    lines: dict[str, Lines] = {}
    deviations: list[Deviation] = []
    for original in every:
        change = file.override.get(original.id)
        if original.id not in wanted:
            why = f"not selected from {file.extends}"
            deviations.append(Deviation(requirement=original.id, what=why, direction="loosened"))
        elif change is not None and change.drop:
            _refuse_unexplained(document, original.id, change)
            what = f"dropped from {file.extends}"
            deviations.append(Deviation(requirement=original.id, what=what, direction="loosened", reason=change.reason))
        else:
            ours = _changed(document, original, change) if change else original
            kept.append(ours)
            lines[original.id] = _lines(document, ours, change, len(original.verify))
            if change is not None:
                found = [
                    Deviation(requirement=original.id, what=what, direction=direction, reason=change.reason)
                    for direction, what in differences(original, ours)
                ]
                if any(each.direction == "loosened" for each in found):
                    _refuse_unexplained(document, original.id, change)
                deviations += found
    return tuple(kept), lines, tuple(deviations)


def differences(theirs: Requirement, ours: Requirement) -> Iterator[tuple[Direction, str]]:
    """How a requirement differs from the catalogue's: each difference in words, and whether more or less is asked."""
    for name in ("title", "text"):
        if getattr(theirs, name) != getattr(ours, name):
            yield "changed", f"another {name}"
    if theirs.severity is not ours.severity:
        rank = list(Severity)
        stricter = rank.index(ours.severity) < rank.index(theirs.severity)
        yield ("tightened" if stricter else "loosened"), f"severity {ours.severity} in place of {theirs.severity}"
    if theirs.required != ours.required:
        yield ("tightened", "required") if ours.required else ("loosened", "not required any more")
    if theirs.review_suffices != ours.review_suffices:
        direction: Direction = "loosened" if ours.review_suffices else "tightened"
        yield direction, f"a review {'suffices' if ours.review_suffices else 'does not suffice'}"
    before, after = _not_in(theirs.verify, ours.verify), _not_in(ours.verify, theirs.verify)
    for old in list(before):
        new = next((query for query in after if _subject(query) and _subject(query) == _subject(old)), None)
        if new is not None:
            before.remove(old)
            after.remove(new)
            yield _compared(old, new), f"{new.words}, in place of {old.words}"
    for query in before:
        yield "loosened", f"no longer asked: {query.words}"
    for query in after:
        yield "tightened", f"also asked: {query.words}"


def _selected(document: Document, file: SpecFile, every: Sequence[Requirement]) -> set[str]:
    """The ids that are taken over."""
    known = {requirement.id for requirement in every}
    groups = {str(requirement.group) for requirement in every}
    for index, name in enumerate(file.select):
        if name not in known | groups:
            raise _unknown(document, file, name, ("select", index), [*known, *groups])
    wanted = {each.id for each in every if not file.select or each.id in file.select or each.group in file.select}
    for name in file.override:
        if name not in known:
            raise _unknown(document, file, name, ("override", name), known)
        if name not in wanted:
            raise UsageError(
                f"`{name}` is overridden, and not selected",
                where=document.place(("override", name)),
                remedy="select it, or remove the override",
            )
    return wanted


def _unknown(
    document: Document, file: SpecFile, name: str, where: tuple[str | int, ...], known: Sequence[str] | set[str]
) -> UsageError:
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.5)
    return UsageError(
        f"{file.extends} has no `{name}`",
        where=document.place(where),
        remedy=f"did you mean `{near[0]}`?" if near else f"see `verifygate docs {file.extends}` for its ids",
    )


def _refuse_unexplained(document: Document, name: str, change: Override) -> None:
    if not change.reason.strip():
        raise UsageError(
            f"the override of `{name}` is weaker than the catalogue, without a reason",
            where=document.place(("override", name)),
            remedy="add `reason:`; every report shows it",
        )


def _changed(document: Document, original: Requirement, change: Override) -> Requirement:
    given = {name: getattr(change, name) for name in ("title", "text", "severity", "required", "review_suffices")}
    named = {name: value for name, value in given.items() if value is not None}
    verify = original.verify if change.verify is None else change.verify
    values = {**dict(original), **named, "verify": (*verify, *change.also)}
    try:
        return Requirement.model_validate(values)
    except ValueError as error:
        problem = str(error).splitlines()[-2:][0].strip().removeprefix("Value error, ").partition(" [type=")[0]
        raise UsageError(problem, where=document.place(("override", original.id)), remedy="correct it") from None


def _lines(document: Document, ours: Requirement, change: Override | None, theirs: int) -> Lines:
    """Where the file speaks of an inherited requirement: below `override`, else where it names the catalogue."""

    def at(*where: str | int) -> int:
        _, _, line = document.place(where).rpartition(":")
        return int(line) if line.isdigit() else 1

    home = at("override", ours.id) if change else at("extends")
    if change is not None and change.verify is not None:
        return Lines(home, tuple(at("override", ours.id, "verify", index) for index in range(len(ours.verify))))
    own = range(len(ours.verify) - theirs)
    return Lines(home, (home,) * theirs + tuple(at("override", ours.id, "also", index) for index in own))


def _not_in(some: Sequence[Query], others: Sequence[Query]) -> list[Query]:
    words = {query.words for query in others}
    return [query for query in some if query.words not in words]


def _subject(query: Query) -> str:
    """What a query with a threshold is about, threshold aside; empty for one without."""
    if query.marked_tests:
        return "marked tests"
    return query.measurement.subject if query.measurement else ""


def _compared(old: Query, new: Query) -> Direction:
    """Whether the new threshold asks for more."""
    if old.marked_tests and new.marked_tests:
        return "tightened" if new.marked_tests.at_least > old.marked_tests.at_least else "loosened"
    assert old.measurement is not None  # noqa: S101 - both have a subject
    assert new.measurement is not None  # noqa: S101
    return _bounds(old.measurement, new.measurement)


def _bounds(old: MeasurementQuery, new: MeasurementQuery) -> Direction:
    if old.device != new.device:  # elsewhere than on what was asked for, or anywhere
        return "tightened" if not old.device or (old.device == "accelerator" and new.device == "cuda") else "loosened"
    if old.bound is None or new.bound is None:
        return "changed" if old.bound is new.bound else "loosened" if new.bound is None else "tightened"
    (operator, before), (other, after) = old.bound, new.bound
    if operator != other or old.unit != new.unit or before == after:
        return "changed"
    return "tightened" if (after > before) == (operator == ">=") else "loosened"
