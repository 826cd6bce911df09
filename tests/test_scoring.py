"""Conditions decide; the score adds up and decides nothing."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifygate.config.settings import VerdictSettings
from verifygate.model import (
    Certainty,
    Check,
    Evidence,
    EvidenceClass,
    Finding,
    Outcome,
    Severity,
    StageResult,
    Status,
    Verdict,
    Waiver,
    WaiverState,
)
from verifygate.scoring import Judgement, judge

TODAY = dt.date(2026, 11, 20)
STAGES = ("execution", "static", "performance", "requirements")


def check(id: str = "static.x", status: Status = Status.PASS, **more: Any) -> Check:  # noqa: A002
    return Check(id=id, title=f"{id} holds", status=status, **more)


def finding(severity: Severity = Severity.HIGH, certainty: Certainty = Certainty.CERTAIN, **more: Any) -> Finding:
    given = {"rule": "AMP201", "path": "a.py", "line": 3, "fingerprint": "f", **more}
    return Finding(name="clip", column=1, end_line=3, severity=severity, certainty=certainty, message="m", **given)


def stage(*checks: Check, name: str = "static", findings: tuple[Finding, ...] = (), **more: Any) -> StageResult:
    return StageResult(stage=name, checks=checks, findings=findings, **{"outcome": Outcome.COMPLETED, **more})


def waiver(*checks: str, expires: dt.date = TODAY) -> Waiver:
    return Waiver(checks=checks, reason="no runner", owner="ann", expires=expires)


def judged(*stages: StageResult, waivers: tuple[Waiver, ...] = (), **policy: Any) -> Judgement:
    return judge(stages, VerdictSettings(**policy), waivers, TODAY)


def conditions(judgement: Judgement) -> list[str]:
    return [reason.condition for reason in judgement.reasons]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (stage(check()), []),
        (stage(check(), check("static.y", Status.NOT_APPLICABLE)), []),
        (stage(check(status=Status.FAIL)), ["check-failed"]),
        (stage(check(status=Status.PARTIAL)), ["check-partial"]),
        (stage(check(status=Status.NOT_MEASURED)), ["not-measured"]),
        (stage(check(), check("static.y", Status.FAIL, required=False)), []),
        (stage(check(), check("static.y", Status.NOT_MEASURED, required=False)), []),
        (stage(check(), findings=(finding(),)), ["finding"]),
        (stage(check(), findings=(finding(Severity.MEDIUM),)), []),
        (stage(check(), findings=(finding(certainty=Certainty.LIKELY),)), []),
        (stage(check(), outcome=Outcome.ERRORED, reason="boom"), ["stage-errored", "nothing-ran"]),
        (stage(outcome=Outcome.NOT_APPLICABLE, reason="not configured"), ["nothing-ran"]),
        (stage(), ["nothing-ran"]),
        (stage(check(status=Status.NOT_APPLICABLE)), ["nothing-ran"]),
    ],
)
def test_condition(result: StageResult, expected: list[str]) -> None:
    """Each condition blocks by its own name, and nothing else does."""
    judgement = judged(result)
    assert conditions(judgement) == expected
    assert judgement.verdict is (Verdict.BLOCK if expected else Verdict.PASS)


def test_no_stage_at_all_blocks() -> None:
    """No evidence is not good evidence."""
    assert conditions(judged()) == ["nothing-ran"]


def test_block_setting_chooses_severities() -> None:
    """Which severities block is the project's to say."""
    result = stage(check(), findings=(finding(Severity.MEDIUM),))
    assert conditions(judged(result, block=(Severity.MEDIUM,))) == ["finding"]


def test_reasons_stand_worst_first() -> None:
    """Findings by harm, then failed checks, then what could not be shown."""
    high, critical = finding(Severity.HIGH, rule="AMP301"), finding(Severity.CRITICAL, line=99)
    judgement = judged(
        stage(check("execution.a", Status.NOT_MEASURED), check("execution.b", Status.FAIL), name="execution"),
        stage(check(), findings=(high, critical)),
        stage(name="performance", outcome=Outcome.ERRORED),
    )
    assert conditions(judgement) == ["finding", "finding", "check-failed", "stage-errored", "not-measured"]
    assert [reason.line for reason in judgement.reasons[:2]] == [99, 3]


def test_finding_and_its_check_are_one_reason() -> None:
    """`static.AMP201` fails because of the finding, and the finding says where; another rule's check still counts."""
    judgement = judged(
        stage(
            check("static.AMP201", Status.FAIL),
            check("static.AMP301", Status.FAIL),
            findings=(finding(), finding(Severity.MEDIUM, rule="AMP301")),
        )
    )
    assert [(r.condition, r.check) for r in judgement.reasons] == [("finding", ""), ("check-failed", "static.AMP301")]


