"""Examine a tree: findings of the stage's own rules and of the analysers, without what comments silence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from verifygate.base.distribution import install
from verifygate.config.settings import SecuritySettings
from verifygate.model import AnalyserRun, Certainty, Finding, Suppression, Witness
from verifygate.model.fingerprint import Fingerprints
from verifygate.security.analysers import ANALYSERS, Analyser, AnalyserFailedError, program
from verifygate.security.registry import security_rules
from verifygate.security.rule import Hit, SecurityRule
from verifygate.security.tree import AuditedTree
from verifygate.sources.suppressions import Directive, directives

NO_NETWORK = "its data lies on the network: `network = true` in [security] lets it ask"


@dataclass(frozen=True)
class Examined:
    """What was found, and who looked."""

    findings: tuple[Finding, ...]
    suppressions: tuple[Suppression, ...]
    analysers: tuple[AnalyserRun, ...]
    """Those that the tree holds something for."""
    nothing_for: tuple[str, ...]
    """Codes of the analysers that the tree holds nothing for."""


def examine(tree: AuditedTree, settings: SecuritySettings, tell: Callable[[str], None] = lambda _: None) -> Examined:
    """Look at a tree. Nothing of it is imported or run; analysers that fail or are not installed say so."""
    codes = security_rules()
    found = [
        _finding(loaded.rule, hit, tree, fingerprints)
        for fingerprints in (Fingerprints(),)
        for loaded in codes.values()
        if loaded.check is not None and loaded.rule.code not in settings.ignore
        for hit in loaded.check(tree)
    ]
    runs, idle = [], []
    for analyser in ANALYSERS:
        if analyser.rule.code in settings.ignore:
            continue
        if not analyser.has_something(tree):
            idle.append(analyser.rule.code)
            continue
        tell(analyser.name)
        run, reported = _run(analyser, tree, settings)
        runs.append(run)
        found += reported
    kept, silenced = _suppressed(found, tree, tuple(codes))
    return Examined(tuple(sorted(kept, key=lambda each: each.order)), tuple(silenced), tuple(runs), tuple(idle))


def _run(analyser: Analyser, tree: AuditedTree, settings: SecuritySettings) -> tuple[AnalyserRun, list[Finding]]:
    code = analyser.rule.code
    if analyser.needs_network and not settings.network:
        return AnalyserRun(name=analyser.name, rule=code, ran=False, problem=NO_NETWORK), []
    path = program(analyser.name)
    if path is None:
        missing = f"not installed: {install('security')}"
        return AnalyserRun(name=analyser.name, rule=code, ran=False, problem=missing), []
    fingerprints = Fingerprints()
    try:
        reported = [_finding(analyser.rule, hit, tree, fingerprints) for hit in analyser.run(path, tree)]
    except AnalyserFailedError as error:
        return AnalyserRun(name=analyser.name, rule=code, ran=False, problem=str(error)), []
    except (KeyError, TypeError, ValueError, StopIteration) as error:
        problem = f"its output has another form than expected ({type(error).__name__})"
        return AnalyserRun(name=analyser.name, rule=code, ran=False, problem=problem), []
    return AnalyserRun(name=analyser.name, rule=code, ran=True, findings=len(reported)), reported


def _finding(rule: SecurityRule, hit: Hit, tree: AuditedTree, fingerprints: Fingerprints) -> Finding:
    text = hit.shown if hit.shown is not None else tree.line(hit.path, hit.line)
    return Finding(
        rule=rule.code,
        name=rule.name,
        path=hit.path,
        line=hit.line,
        column=1,
        end_line=hit.line,
        severity=hit.severity or rule.severity,
        certainty=Certainty.CERTAIN if hit.certain else Certainty.LIKELY,
        message=hit.message,
        fingerprint=fingerprints.next(rule.code, hit.path, hit.symbol, hit.message if hit.shown else text),
        remedy=rule.remedy,
        snippet=text,
        symbol=hit.symbol,
        witnesses=(Witness.STATIC,),
    )


def _suppressed(
    found: Iterable[Finding], tree: AuditedTree, codes: tuple[str, ...]
) -> tuple[list[Finding], list[Suppression]]:
    """Findings that stay, and the comments that silence others: `# verifygate: ignore[SEC101] reason`."""
    kept: list[Finding] = []
    silenced: list[Suppression] = []
    written: dict[str, list[Directive]] = {}
    for each in found:
        file = tree.sources.get(each.path)
        if file is not None and each.path not in written:
            written[each.path] = [one for one in directives(file, codes) if one.reason]
        by = next((one for one in written.get(each.path, ()) if _silences(one, each)), None)
        if by is None:
            kept.append(each)
            continue
        silenced.append(
            Suppression(
                path=by.path,
                line=by.comment_line,
                rule=each.rule,
                reason=by.reason,
                finding=f"{each.path}:{each.line} {each.message}",
                severity=each.severity if each.certainty is Certainty.CERTAIN else "",
                fingerprint=each.fingerprint if each.certainty is Certainty.CERTAIN else "",
            )
        )
    return kept, silenced


def _silences(directive: Directive, finding: Finding) -> bool:
    return directive.rule.upper() == finding.rule and directive.line <= finding.line <= max(
        directive.last, directive.line
    )
