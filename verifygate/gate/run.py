"""Run the stages in order, join their results, decide: settings in, report out."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import platform
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from verifygate import __version__
from verifygate.base.errors import UsageError, VerifygateError
from verifygate.base.loading import loaded
from verifygate.base.masking import masked_model
from verifygate.baseline_file import Entry, entries_of, held
from verifygate.change.ci_event import Event
from verifygate.config.policy import policy_of
from verifygate.config.settings import Settings
from verifygate.configured_precision.drivers import Drivers
from verifygate.execution.collected_tests import chosen_tests, read_config
from verifygate.gate.backgrounds import backgrounds_of, impacts_of
from verifygate.gate.base_revision import BaseRevision
from verifygate.gate.found_programs import settings_with_found, with_programs_told
from verifygate.gate.in_force import advisory_of, baseline_of, unknown_change, use_of
from verifygate.gate.kept_results import RUN_CODE, KeptResults
from verifygate.gate.mutation_campaign import mutate
from verifygate.gate.proven_fixes import with_proven_fixes
from verifygate.gate.stood_before import with_inherited
from verifygate.merge import Examined, Inputs, examined, faults
from verifygate.model import (
    MutationReport,
    Outcome,
    PolicyOrigin,
    PolicyState,
    Program,
    Provenance,
    Reason,
    Report,
    Run,
    StageResult,
)
from verifygate.process.interpreter import subject_of
from verifygate.process.subject import Subject
from verifygate.process.trusted import State, changed
from verifygate.requirements import (
    Specification,
    gates_policy,
    lock_path,
    read_foreign,
    read_lock,
    read_specification,
)
from verifygate.scoring import judge
from verifygate.sources import git
from verifygate.sources.discovery import read_sources
from verifygate.sources.repository import folder_in_repository, permalink
from verifygate.sources.tree import Sources
from verifygate.stage import Stage, StageContext
from verifygate.stage_registry import STAGES
from verifygate.static.registry import check_rules, chosen
from verifygate.static.unanalysed_files import refuse_settings_alone

Progress = Callable[[str], None]


@dataclass(frozen=True)
class RunOptions:
    """What somebody asks of one run."""

    stages: Sequence[str] = ()
    """The stages to run; all, where none is named."""
    command: str = "verifygate run"
    """The command line, for the report."""
    since: str = ""
    """Findings that stood already where this tree left that revision are shown as open and do not block."""
    policy: PolicyOrigin | None = None
    """From which revision the settings are, where somebody asked for one."""
    event: Event | None = None
    """The event of the CI job; where it does not tell what changed, the verdict is BLOCK."""
    mutants: str = ""
    """`first` or `all`: the AMP code is broken on purpose, and the report says who noticed."""
    start_found: bool = False
    """Whether programs that train are looked for and run as entries; else none is started that nobody named."""
    guarded: tuple[Path, ...] = ()
    """Folders that the project's code must not change: that of the reports."""
    fresh: bool = False
    """Whether all runs anew, whatever results were kept."""
    note: Progress = lambda _text: None
    """Is called with what a person has to know who waits for a kept result."""
    progress: Progress = lambda _text: None
    """Is called with what happens next."""


def run(settings: Settings, options: RunOptions = RunOptions()) -> Report:
    """Run the stages and judge what they found.

    A stage that raises becomes an errored stage: the others still run, and the verdict is BLOCK.
    Raises UsageError for what a user can put right before anything runs: no sources, settings alone, a broken
    specification. Raises InterruptedRunError, with the report, where somebody ended the run.
    """
    clock = time.monotonic()
    start = _begun(settings, options)
    kept = _kept(start, options)
    results, interrupted = _run_stages(start.asked, start.context, kept)
    if kept is not None and not interrupted:
        kept.keep(results)
    mutation = None if interrupted else _mutated(start, results, options)
    found = _compared(start, results, interrupted=interrupted)
    report = _report(start, found, options, mutation, lambda: round(time.monotonic() - clock, 3))
    if not interrupted:
        report = with_programs_told(report, start.settings, start.sources, options.progress)
    for fault in faults(report):
        raise VerifygateError(f"the report contradicts itself: {fault}")
    report = masked_model(report)  # every format is made of it
    if interrupted:
        raise InterruptedRunError(report)
    return report


class _Start(NamedTuple):
    """What is known before a stage runs."""

    settings: Settings
    sources: Sources
    asked: list[str]
    programs: tuple[Program, ...]
    specification: Specification | None
    agreed: tuple[Entry, ...]
    base: BaseRevision | None
    subject: Subject
    trusted: State
    """What the gate is started from, where code of the project runs."""
    provenance: Provenance
    context: StageContext
    at: dt.datetime


