"""The stage itself: what to run, the run, and the steps that tell what came of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from verifygate.base.counts import counted
from verifygate.base.lifeline import temporary_folder
from verifygate.execution.checks import tree_unchanged
from verifygate.execution.collected_tests import PytestConfig, as_before, chosen_tests, is_test, read_config
from verifygate.execution.environment import FAILED, Interpreter, ask
from verifygate.execution.hidden_tests import Suite
from verifygate.execution.remedies import NAME_ANOTHER, without_pytest
from verifygate.execution.rerun_failed import run_again
from verifygate.execution.run_integrity import ID as RAN
from verifygate.execution.scrub import Scrubber
from verifygate.execution.session import SessionOptions, bounds_of, run_pytest
from verifygate.execution.snapshot import tree_as_read, tree_on_disk
from verifygate.execution.stand_ins import find_stand_ins, plugins_of_tree, start_check
from verifygate.execution.steps import STEPS, Watched, account_of, examine_entries
from verifygate.execution.tests_at_base import with_before, with_emulated_before, with_lost, with_taken
from verifygate.execution.trace_judgement import recorders
from verifygate.model import (
    ISOLATION,
    ISOLATION_BY_DEFAULT,
    Check,
    ExecutionDetails,
    Finding,
    Outcome,
    StageResult,
    Status,
)
from verifygate.process import orphans
from verifygate.process.isolation import Isolation, in_words, isolation_of
from verifygate.sources.git import files_at
from verifygate.sources.notebook import NotebookFile
from verifygate.stage import StageContext, not_configured

SAME_PROCESS = "same process: code of the project that aims at the gate's plugin can forge what a test run told"


class ExecutionStage:
    """Runs the project's tests. Ends NOT APPLICABLE where there are none, and never passes what did not run."""

    name = "execution"

    def run(self, context: StageContext) -> StageResult:
        """Run the tests and judge the run. What the project does wrong becomes a check, never an exception."""
        root = context.subject.root
        config, collecting = _collection_of(context)
        chosen, expected = chosen_tests(context.settings.execution, root, config), context.settings.execution.tests
        if not chosen and expected and (before := _tests_before(context)):
            return _taken_away(self.name, before)
        if not chosen and context.settings.execution.oracles.commands:
            return _entries_alone(self.name, context)
        if not expected:
            reason = "`execution.tests = false`: the project says that it has no tests, and names no entry"
            return StageResult(stage=self.name, outcome=Outcome.NOT_APPLICABLE, reason=reason)
        if not chosen:
            return not_configured(self.name, "add tests, or name commands that train in `execution.oracles.entries`")
        with temporary_folder("run") as folder:
            private = Path(folder)
            context.progress("asking the project's interpreter what it is")
            interpreter = ask(context.subject, private)
            if not interpreter.has_pytest:
                shown = Scrubber(root, private).text(str(context.subject.interpreter))
                return _cannot_run(self.name, interpreter, shown)
            if interpreter.canary != FAILED:
                return _lies(self.name, interpreter)
            suite = Suite(
                root, config, chosen, bool(context.settings.execution.pytest), context.settings.policy_root is not None
            )
            stand_ins = find_stand_ins(root, config, has_torch=interpreter.has("torch"))
            options = (*config.kept, *collecting, *plugins_of_tree(stand_ins, root))
            watched = _watch(context, (*options, *chosen), private, suite)
            told = [step(watched) for step in STEPS]
            checks = tuple(with_emulated_before(watched, check) for each in told for check in each.checks)
            checks = (start_check(stand_ins), *checks)
        details = {name: value for each in told for name, value in each.details.items()}
        return StageResult(
            stage=self.name,
            outcome=Outcome.COMPLETED,
            checks=checks,
            findings=_once(finding for each in told for finding in each.findings),
            measurements=tuple(measurement for each in told for measurement in each.measurements),
            environment=interpreter.answers | _bounds(context),
            details=ExecutionDetails.model_validate(details),
        )


def _tests_before(context: StageContext) -> tuple[str, ...]:
    """The files of tests that stood where the change began."""
    if not context.since:
        return ()
    files = files_at(context.settings.root, context.since)
    return tuple(file.path for file in files if is_test(Path(file.path)))


def _taken_away(stage: str, before: tuple[str, ...]) -> StageResult:
    """The result of a change that leaves no test of those that there were: nothing ran, and that is its doing."""
    check = Check(
        id=RAN,
        title="The tests ran to their end",
        status=Status.FAIL,
        weight=2,
        expected="the tests that stood before the change run",
        actual=f"the change took all tests away: {counted(len(before), 'file')}, the first {before[0]}",
        remedy="put them back, or say why they go in a waiver of the change's base",
    )
    return StageResult(stage=stage, outcome=Outcome.COMPLETED, checks=(check,), details=ExecutionDetails())


