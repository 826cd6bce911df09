"""What is stated of a report: its subjects, its result and its properties, for every kind of report."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest

from verifygate.attestation.policy_files import PolicyFile
from verifygate.attestation.predicates import PredicateType
from verifygate.attestation.verdict import statement, written
from verifygate.config.settings import VerdictSettings
from verifygate.model import (
    Advisory,
    Check,
    Contradiction,
    Outcome,
    PolicyOrigin,
    PolicyState,
    Provenance,
    Report,
    Run,
    StageResult,
    Status,
    Verdict,
    Waiver,
)
from verifygate.scoring import judge

TODAY = dt.date(2026, 11, 20)
COMMIT, BASE = "c" * 40, "b" * 40
DIGEST = "d" * 64


def check(name: str, status: Status = Status.PASS, **fields: Any) -> Check:
    return Check(id=f"static.{name}", title=name, status=status, **fields)


def report(
    *checks: Check,
    commit: str = COMMIT,
    outcome: Outcome = Outcome.COMPLETED,
    waivers: tuple[Waiver, ...] = (),
    contradictions: tuple[Contradiction, ...] = (),
    **fields: Any,
) -> Report:
    """The report of a static stage with these checks, judged as the gate judges."""
    stage = StageResult(stage="static", outcome=outcome, checks=checks)
    judgement = judge([stage], VerdictSettings(), waivers, TODAY, contradictions=contradictions)
    return Report(
        project="trainer",
        verdict=judgement.verdict,
        score=judgement.score,
        reasons=judgement.reasons,
        stages=judgement.stages,
        parts=judgement.parts,
        waivers=judgement.waivers,
        contradictions=contradictions,
        provenance=Provenance(
            tool_version="9.8.7",
            commit=commit,
            tree_digest="e" * 64,
            settings_digest="f" * 64,
            config="verifygate.toml",
        ),
        run=Run(command="verifygate run", started="2026-11-20T09:00:00+00:00", seconds=1.0),
        **fields,
    )


def result(of: Report, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = statement(PredicateType.TEST_RESULT, of, DIGEST, **options)["predicate"]
    return found


def properties(of: Report) -> list[str]:
    found: list[str] = statement(PredicateType.SVR, of, DIGEST)["predicate"]["properties"]
    return found


WAIVER = Waiver(checks=("static.b",), reason="no device", owner="us", expires=TODAY)
CONTRADICTION = Contradiction(
    name="two-answers", stages=("static",), text="a and not a", stands="a", action="look", blocks=True
)
BLOCKS = {
    "a failed check": report(check("a"), check("b", Status.FAIL)),
    "not measured": report(check("a"), check("b", Status.NOT_MEASURED)),
    "partial": report(check("a"), check("b", Status.PARTIAL)),
    "nothing ran": report(),
    "a stage that could not run": report(check("a"), outcome=Outcome.ERRORED),
    "a contradiction": report(check("a"), contradictions=(CONTRADICTION,)),
    "an expired waiver": report(
        check("a"),
        check("b", Status.PARTIAL),
        waivers=(WAIVER.model_copy(update={"expires": dt.date(2026, 11, 19)}),),
    ),
}


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("advised", [None, True, False], ids=["plain", "advisory", "advisory that is over"])
@pytest.mark.parametrize("commit", [COMMIT, f"{COMMIT}+changes", "none"])
def test_a_block_is_never_stated_as_passed(kind: str, advised: bool | None, commit: str) -> None:
    """Whatever blocks is named, advisory mode makes it WARNED at most, and no property is verified."""
    blocked = BLOCKS[kind]
    provenance = blocked.provenance.model_copy(update={"commit": commit})
    advisory = Advisory(until=TODAY, in_force=advised) if advised is not None else None
    stated = blocked.model_copy(update={"advisory": advisory, "provenance": provenance})
    assert stated.verdict is Verdict.BLOCK
    assert result(stated)["result"] == ("WARNED" if advised else "FAILED")
    assert result(stated)["failedTests"]
    assert result(stated)["verifygate"]["verdict"] == "BLOCK"
    assert properties(stated) == []


def test_every_check_stands_in_one_list() -> None:
    """Passed; failed where it blocks; warned where it is less than PASS and does not; none where it does not apply."""
    checks = [
        check("a"),
        check("b", Status.NOT_MEASURED),
        check("c", Status.FAIL),
        check("d", Status.FAIL, required=False),
        check("e", Status.PARTIAL, inherited="it was so before"),
        check("f", Status.NOT_APPLICABLE),
    ]
    said = result(report(*checks, waivers=(WAIVER,)))
    assert said["passedTests"] == ["static.a"]
    assert said["failedTests"] == ["static.c"]
    assert said["warnedTests"] == ["static.b", "static.d", "static.e"]
    assert said["verifygate"]["waivers"] == ["static.b"]


def test_what_blocks_and_is_no_check_is_named_by_its_condition() -> None:
    """A policy that looks for an empty list of failed tests is not misled."""
    assert result(BLOCKS["nothing ran"])["failedTests"] == ["gate.nothing-ran"]
    assert result(BLOCKS["a stage that could not run"])["failedTests"] == [
        "gate.nothing-ran",
        "static.stage-errored",
    ]
    assert result(BLOCKS["a contradiction"])["failedTests"] == ["gate.contradiction"]


@pytest.mark.parametrize(
    ("commit", "told"),
    [(f"{COMMIT}+changes", "files of no commit: the tree had changes"), ("none", "files of no repository")],
)
def test_files_of_no_commit_are_told_and_are_no_subject(commit: str, told: str) -> None:
    """Consumers match by digest alone: the commit must not vouch for files that it does not hold."""
    passed = report(check("a"), commit=commit)
    assert statement(PredicateType.TEST_RESULT, passed, DIGEST)["subject"] == [
        {"name": "report.json", "digest": {"sha256": DIGEST}}
    ]
    said = result(passed)
    assert (said["result"], said["verifygate"]["source"], said["verifygate"]["commit"]) == ("WARNED", told, commit)
    assert properties(passed) == []


def test_properties_say_what_was_looked_at() -> None:
    """The stages that passed; that no waiver helped; that the policy is that of the base. Never more."""
    assert properties(report(check("a"))) == ["VERIFYGATE_PASS", "VERIFYGATE_STAGE_STATIC", "VERIFYGATE_NO_WAIVER"]
    origin = PolicyOrigin(commit=BASE, asked="--since main", state=PolicyState.BASE, config="verifygate.toml")
    of_base = report(check("a"), check("b", Status.PARTIAL), waivers=(WAIVER,), policy_origin=origin)
    assert properties(of_base) == ["VERIFYGATE_PASS", "VERIFYGATE_STAGE_STATIC", "VERIFYGATE_POLICY_OF_BASE"]
    for other in ({"state": PolicyState.ACCEPTED}, {"commit": COMMIT}, {"asked": "--policy-from v1"}):
        told = properties(report(check("a"), policy_origin=origin.model_copy(update=other)))
        assert "VERIFYGATE_POLICY_OF_BASE" not in told, other


def test_policy_and_base_stand_with_their_digests() -> None:
    """Files by sha256, the settings in force by theirs, the revisions by their commits."""
    origin = PolicyOrigin(commit=BASE, asked="--since main", state=PolicyState.BASE, config="verifygate.toml")
    file = PolicyFile("verifygate.toml", "a" * 64, BASE)
    said = result(report(check("a"), policy_origin=origin), files=[file], url="https://ci.example/1")
    assert said["url"] == "https://ci.example/1"
    assert said["configuration"] == [
        {"name": "verifygate.toml", "digest": {"sha256": "a" * 64}, "annotations": {"commit": BASE}},
        {"name": "verifygate:settings", "digest": {"sha256": "f" * 64}},
        {"name": "verifygate:base", "digest": {"gitCommit": BASE}},
        {
            "name": "verifygate:policy",
            "digest": {"gitCommit": BASE},
            "annotations": {"asked": "--since main", "state": "that of the revision", "differences": 0},
        },
    ]


def test_the_policy_of_another_revision_is_no_base() -> None:
    """`--policy-from` says where the policy is from, and nothing of where the change began."""
    origin = PolicyOrigin(commit=BASE, asked="--policy-from v1", state=PolicyState.BASE, config="verifygate.toml")
    names = [each["name"] for each in result(report(check("a"), policy_origin=origin))["configuration"]]
    assert names == ["verifygate:settings", "verifygate:policy"]


def test_one_report_gives_one_text() -> None:
    """The same bytes again, on one line; time and verifier are those of the run."""
    stated = statement(PredicateType.SVR, report(check("a")), DIGEST)
    assert written(stated) == written(json.loads(written(stated)))
    assert b"\n" not in written(stated)
    assert stated["predicate"]["timeCreated"] == "2026-11-20T09:00:00Z"
    assert stated["predicate"]["verifier"]["id"] == "urn:verifygate:gate:9.8.7"
