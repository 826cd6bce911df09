"""Requirements and other checks that a change has no part in; and a run that is interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from verifygate.cli import main
from verifygate.config.settings import load
from verifygate.gate import run
from verifygate.gate.stood_before import with_inherited
from verifygate.model import Certainty, Check, Evidence, Finding, Outcome, Severity, StageResult, Status
from verifygate.process.subject import Subject
from verifygate.sources.tree import Sources
from verifygate.stage import StageContext

SPEC = """\
title: Training
requirements:
  - id: R-1
    title: Clipping
    text: Gradients are unscaled before they are clipped.
    severity: high
    group: acceptance
    verify:
      - rule: AMP201
"""


def checks(repository: Any) -> dict[str, dict[str, Any]]:
    return {check["id"]: check for stage in repository.report["stages"] for check in stage["checks"]}


@pytest.fixture
def specified(repository: Any) -> Any:
    """Its old fault breaks a requirement."""
    repository.write("verifygate.toml", '[requirements]\nspec = "spec.yaml"\n')
    repository.write("spec.yaml", SPEC)
    repository.commit()
    repository.git("checkout", "-qb", "change")
    return repository


RUN = ["run", "--stage", "static", "--stage", "requirements"]


def test_a_requirement_that_only_old_findings_break_does_not_block(specified: Any):
    specified.commit(more__py="import torch\n")

    assert main([*RUN, "--since", "main"]) == 0
    found = checks(specified)["requirements.R-1"]
    assert found["status"] == "FAIL"
    assert found["inherited"].startswith("nothing but what stood at ")
    assert "so before this change" in specified.page
    assert main(RUN) == 1


def test_a_requirement_that_the_change_breaks_as_well_blocks(specified: Any):
    specified.commit(more__py=(specified.folder / "old.py").read_text(encoding="utf-8"))

    assert main([*RUN, "--since", "main"]) == 1
    assert not checks(specified)["requirements.R-1"]["inherited"]


UNMEASURED = SPEC.replace("      - rule: AMP201\n", "      - measurement: {metric: speedup, at_least: 2.0}\n")


@pytest.mark.parametrize(("file", "code"), [("README.md", 0), ("LICENSE", 0), ("notes.txt", 1), ("more.py", 1)])
def test_documentation_alone_alters_no_answer(specified: Any, file: str, code: int):
    """What nobody measured on main is not to be measured for a README."""
    specified.git("checkout", "-q", "main")
    specified.write("spec.yaml", UNMEASURED)
    specified.commit()
    specified.git("checkout", "-q", "-B", "change")
    specified.write(file, "# a note\n")
    specified.commit()

    assert main([*RUN, "--since", "main"]) == code
    assert (checks(specified)["requirements.R-1"]["inherited"] == "this change alters documentation alone") is (
        code == 0
    )


def test_no_change_at_all_excuses_nothing(specified: Any):
    specified.git("checkout", "-q", "main")
    specified.write("spec.yaml", UNMEASURED)
    specified.commit()

    assert main([*RUN, "--since", "main"]) == 1


PLACE = {"path": "old.py", "line": 8}


def blaming(*places: dict[str, Any]) -> StageResult:
    """An oracle that fails, and one finding of it, which stood."""
    evidence = tuple(Evidence(id=f"E-{n}", kind="executed", summary="s", **each) for n, each in enumerate(places))
    found = Finding(
        rule="AMP201", name="n", severity=Severity.CRITICAL, certainty=Certainty.CERTAIN, message="m",
        fingerprint="stood", column=1, end_line=8, **PLACE,
    )  # fmt: skip
    check = Check(id="execution.scale-invariance", title="t", status=Status.FAIL, evidence=evidence)
    return StageResult(stage="execution", outcome=Outcome.COMPLETED, checks=(check,), findings=(found,))


@pytest.mark.parametrize(
    ("places", "stood"), [([PLACE], True), ([PLACE, {"path": "new.py", "line": 1}], False), ([], False), ([{}], False)]
)
def test_an_oracle_that_blames_nothing_but_what_stood_does_not_block(
    repository: Any, places: list[dict[str, Any]], stood: bool
):
    repository.git("checkout", "-qb", "change")
    repository.commit(more__py="import torch\n")
    stage = blaming(*places)
    settings = load(None, repository.folder)
    subject = Subject(repository.folder, Path("python"))
    context = StageContext(settings, Sources(()), subject, since=repository.git("rev-parse", "main"))

    (told,) = with_inherited([stage], context, {"execution": stage}, frozenset({"stood"}))
    assert bool(told.checks[0].inherited) is stood
    (told,) = with_inherited([stage], context, {"execution": stage}, frozenset())
    assert not told.checks[0].inherited


@pytest.mark.parametrize(
    ("file", "stood"),
    [
        *(("test_it.py", True), ("README.md", True), ("LICENSE.txt", True)),
        *(("more.py", False), ("tests/data.json", False), ("notice.py", False), ("tests/load.py", False)),
    ],
)
def test_tests_and_documentation_alter_no_measurement(repository: Any, file: str, stood: bool):
    repository.git("checkout", "-qb", "change")
    repository.write(file, "# new\n")
    repository.commit()
    check = Check(id="performance.speedup", title="t", status=Status.NOT_MEASURED)
    stage = StageResult(stage="performance", outcome=Outcome.COMPLETED, checks=(check,))
    repository.write("verifygate.toml", '[performance]\nworkload = "tests.load:build"\n')
    repository.git("rm", "-q", "--cached", "--ignore-unmatch", "verifygate.toml")
    repository.write(".git/info/exclude", "verifygate.toml\n")
    settings, subject = load(None, repository.folder), Subject(repository.folder, Path("python"))
    context = StageContext(settings, Sources(()), subject, since=repository.git("rev-parse", "main"))

    (told,) = with_inherited([stage], context, {"performance": stage}, frozenset())
    assert bool(told.checks[0].inherited) is stood


def test_a_run_that_is_interrupted_ends_with_what_it_knows(
    repository: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Earlier reports stay as they are."""
    run_stage = run._run_stage

    def until_performance(name: str, context: StageContext) -> StageResult:
        if name == "performance":
            raise KeyboardInterrupt
        return run_stage(name, context)

    monkeypatch.setattr(run, "_run_stage", until_performance)
    assert main(["run", "--stage", "static", "--stage", "performance", "--stage", "requirements"]) == 130
    told = capsys.readouterr()
    assert "old.py:8: AMP201" in told.out
    assert "the performance stage could not run: interrupted while it ran" in told.out
    assert "the requirements stage could not run: not run: interrupted before it" in told.out
    assert "Interrupted: no report was written." in told.out
    assert not list((repository.folder / "reports").rglob("*.*"))


def test_a_log_has_a_line_for_each_stage(repository: Any, capsys: pytest.CaptureFixture[str]):
    main(["run", "--stage", "static", "--stage", "requirements"])
    assert capsys.readouterr().err.splitlines() == ["verifygate: [1/2] static", "verifygate: [2/2] requirements"]
