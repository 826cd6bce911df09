"""SARIF, GitLab's code quality format and JUnit XML as their readers document them, in our own words.

What the schema of SARIF 2.1.0 asks of the objects that are written here: required properties, none besides the known
ones, types and smallest numbers. The schema itself is not shipped; both agree on every report of these tests.

JUnit has no standard. Its schema here has the elements and attributes that junit-10.xsd of Jenkins' xUnit plugin knows,
by which pytest tests its own files, with `error` as both write it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from lxml import etree
from report_sample import CLIP, HOSTILE, RECREATED, check_report, clean_report, report, static

from verifygate.model import Applicability, Report
from verifygate.model.check_report import CheckReport
from verifygate.report.formats import render, render_check

TEXT = {"type": "string", "minLength": 1}
COUNT = {"type": "integer", "minimum": 1}


def closed(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """An object with these properties and no other."""
    return {
        "type": "object",
        "required": list(required),
        "properties": required | optional,
        "additionalProperties": False,
    }


def some(item: dict[str, Any], least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": item, "minItems": least}


MESSAGE = closed({"text": TEXT})
ARTIFACT = closed({"uri": {"type": "string", "pattern": r"^(?!/)[^\s\\<>|]+$"}}, uriBaseId={"const": "%SRCROOT%"})
PLACE = closed(
    {
        "artifactLocation": ARTIFACT,
        "region": closed({"startLine": COUNT}, startColumn=COUNT, endLine=COUNT),
    }
)
LOCATION = closed({"physicalLocation": PLACE}, message=MESSAGE, id={"type": "integer", "minimum": -1})
LEVEL = {"enum": ["none", "note", "warning", "error"]}
RESULT = closed(
    {
        "ruleId": TEXT,
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": LEVEL,
        "message": MESSAGE,
        "locations": some(LOCATION, 1),
        "partialFingerprints": {"type": "object", "additionalProperties": TEXT, "minProperties": 1},
    },
    baselineState={"enum": ["new", "unchanged", "updated", "absent"]},
    fixes=some(
        closed(
            {
                "artifactChanges": some(
                    closed(
                        {
                            "artifactLocation": ARTIFACT,
                            "replacements": some(
                                closed(
                                    {
                                        "deletedRegion": closed(
                                            dict.fromkeys(("startLine", "startColumn", "endLine", "endColumn"), COUNT)
                                        )
                                    },
                                    insertedContent=closed({"text": {"type": "string"}}),
                                ),
                                1,
                            ),
                        }
                    ),
                    1,
                )
            },
            description=MESSAGE,
        )
    ),
    relatedLocations=some(LOCATION),
    codeFlows=some(closed({"threadFlows": some(closed({"locations": some(closed({"location": LOCATION}), 1)}), 1)}), 1),
    properties={"type": "object"},
)
TAGS = {"type": "array", "items": TEXT, "uniqueItems": True, "maxItems": 10}
RULE = closed(
    {"id": TEXT},
    name=TEXT,
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help=closed({"text": TEXT, "markdown": TEXT}),
    helpUri={"type": "string", "pattern": "^https://"},
    defaultConfiguration=closed({"level": LEVEL}),
    properties=closed(
        {
            "problem.severity": {"enum": ["error", "warning", "recommendation"]},
            "precision": {"enum": ["very-high", "high", "medium", "low"]},
            "tags": TAGS,
        }
    ),
)
DRIVER = closed({"name": TEXT}, version=TEXT, semanticVersion=TEXT, rules={**some(RULE), "uniqueItems": True})
INVOCATION = closed(
    {"executionSuccessful": {"type": "boolean"}},
    toolExecutionNotifications=some(closed({"message": MESSAGE}, level=LEVEL, locations=some(LOCATION))),
)
RUN = closed(
    {"tool": closed({"driver": DRIVER}), "results": some(RESULT)},
    automationDetails=closed({"id": {"type": "string", "pattern": "^verifygate/.+/$"}}),
    originalUriBaseIds=closed({"%SRCROOT%": closed({"description": MESSAGE})}),
    versionControlProvenance=some(
        closed(
            {"repositoryUri": {"type": "string", "pattern": "^https://"}},
            revisionId=TEXT,
            mappedTo=closed({"uriBaseId": {"const": "%SRCROOT%"}}),
        )
    ),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    invocations=some(INVOCATION),
    properties={"type": "object"},
)
SARIF = closed(
    {"version": {"const": "2.1.0"}, "runs": some(RUN, 1)}, **{"$schema": {"type": "string", "format": "uri"}}
)

GITLAB = some(
    closed(
        {
            "description": TEXT,
            "check_name": TEXT,
            "fingerprint": TEXT,
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": closed(
                {
                    "path": {"type": "string", "pattern": r"^(?!\./|/)."},
                    "lines": closed({"begin": COUNT}, end=COUNT),
                }
            ),
        }
    )
)

JUNIT = """\
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:element name="testsuites"><xs:complexType>
    <xs:sequence><xs:element ref="testsuite" minOccurs="0" maxOccurs="unbounded"/></xs:sequence>
    <xs:attribute name="name" type="xs:string"/>
    <xs:attribute name="time" type="xs:decimal"/>
    <xs:attribute name="tests" type="xs:nonNegativeInteger"/>
    <xs:attribute name="failures" type="xs:nonNegativeInteger"/>
    <xs:attribute name="errors" type="xs:nonNegativeInteger"/>
  </xs:complexType></xs:element>
  <xs:element name="testsuite"><xs:complexType>
    <xs:sequence>
      <xs:element name="properties" minOccurs="0"/>
      <xs:element ref="testcase" minOccurs="0" maxOccurs="unbounded"/>
      <xs:element name="system-out" type="xs:string" minOccurs="0"/>
      <xs:element name="system-err" type="xs:string" minOccurs="0"/>
    </xs:sequence>
    <xs:attribute name="name" type="xs:string" use="required"/>
    <xs:attribute name="tests" type="xs:nonNegativeInteger" use="required"/>
    <xs:attribute name="failures" type="xs:nonNegativeInteger" use="required"/>
    <xs:attribute name="errors" type="xs:nonNegativeInteger" use="required"/>
    <xs:attribute name="skipped" type="xs:nonNegativeInteger"/>
    <xs:attribute name="time" type="xs:decimal"/>
    <xs:attribute name="timestamp" type="xs:string"/>
    <xs:attribute name="hostname" type="xs:string"/>
  </xs:complexType></xs:element>
  <xs:element name="testcase"><xs:complexType>
    <xs:sequence>
      <xs:choice minOccurs="0" maxOccurs="unbounded">
        <xs:element name="skipped" type="mark"/>
        <xs:element name="error" type="mark"/>
        <xs:element name="failure" type="mark"/>
        <xs:element name="system-out" type="xs:string"/>
        <xs:element name="system-err" type="xs:string"/>
      </xs:choice>
    </xs:sequence>
    <xs:attribute name="name" type="xs:string" use="required"/>
    <xs:attribute name="classname" type="xs:string"/>
    <xs:attribute name="time" type="xs:decimal"/>
  </xs:complexType></xs:element>
  <xs:complexType name="mark"><xs:simpleContent><xs:extension base="xs:string">
    <xs:attribute name="message" type="xs:string"/>
    <xs:attribute name="type" type="xs:string"/>
  </xs:extension></xs:simpleContent></xs:complexType>
