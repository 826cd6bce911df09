"""Keep a baseline file: write what stands now, take out what is gone, and say which entries are stale.

What the source shows is found by the static rules, here and now. What only a run shows is known from a report; without
one, entries of that kind stay as they are, and are counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from verifygate.baseline_file import DEFAULT, Entry, entries_of, held, read
from verifygate.config.settings import Settings
from verifygate.model import Outcome, Report
from verifygate.sources.discovery import read_sources


class Upkeep(NamedTuple):
    """A baseline file beside what stands now."""

    file: str
    """Relative to the root."""
    before: tuple[Entry, ...]
    now: tuple[Entry, ...]
    """What stands, as far as it was looked for."""
    unknown: frozenset[str]
    """Fingerprints of entries that could not be looked for."""
    root: Path

    @property
    def _present(self) -> dict[Entry, Entry]:
        """Entry of before -> the one that it is now: another one where its file was renamed."""
        held_now = held(self.before, self.now, lambda path: (self.root / path).exists())
        found = {entry: each for each in self.now if (entry := held_now.get(each.fingerprint)) is not None}
        return found | {each: each for each in self.before if each.fingerprint in self.unknown}

    @property
    def stale(self) -> tuple[Entry, ...]:
        """Entries of findings that are gone."""
        present = self._present
        return tuple(each for each in self.before if each not in present)

    @property
    def pruned(self) -> tuple[Entry, ...]:
        """What is left of the entries, under the paths of today."""
        present = self._present
        return tuple(sorted(present[each] for each in self.before if each in present))

    @property
    def written(self) -> tuple[Entry, ...]:
        """All that stands, and what could not be looked for."""
        kept = {each.fingerprint: each for each in self.before if each.fingerprint in self.unknown}
        return tuple(sorted((kept | {each.fingerprint: each for each in self.now}).values()))


def looked_up(settings: Settings, report: Report | None) -> Upkeep:
    """What the configured baseline file holds, beside what stands. `report` is of a run of this tree, where there is
    one. Raises UsageError where the file, the sources or the configuration cannot be used.
    """
    file = settings.verdict.baseline or DEFAULT
    path = settings.root / file
    before = read(path, file) if path.exists() else ()
    if report is not None:
        known = {each.fingerprint: each for each in before}
        found = entries_of(finding for stage in report.stages for finding in stage.findings)
        # A report names the function of the first location of a cause alone; an earlier entry knows the others'.
        now = tuple(each if each.function else known.get(each.fingerprint, each) for each in found)
        done = {stage.stage for stage in report.stages if stage.outcome is Outcome.COMPLETED}
        unknown = (each.fingerprint for each in before if each.stage not in done)
        return Upkeep(file, before, now, frozenset(unknown), settings.root)
    now, unread = _found(settings)
    unknown = (each.fingerprint for each in before if each.stage != "static" or each.path in unread)
    return Upkeep(file, before, now, frozenset(unknown), settings.root)


def stale_among(before: Iterable[Entry], standing: frozenset[str], done: frozenset[str]) -> tuple[Entry, ...]:
    """Entries of which a run showed nothing, of the stages that completed."""
    gone = (each for each in before if each.fingerprint not in standing)
    return tuple(each for each in gone if each.stage in done)


def _found(settings: Settings) -> tuple[tuple[Entry, ...], frozenset[str]]:
    """What the static rules find, and the files that could not be analysed."""
    from verifygate.static.engine import Means, analyse
    from verifygate.static.registry import check_rules

    check_rules(settings)
    sources = read_sources(settings.root, settings.sources, settings.exclusion)
    selection = settings.gate_selection(sources.paths)
    outcome = analyse(sources, selection, with_constructs=False, merged=False, means=Means(jobs=0))
    return entries_of(outcome.findings), frozenset(each.path for each in outcome.not_analysed)


def write(path: Path, text: str) -> None:
    """Write the file whole, or not at all. Raises OSError."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(text, encoding="utf-8", newline="\n")
    fresh.replace(path)
