"""Checks that do not count against a change: what they lack was so before it.

A requirement is traced once more as if all that stood before were well; where it is met then, nothing but what stood is
in its way. A check on runs fails for what it blames: findings that stood. A change of documentation and tests alone
alters no measurement, and one of documentation alone no answer but that of the tests, which are asked themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import PurePosixPath
from typing import NamedTuple

from verifygate.base.errors import UsageError
from verifygate.config.settings import Settings
from verifygate.model import Check, ExecutionDetails, Outcome, StageResult, Status
from verifygate.performance.attestation.closure import imported_files
from verifygate.requirements import RequirementsStage
from verifygate.sources import git
from verifygate.sources.file import SourceFile
from verifygate.stage import StageContext

DOCUMENTATION = (".md", ".rst", ".adoc")
LEGAL = ("LICENSE", "LICENCE", "NOTICE", "AUTHORS", "CODEOWNERS", "CONTRIBUTORS")
ASKED_THEMSELVES = ("execution.tests-ran", "execution.tests-pass", "execution.required-tests", "execution.skipped")
"""Checks on tests: they know of each test whether it was so before."""
SETTLED = (Status.PASS, Status.NOT_APPLICABLE)


def with_inherited(
    stages: Sequence[StageResult], context: StageContext, results: Mapping[str, StageResult], inherited: Set[str]
) -> tuple[StageResult, ...]:
    """The joined stages, with a word on each check that does not count against the change that `context` is about.

    `results` are the stages' results as they were before they were joined, `inherited` the fingerprints of findings
    that stood.
    """
    try:
        alters = git.changed(context.settings.root, context.since)
    except UsageError:  # a run broke the index: nobody knows what the change is about
        alters = ()
    documents = bool(alters) and all(map(_is_document, alters))
    beside = bool(alters) and all(_is_document(path) or _is_test(path) for path in alters)
    beside = beside and not _measured(context.settings) & set(alters) and all(map(_is_there(context), alters))
    met = _met_but_for_what_stood(context, results, inherited)
    old = Old(context.since[:12], documents, beside, met, _places(stages, inherited))
    found = []
    for stage in stages:
        checks = tuple(_told(check, old, results.get(stage.stage)) for check in stage.checks)
        found.append(stage if checks == stage.checks else stage.model_copy(update={"checks": checks}))
    return tuple(found)


class Old(NamedTuple):
    """What is known of the time before the change."""

    commit: str
    documents: bool
    """Whether the change is one of documentation alone."""
    beside: bool
    """Whether it is one of documentation and tests alone, of which the workload imports none."""
    met: Set[str]
    """Checks that are met but for what stood."""
    places: Set[tuple[str, int]]
    """Where findings stood that stand there now."""


def _told(check: Check, old: Old, raw: StageResult | None) -> Check:
    if check.status in SETTLED or check.inherited or not check.required or check.id in ASKED_THEMSELVES:
        return check
    if old.documents:
        return check.model_copy(update={"inherited": "this change alters documentation alone"})
    if old.beside and check.id.startswith("performance."):
        return check.model_copy(update={"inherited": "this change alters documentation and tests alone"})
    unlowered = raw is not None and any(each.id == check.id and each.status is check.status for each in raw.checks)
    if check.id in old.met and unlowered:
        return check.model_copy(update={"inherited": f"nothing but what stood at {old.commit} is in its way"})
    blamed = {(each.path, each.line) for each in check.evidence}
    if check.id.startswith("execution.") and check.status is Status.FAIL and blamed and blamed <= old.places:
        return check.model_copy(update={"inherited": f"all that it blames stood at {old.commit}"})
    return check


def _places(stages: Sequence[StageResult], inherited: Set[str]) -> frozenset[tuple[str, int]]:
    stood = (each for stage in stages for each in stage.findings if each.stood_in(inherited))
    return frozenset((each.path, each.line) for finding in stood for each in finding.locations)


def _met_but_for_what_stood(
    context: StageContext, results: Mapping[str, StageResult], inherited: Set[str]
) -> frozenset[str]:
    """Checks of the requirements stage that are met as soon as all that stood before is taken for well."""
    asked = results.get("requirements")
    if asked is None or asked.outcome is not Outcome.COMPLETED:
        return frozenset()
    well = {name: _as_if_well(stage, inherited) for name, stage in results.items() if name != "requirements"}
    if well == {name: stage for name, stage in results.items() if name != "requirements"}:
        return frozenset()
    again = RequirementsStage().run(replace(context, results=well, progress=lambda _text: None))
    return frozenset(check.id for check in again.checks if check.status in SETTLED)


def _as_if_well(stage: StageResult, inherited: Set[str]) -> StageResult:
    """A stage's result without what stood before."""
    findings = tuple(new for each in stage.findings if (new := each.apart(inherited)[0]) is not None)
    broken = {f"{stage.stage}.{each.rule}" for each in findings}
    mended = {f"{stage.stage}.{each.rule}" for each in stage.findings} - broken
    checks = tuple(
        check.model_copy(update={"status": Status.PASS}) if check.inherited or check.id in mended else check
        for check in stage.checks
    )
    details = stage.details
    if isinstance(details, ExecutionDetails):
        tests = tuple(
            test.model_copy(update={"outcome": "passed", "reason": ""}) if test.stood else test
            for test in details.tests
        )
        details = details.model_copy(update={"tests": tests})
    return stage.model_copy(update={"findings": findings, "checks": checks, "details": details})


def _measured(settings: Settings) -> set[str]:
    """The files that the workload is made of, as far as the source tells."""
    workload = settings.performance.workload
    return set(imported_files(settings.root, workload)) if workload else set()


def _is_there(context: StageContext) -> Callable[[str], bool]:
    """Whether a file is there: one that is gone may have been the workload's."""
    return lambda path: (context.settings.root / path).is_file()


def _is_test(path: str) -> bool:
    """Whether a file is code of the tests; a file of theirs that holds data may be one that training reads."""
    return path.endswith(".py") and SourceFile(path, b"").is_test


def _is_document(path: str) -> bool:
    name = PurePosixPath(path)
    suffix = name.suffix.lower()
    return suffix in DOCUMENTATION or (suffix in ("", ".txt") and name.stem.upper() in LEGAL)
