"""The gate on small programs that are broken, each in its way, and on their fixed twins."""

from __future__ import annotations

import difflib
import json
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PROJECTS = Path(__file__).parent / "projects"


@dataclass(frozen=True)
class Broken:
    """What is wrong with a program, and how much it takes to put it right."""

    path: str
    """The file that the first reason must name."""
    marker: str
    """Text that only the line at fault holds, so that an edit elsewhere in the file moves the expectation along."""
    changed: int
    """How many lines of the program (its tests aside) the fix may remove or add."""
    failing: int = 0
    """How many of the program's own tests fail; the other bugs get past theirs."""
    skipped: int = 0
    """How many of them skip for want of CUDA."""

    def line(self, root: Path) -> int:
        lines = (root / self.path).read_text(encoding="utf-8").splitlines()
        (at,) = [number for number, text in enumerate(lines, 1) if self.marker in text]
        return at


CASES = {
    "keyerror": Broken("training/fine_tuning.py", "env['train_data']", changed=4),
    "lightning_delegated": Broken("training/coordinator.py", "pl.Trainer(precision=", changed=70),
    "clip_before_unscale": Broken("train.py", "clip_grad_norm_(", changed=2),
    "cuda_style": Broken("classify.py", "clip_grad_norm_(", changed=10, skipped=6),
    "failing_test": Broken("tests/test_train.py", "assert rates == pytest.approx([", changed=2, failing=1),
}


@dataclass(frozen=True)
class Audit:
    """One run of the gate: its exit code, its report, and what it printed."""

    exit_code: int
    report: dict[str, Any]
    gate_md: str
    printed: str

    @property
    def own_tests(self) -> list[str]:
        """How the program's own tests ended."""
        (execution,) = [stage for stage in self.report["stages"] if stage["stage"] == "execution"]
        return [test["outcome"] for test in execution["details"]["tests"]]