def test_finding_of_two_stages_is_one_reason() -> None:
    """Both stages block, and the reader reads it once."""
    judgement = judged(
        stage(check("execution.a"), name="execution", findings=(finding(),)), stage(check(), findings=(finding(),))
    )
    assert conditions(judgement) == ["finding"]
    assert [s.verdict for s in judgement.stages] == [Verdict.BLOCK, Verdict.BLOCK]


def test_reason_names_the_place_and_the_remedy() -> None:
    """A failed check points at its first evidence with a path."""
    proof = (
        Evidence(id="E-1", kind=EvidenceClass.EXECUTED, summary="log"),
        Evidence(id="E-2", kind=EvidenceClass.STATIC, summary="line", path="a.py", line=7),
    )
    (reason,) = judged(stage(check(status=Status.FAIL, actual="one", evidence=proof, remedy="mend it"))).reasons
    assert (reason.path, reason.line, reason.action, reason.check) == ("a.py", 7, "mend it", "static.x")
    assert "actual: one" in reason.text


@pytest.mark.parametrize(
    ("status", "days", "expected"),
    [
        (Status.NOT_MEASURED, 0, []),
        (Status.PARTIAL, 1, []),
        (Status.NOT_MEASURED, -1, ["waiver-expired"]),
        (Status.PARTIAL, -1, ["waiver-expired"]),
        (Status.FAIL, 1, ["check-failed"]),
        (Status.FAIL, -1, ["check-failed"]),
        (Status.PASS, -1, []),
    ],
)
def test_waiver(status: Status, days: int, expected: list[str]) -> None:
    """A waiver holds through its last day and never covers a FAIL."""
    permission = waiver("static.x", expires=TODAY + dt.timedelta(days=days))
    assert conditions(judged(stage(check(status=status)), waivers=(permission,))) == expected


def test_expired_waiver_is_named() -> None:
    """Whoever reads of it learns whose waiver it was and when it ended."""
    old = waiver("static.x", expires=dt.date(2026, 1, 2))
    (reason,) = judged(stage(check(status=Status.NOT_MEASURED)), waivers=(old,)).reasons
    assert "ann" in reason.text
    assert "2026-01-02" in reason.text


def test_renewed_waiver_beats_the_expired_one() -> None:
    """Two waivers for one check: one in force is enough."""
    pair = (waiver("static.x", expires=dt.date(2026, 1, 2)), waiver("static.x"))
    assert judged(stage(check(status=Status.NOT_MEASURED)), waivers=pair).verdict is Verdict.PASS


def test_waiver_never_covers_a_finding() -> None:
    """A finding is not something that was left unmeasured."""
    permission = (waiver("static.AMP201", "AMP201"),)
    assert conditions(judged(stage(check(), findings=(finding(),)), waivers=permission)) == ["finding"]


@pytest.mark.parametrize(
    ("permission", "state"),
    [
        (waiver("static.x"), WaiverState.IN_FORCE),
        (waiver("static.x", expires=TODAY - dt.timedelta(days=1)), WaiverState.EXPIRED),
        (waiver("static.y"), WaiverState.UNUSED),
        (waiver("static.gone", expires=TODAY - dt.timedelta(days=1)), WaiverState.UNUSED),
        (waiver("static.y", "static.x"), WaiverState.IN_FORCE),
    ],
)
def test_waiver_state(permission: Waiver, state: WaiverState) -> None:
    """A waiver that covers nothing any more says so."""
    result = stage(check(status=Status.NOT_MEASURED), check("static.y"))
    assert judged(result, waivers=(permission,)).waivers[0].state is state


def test_waived_check_earns_nothing() -> None:
    """A permission is not a measurement: the verdict passes, the points stay away."""
    judgement = judged(stage(check(), check("static.y", Status.NOT_MEASURED)), waivers=(waiver("static.y"),))
    assert (judgement.verdict, judgement.score) == (Verdict.PASS, Decimal("50.00"))


def test_points_follow_weights() -> None:
    """Stages share 100.00 by weight, checks share their stage's points, PARTIAL earns half."""
    judgement = judged(
        stage(check("execution.a", weight=3), check("execution.b", Status.PARTIAL), name="execution"),
        stage(check(status=Status.FAIL), name="static"),
        stage(name="performance", outcome=Outcome.NOT_APPLICABLE),
        weights={"execution": 60, "static": 20, "performance": 20},
    )
    earned = [(part.check, part.earned, part.possible) for part in judgement.parts]
    assert earned == [
        ("execution.a", Decimal("56.25"), Decimal("56.25")),
        ("execution.b", Decimal("9.37"), Decimal("18.75")),
        ("static.x", Decimal("0.00"), Decimal("25.00")),
    ]
    assert judgement.score == Decimal("65.62")
    assert [s.score for s in judgement.stages] == [Decimal("87.50"), Decimal("0.00"), None]


