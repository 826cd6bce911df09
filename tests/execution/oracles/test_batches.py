"""Questioners that share their runs: each gets what its own jobs told, and the fault of one is not that of another."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from verifygate.execution.oracles import runs
from verifygate.execution.oracles.runs import EntryError, Job, Seen, answered, answered_together
from verifygate.process.subject import Subject

Asks = Generator[Sequence[Job], list[Seen], list[str]]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands of each batch that was started; each is told of as a run that stepped once at its own command."""
    batches: list[list[str]] = []

    def run(_subject: Subject, jobs: Sequence[Job], folder: Path) -> list[Seen]:
        assert folder.is_dir()
        batches.append([job.command for job in jobs])
        return [Seen(({"event": "stepped", "of": job.command},), folder, job.root) for job in jobs]

    monkeypatch.setattr(runs, "run_jobs", run)
    return batches


def asking(root: Path, *batches: tuple[str, ...]) -> Asks:
    """Ask for one batch after the other, and end with what was told of each."""
    told = []
    for batch in batches:
        for seen in (yield [Job(command, root) for command in batch]):
            told.append(str(seen.steps[0]["of"]))
    return told


def test_batches_of_several_run_together_and_are_told_apart(started: list[list[str]], tmp_path: Path) -> None:
    """The second batch of one runs beside the second of the other; the one that asks longer goes on alone."""
    subject = Subject(tmp_path, Path(sys.executable))
    one = asking(tmp_path, ("python a.py", "python b.py"), ("python c.py",), ("python d.py",))
    other = asking(tmp_path, ("python x.py",), (), ("python y.py",))
    ends = answered_together(subject, tmp_path / "private", [one, other])
    assert ends == [["python a.py", "python b.py", "python c.py", "python d.py"], ["python x.py", "python y.py"]]
    assert started == [["python a.py", "python b.py", "python x.py"], ["python c.py"], ["python d.py", "python y.py"]]


def test_a_command_that_cannot_be_run_costs_the_others_nothing(started: list[list[str]], tmp_path: Path) -> None:
    """Its questioner gets the error, before anything is started for it."""
    subject = Subject(tmp_path, Path(sys.executable))
    ends = answered_together(
        subject, tmp_path / "private", [asking(tmp_path, ("python -c pass",)), asking(tmp_path, ("python x.py",))]
    )
    assert isinstance(ends[0], EntryError)
    assert ends[1] == ["python x.py"]
    assert started == [["python x.py"]]
    with pytest.raises(EntryError, match="names no script"):
        answered(subject, tmp_path / "alone", asking(tmp_path, ("python -c pass",)))


def test_an_interpreter_that_cannot_be_started_is_told_to_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither waits for runs that there will not be."""

    def run(*_given: object) -> list[Seen]:
        raise OSError("no such interpreter")

    monkeypatch.setattr(runs, "run_jobs", run)
    each = [asking(tmp_path, ("python a.py",)), asking(tmp_path, ("python b.py",))]
    ends = answered_together(Subject(tmp_path, Path("missing")), tmp_path / "private", each)
    assert [str(end) for end in ends] == ["no such interpreter"] * 2


def test_no_run_is_ended_before_its_own_time_is_over(tmp_path: Path) -> None:
    """Of three runs on two cores, the longest may begin when each of the others has ended."""
    given = []

    class Watched(Subject):
        def run(self, *_given: object, seconds: float, **_more: object) -> None:  # type: ignore[override]
            given.append(seconds)

    subject = Watched(tmp_path, Path(sys.executable))
    for number, seconds in enumerate(([900.0], [100.0, 100.0, 900.0])):
        (folder := tmp_path / str(number)).mkdir()
        runs.run_jobs(subject, [Job("python a.py", tmp_path, seconds=each) for each in seconds], folder, parallel=2)
        assert given[-1] >= runs.START_SECONDS + (900.0 if number == 0 else 1000.0)
