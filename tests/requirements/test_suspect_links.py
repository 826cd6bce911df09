"""Suspect links: what changed since evidence was accepted is named, and is not green without fresh evidence."""

from __future__ import annotations

import datetime as dt
import textwrap
from collections.abc import Iterable
from pathlib import Path

import pytest
from requirement_world import check, outcome_of, speedup

from verifygate.base.errors import UsageError
from verifygate.config.settings import RequirementsSettings, Settings, StaticSettings
from verifygate.model import (
    EmulatedTest,
    ExecutionDetails,
    FunctionCoverage,
    LinkState,
    Outcome,
    RequirementsDetails,
    StageResult,
    StaticDetails,
    Status,
    TestOutcome,
)
from verifygate.process.subject import Subject
from verifygate.requirements import RequirementsStage
from verifygate.requirements.lock import accept, changed_since, read_lock, written
from verifygate.sources.discovery import read_sources
from verifygate.stage import StageContext
from verifygate.static.engine import analyse

TRAIN = '''\
"""Training."""
import torch

from schedule import rate


def step(model, optimizer, batch):
    """One step."""
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(model(batch)).backward()
    scaler.step(optimizer)
    scaler.update()
'''
SCHEDULE = """\
# requirement: R-RATE
def rate(step):
    return 1 / (1 + step)


def unused(step):
    return 0
"""
TESTS = """\
import pytest


@pytest.mark.requirement("R-LOOP")
def test_step():
    assert step(1, 2, 3) is None


@pytest.mark.requirement("R-RATE")
def test_rate():
    assert rate(0) == 1
"""
SPEC = """\
title: T
requirements:
  - {id: R-LOOP, title: A scaler, text: Use a GradScaler in the loop., group: acceptance, severity: high,
     verify: [{construct: update}, {marked_tests: {at_least: 1}}]}
  - {id: R-STATIC, title: Scaled, text: Scale the loss., group: acceptance, severity: high,
     verify: [{construct: scale}]}
  - {id: R-RATE, title: A rate, text: Lower the rate., group: other, severity: low,
     verify: [{marked_tests: {at_least: 1}}]}
  - {id: R-FAST, title: Fast, text: Be fast., group: business, severity: low, verify: [{measurement: speedup.*}]}
"""
STEP, RATE, TEST_STEP, TEST_RATE = (
    "train.py::step",
    "schedule.py::rate",
    "tests/test_loop.py::test_step",
    "tests/test_loop.py::test_rate",
)
EVERYTHING = ("R-LOOP", "R-STATIC", "R-RATE", "R-FAST")


