"""bandit reports a pattern that lets data run as code, or a shell or a server be trusted blindly.

## Why is this bad
The analyser's own page of each pattern says so; the message names the pattern.

## Impact
As its page says; this gate has proven none of it, so no finding is *certain*, and none blocks by itself.

## What is looked at
The files that are no tests, with bandit's tests B102,B301,B302,B307,B323,B501,B506,B602,B605,B609. The severity is
bandit's. A configuration of bandit in the tree is not read; `# nosec` comments are.

## References
- https://bandit.readthedocs.io/
"""

from __future__ import annotations

from verifygate.model import Severity
from verifygate.security.rule import SecurityRule

RULE = SecurityRule(
    code="SEC201",
    name="reported-by-bandit",
    severity=Severity.MEDIUM,
    summary="bandit reports a pattern that lets data run as code, or a shell or a server be trusted blindly",
    remedy="follow bandit's page of the pattern; `# nosec` with its code silences one place",
)
