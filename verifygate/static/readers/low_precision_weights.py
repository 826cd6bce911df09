"""AMP701 off the machine: an Adam with small steps steps bfloat16 parameters, and nothing keeps float32 ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from verifygate.events.record import Kind
from verifygate.model import Severity
from verifygate.static.machine.core import Emitted
from verifygate.static.machine.observations import Optimized
from verifygate.static.machine.programs import Run
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
_PACKAGES = ("torch.optim.", "bitsandbytes.optim.")
_BFLOAT16 = frozenset({"bfloat16"})


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
            for event in steps.get(of, [first]):
                found = _violation(event, is_stepped=of in steps)
                if found is not None:
                    yield found


def _violation(emitted: Emitted, *, is_stepped: bool) -> Violated | None:
    seen = emitted.seen
    assert isinstance(seen, Optimized)  # noqa: S101 - it was picked by that
    name = seen.name.rpartition(".")[2]
    rates = [each.value for each in seen.rates] or [DEFAULT_RATES.get(name)]
    known = [each for each in rates if each is not None]
    if seen.is_own or not seen.name.startswith(_PACKAGES) or name not in DEFAULT_RATES or seen.place is None:
        return None
    if known and min(known) > SMALL:
        return None
    half = [part for part in by_part(seen.weights) if part.having(_BFLOAT16)]
    trained = [part for part in half if all(each.is_trained for each in part.states)]
    if not trained:
        return None
    surest = min(trained, key=lambda part: (len(part.states), sorted(map(str, part.states[0].decisions))))
    states = surest.having(_BFLOAT16)
    fully = len(states) == len(surest.states)
    verdict = judged(emitted, (each.decisions for each in states), all_states=fully, evidence=seen.evidence)
    verdict = _by_rate(verdict, seen, rates) if verdict.certain else verdict
    if not is_stepped and verdict.certain:
        verdict = Judged(False, "no step of the optimizer is seen")
    rate = max(known) if known else 0.0
    told = f"by about {rate:g}" if known else "by about the learning rate"
    place = states[0].place or seen.place
    return Violated(
        "AMP701",
        seen.place,
        f"`{name}` steps bfloat16 weights {told}, and nothing keeps what rounding takes away: "
        "steps below half the distance to the next number are lost",
        verdict.certain,
        Severity.HIGH if rate <= TINY else Severity.MEDIUM,
        verdict.assumes,
        ((place, "the weights are made bfloat16"), (seen.place, "the optimizer")),
    )


def _by_rate(verdict: Judged, seen: Optimized, rates: list[float | None]) -> Judged:
    if None in rates:
        return Judged(False, "the learning rate is not known")
    if any(each is not None and each > TINY for each in rates):
        return Judged(False, "of steps of this length large weights alone are sure to be lost")
    if seen.changed:
        return Judged(False, seen.changed)
    return verdict
