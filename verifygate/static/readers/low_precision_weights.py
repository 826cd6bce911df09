"""AMP701 off the machine: an Adam with small steps steps bfloat16 parameters, and nothing keeps float32 ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from verifygate.events.record import Kind
from verifygate.model import Severity
from verifygate.static.machine.observations import Optimized
from verifygate.static.machine.programs import Run
from verifygate.static.machine.trace import Emitted
from verifygate.static.machine.values import Address
from verifygate.static.readers.judgement import Judged, Violated, by_part, judged

DEFAULT_RATES = {
    **dict.fromkeys(("Adam", "AdamW", "RAdam"), 1e-3),
    "NAdam": 2e-3,
    "Adamax": 2e-3,
    "RMSprop": 1e-2,
    **dict.fromkeys(("Adam8bit", "AdamW8bit", "PagedAdamW8bit", "PagedAdamW", "PagedAdamW32bit", "AdamW32bit"), 1e-3),
}
"""Optimizers whose step is about as long as the learning rate -> the rate that they have by default."""
SMALL = 1e-3
"""A step of this length is lost by weights above 0.5: by some, and by the state."""
TINY = 1e-4
"""One of this length is lost by weights above 0.06: by most."""
_PACKAGES = ("torch.optim.", "bitsandbytes.")
_LARGEST = {"bfloat16": 1.0, "float16": 1 / 8}
"""How long steps of a dtype may be, beside those of bfloat16: float16 has three bits more."""


def violations(runs: Iterable[Run]) -> Iterator[Violated]:
    """Each optimizer of which a step sees such parameters, or that no step is seen of."""
    for run in runs:
        made: dict[Address, Emitted] = {}
        steps: dict[Address, list[Emitted]] = {}
        for each in run.events:
            if isinstance(each.seen, Optimized):
                if each.event.kind is Kind.STEP:
                    steps.setdefault(each.seen.optimizer, []).append(each)
                else:
                    made.setdefault(each.seen.optimizer, each)
        for of, first in made.items():
            if of not in steps and run.handed_on.get(of):
                continue  # a library steps it, and may keep float32 copies
            seen = steps.get(of, [first])
            if all(_is_small(each) for each in seen):
                found = (_violation(each, dtype, is_stepped=of in steps) for each in seen for dtype in _LARGEST)
                yield from (each for each in found if each is not None)


def _rates(seen: Optimized) -> list[float | None]:
    return [each.value for each in seen.rates] or [DEFAULT_RATES.get(seen.name.rpartition(".")[2])]


def _is_small(emitted: Emitted) -> bool:
    """Whether a step is of an optimizer that is judged, and not longer than what is lost."""
    seen = emitted.seen
    assert isinstance(seen, Optimized)  # noqa: S101 - it was picked by that
    known = [each for each in _rates(seen) if each is not None]
    is_judged = seen.name.startswith(_PACKAGES) and seen.name.rpartition(".")[2] in DEFAULT_RATES
    return is_judged and not (seen.is_own or seen.is_sharded) and not (known and not 0 < min(known) <= SMALL)


def _violation(emitted: Emitted, dtype: str, *, is_stepped: bool) -> Violated | None:
    seen = emitted.seen
    assert isinstance(seen, Optimized)  # noqa: S101 - it was picked by that
    if seen.place is None or (dtype == "float16" and seen.is_scaled):
        return None
    rates = _rates(seen)
    rate = max((each for each in rates if each is not None), default=0.0)
    if rate > SMALL * _LARGEST[dtype]:
        return None
    of_dtype = frozenset({dtype})
    trained = [
        part for part in by_part(seen.weights) if part.having(of_dtype) and all(each.is_trained for each in part.states)
    ]
    if not trained:
        return None
    surest = min(trained, key=lambda part: (len(part.states), sorted(map(str, part.states[0].decisions))))
    states = surest.having(of_dtype)
    fully = len(states) == len(surest.states)
    verdict = judged(emitted, (each.decisions for each in states), all_states=fully, evidence=seen.evidence)
    verdict = _by_rate(verdict, seen, rates, TINY * _LARGEST[dtype]) if verdict.certain else verdict
    if not is_stepped and verdict.certain:
        verdict = Judged(False, "no step of the optimizer is seen")
    name = seen.name.rpartition(".")[2]
    length = f"by about {rate:g}" if rate else "by about the learning rate"
    place = states[0].place or seen.place
    return Violated(
        "AMP701",
        seen.place,
        f"`{name}` steps {dtype} weights {length}, and nothing keeps what rounding takes away: "
        "steps below half the distance to the next number are lost",
        verdict.certain,
        Severity.HIGH if rate <= TINY * _LARGEST[dtype] else Severity.MEDIUM,
        verdict.assumes,
        ((place, f"the weights are made {dtype}"), (seen.place, "the optimizer")),
    )


def _by_rate(verdict: Judged, seen: Optimized, rates: list[float | None], tiny: float) -> Judged:
    if None in rates:
        return Judged(False, "the learning rate is not known")
    if any(each is not None and each > tiny for each in rates):
        return Judged(False, "of steps of this length large weights alone are sure to be lost")
    return Judged(False, seen.changed) if seen.changed else verdict
