"""What follows a watched run, step by step. A step looks at the run and adds what it has to tell to the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from verifygate.execution import checks, outcomes
from verifygate.execution.asked_float16 import asked_float16
from verifygate.execution.attribution import CoverageUnreadableError, Lines, attribute, executed_lines
from verifygate.execution.change_coverage import changed_lines_are_tested
from verifygate.execution.dtype_errors import of_tests
from verifygate.execution.emulated import Emulated, run_emulated
from verifygate.execution.hidden_tests import Missing, Suite
from verifygate.execution.junit import contradiction
from verifygate.execution.kept_tests import tests_collected
from verifygate.execution.oracles import Examined, ask_the_oracles
from verifygate.execution.run_integrity import Account, tests_ran
from verifygate.execution.scrub import Scrubber
from verifygate.execution.session import Session
from verifygate.execution.snapshot import Tree, tree_on_disk
from verifygate.execution.trace_judgement import Recorded, judged, trace_check
from verifygate.model import Check, Finding, FunctionCoverage, Measurement, Place, Status
from verifygate.sources.file import SourceFile
from verifygate.sources.git import files_at
from verifygate.sources.notebook import NotebookFile
from verifygate.stage import StageContext


@dataclass(frozen=True)
class Watched:
    """One run of the project's tests, and all that a step may look at."""

    context: StageContext
    folder: Path
    """Private to this stage; a step that runs something again makes a folder of its own in it."""
    arguments: tuple[str, ...]
    """What pytest was given."""
    files: tuple[SourceFile, ...]
    """The audited files whose lines were followed."""
    before: Tree
    session: Session
    account: Account
    ran: Check
    suite: Suite
    """The tests that stand in the source."""
    lost: frozenset[str] = frozenset()
    """Those that did not run here, and passed where the change began."""
    taken: tuple[Missing, ...] = ()
    """What the change took from the tests of where it began."""

    @property
    def scrubber(self) -> Scrubber:
        return self.account.scrubber

    @cached_property
    def recorded(self) -> Recorded:
        """What the recorder saw of AMP in the run."""
        return judged(self.session, self.account, self.context.sources, self.context.settings.static.selection)

    @cached_property
    def functions(self) -> tuple[FunctionCoverage, ...]:
        """Which test executes which function that holds AMP code; empty where that is not known."""
        executed, _ = _executed(self)
        return () if executed is None else attribute(self.files, self.context.subject.root, executed, self.scrubber)

    @cached_property
    def asked_float16(self) -> tuple[Place, ...]:
        """Where audited code, or its configuration, asks for float16 with a loss scale."""
        return asked_float16(self.context.sources) if self.context.settings.execution.recorder else ()

    @cached_property
    def emulated(self) -> Emulated:
        """The run with CUDA emulated: of what was skipped for want of it, and, where float16 is asked for and no test
        stepped with a live scaler, of the tests that execute AMP code; of all where only a configuration asks for it,
        which makes AMP code of code that does not name it."""
        again: set[str] = set()
        if self.asked_float16 and not self.recorded.has_live_scaler:
            passed = {one.test.id for one in self.account.judged if one.test.outcome == "passed"}
            covered = {test for function in self.functions for test in function.tests}
            in_code = any(self.context.sources.get(each.path) is not None for each in self.asked_float16)
            again = passed & covered if covered and in_code else passed
        return run_emulated(self.context, self.account, self.arguments, self.folder / "emulated", self.files, again)

    @cached_property
    def examined(self) -> Examined:
        """What the oracles answer."""
        return examine_entries(self.context, self.scrubber, self.folder)


def examine_entries(context: StageContext, scrubber: Scrubber, folder: Path) -> Examined:
    """Run the programs that train, as the configuration names them, under the oracles."""
    context.progress("asking the oracles")
    return ask_the_oracles(
        context.subject,
        context.settings.execution.oracles,
        context.sources,
        scrubber,
        folder / "oracles",
        capability=context.settings.execution.capability,
    )


