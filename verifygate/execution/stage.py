"""The stage itself: what to run, in what order, and the result of it all."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from verifygate.execution import checks, outcomes
from verifygate.execution.attribution import CoverageUnreadableError, attribute, executed_lines
from verifygate.execution.discovery import find_tests, read_config
from verifygate.execution.environment import Interpreter, ask
from verifygate.execution.ran import ID as RAN
from verifygate.execution.ran import Account, tests_ran
from verifygate.execution.scrub import Scrubber
from verifygate.execution.session import Session, run_pytest
from verifygate.model import Check, ExecutionDetails, FunctionCoverage, Outcome, StageResult, Status
from verifygate.source import SourceFile
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
        with tempfile.TemporaryDirectory(prefix="verifygate-run-", ignore_cleanup_errors=True) as folder:
            private = Path(folder)
            context.progress("asking the project's interpreter what it is")
            interpreter = ask(context.subject, private)
            if not interpreter.has_pytest:
                return _cannot_run(self.name, interpreter)
            return self._watch(context, (*config.kept, *chosen), private, interpreter)

    def _watch(
        self, context: StageContext, arguments: tuple[str, ...], folder: Path, interpreter: Interpreter
    ) -> StageResult:
        settings, root = context.settings.execution, context.subject.root
        files = [file for file in context.sources if file.mentions_amp] if settings.coverage else []
        context.progress("running the project's tests")
        before = _digests(context) | {file.path: file.digest for file in context.sources}
        session = run_pytest(
            context.subject,
            arguments,
            files=[root / file.path for file in files],
            seconds=settings.seconds,
            folder=folder,
        )
        after = _digests(context)
        scrubber = Scrubber(root, folder)
        account = Account(session.completed, session.record, outcomes.judge(session.record, scrubber), scrubber)
        functions, gap = _attribution(context, files, session, scrubber)
        warnings = outcomes.warnings(session.record, scrubber)
        ran = tests_ran(account)
        changed = sorted(path for path, digest in before.items() if after[path] != digest)
        return StageResult(
            stage=self.name,
            outcome=Outcome.COMPLETED,
            checks=(
                ran,
                checks.tests_pass(account, ran),
                checks.required_tests(account, settings.required),
                checks.tree_unchanged(changed),
                checks.no_warnings(warnings, account),
                checks.none_skipped(account),
            ),
            environment=interpreter.answers,
            details=ExecutionDetails(
                command=tuple(scrubber.text(word, limit=1000) for word in session.command),
                exit_code=session.completed.exit_code,
                tests=tuple(one.test for one in account.judged),
                deselected=len(session.record.deselected),
                collected=account.collected,
                warnings=warnings,
                functions=functions,
                attribution=gap,
                output_tail=scrubber.lines(f"{session.completed.stdout_tail}{session.completed.stderr_tail}"),
            ),
        )


def _attribution(
    context: StageContext, files: list[SourceFile], session: Session, scrubber: Scrubber
) -> tuple[tuple[FunctionCoverage, ...], str]:
    """Which test executes which function; or nothing, and why."""
    if not context.settings.execution.coverage:
        return (), "turned off by `execution.coverage = false`"
    if not files:
        return (), "no audited file mentions AMP"
    if session.record.coverage != "":
        return (), session.record.coverage or "the run ended before its coverage was saved"
    try:
        executed = executed_lines(session.coverage_data)
    except CoverageUnreadableError as error:
        return (), str(error)
    return attribute(files, context.subject.root, executed, scrubber), ""


def _digests(context: StageContext) -> dict[str, str]:
    """Digest of every audited file, the configuration and the specification, as they lie on the disk now."""
    named = [*(file.path for file in context.sources), context.settings.config, context.settings.requirements.spec]
    return {path: _digest(context.subject.root / path) for path in named if path}


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "none"


def _cannot_run(stage: str, interpreter: Interpreter) -> StageResult:
    """There is no pytest to run: the tests exist, so this is a failure and not a stage that does not apply."""
    check = Check(
        id=RAN,
        title="The tests ran to their end",
        status=Status.FAIL,
        weight=2,
        expected="the project's interpreter can run pytest",
        actual=interpreter.problem or "pytest is not installed in the project's interpreter",
        remedy="install pytest there (`python -m pip install pytest`), or name another one in `execution.interpreter`",
    )
    return StageResult(
        stage=stage,
        outcome=Outcome.COMPLETED,
        checks=(check,),
        environment=interpreter.answers,
        details=ExecutionDetails(),
    )
