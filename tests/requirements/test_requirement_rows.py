"""Row by row: taking one piece of evidence away turns exactly the row that rests on it."""

from __future__ import annotations

import pytest
from requirement_world import LOOP, World, at, check, outcome_of, run, speedup

from verifygate.model import (
    Certainty,
    ConstructKind,
    EvidenceClass,
    Finding,
    NotAnalysed,
    Outcome,
    Severity,
    Status,
    Suppression,
)
from verifygate.requirements.code_answers import WRITTEN

EVERYTHING = {"R-CODE", "R-RULE", "R-TEST", "R-MARKED", "R-NUMBER", "R-CHECK", "architecture"}


def turned(world: World) -> dict[str, Status]:
    """The rows that are not PASS."""
    return {name: status for name, status in world.trace().statuses.items() if status is not Status.PASS}


def clip_finding(certainty: Certainty = Certainty.CERTAIN) -> Finding:
    return Finding(
        rule="AMP201", name="clip-before-unscale", path=LOOP, line=14, column=1, end_line=14,
        severity=Severity.CRITICAL, certainty=certainty, message="clipped while scaled", fingerprint="f",
        remedy="unscale first",
    )  # fmt: skip


def test_everything_proved_passes_everywhere(world: World) -> None:
    """The whole world proves every row, each by a check that is required and named after it."""
    traced = world.trace()
    assert traced.statuses == dict.fromkeys(EVERYTHING, Status.PASS)
    assert traced.result.checks[0].id == "requirements.R-CODE"
    assert all(traced.checks[name].required for name in EVERYTHING)


def test_removing_the_scaler_turns_its_row(world: World) -> None:
    """Without the construct its row fails, and so does the architecture that needs it; nothing else moves."""
    world.constructs = [item for item in world.constructs if item.kind is not ConstructKind.GRAD_SCALER]
    assert turned(world) == {"R-CODE": Status.FAIL, "architecture": Status.FAIL}


def test_a_construct_in_a_test_file_is_no_feature(world: World) -> None:
    """A scaler that only a test makes does not satisfy the requirement."""
    world.constructs[0] = at(ConstructKind.GRAD_SCALER, 3, path="tests/test_loop.py")
    assert turned(world) == {"R-CODE": Status.FAIL, "architecture": Status.FAIL}


def test_delegated_precision_is_a_mismatch_that_points_at_the_delegation(world: World) -> None:
    """The reason names the line that hands AMP to a framework, and never claims that there is no AMP."""
    world.constructs = [at(ConstructKind.DELEGATED, 42, path="run.py", text="Trainer(precision='16-mixed')")]
    traced = world.trace()
    for name in ("R-CODE", "architecture"):
        found = traced.checks[name]
        assert found.status is Status.FAIL
        assert (found.evidence[0].path, found.evidence[0].line) == ("run.py", 42)
        assert "the specification asks for explicit AMP in the project's own loop" in found.actual
        assert "precision is delegated to a framework here" in found.actual
        assert "not use AMP" not in found.actual
    assert any("run.py:42" in line for line in traced.details.architecture_actual)


def test_a_missing_construct_points_at_the_line_that_asks_for_it(world: World) -> None:
    """With nothing to point at in the code, the specification's own line stands in."""
    world.constructs = []
    evidence = world.trace().checks["R-CODE"].evidence[0]
    assert (evidence.path, evidence.line, evidence.kind) == ("full.yaml", 13, EvidenceClass.DECLARED)


def test_what_is_missing_is_told_as_code(world: World) -> None:
    """`add grad-scaler to the training loop` is nothing that anybody could write."""
    world.constructs = []
    checks = world.trace().checks
    assert checks["R-CODE"].remedy == f"write {WRITTEN[ConstructKind.GRAD_SCALER]}"
    assert "`scaler.update()` after the step" in checks["architecture"].remedy
    assert set(ConstructKind) - set(WRITTEN) == {ConstructKind.DELEGATED, ConstructKind.PASSIVE_SCALE}


def test_unread_amp_code_leaves_the_question_open(world: World) -> None:
    """Neither `nowhere` nor `no finding` can be claimed while a file with AMP words was not analysed."""
    world.constructs = world.constructs[1:]
    world.static["not_analysed"] = (NotAnalysed(path="amp.py", reason="syntax error", mentions_amp=True),)
    assert turned(world) == dict.fromkeys(("R-CODE", "R-RULE", "architecture"), Status.NOT_MEASURED)


@pytest.mark.parametrize(
    ("certainty", "status"), [(Certainty.CERTAIN, Status.FAIL), (Certainty.LIKELY, Status.PARTIAL)]
)
def test_a_finding_turns_the_row_of_its_rule(world: World, certainty: Certainty, status: Status) -> None:
    """A certain finding fails its row at its line; one on some path only leaves the row partial."""
    world.findings = [clip_finding(certainty)]
    found = world.trace().checks["R-RULE"]
    assert turned(world) == {"R-RULE": status}
    assert (found.evidence[0].path, found.evidence[0].line, found.remedy) == (LOOP, 14, "unscale first")


