"""Properties of what is written: whatever a name, a message or a path holds, each format keeps it in its place."""

from __future__ import annotations

import json
import re
import unicodedata
from xml.etree import ElementTree as ET

from markdown_it import MarkdownIt

from verifygate.base.records import replace
from verifygate.model.check_report import CheckReport
from verifygate.model.finding import Certainty, Detail, Finding, PathStep, Place, Severity
from verifygate.model.source_facts import NotAnalysed
from verifygate.report import escape
from verifygate.report.formats import check_formats, render_check

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
_COMMAND = re.compile(r"::(?:error|warning|notice) file=([^,]*),(?:line=\d+,endLine=\d+,col=\d+,)?title=([^,:]*)::.*")
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn")


def hostile_texts(data: bytes) -> None:
    """A report in which every text is the input says in each format what it says with harmless ones."""
    text = data.decode("utf-8", "surrogatepass" if len(data) % 2 else "replace") if _decodes(data) else str(data)
    words = [part or "x" for part in (text.split("\x1f") + [text] * 4)[:5]]
    read_back(_report(*words))
    _cells(text)


def _decodes(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def _report(message: str, path: str, remedy: str, step: str, symbol: str) -> CheckReport:
    finding = Finding(
        rule="AMP201", name="clip-before-unscale", path=path, line=3, column=1, end_line=4,
        severity=Severity.CRITICAL, certainty=Certainty.CERTAIN, message=message, fingerprint="00ff00ff00ff00ff",
        remedy=remedy, steps=(PathStep(path=path, line=2, text=step),), snippet=step, symbol=symbol,
        details=(Detail(label="expected keys", values=(message, step)),),
        places=(Place(path=path, line=7, end_line=7, text=step),),
    )  # fmt: skip
    second = replace(finding, path=message, message=path, fingerprint="11ff00ff00ff00ff", severity=Severity.LOW)
    lost = NotAnalysed(path=path, reason=message, mentions_amp=True)
    return CheckReport(files_checked=2, findings=(finding, second), not_analysed=(lost,), not_followed=())


def read_back(report: CheckReport) -> None:
    """Each format of a check is read by a parser of its own, and holds each finding once."""
    for name in check_formats():
        text = render_check(report, name)
        text.encode()
        assert text.endswith("\n")
        _READERS[name](text, report)


def _json(text: str, report: CheckReport) -> None:
    assert len(json.loads(text)["findings"]) == len(report.findings)


def _sarif(text: str, report: CheckReport) -> None:
    (run,) = json.loads(text)["runs"]
    assert len(run["results"]) >= len(report.findings)
    known = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in run["results"]} <= known
    assert set(run) <= {"tool", "results", "invocations", "columnKind", "originalUriBaseIds", "artifacts",
                        "automationDetails", "properties", "versionControlProvenance"}, set(run)  # fmt: skip


def _junit(text: str, report: CheckReport) -> None:
    root = ET.fromstring(text)  # noqa: S314 - our own output
    cases = list(root.iter("testcase"))
    assert len(cases) == max(1, len(report.findings) + len(report.not_analysed))
    assert {element.tag for element in root.iter()} <= {
        "testsuites", "testsuite", "testcase", "failure", "error", "skipped", "system-out"
    }  # fmt: skip


def _github(text: str, report: CheckReport) -> None:
    """As the runner reads it: by line ends of any kind; a line of ours is a whole command, or no command."""
    lines = re.split("\r\n|\r|\n", text.removesuffix("\n"))
    commands = [line for line in lines if line.lstrip().startswith("::") or "##[" in line[:4]]
    assert len(commands) == len(report.findings) + len(report.not_analysed)
    assert all(_COMMAND.fullmatch(line) for line in commands), "a command that is not as it was meant"
    assert len(lines) >= len(commands)


def _gitlab(text: str, report: CheckReport) -> None:
    assert len(json.loads(text)) >= len(report.findings)


def _rdjson(text: str, report: CheckReport) -> None:
    assert len(json.loads(text)["diagnostics"]) >= len(report.findings)


def _text(text: str, report: CheckReport) -> None:
    assert not [each for each in text if unicodedata.category(each) in HIDDEN and each != "\n"], "a hidden character"
    heads = [line for line in text.split("\n") if re.search(r" [A-Z]+\d+ [\w-]+ \[", line) and not line.startswith(" ")]
    assert len(heads) >= len(report.findings)


_READERS = {
    "json": _json, "sarif": _sarif, "junit": _junit, "github": _github, "gitlab": _gitlab, "rdjson": _rdjson,
    "text": _text,
}  # fmt: skip


def _cells(text: str) -> None:
    """In a table, a list and a paragraph of Markdown the text is text, whatever stands around it."""
    for shown in (escape.md_text(text), escape.md_prose(text), escape.md_code(text)):
        tokens = MARKDOWN.parse(f"| a | b |\n|---|---|\n| {shown} | PASS |\n")
        assert [token.type for token in tokens].count("td_open") == 2
        cells = [token.content for token in tokens if token.type == "inline"]
        assert cells[-1] == "PASS"
        assert len(cells) == 4
    kinds = [token.type for token in MARKDOWN.parse(f"- {escape.md_text(text) or 'x'}\n\n{escape.md_fence(text)}\n\nx")]
    assert kinds == [
        "bullet_list_open", "list_item_open", "paragraph_open", "inline", "paragraph_close", "list_item_close",
        "bullet_list_close", "fence", "paragraph_open", "inline", "paragraph_close",
    ], kinds  # fmt: skip
    assert not re.search("[<>\"']", escape.html_text(text))
    element = ET.Element("a", b=escape.xml_text(text))
    element.text = escape.xml_text(text)
    ET.fromstring(ET.tostring(element))  # noqa: S314 - our own output
