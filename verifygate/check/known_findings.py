"""What `check` counts and does not report: what stood at an earlier revision, and what the baseline file holds."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from verifygate.base.records import replace
from verifygate.model.finding import Finding

if TYPE_CHECKING:
    from verifygate.check.project import Asked
    from verifygate.config.rule_selection import RuleSelection
    from verifygate.model.check_report import CheckReport
    from verifygate.static.engine import Kept


class Old(NamedTuple):
    """From where old findings are known, as far as an answer depends on it."""

    commit: str = ""
    """Where this tree left the revision that was named."""
    renamed: str = ""
    """What was renamed since, as text."""
    baseline: bytes | None = None
    """The baseline file that is configured."""
    shown: str = ""

    @property
    def key(self) -> list[str]:
        """What an answer from the cache has to have in common with this."""
        return [self.commit, self.renamed, "none" if self.baseline is None else self.baseline.decode("latin-1")]


def known_old(since: str, baseline: str, root: Path) -> Old:
    """What is old here. Raises UsageError where the revision or the baseline file cannot be used."""
    commit, renamed, data = "", "", None
    if since:
        from verifygate.sources import git

        git.top(root, "--since")
        if since != "HEAD" or git.head(root)[0]:  # before the first commit, a hook finds everything new
            commit = git.merge_base(root, since)
            renamed = repr(sorted(git.renames(root, commit).items()))
    if baseline:
        from verifygate.base.errors import UsageError
        from verifygate.base.regular_files import read_regular
        from verifygate.baseline_file import MAX_BYTES, WRITE

        try:
            data = read_regular(root / baseline, MAX_BYTES)
        except OSError as error:
            raise UsageError(f"cannot be read: {error.strerror}", where=baseline, remedy=WRITE) from None
    return Old(commit, renamed, data, baseline)


def without_old(
    report: CheckReport, asked: Asked, old: Old, choice: RuleSelection, kept: Kept | None = None
) -> CheckReport:
    """The report with the findings that are new, and the numbers of the others."""
    found = list(report.findings)
    before = baselined = 0
    if old.commit:
        found, before = _without(found, lambda each: _stood(each, asked, old.commit, choice, kept))
    if old.baseline is not None:
        from verifygate.baseline_file import entries_of, held, parse

        entries = parse(old.baseline, old.shown)
        found, baselined = _without(found, lambda these: held(entries, entries_of(these), asked.is_there))
    return replace(report, findings=tuple(found), stood_before=before, in_baseline=baselined)


def _stood(
    findings: list[Finding], asked: Asked, commit: str, choice: RuleSelection, kept: Kept | None
) -> frozenset[str]:
    from verifygate.change.base_findings import BaseFindings

    base = BaseFindings.at(asked.root, commit, asked.is_audited, choice, kept)
    return base.fingerprints | base.moved(findings, asked.sources).keys()


def _without(findings: list[Finding], known: Callable[[list[Finding]], Collection[str]]) -> tuple[list[Finding], int]:
    """The locations that are not known, and how many findings had one that is."""
    if not findings:
        return [], 0
    fingerprints = known(findings)
    parts = [each.apart(fingerprints) for each in findings]
    return [new for new, _ in parts if new is not None], sum(stood is not None for _, stood in parts)
