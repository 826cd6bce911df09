"""What `verifygate check` prints, in the format the caller asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType

from verifygate.base.counts import counted
from verifygate.base.errors import UsageError
from verifygate.model import Applicability, Certainty, Finding, Severity
from verifygate.model.check_report import CheckReport
from verifygate.model.json_document import text_of
from verifygate.report.escape import LONG, plain, workflow_data, workflow_property
from verifygate.report.phrases import advice, tally


def render_findings(report: CheckReport, format: str, asides: Sequence[str] = ()) -> str:  # noqa: A002 - the option's name
    """The whole output, ending in a line end. Raises UsageError for a format that there is not.

    `asides` stand behind the counts where people read them: what was suppressed, which rules were silent.
    """
    if format not in CHECK_FORMATS:
        raise UsageError(f"there is no output format `{format}`", remedy=f"the formats are {', '.join(CHECK_FORMATS)}")
    if format in FOR_PEOPLE:
        return FOR_PEOPLE[format](report, asides)
    return CHECK_FORMATS[format](report)


def text(report: CheckReport, asides: Sequence[str] = ()) -> str:
    """For people: a line to click on, what to do, and the way that leads there; the counts at the end."""
    blocks = [_block(finding) for finding in sorted(report.findings, key=lambda f: f.order)]
    return "".join(blocks) + _counts(report, asides) + "\n"


def _block(finding: Finding) -> str:
    where = f"{plain(finding.path, LONG)}:{finding.line}:{finding.column}"
    kind = f"[{finding.severity}, {finding.certainty}]"
    rows = [f"{where}: {finding.rule} {finding.name} {kind} {plain(finding.message, LONG)}"]
    if finding.remedy:
        rows.append(f"    remedy: {plain(finding.remedy, LONG)}")
    places = [f"{plain(step.path, LONG)}:{step.line}" for step in finding.steps]
    width = max(map(len, places), default=0)
    for count, (place, step) in enumerate(zip(places, finding.steps, strict=True), 1):
        rows.append(f"    {count:2}. {place:{width}}  {plain(step.text, LONG)}")
    rows += [f"    {plain(detail.label)}: {plain(', '.join(detail.values), LONG)}" for detail in finding.details]
    return "\n".join(rows) + "\n\n"


def _counts(report: CheckReport, asides: Sequence[str]) -> str:
    found = counted(len(report.findings), "finding")
    head = f"{found} ({tally(report.findings)})" if report.findings else "No findings"
    parts = [f"{head} in {counted(report.files_checked, 'file')}"]
    if report.not_analysed:
        parts.append(f"{counted(len(report.not_analysed), 'file')} not analysed")
    line = "; ".join([*parts, *_fixable(report.findings), *(plain(aside, LONG) for aside in asides)])
    return line if report.findings else f"{line}."


def _fixable(findings: Sequence[Finding]) -> list[str]:
    """How many findings `verifygate fix` would take care of, as `with_fixes` found out."""
    safe, unsafe = (sum(each.fix is kind for each in findings) for kind in (Applicability.SAFE, Applicability.UNSAFE))
    if safe:
        more = f", {unsafe} more with `--unsafe`" if unsafe else ""
        return [f"{safe} fixable with `verifygate fix`{more}"]
    return [f"{unsafe} fixable with `verifygate fix --unsafe`"] if unsafe else []


def as_json(report: CheckReport) -> str:
    from dataclasses import asdict

    return text_of(asdict(report))


def github(report: CheckReport, asides: Sequence[str] = ()) -> str:
    """Workflow commands that GitHub Actions turns into annotations of the lines; then the counts."""
    rows = [_annotation(finding) for finding in sorted(report.findings, key=lambda f: f.order)]
    for file in report.not_analysed:
        place = f"file={workflow_property(file.path, LONG)},title=not analysed"
        rows.append(f"::error {place}::{workflow_data(file.reason)}")
    return "\n".join([*rows, _counts(report, asides)]) + "\n"


def _annotation(finding: Finding) -> str:
    end = max(finding.line, finding.end_line)
    place = (
        f"file={workflow_property(finding.path, LONG)},line={finding.line},endLine={end},"
        f"col={max(finding.column, 1)},title={workflow_property(f'{finding.rule} {finding.name}')}"
    )
    return f"::{_command(finding)} {place}::{workflow_data(advice(finding))}"


def _command(finding: Finding) -> str:
    if finding.severity in (Severity.LOW, Severity.INFO):
        return "notice"
    harmful = finding.severity in (Severity.CRITICAL, Severity.HIGH)
    return "error" if harmful and finding.certainty is Certainty.CERTAIN else "warning"


def _loaded(name: str) -> Callable[[CheckReport], str]:
    """What a format's own module prints."""

    def render(report: CheckReport) -> str:
        text: str = import_module(f"verifygate.report.{name}").render_check(report)
        return text

    return render


CHECK_FORMATS: Mapping[str, Callable[[CheckReport], str]] = MappingProxyType(
    {
        "text": text,
        "json": as_json,
        "github": github,
        "gitlab": _loaded("gitlab"),
        "sarif": _loaded("sarif"),
        "junit": _loaded("junit"),
    }
)
"""A new format of `check` is a function and a line here; one that can write whole reports is loaded when asked for."""
FOR_PEOPLE = {"text": text, "github": github}
"""The formats that end in the counts."""
