"""What a person said of the blocking findings, having read the source: true, harmless or false, and why."""

from __future__ import annotations

import json
from enum import StrEnum
from importlib import resources
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from verifygate.base.errors import UsageError
from verifygate.model import Model

LIST = "judgements.json"


class Answer(StrEnum):
    """TRUE: a fault as described; HARMLESS: as described, but nothing goes wrong there; FALSE: not as described."""

    TRUE = "true"
    HARMLESS = "harmless"
    FALSE = "false"


class Judgement(Model):
    """One finding of a package, judged."""

    package: str
    version: str
    rule: str
    path: str
    line: int
    fingerprint: str
    judgement: Answer
    why: str


def read_judgements(path: Path | None = None) -> list[Judgement]:
    """The judgements of a file, or those that come with the gate. Raises UsageError."""
    where = path or resources.files(__package__).joinpath(LIST)
    try:
        return TypeAdapter(list[Judgement]).validate_python(json.loads(where.read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(
            f"cannot be read: {error.strerror}", where=str(path), remedy="name a list of judgements"
        ) from None
    except (json.JSONDecodeError, ValidationError) as error:
        problem = f"not a list of judgements: {str(error).splitlines()[0]}"
        raise UsageError(problem, where=str(path or LIST), remedy="see the page on the primer") from None
