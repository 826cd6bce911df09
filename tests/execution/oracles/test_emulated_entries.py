"""Training that needs CUDA is asked with CUDA emulated: both oracles, evidence of the class `emulated`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from verifygate.config.settings import OraclesSettings
from verifygate.execution.oracles import ask_the_oracles
from verifygate.execution.oracles.answers import Answer, Fact, with_cuda_emulated
from verifygate.execution.oracles.runs import Seen
from verifygate.execution.oracles.step import Examined
from verifygate.execution.scrub import Scrubber
from verifygate.model import EvidenceClass, Status
from verifygate.process.subject import Subject
from verifygate.sources.discovery import read_sources

PROJECT = Path(__file__).parents[2] / "projects" / "cuda_style"
SCALE, INF = "execution.oracle-scale-invariance", "execution.oracle-inf-injection"
PARTS = ("finetune", "robust")
"""A step that goes past the scaler after unscale_, and gradients whose infs are taken away before unscale_."""
TRAIN = """\
import {part}
from data import loader

{part}.train(loader())
"""


def asked(root: Path, variant: str) -> Examined:
    """What the oracles say of the project's two trainings."""
    shutil.copytree(PROJECT / variant, root)
    for part in PARTS:
        (root / f"train_{part}.py").write_text(TRAIN.format(part=part), encoding="utf-8")
    settings = OraclesSettings(emulated_entries=tuple(f"python train_{part}.py" for part in PARTS))
    sources, private = read_sources(root, ["."]), root.parent / "private"
    return ask_the_oracles(Subject(root, Path(sys.executable)), settings, sources, Scrubber(root, private), private)


def line(part: str, text: str) -> int:
    lines = (PROJECT / "broken" / f"{part}.py").read_text(encoding="utf-8").splitlines()
    return next(number for number, each in enumerate(lines, start=1) if text in each)


@pytest.mark.slow
def test_faults_that_no_order_of_scales_shows_are_found_by_the_inf(tmp_path: Path):
    """Neither `unscale_` and then a direct step, nor nan_to_num before `unscale_`, depends on the scale."""
    examined = asked(tmp_path / "project", "broken")
    checks = {check.id: check for check in examined.checks}

    assert checks[SCALE].status is Status.PASS
    assert checks[INF].status is Status.FAIL
    assert {evidence.kind for evidence in checks[INF].evidence} == {EvidenceClass.EMULATED}
    assert "entry 1 (CUDA emulated): " in checks[INF].actual
    found = {(finding.rule, finding.path, finding.line) for finding in examined.findings}
    assert ("AMP207", "finetune.py", line("finetune", "optimizer.step()")) in found
    assert ("AMP201", "robust.py", line("robust", "nan_to_num_")) in found
    assert all(finding.message.startswith("seen in a run with CUDA emulated: ") for finding in examined.findings)


@pytest.mark.slow
def test_the_fixed_twin_passes(tmp_path: Path):
    examined = asked(tmp_path / "project", "fixed")
    checks = {check.id: check for check in examined.checks}

    assert {checks[name].status for name in (SCALE, INF)} == {Status.PASS}
    assert "switched on" not in checks[SCALE].actual  # the scaler is live, as it is on CUDA
    assert not examined.findings
    assert checks["execution.edge-pre-ampere"].status is Status.PASS  # float16 with a scaler needs no bfloat16
    kinds = {evidence.kind for evidence in checks["execution.edge-no-cuda"].evidence}
    assert kinds == {EvidenceClass.EXECUTED}  # a run without CUDA has none emulated


@pytest.mark.parametrize(
    ("status", "spoils", "expected"),
    [
        (Status.PASS, "hint", Status.PASS),
        (Status.PASS, "numbers", Status.NOT_MEASURED),
        (Status.FAIL, "numbers", Status.FAIL),
        (Status.FAIL, "anything", Status.NOT_MEASURED),
        (Status.NOT_APPLICABLE, "anything", Status.NOT_APPLICABLE),
    ],
)
def test_what_is_not_emulated_takes_away_what_it_may_have_caused(status: Status, spoils: str, expected: Status):
    gap = {"event": "not-emulated", "feature": "memory", "instead": "0", "spoils": spoils, "path": "a.py", "line": 3}
    answer = with_cuda_emulated(Answer(status, "seen"), [Seen((gap,))])

    assert answer.emulated
    assert answer.status is expected
    assert (Fact("not emulated: memory", ("a.py", 3)) in answer.facts) is (status is not expected)


def test_a_real_device_is_used_as_it_is():
    installed = {"event": "installed", "instrument": "emulate_cuda"}

    assert Seen((installed,)).emulated
    assert not Seen(({"event": "real-device"}, installed)).emulated
    assert not Seen(({"event": "installed", "instrument": "oracle"},)).emulated
