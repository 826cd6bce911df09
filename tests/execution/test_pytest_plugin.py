"""`pytest --verifygate`: a test in which the code breaches the protocol fails, and nothing else changes."""

from __future__ import annotations

import importlib
import json
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from verifygate.cli import main
from verifygate.execution.recorded_trace import TraceReader, read_trace

pytest_plugins = ["pytester"]

PLUGIN = "verifygate.pytest_plugin"
TRAIN = """\
import torch
from torch.amp import GradScaler
from torch.nn.utils import clip_grad_norm_


def train(clips_early, steps=2):
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = GradScaler("cpu", init_scale=8.0)
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(torch.randn(3, 4)).square().mean()
        scaler.scale(loss).backward()
        if not clips_early:
            scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    train(True)
"""
PLACE = f"train.py:{TRAIN.splitlines().index('        clip_grad_norm_(model.parameters(), 1.0)') + 1}"
TESTS = """\
import subprocess
import sys

from train import train


def test_right(): train(False)
def test_wrong(): train(True)
def test_right_again(): train(False, 3)
def test_without_amp(): pass
def test_in_a_process_of_its_own(): subprocess.run([sys.executable, "train.py"], check=True)
def test_that_fails_by_itself():
    train(True)
    assert 1 + 1 == 3
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project whose conftest imports what it trains with, as conftests do."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # the run is none of our own workers
    pytester.makefile(".ini", pytest="[pytest]\npythonpath = .\n")
    pytester.makepyfile(train=TRAIN)
    pytester.makeconftest("import train\n")
    (pytester.path / ".git").mkdir()
    return pytester


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    installed = any(each.value == PLUGIN for each in entry_points(group="pytest11"))
    named = () if installed else ("-p", PLUGIN)
    return project.runpytest_subprocess(*named, "-p", "no:cacheprovider", "-p", "no:randomly", *arguments)


@pytest.mark.parametrize("shared", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)], ids=["alone", "xdist"])
def test_the_test_in_which_the_code_breaches_fails(project: pytest.Pytester, shared: tuple[str, ...]):
    """Its failure names rule, place and remedy; a test that fails by itself keeps its own failure."""
    project.makepyfile(test_train=TESTS)
    ended = run(project, "--verifygate", "-rA", *shared)
    ended.assert_outcomes(passed=3, failed=3)
    failed = {line.split()[1].partition("::")[2] for line in ended.outlines if line.startswith("FAILED ")}
    assert failed == {"test_wrong", "test_in_a_process_of_its_own", "test_that_fails_by_itself"}
    ended.stdout.fnmatch_lines(
        [
            "*_ test_wrong _*",
            "the code under test breaches the AMP protocol in this test (verifygate):",
            f"{PLACE}: AMP201 clip-before-unscale (critical): *",
            "  remedy: call `scaler.unscale_(optimizer)` between backward() and the clip",
        ]
    )
    ended.stdout.fnmatch_lines(["*assert 1 + 1 == 3"])


def test_without_the_option_nothing_is_loaded(pytester: pytest.Pytester):
    pytester.makepyfile(
        test_it="""
        import sys

        def test_it():
            own = {name for name in sys.modules if name.partition(".")[0] in ("verifygate", "verifygate_instruments")}
            assert own <= {"verifygate", "verifygate.pytest_plugin"}
            assert "verifygate.pytest_plugin" in own
            assert not {"torch", "pydantic", "libcst"} & set(sys.modules)
        """
    )
    run(pytester).assert_outcomes(passed=1)


def test_the_package_declares_the_plugin():
    """pytest finds it by this entry point wherever verifygate is installed."""
    declared = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert declared["project"]["entry-points"]["pytest11"] == {"verifygate": PLUGIN}
    assert importlib.import_module(PLUGIN).pytest_addoption


def test_the_fixture_tells_what_the_test_has_done_so_far(project: pytest.Pytester):
    project.makepyfile(
        test_it="""
        from train import train

        def test_it(amp_recording):
            assert "scaler.step" not in amp_recording.counts
            train(False, 3)
            assert amp_recording.counts["scaler.step"] == 3
            assert amp_recording.findings == []
            train(True)
            assert [each.rule for each in amp_recording.findings] == ["AMP201"]
        """
    )
    ended = run(project, "--verifygate")
    ended.assert_outcomes(failed=1)
    ended.stdout.fnmatch_lines([f"{PLACE}: AMP201 *"])
    run(project).assert_outcomes(skipped=1)


def test_what_shows_over_all_steps_is_judged_as_well(project: pytest.Pytester):
    """AMP701: rounding takes away the updates of bfloat16 weights, which the recorder tells when a test is over."""
    (project.path / "train.py").write_text(
        "import torch\n\n\ndef train():\n"
        "    model = torch.nn.Linear(64, 64).to(torch.bfloat16)\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)\n"
        "    for _ in range(20):\n"
        "        optimizer.zero_grad()\n"
        "        model(torch.randn(8, 64, dtype=torch.bfloat16)).float().square().mean().backward()\n"
        "        optimizer.step()\n",
        encoding="utf-8",
    )
    project.makepyfile(test_it="from train import train\n\n\ndef test_it(): train()\n")
    ended = run(project, "--verifygate")
    ended.stdout.fnmatch_lines(["*train.py:*AMP701*" if ended.ret else "AMP701 train.py:*"])


def test_what_the_test_itself_does_is_no_fault_of_the_code(project: pytest.Pytester):
    project.makepyfile(test_it=f"{TRAIN}\n\ndef test_it(): train(True)\n")
    run(project, "--verifygate").assert_outcomes(passed=1)


def test_the_projects_settings_hold(project: pytest.Pytester):
    """A rule that is off is off here too; one that is slight is listed and fails nothing; a wrong one ends the run."""
    project.makepyfile(test_it="from train import train\n\n\ndef test_it(): train(True)\n")
    settings = project.path / "verifygate.toml"
    settings.write_text('[static]\nignore = ["AMP201"]\n', encoding="utf-8")
    run(project, "--verifygate").assert_outcomes(passed=1)
    settings.write_text('[static]\nignore = ["AMP2O1"]\n', encoding="utf-8")
    ended = run(project, "--verifygate")
    assert ended.ret == pytest.ExitCode.USAGE_ERROR
    assert any("verifygate.toml" in line and "AMP2O1" in line for line in ended.errlines)
    settings.unlink()
    (project.path / "train.py").write_text(TRAIN.replace("float16", "bfloat16"), encoding="utf-8")
    project.makepyfile(test_it="from train import train\n\n\ndef test_it(): train(False)\n")
    ended = run(project, "--verifygate")
    ended.assert_outcomes(passed=1)
    ended.stdout.fnmatch_lines(["AMP304 train.py:*(test_it.py::test_it)"])


@pytest.mark.slow
def test_in_the_gates_own_run_it_is_quiet(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The gate records and judges by itself: the option changes nothing in what it comes to."""
    project.makepyfile(test_it="from train import train\n\n\ndef test_it(): train(True)\n")
    monkeypatch.chdir(project.path)
    named = [] if any(each.value == PLUGIN for each in entry_points(group="pytest11")) else ["-p", PLUGIN]
    found = []
    for option in ([], [*named, "--verifygate"]):
        settings = f"[execution]\npytest = {json.dumps(['test_it.py', *option])}\n"
        (project.path / "verifygate.toml").write_text(settings, encoding="utf-8")
        report = tmp_path / f"report{len(option)}"
        main(["run", "--stage", "execution", "--report-dir", str(report), "--format", "json"])
        (stage,) = json.loads((report / "report.json").read_text(encoding="utf-8"))["stages"]
        found.append(
            (
                [(each["rule"], each["line"], each["run"]) for each in stage["findings"]],
                [(each["id"], each["outcome"]) for each in stage["details"]["tests"]],
                [(each["id"], each["status"], each["actual"]) for each in stage["checks"]],
            )
        )
    assert found[0] == found[1]
    assert [rule for rule, _, _ in found[0][0]] == ["AMP201"]
    assert [outcome for _, outcome in found[0][1]] == ["passed"]