class Project:
    """Files on disk, and what the earlier stages would say of them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sources = ["."]
        self.tests: list[TestOutcome] = [outcome_of(TEST_STEP, "R-LOOP"), outcome_of(TEST_RATE, "R-RATE")]
        self.emulated: list[EmulatedTest] = []
        self.functions: list[FunctionCoverage] = []
        self.write("train.py", TRAIN)
        self.write("schedule.py", SCHEDULE)
        self.write("tests/test_loop.py", TESTS)
        self.write("spec.yaml", SPEC)

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def change(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text(encoding="utf-8")
        assert old in text
        self.write(path, text.replace(old, new))

    def trace(self) -> Traced:
        sources = read_sources(self.root, self.sources)
        static = analyse(sources, StaticSettings())
        execution = ExecutionDetails(
            tests=tuple(self.tests), emulated=tuple(self.emulated), functions=tuple(self.functions)
        )
        results = {
            "execution": StageResult(stage="execution", outcome=Outcome.COMPLETED, details=execution),
            "static": StageResult(
                stage="static",
                outcome=Outcome.COMPLETED,
                details=StaticDetails(constructs=static.constructs, rules=static.rules),
            ),
            "performance": StageResult(
                stage="performance",
                outcome=Outcome.COMPLETED,
                measurements=(speedup(),),
                checks=(check("performance.speedup"),),
            ),
        }
        settings = Settings(
            root=self.root, today=dt.date(2026, 1, 1), requirements=RequirementsSettings(spec="spec.yaml")
        )
        subject = Subject.__new__(Subject)  # the stage starts no process, so it needs none that could
        return Traced(RequirementsStage().run(StageContext(settings, sources, subject, results)))

    def accept(self, *ids: str, at: str = "c0ffee") -> None:
        rows = self.trace().rows
        lock, _, _ = accept(read_lock(self.root, "spec.yaml"), rows, ids, at)
        self.write("spec.lock.json", written(lock))


class Traced:
    def __init__(self, result: StageResult) -> None:
        assert isinstance(result.details, RequirementsDetails)
        self.details = result.details
        self.rows = {row.id: row for row in result.details.requirements}
        self.checks = {each.id.removeprefix("requirements."): each for each in result.checks}

    @property
    def lowered(self) -> dict[str, Status]:
        return {name: row.status for name, row in self.rows.items() if row.status is not Status.PASS}

    @property
    def suspect(self) -> list[str]:
        return [name for name, row in self.rows.items() if row.suspect]

    def state(self, row: str, symbol: str) -> LinkState:
        (found,) = [link for link in self.rows[row].links if link.symbol == symbol]
        return found.state


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.accept()
    return project


def test_links_name_symbols_and_what_links_them(tmp_path: Path) -> None:
    """By constructs, marks and tests, each with a digest; without a lock nothing is suspect, and a check says why."""
    traced = Project(tmp_path).trace()
    assert {(link.symbol, link.by) for link in traced.rows["R-LOOP"].links} == {
        (STEP, ("construct update",)),
        (TEST_STEP, ("test",)),
    }
    assert {(link.symbol, link.by) for link in traced.rows["R-RATE"].links} == {
        (RATE, ("mark schedule.py:1",)),
        (TEST_RATE, ("test",)),
    }
    assert all(link.digest and link.line for row in traced.rows.values() for link in row.links)
    assert traced.lowered == {}
    assert traced.checks["suspect-links"].status is Status.NOT_APPLICABLE


def test_what_was_accepted_is_as_accepted(project: Project) -> None:
    """Nothing changed, so nothing is suspect."""
    traced = project.trace()
    assert (traced.lowered, traced.suspect) == ({}, [])
    assert {link.state for row in traced.rows.values() for link in row.links} == {LinkState.ACCEPTED}
    assert traced.checks["suspect-links"].status is Status.PASS
    assert traced.details.coverage.lock == "spec.lock.json"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""One step."""', '"""One step of the optimizer."""'),
        (
            '    scaler = torch.amp.GradScaler("cpu")',
            '    # why\n    scaler = torch.amp.GradScaler(\n        "cpu",\n    )',
        ),
        ("import torch\n", "import math\nimport torch\n\nLIMIT = math.inf\n\n\ndef other():\n    return LIMIT\n"),
    ],
)
def test_layout_comments_docstrings_and_other_code_change_nothing(project: Project, old: str, new: str) -> None:
    """Line numbers may move as they like."""
    project.change("train.py", old, new)
    assert project.trace().suspect == []


def test_changed_code_needs_fresh_evidence(project: Project) -> None:
    """A row with an unchanged test that passed stays PASS and says so; one with static evidence alone does not."""
    project.change("train.py", '"cpu"', '"cuda"')
    traced = project.trace()
    assert traced.suspect == ["R-LOOP", "R-STATIC"]
    assert traced.lowered == {"R-STATIC": Status.PARTIAL}
    said = f"the code `{STEP}` changed since it was accepted at c0ffee"
    assert traced.rows["R-STATIC"].suspect == (said,)
    lowered = traced.checks["R-STATIC"]
    assert (lowered.status, lowered.remedy.endswith("`verifygate evidence trace accept R-STATIC`")) == (
        Status.PARTIAL,
        True,
    )
    assert said in lowered.actual
    assert ("train.py", 7) in {(item.path, item.line) for item in lowered.evidence}
    assert said in traced.checks["R-LOOP"].actual
    assert traced.checks["suspect-links"].status is Status.PARTIAL


