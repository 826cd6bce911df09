"""Stages held against each other: what cannot both hold is named, and the stricter side counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from verifygate.base.masking import masked
from verifygate.merge import Inputs, examined
from verifygate.merge.citations import Citation, not_there
from verifygate.merge.examine import Examined
from verifygate.model import (
    Arm,
    Certainty,
    Check,
    Construct,
    ConstructKind,
    Evidence,
    EvidenceClass,
    ExecutionDetails,
    Finding,
    Measurement,
    NotFollowed,
    Outcome,
    QueryResult,
    RequirementResult,
    RequirementsDetails,
    Severity,
    StageResult,
    StaticDetails,
    Status,
    TestOutcome,
    TraceSummary,
    Visit,
    Witness,
)
from verifygate.model.precision_contract import Aspect, ContractRow, Declaration, PrecisionContract
from verifygate.requirements import read_specification
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources

TRAIN = SourceFile("train.py", b"def step(scaler, optimizer):\n    scaler.step(optimizer)\n")
SPEC = """\
title: T
requirements:
  - {id: R-1, title: A, text: B, group: acceptance, severity: high, verify: [{rule: AMP209}]}
  - {id: R-2, title: A, text: B, group: acceptance, severity: high, verify: [{rule: AMP209}]}
"""


def at_step(rule: str = "AMP209", witness: Witness = Witness.STATIC, line: int = 2, **more: Any) -> Finding:
    given: dict[str, Any] = {"path": "train.py", "symbol": "step", "fingerprint": f"{rule}{witness}{line}"}
    return Finding(
        rule=rule,
        name="missing-update",
        line=line,
        column=5,
        end_line=line,
        severity=Severity.HIGH,
        message="m",
        witnesses=(witness,),
        **{"certainty": Certainty.CERTAIN, **given, **more},
    )


def check(identifier: str, status: Status = Status.PASS, **more: Any) -> Check:
    return Check(id=identifier, title="t", status=status, **more)


def stage(name: str, *checks: Check, details: Any = None, **more: Any) -> StageResult:
    return StageResult(stage=name, outcome=Outcome.COMPLETED, checks=checks, details=details, **more)


def static(*findings: Finding, constructs: bool = True, **details: Any) -> StageResult:
    made = Construct(kind=ConstructKind.SCALER_STEP, path="train.py", line=2, symbol="step", text="scaler.step")
    given = {"rules": ("AMP209",), "constructs": (made,) if constructs else (), **details}
    return stage(
        "static",
        check("static.analysed"),
        check("static.AMP209", Status.FAIL if findings else Status.PASS),
        findings=findings,
        details=StaticDetails(**given),
    )


def ran(*visits: tuple[int, str, int], findings: tuple[Finding, ...] = (), **details: Any) -> StageResult:
    trace = TraceSummary(
        visits=tuple(Visit(path="train.py", line=line, event=event, times=times) for line, event, times in visits),
        devices=("cpu float16",),
    )
    return stage(
        "execution", check("execution.tests-ran"), check("execution.tests-pass"), findings=findings,
        details=ExecutionDetails(trace=trace, **details),
    )  # fmt: skip


def speedup(*, value: float | None = 2.0, kind: EvidenceClass = EvidenceClass.MEASURED, **more: Any) -> Measurement:
    arms = tuple(
        Arm(name=name, unit="s", samples=samples, n=2) for name, samples in (("fp32", (4.0, 4.0)), ("fp16", (2.0, 2.0)))
    )
    given: dict[str, Any] = {"status": Status.PASS, "target": ">= 1.5", "arms": arms, **more}
    shape = {"id": "speedup.fp16", "title": "t", "metric": "speedup", "unit": "x", "device": "H200"}
    return Measurement(**{**shape, "value": value, "kind": kind, **given})


def performance(*measurements: Measurement) -> StageResult:
    return stage("performance", check("performance.speedup", measurement="speedup.fp16"), measurements=measurements)


def requirements(
    *queries: QueryResult, status: Status = Status.PASS, measurements: tuple[str, ...] = (), **more: Any
) -> StageResult:
    shape = {"title": "A", "text": "B", "severity": "high", "group": "acceptance"}
    row = RequirementResult(id="R-1", status=status, queries=queries, measurements=measurements, **shape, **more)
    return stage("requirements", check("requirements.R-1", status), details=RequirementsDetails(requirements=(row,)))


def query(text: str = "rule AMP209", kind: EvidenceClass = EvidenceClass.STATIC, status: Status = Status.PASS):
    proof = Evidence(id="E", kind=kind, summary="s")
    return QueryResult(query=text, status=status, actual="a", evidence=(proof,))


def looked_at(*stages: StageResult, **inputs: Any) -> Examined:
    sources = Sources([TRAIN])
    return examined(stages, Inputs(**{"root": Path("nowhere"), "sources": sources, "now": sources, **inputs}))


def names(found: Examined) -> list[str]:
    return [each.name for each in found.contradictions]


def status_of(found: Examined, identifier: str) -> Status:
    return next(each.status for stage in found.stages for each in stage.checks if each.id == identifier)


def test_what_agrees_is_left_alone():
    """No contradiction, and not one status changed."""
    stages = (static(), ran((2, "update", 3)), performance(speedup()), requirements(query()))
    found = looked_at(*stages)
    assert found.contradictions == ()
    assert found.stages == stages


@pytest.mark.parametrize(
    ("visits", "expected"),
    [
        ([(2, "scaler.step", 3), (2, "update", 3)], ["static-fault-not-seen-in-run"]),
        ([(2, "scaler.step", 3)], []),
        ([(2, "update", 3)], []),
    ],
)
def test_never_updated_by_the_source_and_updated_in_the_run(visits: list[tuple[int, str, int]], expected: list[str]):
    """The finding stands; the report says that the run saw it otherwise."""
    found = looked_at(static(at_step()), ran(*visits))
    assert names(found) == expected
    assert [finding.rule for stage in found.stages for finding in stage.findings] == ["AMP209"]
    assert not any(each.blocks for each in found.contradictions)


def test_a_breach_that_shows_later_needs_a_second_visit():
    """`unscale_` in the middle of a window is a violation only when the next backward comes."""
    fault = at_step("AMP203")
    assert names(looked_at(static(fault), ran((2, "unscale_", 1)))) == []
    assert names(looked_at(static(fault), ran((2, "unscale_", 2)))) == ["static-fault-not-seen-in-run"]


def test_a_breach_that_the_source_stage_did_not_see():
    """Only where it followed all of the file."""
    seen = ran(findings=(at_step(witness=Witness.RUN),))
    assert names(looked_at(static(), seen)) == ["run-violation-not-seen-in-source"]
    gap = NotFollowed(path="train.py", line=1, reason="a loop over names")
    assert names(looked_at(static(not_followed=(gap,)), seen)) == []
    assert names(looked_at(static(rules=("AMP201",)), seen)) == []


def test_a_requirement_that_rests_on_a_rule_that_a_run_broke():
    """The rule found nothing in the source; the requirement fails all the same."""
    found = looked_at(static(), ran(findings=(at_step(witness=Witness.RUN),)), requirements(query()))
    assert "requirement-against-finding" in names(found)
    assert status_of(found, "requirements.R-1") is Status.FAIL
    elsewhere = looked_at(
        static(), ran(findings=(at_step(witness=Witness.RUN),)), requirements(query("rule AMP209 in other/*"))
    )
    assert status_of(elsewhere, "requirements.R-1") is Status.PASS


def test_what_depends_on_a_lowered_requirement_is_lowered_too(tmp_path: Path):
    """R-3 rests on R-2, R-2 on R-1, and a run broke the rule of R-1: no PASS is left, and the gates are counted so."""
    rows = ("R-1", "[]"), ("R-2", "[R-1]"), ("R-3", "[R-2]"), ("R-4", "[]")
    item = "  - {{id: {}, depends: {}, title: A, text: B, group: acceptance, severity: high, verify: [{{test: a}}]}}\n"
    text = "title: T\nrequirements:\n" + "".join(item.format(*row) for row in rows)
    (tmp_path / "spec.yaml").write_text(text, encoding="utf-8")
    shape = {"title": "A", "text": "B", "severity": "high", "group": "acceptance", "status": Status.PASS}
    asked = {"R-1": query()}
    results = [RequirementResult(id=name, queries=(asked.get(name, query("test a")),), **shape) for name, _ in rows]
    checks = (check("requirements.quality-gates"), *(check(f"requirements.{name}") for name, _ in rows))
    given = stage("requirements", *checks, details=RequirementsDetails(requirements=tuple(results)))
    broken = at_step(witness=Witness.RUN)
    spec = read_specification(tmp_path, "spec.yaml")
    found = looked_at(ran((2, "update", 1), findings=(broken,)), given, root=tmp_path, specification=spec)
    assert [status_of(found, f"requirements.{name}") for name, _ in rows] == [
        Status.FAIL, Status.PARTIAL, Status.PARTIAL, Status.PASS
    ]  # fmt: skip
    details = found.stages[1].details
    assert isinstance(details, RequirementsDetails)
    assert [row.status for row in details.requirements] == [
        status_of(found, f"requirements.{name}") for name, _ in rows
    ]
    told = {each.id: each for each in found.stages[1].checks}
    assert told["requirements.R-2"].actual == "depends on R-1 (FAIL)"
    assert told["requirements.R-3"].actual == "depends on R-2 (PARTIAL)"
    assert "1 of 4 PASS" in told["requirements.quality-gates"].actual


def test_no_amp_in_the_source_and_a_live_scaler_in_the_run():
    found = looked_at(static(constructs=False), ran((2, "update", 3)))
    assert names(found) == ["amp-not-found-in-source"]
    assert status_of(found, "static.analysed") is Status.PARTIAL
    assert names(looked_at(static(constructs=False), ran())) == []


@pytest.mark.parametrize(
    ("measured", "name", "status"),
    [
        (speedup(value=3.0), "summary-against-samples", Status.FAIL),
        (speedup(target=">= 2.5"), "summary-against-samples", Status.FAIL),
        (speedup(low=2.2, high=1.9), "summary-against-samples", Status.FAIL),
        (speedup(arms=()), "pass-without-samples", Status.NOT_MEASURED),
        (speedup(kind=EvidenceClass.DECLARED), "pass-without-samples", Status.NOT_MEASURED),
        (speedup(value=None), "pass-without-samples", Status.NOT_MEASURED),
        (
            speedup(value=None, status=Status.NOT_MEASURED, arms=()),
            "pass-without-measurement",
            Status.NOT_MEASURED,
        ),
        (None, "pass-without-measurement", Status.NOT_MEASURED),
    ],
)
def test_a_summary_that_its_samples_do_not_carry(measured: Measurement | None, name: str, status: Status):
    """The check of the stage and the requirement that leans on it both go down."""
    found = looked_at(
        performance(*([measured] if measured else [])),
        requirements(query("measurement speedup.*"), measurements=("speedup.fp16",)),
    )
    assert name in names(found)
    assert status_of(found, "performance.speedup") is status
    assert status_of(found, "requirements.R-1") is status
    (row,) = found.stages[1].details.requirements  # type: ignore[union-attr]
    assert row.status is status


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (requirements(query(status=Status.FAIL)), Status.FAIL),
        (requirements(query(status=Status.PARTIAL)), Status.PARTIAL),
        (requirements(query(kind=EvidenceClass.DECLARED)), Status.NOT_MEASURED),
        (requirements(query(kind=EvidenceClass.PROJECTED)), Status.NOT_MEASURED),
    ],
)
def test_a_requirement_better_than_its_evidence(given: StageResult, expected: Status):
    found = looked_at(given)
    assert names(found) == ["requirement-better-than-evidence"]
    assert status_of(found, "requirements.R-1") is expected


def test_a_floor_needs_no_samples():
    """Where FP32 does not fit on the device there is no value, only a least saving: honest, and PASS."""
    floor = speedup(value=None, low=1.6, arms=())
    assert looked_at(performance(floor)).contradictions == ()
    assert names(looked_at(performance(speedup(value=None, low=1.4, arms=())))) == ["summary-against-samples"]


def test_another_precision_than_the_runs():
    """Told, and nothing is lowered: each is true for its own precision."""
    other = speedup(id="speedup.bf16", arms=tuple(
        Arm(name=name, unit="s", samples=(value,) * 2, n=2) for name, value in (("fp32", 4.0), ("bf16", 2.0))
    ))  # fmt: skip
    found = looked_at(ran((2, "update", 3)), stage("performance", measurements=(other,)))
    assert names(found) == ["precision-not-run"]
    assert names(looked_at(ran((2, "update", 3)), performance(speedup()))) == []


def test_every_question_has_one_answer(tmp_path: Path):
    """A rule without a check, a test without an outcome, a requirement without a row, two answers."""
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    asked = read_specification(tmp_path, "spec.yaml")
    one = TestOutcome(id="test_a", outcome="passed")
    found = looked_at(
        static(),
        ran(tests=(one,), collected=2),
        requirements(query()),
        stage("performance", check("performance.x"), check("performance.x")),
        root=tmp_path,
        specification=asked,
        rules=frozenset({"AMP209", "AMP201"}),
    )
    told = {each.name: each for each in found.contradictions}
    assert "AMP201" in told["rule-unanswered"].text
    assert "2 tests were collected, and 1 have an outcome" in told["test-unanswered"].text
    assert status_of(found, "execution.tests-pass") is Status.NOT_MEASURED
    assert "R-2" in told["requirement-unanswered"].text
    assert "performance.x" in told["two-answers"].text
    assert "reported as nothing" in told["two-scores-for-one-table"].text
    assert all(told[name].blocks for name in ("rule-unanswered", "requirement-unanswered", "two-answers"))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"line": 9, "end_line": 9}, "the file has 3 lines"),
        ({"path": "gone.py"}, "there is no such file"),
        ({"snippet": "scaler.update()"}, "another text stands there"),
        ({"symbol": "other"}, "nothing is called `other` in that file"),
        ({"snippet": "scaler.step(optimizer)", "symbol": "step.<locals>"}, ""),
        ({"path": "/usr/lib/x.py"}, ""),
    ],
)
def test_cited_places_are_looked_up(changes: dict[str, Any], problem: str):
    """In the sources that were digested. A finding stands, wherever it says that it is."""
    found = looked_at(static(replace(at_step(), **changes)))
    assert [each.text.partition(", and ")[2] for each in found.contradictions] == ([problem] if problem else [])
    assert len(found.stages[0].findings) == 1


def test_a_line_is_that_line_although_a_finding_masks_its_key():
    line = f"token = 'glpat-{'kQ7mZx2Vb9Tn4LrWp8Ys'}'"
    tree = SimpleNamespace(is_inside=lambda _path: True, lines=lambda _path: [line], sources={})
    assert masked(line) != line
    assert not_there(Citation("train.py", 1, masked(line)), tree) == ""
    assert not_there(Citation("train.py", 1, masked(line).replace("token", "key")), tree)


def test_a_pass_on_a_place_that_is_not_there_is_not_measured():
    proof = Evidence(id="E", kind=EvidenceClass.STATIC, summary="s", path="train.py", line=40)
    found = looked_at(stage("static", check("static.AMP201", evidence=(proof,))))
    assert names(found) == ["cited-place-missing"]
    assert status_of(found, "static.AMP201") is Status.NOT_MEASURED
    row = requirements(query(), code=("train.py:1 step", "train.py:2 gone"))
    assert status_of(looked_at(row), "requirements.R-1") is Status.NOT_MEASURED


def test_a_tree_that_changed_meanwhile_blocks():
    other = Sources([SourceFile("train.py", b"pass\n"), SourceFile("new.py", b"")])
    (told,) = looked_at(static(), now=other).contradictions
    assert (told.name, told.blocks) == ("sources-changed", True)
    assert "new.py, train.py" in told.text
    (added,) = looked_at(static(), now=Sources([TRAIN, SourceFile("new.py", b"")])).contradictions
    assert (added.name, added.blocks) == ("sources-changed", False), "the tests of many projects write a file"


def _contract(aspect: Aspect, *values: str) -> PrecisionContract:
    declared = tuple(Declaration(value=value, path="train.py", line=1) for value in values)
    return PrecisionContract(rows=(ContractRow(aspect=aspect, standing="declared", declared=declared),))


def test_code_that_is_nowhere_and_ran_is_a_contradiction():
    """A requirement may not say of a loop that it steps through no scaler, while a run of the report stepped there."""
    absent = query("construct scaler-step", status=Status.FAIL).model_copy(update={"actual": "no `scaler-step` found"})
    stages = (static(constructs=False), ran((2, "scaler.step", 3)), requirements(absent, status=Status.FAIL))

    found = looked_at(*stages).contradictions
    assert ("absent-code-ran", "train.py", 2) in [(each.name, each.path, each.line) for each in found]
    other = absent.model_copy(update={"query": "construct scaler-step in other.py"})
    assert "absent-code-ran" not in names(looked_at(*stages[:2], requirements(other, status=Status.FAIL)))
    assert "absent-code-ran" not in names(looked_at(stages[0], ran((2, "update", 3)), stages[2]))


@pytest.mark.parametrize(
    ("aspect", "values", "contradicts"),
    [
        (Aspect.LOSS_SCALE, ("none",), True),
        (Aspect.DRIVER, ("nobody: torch trains in the dtype of the weights",), True),
        (Aspect.LOSS_SCALE, ("none", "GradScaler"), False),  # one program of two
        (Aspect.COMPUTE, ("float32",), False),
    ],
)
def test_a_cell_that_says_nothing_is_there_contradicts_what_is(
    aspect: Aspect, values: tuple[str, ...], contradicts: bool
):
    """AMP code that was found, or a finding about a scaler, and a cell of `none` or `nobody` cannot both hold."""
    contract = _contract(aspect, *values)
    assert ("cell-against-code" in names(looked_at(static(contract=contract)))) is contradicts
    by_finding = static(at_step(), constructs=False, contract=contract)
    assert ("cell-against-code" in names(looked_at(by_finding))) is contradicts
    assert "cell-against-code" not in names(looked_at(static(constructs=False, contract=contract)))
