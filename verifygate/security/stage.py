"""The security stage: one check for each rule of its own, and one for each analyser that has something to look at."""

from __future__ import annotations

from verifygate.base.counts import counted
from verifygate.model import (
    AnalyserRun,
    Check,
    Evidence,
    EvidenceClass,
    Finding,
    Outcome,
    SecurityDetails,
    Severity,
    StageResult,
    Status,
    Suppression,
)
from verifygate.security.examine import examine
from verifygate.security.registry import security_rules
from verifygate.security.rule import SecurityRule
from verifygate.security.tree import AuditedTree
from verifygate.stage import StageContext

_WEIGHTS = {Severity.CRITICAL: 8, Severity.HIGH: 4, Severity.MEDIUM: 2, Severity.LOW: 1, Severity.INFO: 0}


class SecurityStage:
    """Reads the tree; imports and runs nothing of it."""

    name = "security"

    def run(self, context: StageContext) -> StageResult:
        settings = context.settings.security
        selection = context.settings.selection(context.sources.paths)
        tree = AuditedTree(context.settings.root, context.sources, selection)
        examined = examine(tree, settings, context.progress)
        blocking = set(context.settings.verdict.block)
        ran = {run.rule: run for run in examined.analysers}
        chosen = {code: loaded for code, loaded in security_rules().items() if code not in settings.ignore}
        checks = []
        for code, loaded in chosen.items():
            if code in examined.nothing_for:
                checks.append(_check(loaded.rule, Status.NOT_APPLICABLE, "the tree holds nothing that it is about"))
            elif loaded.check is None and not ran[code].ran:
                checks.append(_unanswered(loaded.rule, ran[code]))
            else:
                checks.append(_answered(loaded.rule, examined.findings, examined.suppressions, blocking))
        return StageResult(
            stage=self.name,
            outcome=Outcome.COMPLETED,
            checks=tuple(checks),
            findings=examined.findings,
            details=SecurityDetails(
                rules=tuple(code for code, loaded in chosen.items() if loaded.check),
                analysers=examined.analysers,
                suppressions=examined.suppressions,
            ),
        )


def _answered(
    rule: SecurityRule, findings: tuple[Finding, ...], suppressions: tuple[Suppression, ...], blocking: set[Severity]
) -> Check:
    found = [each for each in findings if each.rule == rule.code]
    silenced = [each for each in suppressions if each.rule == rule.code]
    certain = any(each.blocks(blocking) for each in found)
    status = Status.FAIL if certain else Status.PARTIAL if found or silenced else Status.PASS
    actual = counted(len(found), "finding") if found else "none"
    return _check(rule, status, f"{actual}, {len(silenced)} suppressed" if silenced else actual, found)


def _unanswered(rule: SecurityRule, run: AnalyserRun) -> Check:
    """What nobody looked at is said, and takes no part in the score: the analyser is the user's to install."""
    check = _check(rule, Status.NOT_MEASURED, f"{run.name} did not answer: {run.problem}")
    return check.model_copy(update={"weight": 0, "remedy": run.problem})


def _check(rule: SecurityRule, status: Status, actual: str, found: list[Finding] | None = None) -> Check:
    return Check(
        id=f"security.{rule.code}",
        title=f"{rule.code} {rule.name}: {rule.summary}",
        status=status,
        required=status is Status.FAIL,
        weight=_WEIGHTS[rule.severity],
        expected="no finding",
        actual=actual,
        evidence=tuple(
            Evidence(
                id=f"E-security-{rule.code}-{number}",
                kind=EvidenceClass.STATIC,
                summary=each.message,
                path=each.path,
                line=each.line,
            )
            for number, each in enumerate(found or (), 1)
        ),
        remedy=rule.remedy if found else "",
    )
