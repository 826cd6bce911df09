"""The architecture as trees: who does what, by symbol; and what is said of those who hand precision over."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from requirement_world import World, run

from verifygate.config.settings import StaticSettings
from verifygate.model import (
    ArchitectureTrees,
    Branch,
    NotAnalysed,
    Outcome,
    RequirementsDetails,
    StageResult,
    StaticDetails,
    Status,
)
from verifygate.report.trees import as_text
from verifygate.sources.discovery import read_sources
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse

PROJECTS = Path(__file__).parent.parent / "projects"
SPEC = """\
title: T
architecture: {explicit: true}
requirements:
  - {id: R, title: Read, text: Log the scale., group: other, severity: high, verify: [{construct: get-scale}]}
"""
LIGHTNING = """
    import lightning.pytorch as pl

    def train(model, loader):
        pl.Trainer(precision="16-mixed").fit(model, loader)
"""
ACCELERATE = """
    from accelerate import Accelerator

    class Run:
        def __init__(self):
            self.accelerator = Accelerator(mixed_precision="fp16")
"""
TRANSFORMERS = """
    from transformers import TrainingArguments

    arguments = TrainingArguments(output_dir="out", fp16=True)
"""
FULL_PRECISION = """
    import lightning.pytorch as pl

    def train(model, loader):
        pl.Trainer(precision="32-true").fit(model, loader)
"""


def traced(tmp_path: Path, sources: Sources, spec: str = SPEC, **static: object) -> tuple[RequirementsDetails, Status]:
    found = analyse(sources, StaticSettings())
    details = StaticDetails(constructs=found.constructs, rules=found.rules, **static)  # type: ignore[arg-type]
    result = StageResult(stage="static", outcome=Outcome.COMPLETED, details=details)
    (tmp_path / "spec.yaml").write_text(spec)
    stage = run(tmp_path, "spec.yaml", {"static": result}, [file.path for file in sources])
    assert isinstance(stage.details, RequirementsDetails)
    (status,) = [check.status for check in stage.checks if check.id == "requirements.architecture"] or [Status.PASS]
    return stage.details, status


def one_file(text: str) -> Sources:
    return Sources([SourceFile("train.py", textwrap.dedent(text).encode())])


def trees(details: RequirementsDetails) -> ArchitectureTrees:
    assert details.architecture is not None
    return details.architecture


def branches(branch: Branch) -> list[Branch]:
    return [branch, *(each for inner in branch.inner for each in branches(inner))]


def test_an_explicit_loop_has_each_step_under_its_symbol(tmp_path: Path) -> None:
    """The correct twin of seed 001's project: nothing is missing, nothing handed over, nothing read in passing."""
    details, status = traced(tmp_path, read_sources(PROJECTS / "lightning_delegated" / "fixed", ["."]))
    drawn = trees(details)
    assert (status, drawn.mismatch) == (Status.PASS, "")
    assert [branch for branch in branches(drawn.actual) if branch.missing] == []
    log, loop = drawn.actual.inner
    assert (log.text, log.path) == ("`AmpWandbLog.on_train_step_end`", "training/amp_logging.py")
    assert [step.text for step in log.inner] == ["reads the loss scale: `scaler.get_scale()`"]
    assert (loop.text, loop.path) == ("`TrainingCoordinator.train`", "training/coordinator.py")
    assert [step.text.partition(":")[0] for step in loop.inner] == [
        "makes the GradScaler",
        "enters autocast",
        "scales the loss",
        "unscales the gradients",
        "clips them",
        "steps through the scaler",
        "updates the scale",
    ]
    assert [step.line for step in loop.inner] == sorted(step.line or 0 for step in loop.inner)


def test_the_expected_tree_names_the_same_steps(tmp_path: Path) -> None:
    details, _ = traced(tmp_path, one_file(LIGHTNING))
    assert as_text(trees(details).expected).splitlines() == [
        "explicit AMP: the project's own code",
        "├── makes the GradScaler",
        "├── enters autocast",
        "├── scales the loss",
        "├── unscales the gradients (where it clips)",
        "├── clips them (where it clips)",
        "├── steps through the scaler",
        "└── updates the scale",
    ]