class _Found(NamedTuple):
    """What the stages found, held against the sources and against the base revision."""

    merged: Examined
    stages: tuple[StageResult, ...]
    inherited: frozenset[str]
    """Fingerprints of findings that stood at the base revision."""
    moved: Mapping[str, str]
    silenced: tuple[Reason, ...]
    """Findings of the change that a comment of the change silences."""


def _begun(settings: Settings, options: RunOptions) -> _Start:
    """Read what the run is about. Raises UsageError."""
    at = dt.datetime.now(dt.UTC)
    sources = read_sources(settings.root, settings.sources, settings.exclusion)
    if not sources.files and not Drivers.of(sources).are_there:
        raise UsageError(
            "no Python file to audit",
            where=", ".join(settings.sources),
            remedy="name the sources in `[project] sources`, or run in the project's folder; "
            f"left out: {', '.join(f'{each.files} by `{each.rule}`' for each in sources.left_out) or 'nothing'}",
        )
    check_rules(settings)
    if settings.models:
        from verifygate.static.machine.libraries import libraries_for  # the machine loads only where a model is named

        libraries_for(settings.selection(sources.paths))
    asked = [name for name in STAGES if not options.stages or name in options.stages]
    if "static" in asked:
        refuse_settings_alone(sources)
    programs: tuple[Program, ...] = ()
    if options.start_found:
        settings, programs = settings_with_found(settings, sources)
    specification = _specification(settings)
    agreed = baseline_of(settings)
    base = BaseRevision.at(settings, git.merge_base(settings.root, options.since)) if options.since else None
    commit = base.commit if base is not None else ""
    policy = options.policy
    ruling = policy.commit if policy is not None and policy.state is PolicyState.BASE else ""
    subject = subject_of(settings, ruling, options.guarded)
    trusted = subject.trusted_state() if RUN_CODE.intersection(asked) else {}
    provenance = _provenance(settings, sources, tests="execution" in asked)  # now: meanwhile somebody may commit
    policy_commit = policy.commit if policy else commit
    context = StageContext(settings, sources, subject, {}, commit, options.progress, policy_commit)
    return _Start(
        settings, sources, asked, programs, specification, agreed, base, subject, trusted, provenance, context, at
    )


def _specification(settings: Settings) -> Specification | None:
    """The specification, read with what lies beside it. Raises UsageError."""
    if not settings.requirements.spec:
        return None
    specification = read_specification(settings.policy_folder, settings.requirements.spec)
    read_lock(settings.root, settings.requirements.spec)
    read_foreign(settings.root, settings.requirements.junit)
    return specification


def _kept(start: _Start, options: RunOptions) -> KeptResults | None:
    """The results of earlier runs, where the project's code would run and what it can read is known."""
    if options.mutants or not RUN_CODE.intersection(start.asked):
        return None
    return KeptResults.of(start.context, options.guarded, start.at, options.note, fresh=options.fresh)


def _mutated(start: _Start, results: Mapping[str, StageResult], options: RunOptions) -> MutationReport | None:
    """Who notices that the AMP code is broken, where that was asked."""
    if not options.mutants:
        return None
    options.progress("mutation")
    return mutate(
        start.settings,
        start.sources,
        start.subject,
        results,
        everybody=options.mutants == "all",
        progress=_prefixed(options.progress, "mutation"),
    )


def _compared(start: _Start, results: dict[str, StageResult], *, interrupted: bool) -> _Found:
    """Hold the results against the sources and against each other, and against the base revision."""
    settings, sources, base = start.settings, start.sources, start.base
    touched = changed(start.trusted, start.subject.trusted_state()) if start.trusted else []
    merged = examined(list(results.values()), _inputs(settings, sources, start.specification, touched))
    if base is None:
        return _Found(merged, merged.stages, frozenset(), {}, ())
    moved = base.moved(merged.stages, sources)
    inherited = base.fingerprints | moved.keys()
    inherited |= base.seen_by_security(settings, merged.stages)
    if not interrupted:
        inherited |= base.seen_by_runs(settings, start.subject, merged.stages, start.context.progress)
    joined = with_inherited(merged.stages, start.context, results, inherited)
    silenced = base.silenced_by_change(joined, inherited, sources, settings.verdict)
    return _Found(merged, joined, inherited, moved, silenced)


