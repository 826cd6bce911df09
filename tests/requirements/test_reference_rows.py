"""reference_impl, row by row: what its own record proves, and which rows turn when one piece of it is gone.

The record is of a real run of its tests and oracles, and of a real measurement, both on a CPU (recorded/). Its code is
analysed here and now, so that a changed line is seen by the real static stage.
"""

from __future__ import annotations

import ast
import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from record_reference import AGAIN, REPOSITORY, read_record
from requirement_world import Traced

from verifygate.config.settings import RequirementsSettings, Settings, load
from verifygate.model import (
    EvidenceClass,
    ExecutionDetails,
    OwnEvents,
    StageResult,
    Status,
    StepOrder,
    TraceSummary,
)
from verifygate.process.subject import Subject
from verifygate.requirements import RequirementsStage
from verifygate.sources.discovery import read_sources
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.stage import StageContext
from verifygate.static.stage import StaticStage

FAIL, PARTIAL, OPEN = Status.FAIL, Status.PARTIAL, Status.NOT_MEASURED
NO_ACCELERATOR = {"AMP-05": OPEN, "BUS-01": OPEN, "BUS-02": OPEN}
"""What a CPU cannot show; every other row is PASS."""
Rows = dict[str, Status]
Results = dict[str, StageResult]


def context(sources: Sources, results: Results) -> StageContext:
    settings = Settings(
        root=REPOSITORY,
        today=dt.date(2026, 11, 22),
        requirements=RequirementsSettings(spec="reference_impl/requirements.yaml"),
    )
    return StageContext(settings, sources, Subject.__new__(Subject), results)


def traced(sources: Sources, results: Results) -> Traced:
    return Traced(RequirementsStage().run(context(sources, results)))


def turned(found: Traced) -> Rows:
    """The rows that are not as the whole record leaves them."""
    before = NO_ACCELERATOR
    return {name: status for name, status in found.statuses.items() if status is not before.get(name, Status.PASS)}


@pytest.fixture(scope="module")
def sources() -> Sources:
    """The program's own files; its tests are in the record."""
    every = read_sources(REPOSITORY, ["reference_impl"], ["reference_impl/gallery/*"])
    return Sources([file for file in every if not file.is_test])


@pytest.fixture(scope="module")
def recorded(sources: Sources) -> Results:
    results = read_record()
    return results | {"static": StaticStage().run(context(sources, results))}


def changed(results: Results, change: Callable[[ExecutionDetails], ExecutionDetails]) -> Results:
    """The record with other details of the tests."""
    stage = results["execution"]
    assert isinstance(stage.details, ExecutionDetails)
    return results | {"execution": stage.model_copy(update={"details": change(stage.details)})}


# --- the whole record


def test_everything_is_proved_that_a_cpu_can_show(sources: Sources, recorded: Results) -> None:
    assert turned(traced(sources, recorded)) == {}, f"if the record is out of date: {AGAIN}"


def test_the_record_is_of_these_tests_and_entries(recorded: Results) -> None:
    """The marks of reference_impl's tests, and what the oracles run, are those that the record was cut with."""
    details = recorded["execution"].details
    assert isinstance(details, ExecutionDetails)
    held: dict[str, set[str]] = {}
    for test in (*details.tests, *details.emulated):
        if test.requirements:
            held.setdefault(test.id.partition("[")[0], set()).update(test.requirements)
    files = sorted((REPOSITORY / "reference_impl/tests").glob("test_*.py"))
    now = {name: marked for file in files for name, marked in marks_of(file)}
    assert held == now, f"out of date: {AGAIN}"
    asked = load(None, REPOSITORY).execution.oracles
    resumed = tuple(f"{each.train}, then {each.resume}" for each in asked.resume)
    assert details.oracle_entries == (*asked.entries, *resumed), f"out of date: {AGAIN}"


