"""No report that the scoring makes contradicts itself, whatever the stages found: the gate asks so of every report."""

from __future__ import annotations

import datetime as dt
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from verifygate.config.policy import policy_of
from verifygate.config.settings import FileSettings, Settings, VerdictSettings
from verifygate.merge import faults
from verifygate.model import (
    Certainty,
    Changes,
    Check,
    Contradiction,
    Finding,
    Outcome,
    Provenance,
    Report,
    Run,
    Severity,
    StageResult,
    Status,
    Verdict,
    Waiver,
)
from verifygate.scoring import judge

TODAY = dt.date(2026, 11, 20)
STAGES = ("execution", "static", "performance", "requirements")
BROKEN = Contradiction(name="two-answers", stages=(), text="t", stands="s", blocks=True)


@st.composite
def stages(draw: st.DrawFn) -> tuple[StageResult, ...]:
    """Stages with checks of every status, and findings with the checks of their rules."""
    made = []
    for name in draw(st.lists(st.sampled_from(STAGES), unique=True, max_size=4)):
        checks = [
            Check(
                id=f"{name}.c{number}",
                title="t",
                status=draw(st.sampled_from(Status)),
                required=draw(st.booleans()),
                weight=draw(st.integers(0, 7)),
            )
            for number in range(draw(st.integers(0, 6)))
        ]
        findings = [
            Finding(
                rule=f"AMP20{number}",
                name="n",
                path=f"{name}.py",
                line=number + 1,
                column=1,
                end_line=number + 1,
                severity=draw(st.sampled_from(Severity)),
                certainty=draw(st.sampled_from(Certainty)),
                message="m",
                fingerprint=f"{name}{number}",
            )
            for number in range(draw(st.integers(0, 3)))
        ]
        checks += [Check(id=f"{name}.{each.rule}", title="t", status=Status.FAIL, weight=1) for each in findings]
        shape = {"checks": tuple(checks), "findings": tuple(findings)}
        made.append(StageResult(stage=name, outcome=draw(st.sampled_from(Outcome)), **shape))
    return tuple(made)


names = st.sampled_from([f"{stage}.c{number}" for stage in STAGES for number in range(6)])
waivers = st.lists(
    st.builds(
        Waiver,
        checks=st.lists(names, min_size=1, max_size=4, unique=True).map(tuple),
        reason=st.just("r"),
        owner=st.just("o"),
        expires=st.sampled_from([TODAY - dt.timedelta(days=1), TODAY, TODAY + dt.timedelta(days=1)]),
    ),
    max_size=3,
)
blocking = st.lists(st.sampled_from(Severity), unique=True).map(tuple)


def judged(found: tuple[StageResult, ...], given_waivers: list[Waiver], **more: Any) -> Report:
    policy = VerdictSettings(block=more["block"])
    told = judge(found, policy, given_waivers, TODAY, more["inherited"], more["contradictions"])
    listed = tuple(finding for stage in found for finding in stage.findings if finding.fingerprint in more["inherited"])
    in_force = Settings(root=".", today=TODAY, **{**dict(FileSettings()), "verdict": policy})
    return Report(
        project="p",
        verdict=told.verdict,
        score=told.score,
        reasons=told.reasons,
        stages=told.stages,
        parts=told.parts,
        waivers=told.waivers,
        contradictions=more["contradictions"],
        changes=Changes(against="a", open=listed) if more["inherited"] else None,
        policy=policy_of(in_force),
        provenance=Provenance(tool_version="0", commit="c", tree_digest="t", settings_digest="s", config="c"),
        run=Run(command="c", started="s", seconds=0.0),
    )


@settings(deadline=None)
@given(stages(), waivers, blocking, st.booleans(), st.booleans())
def test_what_the_scoring_makes_follows_from_itself(
    found: tuple[StageResult, ...], given_waivers: list[Waiver], block: tuple[Severity, ...], old: bool, broken: bool
):
    """Before it is written, and after it was read back."""
    inherited = {finding.fingerprint for stage in found for finding in stage.findings[:1]} if old else set()
    contradictions = (BROKEN,) if broken else ()
    report = judged(found, given_waivers, block=block, inherited=inherited, contradictions=contradictions)
    assert list(faults(report)) == []
    assert list(faults(Report.from_json(report.to_json()))) == []


@settings(deadline=None)
@given(stages(), waivers, blocking)
def test_a_verdict_turned_round_is_always_seen(
    found: tuple[StageResult, ...], given_waivers: list[Waiver], block: tuple[Severity, ...]
):
    """PASS for BLOCK with its reasons taken out, and BLOCK for PASS."""
    report = judged(found, given_waivers, block=block, inherited=set(), contradictions=())
    other = Verdict.PASS if report.verdict is Verdict.BLOCK else Verdict.BLOCK
    turned = report.model_copy(update={"verdict": other, "reasons": ()})
    assert list(faults(turned))
