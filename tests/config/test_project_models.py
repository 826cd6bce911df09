"""Models that a configuration names: what they change, who reads them, and what a change of one is."""

from __future__ import annotations

import datetime as dt
import re
import subprocess
from pathlib import Path

import pytest

from verifygate.attestation.policy_files import policy_files
from verifygate.check.settings import judged
from verifygate.cli import main
from verifygate.config.policy import policy_of
from verifygate.config.settings import load, read_settings
from verifygate.gate.base_policy import ruled
from verifygate.model import Report
from verifygate.sources.discovery import read_sources

PAGE = (Path(__file__).parents[2] / "verifygate/docs/models.md").read_text("utf-8")
FILES = dict(re.findall(r"Write `([^`]+)`:\n\n```\w+\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
MODEL, CONFIG = "acme_train_model.py", "verifygate.toml"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example of the page, its backward through the trainer."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text.replace("loss.backward()", "trainer.backward(loss)"), "utf-8")
    monkeypatch.chdir(folder)
    return folder


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")


def scale(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["contract"]) == 0
    found = re.search(r"^ +loss scale +(.*)$", capsys.readouterr().out, re.MULTILINE)
    assert found is not None
    return found[1]


def test_a_changed_model_changes_the_answer(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where what the configuration came to is kept."""
    assert scale(capsys) == "GradScaler (train.py:8)"
    edit(project / MODEL, "self.scaler.scale(loss).backward()", "(loss * 1024).backward()")
    assert scale(capsys) == "none (train.py:8)"


def test_every_command_says_who_drives(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also of a program that has no AMP code of its own."""
    edit(project / "train.py", ".half()", "")
    edit(project / "train.py", ', precision="fp16"', "")
    said = "acme_train: autocast and GradScaler"
    for command in (["contract"], ["check", "--abstract-run"], ["run", "--stage", "static"]):
        assert main(command) == 0
        shown = capsys.readouterr().out
        shown += (project / "reports/latest/gate.md").read_text("utf-8") if command[0] == "run" else ""
        assert said in shown
        assert "no AMP code was found" not in shown


def test_a_decision_in_a_model_is_at_its_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(project / MODEL, "        self.scaler.step(self.optimizer)\n", "        self.moved()\n")
    moved = (
        "    def moved(self):\n        if self.scaler.get_scale() > 1:\n            self.scaler.step(self.optimizer)\n"
    )
    (project / MODEL).write_text((project / MODEL).read_text("utf-8") + moved, "utf-8")
    line = (project / MODEL).read_text("utf-8").count("\n") - 1
    assert main(["explain", "--why", "train.py:9"]) == 0
    assert re.search(rf"event: scaler.step if the test at {MODEL}:{line}:", capsys.readouterr().out)


def test_what_a_model_says_is_part_of_every_key(project: Path) -> None:
    """Of the answers of `check`, of the gate's kept results, and of the settings' digest in report and attestation."""
    file = project / CONFIG
    settings, text = load(None, project), judged(file, project, cached=True).text
    assert load(None, project).digest == settings.digest
    edit(project / MODEL, "clip=1.0", "clip=2.0")
    changed = load(None, project)
    assert changed.digest != settings.digest
    assert judged(file, project, cached=True).text != text


def test_a_model_is_no_source_and_is_named(project: Path) -> None:
    settings = load(None, project)
    sources = read_sources(settings.root, settings.sources, settings.exclusion)
    assert tuple(sources.paths) == ("train.py",)
    assert [each.rule for each in sources.left_out] == [f"[static] models: {MODEL}"]
    assert [each.value for each in policy_of(settings) if each.key == "static.models"] == [MODEL]


@pytest.mark.parametrize(
    ("models", "error"),
    [
        ('["gone.py"]', f"{CONFIG}:2: `gone.py` does not exist (correct the path)"),
        ('["../other.py"]', f"{CONFIG}:2: `../other.py` is outside the project's root (name a path below it)"),
        ('["."]', f"{CONFIG}:2: the model `.` cannot be read: Is a directory (name a Python file of the project"),
        ('["latin.py"]', "latin.py:2: the model is not UTF-8 (save it as UTF-8)"),
        ('["train.py"]', "train.py:1: the model does not state what it models (begin it with MODELS = "),
    ],
)
def test_a_broken_model_is_one_line(project: Path, capsys: pytest.CaptureFixture[str], models: str, error: str) -> None:
    (project.parent / "other.py").write_text("", "utf-8")
    (project / "latin.py").write_bytes(b"# x\n# \xe9\n")
    (project / CONFIG).write_text(f"[static]\nmodels = {models}\n", "utf-8")
    for command in (["contract"], ["run", "--stage", "static"], ["explain", "--why", "train.py:5"]):
        assert main(command) == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        if command[0] != "explain" or "train.py" not in models:
            assert shown.err.startswith(f"verifygate: error: {error}")
        assert shown.err.count("\n") == 1


def test_a_change_does_not_choose_its_model(project: Path) -> None:
    """The base's model counts, and the change of it is listed, as one of the policy is."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        subprocess.run([*git, *command], check=True)
    main(["run", "--stage", "static", "--report-dir", str(project.parent / "report")])
    report = Report.model_validate_json((project.parent / "report/report.json").read_text("utf-8"))
    assert [each.name for each in policy_files(report, project)] == [CONFIG, MODEL]
    edit(project / MODEL, "self.scaler.scale(loss).backward()", "loss.backward()")
    (project / "more.py").write_text('MODELS = ("more",)\n', "utf-8")
    (project / CONFIG).write_text(f'[static]\nmodels = ["{MODEL}", "more.py"]\n', "utf-8")
    here = load(None, project)
    with ruled(here, None, None, ("--since", "HEAD"), accept=False) as found:
        assert [each.text for each in found.settings.models] == [
            FILES[MODEL].replace("loss.backward()", "trainer.backward(loss)")
        ]
        assert found.origin is not None
        assert [each.key for each in found.origin.differences] == ["static.models", f"model {MODEL}", "model more.py"]
    assert read_settings(project / CONFIG, CONFIG, project, dt.date(2026, 1, 1)).models == here.models


def test_versions_come_from_pins(project: Path) -> None:
    (project / "requirements.txt").write_text("transformers==4.44.0\ntorch>=2.4\n", "utf-8")
    settings = load(None, project)
    assert settings.selection(["train.py"]).versions == {"transformers": "4.44", "torch": ">=2.4"}
    edit(
        project / CONFIG, "[static]\n", '[static]\ntorch_version = "2.6"\nframework_versions = {transformers = "5.1"}\n'
    )
    assert load(None, project).selection(["train.py"]).versions == {"transformers": "5.1", "torch": "2.6"}


def test_a_named_model_is_left_out_and_says_why(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", MODEL]) == 0
    assert "1 named path left out: `[static] models` names it" in capsys.readouterr().out