@dataclass(frozen=True)
class Told:
    """What one step adds to the stage's result."""

    checks: tuple[Check, ...] = ()
    findings: tuple[Finding, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    details: Mapping[str, object] = field(default_factory=dict)
    """Fields of ExecutionDetails."""


Step = Callable[[Watched], Told]


def tell_the_run(watched: Watched) -> Told:
    """How the run began and ended, in figures."""
    record, completed = watched.session.record, watched.session.completed
    details = {
        "command": tuple(watched.scrubber.text(word, limit=1000) for word in watched.session.command),
        "exit_code": completed.exit_code,
        "deselected": len(record.deselected),
        "collected": watched.account.collected,
        "output_tail": watched.scrubber.lines(f"{completed.stdout_tail}{completed.stderr_tail}"),
    }
    return Told(checks=(watched.ran,), details=details)


def tell_the_tests(watched: Watched) -> Told:
    """What became of each test, and of those that must pass."""
    account = watched.account
    warnings = outcomes.warnings(watched.session.record, watched.scrubber)
    return Told(
        checks=(
            checks.tests_pass(account, watched.ran),
            tests_collected(
                watched.suite,
                account,
                watched.context.settings.execution.uncollected,
                watched.context.since,
                watched.lost,
                watched.taken,
            ),
            checks.required_tests(account, watched.context.settings.execution.required),
            checks.no_warnings(warnings, account),
            checks.none_skipped(account),
        ),
        details={"tests": tuple(one.test for one in account.judged), "warnings": warnings},
    )


def tell_who_tests_what(watched: Watched) -> Told:
    """Which test executes which function that holds AMP code; or nothing, and why."""
    return Told(details={"functions": watched.functions, "attribution": _executed(watched)[1]})


def _changed_lines(watched: Watched, emulated: Mapping[str, Lines] | None) -> tuple[Check, ...]:
    """Whether tests reach what a change brought, where the gate was asked about one."""
    if not (since := watched.context.since):
        return ()
    executed, gap = _executed(watched)
    code = [
        file
        for file in watched.context.sources
        if file.mentions_amp and not file.is_test and not isinstance(file, NotebookFile)  # which no test executes
    ]
    before = {file.path: file for file in files_at(watched.context.settings.root, since)}
    return (changed_lines_are_tested(code, before, watched.context.subject.root, executed, gap, emulated),)


def tell_the_emulated(watched: Watched) -> Told:
    """What becomes, where CUDA is emulated, of the tests that were skipped for want of it."""
    context, again = watched.context, watched.emulated
    recorded = again.recorded
    details: dict[str, object] = {
        "emulated": again.tests,
        "emulation": again.problem,
        "emulated_trace": recorded.summary if recorded is not None else None,
    }
    executed, _ = _executed(watched)
    if again.executed is not None and executed is not None:
        root = context.subject.root
        details["functions"] = attribute(watched.files, root, executed, watched.scrubber, again.executed)
    checks = (*_changed_lines(watched, again.executed), again.check)
    return Told(checks=checks, findings=recorded.findings if recorded is not None else (), details=details)


def tell_the_oracles(watched: Watched) -> Told:
    """What the configured training does with other loss scales, and with inf in its gradients."""
    examined = watched.examined
    return Told(
        examined.checks,
        examined.findings,
        details={"oracle_entries": examined.entries, "half_precision": examined.half_precision or None},
    )


def tell_what_changed(watched: Watched) -> Told:
    """What all that ran did to the audited files. It comes last, so that it answers for every step before."""
    before, now = watched.before, tree_on_disk(watched.context)
    return Told(checks=(checks.tree_unchanged(before.changed(now), before.added(now), before.changed_in_git(now)),))


def tell_the_trace(watched: Watched) -> Told:
    """What the tests did with AMP, event by event; where float16 is asked for, somewhere it has to be seen at work."""
    recorded, again = watched.recorded, watched.emulated
    runs = (recorded, again.recorded) if again.recorded is not None else (recorded,)
    unseen = () if watched.examined.has_live_scaler else watched.asked_float16
    check = trace_check(
        runs,
        watched.session,
        on=watched.context.settings.execution.recorder,
        sources=watched.context.sources,
        asked=unseen,
        remedy=_of_an_oracle(watched.examined),
        why_not=again.problem,
    )
    return Told(checks=(check,), findings=recorded.findings, details={"trace": recorded.summary})


def _of_an_oracle(examined: Examined) -> str:
    """What to do so that an entry is measured, where it was not: it would show what the trace waits for as well."""
    lacking = (each for each in examined.checks if each.required and each.status is Status.NOT_MEASURED)
    return next((each.remedy for each in lacking), "")


STEPS: tuple[Step, ...] = (
    tell_the_run,
    tell_the_tests,
    tell_who_tests_what,
    tell_the_trace,
    tell_the_emulated,
    tell_the_oracles,
    tell_what_changed,
)


def account_of(session: Session, scrubber: Scrubber, arguments: Sequence[str] = ()) -> tuple[Account, Check]:
    """A run judged: what is known of it, and whether it can be believed."""
    explained = of_tests(session.told, session.written, scrubber)
    judged_tests = [one.explained(explained.get(one.test.id)) for one in outcomes.judge(session.record, scrubber)]
    interpreter = scrubber.text(session.interpreter)
    account = Account(session.completed, session.record, judged_tests, scrubber, interpreter)
    return account, tests_ran(account, contradiction(scrubber.root, arguments, len(account.bad)))


def _executed(watched: Watched) -> tuple[Mapping[str, Lines] | None, str]:
    """The lines that the tests executed; or None, and why."""
    if not watched.context.settings.execution.coverage:
        return None, "turned off by `execution.coverage = false`"
    if not watched.files:
        return None, "no audited file mentions AMP"
    session = watched.session
    if session.record.coverage != "":
        return None, session.record.coverage or "the run ended before its coverage was saved"
    try:
        return executed_lines(session.coverage_data), ""
    except CoverageUnreadableError as error:
        return None, str(error)
