"""`verifygate init`: what it finds, what it proposes, and a first specification that blocks nothing."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import yaml

from verifygate.cli import main
from verifygate.model import Check, Reason, Report
from verifygate.model.program import Program
from verifygate.programs import found_programs, trial
from verifygate.sources.discovery import read_sources

LOOP = """\
import torch


def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    train(None, None, ())
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.py").write_text(LOOP, encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("torch>=2.3\n", encoding="utf-8")
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "test_train.py").write_text(
        "from train import train\n\n\ndef test_train():\n    assert callable(train)\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trial, "tried", lambda programs, _: programs)  # what it does is in programs/test_trial.py
    return tmp_path


def report(folder: Path) -> Report:
    return Report.from_json((folder / "reports/latest/report.json").read_text(encoding="utf-8"))


def test_it_says_what_it_found(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests, programs that train, torch, and how AMP is driven; a program that can run as it stands is an entry."""
    package = project / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "fit.py").write_text(LOOP.replace("cuda", "cpu"), encoding="utf-8")
    assert main(["init"]) == 0
    out = capsys.readouterr().out
    assert "Found tests: checks\n" in out
    assert "Found a program that trains: python train.py (in `emulated_entries`)\n" in out
    assert "Found a program that trains: python -m pkg.fit (in `entries`)\n" in out
    assert "Found torch: >=2.3\n" in out
    assert "Found AMP: in the project's own loop\n" in out
    text = (project / "verifygate.toml").read_text(encoding="utf-8")
    settings = tomllib.loads(text)
    oracles = {"entries": ["python -m pkg.fit"], "emulated_entries": ["python train.py"]}
    assert settings["execution"] == {"pytest": ["checks"], "oracles": oracles}
    assert settings["requirements"] == {"spec": "requirements.yaml"}


LACKS = """
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--data", metavar="PATH", required=True)
    parser.parse_args()
    train(None, None, ())
"""


def test_what_cannot_run_is_a_comment_that_says_why(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Alone, the whole table is a comment, and a setting once it is freed; beside one that runs, it alone is."""
    lacking = LOOP.replace("    train(None, None, ())\n", LACKS)
    (project / "train.py").write_text(lacking, encoding="utf-8")
    assert main(["init"]) == 0
    command = "python train.py --epochs 1"
    assert f"Found a program that trains: {command} (as a comment: needs --data PATH)\n" in capsys.readouterr().out
    file = project / "verifygate.toml"
    assert f'#     "{command}",  # needs --data PATH\n' in file.read_text(encoding="utf-8")
    assert "oracles" not in tomllib.loads(file.read_text(encoding="utf-8"))["execution"]
    lines = file.read_text(encoding="utf-8").splitlines()
    begin = next(number for number, line in enumerate(lines) if "[execution.oracles]" in line)
    freed = [line.removeprefix("# ") if begin <= number < begin + 4 else line for number, line in enumerate(lines)]
    assert tomllib.loads("\n".join(freed))["execution"]["oracles"] == {"emulated_entries": [command]}
    (project / "other.py").write_text(LOOP, encoding="utf-8")
    assert main(["init", "--force"]) == 0
    assert f'    # "{command}",  # needs --data PATH\n' in file.read_text(encoding="utf-8")
    settings = tomllib.loads(file.read_text(encoding="utf-8"))
    assert settings["execution"]["oracles"] == {"emulated_entries": ["python other.py"]}


def test_what_nobody_wants_started_is_no_entry(project: Path) -> None:
    assert main(["init", "--no-run"]) == 0
    text = (project / "verifygate.toml").read_text(encoding="utf-8")
    assert '#     "python train.py",  # not tried: `--no-run`\n' in text
    assert "oracles" not in tomllib.loads(text)["execution"]


def test_what_a_program_says_as_it_dies_ends_no_comment(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its message comes from code that nobody has read: no control character gets into the file."""
    died = "it raised ValueError: \x1b[2J\x00\x7f no\ngood = 1"
    told = [each.model_copy(update={"obstacles": (died,)}) for each in found_programs_of(project)]
    monkeypatch.setattr(trial, "tried", lambda *_: tuple(told))
    assert main(["init"]) == 0
    text = (project / "verifygate.toml").read_text(encoding="utf-8")
    (line,) = (each for each in text.split("\n") if "it raised ValueError:" in each)
    assert line.startswith("# ")
    assert line.endswith("no good = 1")
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert tomllib.loads(text)["execution"] == {"pytest": ["checks"]}


def found_programs_of(folder: Path) -> tuple[Program, ...]:
    return found_programs(read_sources(folder, (".",)), folder)


def test_a_delegated_project_gets_its_catalogue(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a framework drives AMP, what is asked is asked of runs."""
    source = "import lightning\n\ntrainer = lightning.Trainer(precision='16-mixed')\ntrainer.fit(None)\n"
    (project / "train.py").write_text(source, encoding="utf-8")
    assert main(["init"]) == 0
    assert "Found AMP: delegated to a framework" in capsys.readouterr().out
    assert yaml.safe_load((project / "requirements.yaml").read_text())["extends"] == "amp-delegated"


def test_nothing_to_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """No specification is written where there is no AMP code."""
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    assert "Found AMP: none" in capsys.readouterr().out
    assert not (tmp_path / "requirements.yaml").exists()
    assert "requirements" not in tomllib.loads((tmp_path / "verifygate.toml").read_text())


def test_a_file_of_the_same_name_stays(project: Path) -> None:
    """Somebody else's requirements.yaml is neither overwritten nor read."""
    (project / "requirements.yaml").write_text("mine: 1\n", encoding="utf-8")
    assert main(["init"]) == 0
    assert (project / "requirements.yaml").read_text() == "mine: 1\n"
    assert "requirements" not in tomllib.loads((project / "verifygate.toml").read_text())


def traced(folder: Path) -> tuple[dict[str, Check], dict[str, Reason]]:
    """The checks of the requirements stage, and its reasons to block."""
    main(["run", "--stage", "execution", "--stage", "static", "--stage", "requirements"])
    found = report(folder)
    checks = {check.id: check for stage in found.stages if stage.stage == "requirements" for check in stage.checks}
    return checks, {reason.check: reason for reason in found.reasons if reason.stage == "requirements"}


@pytest.mark.slow
def test_the_first_specification_blocks_nothing(project: Path) -> None:
    """It is advisory: everything is traced, and nothing of it is a reason to block."""
    assert main(["init"]) == 0
    checks, reasons = traced(project)
    assert reasons == {}
    assert checks["requirements.marked-tests"].actual.startswith("12 requirements have no marked test: AMP-01, ")
    assert checks["requirements.AMP-01"].status == "FAIL"
    assert checks["requirements.advisory"].status == "PARTIAL"


@pytest.mark.slow
def test_in_force_it_adds_one_reason_for_all_marks(project: Path) -> None:
    """What only lacks a marked test is one reason; what lacks more has its own."""
    assert main(["init"]) == 0
    spec = project / "requirements.yaml"
    spec.write_text(
        "title: t\nextends: amp-core\nselect: [AMP-01, AMP-02, AMP-03, AMP-07, CKPT-01]\n", encoding="utf-8"
    )
    _, reasons = traced(project)
    assert set(reasons) == {"requirements.marked-tests", "requirements.CKPT-01"}
    told = reasons["requirements.marked-tests"]
    assert "4 requirements have no marked test: AMP-01, AMP-02, AMP-03, AMP-07" in told.text
    assert told.action.startswith("`verifygate evidence trace mark ID ")


@pytest.mark.slow
def test_trace_mark_writes_the_marks(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Above the test, with the import that it needs; then the reason goes, and a second time writes nothing."""
    assert main(["init"]) == 0
    (project / "requirements.yaml").write_text("title: t\nextends: amp-core\nselect: [AMP-07]\n", encoding="utf-8")
    assert main(["evidence", "trace", "mark", "AMP-07", "checks/test_train.py::test_train"]) == 0
    assert (project / "checks" / "test_train.py").read_text() == (
        "import pytest\nfrom train import train\n\n\n"
        '@pytest.mark.requirement("AMP-07")\ndef test_train():\n    assert callable(train)\n'
    )
    capsys.readouterr()
    assert main(["evidence", "trace", "mark", "AMP-07", "checks/test_train.py::test_train"]) == 0
    assert "already marked with AMP-07" in capsys.readouterr().out
    assert main(["evidence", "trace", "mark"]) == 0
    assert capsys.readouterr().out.startswith("AMP-07     1 marked")
    checks, reasons = traced(project)
    assert reasons == {}
    assert checks["requirements.marked-tests"].status == "PASS"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["NOPE-1", "checks/test_train.py::test_train"], "there is no requirement `NOPE-1`"),
        (["AMP-07", "checks/test_train.py::test_gone"], "there is no test `test_gone` (there are: test_train)"),
        (["AMP-07", "checks/test_train.py"], "names no test"),
        (["AMP-07", "checks/gone.py::test_a"], "cannot be read: No such file"),
        (["AMP-07"], "name the tests to mark"),
    ],
)
def test_what_cannot_be_marked(
    arguments: list[str], told: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, exit code 2, nothing written."""
    assert main(["init"]) == 0
    capsys.readouterr()
    before = (project / "checks" / "test_train.py").read_text()
    assert main(["evidence", "trace", "mark", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert told in error
    assert (project / "checks" / "test_train.py").read_text() == before
