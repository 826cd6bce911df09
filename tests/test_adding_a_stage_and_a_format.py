"""A stage is one package and one line, a report format one module and one line: the command line knows the rest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

STAGE = """
from verifygate.model import Check, Outcome, StageResult, Status
from spelling.details import SpellingDetails

class SpellingStage:
    def run(self, context):
        check = Check(id="spelling.words", title="Words", status=Status.PASS, expected="all", actual="all")
        details = SpellingDetails(words=("optimiser", "scaler"))
        return StageResult(stage="spelling", outcome=Outcome.COMPLETED, checks=(check,), details=details)
"""
DETAILS = """
from typing import Literal
from verifygate.model import StageDetails

class SpellingDetails(StageDetails):
    kind: Literal["spelling"] = "spelling"
    words: tuple[str, ...] = ()
"""
TEMPLATE = """{% import "parts.md.j2" as parts with context %}
{{ parts.header(page, "Spelling report", page.result) }}
Spelled: {{ page.details.words|codes if page.details else "nothing" }}.
"""
FORMAT = """
FILES = ("report.lines",)

def render(report, prefix):
    return {"report.lines": "".join(f"{each.stage} {each.outcome.value}\\n" for each in report.stages)}

def render_check(report, asides):
    return f"{len(report.findings)} findings\\n"
"""
VERIFYGATE = """
import sys
from verifygate import stage_registry
from verifygate.report import formats

stages = stage_registry.STAGES
last = {"requirements": stages.pop("requirements")}
stages["spelling"] = stage_registry.StageEntry(
    stage="spelling.stage:SpellingStage", details="spelling.details:SpellingDetails", weight=20, evidence="static"
)
stages |= last
formats.FORMATS["lines"] = formats.Format(run="lines_format", check="lines_format:render_check")

from verifygate.cli import main
sys.exit(main())
"""


@pytest.fixture
def added(tmp_path: Path) -> Path:
    """The folder of a stage's package and a format's module."""
    folder = tmp_path / "added"
    templates = folder / "spelling" / "templates"
    templates.mkdir(parents=True)
    (folder / "spelling" / "__init__.py").touch()
    (folder / "spelling" / "stage.py").write_text(STAGE, encoding="utf-8")
    (folder / "spelling" / "details.py").write_text(DETAILS, encoding="utf-8")
    (templates / "spelling.md.j2").write_text(TEMPLATE, encoding="utf-8")
    (folder / "lines_format.py").write_text(FORMAT, encoding="utf-8")
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)  # no configuration is looked for above
    (folder / "train.py").write_text("from torch.amp import GradScaler\n\nscaler = GradScaler()\n", encoding="utf-8")
    return folder


def verifygate(added: Path, project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line of a verifygate whose two tables have one line more each."""
    return subprocess.run(
        [sys.executable, "-c", VERIFYGATE, *arguments],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(added)},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def test_the_help_names_them(added: Path, project: Path):
    told = "".join(verifygate(added, project, "run", "--help").stdout.split())  # without the line ends inside a list
    assert "|spelling|" in told
    assert ",matrix,lines." in told
    assert "|lines]" in verifygate(added, project, "check", "--help").stdout


def test_an_added_stage_is_run_scored_and_reported(added: Path, project: Path):
    ended = verifygate(added, project, "run", "--stage", "all", "--format", "md,lines", "--report-dir", "out")

    assert ended.returncode == 0, ended.stdout + ended.stderr
    report = json.loads((project / "out" / "report.json").read_text(encoding="utf-8"))
    stage = next(each for each in report["stages"] if each["stage"] == "spelling")
    assert stage["details"] == {"kind": "spelling", "words": ["optimiser", "scaler"]}
    assert (stage["verdict"], stage["score"]) == ("PASS", 100.0)
    parts = [each for each in report["parts"] if each["stage"] == "spelling"]
    assert [(each["check"], each["possible"]) for each in parts] == [
        ("spelling.words", 36.36)
    ]  # 20 beside 35 of others
    weights = next(each["value"] for each in report["policy"] if each["key"] == "verdict.weights")
    assert weights.endswith("spelling 20, requirements 25")
    assert "| [spelling](spelling.md) | PASS |" in (project / "out" / "gate.md").read_text(encoding="utf-8")
    page = (project / "out" / "spelling.md").read_text(encoding="utf-8")
    assert page.startswith("# Spelling report: project")
    assert "Spelled: `optimiser`, `scaler`." in page
    assert "spelling completed" in (project / "out" / "report.lines").read_text(encoding="utf-8").splitlines()


def test_the_report_of_an_added_stage_is_read_back(added: Path, project: Path):
    for folder in ("out", "out", "again"):  # the second run replaces what the first one wrote
        asked = ("--stage", "spelling", "--format", "md,lines", "--report-dir", folder)
        assert verifygate(added, project, "run", *asked).returncode == 0
    ended = verifygate(added, project, "compare", "out/report.json", "again/report.json")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    html = verifygate(added, project, "run", "--stage", "spelling", "--format", "html", "--report-dir", "page")
    assert html.returncode == 0
    assert '<a href="#spelling">spelling</a>' in (project / "page" / "report.html").read_text(encoding="utf-8")


def test_a_stage_that_was_not_asked_for_is_named(added: Path, project: Path):
    asked = ("--stage", "static", "--format", "md", "--report-dir", "out")
    assert verifygate(added, project, "run", *asked).returncode == 0
    gate = (project / "out" / "gate.md").read_text(encoding="utf-8")
    assert "- not requested: execution, performance, security, spelling and requirements;" in gate
    assert "Spelled: nothing." in (project / "out" / "spelling.md").read_text(encoding="utf-8")


def test_weights_of_an_added_stage_may_be_set(added: Path, project: Path):
    (project / "verifygate.toml").write_text("[verdict]\nweights = { static = 1, spelling = 4 }\n", encoding="utf-8")
    asked = ("--stage", "static", "--stage", "spelling", "--report-dir", "out")
    assert verifygate(added, project, "run", *asked).returncode == 0
    report = json.loads((project / "out" / "report.json").read_text(encoding="utf-8"))
    assert sum(each["possible"] for each in report["parts"] if each["stage"] == "spelling") == 80.0


def test_a_requirement_may_refer_to_an_added_stage(added: Path, project: Path):
    (project / "verifygate.toml").write_text('[requirements]\nspec = "spec.yaml"\n', encoding="utf-8")
    row = "{id: SP-1, title: Words, text: Known., severity: high, group: other, verify: [{check: spelling.words}]}"
    (project / "spec.yaml").write_text(f"title: Spelling\nrequirements: [{row}]\n", encoding="utf-8")
    asked = ("--stage", "spelling", "--stage", "requirements", "--report-dir", "out")
    ended = verifygate(added, project, "run", *asked)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    page = (project / "out" / "requirements.md").read_text(encoding="utf-8")
    assert "1 of 1 requirement verified" in page
    report = (project / "out" / "report.json").read_text(encoding="utf-8")
    assert "check spelling.words passed, by evidence of class static" in report


def test_check_prints_an_added_format(added: Path, project: Path):
    ended = verifygate(added, project, "check", "--no-cache", "--format", "lines")
    assert (ended.returncode, ended.stdout) == (0, "0 findings\n")