</xs:schema>
"""

FIXABLE = replace(CLIP, fix=Applicability.SAFE)
AT_THE_TOP = replace(RECREATED, line=0, column=0, end_line=0, message=HOSTILE)
REPORTS = {
    "block": report(),
    "pass": clean_report(),
    "nothing ran": report((), ()),
    "odd": report((static().model_copy(update={"findings": (FIXABLE, AT_THE_TOP)}),), ()),
}
CHECKS = {"findings": check_report(FIXABLE, AT_THE_TOP), "clean": replace(check_report(), findings=())}


@pytest.mark.parametrize("given", REPORTS.values(), ids=REPORTS)
def test_reports_are_sarif(given: Report) -> None:
    """Every object of the log is one that a reader of SARIF 2.1.0 knows."""
    (text,) = render(given, "sarif").values()
    check_sarif(json.loads(text))


@pytest.mark.parametrize("given", CHECKS.values(), ids=CHECKS)
def test_checks_are_sarif(given: CheckReport) -> None:
    """So is what `check` prints."""
    check_sarif(json.loads(render_check(given, "sarif")))


def check_sarif(log: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(SARIF).validate(log)
    assert log["runs"]
    for run in log["runs"]:
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        for result in run["results"]:
            assert rules[result["ruleIndex"]] == result["ruleId"]


@pytest.mark.parametrize("given", REPORTS.values(), ids=REPORTS)
def test_reports_are_code_quality(given: Report) -> None:
    """Every field that GitLab documents, of the type it documents; it drops a second issue of one fingerprint."""
    (text,) = render(given, "gitlab").values()
    issues = json.loads(text)
    jsonschema.Draft202012Validator(GITLAB).validate(issues)
    prints = [issue["fingerprint"] for issue in issues]
    assert len(prints) == len(set(prints))


def check_junit(text: str) -> None:
    etree.XMLSchema(etree.fromstring(JUNIT)).assertValid(etree.fromstring(text.encode()))


@pytest.mark.parametrize("given", REPORTS.values(), ids=REPORTS)
def test_reports_are_junit(given: Report) -> None:
    """Every element and attribute is one that readers of JUnit XML know, where they expect it."""
    (text,) = render(given, "junit").values()
    check_junit(text)


@pytest.mark.parametrize("given", CHECKS.values(), ids=CHECKS)
def test_checks_are_junit(given: CheckReport) -> None:
    check_junit(render_check(given, "junit"))


@pytest.mark.parametrize(
    ("right", "wrong"), [(' errors="', ' error="'), ("<testcase", "<test"), ('tests="', 'tests="-')]
)
def test_the_schema_of_junit_refuses(right: str, wrong: str) -> None:
    """The check above can fail."""
    (text,) = render(report(), "junit").values()
    with pytest.raises((etree.DocumentInvalid, etree.XMLSyntaxError)):
        check_junit(text.replace(right, wrong))


def test_a_fix_is_told_in_sarif() -> None:
    """Whether `verifygate fix` can repair it is a property of the result, where it can."""
    first, second = json.loads(render_check(CHECKS["findings"], "sarif"))["runs"][0]["results"]
    assert first["properties"]["fix"] == "safe"
    assert "fix" not in second["properties"]
