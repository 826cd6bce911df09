"""What is in force on the day of a run: the baseline file, advisory mode; and what nobody knows of a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from verifygate.baseline_file import Entry, read
from verifygate.change.ci_event import Event
from verifygate.config.settings import Settings
from verifygate.gate.baseline_upkeep import stale_among
from verifygate.model import Advisory, BaselineUse, Outcome, Reason, StageResult


def baseline_of(settings: Settings) -> tuple[Entry, ...]:
    """The entries of the baseline file in force. Raises UsageError where it is configured and cannot be read."""
    file = settings.verdict.baseline
    return read(settings.policy_folder / file, file) if file else ()


def use_of(
    agreed: Sequence[Entry], standing: Mapping[str, Entry], stages: Sequence[StageResult], settings: Settings
) -> BaselineUse | None:
    """What a run found of the entries, of which `standing` says where; None where no file is configured."""
    if not settings.verdict.baseline:
        return None
    found = frozenset(entry.fingerprint for entry in standing.values())
    done = frozenset(stage.stage for stage in stages if stage.outcome is Outcome.COMPLETED)
    return BaselineUse(
        file=settings.verdict.baseline,
        entries=len(agreed),
        held=tuple(sorted(standing)),
        stale=tuple(entry.words for entry in stale_among(agreed, found, done)),
    )


def advisory_of(settings: Settings) -> Advisory | None:
    """Advisory mode as of today; None where none is configured."""
    until = settings.verdict.advisory_until
    return Advisory(until=until, in_force=settings.today <= until) if until else None


def unknown_change(event: Event | None) -> tuple[Reason, ...]:
    """A reason where the CI event does not tell what changed: nobody may take a verdict for one on the change."""
    if event is None or not event.problem:
        return ()
    text = f"NOT MEASURED: what this change brings ({event.words})"
    return (Reason(condition="not-measured", stage="gate", text=text, action=event.remedy),)
