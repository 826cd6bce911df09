"""Each fix on its own cases: before.py becomes after.py, byte for byte, and after.py trains as the known-good program.

A case is a folder below cases/CODE/. The known-good program is good.py beside it or above it; where there is none, the
fix must keep the meaning, so before.py is the measure.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from scanning import scan

from verifygate.fix import FIXES, repaired
from verifygate.proof.method import Setting
from verifygate.proof.prove import run_jobs
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.registry import load_rules

CASES = Path(__file__).parent / "cases"
PYTHON = Path(sys.executable)
LOADS_OLDER = CASES / "AMP302" / "class_with_methods" / "after.py"
OLDER = LOADS_OLDER.with_name("older.py")
"""What LOADS_OLDER does with older checkpoints; no file."""
ALL = sorted(path.parent for path in CASES.glob("*/*/before.py"))
IDS = [f"{case.parent.name}-{case.name}" for case in ALL]


def fixed(data: bytes, code: str) -> bytes:
    repair = repaired(Sources([SourceFile("train.py", data)]), scan, [code], unsafe=True)
    assert not repair.refused
    assert code not in {finding.rule for finding in repair.report.findings}
    file = repair.after.get("train.py")
    assert file is not None
    return file.data


@pytest.mark.parametrize("case", ALL, ids=IDS)
def test_before_becomes_after_and_stays_so(case: Path):
    """The fix gives exactly the expected file, and a second one changes nothing."""
    after = (case / "after.py").read_bytes()

    assert fixed((case / "before.py").read_bytes(), case.parent.name) == after
    assert fixed(after, case.parent.name) == after


@pytest.mark.parametrize("case", ALL, ids=IDS)
def test_other_line_ends_are_kept(case: Path):
    """A file with CRLF line ends and no last one is fixed in its own manner."""
    before, after = ((case / name).read_bytes() for name in ("before.py", "after.py"))
    windows = before.replace(b"\n", b"\r\n").removesuffix(b"\r\n")

    assert fixed(windows, case.parent.name).removesuffix(b"\r\n") == after.replace(b"\n", b"\r\n").removesuffix(b"\r\n")


@pytest.fixture(scope="module")
def runs() -> Mapping[Path, Mapping[str, Any]]:
    """What each program of the cases does: all in one child, each once."""
    paths = list(dict.fromkeys(path for case in ALL for path in (case / "before.py", case / "after.py", good_of(case))))
    sources = {path: path.read_text("utf-8") for path in paths}
    sources[OLDER] = sources[LOADS_OLDER] + OLD_CHECKPOINTS
    jobs = [{"source": text, "name": each.as_posix(), **Setting()._asdict()} for each, text in sources.items()]
    return dict(zip(sources, run_jobs(jobs, PYTHON), strict=True))


@pytest.mark.slow
def test_every_fixed_program_trains_as_the_known_good_one(runs: Mapping[Path, Mapping[str, Any]]):
    """The fixed programs run on a CPU, give no FutureWarning, and end in the bits of the known-good weights."""
    assert ALL
    for case in ALL:
        after, good = runs[case / "after.py"], runs[good_of(case)]
        assert after["error"] is None
        assert good["error"] is None
        assert after["losses"][-1] != after["losses"][0]
        assert after["weights"]
        assert after["weights"] == good["weights"]
        assert after["told"] == good["told"]
        assert not [text for text in after["warnings"] if text.startswith("FutureWarning: `torch.c")]


SILENT = {
    "AMP102": "SGD multiplies no matrices",
    "AMP207/checked_by_nobody": "it takes an inf to tell",
    "GATE102": "it is about comments",
    "PERF106": "a CPU copies nothing",
}
"""Codes, and cases, whose faulty program does on a CPU what the fixed one does, and why."""


@pytest.mark.slow
def test_every_fault_shows_in_a_run_before_it_is_fixed(runs: Mapping[Path, Mapping[str, Any]]):
    """Else the known-good program would say nothing about the fix."""
    cases = [case for case in ALL if not {case.parent.name, f"{case.parent.name}/{case.name}"} & SILENT.keys()]
    assert cases
    same = [case for case in cases if _seen(runs[case / "before.py"]) == _seen(runs[case / "after.py"])]
    assert same == []


def _seen(run: Mapping[str, object]) -> list[object]:
    return [run[key] for key in ("error", "weights", "told", "graph", "warnings", "scales")]


OLD_CHECKPOINTS = """

def train(model, loss_fn, optimizer, scaler, batches, device):
    trainer = Trainer(model, loss_fn, optimizer, device)
    trainer.run(batches)
    whole = io.BytesIO()
    trainer.save(whole)
    whole.seek(0)
    older = {key: value for key, value in torch.load(whole).items() if "scaler" not in key}
    scales = []
    for checkpoint in (older, older | {"scaler_state_dict": {}}):
        file = io.BytesIO()
        torch.save(checkpoint, file)
        file.seek(0)
        trainer = Trainer(model, loss_fn, optimizer, device)
        trainer.load(file)
        scales.append(trainer.scaler.get_scale())
    return scales
"""


@pytest.mark.slow
def test_older_checkpoints_load_as_before(runs: Mapping[Path, Mapping[str, Any]]):
    """Neither a checkpoint without the key nor one of a run whose scaler was off stops the fixed program."""
    assert runs[OLDER]["error"] is None
    assert runs[OLDER]["told"] == "[1024.0, 1024.0]"


def good_of(case: Path) -> Path:
    places = (case / "good.py", case.parent / "good.py", case / "before.py")
    return next(path for path in places if path.exists())


def test_a_rule_says_fix_where_there_is_one():
    """The rules whose record promises a fix are those that have one, and each has cases."""
    promised = {code for code, loaded in load_rules().items() if loaded.rule.fix is not None}

    assert promised == set(FIXES)
    assert {case.parent.name for case in ALL} == set(FIXES)