def test_a_test_that_does_not_execute_the_change_is_no_fresh_evidence(project: Project) -> None:
    """Where coverage knows the function, one of the row's tests must have gone through it."""
    project.change("train.py", '"cpu"', '"cuda"')
    seen = FunctionCoverage(path="train.py", symbol="step", line=7, end_line=12, tests=(TEST_RATE,))
    project.functions = [seen]
    assert project.trace().lowered == {"R-LOOP": Status.PARTIAL, "R-STATIC": Status.PARTIAL}
    project.functions = [seen.model_copy(update={"tests": (TEST_STEP,)})]
    assert project.trace().lowered == {"R-STATIC": Status.PARTIAL}


def test_a_test_that_changed_with_the_code_proves_nothing(project: Project) -> None:
    """Who changes both at once may have made the test agree with the fault: somebody has to look."""
    project.change("train.py", '"cpu"', '"cuda"')
    project.change("tests/test_loop.py", "is None", "or True")
    traced = project.trace()
    assert traced.lowered == {"R-LOOP": Status.PARTIAL, "R-STATIC": Status.PARTIAL}
    assert traced.state("R-LOOP", TEST_STEP) is LinkState.CHANGED


def test_a_weakened_test_alone_is_suspect(project: Project) -> None:
    """The code is as it was, and nothing that was accepted speaks for it any more."""
    project.change("tests/test_loop.py", "== 1", "!= 7")
    traced = project.trace()
    assert (traced.suspect, traced.lowered) == (["R-RATE"], {"R-RATE": Status.PARTIAL})
    assert traced.rows["R-RATE"].unsuspected is Status.PASS


def test_a_pass_with_cuda_emulated_is_fresh(project: Project) -> None:
    """It ran in this run, on the changed code."""
    project.change("train.py", '"cpu"', '"cuda"')
    project.tests[0] = outcome_of(TEST_STEP, "R-LOOP", outcome="skipped")
    project.emulated = [EmulatedTest(id=TEST_STEP, standing="passed", outcome="passed", requirements=("R-LOOP",))]
    assert project.trace().lowered == {"R-STATIC": Status.PARTIAL}
    seen = FunctionCoverage(path="train.py", symbol="step", line=7, end_line=12, tests=(), emulated=(TEST_STEP,))
    project.functions = [seen]
    assert project.trace().lowered == {"R-STATIC": Status.PARTIAL}


def test_a_failure_is_a_failure_first(project: Project) -> None:
    """Being suspect never hides that a test fails, and never makes a FAIL better."""
    project.change("train.py", '"cpu"', '"cuda"')
    project.tests[0] = outcome_of(TEST_STEP, "R-LOOP", outcome="failed")
    traced = project.trace()
    assert traced.lowered == {"R-LOOP": Status.FAIL, "R-STATIC": Status.PARTIAL}
    assert "suspect: " in traced.checks["R-LOOP"].actual


def test_a_measurement_of_this_run_is_fresh(project: Project) -> None:
    """What was measured on the changed code speaks for it."""
    project.change("schedule.py", "R-RATE", "R-RATE, R-FAST")
    project.accept("R-FAST")
    project.change("schedule.py", "1 / (1 + step)", "1 / (2 + step)")
    traced = project.trace()
    assert traced.suspect == ["R-RATE", "R-FAST"]
    assert traced.lowered == {}


