"""The formats that other programs read."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from report_sample import CLIP, HOSTILE, check_report, clean_report, execution, report, static

from verifygate.base.errors import UsageError
from verifygate.model import Check, Outcome, Report, Severity, StageResult, Status
from verifygate.report import sarif
from verifygate.report.formats import files_of, render, render_check, run_formats


def one(format: str, given: Report) -> str:  # noqa: A002
    """The only file of a format."""
    (content,) = render(given, format).values()
    return content


def test_files_of_formats_differ() -> None:
    """No format overwrites another's file."""
    names = [name for format in run_formats() for name in files_of(format)]  # noqa: A001
    assert len(names) == len(set(names))


def test_unknown_format_is_a_usage_error() -> None:
    """The message lists those that there are."""
    with pytest.raises(UsageError, match="md, json, html"):
        render(report(), "pdf")


def test_json_is_the_report() -> None:
    """What is written is what `from_json` reads."""
    assert Report.from_json(one("json", report())) == report()


def test_sarif_results() -> None:
    """Rule, level, place, path and a fingerprint that does not know the line."""
    run = json.loads(one("sarif", report()))["runs"][0]
    result = run["results"][0]
    assert (result["ruleId"], result["level"]) == ("AMP201", "error")
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "AMP201"
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 88, "startColumn": 9, "endLine": 88}
    assert result["properties"]["blocks"] is True
    assert result["partialFingerprints"] == {"verifygate/v1": CLIP.fingerprint}
    assert len(result["codeFlows"][0]["threadFlows"][0]["locations"]) == 4
    likely = next(each for each in run["results"] if each["ruleId"] == "AMP301")
    assert likely["level"] == "warning"  # likely, so not an error
    place = likely["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "demo/a%7Cb%20%3Cimg%3E.py"


def test_sarif_says_what_failed() -> None:
    """An errored stage and an unreadable file are in the invocation: an empty result list is not a clean bill."""
    invocation = json.loads(one("sarif", report()))["runs"][0]["invocations"][0]
    assert invocation["executionSuccessful"] is False
    texts = [note["message"]["text"] for note in invocation["toolExecutionNotifications"]]
    assert any("requirements stage could not run" in text for text in texts)
    assert any("not analysed: line 3: invalid syntax" in text for text in texts)


def test_sarif_fingerprint_survives_a_moved_line() -> None:
    """The same finding ten lines below is the same alert."""
    moved = replace(CLIP, line=98, end_line=98)
    stage = static().model_copy(update={"findings": (moved,)})
    run = json.loads(one("sarif", report((stage,), ())))["runs"][0]
    assert run["results"][0]["partialFingerprints"] == {"verifygate/v1": CLIP.fingerprint}


def test_sarif_keeps_the_worst_and_counts_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the limit, the worst stay and the total is exact."""
    monkeypatch.setattr(sarif, "MAX_RESULTS", 1)
    run = json.loads(one("sarif", report()))["runs"][0]
    assert [result["ruleId"] for result in run["results"]] == ["AMP201"]
    assert run["properties"]["findings"] == 3


def test_sarif_message_makes_no_link() -> None:
    """SARIF reads `[words](address)` as a link."""
    finding = replace(CLIP, message="[click](http://evil.example)")
    assert "](" not in sarif.render_check(check_report(finding))


def cases(text: str) -> dict[str, ET.Element]:
    return {case.get("name", ""): case for case in ET.fromstring(text).iter("testcase")}  # noqa: S314 - our own output


def marks(case: ET.Element) -> list[str]:
    return [child.tag for child in case]


def test_junit_has_a_case_for_each_check() -> None:
    """PASS alone is unmarked; a failure is what blocks; what does not is skipped, and says why."""
    found = cases(one("junit", report()))
    assert marks(found["execution.session"]) == []
    assert marks(found["execution.tests-pass"]) == ["failure"]
    assert marks(found["execution.required-tests"]) == ["failure"]
    assert marks(found["static.AMP201"]) == ["failure"]  # by the finding that blocks
    assert marks(found["performance.memory"]) == ["skipped"]
    assert "waived until 2026-12-31 by ann" in str(found["performance.memory"][0].get("message"))
    assert marks(found["static.AMP216"]) == ["skipped"]
    assert "(not required)" in str(found["static.AMP216"][0].get("message"))
    assert marks(found["requirements.completed"]) == ["error"]


def test_junit_shows_the_verdict() -> None:
    """A reader that only knows JUnit sees red for a BLOCK and green for a PASS."""
    assert marks(cases(one("junit", report()))["verdict"]) == ["failure"]
    assert marks(cases(one("junit", clean_report()))["verdict"]) == []
    assert marks(cases(one("junit", report((), ())))["verdict"]) == ["failure"]


def test_junit_counts_add_up() -> None:
    """The root's counts are the sums of the suites'; it has none of skipped cases, which its schema does not know."""
    root = ET.fromstring(one("junit", report()))  # noqa: S314 - our own output
    assert set(root.attrib) == {"name", "tests", "failures", "errors"}
    for attribute in ("tests", "failures", "errors"):
        assert int(root.get(attribute, "")) == sum(int(suite.get(attribute, "")) for suite in root)
    assert int(root.get("tests", "")) == len(list(root.iter("testcase")))
    assert all(int(suite.get("skipped", "")) == len(list(suite.iter("skipped"))) for suite in root)


def test_junit_names_stay_when_lines_move() -> None:
    """Servers follow a case by its name; two findings of one name are told apart."""
    moved = replace(CLIP, line=98, end_line=98)
    names = [list(cases(render_check(check_report(each), "junit"))) for each in (CLIP, moved)]
    assert names[0] == names[1] == ["AMP201 clip-before-unscale demo/train_step.py Trainer.train_step"]
    twice = list(cases(render_check(check_report(CLIP, moved), "junit")))
    assert twice == [names[0][0], f"{names[0][0]} #2"]


def test_junit_passes_a_note() -> None:
    """A finding that lets `check` end with 0 is told, and fails nothing."""
    note = replace(CLIP, severity=Severity.INFO)
    (case,) = cases(render_check(check_report(note), "junit")).values()
    assert marks(case) == ["system-out"]


def test_junit_survives_hostile_text() -> None:
    """Control characters are not XML, and markup is text."""
    check = Check(id=f"static.{HOSTILE}", title=HOSTILE + "\0\ufffe]]>", status=Status.FAIL, actual=HOSTILE)
    given = report((StageResult(stage="static", outcome=Outcome.COMPLETED, checks=(check,)),), ())
    assert any("forged" in name for name in cases(one("junit", given)))


def test_gitlab_lists_the_findings_once() -> None:
    """Two stages that report the same finding make one issue."""
    twice = execution().model_copy(update={"findings": (CLIP,)})
    issues = json.loads(one("gitlab", report((twice, static()))))
    assert [issue["fingerprint"] for issue in issues].count(CLIP.fingerprint) == 1
    assert issues[0]["severity"] == "blocker"
    assert issues[0]["location"] == {"path": "demo/train_step.py", "lines": {"begin": 88, "end": 88}}


class _Page(HTMLParser):
    """Checks that tags close in order, and notes what the page would fetch or run."""

    VOID = ("meta", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "img", "iframe", "link", "object")
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "srcset")]
        self.links += [value or "" for name, value in attrs if name == "href"]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def page(given: Report) -> _Page:
    reader = _Page()
    reader.feed(one("html", given))
    reader.close()
    assert not reader.open
    return reader


@pytest.mark.parametrize("given", [report(), clean_report(), report((), ())], ids=["bad", "clean", "empty"])
def test_html_stands_alone(given: Report) -> None:
    """Well formed, nothing fetched, nothing run; links lead into the page or into the project."""
    reader = page(given)
    for link in reader.links:
        assert link.startswith(("../../", "#"))
        assert not link.startswith("#") or link[1:] in reader.ids
    assert len(reader.ids) == len(set(reader.ids))


def test_html_says_it_in_words() -> None:
    """The verdict, the waiver and NOT MEASURED are words: colour is never the only sign."""
    text = " ".join(page(report()).text.split())
    assert "BLOCK, score 25.50 of 100.00" in text
    assert "NOT MEASURED , waived until 2026-12-31" in text or "NOT MEASURED, waived until 2026-12-31" in text
    assert "1.721 x (95 % interval 1.65 to 1.8), n = 5 per arm, on NVIDIA H200, measured" in text
    assert "verifygate run --report-dir reports/latest" in text


def test_html_tells_an_own_policy_first_and_folds_what_passes() -> None:
    """A deviation stands above the stages; the rows that a reader can skip are there, folded."""
    content = one("html", report())
    first = content[: content.index('<th scope="col">Stage</th>')]
    assert "<code>verdict.block</code> is critical (default: critical, high)" in first
    assert "static.select" not in first
    assert "Not the default policy" not in one("html", report().model_copy(update={"policy": ()}))
    stage = report().stages[1]
    passed = next(check for check in stage.checks if check.status is Status.PASS)
    many = tuple(passed.model_copy(update={"id": f"static.X{n}"}) for n in range(13))
    folded = one("html", report((stage.model_copy(update={"checks": (*stage.checks, *many)}),), ()))
    assert "<summary>14 checks with PASS</summary>" in folded
    assert all(check.id in folded for check in many)


def test_html_is_made_for_a_phone() -> None:
    """It has a viewport, and wide tables scroll by themselves."""
    content = one("html", report())
    assert 'name="viewport"' in content
    assert content.count("<table") == len(re.findall(r'<div class="wide" [^>]+><table', content))


def test_html_hostile_names_are_words() -> None:
    """Neither markup nor template syntax in a name is obeyed."""
    content = one("html", report())
    assert "<script" not in content
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in content
    assert "{{ 7 * 7 }}" in content
    assert "\u202e" not in content
