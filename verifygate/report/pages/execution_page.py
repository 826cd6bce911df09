"""What the page of the execution stage shows."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

from verifygate.model import TestOutcome
from verifygate.report.pages.page import StagePage

_OUTCOMES = ("passed", "failed", "error", "started", "flaky", "skipped", "xfailed", "xpassed")
"""In the order of the page; `started` is a test in which the run died."""
_RARE = ("error", "started", "flaky", "xpassed")
"""Outcomes that have a section only where a test had them."""


class ExecutionPage(StagePage):
    """Tests by outcome, and the files to fix."""

    @property
    def files_to_fix(self) -> list[tuple[str, int]]:
        """Path and first line of every file that a finding names."""
        places = sorted((finding.path, finding.line) for finding in self.findings)
        return [next(group) for _, group in groupby(places, key=lambda place: place[0])]

    @property
    def tests_by_outcome(self) -> list[tuple[str, list[TestOutcome]]]:
        """Every outcome that a person looks for, also where no test had it."""
        tests = self.execution.tests
        groups = [(outcome, [test for test in tests if test.outcome == outcome]) for outcome in _OUTCOMES]
        return [(outcome, group) for outcome, group in groups if group or outcome not in _RARE]

    @property
    def outcomes(self) -> str:
        counts: Counter[str] = Counter(test.outcome for test in self.execution.tests)
        return ", ".join(f"{counts[outcome]} {outcome}" for outcome in _OUTCOMES if counts[outcome])
