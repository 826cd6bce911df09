"""A report as the Markdown templates see it: what returns Markup has been escaped and is printed as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from verifygate.model import (
    IN_FULL,
    Check,
    Evidence,
    Finding,
    Reason,
    Report,
    StageDetails,
    StageResult,
    Status,
    Verdict,
)
from verifygate.report import escape
from verifygate.report.view import View
from verifygate.stage_registry import STAGES

_QUIET = (Status.PASS, Verdict.PASS, Status.NOT_APPLICABLE)


def evidence_id(finding: Finding) -> str:
    """A short name for a finding that stays when lines move."""
    return f"E-{finding.rule}-{finding.fingerprint[:12]}"


class Page(View):
    """A report, read for one page: links, and the words that all pages share."""

    most = IN_FULL
    """Rows of one table: GitHub shows no page above half a megabyte. `report.json` always holds all."""
    most_places = 20
    """Further locations of one finding."""

    def __init__(self, report: Report, prefix: str) -> None:
        super().__init__(report)
        self._prefix = prefix
        self._nothing: list[str] = []

    def link(self, path: str | None, line: int | None = None) -> Markup:
        """A link to the line, or a word that says there is no line to look at."""
        return Markup(escape.md_link(path, line or None, self._prefix)) if path else Markup("no single line")  # noqa: S704

    def place(self, reason: Reason) -> Markup:
        return self.link(reason.path, reason.line) if reason.path else self._stage_link(reason.stage)

    def page_link(self, title: str, file: str) -> Markup:
        """A link to another page of the report, by the template's own words."""
        return Markup(f"[{title}]({file})")  # noqa: S704 - a template wrote both

    def _stage_link(self, name: str) -> Markup:
        return Markup(f"[{name}]({name}.md)") if name in STAGES else Markup(escape.md_text(name))  # noqa: S704

    def status(self, status: Status | Verdict) -> Markup:
        """The word itself, loud when it is not good news: nothing hangs on a colour or a picture."""
        return Markup(status.value if status in _QUIET else f"**{status.value}**")  # noqa: S704

    def answer(self, check: Check) -> Markup:
        """The status of a check, with the waiver that covers it."""
        waiver = self.waiver(check)
        note = "" if check.required else ", not required"
        if waiver:
            note = f", waived until {waiver.expires}"
        elif check.inherited:
            note = ", so before this change"
        return self.status(check.status) + note

    def proof(self, evidence: Sequence[Evidence]) -> Markup:
        """Each piece of evidence on a line of its own in a table cell."""
        shown = (
            f"{escape.md_code(e.id)} {e.kind.value}: {escape.md_prose(e.summary)}"
            + (f" {self.link(e.path, e.line)}" if e.path else "")
            for e in evidence
        )
        return Markup("<br>".join(shown) or "none")  # noqa: S704

    def short_ids(self, checks: Sequence[Check]) -> Markup:
        """Their ids without the stage, which the page is about."""
        return Markup(", ".join(escape.md_code(check.id.partition(".")[2] or check.id) for check in checks))  # noqa: S704

    # --- sections

    def section(self, title: str, why: str = "", *, caller: Callable[[], str]) -> Markup:
        """A section with what `caller` writes; where that is nothing, the end of the page names it, with the reason.

        Title and reason are the template's own words.
        """
        text = Markup(caller().strip())  # noqa: S704 - a template wrote it
        if text:
            return Markup("## {}\n\n{}\n").format(title, text)
        self._nothing.append(f"{title} ({why})" if why else title)
        return Markup("")

    @property
    def nothing_under(self) -> Markup:
        """The sections that there is nothing to say in: so nobody has to wonder whether they were forgotten."""
        return Markup(f"Nothing under: {', '.join(self._nothing)}.") if self._nothing else Markup("")  # noqa: S704


class StagePage(Page):
    """A report, read for the page of one stage."""

    def __init__(self, report: Report, prefix: str, name: str) -> None:
        super().__init__(report, prefix)
        self.result: StageResult | None = self.stage(name)
        """Of the stage; None where it was not asked for."""

    @property
    def details(self) -> StageDetails | None:
        return self.result.details if self.result else None
