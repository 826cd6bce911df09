"""From what the stages found to a verdict: named conditions decide, the score is only arithmetic beside them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from verifygate.config.settings import VerdictSettings
from verifygate.model import (
    Check,
    Contradiction,
    Finding,
    Outcome,
    Reason,
    ScorePart,
    StageResult,
    Status,
    Verdict,
    Waiver,
    WaiverState,
    WaiverUse,
)

FULL = 10_000
"""The whole score in hundredths of a point."""
WAIVABLE = (Status.PARTIAL, Status.NOT_MEASURED)
"""What a waiver may cover. A FAIL is a fact, and no permission changes a fact."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on a run, and all that follows from it."""

    verdict: Verdict
    score: Decimal | None
    """None where no check counts: nothing was checked."""
    reasons: tuple[Reason, ...]
    """Every condition that blocks, worst first; empty for a PASS."""
    stages: tuple[StageResult, ...]
    """The stages as given, with verdict, score and parts filled in."""
    parts: tuple[ScorePart, ...]
    waivers: tuple[WaiverUse, ...]


def judge(
    stages: Sequence[StageResult],
    policy: VerdictSettings,
    waivers: Sequence[Waiver],
    today: dt.date,
    inherited: Collection[str] = (),
    contradictions: Sequence[Contradiction] = (),
    gaps: Sequence[Reason] = (),
) -> Judgement:
    """Decide by the named conditions, then add up the points. Never looks at the points to decide.

    `inherited` are fingerprints of findings that stood before the change under review: shown, but not blocking.
    `gaps` are further reasons, of what the gate itself does not know.
    """
    permission = _Permission(waivers, today)
    blocking = {stage.stage: _reasons(stage, policy, permission, inherited) for stage in stages}
    against = [_contradiction_reason(each) for each in contradictions if each.blocks]
    unknown = [_ranked(each, each.text) for each in gaps]
    reasons = _in_order(reason for found in (*blocking.values(), against, unknown) for reason in found)
    if not any(stage.outcome is Outcome.COMPLETED and _applicable(stage) for stage in stages):
        reasons = (*reasons, NOTHING_RAN)
    parts = _parts(stages, policy.weights)
    return Judgement(
        verdict=Verdict.BLOCK if reasons else Verdict.PASS,
        score=_earned(parts) if parts else None,
        reasons=reasons,
        stages=tuple(_judged(stage, blocking[stage.stage]) for stage in stages),
        parts=parts,
        waivers=tuple(WaiverUse(waiver=waiver, state=_state(waiver, stages, today)) for waiver in waivers),
    )


NOTHING_RAN = Reason(
    condition="nothing-ran",
    stage="gate",
    text="no stage completed with a check that applies: there is no evidence to pass on",
    action="configure at least one stage (`verifygate init` writes a configuration), or name the sources to audit",
)


class _Permission:
    """The waivers as of one day, asked check by check."""

    def __init__(self, waivers: Sequence[Waiver], today: dt.date) -> None:
        self._in_force = {check for waiver in waivers if waiver.expires >= today for check in waiver.checks}
        self._expired = {check: waiver for waiver in waivers if waiver.expires < today for check in waiver.checks}

    def covers(self, check: str) -> bool:
        return check in self._in_force

    def expired(self, check: str) -> Waiver | None:
        return self._expired.get(check)


# --- the conditions


def _reasons(
    stage: StageResult, policy: VerdictSettings, permission: _Permission, inherited: Collection[str]
) -> list[_Ranked]:
    """Every blocking condition that this stage's result meets."""
    grave = [finding for finding in stage.findings if finding.blocks(policy.block)]
    found = [_finding_reason(stage, finding, inherited) for finding in grave if not finding.stood_in(inherited)]
    said = {f"{stage.stage}.{finding.rule}" for finding in grave}
    if stage.outcome is Outcome.ERRORED:
        found.append(_errored_reason(stage))
    for check in stage.checks:
        if check.required and not check.inherited and not (check.status is Status.FAIL and check.id in said):
            found.extend(_check_reason(stage, check, permission))
    return found


