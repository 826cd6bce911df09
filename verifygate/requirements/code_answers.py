"""Answers from the static stage: the AMP code that stands in the sources, and the rules that found nothing wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from verifygate.base.counts import counted
from verifygate.model import (
    Certainty,
    Construct,
    ConstructKind,
    EvidenceClass,
    Finding,
    NotFollowed,
    StaticDetails,
    Status,
)
from verifygate.protocol import BY_PATHS
from verifygate.requirements.facts import SHOWN, Answer, Cite, Facts, Missing, in_scope, listed
from verifygate.requirements.queries import Query

MISMATCH = (
    "specification mismatch: the specification asks for explicit AMP in the project's own loop; "
    "precision is delegated to a framework here"
)
WRITE_IT_OUT = (
    "write the AMP steps out in the project's own loop, or, if delegating is meant, change the specification to say so"
)
FOLLOW = "name the class of the object in its annotation, or ask a run for it, with `run: {order: ...}`"
_OF_A_SCALER = ("AMP2", "AMP3")
_MADE = (ConstructKind.SCALE, ConstructKind.SCALER_STEP)
WRITTEN = {
    ConstructKind.GRAD_SCALER: "`scaler = torch.amp.GradScaler(device)` beside the optimizer",
    ConstructKind.AUTOCAST: "`with torch.autocast(device, dtype=...):` around forward and loss",
    ConstructKind.SCALE: "`scaler.scale(loss).backward()` in the training loop",
    ConstructKind.BACKWARD: "`loss.backward()` in the training loop",
    ConstructKind.UNSCALE: "`scaler.unscale_(optimizer)` before the gradients are clipped",
    ConstructKind.CLIP: "`clip_grad_norm_` after the gradients are unscaled",
    ConstructKind.SCALER_STEP: "`scaler.step(optimizer)` in the training loop",
    ConstructKind.OPTIMIZER_STEP: "`optimizer.step()` in the training loop",
    ConstructKind.UPDATE: "`scaler.update()` after the step",
    ConstructKind.ZERO_GRAD: "`optimizer.zero_grad()` in the training loop",
    ConstructKind.GET_SCALE: "`scaler.get_scale()` into the log",
    ConstructKind.STATE_SAVED: "`scaler.state_dict()` into the checkpoint",
    ConstructKind.STATE_LOADED: "`scaler.load_state_dict(...)` where training resumes",
}
"""What somebody has to write for a construct to be there."""


def construct(query: Query, facts: Facts) -> Answer:
    """Whether the AMP code that the query names stands in the sources, or, with `not`, stands nowhere."""
    static, kind = facts.static, query.code
    if isinstance(static, Missing):
        return static.answer
    assert kind is not None  # noqa: S101 - a query of this kind has one
    found = places(query, facts)
    if found and query.absent:
        actual = f"{counted(len(found), 'place')}: {listed(place(item) for item in found)}"
        remedy = f"remove {listed(f'`{item.text}` ({place(item)})' for item in found)}"
        return Answer(Status.FAIL, actual, cited(found), symbols(found), remedy=remedy)
    if found:
        actual = f"{counted(len(found), 'place')}: {listed(place(item) for item in found)}"
        return Answer(Status.PASS, actual, cited(found), symbols(found))
    if gap := unproved(static, facts, query.within) or open_answer([kind], static, query.within):
        return gap
    if query.absent:
        actual = f"nowhere in {counted(_files(facts, query.within), 'file')}"
        return Answer(Status.PASS, actual, (Cite(EvidenceClass.STATIC, actual),))
    return _not_there(kind, static, query.within)


def places(query: Query, facts: Facts) -> list[Construct]:
    """The AMP code in scope that a query for a construct names."""
    static = facts.static
    constructs = () if isinstance(static, Missing) else static.constructs
    return in_order(item for item in constructs if item.kind is query.code and in_scope(item.path, query.within))


def rule(query: Query, facts: Facts) -> Answer:
    """Whether the rule ran and found nothing. What was suppressed is declared to be right, not shown to be."""
    static, code = facts.static, query.rule or ""
    if isinstance(static, Missing):
        return static.answer
    if code not in static.rules:
        return Answer(Status.NOT_MEASURED, f"{code} did not run", remedy=f"select {code} in [static] and run it")
    found = sorted(
        (item for item in _findings(facts) if item.rule == code and in_scope(item.path, query.within)),
        key=lambda item: (item.certainty is not Certainty.CERTAIN, item.order),
    )
    if found:
        sure = any(item.certainty is Certainty.CERTAIN for item in found)
        how = "" if sure else ", on some feasible path only"
        return Answer(
            Status.FAIL if sure else Status.PARTIAL,
            f"{counted(len(found), 'finding')}{how}: {listed(f'{item.path}:{item.line}' for item in found)}",
            tuple(
                Cite(EvidenceClass.STATIC, f"{item.rule} {item.name}: {item.message}", item.path, item.line)
                for item in found[:SHOWN]
            ),
            remedy=found[0].remedy or f"correct what {code} found",
        )
    return unproved(static, facts, query.within) or _nothing_found(code, static, facts, query.within)


def _nothing_found(code: str, static: StaticDetails, facts: Facts, within: str | None) -> Answer:
    silenced = [item for item in static.suppressions if item.rule == code and in_scope(item.path, within)]
    if silenced:
        return Answer(
            Status.PARTIAL,
            f"{counted(len(silenced), 'suppressed finding')}: {listed(f'{at.path}:{at.line}' for at in silenced)}",
            tuple(
                Cite(EvidenceClass.DECLARED, f"{code} suppressed: {at.reason or 'no reason given'}", at.path, at.line)
                for at in silenced[:SHOWN]
            ),
            remedy="correct the code and remove the suppression",
        )
    actual = f"{code} ran over {counted(_files(facts, within), 'file')}: no finding"
    followed = (item for item in static.not_followed if item not in static.contract.not_judged)
    gaps = [item for item in followed if _is_gap_of(code, item) and in_scope(item.path, within)]
    if gaps:
        return _not_followed(f"{actual}, and it did not follow", gaps)
    return Answer(Status.PASS, actual, (Cite(EvidenceClass.STATIC, actual),))


def _is_gap_of(code: str, gap: NotFollowed) -> bool:
    """Whether a rule's silence rests on what was not followed: of an unknown scaler, those of its protocol and life."""
    if gap.construct is not None:
        return code.startswith(_OF_A_SCALER)
    return gap.leaves_open(code, code in BY_PATHS) if gap.whole else gap.rule in ("", code)


