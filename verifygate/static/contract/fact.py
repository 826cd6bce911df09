"""One fact of the contract: what a place says of an aspect, or that it could not be followed."""

from __future__ import annotations

from verifygate.base.records import record
from verifygate.model.precision_contract import Aspect

RULES = "rules"
FROZEN = "frozen"
"""What the value of weights says that are not trained, and so own no gradients."""
CONFIGURATION_RULES = "configuration rules"


@record(kw_only=True)
class Fact:
    """A value of an aspect at a line; one without a value is only a gap."""

    aspect: Aspect
    path: str
    line: int
    value: str = ""
    said_by: str = "code"
    note: str = ""
    condition: str = ""
    """Where it holds, if not in every run."""
    judged_by: str = ""
    gap: str = ""
    """What is not judged, or why the value is not known."""
    framework: str = ""
    """Whose configuration would fill the gap."""
