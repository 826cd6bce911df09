"""What the runs of the oracles, and the recorder on one more, say against copies of a project that somebody broke."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from verifygate.config.settings import OraclesSettings
from verifygate.execution.oracles.planning import ORDER, around, entries_of, examine
from verifygate.execution.oracles.runs import Job, Seen, run_jobs
from verifygate.execution.order import OrderJudge
from verifygate.execution.recorded_trace import read_trace
from verifygate.execution.run_findings import Ownership, findings
from verifygate.execution.run_violations import violations_of_the_run
from verifygate.execution.scrub import Scrubber
from verifygate.model import Finding, Status
from verifygate.process.subject import Subject
from verifygate.sources.discovery import read_sources

RECORDED_WINDOWS = 24
"""The recorder watches an entry for so many updates, or to its end."""


@dataclass
class Witnessed:
    """What was seen of one copy."""

    answers: dict[str, tuple[Status, str]] = field(default_factory=dict)
    """`entry 1 oracle-inf-injection` -> status, and what was found."""
    findings: tuple[Finding, ...] = ()
    """The recorder's."""
    weights: tuple[str, ...] = ()
    """Digests of the weights after each step of the unchanged entries."""

    def worse_than(self, other: Witnessed) -> list[str]:
        """The answers that are worse here, in words."""
        return [
            f"{name}: {status.value}, {text}"
            for name, (status, text) in self.answers.items()
            if status is not Status.PASS
            and ORDER.index(status) < ORDER.index(other.answers.get(name, (Status.NOT_APPLICABLE, ""))[0])
        ]


def ask_oracles(subject: Subject, settings: OraclesSettings, roots: Sequence[Path], folder: Path) -> list[Witnessed]:
    """The oracles' answers on every copy. Raises EntryError, OSError."""
    entries = [entries_of(settings, root) for root in roots]
    examine(subject, settings, [one for each in entries for one in each], folder, edges=False)
    found = []
    for root, own in zip(roots, entries, strict=True):
        scrubber = Scrubber(root, folder)
        answers = {
            f"entry {number} {name}": (answer.status, scrubber.text(answer.actual))
            for number, entry in enumerate(own, start=1)
            for name, answer in entry.answers.items()
        }
        weights = tuple(step["weights"] for entry in own for step in entry.seen.steps)
        found.append(Witnessed(answers, weights=weights))
    return found


def ask_recorder(
    subject: Subject, settings: OraclesSettings, sources: Sequence[str], roots: Sequence[Path], folder: Path
) -> list[tuple[Finding, ...]]:
    """What the recorder finds in every copy, in one run of each entry. Raises EntryError, OSError."""
    watch = ("oracle", {"windows": RECORDED_WINDOWS})
    jobs = [
        Job(
            entry.command,
            root,
            (*around(entry), ("recorder", {"sample": False, "emulated": entry.emulate}), watch),
            settings.seconds,
        )
        for root in roots
        for entry in entries_of(settings, root)
    ]
    folder.mkdir(parents=True)
    seen = iter(run_jobs(subject, jobs, folder))
    return [_recorded([next(seen) for _ in settings.commands], root, sources, folder) for root in roots]


def _recorded(runs: Sequence[Seen], root: Path, sources: Sequence[str], folder: Path) -> tuple[Finding, ...]:
    ownership = Ownership(read_sources(root, sources), Scrubber(root, folder).inside)
    found: dict[str, Finding] = {}
    for run in runs:
        trace = read_trace(run.folder / "trace")
        judge = OrderJudge(trace)
        whole = run.error is None and run.first("ended") is not None
        for section in trace.sections:
            hits = [("", hit) for hit in (*judge.judge(section), *violations_of_the_run(section, trace, whole=whole))]
            found |= {finding.fingerprint: finding for finding in findings(hits, ownership)}
    return tuple(sorted(found.values(), key=lambda finding: finding.order))
