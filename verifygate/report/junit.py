"""JUnit XML: each check a case, and the verdict itself one too, so that no reader of it shows a BLOCK in green."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from typing import Literal

from verifygate.base.counts import counted
from verifygate.model import Check, Finding, Outcome, Report, StageResult, Status, Verdict
from verifygate.model.check_report import CheckReport
from verifygate.report.escape import LONG, plain, xml_text
from verifygate.report.view import View

_Mark = Literal["failure", "error", "skipped"]


FILES = ("junit.xml",)


def render(report: Report, _prefix: str = "") -> Mapping[str, str]:
    """One suite for the verdict and one for each stage."""
    view = View(report)
    root = ET.Element("testsuites", name="verifygate")
    gate = _suite(root, "verifygate.gate")
    case = _case(gate, "verifygate.gate", "verdict")
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
    for finding in sorted(report.findings, key=lambda f: f.order):
        name = f"{finding.rule} {finding.name} {finding.path}:{finding.line}"
        _mark(_case(suite, "verifygate.check", name), "failure", finding.message, _told(finding))
    for file in report.not_analysed:
        _mark(_case(suite, "verifygate.check", f"analysed {file.path}"), "error", file.reason, "")
    if not len(suite):
        _case(suite, "verifygate.check", f"no findings in {counted(report.files_checked, 'file')}")
    return _text(root)


def _stage_suite(suite: ET.Element, stage: StageResult, view: View) -> None:
    if stage.seconds is not None:
        suite.set("time", f"{stage.seconds:.3f}")
    if stage.outcome is Outcome.ERRORED:
        _mark(_case(suite, suite.get("name", ""), f"{stage.stage}.completed"), "error", stage.reason, "")
    if stage.outcome is Outcome.NOT_APPLICABLE:
        _mark(_case(suite, suite.get("name", ""), f"{stage.stage}.completed"), "skipped", stage.reason, "")
    for check in stage.checks:
        case = _case(suite, suite.get("name", ""), check.id)
        if (mark := _mark_of(check, waived=view.waiver(check) is not None)) is not None:
            told = f"expected: {check.expected}\nactual: {view.actual(check)}\nremedy: {check.remedy}"
            waiver = view.waiver(check)
            note = f" (waived until {waiver.expires} by {waiver.owner}: {waiver.reason})" if waiver else ""
            _mark(case, mark, f"{check.status}{note}: {check.title}", told)


def _mark_of(check: Check, *, waived: bool) -> _Mark | None:
    """Only PASS has no mark. What was not shown fails where it is required and no waiver covers it."""
    if check.status is Status.PASS:
        return None
    if check.status is Status.FAIL:
        return "failure"
    return "failure" if check.required and not waived and check.status is not Status.NOT_APPLICABLE else "skipped"


def _told(finding: Finding) -> str:
    steps = [f"{step.path}:{step.line} {plain(step.text, LONG)}" for step in finding.steps]
    places = [f"also: {place.path}:{place.line} {plain(place.text, LONG)}" for place in finding.places]
    return "\n".join([f"{finding.severity}, {finding.certainty}", finding.remedy, *steps, *places])


def _suite(root: ET.Element, name: str) -> ET.Element:
    return ET.SubElement(root, "testsuite", name=name)


def _case(suite: ET.Element, classname: str, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=classname, name=xml_text(plain(name)))


def _mark(case: ET.Element, mark: _Mark, message: str, text: str) -> None:
    element = ET.SubElement(case, mark, message=xml_text(plain(message, LONG)))
    if text:
        element.text = xml_text(text)


def _text(root: ET.Element) -> str:
    """Serialise, with the counts that JUnit readers add up."""
    for element in (*root, root):
        cases = list(element.iter("testcase"))
        element.set("tests", str(len(cases)))
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            element.set(attribute, str(_count(cases, tag)))
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _count(cases: Sequence[ET.Element], tag: str) -> int:
    return sum(1 for case in cases if case.find(tag) is not None)