def open_answer(kinds: Sequence[ConstructKind], static: StaticDetails, within: str | None) -> Answer | None:
    """Why it cannot be said that pieces of AMP code are nowhere: calls that may be them; None where there are none.

    Where nobody knows which scaler is called, nobody knows who makes it either.
    """
    asked = {*kinds, *(tuple(_MADE) if ConstructKind.GRAD_SCALER in kinds else ())}
    gaps = [item for item in static.not_followed if item.construct in asked and in_scope(item.path, within)]
    named = ", ".join(f"`{kind.value}`" for kind in kinds)
    return _not_followed(f"no {named} found; not followed", gaps) if gaps else None


def _not_followed(said: str, gaps: Sequence[NotFollowed]) -> Answer:
    places = listed(f"{item.path}:{item.line} ({item.reason})" for item in gaps)
    cites = tuple(
        Cite(EvidenceClass.STATIC, f"not followed: {item.reason}", item.path, item.line) for item in gaps[:SHOWN]
    )
    return Answer(Status.NOT_MEASURED, f"{said}: {places}", cites, remedy=FOLLOW)


def unproved(static: StaticDetails, facts: Facts, within: str | None) -> Answer | None:
    """Why "nowhere" cannot be claimed: AMP code that was not analysed, or no file to look into."""
    unread = [item for item in static.not_analysed if item.mentions_amp and in_scope(item.path, within)]
    if unread:
        return Answer(
            Status.NOT_MEASURED,
            f"not found, and not analysed: {listed(item.path for item in unread)}",
            tuple(Cite(EvidenceClass.STATIC, f"not analysed: {item.reason}", item.path, 1) for item in unread[:SHOWN]),
            remedy="make these files readable to the analysis",
        )
    if not facts.covers(within):
        where = f"lies in `{within}`" if within else "is there beside the tests"
        return Answer(
            Status.NOT_MEASURED, f"no audited file {where}", remedy="correct the pattern or [project] sources"
        )
    return None


def delegation(static: StaticDetails, within: str | None) -> list[Construct]:
    """The places where a framework is asked to do AMP: within the pattern, else anywhere in the project's code."""
    every = in_order(
        item
        for item in static.constructs
        if item.kind is ConstructKind.DELEGATED and (in_scope(item.path, None) or in_scope(item.path, within))
    )
    return [item for item in every if in_scope(item.path, within)] or every


def passive_readings(static: StaticDetails, within: str | None) -> list[Construct]:
    """The places where the loss scale is read in passing, so that it fails in silence."""
    return in_order(
        item for item in static.constructs if item.kind is ConstructKind.PASSIVE_SCALE and in_scope(item.path, within)
    )


def _not_there(kind: ConstructKind, static: StaticDetails, within: str | None) -> Answer:
    passive = passive_readings(static, within) if kind is ConstructKind.GET_SCALE else []
    if passive:
        said = "; ".join(f"{place(item)} reads the loss scale {item.note}" for item in passive)
        return Answer(
            Status.FAIL,
            f"no `{kind.value}` on a scaler of the project's own, only passive logging: {said}",
            cited(passive),
            symbols(passive),
            remedy="log `scaler.get_scale()` from the scaler itself, and fail loudly where there is none",
        )
    handed_over = [] if kind is ConstructKind.DELEGATED else delegation(static, within)
    if handed_over:
        return Answer(
            Status.FAIL, f"{MISMATCH} (no `{kind.value}` found)", cited(handed_over, MISMATCH), remedy=WRITE_IT_OUT
        )
    where = f" in `{within}`" if within else ""
    return Answer(Status.FAIL, f"no `{kind.value}` found{where}", remedy=f"write {WRITTEN.get(kind, kind.value)}")


def in_order(constructs: Iterable[Construct]) -> list[Construct]:
    return sorted(constructs, key=lambda item: (item.path, item.line, item.kind, item.text))


def cited(constructs: Sequence[Construct], why: str = "") -> tuple[Cite, ...]:
    return tuple(
        Cite(
            EvidenceClass.STATIC,
            f"{why or item.kind.value}: {item.text}{f' ({item.note})' if item.note else ''}",
            item.path,
            item.line,
        )
        for item in constructs[:SHOWN]
    )


def place(item: Construct) -> str:
    return f"{item.path}:{item.line}"


def symbols(constructs: Iterable[Construct]) -> tuple[str, ...]:
    """`path:line symbol` of each, as the trace matrix shows it."""
    return tuple(f"{item.path}:{item.line} {item.symbol}".rstrip() for item in constructs)


def _findings(facts: Facts) -> tuple[Finding, ...]:
    result = facts.stage("static")
    return () if isinstance(result, Missing) else result.findings


def _files(facts: Facts, within: str | None) -> int:
    return sum(1 for path in facts.paths if in_scope(path, within))
