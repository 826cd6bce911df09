"""What a person said of the blocking findings, having read the source: true, harmless or false, and why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from verifygate.base.errors import UsageError
from verifygate.model import Model
from verifygate.quality.primer.pins import Pin

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


class Judge:
    """Finds the judgement of a finding: by its fingerprint, or by its line in the same version of the package."""

    def __init__(self, judgements: list[Judgement]) -> None:
        self._all = judgements
        self._by_fingerprint = {(each.package, each.rule, each.fingerprint): each for each in judgements}
        self._by_line = {(each.package, each.version, each.rule, each.path, each.line): each for each in judgements}

    def of(self, pin: Pin, finding: dict[str, Any]) -> Judgement | None:
        """The judgement of a finding, None where nobody has judged it."""
        rule = finding["rule"]
        line = (pin.name, pin.version, rule, finding["path"], finding["line"])
        return self._by_line.get(line) or self._by_fingerprint.get((pin.name, rule, finding["fingerprint"]))

    def lost(self, pin: Pin, judged: Iterable[Judgement | None]) -> list[Judgement]:
        """The faults of a package that were judged true, and are not among those that block now."""
        found = [each for each in judged if each is not None]
        faults = [each for each in self._all if each.package == pin.name and each.judgement is Answer.TRUE]
        return [each for each in faults if each not in found]


def is_blocking(finding: dict[str, Any]) -> bool:
    """Whether a finding is certain, and critical or high: what has to be judged."""
    return finding["certainty"] == "certain" and finding["severity"] in ("critical", "high")


def tally(judged: list[Judgement | None]) -> dict[str, int]:
    """How many findings have which judgement; `unjudged` for those without one."""
    counts = Counter("unjudged" if each is None else each.judgement.value for each in judged)
    return {name: counts[name] for name in (*(answer.value for answer in Answer), "unjudged")}
