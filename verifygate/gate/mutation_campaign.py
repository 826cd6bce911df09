"""Break the project's AMP code in every way that `mutation` knows, and ask the witnesses: who notices?

The cheap witnesses go first: the static rules, then one recorded run, then the oracles, then the project's own tests
(those that execute the broken function). A witness has noticed where the gate would have said more than it says of
the unbroken project: a finding that is new, an answer that is worse, a test that fails.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from verifygate.base.lifeline import temporary_folder
from verifygate.config.settings import Settings
from verifygate.execution.copies import copy_project
from verifygate.execution.oracles.runs import EntryError, Job, Seen, run_jobs
from verifygate.execution.oracles.witness import Witnessed, ask_oracles, ask_recorder
from verifygate.model import ExecutionDetails, Finding, Mutant, MutationReport, Sighting, StageResult
from verifygate.mutation import Move, mutants_of
from verifygate.process.subject import Subject
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse

Progress = Callable[[str], None]
STATIC, RECORDER, ORACLE, TESTS = "static", "recorder", "oracle", "tests"
TEST_SECONDS = 120.0
SLOWER = 10.0
"""The tests of one mutant may take so many times what they took in the execution stage, and TEST_SECONDS more."""
SHOWN = 3
"""Findings and answers that are quoted of one witness."""


@dataclass
class Trial:
    """One move, and what the witnesses have said of it."""

    move: Move
    seen: list[Sighting] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    note: str = ""

    def noticed(self, witness: str, texts: Sequence[str]) -> None:
        self.asked.append(witness)
        if texts:
            more = f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
            self.seen.append(Sighting(witness=witness, text="; ".join(texts[:SHOWN]) + more))


def mutate(
    settings: Settings,
    sources: Sources,
    subject: Subject,
    results: Mapping[str, StageResult],
    *,
    everybody: bool,
    progress: Progress,
) -> MutationReport:
    """Make all mutants and put them to the witnesses; `everybody`: ask each about each."""
    selection = settings.selection(sources.paths)  # a mutant allows the versions that its original allows
    before = analyse(sources, selection, merged=False)
    moves = mutants_of(sources, before.constructs)
    trials = [Trial(move) for move in moves if not move.same_code]
    for number, trial in enumerate(trials, start=1):
        progress(f"mutant {number} of {len(trials)}: asking the rules")
        after = analyse(trial.move.sources(sources), selection, merged=False)
        trial.noticed(STATIC, _new(after.findings, before.findings))
    silent: list[str] = []
    with temporary_folder("mutants") as folder:
        copies = _Copies(settings.root, Path(folder))
        asked = [STATIC]
        if not settings.execution.oracles.commands:
            silent.append(f"{RECORDER}, {ORACLE}: `execution.oracles.entries` names no training to run")
        else:
            asked += _ask_runs(settings, subject, trials, copies, silent, everybody, progress)
        asked += _ask_tests(subject, results, trials, copies, silent, everybody, progress)
    judged = {id(trial.move): trial for trial in trials}
    mutants = tuple(_mutant(move, judged.get(id(move)), sources) for move in moves)
    return MutationReport(everybody=everybody, witnesses=tuple(asked), silent=tuple(silent), mutants=mutants)


def _new(after: Iterable[Finding], before: Iterable[Finding]) -> list[str]:
    known = {finding.fingerprint for finding in before}
    return [f"{each.rule} {each.path}:{each.line}" for each in after if each.fingerprint not in known]


def _left(trials: Sequence[Trial], everybody: bool) -> list[Trial]:
    """The trials that a further witness is asked about."""
    return [trial for trial in trials if everybody or not trial.seen]


# --- the runs


def _ask_runs(
    settings: Settings,
    subject: Subject,
    trials: Sequence[Trial],
    copies: _Copies,
    silent: list[str],
    everybody: bool,
    progress: Progress,
) -> list[str]:
    """Ask the recorder and the oracles; the first copy is the unbroken project, which must have nothing to hide."""
    asked: list[str] = []
    oracles = settings.execution.oracles
    try:
        if waiting := _left(trials, everybody):
            progress(f"recording {len(waiting)} mutants")
            roots = [copies.unbroken, *(copies.of(trial.move) for trial in waiting)]
            found = ask_recorder(subject, oracles, settings.sources, roots, copies.folder / "recorder")
            for trial, findings in zip(waiting, found[1:], strict=True):
                trial.noticed(RECORDER, _new(findings, found[0]))
        asked.append(RECORDER)
        if waiting := _left(trials, everybody):
            progress(f"asking the oracles about {len(waiting)} mutants")
            roots = [copies.unbroken, *(copies.of(trial.move) for trial in waiting)]
            unbroken, *broken = ask_oracles(subject, oracles, roots, copies.folder / "oracles")
            for trial, one in zip(waiting, broken, strict=True):
                trial.noticed(ORACLE, one.worse_than(unbroken))
                trial.note = _note(one, unbroken)
        asked.append(ORACLE)
    except (EntryError, OSError) as error:
        silent.append(f"{RECORDER}, {ORACLE}: {error}")
    return asked


def _note(one: Witnessed, unbroken: Witnessed) -> str:
    if one.weights and one.weights == unbroken.weights:
        return f"the weights after each of the first {len(one.weights)} steps of the entries are what they were"
    return ""


# --- the project's own tests


def _ask_tests(
    subject: Subject,
    results: Mapping[str, StageResult],
    trials: Sequence[Trial],
    copies: _Copies,
    silent: list[str],
    everybody: bool,
    progress: Progress,
) -> list[str]:
    """Run, for every mutant, the tests that execute its function; or all, where nobody knows which these are.

    The quick ones go first: the first that fails is enough.
    """
    execution = results.get("execution")
    details = execution.details if execution is not None else None
    if not isinstance(details, ExecutionDetails) or not details.tests:
        silent.append(f"{TESTS}: the execution stage has not run any")
        return []
    took = {test.id: test.seconds or 0.0 for test in details.tests}
    passed = sorted((test.id for test in details.tests if test.outcome == "passed"), key=took.__getitem__)
    waiting = _left(trials, everybody)
    wanted = {id(trial): _tests_of(trial.move, details, passed) for trial in waiting}
    if not waiting:
        return [TESTS]
    progress(f"running the tests on {len(waiting)} mutants")
    needed = [test for test in passed if any(test in tests for tests in wanted.values())]
    roots = [copies.unbroken, *(copies.of(trial.move) for trial in waiting)]
    chosen = [needed, *(wanted[id(trial)] for trial in waiting)]
    jobs = [
        Job(shlex.join([*tests, "-x", "-q"]), root, seconds=TEST_SECONDS + SLOWER * sum(map(took.__getitem__, tests)))
        for root, tests in zip(roots, chosen, strict=True)
        if tests
    ]
    runs = iter(run_jobs(subject, jobs, _made(copies.folder / "tests")))
    if needed and (problem := next(runs).error) is not None:
        silent.append(f"{TESTS}: they fail in a copy of the unbroken project ({_failed(problem)})")
        return []
    for trial in waiting:
        tests = wanted[id(trial)]
        seen = next(runs) if tests else Seen()
        trial.noticed(TESTS, [f"of {len(tests)} tests, {_failed(seen.error)}"] if tests and seen.error else [])
    return [TESTS]


def _tests_of(move: Move, details: ExecutionDetails, passed: Sequence[str]) -> list[str]:
    inside = [each for each in details.functions if each.path == move.path and each.symbol == move.symbol]
    if not inside:
        return list(passed)
    known = {test for each in inside for test in each.tests}
    return [test for test in passed if test in known]


def _failed(error: Mapping[str, object] | None) -> str:
    if error is None:
        return "none failed"
    if error["event"] == "killed":
        return "one did not end" if error["how"] == "time" else f"one died ({error['how']})"
    return "one fails" if error.get("code") == 1 else f"pytest ended with exit code {error.get('code')}"


# --- copies


class _Copies:
    """Copies of the project, one for each mutant: Python files are copied, everything else is linked to."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        self._root = root
        self._made: dict[int, Path] = {}
        self.unbroken = self._copy("unbroken")

    def of(self, move: Move) -> Path:
        """The copy in which a move was made."""
        if id(move) not in self._made:
            copy = self._copy(f"mutant{len(self._made)}")
            (copy / move.path).write_bytes(move.data)
            self._made[id(move)] = copy
        return self._made[id(move)]

    def _copy(self, name: str) -> Path:
        return copy_project(self._root, self.folder / name, apart=self.folder)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


# --- the report


def _mutant(move: Move, trial: Trial | None, sources: Sources) -> Mutant:
    file = sources.get(move.path)
    old = file.lines if file is not None else []
    lines = difflib.unified_diff(old, SourceFile(move.path, move.data).lines, n=0, lineterm="")
    return Mutant(
        operator=move.operator.name,
        rule=move.operator.rule,
        title=move.operator.title,
        path=move.path,
        line=move.line,
        symbol=move.symbol,
        diff=tuple(line for line in lines if not line.startswith(("---", "+++", "@@"))),
        equivalent="" if trial is not None else "Python makes the same syntax tree of both",
        seen=tuple(trial.seen) if trial is not None else (),
        asked=tuple(trial.asked) if trial is not None else (),
        note=trial.note if trial is not None and not trial.seen else "",
    )