def _entries_alone(stage: str, context: StageContext) -> StageResult:
    """The result of a project that has no tests: the programs that train, as the configuration names them."""
    with temporary_folder("run") as folder:
        private = Path(folder)
        context.progress("asking the project's interpreter what it is")
        interpreter = ask(context.subject, private)
        before = tree_as_read(context)
        examined = examine_entries(context, Scrubber(context.subject.root, private), private)
        now = tree_on_disk(context)
    unchanged = tree_unchanged(before.changed(now), before.added(now), before.changed_in_git(now))
    return StageResult(
        stage=stage,
        outcome=Outcome.COMPLETED,
        checks=(*examined.checks, unchanged),
        findings=examined.findings,
        environment=interpreter.answers | _bounds(context),
        details=ExecutionDetails(oracle_entries=examined.entries, half_precision=examined.half_precision or None),
    )


def _once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """A violation that two runs of the tests show, one of them with CUDA emulated, is one finding: the first."""
    kept: dict[tuple[str, str, int], Finding] = {}
    for finding in findings:
        kept.setdefault((finding.rule, finding.path, finding.line), finding)
    return tuple(kept.values())


def _collection_of(context: StageContext) -> tuple[PytestConfig, tuple[str, ...]]:
    """What counts as a test, and the options that say so to pytest: a change is judged by the settings of its base."""
    config, policy = read_config(context.subject.root), context.settings.policy_root
    return (config, ()) if policy is None else as_before(config, read_config(policy))


def _watch(context: StageContext, arguments: tuple[str, ...], folder: Path, suite: Suite) -> Watched:
    """Run the tests under the eyes of the plugin, and those that failed once more."""
    settings, root = context.settings.execution, context.subject.root
    told_of = (f for f in context.sources if (f.mentions_amp or f.has_marks) and not isinstance(f, NotebookFile))
    files = tuple(told_of) if settings.coverage else ()
    context.progress("running the project's tests")
    before = tree_as_read(context)
    session = run_pytest(
        context.subject,
        arguments,
        folder=folder,
        bounds=bounds_of(settings),
        options=SessionOptions([root / file.path for file in files], recorders() if settings.recorder else []),
    )
    account, ran = account_of(session, Scrubber(root, folder), arguments)
    watched = Watched(context, folder, arguments, files, before, session, account, ran, suite)
    return with_taken(with_lost(with_before(run_again(watched))))


def _bounds(context: StageContext) -> dict[str, str]:
    """What is not as usual about the processes' surroundings."""
    names = context.settings.execution.pass_env
    bounds = {"trust": SAME_PROCESS}
    bounds |= {"variables passed on": ", ".join(sorted(names))} if names else {}
    asked = context.settings.execution.isolation
    wanted = isolation_of(asked)
    if asked != "off":
        if context.subject.isolation == Isolation.HERMETIC:
            wanted = Isolation.HERMETIC
        is_asked = asked or context.settings.execution.hermetic
        bounds[ISOLATION if is_asked else ISOLATION_BY_DEFAULT] = in_words(wanted, context.subject.layers(wanted))
    if not orphans.POSSIBLE:
        bounds["left-over processes"] = "not followed on this system beyond the run's own group"
    return bounds


def _lies(stage: str, interpreter: Interpreter) -> StageResult:
    """A test that must fail did not, where nothing of the project is: no run under this interpreter shows anything."""
    check = Check(
        id=RAN,
        title="The tests ran to their end",
        status=Status.FAIL,
        weight=2,
        expected="pytest ends with 1 on a test that must fail, in a process apart from the project",
        actual=f"there it ended with {interpreter.canary}: pytest, or a plugin of the environment, bends what it tells",
        remedy="install pytest anew, and take plugins out of the environment one by one",
    )
    return StageResult(
        stage=stage,
        outcome=Outcome.COMPLETED,
        checks=(check,),
        environment=interpreter.answers,
        details=ExecutionDetails(),
    )


def _cannot_run(stage: str, interpreter: Interpreter, shown: str) -> StageResult:
    """There is no pytest to run: the tests exist, so this is a failure and not a stage that does not apply."""
    check = Check(
        id=RAN,
        title="The tests ran to their end",
        status=Status.FAIL,
        weight=2,
        expected="the project's interpreter can run pytest",
        actual=interpreter.problem or f"pytest is not installed in {shown}",
        remedy=NAME_ANOTHER if interpreter.problem else without_pytest(shown),
    )
    return StageResult(
        stage=stage,
        outcome=Outcome.COMPLETED,
        checks=(check,),
        environment=interpreter.answers,
        details=ExecutionDetails(),
    )
