"""The static stage: one check per rule, and one that every AMP file could be read."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from verifygate.base.counts import counted
from verifygate.model import (
    Check,
    Evidence,
    EvidenceClass,
    LeftOut,
    Outcome,
    Severity,
    StageResult,
    StaticDetails,
    Status,
    Suppression,
)
from verifygate.protocol import BY_PATHS
from verifygate.stage import StageContext

if TYPE_CHECKING:
    from verifygate.configured_precision.drivers import Driver
    from verifygate.model.precision_contract import PrecisionContract
    from verifygate.static.analysis_result import AnalysisResult

_WEIGHTS = {Severity.CRITICAL: 8, Severity.HIGH: 4, Severity.MEDIUM: 2, Severity.LOW: 1, Severity.INFO: 0}

_GIVEN_UP = "divide the function, or let a run show what it does: `verifygate probe -- COMMAND`"


class StaticStage:
    """Analyses the sources; never imports or runs them."""

    name = "static"

    def run(self, context: StageContext) -> StageResult:
        from verifygate.configured_precision.drivers import Drivers
        from verifygate.static.engine import Means, analyse  # the parser and the rules load only when they are needed

        context.progress(f"reading {len(context.sources)} files")
        selection = context.settings.gate_selection(context.sources.paths)
        outcome = analyse(context.sources, selection, means=Means(jobs=0))
        blocking = set(context.settings.verdict.block)
        drivers = [] if outcome.contract.rows else Drivers.of(context.sources).all()
        trained_by = tuple(dict.fromkeys(each.path for each in drivers))
        read = outcome.files_checked + len(trained_by)
        analysed = _analysed_check(outcome.not_analysed, read)
        of_rules = (
            *(_rule_check(code, outcome, blocking) for code in outcome.rules),
            *(_not_applicable(code, _too_new(code, selection.torch_versions)) for code in outcome.too_new),
        )
        nothing = analysed.status is Status.PASS and all(each.status is Status.NOT_APPLICABLE for each in of_rules)
        return StageResult(
            stage=self.name,
            outcome=Outcome.NOT_APPLICABLE if nothing else Outcome.COMPLETED,
            reason=_nothing(read, trained_by) if nothing else "",
            checks=(analysed, *of_rules),
            findings=outcome.findings,
            environment={"python": platform.python_version()},
            details=StaticDetails(
                files_checked=read,
                constructs=outcome.constructs,
                not_analysed=outcome.not_analysed,
                not_followed=outcome.not_followed,
                left_out=tuple(LeftOut(**each._asdict()) for each in context.sources.left_out),
                suppressions=outcome.suppressions,
                idle_suppressions=outcome.idle_suppressions,
                contract=_contract(outcome.contract, drivers),
                configurations=trained_by,
                rules=outcome.rules,
            ),
        )


def _contract(of_programs: PrecisionContract, drivers: list[Driver]) -> PrecisionContract:
    """That of the programs, or else of the configurations that train: one as it is, several with the values of all."""
    from verifygate.static.analysis_result import joined

    if len(drivers) == 1:
        return drivers[0].contract
    return joined(each.contract for each in drivers) if drivers else of_programs


def _nothing(files: int, trained_by: tuple[str, ...]) -> str:
    """Why no rule says anything."""
    if trained_by:
        more = f" and {len(trained_by) - 1} more" if len(trained_by) > 1 else ""
        return f"no rule judges the keys of {trained_by[0]}{more}; the precision contract says what they do"
    return f"no AMP code was found in {counted(files, 'file')}: are these the sources that train?"


def _analysed_check(not_analysed: tuple, files: int) -> Check:  # type: ignore[type-arg]
    lost = [each for each in not_analysed if each.mentions_amp]
    return Check(
        id="static.analysed",
        title="Every file that mentions AMP could be analysed",
        status=Status.FAIL if lost else Status.PASS,
        weight=8,
        expected="all files",
        actual=f"{len(lost)} not analysed" if lost else f"all {files} files accounted for",
        evidence=tuple(
            Evidence(
                id=f"E-static-not-analysed-{number}",
                kind=EvidenceClass.STATIC,
                summary=each.reason,
                path=each.path,
                line=1,
            )
            for number, each in enumerate(lost, 1)
        ),
        remedy="make the file valid (Python in UTF-8, or YAML), or exclude it in the configuration" if lost else "",
    )


def _rule_check(code: str, outcome: AnalysisResult, blocking: set[Severity]) -> Check:
    """Without a finding it is a PASS only where the rule had something to look at, and looked at all of it."""
    from verifygate.static.registry import load_rules

    rule = load_rules()[code].rule
    broken = [finding for finding in outcome.findings if finding.rule == code]
    silenced = [suppression for suppression in outcome.suppressions if suppression.rule == code]
    if any(finding.blocks(blocking) for finding in broken):
        status = Status.FAIL
    elif code in outcome.gave_up:
        status = Status.NOT_MEASURED
    elif broken or silenced:
        status = Status.PARTIAL  # neither clean nor surely broken: points are lost, nothing blocks
    elif code in outcome.idle:
        return _not_applicable(code, "nothing to look at: no file names what the rule is about")
    elif _given_up(code, outcome):
        status = Status.NOT_MEASURED
    else:
        status = Status.PASS
    return Check(
        id=f"static.{code}",
        title=f"{code} {rule.name}: {rule.summary}",
        status=status,
        required=rule.severity in blocking and status is not Status.PARTIAL,
        weight=_WEIGHTS[rule.severity],
        expected="no finding",
        actual=_counted(len(broken), silenced) if status is not Status.NOT_MEASURED else _open(code, outcome),
        evidence=tuple(
            Evidence(
                id=f"E-static-{code}-{number}",
                kind=EvidenceClass.STATIC,
                summary=finding.message,
                path=finding.path,
                line=finding.line,
            )
            for number, finding in enumerate(broken, 1)
        ),
        remedy=rule.remedy if broken else _GIVEN_UP if status is Status.NOT_MEASURED else "",
    )


def _given_up(code: str, outcome: AnalysisResult) -> int:
    """How many functions were given up of which the rule says nothing then."""
    return sum(each.leaves_open(code, code in BY_PATHS) for each in outcome.not_followed)


def _open(code: str, outcome: AnalysisResult) -> str:
    """Why a rule is not measured."""
    if code in outcome.gave_up:
        return "the rule broke: see what was not analysed"
    return f"{counted(_given_up(code, outcome), 'function')} given up"


def _not_applicable(code: str, why: str) -> Check:
    from verifygate.static.registry import load_rules

    rule = load_rules()[code].rule
    return Check(
        id=f"static.{code}",
        title=f"{code} {rule.name}: {rule.summary}",
        status=Status.NOT_APPLICABLE,
        weight=_WEIGHTS[rule.severity],
        expected="no finding",
        actual=why,
    )


def _too_new(code: str, versions: tuple[str, ...]) -> str:
    from verifygate.static.registry import load_rules

    needs = load_rules()[code].rule.torch
    return f"not run: it is about torch {needs} and newer, and the project supports {' and '.join(versions)}"


def _counted(findings: int, silenced: list[Suppression]) -> str:
    text = counted(findings, "finding") if findings else "none"
    if not silenced:
        return text
    where = "; ".join(f"{each.path}:{each.line}, {each.reason or 'no reason given'}" for each in silenced[:3])
    more = f"; and {len(silenced) - 3} more" if len(silenced) > 3 else ""
    return f"{text}, {len(silenced)} suppressed ({where}{more})"
