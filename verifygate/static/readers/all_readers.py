"""The rules that can be read off the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from verifygate.static.machine.programs import Run
from verifygate.static.readers import (
    half_round_trip,
    low_precision_accumulator,
    low_precision_weights,
    rounded_positions,
)
from verifygate.static.readers.judgement import Violated, merged

READERS: dict[str, Callable[[Iterable[Run]], Iterator[Violated]]] = {
    "AMP701": low_precision_weights.violations,
    "AMP702": low_precision_accumulator.violations,
    "AMP703": rounded_positions.violations,
    "AMP707": half_round_trip.violations,
}
"""Code -> the reader. The rules themselves are in `rules/amp7_low_precision`."""


def violations(runs: tuple[Run, ...]) -> list[Violated]:
    """What these runs violate, one of each rule and place, in order."""
    return merged(each for reader in READERS.values() for each in reader(runs))
