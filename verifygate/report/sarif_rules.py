"""Rules as SARIF describes them: the pages of `verifygate docs`, and what GitHub reads of severity and precision.

`security-severity` is left out on purpose: wrong training is no vulnerability.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from verifygate.model import Certainty, Severity
from verifygate.report.escape import LONG, plain
from verifygate.report.issues import Issue
from verifygate.report.rule_pages import RulePage, rule_page

_PROBLEMS = {"critical": "error", "high": "error", "medium": "warning"}
"""What GitHub calls `problem.severity`; less than that is a recommendation."""


def rule_of(code: str, issues: Sequence[Issue]) -> dict[str, Any]:
    """The descriptor of a rule, or of a check of the gate, with the results that it has here."""
    first = issues[0]
    page = rule_page(code) if first.of_rule else None
    name = first.finding.name if first.of_rule else code
    short = name.replace("-", " ") if first.of_rule else f"{code}: {first.finding.name.replace('-', ' ')}"
    severity = page.severity if page else first.finding.severity.value
    certain = all(issue.finding.certainty is Certainty.CERTAIN for issue in issues)
    described = page.summary if page else _of_check(code)
    rule: dict[str, Any] = {
        "id": code,
        "name": plain(name),
        "shortDescription": {"text": plain(short)},
        "fullDescription": {"text": plain(f"{described} {page.why}" if page else described, LONG)},
        "help": _help(code, page),
        "defaultConfiguration": {"level": _level(severity)},
        "properties": {
            "problem.severity": _PROBLEMS.get(severity, "recommendation"),
            "precision": "very-high" if certain else "medium",
            "tags": _tags(code, first),
        },
    }
    if page and page.reference:
        rule["helpUri"] = page.reference
    return rule


def _help(code: str, page: RulePage | None) -> dict[str, str]:
    if page is None:
        text = f"{_of_check(code)} Run `verifygate docs verdict` for all conditions."
        return {"text": text, "markdown": text + "\n"}
    return {"text": _as_text(page.markdown), "markdown": page.markdown}


def _as_text(markdown: str) -> str:
    """A page without the marks of Markdown, for readers that show text alone: fences go, headings stand alone."""
    without_fences = re.sub(r"(?m)^```.*\n", "", markdown)
    return re.sub(r"(?m)^#+ (.+)$", r"\1:", without_fences)


def _of_check(code: str) -> str:
    """What a reason to block is, where it is about no rule."""
    return f"The gate blocks: the condition or required check {code} is not met."


def _level(severity: str) -> str:
    return {"error": "error", "warning": "warning"}.get(_PROBLEMS.get(severity, ""), "note")


def _tags(code: str, issue: Issue) -> list[str]:
    if not issue.of_rule:
        return list(dict.fromkeys(("gate", code.partition(".")[0])))
    family = re.match(r"[A-Z]+\d?", code)
    fixed = ["fixable"] if issue.finding.fix is not None else []
    noted = ["note"] if issue.finding.severity is Severity.INFO else []
    return ["correctness", "mixed-precision", *([family[0]] if family else []), *fixed, *noted]