@dataclass(frozen=True)
class _Ranked:
    """A reason and its place in the list: findings by harm, then failed checks, then what could not be shown."""

    rank: tuple[int, int, str, int, int, str]
    identity: str
    reason: Reason


_RANK = {
    "contradiction": 0,
    "finding": 1,
    "own-suppression": 2,
    "check-failed": 3,
    "stage-errored": 4,
    "waiver-expired": 5,
    "check-partial": 6,
}
_LAST = 7


def _in_order(found: Iterable[_Ranked]) -> tuple[Reason, ...]:
    """Worst first, and a finding that two stages report only once."""
    first: dict[str, Reason] = {}
    for ranked in sorted(found, key=lambda ranked: ranked.rank):
        first.setdefault(ranked.identity, ranked.reason)
    return tuple(first.values())


def _ranked(reason: Reason, subject: str) -> _Ranked:
    place = (_RANK.get(reason.condition, _LAST), 0, "", 0, 0, subject)
    return _Ranked(place, f"{reason.condition} {reason.stage} {subject}", reason)


def _finding_reason(stage: StageResult, finding: Finding, inherited: Collection[str]) -> _Ranked:
    """At its first location that did not stand before."""
    at = next((each for each in finding.locations if each.fingerprint not in inherited), finding.locations[0])
    reason = Reason(
        condition="finding",
        stage=stage.stage,
        text=f"{finding.rule} {finding.name} ({finding.severity}): {finding.message}"
        + (f"; {finding.untested}" if finding.untested else ""),
        path=at.path,
        line=at.line,
        action=finding.remedy or f"see `verifygate explain {finding.rule}`",
        finding=finding.fingerprint,
    )
    where = f"{finding.path}:{finding.line}:{finding.column}"
    return _Ranked((_RANK["finding"], *finding.order), f"{finding.rule} {where} {finding.fingerprint}", reason)


def _contradiction_reason(each: Contradiction) -> _Ranked:
    """What cannot both hold makes the rest of the report doubtful, so it stands first."""
    reason = Reason(
        condition="contradiction",
        stage="gate",
        text=f"{each.name}: {each.text}; what stands: {each.stands}",
        path=each.path,
        line=each.line,
        action=each.action,
    )
    return _ranked(reason, f"{each.name} {each.text}")


def _errored_reason(stage: StageResult) -> _Ranked:
    reason = Reason(
        condition="stage-errored",
        stage=stage.stage,
        text=f"the {stage.stage} stage could not run: {stage.reason or 'no reason given'}",
        action="repair what stopped it and run the gate again",
    )
    return _ranked(reason, stage.stage)


def _check_reason(stage: StageResult, check: Check, permission: _Permission) -> Iterable[_Ranked]:
    if check.status in (Status.PASS, Status.NOT_APPLICABLE):
        return
    condition = {Status.FAIL: "check-failed", Status.PARTIAL: "check-partial"}.get(check.status, "not-measured")
    text = f"{check.status}: `{check.id}` ({check.title}){_said(stage, check)}"
    if check.status in WAIVABLE:
        if permission.covers(check.id):
            return
        if waiver := permission.expired(check.id):
            condition = "waiver-expired"
            text += f"; the waiver of {waiver.owner} for it ({waiver.reason}) ended on {waiver.expires}"
    elif permission.covers(check.id):
        text += "; the waiver for it cannot apply: nothing waives a failure"
    place = next((evidence for evidence in check.evidence if evidence.path), None)
    reason = Reason(
        condition=condition,
        stage=stage.stage,
        text=text,
        path=place.path if place else None,
        line=place.line if place else None,
        action=check.remedy,
        check=check.id,
    )
    yield _ranked(reason, check.id)


def _said(stage: StageResult, check: Check) -> str:
    """Expected and actual in words. A measured number is not words: the report adds it from the measurement."""
    actual = check.actual
    if not actual:
        actual = next((m.reason for m in stage.measurements if m.id == check.measurement), "")
    answers = (("expected", check.expected), ("actual", actual))
    return "".join(f"; {label}: {answer}" for label, answer in answers if answer)


# --- the waivers