def test_a_suspect_requirement_holds_back_what_depends_on_it(project: Project) -> None:
    """Directly or through another one; accepting the first sets all of them free."""
    first, second = "{id: R-RATE, depends: [R-STATIC],", "{id: R-FAST, depends: [R-RATE],"
    project.change("spec.yaml", "{id: R-RATE,", first)
    project.change("spec.yaml", "{id: R-FAST,", second)
    assert project.trace().lowered == {}
    project.change("train.py", '"cpu"', '"cuda"')
    traced = project.trace()
    assert traced.lowered == dict.fromkeys(("R-STATIC", "R-RATE", "R-FAST"), Status.PARTIAL)
    assert traced.rows["R-FAST"].suspect == ("it depends on `R-RATE`, which is suspect",)
    assert traced.checks["R-FAST"].status is Status.PARTIAL
    project.accept("R-STATIC")
    assert project.trace().lowered == {}


@pytest.mark.parametrize(("old", "new"), [("Be fast.", "Be fast enough."), ("title: Fast", "title: Faster")])
def test_changed_words_ask_for_acceptance_whatever_ran(project: Project, old: str, new: str) -> None:
    """No run can say whether its evidence fits words that were written after it was chosen."""
    project.change("spec.yaml", old, new)
    traced = project.trace()
    assert traced.lowered == {"R-FAST": Status.PARTIAL}
    assert traced.rows["R-FAST"].suspect == ("its words changed since they were accepted at c0ffee",)
    evidence = traced.checks["R-FAST"].evidence[0]
    assert (evidence.path, evidence.line) == ("spec.yaml", 9)
    project.accept("R-FAST", at="beef")
    assert project.trace().suspect == []


def test_spaces_in_the_words_do_not_count(project: Project) -> None:
    project.change("spec.yaml", "Be fast.", '"Be\n       fast."')
    assert project.trace().suspect == []


IN_A_CLASS = textwrap.indent(f"class Rates:\n{SCHEDULE}", "    ").removeprefix("    ")


@pytest.mark.parametrize(
    ("old", "new", "now"),
    [
        ("def rate(", "def learning_rate(", "schedule.py::learning_rate"),
        (SCHEDULE, IN_A_CLASS, "schedule.py::Rates.rate"),
    ],
)
def test_a_renamed_symbol_is_known_again(project: Project, old: str, new: str, now: str) -> None:
    """Its syntax is the same and something links it there: it moved, it is not lost, and nothing is suspect."""
    project.change("schedule.py", old, new)
    traced = project.trace()
    assert traced.suspect == []
    assert traced.state("R-RATE", now) is LinkState.MOVED
    (link,) = [link for link in traced.rows["R-RATE"].links if link.symbol == now]
    assert link.note == f"it was `{RATE}`"


def test_a_symbol_that_moved_to_another_file_is_known_again(project: Project) -> None:
    """Also a test, whose id then is another one."""
    project.write("rates.py", SCHEDULE)
    project.write("schedule.py", "")
    loop, _, rate = TESTS.partition("\n\n\n@")[2].partition("\n\n\n@")
    project.write("tests/test_loop.py", f"import pytest\n\n\n@{loop}\n")
    project.write("tests/test_rates.py", f"import pytest\n\n\n@{rate}")
    project.tests[1] = outcome_of("tests/test_rates.py::test_rate", "R-RATE")
    traced = project.trace()
    assert traced.suspect == []
    assert traced.state("R-RATE", "rates.py::rate") is LinkState.MOVED
    assert traced.state("R-RATE", "tests/test_rates.py::test_rate") is LinkState.MOVED


def test_a_copy_that_nothing_links_is_named_and_does_not_count(project: Project) -> None:
    """The code may live on elsewhere; the requirement's link to it does not."""
    project.write("schedule.py", "")
    project.write("rates.py", SCHEDULE.replace("# requirement: R-RATE\n", ""))
    traced = project.trace()
    assert traced.state("R-RATE", RATE) is LinkState.GONE
    assert "the same syntax stands at `rates.py::rate`, and nothing links it there" in traced.rows["R-RATE"].suspect[0]


