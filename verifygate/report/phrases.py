"""Findings in a few words: what they come to, and what each asks for."""

from __future__ import annotations

from collections.abc import Sequence

from verifygate.model import Finding, Severity


def advice(finding: Finding) -> str:
    """Message and remedy in one line, for readers that have room for one."""
    return f"{finding.message}; remedy: {finding.remedy}" if finding.remedy else finding.message


def tally(findings: Sequence[Finding]) -> str:
    """`1 critical, 1 high`: the severities that occur, worst first."""
    counts = [(severity, sum(1 for f in findings if f.severity is severity)) for severity in Severity]
    return ", ".join(f"{count} {severity}" for severity, count in counts if count)
