"""Findings that a comment silences, and comments that are wrong: without a rule, a reason, or anything to silence."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import accumulate

from verifygate.base.records import replace
from verifygate.model import Certainty, Finding, Suppression, Witness
from verifygate.model.fingerprint import fingerprint
from verifygate.protocol import Violation
from verifygate.rule_codes import SecurityRisk, SuppressionProblem
from verifygate.sources import suppressions
from verifygate.static.registry import load_rules


def suppressed(
    found: list[Finding], written: Iterable[suppressions.Directive], active: Callable[[str, str], bool]
) -> tuple[list[Finding], list[Suppression], list[Suppression], list[Finding]]:
    """Findings that stay, comments that silence one, comments that may silence a run's, and what is wrong with them.

    `active` says whether a rule looked at a file.
    """
    names = {loaded.rule.name: code for code, loaded in load_rules().items()}
    of_rule: dict[tuple[str, str], list[Finding]] = {}
    for finding in found:
        of_rule.setdefault((finding.path, finding.rule), []).append(finding)
    there = {key: _ByLine(findings) for key, findings in of_rule.items()}
    gone: set[str] = set()
    silenced, idle = [], []
    problems: list[Finding] = []
    for directive in written:
        code = names.get(directive.rule, directive.rule.upper())
        if directive.foreign and code not in load_rules():
            continue
        if problem := _problem(directive, code):
            problems.append(problem)
            continue
        if code not in load_rules():
            continue  # the security stage's to judge
        placed = there.get((directive.path, code))
        covered = placed.covered(directive) if placed is not None else []
        hit = [each for each in covered if each.fingerprint not in gone]
        gone.update(each.fingerprint for each in hit)
        silenced += [
            Suppression(
                path=directive.path,
                line=directive.comment_line,
                rule=code,
                reason=directive.reason or "(none: noqa)",
                finding=f"{each.path}:{each.line} {each.message}",
                severity=each.severity if each.certainty is Certainty.CERTAIN else "",
                fingerprint=each.fingerprint if each.certainty is Certainty.CERTAIN else "",
            )
            for each in hit
        ]
        if hit:
            continue
        if _seen_in_runs(code):
            reason = directive.reason or "(none: noqa)"
            idle.append(Suppression(
                path=directive.path, line=directive.comment_line, rule=code, reason=reason, finding="",
                covers=directive.line,
            ))  # fmt: skip
        elif active(code, directive.path) and not directive.foreign:
            problems.append(
                _complaint(
                    directive, SuppressionProblem.UNUSED_SUPPRESSION, f"nothing here breaks {code}: remove the comment"
                )
            )
    kept = [each for each in found if each.fingerprint not in gone]
    return kept, silenced, idle, _told_apart(problem for problem in problems if active(problem.rule, problem.path))


def _told_apart(problems: Iterable[Finding]) -> list[Finding]:
    """Each with a fingerprint of its own: who accepts one comment has not accepted the next one that reads like it."""
    seen: Counter[str] = Counter()
    found = []
    for each in problems:
        count = seen[each.fingerprint]
        seen[each.fingerprint] += 1
        found.append(replace(each, fingerprint=fingerprint(each.fingerprint, str(count))) if count else each)
    return found


def _seen_in_runs(code: str) -> bool:
    """Whether a run can have a finding of this rule that the source does not show.

    Of a deprecated API a run shows torch's own warning, at a location where the source shows it as well.
    """
    return Witness.RUN in load_rules()[code].rule.witnesses and code != Violation.DEPRECATED_AMP_API


class _ByLine:
    """Findings of one rule in one file, by line: there may be as many as comments."""

    def __init__(self, findings: list[Finding]) -> None:
        self._findings = sorted(findings, key=lambda each: each.line)
        self._lines = [each.line for each in self._findings]
        self._reach = list(accumulate((each.end_line for each in self._findings), max))
        """The last line of each and of all before it."""

    def covered(self, directive: suppressions.Directive) -> list[Finding]:
        """Those that the line of a comment is a part of, and those that begin in what it is about."""
        found: list[Finding] = []
        for at in range(bisect_right(self._lines, max(directive.line, directive.last)) - 1, -1, -1):
            if self._reach[at] < directive.line:
                break
            if self._findings[at].end_line >= directive.line:
                found.append(self._findings[at])
        return found[::-1]


def _problem(directive: suppressions.Directive, code: str) -> Finding | None:
    """Why a suppression is refused, if it is: it must name a rule, a known one, and a reason."""
    if not directive.rule:
        return _complaint(
            directive,
            SuppressionProblem.INVALID_SUPPRESSION,
            "a suppression names its rule: `# verifygate: ignore[AMP201] reason`",
        )
    if code not in load_rules() and code not in tuple(SecurityRisk):
        return _complaint(directive, SuppressionProblem.INVALID_SUPPRESSION, f"there is no rule `{directive.rule}`")
    if not directive.reason and not directive.foreign:
        return _complaint(
            directive,
            SuppressionProblem.INVALID_SUPPRESSION,
            f"a suppression of {code} needs a reason: add it after the bracket",
        )
    return None


def _complaint(directive: suppressions.Directive, code: str, message: str) -> Finding:
    rule = load_rules()[code].rule
    return Finding(
        rule=code,
        name=rule.name,
        path=directive.path,
        line=directive.comment_line,
        column=1,
        end_line=directive.comment_line,
        severity=rule.severity,
        certainty=Certainty.CERTAIN,
        message=message,
        remedy=rule.remedy,
        fingerprint=fingerprint(code, directive.path, directive.rule, directive.reason),
    )