def test_code_that_is_gone_and_a_mark_that_is_gone_are_told_apart(project: Project) -> None:
    project.change("schedule.py", "# requirement: R-RATE\n", "")
    assert project.trace().state("R-RATE", RATE) is LinkState.UNLINKED
    project.change("schedule.py", "def rate(step):\n    return 1 / (1 + step)\n", "")
    traced = project.trace()
    assert traced.state("R-RATE", RATE) is LinkState.GONE
    assert traced.rows["R-RATE"].suspect == (
        f"the code `{RATE}` went away since it was accepted at c0ffee (nothing with its syntax is left)",
    )


def test_a_deleted_test_is_suspect_and_turns_its_row(project: Project) -> None:
    """Exactly the row that it was linked to."""
    project.change("tests/test_loop.py", TESTS[TESTS.index('@pytest.mark.requirement("R-RATE")') :], "")
    del project.tests[1]
    traced = project.trace()
    assert traced.suspect == ["R-RATE"]
    assert traced.lowered == {"R-RATE": Status.FAIL}
    assert traced.state("R-RATE", TEST_RATE) is LinkState.GONE


def test_a_file_that_cannot_be_parsed_any_more_is_suspect(project: Project) -> None:
    """Its links are gone with the reason; nothing is taken for unchanged that could not be read."""
    project.change("schedule.py", "def rate(step)", "def rate(step")
    traced = project.trace()
    assert traced.state("R-RATE", RATE) is LinkState.GONE
    assert "schedule.py: line 2" in traced.rows["R-RATE"].suspect[0]


def test_tests_outside_of_the_audited_sources_have_digests_as_well(tmp_path: Path) -> None:
    """A weakened test is seen although `[project] sources` leaves the tests out."""
    project = Project(tmp_path)
    project.sources = ["train.py", "schedule.py"]
    project.accept()
    assert project.trace().suspect == []
    project.change("tests/test_loop.py", "== 1", "!= 7")
    assert project.trace().lowered == {"R-RATE": Status.PARTIAL}


def test_new_links_and_requirements_are_told_and_not_suspect(project: Project) -> None:
    """What came since was not accepted by anybody, and took nothing away from what was."""
    project.change("schedule.py", "def unused", "# requirement: R-RATE\ndef unused")
    new = "  - {id: R-NEW, title: N, text: N., group: other, severity: low, verify: [{construct: scale}]}\n"
    project.change("spec.yaml", "  - {id: R-FAST", f"{new}  - {{id: R-FAST")
    traced = project.trace()
    assert (traced.suspect, traced.lowered) == ([], {})
    assert traced.state("R-RATE", "schedule.py::unused") is LinkState.NEW
    assert traced.state("R-NEW", STEP) is LinkState.NOT_ACCEPTED
    assert traced.details.coverage.not_accepted == ("R-NEW",)


def test_a_requirement_that_left_the_specification_is_told(project: Project) -> None:
    """Deleting what is not met is seen, until somebody accepts that it is gone."""
    lines = SPEC.splitlines(keepends=True)
    project.write("spec.yaml", "".join(line for line in lines if "R-FAST" not in line))
    traced = project.trace()
    assert traced.details.coverage.dropped == ("R-FAST",)
    assert traced.checks["suspect-links"].status is Status.PARTIAL
    project.accept()
    assert project.trace().details.coverage.dropped == ()


def test_what_nothing_is_linked_to_is_listed(project: Project) -> None:
    """Marks of unknown requirements, marks at no code, requirements without code, and those without anything."""
    project.change("schedule.py", "def unused", "# requirement: R-RAT\ndef unused")
    project.write("late.py", "# requirement: R-LOOP\n\n\n\nx = 1\n")
    project.change("schedule.py", "# requirement: R-RATE\n", "")
    coverage = project.trace().details.coverage
    assert [(at.path, at.line, at.requirement) for at in coverage.orphans] == [("schedule.py", 5, "R-RAT")]
    assert [(at.path, at.line, at.requirement) for at in coverage.stray] == [("late.py", 1, "R-LOOP")]
    assert coverage.uncovered == ("R-FAST",)
    assert coverage.unlinked == ("R-RATE", "R-FAST")
    found = project.trace().checks["marks"]
    assert (found.status, found.required) == (Status.FAIL, False)
    assert {(item.path, item.line) for item in found.evidence} == {("schedule.py", 5), ("late.py", 1)}