def _report(
    start: _Start,
    found: _Found,
    options: RunOptions,
    mutation: MutationReport | None,
    seconds: Callable[[], float],
) -> Report:
    """Judge, and say it; `seconds` since the run began."""
    settings, base, specification = start.settings, start.base, start.specification
    stands = entries_of(finding for stage in found.stages for finding in stage.findings)
    standing = held(start.agreed, stands, lambda path: (settings.root / path).exists())
    judgement = judge(
        found.stages,
        settings.verdict,
        settings.waivers,
        settings.today,
        found.inherited | standing.keys(),
        found.merged.contradictions,
        unknown_change(options.event) + found.silenced,
    )
    findings = [finding for stage in judgement.stages for finding in stage.findings]
    return Report(
        project=settings.name,
        task=settings.project.task,
        version=settings.project.version,
        verdict=judgement.verdict,
        score=judgement.score,
        reasons=judgement.reasons,
        stages=judgement.stages,
        parts=judgement.parts,
        waivers=judgement.waivers,
        contradictions=found.merged.contradictions,
        changes=base.changes(judgement.stages, found.inherited, found.moved, start.sources, settings) if base else None,
        impacts=impacts_of(findings),
        backgrounds=backgrounds_of(findings, start.sources),
        policy=(*policy_of(settings), *(gates_policy(specification.spec.gates) if specification else ())),
        policy_origin=options.policy,
        baseline=use_of(start.agreed, standing, judgement.stages, settings),
        advisory=advisory_of(settings),
        event=options.event.words if options.event else "",
        mutation=mutation,
        programs=start.programs,
        provenance=start.provenance,
        run=Run(
            command=options.command,
            started=start.at.isoformat(timespec="seconds"),
            seconds=seconds(),
            permalink=permalink(start.provenance.commit, git.remote(settings.root), os.environ),
        ),
    )


class InterruptedRunError(KeyboardInterrupt):
    """Somebody ended the run; the report has what was known by then, and is a BLOCK."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report


def _run_stages(
    names: Sequence[str], context: StageContext, kept: KeptResults | None
) -> tuple[dict[str, StageResult], bool]:
    """The results of the stages, in order, and whether somebody interrupted them: then the rest is errored."""
    results: dict[str, StageResult] = {}
    interrupted = False
    for number, name in enumerate(names, 1):
        if interrupted:
            results[name] = StageResult(stage=name, outcome=Outcome.ERRORED, reason="not run: interrupted before it")
            continue
        context.progress(f"[{number}/{len(names)}] {name}")
        told = _prefixed(context.progress, name)
        try:
            known = kept.taken(name, results) if kept is not None else None
            results[name] = known or _run_stage(name, replace(context, results=dict(results), progress=told))
        except KeyboardInterrupt:
            interrupted = True
            results[name] = StageResult(stage=name, outcome=Outcome.ERRORED, reason="interrupted while it ran")
    return results, interrupted


def _inputs(
    settings: Settings, sources: Sources, specification: Specification | None, touched: Sequence[str]
) -> Inputs:
    """What the merger holds the results against: the tree read once more, the specification, the rules."""
    return Inputs(
        root=settings.root,
        sources=sources,
        now=read_sources(settings.root, settings.sources, settings.exclusion),
        rules=frozenset(chosen(settings.static.select, settings.static.ignore)),
        specification=specification,
        policy_root=settings.policy_root,
        touched=touched,
    )


def _run_stage(name: str, context: StageContext) -> StageResult:
    """Fail closed: whatever a stage raises becomes its outcome, never the end of the run."""
    clock = time.monotonic()
    try:
        stage: Stage = loaded(STAGES[name].stage)()
        clock = time.monotonic()  # to import it is not the stage's own time
        result = stage.run(context)
        selection = context.settings.selection(context.sources.paths)
        result = result.model_copy(update={"findings": with_proven_fixes(result.findings, context.sources, selection)})
    except UsageError:
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error} (in {place.name}, {Path(place.filename).name}:{place.lineno})"
        result = StageResult(stage=name, outcome=Outcome.ERRORED, reason=" ".join(reason.split()))
    return result.model_copy(update={"seconds": round(time.monotonic() - clock, 3)})


def _prefixed(progress: Progress, stage: str) -> Progress:
    return lambda text: progress(f"{stage}: {text}")


def _tests_of(settings: Settings) -> Iterator[str]:
    """The files and folders of the project's tests: a run on tests that no commit has is not about a commit."""
    chosen = chosen_tests(settings.execution, settings.root, read_config(settings.root))
    for path in (each.partition("::")[0] for each in chosen if not each.startswith("-")):
        if (settings.root / path).exists():
            yield path


def _provenance(settings: Settings, sources: Sources, *, tests: bool) -> Provenance:
    """The inputs of a run; `tests`: those of the project are among them."""
    named = (settings.config, settings.requirements.spec, settings.verdict.baseline, *settings.static.models)
    watched = [*settings.sources, *filter(None, named)]
    if settings.requirements.spec:
        watched.append(lock_path(settings.requirements.spec))
    return Provenance(
        tool_version=__version__,
        commit=git.describe(settings.root, watched, tuple(_tests_of(settings)) if tests else ()),
        tree_digest=sources.digest,
        settings_digest=settings.digest,
        config=settings.config or "none (discovered)",
        folder=folder_in_repository(settings.root),
        versions={
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in ("libcst", "pydantic", "jinja2", "coverage")},
        },
    )