def test_a_rule_that_did_not_run_proves_nothing(world: World) -> None:
    """No finding of a rule that was not selected is no evidence."""
    world.rules = ("AMP101",)
    assert turned(world) == {"R-RULE": Status.NOT_MEASURED}


def test_a_suppressed_finding_is_declared_not_shown(world: World) -> None:
    """Silence by suppression is not the same as nothing found."""
    world.static["suppressions"] = (
        Suppression(path=LOOP, line=14, rule="AMP201", reason="on purpose", finding="clip"),
    )
    assert turned(world) == {"R-RULE": Status.PARTIAL}


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        ("failed", Status.FAIL),
        ("error", Status.FAIL),
        ("started", Status.FAIL),
        ("xfailed", Status.FAIL),
        ("xpassed", Status.PARTIAL),
        ("skipped", Status.NOT_MEASURED),
    ],
)
def test_a_test_that_did_not_pass_turns_its_row(world: World, outcome: str, status: Status) -> None:
    """Only a test that ran and passed proves its row; the check points at the test's line."""
    world.tests[0] = outcome_of("tests/test_loop.py::test_overflow", outcome=outcome, reason="why", line=5)
    evidence = world.trace().checks["R-TEST"].evidence[0]
    assert turned(world) == {"R-TEST": status}
    assert (evidence.path, evidence.line) == ("tests/test_loop.py", 5)


def test_removing_a_test_turns_its_row(world: World) -> None:
    """A test that is not there fails the row that names it, and says how many were deselected."""
    del world.tests[0]
    world.deselected = 3
    assert turned(world) == {"R-TEST": Status.FAIL}
    assert "no such test ran (3 deselected)" in world.trace().checks["R-TEST"].actual


def test_removing_a_marked_test_turns_its_row(world: World) -> None:
    """Fewer marked tests than asked for fail the row."""
    del world.tests[1]
    assert turned(world) == {"R-MARKED": Status.FAIL}
    assert "1 of at least 2" in world.trace().checks["R-MARKED"].actual


def test_cases_of_one_test_are_one_test(world: World) -> None:
    """Parametrised cases do not stand in for a second marked test."""
    world.tests[1] = outcome_of("tests/test_config.py::test_default[bf16]", "R-MARKED")
    assert turned(world) == {"R-MARKED": Status.FAIL}


def test_one_skipped_marked_test_leaves_its_row_partial(world: World) -> None:
    """Some passed, one was skipped: partly shown."""
    world.tests[1] = outcome_of("tests/test_loop.py::test_switch", "R-MARKED", outcome="skipped")
    assert turned(world) == {"R-MARKED": Status.PARTIAL}


def test_removing_the_measurement_turns_its_row(world: World) -> None:
    """A number that was not measured is not measured."""
    world.measurements = []
    assert turned(world) == {"R-NUMBER": Status.NOT_MEASURED}


@pytest.mark.parametrize("kind", [EvidenceClass.DECLARED, EvidenceClass.PROJECTED])
def test_declared_and_projected_evidence_never_satisfies(world: World, kind: EvidenceClass) -> None:
    """A PASS that rests on a declaration or a projection is not carried over."""
    world.measurements = [speedup(kind=kind)]
    world.checks = [check("performance.memory-reduction", kind=kind)]
    assert turned(world) == dict.fromkeys(("R-NUMBER", "R-CHECK"), Status.NOT_MEASURED)


def test_a_measurement_without_a_target_only_has_to_be_taken(world: World) -> None:
    """A value that is only reported was measured all the same."""
    world.measurements = [speedup(status=Status.NOT_APPLICABLE, target="")]
    assert turned(world) == {}


@pytest.mark.parametrize("status", [Status.FAIL, Status.PARTIAL, Status.NOT_MEASURED])
def test_the_status_of_another_stages_check_is_carried_over(world: World, status: Status) -> None:
    """The row is as good as the check that it names, with that check's remedy."""
    world.checks = [check("performance.memory-reduction", status, remedy="measure on a GPU")]
    assert turned(world) == {"R-CHECK": status}
    assert world.trace().checks["R-CHECK"].remedy == "measure on a GPU"


def test_a_check_that_does_not_apply_proves_nothing(world: World) -> None:
    """What the specification requires does not become optional because a stage set no target."""
    world.checks = [check("performance.memory-reduction", Status.NOT_APPLICABLE)]
    assert turned(world) == {"R-CHECK": Status.NOT_MEASURED}


def test_removing_the_check_turns_its_row(world: World) -> None:
    """A check that the stage did not make is no answer."""
    world.checks = []
    assert turned(world) == {"R-CHECK": Status.NOT_MEASURED}


