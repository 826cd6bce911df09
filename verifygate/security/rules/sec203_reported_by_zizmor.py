"""zizmor reports a workflow that hands out a token, or runs what others can change.

## Why is this bad
The analyser's own page of each pattern says so; the message names the pattern.

## Impact
As its page says; this gate has proven none of it, so no finding is *certain*, and none blocks by itself.

## What is looked at
The workflows in `.github/workflows`, offline. Findings of medium and high severity of which zizmor is at least fairly
confident.

## References
- https://docs.zizmor.sh/audits/
"""

from __future__ import annotations

from verifygate.model import Severity
from verifygate.security.rule import SecurityRule

RULE = SecurityRule(
    code="SEC203",
    name="reported-by-zizmor",
    severity=Severity.MEDIUM,
    summary="zizmor reports a workflow that hands out a token, or runs what others can change",
    remedy="follow zizmor's page of the audit",
)
