"""What today's static rules find in the files of an earlier commit, also where code was renamed or moved since."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from verifygate.base.records import record
from verifygate.change.moved_code import stood_elsewhere
from verifygate.config.tree_versions import TreeVersions, versions_of_tree
from verifygate.model import Finding
from verifygate.sources import git
from verifygate.sources.commit_tree import CommitTree
from verifygate.sources.discovery import AUDITED
from verifygate.sources.tree import Sources

if TYPE_CHECKING:
    from verifygate.config.rule_selection import RuleSelection
    from verifygate.static.analysis_result import AnalysisResult
    from verifygate.static.engine import Kept


def versions_at(paths: Iterable[str], root: Path, commit: str) -> TreeVersions:
    """What a commit says of the versions that files at these paths, relative to `root`, run on."""
    return versions_of_tree(paths, root, lambda folder: CommitTree(folder, commit))


@record
class BaseFindings:
    """The audited files of a commit, and what the rules find in them."""

    commit: str
    sources: Sources
    renamed: Mapping[str, str]
    """Old path -> new path."""
    analysed: AnalysisResult
    selection: RuleSelection

    @classmethod
    def at(
        cls,
        root: Path,
        commit: str,
        is_audited: Callable[[str], bool],
        selection: RuleSelection,
        kept: Kept | None = None,
    ) -> BaseFindings:
        """Read and analyse those files of a commit, by what that commit allows of torch and of frameworks.

        Raises UsageError as the analysis of today's files does.

        `kept` are results of parts that are known, of today's files or of earlier ones.
        """
        from verifygate.static.engine import Means, analyse

        files = [each for each in git.files_at(root, commit, AUDITED) if is_audited(each.path)]
        beside = [each for each in git.configuration_at(root, commit) if is_audited(each.path)]
        sources, renamed = Sources(files, configuration=beside), git.renames(root, commit)
        selection = selection.allowing(versions_at(sources.paths, root, commit))
        found = analyse(sources, selection, with_constructs=False, known_as=renamed, means=Means(0, kept))
        return cls(commit, sources, renamed, found, selection)

    @property
    def fingerprints(self) -> frozenset[str]:
        return frozenset(each for finding in self.analysed.findings for each in finding.fingerprints)

    def moved(self, found: Iterable[Finding], now: Sources) -> dict[str, str]:
        """Findings whose code was moved since: fingerprint today -> fingerprint at the commit."""
        before = self.analysed.findings
        return stood_elsewhere(list(found), now, before, self.sources, self.fingerprints, self.renamed)
