"""The body of a comment on a pull request: what blocks, whose change it is, how to repair it; empty where all is well.

Who posts it looks for the marker in the first line, and replaces the comment that has it, or takes that away for an
empty body.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from verifygate.base.counts import counted
from verifygate.base.digests import digest_of
from verifygate.model import Edit, Finding, Report, Verdict
from verifygate.report import escape
from verifygate.report.filters import origin_words
from verifygate.report.issues import Issue, located, of_report
from verifygate.report.phrases import tally
from verifygate.report.quantities import points
from verifygate.report.rule_pages import rule_page
from verifygate.report.view import View

FILES = ("comment.md",)
MAX_BYTES = 60_000
"""GitHub takes 65,536 characters; the rest is for the last lines."""
MAX_PLACES = 5
MAX_FIXED = 10
_PLAIN = re.compile(r"[\w./-]+", re.ASCII)


def render(report: Report, _prefix: str = "") -> Mapping[str, str]:
    return {FILES[0]: _Comment(report).text()}


def marker(folder: str) -> str:
    """The first line, the same for every run of one project: `<!-- verifygate: services/trainer -->`."""
    if not folder:
        return "<!-- verifygate -->"
    safe = _PLAIN.fullmatch(folder) and "--" not in folder
    return f"<!-- verifygate: {folder if safe else digest_of(folder)[:16]} -->"


class _Comment:
    """The comment on one report."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._view = View(report)
        self._issues = of_report(self._view)
        self._left_out = 0

    def text(self) -> str:
        if not self._applies():
            return ""
        blocks = [issue for issue in self._issues if issue.blocks]
        beside = [issue for issue in self._issues if issue.is_new and not issue.blocks]
        sections = [*self._head(), *self._group(blocks)]
        if beside:
            sections.append(f"**New, and not blocking** ({tally([issue.finding for issue in beside])}):")
            sections += ["\n".join(f"- {self._line(issue)}" for issue in beside[:MAX_FIXED])]
            self._left_out += max(len(beside) - MAX_FIXED, 0)
        sections += self._since_then()
        return "\n\n".join([*self._fitting(sections), *self._foot()]) + "\n"

    def _applies(self) -> bool:
        changes = self._report.changes
        moved = bool(changes and (changes.new or changes.fixed or changes.removed or changes.suppressed))
        moved |= bool(changes and changes.precision)
        origin = self._report.policy_origin
        return self._report.verdict is not Verdict.PASS or moved or bool(origin and origin.differences)

    def _head(self) -> list[str]:
        report = self._report
        reasons = f", {counted(len(report.reasons), 'reason')}" if report.reasons else ""
        name = escape.md_text(report.project)
        head = f"### verifygate: {report.verdict}{reasons} ({name}, {points(report.score)} of 100)"
        told = [marker(report.provenance.folder), head]
        if report.policy_origin and report.policy_origin.differences:
            told.append(f"Policy: {escape.md_prose(origin_words(report.policy_origin))}.")
            differences = [
                f"{each.key}: {each.here} in this change, {each.there} there"
                for each in report.policy_origin.differences
            ]
            told += self._listed(differences)
        if report.changes and report.changes.precision:
            told += ["Moved in the precision contract:", *self._listed(report.changes.precision)]
        if report.changes and report.changes.suppressed:
            told += ["Suppressed by this change:", *self._listed(report.changes.suppressed)]
        return told

    def _listed(self, texts: Sequence[str]) -> list[str]:
        """One line for each, as many as are shown."""
        rows = [f"- {escape.md_text(each)}" for each in texts[:MAX_FIXED]]
        if (more := len(texts) - MAX_FIXED) > 0:
            rows.append(f"- and {more} more")
        return ["\n".join(rows)]

    def _group(self, blocks: Sequence[Issue]) -> list[str]:
        """What blocks: first what the change brings, then what nobody can tell, then what stood before."""
        titles = (
            ("This change brings", [issue for issue in blocks if issue.is_new]),
            ("Blocks", [issue for issue in blocks if issue.is_new is None]),
            ("Stood before this change, and blocks", [issue for issue in blocks if issue.is_new is False]),
        )
        sections = []
        for title, issues in titles:
            if issues:
                sections += [f"#### {title} ({len(issues)})", *(self._issue(issue) for issue in issues)]
        if blocks and self._report.changes is None:
            sections.append("Whether it came with this change is not known: `--since REVISION` tells.")
        return sections

    def _issue(self, issue: Issue) -> str:
        finding = issue.finding
        kind = f" ({finding.severity}, {finding.certainty})" if issue.of_rule else ""
        lines = [f"**{escape.md_text(issue.title)}**{kind} {self._place(finding.path, finding.line)}", ""]
        lines.append(escape.md_prose(finding.message))
        if page := rule_page(finding.rule) if issue.of_rule else None:
            lines += ["", f"Why such code matters: {escape.md_prose(page.why)}"]
        if finding.untested:
            lines += ["", f"Why the tests did not catch it: {escape.md_prose(finding.untested)}"]
        lines += [
            f"- {self._place(each.path, each.line)} {escape.md_text(each.text)}" for each in finding.places[:MAX_PLACES]
        ]
        if (more := len(finding.places) - MAX_PLACES) > 0:
            lines.append(f"- and {more} more")
        if finding.remedy:
            lines += ["", f"To do: {escape.md_prose(finding.remedy)}"]
        lines += self._suggestions(finding)
        return "\n".join(lines)

    def _suggestions(self, finding: Finding) -> Iterable[str]:
        """The lines of a fix that is proven, where they survive being shown as they are; never one part of several."""
        if len(finding.edits) != 1:
            if finding.edits:
                yield from ("", "`verifygate fix` writes it, in several places; a new scan proved it.")
            return
        (edit,) = finding.edits
        if escape.lines(edit.text) != edit.text:
            return
        where = f"line {edit.line}" if edit.line == edit.end_line else f"lines {edit.line} to {edit.end_line}"
        link = self._place(edit.path, edit.line)
        yield from ("", f"In place of {where} ({link}), proven by a new scan:", "", _fence(edit))

    def _line(self, issue: Issue) -> str:
        finding = issue.finding
        kind = f"({finding.severity}, {finding.certainty})"
        return f"{self._place(finding.path, finding.line)} {escape.md_text(issue.title)} {kind}"

    def _since_then(self) -> list[str]:
        changes = self._report.changes
        if changes is None:
            return []
        counts = ", ".join(f"{len(findings)} {title}" for title, findings in changes.groups() if findings)
        told = [f"Against {escape.md_prose(changes.against)}: {counts or 'no finding then or now'}."]
        if changes.fixed:
            fixed = [located(each, self._report.provenance.folder) for each in changes.fixed[:MAX_FIXED]]
            rows = [
                f"- fixed: {escape.md_text(f'{each.rule} {each.name}')} in {escape.md_code(each.path)}"
                for each in fixed
            ]
            if (more := len(changes.fixed) - MAX_FIXED) > 0:
                rows.append(f"- and {more} more")
            told.append("\n".join(rows))
        return told

    def _fitting(self, sections: Iterable[str]) -> list[str]:
        """The first sections, as many as the comment holds; what does not fit is counted."""
        kept: list[str] = []
        size = 0
        for section in sections:
            size += len(section.encode()) + 2
            if size <= MAX_BYTES:
                kept.append(section)
            elif section.startswith("**"):  # an issue, and no heading
                self._left_out += 1
        return kept

    def _foot(self) -> list[str]:
        report = self._report
        more = [f"And {self._left_out} more, in the report."] if self._left_out else []
        commit, plus, changed = report.provenance.commit.partition("+")
        at = escape.md_code(f"{commit[:12]}{plus}{changed}")
        return [*more, f"<sub>verifygate {escape.md_text(report.provenance.tool_version)} at {at}</sub>"]

    def _place(self, path: str, line: int) -> str:
        """A link that works wherever the comment is read; the bare place where no address is known."""
        address = self._report.run.permalink
        return escape.md_link(path, line, address) if address else escape.md_code(f"{path}:{line}")


def _fence(edit: Edit) -> str:
    """The lines as they are: `md_fence` would take away blank ones at the ends."""
    ticks = "`" * max(3, max((len(run) for run in re.findall("`+", edit.text)), default=0) + 1)
    return f"{ticks}suggestion\n{edit.text.removesuffix(chr(10))}\n{ticks}"
