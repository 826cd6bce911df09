"""Which judgement a finding of a pinned package has, and what of the judged is no longer found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from primer.pins import Pin
from verifygate.quality.judgements import Answer, Judgement


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
