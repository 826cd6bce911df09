"""`check FILE`: the project around a file is read, and what concerns the file is reported."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from verifygate.cli import main

HELPER = """\
import torch


def clip(model):
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
"""
TRAIN = """\
import torch
from torch.amp import GradScaler

from helper import clip


def train(model, optimizer, batches):
    scaler = GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        clip(model)
        scaler.step(optimizer)
        scaler.update()
"""
OTHER = TRAIN.replace("from helper import clip\n", "").replace(
    "clip(model)", "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
)
SOUND = OTHER.replace("        torch.nn", "        scaler.unscale_(optimizer)\n        torch.nn")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of three files, with a folder that has nothing to do with them."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "helper.py").write_text(HELPER, encoding="utf-8")
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    (tmp_path / "other.py").write_text(OTHER, encoding="utf-8")
    (tmp_path / "tools").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[tuple[str, str, int]]]:
    capsys.readouterr()
    code = main(["check", "--no-cache", "--format", "json", *arguments])
    findings = json.loads(capsys.readouterr().out)["findings"]
    return code, [(each["rule"], each["path"], each["line"]) for each in findings]


@pytest.mark.parametrize("named", ["train.py", "helper.py"])
def test_the_fault_in_a_helper_of_another_file_is_found(project: Path, named: str, capsys: pytest.CaptureFixture[str]):
    """Whichever of the two files is named; and what stands in a third one is not reported."""
    assert checked(capsys, named) == (1, [("AMP201", "helper.py", 5)])


def test_a_named_file_gets_what_the_whole_project_gets(project: Path, capsys: pytest.CaptureFixture[str]):
    """The same fingerprint, whatever was named, and wherever the command was given."""

    def fingerprints(*paths: str) -> set[str]:
        main(["check", "--no-cache", "--format", "json", *paths])
        return {each["fingerprint"] for each in json.loads(capsys.readouterr().out)["findings"]}

    whole = fingerprints()
    assert len(whole) == 2
    assert fingerprints("train.py") | fingerprints("other.py") == whole
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(project / "tools")
        assert fingerprints("../train.py") | fingerprints(str(project / "other.py")) == whole


def test_paths_are_those_that_were_typed(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(project / "tools")

    assert checked(capsys, "../train.py") == (1, [("AMP201", "../helper.py", 5)])
    assert checked(capsys, str(project / "train.py")) == (1, [("AMP201", f"{project}/helper.py", 5)])


def test_a_file_of_the_project_that_cannot_be_read_is_counted(project: Path, capsys: pytest.CaptureFixture[str]):
    """It is nobody's named file: the check of another one does not fail for it, and says it."""
    (project / "broken.py").write_text("# autocast\ndef f(:\n", encoding="utf-8")
    (project / "other.py").write_text(SOUND, encoding="utf-8")

    assert main(["check", "other.py"]) == 0
    told = capsys.readouterr()
    assert "No findings in 1 file; 1 file of the project around could not be analysed" in told.out
    assert main(["check", "other.py", "broken.py"]) == 2


def test_without_a_project_a_file_stands_alone(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Nobody reads a whole disk because a file lies on it."""
    (project / ".git").rmdir()

    assert checked(capsys, "train.py") == (0, [])
    main(["check", "train.py"])
    assert "; read without 2 Python files beside: no one project" in capsys.readouterr().out
    for paths in ((".",), ("train.py", "helper.py", "other.py")):
        main(["check", *paths])
        assert "read without" not in capsys.readouterr().out


def test_a_fix_says_which_files_it_does_not_read(project: Path, capsys: pytest.CaptureFixture[str]):
    main(["fix", "--diff", "train.py"])
    assert capsys.readouterr().err == "verifygate: read without 2 Python files beside what is named\n"
    main(["fix", "--diff", "."])
    assert "read without" not in capsys.readouterr().err


def test_the_configuration_says_what_belongs_to_the_project(project: Path, capsys: pytest.CaptureFixture[str]):
    (project / "verifygate.toml").write_text('[project]\nsources = ["train.py"]\n', encoding="utf-8")
    assert checked(capsys, "train.py") == (0, [])
    (project / "verifygate.toml").write_text('[project]\nexclude = ["other.py"]\n', encoding="utf-8")
    assert checked(capsys, "train.py") == (1, [("AMP201", "helper.py", 5)])
    assert main(["check", "other.py"]) == 0
    assert "1 named path left out by `[project] exclude`" in capsys.readouterr().out


def test_patterns_are_those_of_the_configuration(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Relative to its folder, whatever the folder of the command is."""
    (project / "tools/loop.py").write_text(OTHER, encoding="utf-8")
    (project / "verifygate.toml").write_text('[static.per_file_ignores]\n"tools/*" = ["AMP201"]\n', encoding="utf-8")
    monkeypatch.chdir(project / "tools")
    assert checked(capsys) == (0, [])
    assert checked(capsys, ".") == (0, [])
    (project / "verifygate.toml").write_text("[static]\n", encoding="utf-8")
    assert checked(capsys) == (1, [("AMP201", "loop.py", 11)])
    (project / "verifygate.toml").write_text('[project]\nexclude = ["tools/*"]\n', encoding="utf-8")
    assert main(["check"]) == 2


def test_a_kept_answer_is_about_the_files_that_were_named(project: Path, capsys: pytest.CaptureFixture[str]):
    for _ in range(2):
        assert main(["check", "train.py"]) == 1
        assert "helper.py:5" in capsys.readouterr().out
        assert main(["check", "other.py"]) == 1
        assert "other.py:11" in capsys.readouterr().out


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))