def test_errored_stage_loses_its_whole_share() -> None:
    """What its finished checks would have earned is lost, and the part says why."""
    judgement = judged(
        stage(check("execution.a"), name="execution", outcome=Outcome.ERRORED),
        stage(check()),
        weights={"execution": 1, "static": 1},
    )
    assert next((p.check, p.earned, p.possible) for p in judgement.parts) == ("execution.completed", 0, 50)
    assert judgement.score == 50


def test_weightless_stages_share_alike() -> None:
    """Only stages with weight 0 ran: the score still is of 100.00."""
    assert judged(stage(check()), weights={"execution": 1}).score == 100


def test_a_low_finding_never_rounds_away() -> None:
    """The score is 100.00 only if each check that counts is PASS, however little one weighs beside the others."""
    many = [check(f"static.x{n}", weight=1000) for n in range(50)]
    low = check("static.low", Status.PARTIAL, required=False, weight=1)
    found = judged(stage(*many, low))
    assert found.verdict is Verdict.PASS
    assert found.score == Decimal("99.99")
    assert sum(part.possible for part in found.parts) == 100


def test_nothing_checked_has_no_score() -> None:
    """A zero would be a mark, and there was nothing to mark."""
    found = judged(stage(outcome=Outcome.NOT_APPLICABLE, reason="no AMP code"))
    assert found.verdict is Verdict.BLOCK
    assert conditions(found) == ["nothing-ran"]
    assert found.score is None


def test_points_never_buy_off_a_block() -> None:
    """A weightless failing check leaves the full score, and blocks."""
    judgement = judged(stage(check(), check("static.y", Status.FAIL, weight=0)))
    assert (judgement.score, judgement.verdict) == (Decimal("100.00"), Verdict.BLOCK)


checks_of = st.lists(st.tuples(st.sampled_from(Status), st.booleans(), st.integers(0, 7)), max_size=9, unique=False)


@st.composite
def results(draw: st.DrawFn) -> tuple[StageResult, ...]:
    made = []
    for name in draw(st.lists(st.sampled_from(STAGES), unique=True, max_size=4)):
        checks = [
            check(f"{name}.c{n}", status, required=required, weight=weight)
            for n, (status, required, weight) in enumerate(draw(checks_of))
        ]
        made.append(stage(*checks, name=name, outcome=draw(st.sampled_from(Outcome))))
    return tuple(made)


weights = st.dictionaries(st.sampled_from(STAGES), st.integers(0, 100)).filter(lambda chosen: sum(chosen.values()) > 0)


@given(results(), weights)
def test_printed_parts_add_up(stages: tuple[StageResult, ...], chosen: dict[str, int]) -> None:
    """To the hundredth, in the whole and in each stage, whatever the weights."""
    judgement = judged(*stages, weights=chosen)
    for parts, score in [(judgement.parts, judgement.score), *((s.parts, s.score) for s in judgement.stages)]:
        assert sum(Decimal(f"{part.earned:.2f}") for part in parts) == (score or 0)
        assert sum(Decimal(f"{part.possible:.2f}") for part in parts) == (100 if parts else 0)
        assert all(0 <= part.earned <= part.possible for part in parts)


@given(results(), st.sampled_from([Status.FAIL, Status.NOT_MEASURED, Status.PARTIAL]), st.integers(0, 9))
def test_one_more_bad_check_never_helps(stages: tuple[StageResult, ...], status: Status, weight: int) -> None:
    """Whatever the rest looks like, a required check that is not met blocks."""
    worse = (*stages, stage(check("extra.bad", status, weight=weight), name="extra"))
    assert judged(*worse).verdict is Verdict.BLOCK


@given(results(), st.randoms())
def test_order_of_checks_is_nothing(stages: tuple[StageResult, ...], random: Any) -> None:
    """Shuffled checks give the same verdict, the same score and the same reasons."""
    shuffled = tuple(s.model_copy(update={"checks": tuple(random.sample(s.checks, len(s.checks)))}) for s in stages)
    before, after = judged(*stages), judged(*shuffled)
    assert (before.verdict, before.score, before.reasons) == (after.verdict, after.score, after.reasons)


@given(results())
def test_verdict_is_pass_only_without_reasons(stages: tuple[StageResult, ...]) -> None:
    """And a stage blocks if and only if a reason is its own."""
    judgement = judged(*stages)
    assert (judgement.verdict is Verdict.PASS) == (not judgement.reasons)
    blocked = {s.stage for s in judgement.stages if s.verdict is Verdict.BLOCK}
    assert blocked == {r.stage for r in judgement.reasons} - {"gate"}


def test_all_pairs_of_statuses_agree_with_the_rule() -> None:
    """A PASS needs every required check to be PASS or NOT APPLICABLE, and at least one that applies."""
    for first, second in itertools.product(Status, repeat=2):
        judgement = judged(stage(check("static.a", first), check("static.b", second)))
        fine = {first, second} <= {Status.PASS, Status.NOT_APPLICABLE} and Status.PASS in (first, second)
        assert (judgement.verdict is Verdict.PASS) == fine
