"""`verifygate run` where no entry is named: what trains is found and told, and started only for `--entries found`."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifygate.cli import main
from verifygate.model import Report

TRAIN = """\
import argparse
import torch


def train(model, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100000)
    OPTION
    steps = parser.parse_args().steps
    open("started", "w").close()
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1).cuda()
    data = [(torch.randn(8, 4).cuda(), torch.randn(8, 1).cuda()) for _ in range(steps)]
    train(model, torch.optim.SGD(model.parameters(), lr=0.01), data)
"""
COMMAND = "python train.py --steps 20"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.py").write_text(TRAIN.replace("OPTION", "pass"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def needs_data(project: Path) -> None:
    option = "parser.add_argument('--data', required=True, metavar='PATH')"
    (project / "train.py").write_text(TRAIN.replace("OPTION", option), encoding="utf-8")


def gate(project: Path) -> str:
    return (project / "reports/latest/gate.md").read_text(encoding="utf-8")


def report(project: Path) -> Report:
    return Report.from_json((project / "reports/latest/report.json").read_text(encoding="utf-8"))


def test_it_is_told_and_not_started(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the first screen and in the report, with the line that would run it; nothing of it ran."""
    main(["run", "--stage", "execution", "--stage", "static"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].strip() == f"found         {COMMAND} trains (train.py:11); nothing was started: nobody named it"
    setting = f'`[execution.oracles] emulated_entries = ["{COMMAND}"]`'
    assert (
        lines[3].strip() == f"-> run the program that trains: `verifygate run --entries found`, or name it: {setting}"
    )
    assert "run the program that trains: `verifygate run --entries found`" in gate(project)
    assert [each.command for each in report(project).programs] == [COMMAND]
    assert not (project / "started").exists()


@pytest.fixture
def honest(project: Path) -> Path:
    """A right program for a GPU, a package in `src`, whose tests are about the model alone and pass on the CPU."""
    (project / "train.py").unlink()
    (package := project / "src" / "fits").mkdir(parents=True)
    (package / "__init__.py").touch()
    text = TRAIN.replace("OPTION", "pass").replace("torch.nn.Linear(4, 1)", "Net()")
    (package / "__main__.py").write_text(text.replace("import torch\n", "import torch\nfrom fits.net import Net\n", 1))
    (package / "net.py").write_text(
        "import torch\n\n\nclass Net(torch.nn.Linear):\n    __init__ = lambda self: super(Net, self).__init__(4, 1)\n"
    )
    (project / "tests").mkdir()
    (project / "tests/test_net.py").write_text(
        "import torch\nfrom fits.net import Net\n\n\ndef test_it():\n    assert Net()(torch.ones(2, 4)).numel() == 2\n"
    )
    (project / "pyproject.toml").write_text(
        '[project]\nname = "fits"\nversion = "1"\n[tool.pytest.ini_options]\npythonpath = ["src"]\n'
    )
    return project


def test_an_honest_project_meets_one_reason_and_the_command_that_answers_it(
    honest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--stage", "execution", "--stage", "static"]) == 1
    (reason,) = report(honest).reasons
    assert (reason.check, reason.condition) == ("execution.trace", "not-measured")
    assert "-> run the program that trains: `verifygate run --entries found`" in capsys.readouterr().out


@pytest.mark.slow
def test_and_by_that_command_it_passes(honest: Path) -> None:
    """Nothing is installed: its package is found where it lies."""
    assert main(["run", "--stage", "execution", "--stage", "static", "--entries", "found"]) == 0


def test_what_it_lacks_is_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not offered to be started as it stands, and asking for it is refused in one line."""
    needs_data(project)
    main(["run", "--stage", "execution", "--stage", "static"])
    out = capsys.readouterr().out
    assert "give the program that trains what it lacks (needs --data PATH), and name it" in out
    assert "--entries found" not in out
    assert main(["run", "--entries", "found"]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert f"can run as it stands; the best is `{COMMAND}`: needs --data PATH" in error
    assert not (project / "started").exists()


def test_without_a_program_the_functions_are_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a library, which nothing starts; `init` says so as well."""
    (project / "train.py").write_text(TRAIN.partition("if __name__")[0], encoding="utf-8")
    main(["run", "--stage", "execution", "--stage", "static"])
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "found         `train` (train.py:5) trains; no program that comes to it was found" in lines
    how = "write a test or a small program that calls `train` (train.py:5), and name it in"
    how += " `[execution.oracles] entries`"
    assert f"-> {how}" in lines
    assert how in gate(project)
    assert main(["init"]) == 0
    assert "Found programs that train: none; functions that train: `train` (train.py:5)" in capsys.readouterr().out


def test_nothing_is_looked_for_where_entries_are_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And `--entries found` beside them is refused, with the line that names them."""
    (project / "verifygate.toml").write_text('[execution.oracles]\nentries = ["python gone.py"]\n', encoding="utf-8")
    assert main(["run", "--entries", "found"]) == 2
    assert "verifygate.toml:1: entries are configured already" in capsys.readouterr().err
    main(["run", "--stage", "execution", "--stage", "static"])
    assert report(project).programs == ()


def test_nothing_is_looked_for_where_code_is_not_run(project: Path) -> None:
    """The static stage alone was asked: no step was expected."""
    main(["run", "--stage", "static"])
    assert report(project).programs == ()


@pytest.mark.slow
def test_asked_for_it_is_started(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It trains, the oracles answer, and the report says that it was found and started."""
    assert main(["run", "--stage", "execution", "--entries", "found"]) == 0
    out = capsys.readouterr().out
    assert f"found         {COMMAND} was started (--entries found)" in out
    assert "not run" not in out
    found = report(project)
    checks = {check.id: check.status for stage in found.stages for check in stage.checks}
    assert checks["execution.oracle-inf-injection"] == "PASS"
    assert f"Found in the source, and started for `--entries found`: `{COMMAND}`" in gate(project)
