"""Run the project's training under the instruments of the oracles, and read what they told."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import socket
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from verifygate.execution.emulation_limits import cause_in_the_emulation
from verifygate.execution.endings import Ending, Kind, Raised, classed, is_installed
from verifygate.execution.instruments import TOLD, assemble, read_told
from verifygate.process.subject import StartOptions, Subject

START_SECONDS = 120.0
"""For the import of torch, before the first run."""
MOST_PARALLEL = 4
PYTEST_OPTIONS = ("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly", "-o", "addopts=")

EMULATION = "emulate_cuda"

TAKEN = re.compile(r"EADDRINUSE|address already in use", re.IGNORECASE)
"""What the system says of a port that somebody listens at, in torch's errors and in Python's."""

Event = dict[str, Any]
Place = tuple[str, int]
T = TypeVar("T")


class EntryError(Exception):
    """An entry that is neither a command of Python nor a test's id; the message says why."""


@dataclass(frozen=True)
class Job:
    """One run: a command in a folder, under some instruments."""

    command: str
    """`python script.py ...`, `python -m module ...`, or what pytest shall run."""
    root: Path
    instruments: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    seconds: float = 120.0
    keeps: Path | None = None
    """A folder in which it leaves, or finds, what outlives the run: a checkpoint."""


@dataclass(frozen=True)
class Seen:
    """What was told of one run."""

    events: tuple[Event, ...] = field(default=())
    folder: Path = Path()
    """Where its instruments wrote."""
    root: Path = Path()
    """The folder of the project that it ran in."""

    def of(self, *kinds: str) -> Iterator[Event]:
        """The events of some kinds, in order."""
        return (event for event in self.events if event["event"] in kinds)

    def first(self, kind: str) -> Event | None:
        return next(self.of(kind), None)

    @property
    def steps(self) -> list[Event]:
        return list(self.of("stepped"))

    @property
    def emulated(self) -> bool:
        """Whether CUDA was emulated; not where the machine has the device."""
        asked = any(event.get("instrument") == EMULATION for event in self.of("installed"))
        return asked and self.first("real-device") is None

    @property
    def error(self) -> Event | None:
        """What ended the run badly; None where it returned, or was stopped because it had shown enough."""
        if (lost := self.first("not-installed")) is not None:
            return lost
        end = next(self.of("ended", "killed", "enough"), None)
        if end is None:
            return {"event": "killed", "how": "nothing was told of its end"}
        well = end["event"] == "enough" or (end["event"] == "ended" and end["how"] != "raised" and not end.get("code"))
        return None if well else end

    @property
    def end(self) -> Ending | None:
        """Whose doing the error is that ended it; None where it ended well, or died without an error."""
        error = self.error
        if error is None or error["event"] != "ended":
            return None
        if error["how"] != "raised":
            return Ending(Kind.REFUSAL, place(error), "do what it printed asks for")
        trace = [(str(path), int(line)) for path, line in error.get("trace") or ()]
        causes = tuple(tuple(map(str, names)) for names in error.get("causes", ()))
        raised = Raised(error["error"], error["message"], trace, error["by_statement"], causes)
        ending = classed(raised, self.root)
        said = f"{error['error']}: {error['message']}"
        if ending.is_fault and self.emulated and cause_in_the_emulation(said, trace, self._inside):
            return Ending(Kind.MACHINE, ending.place, "run the gate on a machine with CUDA")
        return ending

    def _inside(self, path: str) -> str | None:
        return path if Path(path).is_relative_to(self.root) else None

    @property
    def has_no_address(self) -> bool:
        """Whether it failed because something else, another run of the same script say, listened at its port."""
        error = self.error
        return error is not None and TAKEN.search(str(error.get("message", ""))) is not None

    @property
    def ending(self) -> str:
        """How the run ended, in words."""
        end = self.error
        if end is None:
            return "ran to its end" if self.first("ended") else "was stopped when it had shown enough"
        if end["event"] == "not-installed":
            return f"could not be watched ({end.get('instrument')}: {end.get('error')})"
        if end["event"] == "killed":
            return "was stopped at its time limit" if end["how"] == "time" else f"died ({end['how']})"
        if end["how"] == "raised":
            return f"raised {end['error']}" + (f": {end['message']}" if end["message"] else "") + _statement_of(end)
        said = f": {end['said']}" if end.get("said") else ""
        return f"ended with exit code {end.get('code')}{said}"


def run_jobs(subject: Subject, jobs: Sequence[Job], folder: Path, *, parallel: int = MOST_PARALLEL) -> list[Seen]:
    """Run the jobs, all forked from one process of the subject's interpreter, and return what each told.

    Jobs run side by side, each with a free port as `MASTER_PORT`. Those of a script that names a port itself find it
    taken; they run again, one after the other.
    `folder` is private to this call and made here. Raises EntryError for a command that cannot be run, OSError where
    the interpreter cannot be started.
    """
    if not jobs:
        return []
    seen = _run_forked(subject, jobs, folder, parallel)
    crowded = [at for at, each in enumerate(seen) if each.has_no_address]
    if crowded and len(jobs) > 1:
        alone = folder / "alone"
        alone.mkdir()
        for at, each in zip(crowded, _run_forked(subject, [jobs[at] for at in crowded], alone, 1), strict=True):
            seen[at] = each
    return seen


Questions = Generator[Sequence["Job"], list[Seen], T]
"""Runs that questions need, batch after batch, each with what was told of it; then what follows from all."""