def audit(root: Path, folder: Path) -> Audit:
    command = Path(sysconfig.get_path("scripts"), "verifygate")
    config = root / "verifygate.toml"
    ended = subprocess.run(
        [command, "run", "--stage", "all", "--config", config, "--report-dir", folder],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    printed = ended.stdout + ended.stderr
    assert ended.returncode in (0, 1), printed
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return Audit(ended.returncode, report, (folder / "gate.md").read_text(encoding="utf-8"), printed)


def test_every_project_is_a_case():
    """A folder that nobody audits would rot."""
    assert sorted(path.name for path in PROJECTS.iterdir()) == sorted(CASES)


@pytest.mark.parametrize("name", CASES)
def test_twins_differ_in_the_bug_only(name: str):
    """The fix is as small as the case says, and the tests are the same unless the fix changes what there is to test."""
    broken, fixed = (texts(PROJECTS / name / twin) for twin in ("broken", "fixed"))
    program = {path for path in broken.keys() | fixed.keys() if not path.startswith("tests/")}
    changed = sum(changed_lines(broken.get(path, ""), fixed.get(path, "")) for path in program)
    assert 0 < changed <= CASES[name].changed
    if name != "lightning_delegated":
        assert {path: broken.get(path) for path in broken.keys() - program} == {
            path: fixed.get(path) for path in fixed.keys() - program
        }


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_broken_program_is_blocked_at_the_line_at_fault(name: str, tmp_path: Path):
    """The verdict is BLOCK, and the first reason names the line, in report.json and on gate.md's first screen."""
    root, case = PROJECTS / name / "broken", CASES[name]
    seen = audit(root, tmp_path)
    assert (seen.exit_code, seen.report["verdict"]) == (1, "BLOCK"), seen.printed
    first = seen.report["reasons"][0]
    assert (first["path"], first["line"]) == (case.path, case.line(root)), seen.report["reasons"]
    shown = next(line for line in seen.gate_md.splitlines() if line.startswith("1. "))
    assert f"{case.path}:{case.line(root)}" in shown.replace("\\", "")
    assert seen.own_tests.count("failed") == case.failing
    assert seen.own_tests.count("skipped") == case.skipped
    assert seen.own_tests.count("passed") == len(seen.own_tests) - case.failing - case.skipped > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_fixed_program_passes(name: str, tmp_path: Path):
    """Not one finding is left, and the verdict is PASS."""
    seen = audit(PROJECTS / name / "fixed", tmp_path)
    findings = [finding for stage in seen.report["stages"] for finding in stage["findings"]]
    assert findings == []
    assert (seen.exit_code, seen.report["verdict"]) == (0, "PASS"), seen.printed


FALSE_OF_LIGHTNING = (
    "does not use amp",
    "not use autocast",
    "no amp ",
    "no mixed precision",
    "zero occurrences",
    "not equivalent",
    "different behavio",
    "cannot verify",
    "cannot guarantee",
    "without a gradscaler",
)
"""What seed 001 says, or may be taken to say, of a project that hands precision to Lightning: `16-mixed` is AMP."""

SILENT = (
    "where it is not there, it is None and nobody is told; "
    "asked for in AmpWandbCallback.on_train_epoch_end alone, which runs once an epoch"
)


@pytest.mark.slow
def test_delegation_is_a_mismatch_and_passive_logging_is_named(tmp_path: Path):
    """Seed 001's project: the architecture mismatch blocks, the silent logging has its line, Lightning its due."""
    root = PROJECTS / "lightning_delegated" / "broken"
    seen = audit(root, tmp_path)
    handed_over = CASES["lightning_delegated"].line(root)
    passive = first_line(root / "training/amp_logging.py", 'getattr(trainer, "strategy", None)')
    blocking = {reason["check"]: (reason["path"], reason["line"]) for reason in seen.report["reasons"]}
    assert blocking["requirements.architecture"] == ("training/coordinator.py", handed_over)
    assert blocking["requirements.AMP-04"] == ("training/amp_logging.py", passive)
    page = (tmp_path / "requirements.md").read_text(encoding="utf-8")
    drawn = page.partition("Actual:\n\n```text\n")[2].partition("\n```")[0].splitlines()
    chain = "through 4 getattr(..., None) in a row (strategy, precision_plugin, scaler, get_scale)"
    call = "pl.Trainer(precision=effective_precision, **options)"
    assert drawn == [
        "the project's own code",
        f"├── AmpWandbCallback._get_loss_scale (training/amp_logging.py:{passive})",
        f"│   └── reads the loss scale in passing, {chain}: {SILENT} (training/amp_logging.py:{passive})",
        f"├── TrainingCoordinator.train (training/coordinator.py:{handed_over})",
        f"│   └── hands precision to Lightning: {call} (training/coordinator.py:{handed_over})",
        "│       ├── with 16-mixed (also written 16) it enters torch.autocast and drives a torch GradScaler of its own",
        "│       ├── on the CPU it takes bf16-mixed in place of 16-mixed",
        "│       └── with bf16-mixed it enters torch.autocast and has no scaler",
        "├── nothing here makes the GradScaler",
        "├── nothing here enters autocast",
        "├── nothing here scales the loss",
        "├── nothing here steps through the scaler",
        "└── nothing here updates the scale",
    ]
    assert "specification mismatch" in page
    assert "to Lightning at training/coordinator.py" in page
    every = " ".join(path.read_text(encoding="utf-8").lower() for path in tmp_path.glob("*.md"))
    assert [said for said in FALSE_OF_LIGHTNING if said in every] == []


PLANTED = {
    ("classify.py", "clip_grad_norm_("): "AMP201",
    ("robust.py", "nan_to_num_("): "AMP201",
    ("critic.py", "torch.autograd.grad("): "AMP205",
    ("finetune.py", "optimizer.step()"): "AMP207",
    ("adapt.py", "scaler.update()"): "AMP210",
}
"""The bugs of `cuda_style`: file, text of the line (its first, where there are more) and rule."""
LIVE = (
    "test_the_classifier_learns",
    "test_two_heads_share_a_scaler",
    "test_the_critic_stays_finite",
    "test_outliers_do_not_reach_the_weights",
    "test_the_last_layer_learns_alone",
)
"""Its tests that look at the scaler after training: only a live one is enabled and keeps its own scale."""


@pytest.mark.slow
@pytest.mark.parametrize("twin", ["broken", "fixed"])
def test_what_is_written_for_cuda_runs_emulated(twin: str, tmp_path: Path):
    """Without a device its tests execute with a live scaler, and pass: the planted bugs are silent, and yet found."""
    root = PROJECTS / "cuda_style" / twin
    seen = audit(root, tmp_path)
    (execution,) = [stage for stage in seen.report["stages"] if stage["stage"] == "execution"]
    standing = {test["id"].partition("::")[2]: test for test in execution["details"]["emulated"]}
    assert {name: test["standing"] for name, test in standing.items() if name in LIVE} == dict.fromkeys(LIVE, "passed")
    timed = standing.pop("test_an_epoch_takes_time")
    assert timed["standing"] == "not measured"
    assert [gap["feature"] for gap in timed["not_emulated"]] == ["waiting for the device", "time"]
    assert sorted(standing) == sorted(LIVE)
    findings = [finding for stage in seen.report["stages"] for finding in stage["findings"]]
    found = {(finding["path"], finding["line"]): finding["rule"] for finding in findings}
    at = seen.report["stages"].index(execution)
    trace = seen.report["run"]["measured"][f"/stages/{at}/details/emulated_trace"]
    assert trace["devices"] == ["cuda float16"]
    assert dict(trace["counts"])["scaler.step"] > trace["skipped"] > 0
    page = (tmp_path / "execution.md").read_text(encoding="utf-8")
    assert f"of which {trace['skipped']} skipped by a live scaler" in page
    assert "Event.elapsed_time is NaN" in page
    seen_running = {finding["path"] for finding in findings if finding["run"].startswith("with CUDA emulated")}
    assert seen_running == ({"classify.py", "robust.py", "finetune.py", "adapt.py"} if twin == "broken" else set())
    planted = PLANTED if twin == "broken" else {}
    assert found == {(path, first_line(root / path, text)): rule for (path, text), rule in planted.items()}


@pytest.mark.slow
def test_the_missing_key_is_a_crash_that_the_tests_do_not_see():
    """What the gate says about `keyerror` is what happens to whoever runs the program."""
    broken, fixed = (
        subprocess.run(
            [sys.executable, "-m", "training.fine_tuning"],
            cwd=PROJECTS / "keyerror" / twin,
            capture_output=True,
            text=True,
        )
        for twin in ("broken", "fixed")
    )
    assert broken.returncode == 1
    assert "KeyError: 'train_data'" in broken.stderr
    assert fixed.returncode == 0, fixed.stderr
    assert "Training samples: 128" in fixed.stdout


def first_line(path: Path, text: str) -> int:
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def texts(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file() and path.suffix in (".py", ".toml", ".yaml", ".ini"))
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in files}


def changed_lines(old: str, new: str) -> int:
    changes = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
    return sum(line[0] in "+-" and line[:3] not in ("+++", "---") for line in changes)
