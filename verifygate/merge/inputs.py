"""Inputs of a merge: the sources, rules and specification that the stages were given, and their results, indexed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

from verifygate.base.regular_files import MAX_SOURCE_BYTES, read_regular
from verifygate.model import (
    Check,
    ExecutionDetails,
    Finding,
    Measurement,
    Outcome,
    RequirementResult,
    RequirementsDetails,
    StageResult,
    StaticDetails,
    TraceSummary,
)
from verifygate.requirements import Specification
from verifygate.sources.file import SourceFile, SourceUnreadableError
from verifygate.sources.tree import Sources


@dataclass(frozen=True)
class Inputs:
    """The inputs of a run: the sources as the stages read them and as they are now, the specification, the rules."""

    root: Path
    sources: Sources
    now: Sources
    """The same files, read again after the last stage."""
    rules: frozenset[str] = frozenset()
    """Codes of the rules that were selected."""
    specification: Specification | None = None
    policy_root: Path | None = None
    """Where the specification was read; the root, where it is None."""
    touched: Sequence[str] = ()
    """Files that the gate trusts and that were changed while the project's code ran."""
    _files: dict[str, list[str] | None] = field(default_factory=dict)

    def lines(self, path: str) -> list[str] | None:
        """The lines of a file, of an audited one as it was digested; None where there is no such file."""
        if path not in self._files:
            self._files[path] = self._read(path)
        return self._files[path]

    def _read(self, path: str) -> list[str] | None:
        file = self.sources.get(path)
        if file is None:
            asked = self.specification is not None and path == self.specification.path
            place = ((self.policy_root if asked else None) or self.root) / path
            try:
                file = SourceFile(path, read_regular(place, MAX_SOURCE_BYTES))
            except OSError:
                return None
        try:
            return file.lines
        except SourceUnreadableError:
            return file.data.decode("utf-8", "replace").splitlines()

    def is_inside(self, path: str) -> bool:
        """Whether a path is one of the project's, relative to the root."""
        pure = PurePosixPath(path)
        return not (pure.is_absolute() or ".." in pure.parts or path.startswith("<"))


class Results:
    """The stages' results, looked up by what they are about. Only what completed counts."""

    def __init__(self, stages: Sequence[StageResult]) -> None:
        self.stages = tuple(stage for stage in stages if stage.outcome is Outcome.COMPLETED)

    def stage(self, name: str) -> StageResult | None:
        return next((stage for stage in self.stages if stage.stage == name), None)

    @cached_property
    def execution(self) -> ExecutionDetails | None:
        return next((each.details for each in self.stages if isinstance(each.details, ExecutionDetails)), None)

    @cached_property
    def static(self) -> StaticDetails | None:
        return next((each.details for each in self.stages if isinstance(each.details, StaticDetails)), None)

    @cached_property
    def requirements(self) -> RequirementsDetails | None:
        return next((each.details for each in self.stages if isinstance(each.details, RequirementsDetails)), None)

    @property
    def rows(self) -> tuple[RequirementResult, ...]:
        return self.requirements.requirements if self.requirements else ()

    @property
    def traces(self) -> list[TraceSummary]:
        """What was recorded of the tests, and of those with CUDA emulated."""
        details = self.execution
        return [each for each in (details.trace, details.emulated_trace) if each] if details else []

    @property
    def findings(self) -> Iterator[tuple[StageResult, Finding]]:
        return ((stage, finding) for stage in self.stages for finding in stage.findings)

    @cached_property
    def checks(self) -> dict[str, Check]:
        return {check.id: check for stage in self.stages for check in stage.checks}

    @cached_property
    def measurements(self) -> dict[str, Measurement]:
        return {each.id: each for stage in self.stages for each in stage.measurements}

    def resting_on(self, measurement: str) -> tuple[str, ...]:
        """Ids of the checks that a measurement carries, those of requirements too."""
        direct = (check.id for check in self.checks.values() if check.measurement == measurement)
        rows = (f"requirements.{row.id}" for row in self.rows if measurement in row.measurements)
        return tuple(dict.fromkeys((*direct, *rows)))


def named(items: Sequence[str], most: int = 5) -> str:
    """The first few, and how many more there are."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more
