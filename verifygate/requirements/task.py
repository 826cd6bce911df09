"""Plain task files: acceptance criteria in free text, as a ticket has them.

A line that names a requirement of the catalogue by its id, `AMP-03: ...` or `... (AMP-03)`, is that requirement. Any
other line is not verifiable as written and says so: words are compared only to suggest an id, never to choose one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from verifygate.base.errors import UsageError
from verifygate.config.documents import Document
from verifygate.model import Severity
from verifygate.requirements.inherit import catalogue
from verifygate.requirements.spec import Lines, Requirement, Spec, Specification

CATALOGUE = "amp-core"
CRITERIA = ("acceptance_criteria", "acceptance-criteria", "acceptanceCriteria")
TITLES = ("title", "name", "summary")
IDS = ("id", "task_id", "task")
TEXTS = ("text", "criterion", "description")
_ID = r"[A-Z][A-Z0-9]{1,15}-[0-9]{1,4}"
_NAMED = re.compile(rf"^\s*(?:({_ID})\s*:|[(\[]({_ID})[)\]])|[(\[]({_ID})[)\]]\s*\.?\s*$")
_WORD = re.compile(r"[a-z][a-z0-9]{3,}")
SUGGESTED = 2


def is_task(document: Document) -> bool:
    """Whether the file holds acceptance criteria, and is no specification."""
    if "requirements" in document.data or "extends" in document.data:
        return False
    return any(key in part for _, part in _parts(document) for key in CRITERIA)


def read_task(document: Document) -> Specification:
    """The task's criteria as requirements. Raises UsageError, with its line, for what cannot be read."""
    home, part = next(each for each in _parts(document) if any(key in each[1] for key in CRITERIA))
    key = next(key for key in CRITERIA if key in part)
    lines = part[key]
    if not isinstance(lines, list) or not lines:
        raise UsageError(
            f"`{key}` must be a list of at least one criterion",
            where=document.place((*home, key)),
            remedy="write one criterion on each line, with `- ` before it",
        )
    name = _first(part, IDS) or _first(document.data, IDS)
    stem = name if re.fullmatch(r"[A-Za-z][A-Za-z0-9._-]{0,55}", name) else "CRITERION"
    requirements: list[Requirement] = []
    places: dict[str, Lines] = {}
    as_written: dict[str, tuple[str, str]] = {}
    for index, item in enumerate(lines):
        where = document.place((*home, key, index))
        requirement, why = _criterion(_text(item, where), f"{stem}-{index + 1}")
        if requirement.id in places:
            raise UsageError(
                f"`{requirement.id}` is named by two criteria", where=where, remedy="make them one, or correct the id"
            )
        requirements.append(requirement)
        _, _, line = where.rpartition(":")
        at = int(line) if line.isdigit() else 1
        places[requirement.id] = Lines(at, (at,) * len(requirement.verify))
        if why:
            as_written[requirement.id] = why
    title = _first(part, TITLES) or _first(document.data, TITLES) or document.path
    spec = Spec(title=title, task=name, requirements=tuple(requirements))
    return Specification(spec, document.path, places, CATALOGUE, as_written=as_written)


def _parts(document: Document) -> Iterator[tuple[tuple[str, ...], dict[str, object]]]:
    """The tables that may hold the criteria: the file's own, or that of its `task`."""
    yield (), document.data
    if isinstance(inner := document.data.get("task"), dict):
        yield ("task",), inner


def _first(part: dict[str, object], keys: tuple[str, ...]) -> str:
    found = (part.get(key) for key in keys)
    return next((value.strip() for value in found if isinstance(value, str) and value.strip()), "")


def _text(item: object, where: str) -> str:
    """The words of one criterion; with its id in front where it has one in a field of its own."""
    if isinstance(item, dict):
        text, named = _first(item, TEXTS), _first(item, ("id",))
        if text:
            return f"{named}: {text}" if named else text
    if isinstance(item, str) and item.strip():
        return " ".join(item.split())
    raise UsageError(
        "an acceptance criterion must be text", where=where, remedy='write one sentence, in quotes if it holds a ":"'
    )


def _criterion(text: str, fallback: str) -> tuple[Requirement, tuple[str, str] | None]:
    """The requirement that the text names; or one that nothing can verify, with the reason and the way out."""
    known = {requirement.id: requirement for requirement in catalogue(CATALOGUE).requirements}
    found = _NAMED.search(text)
    named = next(filter(None, found.groups()), "") if found else ""
    if named in known:
        return known[named].model_copy(update={"text": text}), None
    problem = f"{CATALOGUE} has no {named}" if named else f"it names no requirement of {CATALOGUE}"
    near = ", ".join(f"{each.id} ({each.title})" for each in _nearest(text, list(known.values())))
    remedy = "write the id of the requirement that is meant in front of it, as in `AMP-03: ...`"
    suggestion = f"; nearest by their words: {near}" if near else ""
    unread = Requirement(id=fallback, title=text[:80], text=text, group="acceptance", severity=Severity.HIGH)
    return unread, (f"not verifiable as written: {problem}", f"{remedy}{suggestion}")


def _nearest(text: str, known: list[Requirement]) -> list[Requirement]:
    """The requirements that share most words with the text: a suggestion for a person."""
    words = set(_WORD.findall(text.lower()))

    def shared(requirement: Requirement) -> float:
        theirs = set(_WORD.findall(f"{requirement.title} {requirement.text}".lower()))
        return len(words & theirs) / (len(words | theirs) or 1)

    ranked = sorted(known, key=lambda each: (-shared(each), each.id))
    return [each for each in ranked[:SUGGESTED] if shared(each) > 0]
