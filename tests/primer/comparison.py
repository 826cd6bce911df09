"""Compare the findings of two revisions on the same sources: new, gone, or another certainty or severity."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

Finding = dict[str, Any]
"""One finding, as `check --format json` prints it."""

NEW, GONE, CHANGED = "new", "gone", "changed"


@dataclass(frozen=True)
class Difference:
    """One finding that only one revision has, or that they weigh differently."""

    kind: str
    package: str
    rule: str
    path: str
    line: int
    before: str
    """Severity and certainty, such as `high certain`; empty for a new finding."""
    after: str
    message: str
    snippet: str


def compare(package: str, before: list[Finding], after: list[Finding]) -> list[Difference]:
    """The differences, by rule, path and line. The sources are the same, so a finding is known by where it stands."""
    olds, news = _placed(before), _placed(after)
    found = []
    for place in sorted(olds.keys() | news.keys()):
        old, new = olds.get(place, []), news.get(place, [])
        for index in range(max(len(old), len(new))):
            pair = old[index] if index < len(old) else None, new[index] if index < len(new) else None
            if difference := _difference(package, *pair):
                found.append(difference)
    return found


def _placed(findings: list[Finding]) -> dict[tuple[str, str, int, int], list[Finding]]:
    places: dict[tuple[str, str, int, int], list[Finding]] = defaultdict(list)
    for each in findings:
        places[each["rule"], each["path"], each["line"], each["column"]].append(each)
    return places


def _difference(package: str, old: Finding | None, new: Finding | None) -> Difference | None:
    before, after = weight(old), weight(new)
    shown = new or old
    if before == after or shown is None:
        return None
    return Difference(
        kind=NEW if old is None else GONE if new is None else CHANGED,
        package=package,
        rule=shown["rule"],
        path=shown["path"],
        line=shown["line"],
        before=before,
        after=after,
        message=shown["message"],
        snippet=shown["snippet"],
    )


def weight(finding: Finding | None) -> str:
    """Severity and certainty of a finding."""
    return f"{finding['severity']} {finding['certainty']}" if finding else ""
