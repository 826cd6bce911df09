"""Findings, rule pages and fixes as the protocol's objects.

Positions count lines from 0, and columns in the units that the client counts in: UTF-16 if it asks for nothing else,
where an emoji takes two.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from pathlib import Path

from lsprotocol import types
from pygls import uris

from verifygate.base.masking import masked
from verifygate.fix.draft import Draft
from verifygate.language_server.project import Answer
from verifygate.model import Certainty, Finding, Severity
from verifygate.sources.file import SourceFile, SourceUnreadableError
from verifygate.sources.tree import Sources
from verifygate.static.registry import load_rules

Units = Callable[[str], int]
"""How many of the client's units a text has."""
SOURCE = "verifygate"
_LINE_OF_ERROR = re.compile(r"line (\d+): ")
_LEVELS = {
    Severity.CRITICAL: types.DiagnosticSeverity.Error,
    Severity.HIGH: types.DiagnosticSeverity.Error,
    Severity.MEDIUM: types.DiagnosticSeverity.Warning,
    Severity.LOW: types.DiagnosticSeverity.Information,
    Severity.INFO: types.DiagnosticSeverity.Hint,
}
"""Of what is certain. What is only likely is a warning at most."""


def diagnostics(path: str, answer: Answer, uri_of: Callable[[str], str], units: Units) -> list[types.Diagnostic]:
    """What is to be shown in one file."""
    if (reason := answer.broken.get(path)) is not None:
        return [_not_analysed(reason)]
    shown = [_diagnostic(each, answer.sources, uri_of, units) for each in answer.findings(path)]
    return [*shown, *(_not_analysed(lost.reason) for lost in answer.report.not_analysed if lost.path == path)]


def _not_analysed(reason: str) -> types.Diagnostic:
    """Silence would mean that the file was looked at."""
    found = _LINE_OF_ERROR.match(reason)
    line = max(0, int(found[1]) - 1) if found else 0
    return types.Diagnostic(
        range=_range(line, 0, line, 1),
        message=masked(f"not analysed: {reason}"),
        severity=types.DiagnosticSeverity.Information,
        source=SOURCE,
    )


def _diagnostic(finding: Finding, sources: Sources, uri_of: Callable[[str], str], units: Units) -> types.Diagnostic:
    level = _LEVELS[finding.severity]
    if finding.certainty is not Certainty.CERTAIN:
        level = max(level, types.DiagnosticSeverity.Warning)
    remedy = f"\n{finding.remedy}" if finding.remedy else ""
    remedy += f"\nsettled by: {' or '.join(finding.settled_by)}" if finding.settled_by else ""
    return types.Diagnostic(
        range=range_of(finding, sources, units),
        message=masked(f"{finding.message} ({finding.certainty}){remedy}"),
        severity=level,
        code=finding.rule,
        source=SOURCE,
        related_information=[
            types.DiagnosticRelatedInformation(
                types.Location(uri_of(step.path), _range(step.line - 1, 0, step.line - 1, 1)), masked(step.text)
            )
            for step in finding.steps
        ],
    )


def range_of(finding: Finding, sources: Sources, units: Units) -> types.Range:
    """From where the finding begins to the end of the code on its last line."""
    first = _line(sources, finding.path, finding.line)
    last = _line(sources, finding.path, finding.end_line).rstrip()
    start = units(first[: finding.column - 1])
    end = units(last)
    if finding.end_line <= finding.line:
        end = max(end, start + 1)
    return _range(finding.line - 1, start, max(finding.line, finding.end_line) - 1, end)


def _line(sources: Sources, path: str, line: int) -> str:
    file = sources.get(path) or next((each for each in sources.configuration if each.path == path), None)
    try:
        lines = file.lines if file is not None else []
    except SourceUnreadableError:
        return ""
    return lines[line - 1] if 0 < line <= len(lines) else ""


def hover(path: str, at: types.Position, answer: Answer, units: Units) -> types.Hover | None:
    """The pages of the rules that are broken at a position."""
    here = [each for each in answer.findings(path) if _holds(range_of(each, answer.sources, units), at)]
    if not here:
        return None
    loaded = load_rules()
    rules = [loaded[code] for code in dict.fromkeys(each.rule for each in here)]
    pages = [f"# {each.rule.code} {each.rule.name} ({each.rule.severity})\n\n{each.docs.strip()}" for each in rules]
    text = types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(pages))
    return types.Hover(text, range_of(here[0], answer.sources, units))


def findings_in(path: str, where: types.Range, answer: Answer, units: Units) -> list[Finding]:
    """The findings of a file that a range touches."""
    ranges = ((each, range_of(each, answer.sources, units)) for each in answer.findings(path))
    return [each for each, own in ranges if own.start <= where.end and where.start <= own.end]


def code_action(
    draft: Draft, answer: Answer, document: types.OptionalVersionedTextDocumentIdentifier, units: Units
) -> types.CodeAction:
    """A proven fix as edits of the version that it was proven for."""
    (finding,) = draft.findings
    old = answer.sources.get(draft.path)
    assert old is not None  # noqa: S101 - the draft was made from it
    return types.CodeAction(
        title=f"Fix {finding.rule} {finding.name}",
        kind=types.CodeActionKind.QuickFix,
        is_preferred=True,
        edit=types.WorkspaceEdit(
            document_changes=[types.TextDocumentEdit(document, list(_edits(old, draft.data, units)))]
        ),
    )


def _edits(old: SourceFile, new: bytes, units: Units) -> Iterator[types.TextEdit]:
    """The lines that differ."""
    before, after = (_lines(file) for file in (old, SourceFile(old.path, new)))
    for tag, start, end, first, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            where = types.Range(_start_of(start, before, units), _start_of(end, before, units))
            yield types.TextEdit(where, "".join(after[first:last]))


def _lines(file: SourceFile) -> list[str]:
    """Lines with their ends, as Python and the protocol count them: no other character ends one."""
    return io.StringIO(file.text_with_ends, newline="").readlines()


def _start_of(line: int, lines: list[str], units: Units) -> types.Position:
    """Where a line begins; behind the last one, the end of the text."""
    if line < len(lines) or not lines or lines[-1].endswith(("\n", "\r")):
        return types.Position(line, 0)
    return types.Position(line - 1, units(lines[-1]))


def _holds(where: types.Range, at: types.Position) -> bool:
    return where.start <= at <= where.end


def _range(line: int, start: int, end_line: int, end: int) -> types.Range:
    return types.Range(types.Position(max(0, line), start), types.Position(max(0, end_line), end))


def relative(uri: str, root: Path) -> str | None:
    """The path of a document below a folder, as findings have it; None where it lies elsewhere."""
    path = uris.to_fs_path(uri)
    try:
        return Path(path).relative_to(root).as_posix() if path else None
    except ValueError:
        return None