def marks_of(file: Path) -> Iterator[tuple[str, set[str]]]:
    """The test functions of a file that name requirements, by node id without parameters."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            calls = [each for each in node.decorator_list if isinstance(each, ast.Call)]
            named = [
                ast.literal_eval(each.args[0]) for each in calls if ast.unparse(each.func).endswith(".requirement")
            ]
            if named:
                yield f"{file.relative_to(REPOSITORY).as_posix()}::{node.name}", set(named)


KINDS = {
    "construct": {EvidenceClass.STATIC},
    "rule": {EvidenceClass.STATIC},
    "marked": {EvidenceClass.EXECUTED, EvidenceClass.EMULATED},
    "run": {EvidenceClass.EXECUTED, EvidenceClass.EMULATED},
    "measurement": {EvidenceClass.MEASURED},
    "check": {EvidenceClass.MEASURED, EvidenceClass.EXECUTED, EvidenceClass.STATIC},
}


def test_every_pass_rests_on_evidence_of_the_kind_that_is_asked_for(sources: Sources, recorded: Results) -> None:
    """A place where the question stands is no evidence, and cites itself as declared."""
    found = traced(sources, recorded)
    answers = [(row, query) for row in found.rows.values() for query in row.queries if query.status is Status.PASS]
    assert len(answers) > 50
    for row, query in answers:
        kinds = {item.kind for item in query.evidence} - {EvidenceClass.DECLARED}
        assert kinds, f"{row.id}: {query.query}"
        assert kinds <= KINDS[query.query.removeprefix("no ").split()[0]], f"{row.id}: {query.query}"


def test_every_requirement_is_traced(sources: Sources, recorded: Results) -> None:
    """To code, or to tests, or to measurements; and none has a query that was not put."""
    found = traced(sources, recorded)
    assert found.rows
    assert all(row.queries and (row.code or row.tests or row.measurements) for row in found.rows.values())


# --- tests


@pytest.mark.parametrize(
    ("requirement", "rows"),
    [
        ("AMP-01", {"AMP-01": FAIL}),
        ("AMP-02", {"AMP-02": FAIL}),
        ("AMP-03", {"AMP-03": FAIL}),
        ("AMP-04", {"AMP-04": FAIL, "LOG-01": FAIL}),
        ("AMP-06", {"AMP-06": FAIL}),
        ("AMP-07", {"AMP-07": FAIL}),
        ("AMP-08", {"AMP-08": FAIL}),
        ("EDGE-01", {"EDGE-01": FAIL}),
        ("EDGE-02", {"EDGE-02": FAIL}),
        ("EDGE-03", {"EDGE-03": FAIL}),
        ("EDGE-04", {"EDGE-04": FAIL}),
        ("DATA-01", {"DATA-01": FAIL}),
        ("DATA-02", {"DATA-02": FAIL}),
        ("CKPT-01", {"CKPT-01": FAIL, "CKPT-02": FAIL}),
        ("CKPT-02", {"CKPT-02": FAIL}),
        ("LOG-01", {"LOG-01": FAIL}),
    ],
)
def test_deleting_the_tests_of_a_requirement(sources: Sources, recorded: Results, requirement: str, rows: Rows) -> None:
    """Its row turns, and so does a row that leans on the same tests alone; no other."""

    def without(details: ExecutionDetails) -> ExecutionDetails:
        left = [test for test in details.tests if requirement not in test.requirements]
        ran = [test for test in details.emulated if requirement not in test.requirements]
        assert len(left) < len(details.tests)
        return details.model_copy(update={"tests": tuple(left), "emulated": tuple(ran)})

    assert turned(traced(sources, changed(recorded, without))) == rows


TEST = "reference_impl/tests/test_train_step.py::test_clipping_sees_unscaled_gradients"


@pytest.mark.parametrize(
    ("outcome", "rows"),
    [
        ("failed", {"AMP-03": FAIL, "DATA-01": FAIL}),
        ("error", {"AMP-03": FAIL, "DATA-01": FAIL}),
        ("skipped", {"AMP-03": PARTIAL, "DATA-01": PARTIAL}),
        ("flaky", {"AMP-03": PARTIAL, "DATA-01": PARTIAL}),
    ],
)
def test_a_test_that_does_not_pass_any_more(sources: Sources, recorded: Results, outcome: str, rows: Rows) -> None:
    """It turns the two rows that it is marked with."""

    def ended(details: ExecutionDetails) -> ExecutionDetails:
        assert TEST in {test.id for test in details.tests}
        tests = [test.model_copy(update={"outcome": outcome}) if test.id == TEST else test for test in details.tests]
        return details.model_copy(update={"tests": tuple(tests)})

    assert turned(traced(sources, changed(recorded, ended))) == rows


# --- lines of the AMP loop, read


TRAIN, PRECISION, CHECKPOINT = (f"reference_impl/{name}.py" for name in ("train", "precision", "checkpoint"))
UNSCALE = "    scaler.unscale_(optimizer)\n"
CLIP = "    grad_norm = nn.utils.clip_grad_norm_(model.parameters(), cfg.grad_clip)\n"


@pytest.mark.parametrize(
    ("path", "old", "new", "rows"),
    [
        (TRAIN, "scaler.scale(loss).backward()", "loss.backward()", {"AMP-03": FAIL, "architecture": FAIL}),
        (TRAIN, UNSCALE, "", {"AMP-03": FAIL, "DATA-01": FAIL, "architecture": FAIL}),
        (TRAIN, UNSCALE + CLIP, CLIP + UNSCALE, {"DATA-01": FAIL}),
        (TRAIN, CLIP, "    grad_norm = window_loss\n", {"AMP-03": FAIL}),
        (
            TRAIN,
            "scaler.step(optimizer)",
            "optimizer.step()",
            {"AMP-01": FAIL, "AMP-03": FAIL, "architecture": FAIL},
        ),
        (TRAIN, "    scaler.update()\n", "", {"AMP-03": FAIL, "architecture": FAIL}),
        (PRECISION, "torch.amp.autocast(self", "nullcontext(self", {"AMP-02": FAIL, "architecture": FAIL}),
        (PRECISION, "torch.amp.GradScaler(", "dict(", {"AMP-01": FAIL, "architecture": FAIL}),
        (CHECKPOINT, '"scaler": scaler.state_dict()', '"scaler": None', {"CKPT-01": FAIL, "CKPT-02": PARTIAL}),
    ],
    ids=["scale", "unscale", "unscale after clip", "clip", "step", "update", "autocast", "scaler", "checkpoint"],
)
def test_a_line_that_is_deleted_or_moved(
    sources: Sources, recorded: Results, path: str, old: str, new: str, rows: Rows
) -> None:
    """What the code alone shows of it, while nobody ran it again."""
    file = sources.get(path)
    assert file is not None
    assert file.text.count(old) == 1
    edited = SourceFile(path, file.text.replace(old, new).encode())
    there = Sources([edited if each.path == path else each for each in sources])
    results = {name: result for name, result in recorded.items() if name != "static"}
    assert turned(traced(there, results | {"static": StaticStage().run(context(there, results))})) == rows


# --- lines of the AMP loop, run


def reordered(order: StepOrder, change: Callable[[tuple[str, ...]], tuple[str, ...]]) -> StepOrder:
    scaled = "scale" in order.events
    return order.model_copy(update={"events": change(order.events)}) if scaled else order


def ran_as(change: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Callable[[ExecutionDetails], ExecutionDetails]:
    """The record of a loop whose steps went otherwise, as executed and as emulated."""

    def otherwise(trace: TraceSummary | None) -> TraceSummary | None:
        assert trace is not None
        assert trace.own is not None
        orders = tuple(reordered(order, change) for order in trace.own.orders)
        return trace.model_copy(update={"own": trace.own.model_copy(update={"orders": orders})})

    return lambda details: details.model_copy(
        update={"trace": otherwise(details.trace), "emulated_trace": otherwise(details.emulated_trace)}
    )


@pytest.mark.parametrize(
    ("event", "row"),
    [
        ("autocast", "AMP-02"),
        ("scale", "AMP-03"),
        ("unscale", "AMP-03"),
        ("clip", "AMP-03"),
        ("step", "AMP-03"),
        ("update", "AMP-03"),
    ],
)
def test_an_event_that_a_run_lacks(sources: Sources, recorded: Results, event: str, row: str) -> None:
    """Each step of the protocol is asked for by one row's run."""
    change = ran_as(lambda events: tuple(each for each in events if each != event))
    assert turned(traced(sources, changed(recorded, change))) == {row: FAIL}


