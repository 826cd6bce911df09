"""Checks that do not count against a change: what they lack was so before it.

A requirement is traced once more as if all that stood before were well; where it is met then, nothing but what stood is
in its way. And a change of documentation alone alters no answer but that of the tests, which are asked themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from pathlib import PurePosixPath

from verifygate.model import Check, ExecutionDetails, Outcome, StageResult, Status
from verifygate.requirements import RequirementsStage
from verifygate.sources import git
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
    alters = git.changed(context.settings.root, context.since)
    documents = bool(alters) and all(map(_is_document, alters))
    met = _met_but_for_what_stood(context, results, inherited)
    found = []
    for stage in stages:
        checks = tuple(_told(check, documents, met, results.get(stage.stage), context.since) for check in stage.checks)
        found.append(stage if checks == stage.checks else stage.model_copy(update={"checks": checks}))
    return tuple(found)


def _told(check: Check, documents: bool, met: Set[str], raw: StageResult | None, since: str) -> Check:
    if check.status in SETTLED or check.inherited or not check.required or check.id in ASKED_THEMSELVES:
        return check
    if documents:
        return check.model_copy(update={"inherited": "this change alters documentation alone"})
    unlowered = raw is not None and any(each.id == check.id and each.status is check.status for each in raw.checks)
    if check.id in met and unlowered:
        return check.model_copy(update={"inherited": f"nothing but what stood at {since[:12]} is in its way"})
    return check


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


def _is_document(path: str) -> bool:
    name = PurePosixPath(path)
    return name.suffix.lower() in DOCUMENTATION or name.stem.upper() in LEGAL
