"""The security stage by the command line: verdicts, analysers that are absent or fail, what stood before a change."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from verifygate.cli import main
from verifygate.security import analysers, examine

UNSAFE = """\
import torch
from huggingface_hub import hf_hub_download

def restore(name):
    path = hf_hub_download(name, "model.pt")
    return torch.load(path, weights_only=False)
"""


def run(folder: Path, *options: str) -> tuple[int, dict[str, Any]]:
    code = main(["run", "--stage", "security", "--config", str(folder / "verifygate.toml"), *options])
    report = json.loads((folder / "reports/latest/report.json").read_text(encoding="utf-8"))
    return code, report


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "verifygate.toml").write_text('[project]\nname = "p"\n', encoding="utf-8")
    (tmp_path / "train.py").write_text(UNSAFE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def status(report: dict[str, Any], check: str) -> str:
    (stage,) = report["stages"]
    return next(each["status"] for each in stage["checks"] if each["id"] == f"security.{check}")


def test_a_certain_finding_blocks_and_its_mended_twin_passes(project: Path) -> None:
    code, report = run(project)
    assert code == 1
    assert [reason["finding"] != "" for reason in report["reasons"]][:1] == [True]
    (project / "train.py").write_text(UNSAFE.replace("False", "True"), encoding="utf-8")
    code, report = run(project)
    assert (code, report["verdict"], status(report, "SEC101")) == (0, "PASS", "PASS")


def test_an_analyser_that_is_not_installed_is_not_measured_and_said(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examine, "program", lambda _name: None)
    _, report = run(project)
    assert status(report, "SEC201") == "NOT MEASURED"
    page = (project / "reports/latest/security.md").read_text(encoding="utf-8")
    assert "not installed: pip install" in page


def test_pip_audit_never_asks_the_network_unasked(project: Path) -> None:
    (project / "requirements.txt").write_text("torch==2.5.1\n", encoding="utf-8")
    _, report = run(project)
    assert status(report, "SEC202") == "NOT MEASURED"
    assert status(report, "SEC203") == "NOT APPLICABLE"


@pytest.mark.parametrize("script", ["import sys; sys.exit('boom')", "print('no JSON')", "print('{}')"])
def test_an_analyser_that_fails_is_not_measured(project: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    broken = project / "bandit"
    broken.write_text(f"#!{sys.executable}\n{script}\n", encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.setattr(examine, "program", lambda name: str(broken) if name == "bandit" else None)
    _, report = run(project)
    assert status(report, "SEC201") == "NOT MEASURED"


@pytest.mark.slow
def test_bandit_and_zizmor_are_run_and_judged_likely(project: Path) -> None:
    (project / "train.py").write_text("def read(args):\n    return eval(args.expression)\n", encoding="utf-8")
    workflows = project / ".github/workflows"
    workflows.mkdir(parents=True)
    steps = "    steps:\n      - run: echo ${{ github.event.pull_request.title }}\n"
    (workflows / "a.yml").write_text(
        f"on: pull_request_target\npermissions: {{}}\njobs:\n  a:\n    runs-on: ubuntu-latest\n{steps}",
        encoding="utf-8",
    )
    assert analysers.program("bandit"), "it is among the development dependencies"
    code, report = run(project)
    (stage,) = report["stages"]
    found = {(each["rule"], each["line"], each["certainty"]) for each in stage["findings"]}
    assert ("SEC201", 2, "likely") in found
    assert any(rule == "SEC203" for rule, *_ in found)
    assert code == 0


def test_a_configuration_of_bandit_in_the_tree_is_not_read(project: Path) -> None:
    (project / "train.py").write_text("def read(args):\n    return eval(args.expression)\n", encoding="utf-8")
    (project / ".bandit").write_text("[bandit]\nskips = B307\n", encoding="utf-8")
    (project / "pyproject.toml").write_text('[tool.bandit]\nskips = ["B307"]\n', encoding="utf-8")
    _, report = run(project)
    assert status(report, "SEC201") == "PARTIAL"
    (found,) = (each for stage in report["stages"] for each in stage["findings"] if each["rule"] == "SEC201")
    assert (found["symbol"], "B307" in found["remedy"]) == ("read", False)


def test_what_stood_before_a_change_does_not_block_it(project: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=project, check=True)

    (project / ".gitignore").write_text("reports\n", encoding="utf-8")
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-qm", "unsafe")
    git("mv", "train.py", "training.py")
    git("commit", "-qm", "renamed")
    code, report = run(project, "--since", "main~1")
    assert (code, [each["rule"] for each in report["changes"]["open"]]) == (0, ["SEC101"])
    (project / "more.py").write_text(UNSAFE, encoding="utf-8")
    git("add", "-A")
    git("commit", "-qm", "once more")
    code, report = run(project, "--since", "main~1")
    assert (code, [each["path"] for each in report["changes"]["new"]]) == (1, ["more.py"])


def test_an_unknown_code_in_the_settings_is_one_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "verifygate.toml").write_text('[security]\nignore = ["SEC999"]\n', encoding="utf-8")
    assert main(["run", "--stage", "security"]) == 2
    assert "verifygate.toml:2" in capsys.readouterr().err
