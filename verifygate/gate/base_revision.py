"""What stood at the revision that a change is based on: its findings, also where code was renamed or moved since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from verifygate.base.lifeline import temporary_folder
from verifygate.change.base_findings import BaseFindings, versions_at
from verifygate.change.moved_code import code_around
from verifygate.config.settings import Settings, VerdictSettings
from verifygate.config.tree_versions import altered_versions
from verifygate.configured_precision.drivers import Drivers, changed
from verifygate.model import (
    Changes,
    Outcome,
    Reason,
    SecurityDetails,
    StageResult,
    StaticDetails,
    Suppression,
    Witness,
)
from verifygate.model.precision_contract import PrecisionContract, altered
from verifygate.process.subject import Subject
from verifygate.report_comparison import apart
from verifygate.rule_codes import SecurityRisk
from verifygate.sources.discovery import AUDITED, is_noted
from verifygate.sources.file import SourceFile
from verifygate.sources.git_export import export
from verifygate.sources.suppressions import directives
from verifygate.sources.tree import Sources
from verifygate.static.causes import also_broken


@dataclass(frozen=True)
class BaseRevision:
    """The commit that a change is based on, and what the rules find there."""

    found: BaseFindings

    @classmethod
    def at(cls, settings: Settings, commit: str) -> BaseRevision:
        """Read and analyse the files of a commit. Raises UsageError as the analysis of today's files does."""
        selection = settings.static.gate_selection._replace(models=settings.models)
        return cls(BaseFindings.at(settings.root, commit, lambda path: _is_audited(path, settings), selection))

    @property
    def commit(self) -> str:
        return self.found.commit

    @property
    def fingerprints(self) -> frozenset[str]:
        return self.found.fingerprints

    def moved(self, stages: Sequence[StageResult], now: Sources) -> dict[str, str]:
        """Findings whose code was moved since: fingerprint today -> fingerprint at the revision."""
        return self.found.moved((finding for stage in stages for finding in stage.findings), now)

    def seen_by_runs(
        self,
        settings: Settings,
        subject: Subject,
        stages: Sequence[StageResult],
        progress: Callable[[str], None],
    ) -> frozenset[str]:
        """Fingerprints of findings that only a run shows, and that a run shows at the revision as well."""
        alone = [each for stage in stages for each in stage.findings if each.witnesses == (Witness.RUN,)]
        if not alone:
            return frozenset()
        from verifygate.execution.run_at_base import stood_before

        progress(f"what runs alone show: did it stand at {self.commit[:12]}?")
        with temporary_folder("before") as folder:
            return stood_before(settings, subject, self._under_present_paths(), alone, Path(folder))

    def seen_by_security(self, settings: Settings, stages: Sequence[StageResult]) -> frozenset[str]:
        """Fingerprints of what the security stage finds at the revision, under the paths of today."""
        if not any(stage.findings or _suppressions(stage) for stage in stages if stage.stage == "security"):
            return frozenset()
        from verifygate.security.examine import examine
        from verifygate.security.tree import AuditedTree

        with temporary_folder("before") as folder:
            root = Path(folder, "tree").resolve()
            export(settings.root, self.commit, root)
            for old, new in self.found.renamed.items():
                if (root / old).is_file() and not (root / new).exists():
                    (root / new).parent.mkdir(parents=True, exist_ok=True)
                    (root / old).rename(root / new)
            sources = Sources([SourceFile(file.path, file.data) for file in self._under_present_paths()])
            tree = AuditedTree(root, sources, self.found.selection)
            return frozenset(each.fingerprint for each in examine(tree, settings.security).findings)

    def _under_present_paths(self) -> list[SourceFile]:
        """The files of then, where the tests of today import them from."""
        return [SourceFile(self.found.renamed.get(file.path, file.path), file.data) for file in self.found.sources]

    def changes(
        self,
        stages: Sequence[StageResult],
        inherited: Set[str],
        moved: Mapping[str, str],
        sources: Sources,
        settings: Settings,
    ) -> Changes:
        """What became of the revision's findings; `inherited` are the fingerprints that stood then."""
        now = {finding.fingerprint: finding for stage in stages for finding in stage.findings}.values()
        present = {each for finding in now for each in finding.fingerprints} | set(moved.values())
        looked = any(stage.stage == "static" and stage.outcome is Outcome.COMPLETED for stage in stages)
        told = {(rule, each.path, each.snippet) for each in now for rule in also_broken(each)}
        silenced = {each.fingerprint for stage in stages for each in _suppressions(stage)}
        gone = tuple(
            each
            for each in self.found.analysed.findings
            if present.isdisjoint(each.fingerprints)
            and (each.rule, self.found.renamed.get(each.path, each.path), each.snippet) not in told
            and silenced.isdisjoint(each.fingerprints)
        )
        paths = set(sources.paths)
        mended = tuple(each for each in gone if self.found.renamed.get(each.path, each.path) in paths)
        added, stood = apart(now, inherited)
        return Changes(
            against=f"the source at {self.commit}",
            new=tuple(added),
            open=tuple(stood),
            fixed=mended if looked else (),
            removed=tuple(each for each in gone if each not in mended) if looked else (),
            cannot_tell=() if looked else gone,
            precision=(
                *(line for stage in stages for line in self._precision_changes(stage)),
                *changed(Drivers.of(self.found.sources).all(), Drivers.of(sources).all()),
                *self._version_changes(sources, settings),
            ),
            suppressed=tuple(
                f"{each.path}:{each.line}: {each.rule}: {each.reason}"
                for each in self._suppressions_added(stages, sources)
            ),
            renamed=tuple(f"{old} -> {new}" for old, new in sorted(self.found.renamed.items())),
        )

    def silenced_by_change(
        self, stages: Sequence[StageResult], inherited: Set[str], sources: Sources, policy: VerdictSettings
    ) -> tuple[Reason, ...]:
        """Comments of the change that silence what would block, and that is the change's own: they block for now."""
        if policy.allow_new_suppressions:
            return ()
        return tuple(
            Reason(
                condition="own-suppression",
                stage="gate",
                text=f"this change silences its own finding, {each.rule} ({each.severity}), for the reason "
                f"`{each.reason}`: {each.finding}",
                path=each.path,
                line=each.line,
                action="correct the code, or let the owner of the policy set `[verdict] allow_new_suppressions = true` "
                "where the change begins",
            )
            for each in self._suppressions_added(stages, sources)
            if each.severity in policy.block and each.fingerprint not in inherited
        )

    def _suppressions_added(self, stages: Sequence[StageResult], sources: Sources) -> Iterator[Suppression]:
        """The suppressions in force that did not stand at the revision, nor elsewhere in code that was moved since."""
        analysed, renamed = self.found.analysed, self.found.renamed
        stood = [(each.path, each.line, each.rule, each.reason) for each in analysed.suppressions]
        stood += [(each.path, each.line, each.rule, each.reason) for each in analysed.idle_suppressions]
        codes = tuple(SecurityRisk)
        for file in self.found.sources if any(map(_suppressions, stages)) else ():
            written = [each for each in directives(file, codes) if each.rule.upper() in codes]
            stood += [(file.path, each.comment_line, each.rule.upper(), each.reason) for each in written]
        before = Counter((renamed.get(path, path), rule, reason) for path, _, rule, reason in stood)
        now = [each for stage in stages for each in _suppressions(stage)]
        today = Counter((each.path, each.rule, each.reason) for each in now)
        left, gone, added = before & today, before - today, []
        for each in now:
            left[key := (each.path, each.rule, each.reason)] -= 1
            added += [each] if left[key] < 0 else []
        moved = Counter(
            (code_around(self.found.sources, path, line), rule, reason)
            for path, line, rule, reason in stood
            if added and gone[renamed.get(path, path), rule, reason]
        )
        for each in added:
            identity = (code_around(sources, each.path, each.line), each.rule, each.reason)
            moved[identity] -= 1
            if moved[identity] < 0:
                yield each

    def _precision_changes(self, stage: StageResult) -> tuple[str, ...]:
        """What a change alters in the precision contract."""
        if not isinstance(stage.details, StaticDetails):
            return ()
        now = PrecisionContract() if stage.details.configurations else stage.details.contract
        return altered(self.found.analysed.contract, now)

    def _version_changes(self, sources: Sources, settings: Settings) -> tuple[str, ...]:
        """What a change says otherwise of the versions that files run on: these decide which findings there are."""
        before = versions_at(sources.paths, settings.root, self.commit)
        return altered_versions(before, settings.selection(sources.paths).allowed, sources.paths)


def _suppressions(stage: StageResult) -> tuple[Suppression, ...]:
    return stage.details.suppressions if isinstance(stage.details, StaticDetails | SecurityDetails) else ()


def _is_audited(path: str, settings: Settings) -> bool:
    inside = any(PurePosixPath(path).is_relative_to(source) for source in settings.sources)
    if not inside or settings.exclusion.leaves_out(path):
        return False
    return path.endswith(AUDITED) or is_noted(
        settings.root, path, {PurePosixPath(each).as_posix() for each in settings.sources}
    )
