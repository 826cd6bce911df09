"""The lock: which words, which code and which tests somebody accepted as the evidence of each requirement.

It lies beside the specification (`requirements.yaml` has `requirements.lock.json`), is committed with the code, and is
written by `verifygate evidence trace accept` alone, from a report. It is this file, and not an earlier report, that a
change is held against: a report is a build's product that may be missing or of another branch, while the lock is in the
very commit that is judged, so that whoever accepts a change does so in a diff that others review.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import Literal

from pydantic import Field

from verifygate.base.errors import UsageError
from verifygate.config.documents import read_yaml
from verifygate.model import LinkState, Model, RequirementResult, Status

ABOUT = "What was accepted as the evidence of each requirement; written by `verifygate evidence trace accept`."


class Accepted(Model):
    """One requirement, as it was accepted."""

    words: str
    """Digest of its title, its text and its revision."""
    at: str
    """The commit of the report; with `+changes` where the working tree differed from it."""
    code: dict[str, str] = Field(default_factory=dict)
    """Symbol -> digest of its syntax."""
    tests: dict[str, str] = Field(default_factory=dict)


class Lock(Model):
    """The whole file."""

    schema_version: Literal[1] = 1
    about: str = ABOUT
    requirements: dict[str, Accepted] = Field(default_factory=dict)


def lock_path(spec: str) -> str:
    """The lock of a specification, relative to the same root."""
    return str(PurePosixPath(spec).with_suffix(".lock.json"))


def read_lock(root: Path, spec: str) -> Lock | None:
    """The lock beside a specification, or None where there is none. Raises UsageError for one that is broken."""
    path = lock_path(spec)
    if not (root / path).exists():
        return None
    return read_yaml(root / path, path).validate(Lock)  # JSON is YAML, and this reader knows the lines


def changed_since(lock: Lock | None, before: bytes | None) -> tuple[str, ...]:
    """Ids whose entries are not those of an earlier lock's bytes; of one that cannot be read, all that there are."""
    try:
        earlier = Lock.model_validate_json(before or b"{}").requirements
    except ValueError:
        earlier = {}
    now = lock.requirements if lock else {}
    return tuple(sorted(name for name in now.keys() | earlier.keys() if now.get(name) != earlier.get(name)))


def words_digest(title: str, text: str, revision: int) -> str:
    """Digest of what a requirement asks; spaces and line ends do not count."""
    said = json.dumps([" ".join(title.split()), " ".join(text.split()), revision])
    return hashlib.sha256(said.encode()).hexdigest()[:24]


def proved(row: RequirementResult) -> bool:
    """Whether the evidence itself shows the requirement: suspect links do not count here, for they are the question."""
    return row.status is Status.PASS or (row.status is Status.PARTIAL and row.unsuspected is Status.PASS)


def accepted(row: RequirementResult, at: str) -> Accepted:
    """What a row of a report has to be held against from now on."""
    links = [link for link in row.links if link.digest and link.state is not LinkState.UNLINKED]
    return Accepted(
        words=row.words,
        at=at,
        code={link.symbol: link.digest for link in links if link.role == "code"},
        tests={link.symbol: link.digest for link in links if link.role == "test"},
    )


def accept(
    lock: Lock | None, rows: Mapping[str, RequirementResult], asked: Collection[str], at: str
) -> tuple[Lock, tuple[str, ...], tuple[str, ...]]:
    """The lock with the asked requirements accepted (all that are proved, where none is asked for).

    Returns it with the ids that were accepted, and those that the specification no longer has and the lock lost.
    Raises UsageError for an id that there is not, and for one without evidence.
    """
    for identifier in asked:
        row = rows.get(identifier)
        if row is None:
            raise UsageError(
                f"there is no requirement `{identifier}` in the report", remedy=f"it has {', '.join(rows)}"
            )
        if not proved(row):
            status = row.unsuspected or row.status
            remedy = row.remedy or "meet it first"
            raise UsageError(f"`{identifier}` is {status}: there is no evidence to accept", remedy=remedy)
    chosen = [row for row in rows.values() if (row.id in asked if asked else proved(row))]
    if not chosen:
        raise UsageError(
            "no requirement of the report is PASS: there is no evidence to accept", remedy="meet one first"
        )
    before = lock.requirements if lock else {}
    gone = () if asked else tuple(sorted(set(before) - set(rows)))
    kept = {identifier: entry for identifier, entry in before.items() if identifier not in gone}
    entries = kept | {row.id: accepted(row, at) for row in chosen}
    for row in chosen:  # an unchanged entry keeps its commit: the file changes only where something was accepted
        if row.id in before and before[row.id].model_copy(update={"at": at}) == entries[row.id]:
            entries[row.id] = before[row.id]
    return Lock(requirements=dict(sorted(entries.items()))), tuple(row.id for row in chosen), gone


def written(lock: Lock) -> str:
    """The file's text: a symbol a line, so that a diff shows what was accepted."""
    document = lock.model_dump()
    for entry in document["requirements"].values():
        for role in ("code", "tests"):
            entry[role] = dict(sorted(entry[role].items()))
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