def _state(waiver: Waiver, stages: Sequence[StageResult], today: dt.date) -> WaiverState:
    settled = (Status.PASS, Status.NOT_APPLICABLE)
    named = (check for stage in stages for check in stage.checks if check.id in waiver.checks)
    lacking = [check.status for check in named if check.status not in settled]
    if not lacking:
        return WaiverState.UNUSED
    if not set(lacking) & set(WAIVABLE):
        return WaiverState.CANNOT_APPLY
    return WaiverState.IN_FORCE if waiver.expires >= today else WaiverState.EXPIRED


# --- the arithmetic


def _judged(stage: StageResult, reasons: Sequence[_Ranked]) -> StageResult:
    """The stage with its own verdict, and its own score of 100.00."""
    if stage.outcome is Outcome.NOT_APPLICABLE:
        return stage.model_copy(update={"verdict": Verdict.BLOCK if reasons else None, "score": None, "parts": ()})
    parts = _stage_parts(stage, FULL) if _takes_part(stage) else ()
    return stage.model_copy(
        update={
            "verdict": Verdict.BLOCK if reasons else Verdict.PASS,
            "score": _earned(parts) if parts else None,
            "parts": parts,
        }
    )


def _parts(stages: Sequence[StageResult], weights: dict[str, int]) -> tuple[ScorePart, ...]:
    live = [stage for stage in stages if _takes_part(stage)]
    shares = _apportion(FULL, [(stage.stage, weights.get(stage.stage, 0)) for stage in live])
    return tuple(part for stage, share in zip(live, shares, strict=True) for part in _stage_parts(stage, share))


def _stage_parts(stage: StageResult, share: int) -> tuple[ScorePart, ...]:
    """The stage's share, split among its checks by weight. An errored stage loses all of it."""
    if stage.outcome is Outcome.ERRORED:
        return (
            ScorePart(stage=stage.stage, check=f"{stage.stage}.completed", earned=_points(0), possible=_points(share)),
        )
    checks = _scored(stage)
    shares = _apportion(share, [(check.id, check.weight) for check in checks])
    return tuple(
        ScorePart(
            stage=stage.stage, check=check.id, earned=_points(_hundredths(check.status, each)), possible=_points(each)
        )
        for check, each in zip(checks, shares, strict=True)
    )


def _takes_part(stage: StageResult) -> bool:
    return stage.outcome is Outcome.ERRORED or (stage.outcome is Outcome.COMPLETED and bool(_scored(stage)))


def _applicable(stage: StageResult) -> list[Check]:
    return [check for check in stage.checks if check.status is not Status.NOT_APPLICABLE]


def _scored(stage: StageResult) -> list[Check]:
    return [check for check in _applicable(stage) if check.weight > 0]


def _hundredths(status: Status, possible: int) -> int:
    if status is Status.PASS:
        return possible
    return possible // 2 if status is Status.PARTIAL else 0


def _apportion(total: int, weights: Sequence[tuple[str, int]]) -> list[int]:
    """Split `total` by weight into whole numbers that add up to it exactly (largest remainder, then by name).

    Where no weight is above zero, all count alike. A weight above zero gets something, as long as there is enough: what
    has no share could fail, and the whole would still be earned.
    """
    if not weights:
        return []
    whole = sum(weight for _, weight in weights)
    effective = [weight for _, weight in weights] if whole else [1] * len(weights)
    whole = whole or len(weights)
    shares = [total * weight // whole for weight in effective]
    by_remainder = sorted(
        range(len(weights)), key=lambda index: (-(total * effective[index] % whole), weights[index][0], index)
    )
    for index in by_remainder[: total - sum(shares)]:
        shares[index] += 1
    for index in [at for at, weight in enumerate(effective) if weight and not shares[at]]:
        largest = max(range(len(shares)), key=shares.__getitem__)
        if shares[largest] > 1:
            shares[largest] -= 1
            shares[index] += 1
    return shares


def _earned(parts: Iterable[ScorePart]) -> Decimal:
    return sum((part.earned for part in parts), _points(0))


def _points(hundredths: int) -> Decimal:
    return Decimal(hundredths).scaleb(-2)
