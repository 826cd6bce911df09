"""Start the programs that were found for a few steps, and see which run: before a command is written down for others.

They run in a copy of the project, kept apart from the machine and the network, with CUDA emulated where it is missing,
and are stopped after a few updates.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from verifygate.base.errors import UsageError
from verifygate.base.lifeline import temporary_folder
from verifygate.config.settings import Settings
from verifygate.execution.copies import copy_project
from verifygate.execution.environment import ask
from verifygate.execution.oracles.runs import EMULATION, EntryError, Job, Seen, run_jobs
from verifygate.execution.remedies import without_torch
from verifygate.execution.scrub import Scrubber
from verifygate.model.program import Program
from verifygate.process.interpreter import subject_of
from verifygate.process.subject import Subject

SECONDS = 60.0
"""Of one program: what takes longer to its first steps is no command for every run."""
UPDATES = 3
OPEN = ("may ", "downloads: ", "logs to a service, ")
"""How an obstacle begins that the source does not prove: what is downloaded may be here from an earlier run, and a
service's library may go on without it."""
NOT_TRIED = "not tried: "


def tried(programs: Sequence[Program], settings: Settings) -> tuple[Program, ...]:
    """The programs, each with what a run of it showed: no obstacle where it trained, else what ended it.

    A program that does not train with a smaller model is started once more with its own, and proposed so if it trains
    then. What is certain to lack something (data, a launcher) is not started. Where nothing can be started, for
    instance because the isolation that `settings` require does not hold here, that is each program's obstacle.
    """
    promising = [each for each in programs if all(word.startswith(OPEN) for word in each.obstacles)]
    if not promising:
        return tuple(programs)
    with temporary_folder("trial") as folder:
        private = Path(folder)
        copy = private / "copy"
        scrubber = Scrubber(copy, private)
        try:
            copy_project(settings.root, copy, apart=private)
            subject = subject_of(settings)
            if not (interpreter := ask(subject, private)).has("torch"):
                shown = scrubber.text(str(subject.interpreter))
                raise UsageError(interpreter.problem or without_torch(shown))
            told = [_lacking(seen) for seen in _runs(promising, subject, copy, private / "runs")]
            again = [each for each, text in zip(promising, told, strict=True) if text and each.full_size]
            large = [each.model_copy(update={"command": each.full_size, "full_size": ""}) for each in again]
            ended = zip(again, large, _runs(large, subject, copy, private / "again"), strict=True)
            trained = {each.command: full for each, full, seen in ended if not _lacking(seen)}
        except (UsageError, EntryError, OSError) as error:
            reason = getattr(error, "problem", "") or str(error)
            told, trained = [f"{NOT_TRIED}{reason}"] * len(promising), {}
    said = {each.command: scrubber.text(text) for each, text in zip(promising, told, strict=True)}
    said |= dict.fromkeys(trained, "")
    return tuple(
        _with(trained.get(each.command, each), said[each.command]) if each.command in said else each
        for each in programs
    )


def untried(programs: Sequence[Program]) -> tuple[Program, ...]:
    """The programs where nobody wants them started."""
    return tuple(_with(each, f"{NOT_TRIED}`--no-run`") for each in programs)


def _runs(programs: Sequence[Program], subject: Subject, copy: Path, folder: Path) -> list[Seen]:
    folder.mkdir()
    return run_jobs(subject, [_job(each, copy) for each in programs], folder)


def _job(program: Program, root: Path) -> Job:
    emulation = [(EMULATION, {"if_missing": True})] if program.needs_cuda else []
    return Job(program.command, root, (*emulation, ("oracle", {"windows": UPDATES})), SECONDS)


def _lacking(seen: Seen) -> str:
    """What ended a run; empty where it trained."""
    if seen.error is not None:
        end = seen.end
        return f"it {seen.ending}" + (f"; {end.remedy}" if end is not None else "")
    return "" if seen.steps else "it ends before any optimizer makes a step"


def _with(program: Program, said: str) -> Program:
    return program.model_copy(update={"obstacles": (*program.obstacles, said) if said else ()})
