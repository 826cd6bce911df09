"""What the isolation of the project's processes is said to be, and that the command line may ask for it."""

from __future__ import annotations

from pathlib import Path

import pytest
import report_sample

from verifygate.cli import main
from verifygate.model import ISOLATION_BY_DEFAULT
from verifygate.process.isolation import Isolation, in_words
from verifygate.report.formats import render
from verifygate.report.terminal import summary

HELD = in_words(Isolation.AUTO, ["files", "secrets"])


def test_what_held_and_what_did_not_stands_in_the_head_of_every_report() -> None:
    report = report_sample.report()
    stages = tuple(
        stage.model_copy(update={"environment": {**stage.environment, "isolation": HELD}})
        if stage.stage == "execution"
        else stage
        for stage in report.stages
    )
    told = report.model_copy(update={"stages": stages})
    assert f"  isolation     {HELD}\n" in summary(told, "reports")
    assert (
        "not granted by this machine: gate, sockets, ids, processes, signals"
        in render(told, "md")["gate.md"].partition("\n## ")[2]
    )
    assert "Isolation of the project&#39;s processes:" in render(told, "html")["report.html"].replace("'", "&#39;")
    assert "isolation" not in summary(report, "reports")


def test_what_nobody_asked_for_stands_in_the_report_alone() -> None:
    """It depends on the machine, and the end of a run is to be the same on each."""
    report = report_sample.report()
    stages = tuple(
        stage.model_copy(update={"environment": {**stage.environment, ISOLATION_BY_DEFAULT: HELD}})
        if stage.stage == "execution"
        else stage
        for stage in report.stages
    )
    told = report.model_copy(update={"stages": stages})
    assert summary(told, "reports") == summary(report, "reports")
    assert (
        "not granted by this machine: gate, sockets, ids, processes, signals"
        in render(told, "md")["gate.md"].partition("\n## ")[2]
    )


def test_the_command_line_asks_for_isolation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it is required and cannot hold, nothing of the project runs."""
    (tmp_path / "train.py").write_text("import torch\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("verifygate.process.subject.granted", lambda *_: ("files",))
    assert main(["run", "--stage", "static", "--isolation", "required"]) == 2
    assert (
        "this machine does not grant: gate, secrets, sockets, ids, processes, signals, network"
        in capsys.readouterr().err
    )
    (tmp_path / "verifygate.toml").write_text('[execution]\nisolation = "required"\n', encoding="utf-8")
    main(["run", "--stage", "static", "--isolation", "off"])
    assert "Reports: reports/latest/gate.md" in capsys.readouterr().out