@pytest.mark.parametrize(
    ("text", "symbol", "line", "framework", "does"),
    [
        (LIGHTNING, "`train`", 5, "Lightning", "with `16-mixed` (also written `16`) it enters torch.autocast"),
        (ACCELERATE, "`Run.__init__`", 6, "Accelerate", "with `fp16` it enters torch.autocast"),
        (TRANSFORMERS, "top level", 4, "the Trainer of transformers", ""),
    ],
)
def test_whom_precision_is_handed_to_is_named(
    tmp_path: Path, text: str, symbol: str, line: int, framework: str, does: str
) -> None:
    """A mismatch with the specification, where it stands, and what the framework does; nothing that is not so."""
    details, status = traced(tmp_path, one_file(text))
    drawn = trees(details)
    assert status is Status.FAIL
    assert drawn.mismatch.startswith("specification mismatch: ")
    assert f"to {framework} at train.py:{line}" in drawn.mismatch
    where = drawn.actual.inner[0]
    assert (where.text, where.line) == (symbol, line)
    (step,) = where.inner
    assert step.text.startswith(f"hands precision to {framework}: `")
    assert (step.inner[0].text if step.inner else "").startswith(does)
    assert bool(step.inner) is bool(does)
    said = " ".join([as_text(drawn.actual), drawn.mismatch]).lower()
    assert not [word for word in ("not use amp", "no amp", "not equivalent", "cannot") if word in said]


def test_full_precision_is_no_delegation_of_amp(tmp_path: Path) -> None:
    """`precision="32-true"` hands half precision to nobody: what is missing is missing, and no framework is named."""
    details, status = traced(tmp_path, one_file(FULL_PRECISION))
    assert status is Status.FAIL
    assert "specification mismatch" not in trees(details).mismatch
    assert all(branch.missing for branch in trees(details).actual.inner)


def test_passive_logging_answers_no_query_for_the_scale(tmp_path: Path) -> None:
    """It is named at its line in place of the mismatch, for it is what somebody wrote to meet the requirement."""
    details, _ = traced(tmp_path, read_sources(PROJECTS / "lightning_delegated" / "broken", ["."]))
    (row,) = details.requirements
    (query,) = row.queries
    assert row.status is Status.FAIL
    assert query.actual.startswith("no `get-scale` on a scaler of the project's own, only passive logging: ")
    assert [(item.path, item.line) for item in query.evidence] == [("training/amp_logging.py", 17)]
    assert row.remedy.startswith("log `scaler.get_scale()` from the scaler itself")


@pytest.mark.parametrize(("twin", "status"), [("broken", Status.FAIL), ("fixed", Status.PASS)])
def test_a_specification_can_forbid_passive_logging(tmp_path: Path, twin: str, status: Status) -> None:
    """At the line where it stands; a loop that logs from its own scaler has none."""
    spec = SPEC.replace("[{construct: get-scale}]", "[{construct: passive-scale-reading, not: true}]")
    details, _ = traced(tmp_path, read_sources(PROJECTS / "lightning_delegated" / twin, ["."]), spec)
    (row,) = details.requirements
    assert row.status is status
    places = [(item.path, item.line) for query in row.queries for item in query.evidence if item.path != "spec.yaml"]
    assert [place for place in places if place[0]] == ([("training/amp_logging.py", 17)] if twin == "broken" else [])


def test_what_the_specification_expects_is_shown_in_its_own_words(tmp_path: Path) -> None:
    spec = SPEC.replace("{explicit: true}", '{expected: ["Trainer", "- step under autocast"]}')
    details, _ = traced(tmp_path, one_file(LIGHTNING), spec)
    assert [branch.text for branch in trees(details).expected.inner] == ["Trainer", "- step under autocast"]
    assert trees(details).mismatch == ""
    assert not any(branch.missing for branch in branches(trees(details).actual))


def test_what_was_not_analysed_is_not_called_missing_for_sure(tmp_path: Path) -> None:
    """The mismatch says that a file with AMP words could not be read."""
    lost = (NotAnalysed(path="amp.py", reason="syntax error", mentions_amp=True),)
    details, status = traced(tmp_path, one_file(LIGHTNING), not_analysed=lost)
    assert status is Status.NOT_MEASURED
    assert "not analysed: amp.py" in trees(details).mismatch


def test_without_the_static_stage_the_actual_tree_says_so() -> None:
    world = World()
    world.missing = {"static": None}
    drawn = trees(world.trace().details)
    assert drawn.actual == Branch(text="the static stage did not run")
    assert drawn.expected.inner
