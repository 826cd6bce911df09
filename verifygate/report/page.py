"""A report as the Markdown templates see it: what returns Markup has been escaped and is printed as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from verifygate.model import (
    Calculation,
    Certainty,
    Check,
    Construct,
    Evidence,
    Finding,
    Link,
    Measurement,
    Outcome,
    Reason,
    Report,
    RequirementResult,
    StageResult,
    Status,
    TestOutcome,
    Verdict,
    WaiverState,
    WaiverUse,
)
from verifygate.report import escape
from verifygate.report.view import View, number, spread
from verifygate.stage_registry import STAGES

_QUIET = (Status.PASS, Verdict.PASS, Status.NOT_APPLICABLE)
_OUTCOMES = ("passed", "failed", "error", "started", "flaky", "skipped", "xfailed", "xpassed")
"""In the order of the page; `started` is a test in which the run died."""
_RARE = ("error", "started", "flaky", "xpassed")
"""Outcomes that have a section only where a test had them."""


@dataclass(frozen=True)
class Action:
    """One thing to do, however many reasons ask for it."""

    reason: Reason
    text: str
    more: int
    """How many other places need the same."""


def evidence_id(finding: Finding) -> str:
    """A short name for a finding that stays when lines move."""
    return f"E-{finding.rule}-{finding.fingerprint[:12]}"


class Page(View):
    """A report, read for Markdown."""

    most = 200
    """Rows of one table: GitHub shows no page above half a megabyte. `report.json` always holds all."""

    def __init__(self, report: Report, prefix: str) -> None:
        super().__init__(report)
        self._prefix = prefix

    # --- words and links

    def link(self, path: str | None, line: int | None = None) -> Markup:
        """A link to the line, or a word that says there is no line to look at."""
        return Markup(escape.md_link(path, line or None, self._prefix)) if path else Markup("no single line")  # noqa: S704

    def place(self, reason: Reason) -> Markup:
        return self.link(reason.path, reason.line) if reason.path else self._stage_link(reason.stage)

    def page_of(self, stage: StageResult) -> Markup:
        return self._stage_link(stage.stage)

    def _stage_link(self, name: str) -> Markup:
        return Markup(f"[{name}]({name}.md)") if name in STAGES else Markup(escape.md_text(name))  # noqa: S704

    def status(self, status: Status | Verdict) -> Markup:
        """The word itself, loud when it is not good news: nothing hangs on a colour or a picture."""
        return Markup(status.value if status in _QUIET else f"**{status.value}**")  # noqa: S704

    def stage_verdict(self, stage: StageResult) -> Markup:
        if stage.outcome is Outcome.NOT_APPLICABLE or stage.verdict is None:
            return Markup("NOT APPLICABLE")
        return self.status(stage.verdict) + (" (errored)" if stage.outcome is Outcome.ERRORED else "")

    def answer(self, check: Check) -> Markup:
        """The status of a check, with the waiver that covers it."""
        waiver = self.waiver(check)
        note = f", waived until {waiver.expires}" if waiver else "" if check.required else ", not required"
        return self.status(check.status) + note

    def proof(self, evidence: Sequence[Evidence]) -> Markup:
        """Each piece of evidence on a line of its own in a table cell."""
        shown = (
            f"{escape.md_code(e.id)} {e.kind.value}: {escape.md_prose(e.summary)}"
            + (f" {self.link(e.path, e.line)}" if e.path else "")
            for e in evidence
        )
        return Markup("<br>".join(shown) or "none")  # noqa: S704

    def waiver_state(self, use: WaiverUse) -> Markup:
        return Markup(use.state.value if use.state is WaiverState.IN_FORCE else f"**{use.state.value}**")  # noqa: S704

    # --- what to do

    def reasons_of(self, stage: StageResult | None) -> list[Reason]:
        return [reason for reason in self.report.reasons if stage and reason.stage == stage.stage]

    def required_actions(self, stage: StageResult | None = None) -> list[Action]:
        """What has to be done before a PASS (of one stage, or of all), each thing once, in the order of the reasons."""
        by_text: dict[str, list[Reason]] = {}
        for reason in self.reasons_of(stage) if stage else self.report.reasons:
            by_text.setdefault(reason.action or reason.text, []).append(reason)
        return [Action(reasons[0], text, len(reasons) - 1) for text, reasons in by_text.items()]

    @property
    def files_to_fix(self) -> list[tuple[str, int]]:
        """Path and first line of every file that a finding names."""
        places = sorted((finding.path, finding.line) for finding in self.findings)
        return [next(group) for _, group in groupby(places, key=lambda place: place[0])]

    @property
    def devices(self) -> list[str]:
        return sorted({m.device for stage in self.report.stages for m in stage.measurements})

    # --- execution

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

    # --- static

    @property
    def constructs_by_file(self) -> list[tuple[str, list[Construct]]]:
        constructs = sorted(self.static.constructs, key=lambda c: (c.path, c.line, c.kind))
        return [(path, list(group)) for path, group in groupby(constructs, key=lambda c: c.path)]

    def with_details(self, findings: Sequence[Finding]) -> list[Finding]:
        return [finding for finding in findings if finding.details]

    def likely(self, findings: Sequence[Finding]) -> list[Finding]:
        return [finding for finding in findings if finding.certainty is Certainty.LIKELY]

    # --- requirements

    def with_status(self, requirements: Sequence[RequirementResult], status: str) -> list[RequirementResult]:
        return [requirement for requirement in requirements if requirement.status == status]

    def in_group(self, group: str) -> list[RequirementResult]:
        return [requirement for requirement in self.requirements.requirements if requirement.group == group]

    @property
    def gaps(self) -> list[RequirementResult]:
        settled = (Status.PASS, Status.NOT_APPLICABLE)
        return [requirement for requirement in self.requirements.requirements if requirement.status not in settled]

    def answers(self, requirement: RequirementResult) -> Markup:
        """Every query with its answer and its evidence, one on a line."""
        rows = (
            f"{self.status(query.status)} {escape.md_prose(query.query)}: {escape.md_prose(query.actual)}"
            + (f"<br>{self.proof(query.evidence)}" if query.evidence else "")
            for query in requirement.queries
        )
        return Markup("<br>".join(rows) or "none")  # noqa: S704

    def code_links(self, requirement: RequirementResult) -> Markup:
        """The linked symbols with what links them; then the functions that its tests go through, counted.

        A report from before there were links has `path:line symbol`, shown as a link to the line.
        """
        linked = [link for link in requirement.links if link.role == "code" and link.by]
        if not linked:
            return Markup("<br>".join(self._code_link(code) for code in requirement.code) or "none")  # noqa: S704
        shown = [self._linked(link) for link in linked]
        executed = len(set(requirement.code) - {code for code in requirement.code if self._is_linked(code, linked)})
        if executed:
            shown.append(escape.md_text(f"and {executed} more that its tests execute"))
        return Markup("<br>".join(shown))  # noqa: S704

    def _linked(self, link: Link) -> str:
        name = link.symbol.rpartition("::")[2]
        loud = f" **{link.state.value}**" if link.state.is_suspect else ""
        return f"{self.link(link.path, link.line)} {escape.md_code(name)} ({escape.md_text(', '.join(link.by))}){loud}"

    def _is_linked(self, code: str, links: Sequence[Link]) -> bool:
        path, _, line = code.partition(" ")[0].rpartition(":")
        return line.isdecimal() and any(link.path == path and link.line <= int(line) <= link.end_line for link in links)

    def _code_link(self, code: str) -> str:
        place, _, symbol = code.partition(" ")
        path, _, line = place.rpartition(":")
        if not path or not line.isdecimal():
            return escape.md_code(code)
        return f"{self.link(path, int(line))} {escape.md_code(symbol)}".strip()

    def measured(self, ids: Sequence[str]) -> Markup:
        """Each measurement's id with its number."""
        readings = (f"{escape.md_code(m)} {escape.md_prose(self.reading_of(m) or 'not in this report')}" for m in ids)
        return Markup("<br>".join(readings) or "none")  # noqa: S704

    def calculated(self, calculation: Calculation) -> str:
        """The value as it was reported, and as the samples give it."""
        told = self.reading_of(calculation.measurement)
        if told and calculation.recomputed is not None:
            told += f"; from the samples: {number(calculation.recomputed)}"
        failed = calculation.status is Status.FAIL and calculation.reason
        return (f"{told}; {calculation.reason}" if told and failed else told) or calculation.reason or "nothing"

    def inputs(self, calculation: Calculation) -> str:
        """How many samples there are, and the median of each arm."""
        found = self._measurements.get(calculation.measurement or "")
        medians = [f"{arm.name} {spread(arm)[1]} {arm.unit}" for arm in found.arms if arm.samples] if found else []
        return f"{calculation.inputs}; medians: {', '.join(medians)}" if medians else calculation.inputs

    # --- performance

    def sampled(self, stage: StageResult | None) -> list[Measurement]:
        """Measurements whose samples are in the report and worth a picture: rows of right and wrong are not."""
        measurements = stage.measurements if stage else ()
        return [m for m in measurements if any(arm.samples and arm.unit not in ("score", "steps") for arm in m.arms)]