def test_an_editor_hands_over_the_text(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """It stands for the file on the disk, in its project; and a file need not be there yet."""
    typed(monkeypatch, SOUND)
    assert checked(capsys, "-", "--stdin-filename", "other.py") == (0, [])
    typed(monkeypatch, TRAIN.replace("def train", "def again"))
    assert checked(capsys, "-", "--stdin-filename=again.py") == (1, [("AMP201", "helper.py", 5)])
    typed(monkeypatch, "# autocast\ndef f(:\n")
    assert checked(capsys, "-", "--stdin-filename", "helper.py")[0] == 2


@pytest.mark.parametrize("arguments", [["-"], ["-", "a.py", "--stdin-filename", "a.py"], ["--stdin-filename", "a.py"]])
def test_a_text_without_a_name_is_refused(project: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["check", *arguments]) == 2
    assert "verifygate check - --stdin-filename FILE" in capsys.readouterr().err


def test_several_formats_at_once(project: Path, capsys: pytest.CaptureFixture[str]):
    """Each file gets the format named just before it; what has no file is printed."""
    code = main(["check", "other.py", "--format", "sarif", "--output", "a.sarif", "--format", "text"])
    assert code == 1
    assert "other.py:11:9: AMP201" in capsys.readouterr().out
    assert json.loads((project / "a.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert main(["check", "other.py", "--format=github", "--format", "json", "--output=b.json"]) == 1
    assert capsys.readouterr().out.startswith("::error file=other.py")
    assert json.loads((project / "b.json").read_text(encoding="utf-8"))["findings"]
    assert main(["check", "other.py", "--output", "c.txt"]) == 1
    assert capsys.readouterr().out == ""
    assert "AMP201" in (project / "c.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--format", "text", "--format", "json"], "text and json would go to standard output together"),
        (["--output", "a", "--format", "json", "--output", "a"], "text and json would go to `a` together"),
        (["--output", "a", "--output", "b"], "--output b: has no format of its own"),
        (["--output", "no/such/folder"], "no/such/folder: cannot be written"),
    ],
)
def test_outputs_that_cannot_be_meant_are_refused(
    project: Path, arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["check", "other.py", *arguments]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fail_on", "code"), [("critical", 1), ("high,certain", 1), ("high", 1), ("LOW , likely", 1), ("", 1)]
)
def test_a_finding_that_does_enough_harm_fails(project: Path, fail_on: str, code: int):
    assert main(["check", "other.py", "--fail-on", fail_on]) == code


def test_less_is_printed_and_does_not_fail(project: Path, capsys: pytest.CaptureFixture[str]):
    (project / "other.py").write_text("import torch\n\nscaler = torch.cuda.amp.GradScaler()\n", encoding="utf-8")
    assert main(["check", "other.py"]) == 1
    assert main(["check", "other.py", "--fail-on", "critical"]) == 0
    assert "AMP501" in (told := capsys.readouterr().out)
    assert "none fails: --fail-on critical" in told
    assert main(["check", "other.py", "--exit-zero"]) == 0
    assert main(["check", "other.py", "--fail-on", "bad"]) == 2
    assert "`bad` is no severity" in capsys.readouterr().err


def test_exit_zero_is_about_findings_alone(project: Path):
    (project / "other.py").write_text("# autocast\ndef f(:\n", encoding="utf-8")
    assert main(["check", "other.py", "--exit-zero"]) == 2


def test_patterns_of_the_configuration_are_relative_to_it_however_a_folder_is_named(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """By its whole path, or from outside: a folder of that name elsewhere is another one."""
    (project / "verifygate.toml").write_text('[project]\nexclude = ["/other.py", "/helper.py", "/train.py"]\n')
    (project / "tools" / "other.py").write_text(OTHER, encoding="utf-8")
    config = ("--config", str(project / "verifygate.toml"))
    assert checked(capsys, ".") == (1, [("AMP201", "tools/other.py", 11)])
    assert checked(capsys, str(project)) == (1, [("AMP201", f"{project}/tools/other.py", 11)])
    monkeypatch.chdir(project.parent)
    assert checked(capsys, project.name, *config) == (1, [("AMP201", f"{project.name}/tools/other.py", 11)])


def test_a_command_that_settles_a_finding_says_where_it_is_to_be_run(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Its paths are those from the root, and not those from here."""
    clip = "        torch.nn.utils.clip_grad_norm_"
    text = OTHER.replace("batches):", "batches, helper):").replace(clip, f"        helper.do(scaler)\n{clip}")
    (project / "tools" / "train.py").write_text(f"{text}\n\ntrain(*given())\n", encoding="utf-8")
    monkeypatch.chdir(project / "tools")
    assert main(["check", "--no-cache", "train.py"]) == 1
    command = "run `verifygate probe -- python tools/train.py`, from the folder `..`"
    assert f"settled by: {command}\n" in capsys.readouterr().out