def test_a_record_that_grows_is_read_as_if_it_was_whole(tmp_path: Path):
    """Wherever a line is cut, a reader that comes again in the middle reads what one at the end reads."""
    facts = [
        {"kind": "place", "id": 1, "frames": [["/p/train.py", "train", 3]]},
        {"kind": "optimizer", "id": 1, "type": "SGD"},
    ]
    events = [
        {"n": 1, "e": "autocast", "at": 1},
        {"n": 2, "e": "section", "name": "test_a"},
        {"n": 3, "e": "backward", "at": 1, "optimizers": [1]},
        {"n": 6, "e": "section", "name": "test_b"},
        {"n": 7, "e": "scaler.step", "at": 1, "optimizer": 1},
    ]
    lines = b"".join(json.dumps(each).encode() + b"\n" for each in events)
    whole = tmp_path / "whole"
    whole.mkdir()
    (whole / "facts.jsonl").write_bytes(b"".join(json.dumps(each).encode() + b"\n" for each in facts))
    (whole / "head.jsonl").write_bytes(lines)
    expected = read_trace(whole)
    assert [(each.name, len(each.events), each.dropped) for each in expected.sections] == [
        ("", 1, 0),
        ("test_a", 1, 2),
        ("test_b", 1, 0),
    ]
    for cut in range(len(lines) + 1):
        (whole / "head.jsonl").write_bytes(lines[:cut])
        reader = TraceReader(whole)
        reader.read()
        (whole / "head.jsonl").write_bytes(lines)
        reader.read()
        assert reader.trace == expected
