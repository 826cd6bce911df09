"""Results of runs that are kept: given again only where nothing that the runs read has changed, and said."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import verifygate
from verifygate.base import answer_store
from verifygate.config.settings import Settings, load
from verifygate.gate import kept_results
from verifygate.gate import run as gate
from verifygate.model import Check, ExecutionDetails, Outcome, Report, StageResult, Status
from verifygate.process import interpreter
from verifygate.process import visible as visible_module
from verifygate.process.isolation import LAYERS, Isolation, Reach, can_be_hermetic, granted
from verifygate.process.subject import Subject
from verifygate.report.formats import render
from verifygate.report.terminal import summary

GRANTED = granted(Isolation.HERMETIC, Reach(Path(__file__).resolve().parents[1])) if can_be_hermetic() else ()
pytestmark = pytest.mark.skipif(set(LAYERS) > set(GRANTED), reason="this machine does not grant every layer")


def result(status: Status = Status.PASS, *, required: bool = True, actual: str = "") -> StageResult:
    check = Check(
        id="execution.tests-pass", title="Tests pass", status=status, weight=1, required=required, actual=actual
    )
    details = ExecutionDetails(command=("python", "-m", "pytest"))
    return StageResult(stage="execution", outcome=Outcome.COMPLETED, checks=(check,), details=details)


@dataclass
class Project:
    """A project whose execution stage is a function, and how often that was asked."""

    root: Path
    monkeypatch: pytest.MonkeyPatch
    answer: Callable[[], StageResult] = result
    ran: int = 0
    notes: list[str] = field(default_factory=list)

    def run(self, settings: Settings | None = None, **options: object) -> Report:
        asked = gate.RunOptions(stages=("execution",), note=self.notes.append, **options)  # type: ignore[arg-type]
        return gate.run(settings or load(None, self.root), asked)

    def stage(self, name: str, _context: object) -> StageResult:
        assert name == "execution"
        self.ran += 1
        return self.answer().model_copy(update={"seconds": float(self.ran)})


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    root = tmp_path / "project"
    (root / "tests/data").mkdir(parents=True)
    (root / "verifygate.toml").write_text("[execution]\nhermetic = true\nisolation = 'auto'\n")
    (root / "train.py").write_text("x = 1\n")
    (root / "tests/test_it.py").write_text("def test_it():\n    pass\n")
    (root / "tests/data/rows.csv").write_text("1,2\n")
    (root / "requirements.txt").write_text("torch==2.13.0\n")
    (tmp_path / "packages").mkdir()
    monkeypatch.chdir(root)
    for name in kept_results._CI:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(visible_module, "SYSTEM", ())
    monkeypatch.setattr(visible_module, "shown_places", lambda _reach: [tmp_path / "packages"])
    monkeypatch.setattr(kept_results, "has_accelerator", lambda: False)
    found = Project(root, monkeypatch)
    monkeypatch.setattr(gate, "_run_stage", found.stage)
    return found


def kept() -> list[Path]:
    return sorted((Path(os.environ["VERIFYGATE_CACHE_DIR"]) / answer_store.RUNS).glob("*.json"))


def test_again_it_is_the_same_report_and_says_what_was_kept(project: Project) -> None:
    first, again = project.run(), project.run()
    assert project.ran == 1
    assert project.notes == []
    one, two = (json.loads(each.to_json()) for each in (first, again))
    assert two["run"]["measured"].pop("/stages/0/kept") == first.run.started
    assert "/stages/0/kept" not in one["run"]["measured"]
    assert one.pop("run")["measured"] == two.pop("run")["measured"]
    assert one == two
    said = f"execution from {first.run.started}: not run again"
    assert said in summary(again, "reports")
    assert f"Kept results:** {said}" in render(again, "md")["gate.md"]
    assert "Kept results" not in render(first, "md")["gate.md"]
    assert Report.from_json(again.to_json()).stages[0].kept == first.run.started


def test_fresh_runs_all_anew_and_keeps_that(project: Project) -> None:
    project.run()
    assert project.run(fresh=True).stages[0].kept is None
    assert project.run().stages[0].kept
    assert project.ran == 2


def test_what_fails_when_it_runs_anew_is_no_longer_kept(project: Project) -> None:
    """The next run must not say PASS again: it is known by now that the same inputs fail."""

    def ended() -> StageResult:
        raise KeyboardInterrupt

    for answer in (lambda: result(Status.FAIL), ended):
        project.answer = result
        project.run()
        assert len(kept()) == 1
        project.answer = answer
        with contextlib.suppress(KeyboardInterrupt):
            project.run(fresh=True)
        assert kept() == []


def _of_project(name: str, text: str) -> Callable[[Project], object]:
    return lambda project: (project.root / name).write_text(text)


CHANGES: dict[str, Callable[[Project], object]] = {
    "a line": _of_project("train.py", "x = 2\n"),
    "data of a test": _of_project("tests/data/rows.csv", "1,3\n"),
    "a pin": _of_project("requirements.txt", "torch==2.13.1\n"),
    "a setting": _of_project("verifygate.toml", "[execution]\nhermetic = true\nisolation = 'auto'\nseconds = 9\n"),
    "a package": lambda project: (project.root.parent / "packages/torch-2.14.dist-info").touch(),
    "the version of the gate": lambda project: project.monkeypatch.setattr(kept_results, "program", lambda: "another"),
    "a variable": lambda project: project.monkeypatch.setenv("OMP_NUM_THREADS", "3"),
    "the day": lambda project: project.monkeypatch.setattr(time, "strftime", lambda _form, *_at: "tomorrow"),
    "the processors": lambda project: project.monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0, 9}),
    "CI": lambda project: project.monkeypatch.setenv("CI", "true"),
    "GitHub": lambda project: project.monkeypatch.setenv("GITHUB_ACTIONS", "true"),
    "Jenkins": lambda project: project.monkeypatch.setenv("JENKINS_URL", "https://ci.example.org"),
    "an accelerator": lambda project: project.monkeypatch.setattr(kept_results, "has_accelerator", lambda: True),
    "a store in the project": lambda project: project.monkeypatch.setenv(
        "VERIFYGATE_CACHE_DIR", str(project.root / "store")
    ),
    "isolation": _of_project("verifygate.toml", "[execution]\nisolation = 'auto'\n"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_makes_it_run_again(project: Project, change: str) -> None:
    project.run()
    CHANGES[change](project)
    assert project.run().stages[0].kept is None
    assert project.ran == 2


def test_an_option_makes_it_run_again(project: Project) -> None:
    project.run()
    project.run(load(None, project.root).with_execution(emulate_cuda=False))
    assert project.ran == 2


def test_a_folder_of_any_name_has_kept_results(project: Project) -> None:
    root = project.root.rename(project.root.with_name(os.fsdecode(b"n\xff")))
    project.root = root
    project.monkeypatch.chdir(root)
    assert [project.run().stages[0].kept is None for _ in range(2)] == [True, False]


def test_the_gates_own_text_is_in_its_digest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text("1")
    monkeypatch.setattr(verifygate, "__file__", str(tmp_path / "__init__.py"))
    before = kept_results.program()
    assert kept_results.program() == before
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "libcst-9.dist-info").mkdir()
    with_package = kept_results.program()
    (tmp_path / "rules.json").write_text("2")
    assert len({before, with_package, kept_results.program()}) == 3


@pytest.mark.parametrize(
    "answer",
    [
        result(Status.FAIL),
        result(Status.FAIL, required=False),
        result(Status.PARTIAL, actual="3 passed, 1 flaky"),
        result(Status.NOT_MEASURED, actual="stopped at its time limit"),
        StageResult(stage="execution", outcome=Outcome.ERRORED, reason="no memory"),
    ],
    ids=lambda answer: f"{answer.outcome}-{[each.status.value for each in answer.checks]}",
)
def test_what_did_not_pass_is_run_again(project: Project, answer: StageResult) -> None:
    project.answer = lambda: answer
    project.run()
    project.run()
    assert project.ran == 2
    assert kept() == []


def test_a_time_of_an_accelerator_is_not_kept() -> None:
    measured = StageResult(stage="performance", outcome=Outcome.COMPLETED, environment={"device": "cpu"})
    assert kept_results.passed(measured)
    assert not kept_results.passed(measured.model_copy(update={"environment": {"device": "NVIDIA H200"}}))


def test_what_changes_while_it_runs_is_not_kept(project: Project) -> None:
    def writes() -> StageResult:
        (project.root / "left.txt").write_text(str(project.ran))
        return result()

    project.answer = writes
    project.run()
    project.run()
    assert project.ran == 2
    assert project.notes == ["results are not kept: `left.txt` is not as it was"] * 2


def test_what_is_put_back_while_it_runs_is_not_kept(project: Project) -> None:
    """The result may be about what stood there meanwhile."""

    def writes() -> StageResult:
        text = (project.root / "train.py").read_text()
        (project.root / "train.py").write_text("x = 2\n")
        (project.root / "train.py").write_text(text)
        (project.root / "tests/new.py").touch()
        (project.root / "tests/new.py").unlink()
        return result()

    project.answer = writes
    project.run()
    assert project.notes == ["results are not kept: `tests` was changed and put back"]
    assert kept() == []


def test_where_the_machine_does_not_grant_it_that_is_said(project: Project) -> None:
    project.monkeypatch.setattr(interpreter, "can_be_hermetic", lambda: False)
    project.run()
    assert project.notes == ["results are not kept: this machine does not grant every layer of isolation"]
    assert kept() == []


def _with(**changed: object) -> Callable[[Path], object]:
    def damage(path: Path) -> None:
        document = json.loads(path.read_text())
        path.write_text(json.dumps(document | changed))

    return damage


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "empty": lambda path: path.write_bytes(b""),
    "another text": lambda path: path.write_text(path.read_text().replace("Tests pass", "Tests PASS")),
    "of a later version": _with(form="verifygate answer 99"),
    "of another key": _with(key="0" * 64),
    "for others to write": lambda path: path.chmod(0o666),
    "a folder for others to write": lambda path: path.parent.chmod(0o777),
    "a link": lambda path: path.rename(path.with_suffix(".x")).with_suffix(".json").symlink_to(path.with_suffix(".x")),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_not_believed(project: Project, damage: str) -> None:
    project.run()
    (file,) = kept()
    DAMAGES[damage](file)
    assert project.run().stages[0].kept is None
    assert project.ran == 2
    (note,) = project.notes
    assert note.startswith("execution: the kept result is not used: ")


@pytest.mark.parametrize("forged", ["{}", result(Status.FAIL).model_dump_json(), "not JSON"])
def test_what_holds_no_result_that_passed_is_not_believed(project: Project, forged: str) -> None:
    """Even where it is sealed as the gate seals."""
    project.run()
    (file,) = kept()
    output = answer_store.CheckOutput((forged, dt.datetime.now(dt.UTC).isoformat()), 0)
    answer_store.keep(file.stem, output, answer_store.RUNS)
    assert project.run().stages[0].kept is None
    assert project.ran == 2


def test_a_program_that_writes_a_result_for_the_next_run_is_not_believed(project: Project) -> None:
    """It knows the key and the form; where nothing keeps it from the store, the store is empty afterwards."""
    project.run()
    (file,) = kept()
    text = file.read_text()
    for how in ("hermetic", "auto", "off"):
        answer_store.forget(answer_store.RUNS)
        subject = Subject(project.root, Path(sys.executable), isolation=how)
        program = "import pathlib, sys; p = pathlib.Path(sys.argv[1]); p.parent.mkdir(parents=True, exist_ok=True); "
        subject.run(["-c", f"{program}p.write_text(sys.argv[2])", str(file), text], seconds=60)
        assert project.run(fresh=False).stages[0].kept is None, how


def test_the_store_is_bounded(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_results, "MOST", 2)
    for number in range(4):
        (project.root / "train.py").write_text(f"x = {number}\n")
        project.run()
    assert len(kept()) == 2
