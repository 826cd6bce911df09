"""Which findings make `check` fail: all but notes, or those that `--fail-on SEVERITY[,certainty]` names."""

from __future__ import annotations

from typing import NamedTuple

from verifygate.base.errors import UsageError
from verifygate.model.finding import Certainty, Finding, Severity


class Threshold(NamedTuple):
    """The least that fails."""

    severity: Severity = Severity.LOW
    certainty: Certainty = Certainty.LIKELY

    def is_met_by(self, finding: Finding) -> bool:
        """Whether the finding fails: it does as much harm, and is as certain. A note never does."""
        if finding.is_note:
            return False
        if self.certainty is Certainty.CERTAIN and finding.certainty is not Certainty.CERTAIN:
            return False
        return finding.severity.rank <= self.severity.rank


AS_IN_RUN = Threshold(Severity.HIGH, Certainty.CERTAIN)
"""What blocks `run`, as long as `[verdict] block` is not set."""


def threshold(text: str) -> Threshold:
    """`high`, or `high,certain`, read; the default where it is empty. Raises UsageError."""
    if not text:
        return Threshold()
    severity, comma, certainty = (part.strip().lower() for part in text.partition(","))
    try:
        return Threshold(Severity(severity), Certainty(certainty) if comma else Certainty.LIKELY)
    except ValueError:
        raise UsageError(
            f"`{text}` is no severity with a certainty",
            where="--fail-on",
            remedy=f"write one of {', '.join(Severity)}; `,certain` behind it leaves out what is only likely",
        ) from None
