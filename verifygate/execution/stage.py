"""The stage itself: what to run, the run, and the steps that tell what came of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from verifygate.base.lifeline import temporary_folder
from verifygate.execution.collected_tests import find_tests, read_config
from verifygate.execution.environment import Interpreter, ask
from verifygate.execution.remedies import NAME_ANOTHER, without_pytest
from verifygate.execution.rerun_failed import run_again
from verifygate.execution.run_integrity import ID as RAN
from verifygate.execution.scrub import Scrubber
from verifygate.execution.session import limits_of, run_pytest
from verifygate.execution.snapshot import tree_as_read
from verifygate.execution.steps import STEPS, Watched, account_of
from verifygate.execution.tests_at_base import with_before, with_emulated_before
from verifygate.execution.trace_judgement import recorder
from verifygate.model import Check, ExecutionDetails, Finding, Outcome, StageResult, Status
from verifygate.process import orphans
from verifygate.process.isolation import in_words, possible
from verifygate.stage import StageContext, not_configured


class ExecutionStage:
    """Runs the project's tests. Ends NOT APPLICABLE where there are none, and never passes what did not run."""

    name = "execution"

    def run(self, context: StageContext) -> StageResult:
        """Run the tests and judge the run. What the project does wrong becomes a check, never an exception."""
        root = context.subject.root
        config = read_config(root)
        chosen = context.settings.execution.pytest or find_tests(root, config)
        if not chosen:
            return not_configured(self.name, "add tests, or name them in `execution.pytest`")
        with temporary_folder("verifygate-run-") as folder:
            private = Path(folder)
            context.progress("asking the project's interpreter what it is")
            interpreter = ask(context.subject, private)
            if not interpreter.has_pytest:
                shown = Scrubber(root, private).text(str(context.subject.interpreter))
                return _cannot_run(self.name, interpreter, shown)
            watched = _watch(context, (*config.kept, *chosen), private)
            told = [step(watched) for step in STEPS]
            checks = tuple(with_emulated_before(watched, check) for each in told for check in each.checks)
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


def _once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """A violation that two runs of the tests show, one of them with CUDA emulated, is one finding: the first."""
    kept: dict[tuple[str, str, int], Finding] = {}
    for finding in findings:
        kept.setdefault((finding.rule, finding.path, finding.line), finding)
    return tuple(kept.values())


def _watch(context: StageContext, arguments: tuple[str, ...], folder: Path) -> Watched:
    """Run the tests under the eyes of the plugin, and those that failed once more."""
    settings, root = context.settings.execution, context.subject.root
    told_of = (file for file in context.sources if file.mentions_amp or file.has_marks)
    files = tuple(told_of) if settings.coverage else ()
    context.progress("running the project's tests")
    before = tree_as_read(context)
    session = run_pytest(
        context.subject,
        arguments,
        folder=folder,
        seconds=settings.seconds,
        test_seconds=settings.test_seconds,
        limits=limits_of(settings),
        files=[root / file.path for file in files],
        instruments=[recorder()] if settings.recorder else [],
    )
    account, ran = account_of(session, Scrubber(root, folder), arguments)
    return with_before(run_again(Watched(context, folder, arguments, files, before, session, account, ran)))


def _bounds(context: StageContext) -> dict[str, str]:
    """What is not as usual about the processes' surroundings."""
    names = context.settings.execution.pass_env
    bounds = {"variables passed on": ", ".join(sorted(names))} if names else {}
    if context.settings.execution.isolation != "off":
        bounds["isolation"] = in_words(possible())
    if not orphans.POSSIBLE:
        bounds["left-over processes"] = "not followed on this system beyond the run's own group"
    return bounds


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