def answered(subject: Subject, folder: Path, questions: Questions[T]) -> T:
    """What follows from the runs of one questioner. Raises what `run_jobs` does."""
    (answer,) = answered_together(subject, folder, [questions])
    if isinstance(answer, EntryError | OSError):
        raise answer
    found: T = answer
    return found


def answered_together(
    subject: Subject, folder: Path, questions: Sequence[Questions[Any]]
) -> list[Any | EntryError | OSError]:
    """The same of several, whose batches run side by side: each starts the interpreter once, and no core waits.

    An answer is the EntryError or OSError where one's runs could not be started; the others go on.
    """
    answers: list[Any] = [None] * len(questions)
    told: dict[int, list[Seen] | Exception | None] = dict.fromkeys(range(len(questions)))
    turn = 0
    while told:
        batches: dict[int, Sequence[Job]] = {}
        for at, seen in told.items():
            try:
                asking = questions[at]
                batches[at] = asking.throw(seen) if isinstance(seen, Exception) else asking.send(seen)  # type: ignore[arg-type]
            except StopIteration as end:
                answers[at] = end.value
            except (EntryError, OSError) as error:
                answers[at] = error
        told = _batch(subject, folder / f"batch{turn}", batches) if batches else {}
        turn += 1
    return answers


def _batch(
    subject: Subject, folder: Path, batches: Mapping[int, Sequence[Job]]
) -> dict[int, list[Seen] | Exception | None]:
    """What was told of each one's jobs, or why they cannot run."""
    folder.mkdir(parents=True)
    told: dict[int, list[Seen] | Exception | None] = {}
    for at, jobs in batches.items():
        try:
            for job in jobs:
                words(job.command, folder)
        except EntryError as error:
            told[at] = error
    runnable = {at: jobs for at, jobs in batches.items() if at not in told}
    every = [job for jobs in runnable.values() for job in jobs]
    try:
        seen = iter(run_jobs(subject, every, folder))
    except OSError as error:
        return told | dict.fromkeys(runnable, error)
    return told | {at: [next(seen) for _ in jobs] for at, jobs in runnable.items()}


def _run_forked(subject: Subject, jobs: Sequence[Job], folder: Path, parallel: int) -> list[Seen]:
    start = assemble(folder / "code")
    asked: list[dict[str, Any]] = []
    ports = _free_ports(len(jobs))
    written = []
    for number, job in enumerate(jobs):
        own, told = folder / f"run{number}", folder / f"told{number}"
        own.mkdir()
        told.mkdir()
        written.append(told / TOLD)
        asked.append(
            {
                "command": words(job.command, own),
                "root": str(job.root),
                "folder": str(told),
                "seconds": job.seconds,
                "instruments": [[name, dict(options)] for name, options in job.instruments],
                "env": {"TMPDIR": str(own), "MASTER_PORT": str(ports[number])},
            }
        )
    parallel = max(1, min(parallel, os.cpu_count() or 1))
    preload = ["pytest"] if any(job["command"][:2] == ["-m", "pytest"] for job in asked) else []
    orders = folder / "orders.json"
    orders.write_text(json.dumps({"parallel": parallel, "preload": preload, "jobs": asked}), encoding="utf-8")
    seconds = [job.seconds for job in jobs]
    limit = START_SECONDS + sum(seconds) / parallel + max(seconds)  # the last to begin may be the longest
    subject.run(
        [str(start), "oracle.fork_server", str(orders)],
        seconds=limit,
        start=StartOptions(
            safe_path=True,
            answers=[folder, *dict.fromkeys(each for job in jobs for each in (job.root, job.keeps) if each)],
        ),
    )
    return [Seen(read_told(path), path.parent, job.root) for path, job in zip(written, jobs, strict=True)]


def _free_ports(number: int) -> list[int]:
    """Ports of this host that nobody listens at, each another one."""
    with contextlib.ExitStack() as stack:
        bound = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in bound:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in bound]


def words(command: str, temporary: Path) -> list[str]:
    """A command as the launcher takes it. Raises EntryError."""
    try:
        given = [word.replace("{temporary}", str(temporary)) for word in shlex.split(command)]
    except ValueError as error:
        raise EntryError(f"`{command}` cannot be split into words: {error}") from error
    if not given:
        raise EntryError("an entry is empty")
    if Path(given[0]).name not in ("python", "python3"):
        return ["-m", "pytest", *PYTEST_OPTIONS, *given]
    given = given[1:]
    if not given or given == ["-m"] or (given[0].startswith("-") and given[0] != "-m"):
        raise EntryError(f"`{command}` names no script and no module: write `python train.py` or `python -m train`")
    return given


def _statement_of(end: Event) -> str:
    """The project's statement by which an error came, with its values; empty where it is not known."""
    told = end.get("statement") or {}
    values = ", ".join(told.get("values", ()))
    return (
        f", at {told['path']}:{told['line']}: `{told['text']}`" + (f", where {values}" if values else "")
        if told
        else ""
    )


def place(event: Event | None) -> Place:
    """Where in the project an event was caused; for an error, the innermost place outside installed packages."""
    if event is None:
        return ("", 0)
    if "site" in event:
        return (str(event["site"][0]), int(event["site"][1]))
    for path, line in reversed(event.get("trace") or []):
        if not is_installed(path):
            return (str(path), int(line))
    return ("", 0)
