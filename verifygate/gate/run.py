"""Run the stages in order, join their results, decide: settings in, report out."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import platform
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from verifygate import __version__
from verifygate.base.errors import UsageError, VerifygateError
from verifygate.base.loading import loaded
from verifygate.base.masking import masked_model
from verifygate.baseline_file import entries_of, held
from verifygate.change.ci_event import Event
from verifygate.config.settings import Settings
from verifygate.execution.collected_tests import chosen_tests, read_config
from verifygate.gate.backgrounds import backgrounds_of, impacts_of
from verifygate.gate.base_revision import BaseRevision
from verifygate.gate.found_programs import settings_with_found, with_programs_told
from verifygate.gate.in_force import advisory_of, baseline_of, unknown_change, use_of
from verifygate.gate.mutation_campaign import mutate
from verifygate.gate.proven_fixes import with_proven_fixes
from verifygate.gate.stood_before import with_inherited
from verifygate.merge import Inputs, examined, faults
from verifygate.model import (
    Outcome,
    PolicyOrigin,
    PolicyState,
    Program,
    Provenance,
    Report,
    Run,
    StageResult,
)
from verifygate.process.interpreter import subject_of
from verifygate.process.trusted import changed
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
from verifygate.static.unread import refuse_settings_alone

Progress = Callable[[str], None]
_RUN_CODE = frozenset(("execution", "performance"))
"""The stages that run the project's code."""


def run(
    settings: Settings,
    *,
    stages: Sequence[str] = (),
    command: str = "verifygate run",
    since: str = "",
    policy: PolicyOrigin | None = None,
    event: Event | None = None,
    mutants: str = "",
    start_found: bool = False,
    guarded: tuple[Path, ...] = (),
    progress: Progress = lambda _text: None,
) -> Report:
    """Run the named stages (all, where none is named) and judge what they found.

    With `since`, findings that stood already where this tree left that revision are shown as open and do not block:
    a change answers for what it brings. `policy` says from which revision the settings are, where somebody asked for
    one. A stage that raises becomes an errored stage: the others still run, and the verdict is BLOCK. With `mutants`
    (`first` or `all`), the AMP code is broken on purpose, and the report says who noticed. Where the `event` of the CI
    job does not tell what changed, the verdict is BLOCK. With `start_found`, programs that train are looked for and run
    as entries; without it, no program is started that nobody named. `guarded` are folders that the project's code must
    not change: that of the reports.
    Raises UsageError for what a user can put right before anything runs: no sources, settings alone, a broken
    specification.
    """
    started, clock = dt.datetime.now(dt.UTC), time.monotonic()
    sources = read_sources(settings.root, settings.sources, settings.exclusion)
    if not sources.files:
        raise UsageError(
            "no Python file to audit",
            where=", ".join(settings.sources),
            remedy="name the sources in `[project] sources`, or run in the project's folder; "
            f"left out: {', '.join(f'{each.files} by `{each.rule}`' for each in sources.left_out) or 'nothing'}",
        )
    check_rules(settings)
    asked = [name for name in STAGES if not stages or name in stages]
    if "static" in asked:
        refuse_settings_alone(sources)
    programs: tuple[Program, ...] = ()
    if start_found:
        settings, programs = settings_with_found(settings, sources)
    specification = None
    if settings.requirements.spec:
        specification = read_specification(settings.policy_folder, settings.requirements.spec)
        read_lock(settings.root, settings.requirements.spec)
        read_foreign(settings.root, settings.requirements.junit)
    agreed = baseline_of(settings)
    base = BaseRevision.at(settings, git.merge_base(settings.root, since)) if since else None
    commit = base.commit if base is not None else ""
    ruling = policy.commit if policy is not None and policy.state is PolicyState.BASE else ""
    subject = subject_of(settings, ruling, guarded)
    trusted = subject.trusted_state() if _RUN_CODE.intersection(asked) else {}
    provenance = _provenance(settings, sources, tests="execution" in asked)  # now: meanwhile somebody may commit
    context = StageContext(settings, sources, subject, {}, commit, progress, policy.commit if policy else commit)
    results, interrupted = _run_stages(asked, context)
    mutation = None
    if mutants and not interrupted:
        progress("mutation")
        mutation = mutate(
            settings, sources, subject, results, everybody=mutants == "all", progress=_prefixed(progress, "mutation")
        )
    touched = changed(trusted, subject.trusted_state()) if trusted else []
    merged = examined(list(results.values()), _inputs(settings, sources, specification, touched))
    joined = merged.stages
    inherited: frozenset[str] = frozenset()
    moved: Mapping[str, str] = {}
    if base is not None:
        moved = base.moved(merged.stages, sources)
        inherited = base.fingerprints | moved.keys()
        inherited |= base.seen_by_security(settings, merged.stages)
        if not interrupted:
            inherited |= base.seen_by_runs(settings, subject, merged.stages, progress)
        joined = with_inherited(merged.stages, context, results, inherited)
    stands = entries_of(finding for stage in joined for finding in stage.findings)
    gaps = unknown_change(event)
    if base is not None:
        gaps += base.silenced_by_change(joined, inherited, sources, settings.verdict)
    standing = held(agreed, stands, lambda path: (settings.root / path).exists())
    judgement = judge(
        joined,
        settings.verdict,
        settings.waivers,
        settings.today,
        inherited | standing.keys(),
        merged.contradictions,
        gaps,
    )
    found = [finding for stage in judgement.stages for finding in stage.findings]
    report = Report(
        project=settings.name,
        task=settings.project.task,
        version=settings.project.version,
        verdict=judgement.verdict,
        score=judgement.score,
        reasons=judgement.reasons,
        stages=judgement.stages,
        parts=judgement.parts,
        waivers=judgement.waivers,
        contradictions=merged.contradictions,
        changes=base.changes(judgement.stages, inherited, moved, sources) if base is not None else None,
        impacts=impacts_of(found),
        backgrounds=backgrounds_of(found, sources),
        policy=(*settings.policy, *(gates_policy(specification.spec.gates) if specification else ())),
        policy_origin=policy,
        baseline=use_of(agreed, standing, judgement.stages, settings),
        advisory=advisory_of(settings),
        event=event.words if event else "",
        mutation=mutation,
        programs=programs,
        provenance=provenance,
        run=Run(
            command=command,
            started=started.isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - clock, 3),
            permalink=permalink(provenance.commit, git.remote(settings.root), os.environ),
        ),
    )
    if not interrupted:
        report = with_programs_told(report, settings, sources, progress)
    for fault in faults(report):
        raise VerifygateError(f"the report contradicts itself: {fault}")
    report = masked_model(report)  # every format is made of it
    if interrupted:
        raise InterruptedRunError(report)
    return report


class InterruptedRunError(KeyboardInterrupt):
    """Somebody ended the run; the report has what was known by then, and is a BLOCK."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report


def _run_stages(names: Sequence[str], context: StageContext) -> tuple[dict[str, StageResult], bool]:
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
            results[name] = _run_stage(name, replace(context, results=dict(results), progress=told))
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
    named = (settings.config, settings.requirements.spec, settings.verdict.baseline)
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
