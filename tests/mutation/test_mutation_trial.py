"""Who noticed: the witnesses are asked in order, on copies, and what cannot be asked is said."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path

import pytest
from mutation_sample import TESTS, TRAIN

from verifygate.config.settings import ExecutionSettings, OraclesSettings, Settings
from verifygate.gate import mutation_campaign
from verifygate.gate.run import RunOptions, run
from verifygate.model import Mutant, MutationReport, Report
from verifygate.mutation import Move, mutants_of
from verifygate.process.subject import Subject
from verifygate.report.formats import render
from verifygate.sources.discovery import read_sources
from verifygate.static.engine import analyse


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    (tmp_path / "test_train.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "pytest.ini").touch()
    return tmp_path


def settings(root: Path, *entries: str) -> Settings:
    execution = ExecutionSettings(oracles=OraclesSettings(entries=entries, seconds=600))
    return Settings(root=root, today=dt.date(2026, 1, 1), execution=execution)


def only(*names: str):
    """Moves of some operators, the first place of each."""

    def some(*arguments) -> list[Move]:
        found: dict[str, Move] = {}
        for move in mutants_of(*arguments):
            if move.operator.name in names:
                found.setdefault(move.operator.name, move)
        return list(found.values())

    return some


def mutate(root: Path) -> MutationReport:
    subject = Subject(root, Path(sys.executable))
    sources = read_sources(root, ["."])
    return mutation_campaign.mutate(settings(root), sources, subject, {}, everybody=False, progress=lambda _text: None)


def test_without_entries_and_tests_only_the_rules_are_asked(project: Path):
    found = mutate(project)

    assert found.witnesses == ("static",)
    assert [reason.partition(":")[0] for reason in found.silent] == ["recorder, oracle", "tests"]
    assert {mutant.path for mutant in found.mutants} == {"train.py"}
    assert (project / "train.py").read_text(encoding="utf-8") == TRAIN
    by_name = {mutant.operator: mutant for mutant in found.mutants}
    assert by_name["drop-unscale"].seen[0].text.startswith("AMP201 train.py:")
    assert by_name["drop-unscale"].diff == ("-            scaler.unscale_(optimizer)", "+            pass")
    assert set(found.unnoticed) == {mutant for mutant in found.broken if not mutant.seen}


def test_a_broken_copy_is_a_copy(project: Path):
    """Python files are copied, the rest is linked to, environments and hidden folders are left out."""
    (project / "data.bin").write_bytes(b"1")
    (project / ".venv").mkdir()
    (project / ".venv" / "x.py").touch()
    sources = read_sources(project, ["."])
    moves = mutants_of(sources, analyse(sources, settings(project).static).constructs)
    copies = mutation_campaign._Copies(project, project / "copies")
    copy = copies.of(moves[0])

    assert (copy / "train.py").read_bytes() == moves[0].data
    assert (copies.unbroken / "train.py").read_text(encoding="utf-8") == TRAIN
    assert (copy / "data.bin").is_symlink()
    assert not (copy / ".venv").exists()


@pytest.mark.slow
def test_every_witness_has_its_say(project: Path, monkeypatch: pytest.MonkeyPatch):
    """One move for each witness; `all` asks everybody, and the tests that miss a move are found out."""
    names = ("drop-unscale", "autocast-off", "schedule-on-skip", "half-model")
    monkeypatch.setattr(mutation_campaign, "mutants_of", only(*names))
    report = run(settings(project, "python train.py"), RunOptions(stages=("execution", "static"), mutants="all"))

    assert report.mutation is not None
    assert report.mutation.witnesses == ("static", "recorder", "oracle", "tests")
    assert report.mutation.silent == ()
    seen = {mutant.operator: mutant for mutant in report.mutation.mutants}
    assert set(seen) == set(names)
    assert not report.mutation.unnoticed
    assert witnesses(seen["drop-unscale"]) >= {"static", "recorder", "oracle"}
    assert "recorder" in witnesses(seen["autocast-off"])
    assert "oracle" in witnesses(seen["schedule-on-skip"])
    assert "tests" in witnesses(seen["half-model"])
    assert {mutant.operator for mutant in report.mutation.missed_by_tests} == set(names) - {"half-model"}
    assert Report.from_json(report.to_json()).mutation == report.mutation
    page = render(report, "md", "")["mutation.md"]
    assert "## Missed by the project's own tests (3)" in page
    assert "They ran on 4 of 4 mutants." in page
    assert "**Noticed:** 4 of 4" in page


def witnesses(mutant: Mutant) -> set[str]:
    return {one.witness for one in mutant.seen}


def test_without_the_option_there_is_no_page(project: Path):
    report = run(settings(project), RunOptions(stages=("static",)))

    assert report.mutation is None
    assert "mutation.md" not in render(report, "md", "")
