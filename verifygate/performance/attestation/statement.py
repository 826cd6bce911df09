"""A record: an in-toto Statement that these files, on this device, gave these samples."""

from __future__ import annotations

import datetime as dt
import json
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, ConfigDict, Field, ValidationError

from verifygate.attestation.envelope import STATEMENT_TYPE
from verifygate.base.masking import masked_model
from verifygate.base.strict_json import DocumentError
from verifygate.model import Model

PREDICATE_TYPE = "urn:verifygate:benchmark:v1"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, Field(min_length=1, max_length=4096)]


class Digest(Model):
    sha256: Sha256


class Subject(Model):
    """One file that the measurement rests on, by its path below the project's root."""

    name: Name
    digest: Digest


class Figure(Model):
    """One measured value, as the measuring machine summed it up; the reader computes it again from the samples."""

    id: Name
    value: float | None = None
    low: float | None = None
    high: float | None = None


class Predicate(Model):
    """What was measured, by what, and when."""

    tool: str
    nonce: Name
    """Differs from record to record."""
    commit: str
    started: AwareDatetime
    finished: AwareDatetime
    comparison: dict[str, Any]
    """Protocol version, plan, and each arm with its machine, its flags and all of its samples."""
    figures: tuple[Figure, ...] = ()
    """The summary."""


class Statement(Model):
    """The in-toto Statement, version 1."""

    model_config = ConfigDict(populate_by_name=True)

    type: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: Annotated[tuple[Subject, ...], Field(min_length=1)]
    predicate_type: Literal["urn:verifygate:benchmark:v1"] = Field(alias="predicateType")
    predicate: Predicate

    @property
    def files(self) -> dict[str, str]:
        """Path -> sha256."""
        return {each.name: each.digest.sha256 for each in self.subject}


def stated(files: dict[str, str], predicate: Predicate) -> Statement:
    """The statement that `files` (path -> sha256) gave what the predicate says."""
    subject = tuple(Subject(name=name, digest=Digest(sha256=files[name])) for name in sorted(files))
    return Statement(type=STATEMENT_TYPE, subject=subject, predicate_type=PREDICATE_TYPE, predicate=predicate)


def written(statement: Statement) -> bytes:
    """The statement as it is stored, and signed: the same bytes for the same statement."""
    document = masked_model(statement).model_dump(mode="json", by_alias=True)
    return (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()


def read(document: Any) -> Statement:
    """The statement that a JSON document holds. Raises DocumentError."""
    try:
        statement = Statement.model_validate_json(json.dumps(document), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        told = f"`{where}`: {first['msg']}" if where else first["msg"]
        raise DocumentError(f"no record: {told}") from None
    if len(statement.files) != len(statement.subject):
        raise DocumentError("no record: a file is named twice")
    return statement


def utc(moment: dt.datetime) -> str:
    """A moment as people and records write it."""
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")