def test_marks_that_fit_pass(project: Project) -> None:
    assert project.trace().checks["marks"].status is Status.PASS


# --- accepting


def ids(rows: Iterable[str]) -> list[str]:
    return sorted(rows)


def test_accepting_again_leaves_the_file_alone(project: Project) -> None:
    """The commit of an entry is that of its acceptance; the same bytes for the same evidence."""
    before = (project.root / "spec.lock.json").read_bytes()
    project.accept(at="beef")
    assert (project.root / "spec.lock.json").read_bytes() == before


def test_accepting_one_leaves_the_others_suspect(project: Project) -> None:
    project.change("train.py", '"cpu"', '"cuda"')
    project.accept("R-LOOP", at="beef")
    assert project.trace().suspect == ["R-STATIC"]
    lock = read_lock(project.root, "spec.yaml")
    assert lock is not None
    assert {name: entry.at for name, entry in lock.requirements.items()} == {
        "R-FAST": "c0ffee", "R-LOOP": "beef", "R-RATE": "c0ffee", "R-STATIC": "c0ffee",
    }  # fmt: skip


def test_a_requirement_without_evidence_cannot_be_accepted(project: Project) -> None:
    """By name it is an error; all together means all that are proved."""
    project.tests[1] = outcome_of(TEST_RATE, "R-RATE", outcome="failed")
    rows = project.trace().rows
    with pytest.raises(UsageError, match="`R-RATE` is FAIL: there is no evidence to accept"):
        accept(None, rows, ["R-RATE"], "beef")
    with pytest.raises(UsageError, match="no requirement `R-RAT` in the report"):
        accept(None, rows, ["R-RAT"], "beef")
    lock, done, _ = accept(None, rows, [], "beef")
    assert ids(done) == ids(lock.requirements) == ids(set(EVERYTHING) - {"R-RATE"})
    failing = {name: row for name, row in rows.items() if name == "R-RATE"}
    with pytest.raises(UsageError, match="no requirement of the report is PASS"):
        accept(None, failing, [], "beef")


def test_what_a_change_accepts_itself_is_listed_for_its_reviewers(project: Project) -> None:
    """Also what it takes out of the lock; a lock that could not be read then accepts everything now."""
    before = (project.root / "spec.lock.json").read_bytes()
    assert changed_since(read_lock(project.root, "spec.yaml"), before) == ()
    project.change("train.py", '"cpu"', '"cuda"')
    project.accept("R-LOOP", at="beef")
    lock = read_lock(project.root, "spec.yaml")
    assert changed_since(lock, before) == ("R-LOOP",)
    assert changed_since(None, before) == tuple(ids(EVERYTHING))
    assert changed_since(lock, None) == changed_since(lock, b"[") == tuple(ids(EVERYTHING))


@pytest.mark.parametrize(
    ("old", "new", "where", "what"),
    [
        ('"schema_version": 1', '"schema_version": 2', "spec.lock.json:2", "schema_version"),
        ('"words"', '"word"', "spec.lock.json:", "words"),
        ('"R-LOOP": {', '"R-LOOP": {', "", ""),
        ("{", "[", "spec.lock.json", "YAML"),
    ],
)
def test_a_lock_that_cannot_be_meant(project: Project, old: str, new: str, where: str, what: str) -> None:
    """File and line of what is wrong; one that is right is read."""
    project.change("spec.lock.json", old, new)
    if not where:
        assert read_lock(project.root, "spec.yaml") is not None
        return
    with pytest.raises(UsageError) as error:
        project.trace()
    assert where in str(error.value)
    assert what in str(error.value)
