"""What the page of the execution stage shows."""

from __future__ import annotations

from collections import Counter

from verifygate.model import Finding, FunctionCoverage, TestOutcome
from verifygate.report.pages.page import StagePage

_OUTCOMES = ("passed", "failed", "error", "started", "flaky", "skipped", "xfailed", "xpassed")
"""In the order of the summary; `started` is a test in which the run died."""
LONGEST = 3


class ExecutionPage(StagePage):
    """The tests that a person has to read about, and the AMP code that no test executes."""

    @property
    def with_own_findings(self) -> tuple[Finding, ...]:
        return self.result.findings if self.result else ()

    @property
    def own_findings(self) -> list[Finding]:
        """Those that the source does not show: the page of the static stage tells the others."""
        static = self.stage("static")
        told = {finding.fingerprint for finding in static.findings} if static else set()
        return [finding for finding in self.with_own_findings if finding.fingerprint not in told]

    @property
    def tests_to_read(self) -> list[tuple[str, list[TestOutcome]]]:
        """Those that did not pass, by outcome."""
        tests = self.execution.tests
        groups = [(outcome, [test for test in tests if test.outcome == outcome]) for outcome in _OUTCOMES[1:]]
        return [(outcome, group) for outcome, group in groups if group]

    @property
    def passed_tests(self) -> list[TestOutcome]:
        return [test for test in self.execution.tests if test.outcome == "passed"]

    @property
    def longest(self) -> list[TestOutcome]:
        """The passed tests that took longest."""
        return sorted(self.passed_tests, key=lambda test: -(test.seconds or 0))[:LONGEST]

    @property
    def unexecuted(self) -> list[FunctionCoverage]:
        """The functions with AMP code that no test executes, or only with CUDA emulated; the former first."""
        silent = [function for function in self.execution.functions if not function.tests]
        return sorted(silent, key=lambda function: bool(function.emulated))

    @property
    def outcomes(self) -> str:
        counts: Counter[str] = Counter(test.outcome for test in self.execution.tests)
        return ", ".join(f"{counts[outcome]} {outcome}" for outcome in _OUTCOMES if counts[outcome])
