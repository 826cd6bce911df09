"""Words for how something ended: PASS, PARTIAL, FAIL, not applicable; and verdicts of whole reports."""

from __future__ import annotations

import re
from enum import StrEnum

_SIGNS = {
    "✅": "pass",
    "✓": "pass",
    "✔": "pass",
    "☑": "pass",
    "❌": "fail",
    "✗": "fail",
    "✘": "fail",
    "🟢": "pass",
    "🔴": "fail",
}
_PARTIAL = r"partial(?:ly)?(?: (?:met|pass|passed|implemented|complete|done|verified))?|mostly met"
_FAIL = (
    r"not (?:met|implemented|done|passed|verified|complete|covered|started|found|satisfied)"
    r"|fail(?:ed|ing|s|ure)?|missing|unmet|unverified|untested"
    r"|blocked|incomplete|absent|rejected|no"
)
_PASS = (
    r"pass(?:ed|es|ing)?|met|implemented|done|verified|complete[d]?|satisfied|covered|ok|yes|success"
    r"|confirmed|fixed|resolved"
)
_NA = r"n/?a|not applicable|skipped|deferred|out of scope"


class Ended(StrEnum):
    PASS = "pass"
    PARTIAL = "partial"
    FAIL = "fail"
    NOT_APPLICABLE = "n/a"


_WORDS = (
    (Ended.PARTIAL, re.compile(rf"^(?:{_PARTIAL})(?![\w-])", re.IGNORECASE)),
    (Ended.NOT_APPLICABLE, re.compile(rf"^(?:{_NA})(?![\w-])", re.IGNORECASE)),
    (Ended.FAIL, re.compile(rf"^(?:{_FAIL})(?![\w-])", re.IGNORECASE)),
    (Ended.PASS, re.compile(rf"^(?:{_PASS})(?![\w-])", re.IGNORECASE)),
)
_LEAD = re.compile(r"^[^\w]+")


def ended(text: str) -> Ended | None:
    """What a status cell says; None where it says nothing known, or two things."""
    text = text.strip().strip("*_` ")
    if "⚠" in text:
        text = text.replace("⚠️", "").replace("⚠", "").strip()
        return ended(text) if text else Ended.PARTIAL
    signs = {_SIGNS[character] for character in text if character in _SIGNS}
    words = _LEAD.sub("", text)
    for kind, pattern in _WORDS:
        if pattern.match(words):
            if signs and kind in (Ended.PASS, Ended.FAIL) and signs != {kind.value}:
                return None
            return kind
    if not words and len(signs) == 1:
        return Ended(signs.pop())
    return None


_POSITIVE = re.compile(
    r"^(?:pass(?:ed)?|approved?|accept(?:ed)?|go|(?:production[- ])?ready(?: for (?:production"
    r"|merge|deployment|release))?"
    r"|approved for \w+|ship it)(?![\w-])",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(
    r"^(?:block(?:ed|ing)?|fail(?:ed|ure)?|reject(?:ed)?|no[- ]go|not (?:ready|approved)"
    r"|do not (?:merge|deploy|ship|release))(?![\w-])",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:with|after|once|if|pending|subject|conditional\w*|until|unless|but|except|however|partial\w*|\?)\b|\?|/",
    re.IGNORECASE,
)


def decided(text: str) -> bool | None:
    """True for a verdict that lets pass, False for one that does not, None for neither or for one with conditions."""
    words = _LEAD.sub("", text.strip()).strip("*_` ")
    head = words[:80]
    for answer, pattern in ((False, _NEGATIVE), (True, _POSITIVE)):
        if match := pattern.match(head):
            return None if _CONDITION.search(re.split(r"[(.;:\n]| - ", head[match.end() :])[0]) else answer
    return None
