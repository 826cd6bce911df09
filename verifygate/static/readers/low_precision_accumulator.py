"""AMP702 off the machine: what is added to again and again, in half: a number, or an average of weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from verifygate.model import Severity
from verifygate.static.machine.observations import Accumulated
from verifygate.static.machine.programs import Run
from verifygate.static.machine.trace import Emitted
from verifygate.static.machine.values import Part, Place
from verifygate.static.readers.judgement import Violated, judged

ROUNDED = {"bfloat16": 2.0**-8, "float16": 2.0**-11}
"""Half the distance to the next number, as a share of a number. Less than that, added to it, is lost."""
FAR = 0.1
"""An average that ends this far from the weights, as a share of them, is none of them."""
_COUNTS_TO = {"bfloat16": "256", "float16": "2048"}
_NEAR = 1e-6


def violations(runs: Iterable[Run]) -> Iterator[Violated]:
    """Sums and counts, and moving averages of weights."""
    for run in runs:
        kept: dict[frozenset[Part], float | None] = {}
        for each in run.events:
            seen = each.seen
            if not isinstance(seen, Accumulated) or not seen.dtypes or not seen.dtypes <= ROUNDED.keys():
                continue
            if seen.operation == "mul_":
                kept[seen.parts] = seen.factor
            elif seen.parts:
                share = seen.factor if seen.operation == "lerp_" else _share(seen.factor, kept.get(seen.parts))
                taken = 0.0 if share is None else min(share, 1 - share)
                if taken > 0 and (far := min(ROUNDED[dtype] for dtype in seen.dtypes) / taken) >= FAR:
                    yield _average(each, seen, far)
            elif seen.operation == "add_" and seen.is_one_number and seen.is_older:
                yield _sum(each, seen)


def _share(added: float | None, kept: float | None) -> float | None:
    """How much an average takes of what is new; None where what is kept of the old does not add up to one with it."""
    if added is None or kept is None or abs(added + kept - 1) > _NEAR:
        return None
    return added


def _average(emitted: Emitted, seen: Accumulated, far: float) -> Violated:
    """`far` is the greatest distance from the weights at which the average no longer moves, as a share of them."""
    where = "and stands still" if far > 2.0 else f"which stops up to {far:.0%} of their size away from them"
    message = (
        f"an average of weights is kept in {min(seen.dtypes)}, {where}: "
        "what it takes of the new ones is smaller than half the distance to the next number"
    )
    return _violated(emitted, seen, message, "the average is made half", certain=far > 1.0)


def _sum(emitted: Emitted, seen: Accumulated) -> Violated:
    dtype = min(seen.dtypes)
    message = f"it is added to in {dtype}: a count stops at {_COUNTS_TO[dtype]}, and a sum where its terms are small"
    return _violated(emitted, seen, message, "made in half precision")


def _violated(emitted: Emitted, seen: Accumulated, message: str, made: str, *, certain: bool = True) -> Violated:
    here = Place(emitted.event.file, emitted.event.line)
    verdict = judged(emitted, (), all_states=True)
    steps = [(seen.made, made)] if seen.made is not None else []
    return Violated(
        "AMP702",
        here,
        message,
        certain and verdict.certain,
        Severity.MEDIUM,
        verdict.assumes,
        (*steps, (here, "it is added to")),
    )
