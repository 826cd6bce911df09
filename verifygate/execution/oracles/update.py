"""The oracle of updates: what has a gradient moves in the first steps, what is frozen does not.

It reads the unchanged run. A parameter that a step restores bit for bit is a failure: something overwrites it. Others
that stand still are told with the reason, and make the answer partial: some loops mean it so.
"""

from __future__ import annotations

from verifygate.execution.oracles.answers import Answer, Fact
from verifygate.execution.oracles.runs import Seen
from verifygate.execution.parameter_movement import STILL, movements
from verifygate.model import Status
from verifygate.model.health import Movement, ParameterMovement

SHOWN = 5
REMEDIES = {
    Movement.OVERWRITTEN: "find what writes the old weights back after the step",
    Movement.ROUNDED: "keep the weights in float32 and let autocast cast them",
    Movement.NOT_OPTIMIZED: "give them to the optimizer, or set requires_grad to False",
    Movement.SKIPPED: "let the entry run until the loss scale has fallen to where steps are taken",
    Movement.STUCK: "look at the size of their gradients and at the learning rate",
}


def judge(seen: Seen) -> Answer | None:
    """The answer of one entry; None where nothing was told."""
    found = movements(seen.events)
    if not found:
        return None
    still = [each for each in found if each.movement in STILL]
    kinds = [kind for kind in REMEDIES if any(each.movement is kind for each in still)]
    facts = tuple(
        Fact(_told(kind, found))
        for kind in (*kinds, Movement.NO_GRADIENT, Movement.FROZEN_MOVED)
        if _named(kind, found)
    )
    if not still:
        moved = sum(each.movement is Movement.MOVED for each in found)
        if not moved:
            text = "no parameter was seen with a gradient and a step"
            return Answer(Status.NOT_MEASURED, text, (Fact(text), *facts), (), "let the entry make some steps")
        text = f"{moved} of {len(found)} parameters moved; none with a gradient stands still"
        return Answer(Status.PASS, text, (Fact(text), *facts))
    if Movement.SKIPPED in kinds:
        status = Status.NOT_MEASURED
    else:
        status = Status.FAIL if Movement.OVERWRITTEN in kinds else Status.PARTIAL
    text = "; ".join(_told(kind, found) for kind in kinds)
    return Answer(status, text, facts, (), "; ".join(REMEDIES[kind] for kind in kinds))


def _named(kind: Movement, found: tuple[ParameterMovement, ...]) -> list[ParameterMovement]:
    return [each for each in found if each.movement is kind]


def _told(kind: Movement, found: tuple[ParameterMovement, ...]) -> str:
    """`rounded away: 2 parameters (up.weight, 94% of its elements unmoved; ...)`."""
    named = _named(kind, found)
    words = [
        each.name + (f", {each.unmoved:.0%} of its elements unmoved" if kind is Movement.ROUNDED else "")
        for each in named[:SHOWN]
    ]
    more = f"; and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    number = "1 parameter" if len(named) == 1 else f"{len(named)} parameters"
    return f"{kind}: {number} ({'; '.join(words)}{more})"