def test_a_run_that_clips_before_it_unscales(sources: Sources, recorded: Results) -> None:
    turn = {"clip": "unscale", "unscale": "clip"}
    change = ran_as(lambda events: tuple(turn.get(each, each) for each in events))
    found = traced(sources, changed(recorded, change))
    assert turned(found) == {"AMP-03": FAIL}
    assert "`clip` came before `unscale`" in found.checks["AMP-03"].actual


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("scaler.step", {"AMP-01": FAIL}),
        ("get_scale", {"LOG-01": FAIL}),
        ("scaler.state_dict", {"CKPT-01": FAIL, "CKPT-02": PARTIAL}),
    ],
)
def test_something_that_no_run_did(sources: Sources, recorded: Results, kind: str, rows: Rows) -> None:
    def never(trace: TraceSummary | None) -> TraceSummary | None:
        assert trace is not None
        assert trace.own is not None
        counts = tuple(pair for pair in trace.own.counts if pair[0] != kind)
        return trace.model_copy(update={"own": trace.own.model_copy(update={"counts": counts})})

    def change(details: ExecutionDetails) -> ExecutionDetails:
        traces = {"trace": never(details.trace), "emulated_trace": never(details.emulated_trace)}
        return details.model_copy(update=traces)

    assert turned(traced(sources, changed(recorded, change))) == rows


