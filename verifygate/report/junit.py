"""JUnit XML: each check a case, and the verdict itself one too, so that no reader of it shows a BLOCK in green.

A failure is what blocks, and nothing else is one. Names hold no line numbers: servers follow a case by its name.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from typing import Literal

from verifygate.base.counts import counted
from verifygate.model import Check, Finding, Outcome, Report, StageResult, Status, Verdict
from verifygate.model.check_report import CheckReport
from verifygate.report.escape import LONG, plain, xml_text
from verifygate.report.issues import Issue, of_check
from verifygate.report.phrases import advice
from verifygate.report.view import View

_Mark = Literal["failure", "error", "skipped"]


FILES = ("junit.xml",)


def render(report: Report, _prefix: str = "") -> Mapping[str, str]:
    """One suite for the verdict and one for each stage."""
    view = View(report)
    root = ET.Element("testsuites", name="verifygate")
    gate = _suite(root, "verifygate.gate")
    case = _case(gate, "verdict")
    if report.verdict is not Verdict.PASS:
        reasons = "\n".join(f"{reason.condition}: {plain(reason.text, LONG)}" for reason in report.reasons)
        _mark(case, "failure", f"{report.verdict}, {counted(len(report.reasons), 'reason')}", reasons)
    for stage in report.stages:
        _stage_suite(_suite(root, f"verifygate.{stage.stage}"), stage, view)
    return {FILES[0]: _text(root)}


def render_check(report: CheckReport, _asides: Sequence[str] = ()) -> str:
    """One case for each finding and each file that could not be analysed, or one passing case."""
    root = ET.Element("testsuites", name="verifygate")
    suite = _suite(root, "verifygate.check")
    seen: dict[str, int] = {}
    for issue in of_check(report):
        name = _name(issue.finding)
        seen[name] = seen.get(name, 0) + 1
        case = _case(suite, name if seen[name] == 1 else f"{name} #{seen[name]}")
        _tell(case, issue)
    for file in report.not_analysed:
        _mark(_case(suite, f"analysed {file.path}"), "error", file.reason, "")
    if not len(suite):
        _case(suite, f"no findings in {counted(report.files_checked, 'file')}")
    return _text(root)


def _name(finding: Finding) -> str:
    """What stays when lines move: the rule, the file and the function."""
    return " ".join(filter(None, (finding.rule, finding.name, finding.path, finding.symbol)))


def _tell(case: ET.Element, issue: Issue) -> None:
    """A finding fails its case where it blocks; any other is told beside a case that passes."""
    if issue.blocks:
        _mark(case, "failure", issue.finding.message, _told(issue.finding))
    else:
        ET.SubElement(case, "system-out").text = xml_text(plain(advice(issue.finding), LONG))


def _stage_suite(suite: ET.Element, stage: StageResult, view: View) -> None:
    if stage.seconds is not None:
        suite.set("time", f"{stage.seconds:.3f}")
    if stage.outcome is Outcome.ERRORED:
        _mark(_case(suite, f"{stage.stage}.completed"), "error", stage.reason, "")
    if stage.outcome is Outcome.NOT_APPLICABLE:
        _mark(_case(suite, f"{stage.stage}.completed"), "skipped", stage.reason, "")
    blocking = _blocking(stage, view)
    for check in stage.checks:
        case = _case(suite, check.id)
        if check.status is Status.PASS:
            continue
        told = f"expected: {check.expected}\nactual: {view.actual(check)}\nremedy: {check.remedy}"
        mark: _Mark = "failure" if check.id in blocking else "skipped"
        _mark(case, mark, f"{check.status}{_note(check, view)}: {check.title}", told)


def _blocking(stage: StageResult, view: View) -> set[str]:
    """Ids of the checks that a reason to block is about, itself or by a finding of its rule."""
    reasons = view.reasons_of(stage.stage)
    grave = {reason.finding for reason in reasons if reason.finding}
    rules = {finding.rule for finding in stage.findings if finding.fingerprint in grave}
    return {reason.check for reason in reasons if reason.check} | {f"{stage.stage}.{rule}" for rule in rules}


def _note(check: Check, view: View) -> str:
    """Why what is not PASS does not block, where it does not."""
    waiver = view.waiver(check)
    if waiver:
        return f" (waived until {waiver.expires} by {waiver.owner}: {waiver.reason})"
    return "" if check.required else " (not required)"


def _told(finding: Finding) -> str:
    steps = [f"{step.path}:{step.line} {plain(step.text, LONG)}" for step in finding.steps]
    places = [f"also: {place.path}:{place.line} {plain(place.text, LONG)}" for place in finding.places]
    where = f"{finding.path}:{finding.line}:{finding.column}"
    kind = f"{where} {finding.severity}, {finding.certainty}"
    return "\n".join([kind, finding.remedy, *steps, *places])


def _suite(root: ET.Element, name: str) -> ET.Element:
    return ET.SubElement(root, "testsuite", name=name)


def _case(suite: ET.Element, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=suite.get("name", ""), name=xml_text(plain(name)))


def _mark(case: ET.Element, mark: _Mark, message: str, text: str) -> None:
    element = ET.SubElement(case, mark, message=xml_text(plain(message, LONG)))
    if text:
        element.text = xml_text(text)


def _text(root: ET.Element) -> str:
    """Serialise, with the counts that JUnit readers add up; the root has none of skipped ones in the schema."""
    counts = (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
    for element in (*root, root):
        cases = list(element.iter("testcase"))
        element.set("tests", str(len(cases)))
        for attribute, tag in counts if element is not root else counts[:2]:
            element.set(attribute, str(_count(cases, tag)))
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _count(cases: Sequence[ET.Element], tag: str) -> int:
    return sum(1 for case in cases if case.find(tag) is not None)
