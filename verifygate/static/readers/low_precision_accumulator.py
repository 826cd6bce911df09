"""AMP702 off the machine: what is added to again and again, in half: a number, or an average of weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from verifygate.model import Severity
from verifygate.static.machine.observations import Accumulated
from verifygate.static.machine.programs import Run
from verifygate.static.machine.trace import Emitted
from verifygate.static.machine.values import Part, Place
from verifygate.static.readers.judgement import Violated, judged

STILL = {"bfloat16": 2.0**-8, "float16": 2.0**-11}
"""Where an average takes less than this of each new weight, it stands still."""
_COUNTS_TO = {"bfloat16": "256", "float16": "2048"}
_NEAR = 1e-6


def violations(runs: Iterable[Run]) -> Iterator[Violated]:
    """Sums and counts, and moving averages of weights."""
    for run in runs:
        kept: dict[frozenset[Part], float | None] = {}
        for each in run.events:
            seen = each.seen
            if not isinstance(seen, Accumulated) or not seen.dtypes or not seen.dtypes <= STILL.keys():
                continue
            if seen.operation == "mul_":
                kept[seen.parts] = seen.factor
            elif seen.parts:
                share = seen.factor if seen.operation == "lerp_" else _share(seen.factor, kept.get(seen.parts))
                if share is not None and 0 < min(share, 1 - share) < min(STILL[dtype] for dtype in seen.dtypes):
                    yield _average(each, seen)
            elif seen.operation == "add_" and seen.is_one_number and seen.is_older:
                yield _sum(each, seen)


def _share(added: float | None, kept: float | None) -> float | None:
    """How much an average takes of what is new; None where what is kept of the old does not add up to one with it."""
    if added is None or kept is None or abs(added + kept - 1) > _NEAR:
        return None
    return added


def _average(emitted: Emitted, seen: Accumulated) -> Violated:
    dtype = min(seen.dtypes)
    message = (
        f"an average of weights is kept in {dtype}, and stands still: "
        "what it takes of the new ones is smaller than half the distance to the next number"
    )
    return _violated(emitted, seen, message, "the average is made half")


def _sum(emitted: Emitted, seen: Accumulated) -> Violated:
    dtype = min(seen.dtypes)
    message = f"it is added to in {dtype}: a count stops at {_COUNTS_TO[dtype]}, and a sum where its terms are small"
    return _violated(emitted, seen, message, "made in half precision")


def _violated(emitted: Emitted, seen: Accumulated, message: str, made: str) -> Violated:
    here = Place(emitted.event.file, emitted.event.line)
    verdict = judged(emitted, (), all_states=True)
    steps = [(seen.made, made)] if seen.made is not None else []
    return Violated(
        "AMP702",
        here,
        message,
        verdict.certain,
        Severity.MEDIUM,
        verdict.assumes,
        (*steps, (here, "it is added to")),
    )
