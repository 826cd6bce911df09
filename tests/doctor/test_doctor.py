"""`verifygate doctor`: what a run will find, each with a remedy, without running the project's code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from verifygate.cli import main

GITHUB = {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request", "GITHUB_BASE_REF": "main"}
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main")
BARE = ("GITHUB_ACTIONS", "GITHUB_EVENT_NAME", "GITHUB_BASE_REF", "GITLAB_CI", "CI", "VIRTUAL_ENV")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program with a test, in a repository with one commit; code that would show if it ran."""
    for name in BARE:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "train.py").write_text(
        "import os\nimport torch\n\nscaler = torch.amp.GradScaler()\nopen('it-ran', 'w')\n", encoding="utf-8"
    )
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_train.py").write_text("import train\n\n\ndef test_a():\n    pass\n", encoding="utf-8")
    commit(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commit(folder: Path) -> None:
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "one")):
        subprocess.run([*GIT, *words], cwd=folder, check=True)


def answers(capsys: pytest.CaptureFixture[str], code: int = 0) -> dict[str, dict[str, Any]]:
    assert main(["doctor", "--format", "json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert told["works"] is (code == 0)
    return {each["name"]: each for each in told["answers"]}


def fake_interpreter(folder: Path, **answered: str) -> None:
    """An interpreter that says of itself what a test wants; what it was asked is in its arguments."""
    told = json.dumps({"python": "3.12.1", "torch": "2.13.0", "pytest": "9.0", "cuda": "not available", **answered})
    script = (
        f"#!{sys.executable}\nimport sys\n(answer,) = [word for word in sys.argv if word.endswith('.json')]\n"
        f"open(answer, 'w').write('[]' if 'absent' in answer else {told!r})\n"
    )
    (folder / "python").write_text(script, encoding="utf-8")
    (folder / "python").chmod(0o755)
    (folder / "verifygate.toml").write_text('[execution]\ninterpreter = "python"\n', encoding="utf-8")


def test_everything_is_there(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0; and no code of the project ran."""
    found = answers(capsys)
    assert found["sources"]["text"] == "2 Python files, 1 about AMP"
    assert found["tests"]["text"] == "pytest tests"
    assert found["interpreter"]["text"].endswith("(discovered)")
    assert found["torch"]["state"] == "ok"
    assert found["imports"]["state"] == "ok"
    assert found["git"]["text"].startswith("commit ")
    assert found["CI"]["text"] == "none: a person's machine"
    assert not (project / "it-ran").exists()


def test_one_line_each_with_its_remedy(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For people: a state, a name, what there is, and what to do."""
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.split()[0] in ("ok", "note", "failed") for line in lines)
    (configuration,) = [line for line in lines if " configuration " in line]
    assert configuration.endswith("-> `verifygate init` writes one")
    (base,) = [line for line in lines if "merge base" in line]
    assert "with main: " in base


def test_an_interpreter_without_torch(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that train cannot run: exit code 1, and the interpreter is named."""
    fake_interpreter(project, torch="not installed", cuda="not known without torch")
    found = answers(capsys, 1)
    assert found["interpreter"]["text"] == "python, Python 3.12.1 (configured)"
    assert (found["torch"]["state"], found["torch"]["text"]) == ("failed", "torch is not installed in python")
    assert "-m pip install torch" in found["torch"]["remedy"]
    (project / "tests" / "test_train.py").unlink()
    assert answers(capsys)["torch"]["state"] == "note"  # without tests nothing needs it


def test_an_interpreter_without_pytest(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same for what runs the tests."""
    fake_interpreter(project, pytest="not installed")
    assert answers(capsys, 1)["pytest"]["state"] == "failed"


def test_an_interpreter_that_is_none(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that is not there, and one that says nothing."""
    config = project / "verifygate.toml"
    config.write_text('[execution]\ninterpreter = "gone"\n', encoding="utf-8")
    found = answers(capsys, 1)
    assert "`gone` is not an interpreter: it does not exist" in found["interpreter"]["text"]
    fake_interpreter(project)
    (project / "python").write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    assert "did not say what it is (exit code 3)" in answers(capsys, 1)["interpreter"]["text"]


@pytest.mark.parametrize(
    ("cuda", "settings", "state", "told"),
    [
        ("2 x NVIDIA H100", "", "ok", ""),
        ("not available", "", "note", "no CUDA here: run the gate on a machine with CUDA as well"),
        ("not available", "emulate_cuda = false\n", "note", "no CUDA here: try `--emulate-cuda`"),
    ],
)
def test_cuda(
    cuda: str, settings: str, state: str, told: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A device, none with emulation, none without."""
    fake_interpreter(project, cuda=cuda)
    with (project / "verifygate.toml").open("a", encoding="utf-8") as file:
        file.write(settings)
    found = answers(capsys)["CUDA"]
    assert found["state"] == state
    assert found["remedy"].startswith(told)


def test_modules_that_are_missing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Asked without importing; what stands below a `try` may be missing; a folder on pytest's path counts."""
    (project / "src" / "inner").mkdir(parents=True)
    (project / "src" / "inner" / "__init__.py").write_text("", encoding="utf-8")
    (project / "data.py").write_text(
        "import absent_module\nimport inner\ntry:\n    import apex_is_absent\nexcept ImportError:\n    pass\n",
        encoding="utf-8",
    )
    found = answers(capsys)["imports"]
    assert found["state"] == "note"
    assert "absent_module (data.py)" in found["text"]
    assert "`inner` lies in `src`, which is not on the module path: set `pythonpath = src`" in found["remedy"]
    assert "apex_is_absent" not in found["text"]
    (project / "pytest.ini").write_text("[pytest]\npythonpath = src\n", encoding="utf-8")
    found = answers(capsys)
    assert found["pythonpath"]["text"] == "the root, and src (pytest.ini)"
    assert "inner" not in found["imports"]["text"]


def test_a_module_path_that_leads_nowhere(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """pytest would add it and find nothing."""
    (project / "pytest.ini").write_text("[pytest]\npythonpath = source\n", encoding="utf-8")
    assert answers(capsys, 1)["pythonpath"]["remedy"] == "correct `pythonpath` in pytest.ini"


def a_pull_request(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The environment of a job on a pull request whose head is checked out, in a clone of `folder`."""
    git = [*GIT, "-C", str(folder)]
    base = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run([*git, "checkout", "-qb", "feature"], check=True)
    (folder / "own.py").write_text("", encoding="utf-8")
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "two"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    payload = folder / "event.json"
    payload.write_text(json.dumps({"pull_request": {"head": {"sha": head}, "base": {"sha": base}}}), encoding="utf-8")
    for name, value in (GITHUB | {"GITHUB_EVENT_PATH": str(payload)}).items():
        monkeypatch.setenv(name, value)
    return folder


@pytest.mark.slow
def test_a_pull_request(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What `run --ci` goes by: the event, and the commit that the change began at."""
    a_pull_request(project, monkeypatch)
    found = answers(capsys)
    assert found["CI"]["text"].startswith("GitHub pull_request: where its head left ")
    assert found["merge base"]["text"].endswith("(`run --ci`)")
    monkeypatch.setenv("GITHUB_EVENT_NAME", "brand_new_event")
    assert (answers(capsys, 1)["CI"]["state"]) == "failed"
    monkeypatch.setenv("GITHUB_EVENT_NAME", "pull_request_target")
    assert "holds the repository's secrets" in answers(capsys, 1)["CI"]["text"]


def test_a_shallow_clone(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The remedy names what a checkout of CI has to be told."""
    a_pull_request(project, monkeypatch)
    clone = tmp_path / "clone"
    command = [*GIT, "clone", "-q", "--depth", "1", "--no-single-branch", "-b", "feature", f"file://{project}"]
    subprocess.run([*command, str(clone)], check=True)
    monkeypatch.chdir(clone)
    assert "fetch-depth: 0" in answers(capsys, 1)["CI"]["remedy"]


def test_no_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing to audit: exit code 1 by that alone."""
    for name in BARE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    found = answers(capsys, 1)
    assert found["git"]["state"] == "note"
    assert found["sources"]["state"] == "failed"


def test_bad_input_is_no_diagnosis(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A configuration that cannot be meant: one line, exit code 2."""
    (project / "verifygate.toml").write_text("[execution]\nsurprise = 1\n", encoding="utf-8")
    assert main(["doctor"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "verifygate.toml:2" in captured.err


def test_a_service_that_is_not_known(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change has to be named there."""
    monkeypatch.setenv("CI", "true")
    assert "--since" in answers(capsys)["CI"]["remedy"]
