"""What a run says to do where its surroundings lack something: which interpreter, which module, which reason."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from verifygate.execution.remedies import for_failure, for_imports, for_skips, without_torch

INTERPRETER = ".venv/bin/python"


def missing(module: str, root: Path) -> str:
    return for_imports([f"ModuleNotFoundError: No module named '{module}'"], INTERPRETER, root)


def test_a_module_of_another_package(tmp_path: Path) -> None:
    """The interpreter and the module are named; how its package is called nobody knows."""
    told = missing("cv2.dnn", tmp_path)
    assert told.startswith("the module `cv2` is missing in .venv/bin/python: install the package that has it")
    assert "`[execution] interpreter`" in told
    assert missing("torch", tmp_path) == without_torch(INTERPRETER)


def test_a_module_of_the_project(tmp_path: Path) -> None:
    """One that lies in a folder off the module path, one whose part is missing, one in the root."""
    for path in ("src/mine/__init__.py", "helper/tools.py", "here/__init__.py", "alone.py"):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("", encoding="utf-8")
    assert "`mine` lies in `src`, which is not on the module path: set `pythonpath = src`" in missing("mine", tmp_path)
    assert "`tools` lies in `helper`" in missing("tools", tmp_path)
    assert "the project has `here` and no `here.gone`" in missing("here.gone", tmp_path)
    assert "`alone` lies in the project's root" in missing("alone", tmp_path)


def test_several_modules_and_other_errors(tmp_path: Path) -> None:
    """Each once, the first three; an error of another kind is the file's own."""
    reasons = [f"No module named '{name}'" for name in ("a1", "a1", "b1", "c1", "d1")]
    told = for_imports(reasons, INTERPRETER, tmp_path)
    assert told.count("a1") == 1
    assert told.endswith("; and 1 more module")
    assert for_imports(["SyntaxError: invalid syntax"], INTERPRETER, tmp_path).startswith("make the file importable")


def test_skips_speak_for_themselves() -> None:
    """Their own reasons, the most frequent first."""
    told = for_skips(["needs data", "needs apex", "needs data", ""])
    assert told.startswith('provide what the skips ask for: "needs data" (2 tests), "needs apex" (1 test)')


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("AssertionError: Torch not compiled with CUDA enabled", "no CUDA here: try `--emulate-cuda`"),
        ("RuntimeError: Found no NVIDIA driver on your system.", "no CUDA here: try `--emulate-cuda`"),
        ("ModuleNotFoundError: No module named 'omegaconf'", "the module `omegaconf` is missing in"),
        ("ValueError: CUDA", ""),
    ],
)
def test_a_failure_for_want_of_something(error: str, told: str, tmp_path: Path) -> None:
    """Only where the error says so."""
    assert for_failure(error, INTERPRETER, tmp_path).startswith(told)
    assert bool(for_failure(error, INTERPRETER, tmp_path)) == bool(told)


def test_the_gate_names_the_interpreter_and_the_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the reason to block of a real run, whose tests import what is not there."""
    from verifygate.cli import main
    from verifygate.model import Report

    (tmp_path / ".git").mkdir()
    (tmp_path / "train.py").write_text("import torch\n\nscaler = torch.amp.GradScaler('cpu')\n", encoding="utf-8")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("import omegaconf_is_absent\n", encoding="utf-8")
    (tmp_path / "verifygate.toml").write_text(f'[execution]\ninterpreter = "{sys.executable}"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--stage", "execution"]) == 1
    report = Report.from_json((tmp_path / "reports/latest/report.json").read_text(encoding="utf-8"))
    actions = [reason.action for reason in report.reasons]
    assert any("the module `omegaconf_is_absent` is missing in " in action for action in actions), actions
    assert all("make the file importable" not in action for action in actions)


def test_probe_names_what_was_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script that asks for a device where there is none."""
    from verifygate.cli import main

    script = "import torch\n\nraise AssertionError('Torch not compiled with CUDA enabled')\n"
    (tmp_path / "train.py").write_text(script, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["probe", "--", sys.executable, "train.py"]) == 2
    assert "no CUDA here: try `--emulate-cuda`" in capsys.readouterr().out
