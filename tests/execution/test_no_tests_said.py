"""`[execution] tests = false`: the project has none, whatever its files are called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verifygate.cli import main

SCRIPT = """\
import torch


def test(model):
    with torch.autocast("cuda", dtype=torch.float16):
        return model(torch.ones(1))
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script that evaluates is called as pytest calls its files."""
    (tmp_path / "test_model.py").write_text(SCRIPT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_nothing_is_asked_of_tests_that_there_are_not(project: Path, capsys: pytest.CaptureFixture[str]):
    (project / "verifygate.toml").write_text("[execution]\ntests = false\n", encoding="utf-8")
    assert main(["run", "--stage", "execution", "--stage", "static"]) == 0
    report = json.loads((project / "reports/latest/report.json").read_text(encoding="utf-8"))
    execution = report["stages"][0]
    assert (execution["outcome"], execution["checks"]) == ("not applicable", [])
    assert "`execution.tests = false`" in execution["reason"]
    assert {"key": "execution.tests", "value": "there are none", "default": "there are some"} in report["policy"]
    capsys.readouterr()
    main(["doctor"])
    assert "none: `[execution] tests = false`" in capsys.readouterr().out


@pytest.mark.parametrize("named", ['pytest = ["tests"]', 'required = ["test_model.py"]', 'uncollected = ["test_*.py"]'])
def test_none_and_some_are_refused_together(project: Path, named: str, capsys: pytest.CaptureFixture[str]):
    (project / "verifygate.toml").write_text(f"[execution]\ntests = false\n{named}\n", encoding="utf-8")
    assert main(["run", "--stage", "static"]) == 2
    assert f"`tests = false` says that there are none, and `{named.split()[0]}` names some" in capsys.readouterr().err