def test_without_a_record_of_the_runs(sources: Sources, recorded: Results) -> None:
    """Every row that asks a run is left with what the code and the tests show."""
    found = traced(sources, changed(recorded, lambda details: details.model_copy(
        update={"trace": TraceSummary(own=OwnEvents()), "emulated_trace": None}
    )))  # fmt: skip
    asked = ("AMP-01", "AMP-02", "AMP-03", "AMP-07", "AMP-08", "EDGE-03", "DATA-02", "CKPT-01", "CKPT-02", "LOG-01")
    assert turned(found) == dict.fromkeys(asked, PARTIAL)


# --- oracles and measurements


@pytest.mark.parametrize(
    ("check", "rows"),
    [
        ("execution.oracle-scale-invariance", ["DATA-01"]),
        ("execution.oracle-inf-injection", ["EDGE-04"]),
        ("execution.edge-nan-loss", ["EDGE-04"]),
        ("execution.edge-overflow-streak", ["EDGE-03"]),
        ("execution.edge-no-cuda", ["AMP-08", "EDGE-01"]),
        ("execution.edge-mps-only", ["EDGE-02"]),
    ],
)
def test_an_oracle_that_was_not_asked(sources: Sources, recorded: Results, check: str, rows: list[str]) -> None:
    stage = recorded["execution"]
    left = tuple(each for each in stage.checks if each.id != check)
    assert len(left) == len(stage.checks) - 1
    results = recorded | {"execution": stage.model_copy(update={"checks": left})}
    assert turned(traced(sources, results)) == dict.fromkeys(rows, PARTIAL)


@pytest.mark.parametrize(
    ("measurement", "rows"),
    [
        ("accuracy-difference.bf16", {"AMP-06": PARTIAL, "BUS-03": OPEN}),
        ("throughput.bf16", {}),
    ],
)
def test_a_measurement_that_is_gone(sources: Sources, recorded: Results, measurement: str, rows: Rows) -> None:
    stage = recorded["performance"]
    left = tuple(each for each in stage.measurements if each.id != measurement)
    assert len(left) == len(stage.measurements) - 1
    results = recorded | {"performance": stage.model_copy(update={"measurements": left})}
    assert turned(traced(sources, results)) == rows


def test_a_measurement_without_its_samples_is_forged(sources: Sources, recorded: Results) -> None:
    """The number stays, and nobody can work it out again."""
    stage = recorded["performance"]
    bare = tuple(
        each.model_copy(update={"arms": ()}) if each.metric == "accuracy-difference" else each
        for each in stage.measurements
    )
    results = recorded | {"performance": stage.model_copy(update={"measurements": bare})}
    assert turned(traced(sources, results)) == {"AMP-06": PARTIAL, "BUS-03": OPEN}
