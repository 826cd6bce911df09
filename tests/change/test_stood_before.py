"""Requirements and other checks that a change has no part in; and a run that is interrupted."""

from __future__ import annotations

from typing import Any

import pytest

from verifygate.cli import main
from verifygate.gate import run
from verifygate.model import StageResult
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