@pytest.mark.parametrize("outcome", [None, Outcome.ERRORED, Outcome.NOT_APPLICABLE])
@pytest.mark.parametrize(
    ("stage", "rows"),
    [
        ("static", {"R-CODE", "R-RULE", "architecture"}),
        ("execution", {"R-TEST", "R-MARKED"}),
        ("performance", {"R-NUMBER", "R-CHECK"}),
    ],
)
def test_a_missing_stage_leaves_its_rows_not_measured(
    world: World, stage: str, rows: set[str], outcome: Outcome | None
) -> None:
    """A stage that did not run, errored or did not apply is never good news, and the row says what to do."""
    world.missing = {stage: outcome}
    traced = world.trace()
    assert turned(world) == dict.fromkeys(rows, Status.NOT_MEASURED)
    assert all(traced.checks[name].remedy for name in rows)
    if outcome is None:
        assert all("run with --stage all" in traced.checks[name].remedy for name in rows)


def test_no_stage_at_all_proves_nothing() -> None:
    """With no results whatever, nothing passes."""
    world = World()
    world.missing = dict.fromkeys(("static", "execution", "performance"))
    assert set(world.trace().statuses.values()) == {Status.NOT_MEASURED}


def test_some_proved_and_some_open_is_partial(world: World) -> None:
    """One query passes, the other could not be answered: PARTIAL, and the open one comes first."""
    world.missing = {"execution": None}
    found = world.trace("mixed.yaml").checks["R-BOTH"]
    assert found.status is Status.PARTIAL
    assert found.actual.startswith("test tests/test_loop.py::test_overflow: the execution stage did not run")


def test_one_failed_query_fails_the_row_whatever_else_is_open(world: World) -> None:
    """FAIL outranks NOT MEASURED and PASS."""
    world.constructs, world.missing = [], {"execution": None}
    assert world.trace("mixed.yaml").statuses["R-BOTH"] is Status.FAIL


def test_what_fails_is_cited_first(world: World) -> None:
    """The first place of a check is the one to look at, not the first one found."""
    world.tests[0] = outcome_of("tests/test_loop.py::test_overflow", outcome="failed", line=5)
    evidence = world.trace("mixed.yaml").checks["R-BOTH"].evidence
    assert [(item.path, item.line) for item in evidence] == [("tests/test_loop.py", 5), (LOOP, 10)]


def test_a_requirement_without_queries_is_not_measured(world: World) -> None:
    """Nobody said how to verify it, so nobody has."""
    found = world.trace("mixed.yaml").checks["R-NONE"]
    assert (found.status, found.actual) == (Status.NOT_MEASURED, "no way to verify it is given")
    assert found.evidence[0].path == "mixed.yaml"


def test_a_forbidden_construct_fails_where_it_stands(world: World) -> None:
    """`not: true` turns the question round; `required: false` makes it advice."""
    assert world.trace("mixed.yaml").statuses["R-WISH"] is Status.PASS
    world.constructs.append(at(ConstructKind.DELEGATED, 42, path="run.py"))
    found = world.trace("mixed.yaml").checks["R-WISH"]
    assert (found.status, found.required, found.evidence[0].line) == (Status.FAIL, False, 42)


def test_weight_follows_severity(world: World) -> None:
    """What does more harm counts for more."""
    checks = world.trace().checks
    weights = [checks[name].weight for name in ("R-CODE", "R-TEST", "R-MARKED", "R-NUMBER")]
    assert weights == sorted(set(weights), reverse=True)


def test_the_matrix_links_code_tests_and_measurements(world: World) -> None:
    """Each row names the code, tests and numbers it rests on, and ids of evidence are unique."""
    traced = world.trace()
    assert traced.rows["R-CODE"].code == ("train.py:10 train_step",)
    assert traced.rows["R-MARKED"].tests == (
        "tests/test_loop.py::test_switch",
        "tests/test_config.py::test_default[fp32]",
    )
    assert traced.rows["R-NUMBER"].measurements == ("speedup.bf16",)
    ids = [item.id for found in traced.result.checks for item in found.evidence]
    assert len(ids) == len(set(ids))


def test_ids_that_only_tests_know_are_listed(world: World) -> None:
    """A mark with an id that the specification lacks is shown, with the test that carries it."""
    world.tests.append(outcome_of("tests/test_loop.py::test_typo", "R-MARKD", line=30))
    traced = world.trace()
    found = traced.checks["unknown-ids"]
    assert traced.details.unknown_ids == ("R-MARKD",)
    assert (found.status, found.required, found.evidence[0].line) == (Status.FAIL, False, 30)


def test_no_specification_is_not_configured(tmp_path: pytest.TempPathFactory) -> None:
    """Without a specification the stage has nothing to go on, and says how to give it something."""
    result = run(tmp_path, "", {})  # type: ignore[arg-type]
    assert result.outcome is Outcome.NOT_APPLICABLE
    assert result.reason.startswith("not configured: ")


def test_the_same_evidence_gives_the_same_bytes(world: World) -> None:
    """Nothing in the result depends on the order or the time of the run."""
    first = world.trace().result.model_dump_json()
    world.constructs.reverse()
    assert world.trace().result.model_dump_json() == first
