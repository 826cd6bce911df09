"""The precision contract of a project: who drives mixed precision, and which dtype each part is declared to have."""

from __future__ import annotations

from enum import StrEnum

from verifygate.base.records import record
from verifygate.model.source_facts import NotFollowed

NO_RUN = "no run"
DERIVED = "derived"
"""Who says what follows from another row, or from what torch does where nothing is said."""


class Aspect(StrEnum):
    """A part of training that has a precision, or the one who decides it."""

    DRIVER = "driver"
    """Who enters autocast and scales the loss."""
    LOSS_SCALE = "loss scale"
    WEIGHTS = "weights"
    COMPUTE = "compute"
    """Matrix products and convolutions of forward and backward."""
    GRADIENTS = "gradients"
    REDUCTION = "reduction"
    """Of gradients over processes."""
    ACCUMULATION = "accumulation"
    OPTIMIZER_STATE = "optimizer state"
    LOSS = "loss"
    CHECKPOINT = "checkpoint"
    EVALUATION = "evaluation"
    EXPORT = "export"
    MASTER_COPY = "master copy"
    """Of the trained weights, as this and what follows are known of a configuration that is a program of its own."""
    ADAPTERS = "adapters"
    TF32 = "tf32"
    ROLLOUT = "rollout"
    """Of the engine, or of the model, that samples what reinforcement learning trains on."""


OF_CONFIGURATION = (
    Aspect.DRIVER,
    Aspect.WEIGHTS,
    Aspect.COMPUTE,
    Aspect.TF32,
    Aspect.MASTER_COPY,
    Aspect.GRADIENTS,
    Aspect.ACCUMULATION,
    Aspect.REDUCTION,
    Aspect.OPTIMIZER_STATE,
    Aspect.ADAPTERS,
    Aspect.LOSS_SCALE,
    Aspect.EVALUATION,
    Aspect.ROLLOUT,
    Aspect.EXPORT,
)
"""The rows of a configuration that is a program of its own, in order."""
OF_CODE = tuple(
    each for each in Aspect if each not in (Aspect.MASTER_COPY, Aspect.ADAPTERS, Aspect.TF32, Aspect.ROLLOUT)
)
"""The rows of programs."""


@record(kw_only=True, guarded=True)
class Declaration:
    """What one line says of an aspect."""

    __pydantic_config__ = {"extra": "forbid"}

    value: str
    path: str
    line: int
    said_by: str = "code"
    """`code`, `configuration`, or `derived` (from another row, or from what torch does where nothing is said)."""
    note: str = ""
    """What says it, or which code names the configuration."""
    condition: str = ""
    """Where it holds, if not in every run: under a condition of the source, on one path, by default."""
    judged_by: str = ""
    """Of a driver: `rules`, `configuration rules`; empty where nothing of it is judged."""


@record(kw_only=True, guarded=True)
class AskedPrecision:
    """What a specification asks for in a row, and what became of it."""

    __pydantic_config__ = {"extra": "forbid"}

    aspect: Aspect
    value: str
    """A word, or several: `float16 or bfloat16`."""
    path: str
    line: int
    standing: str
    """`agreed`, `agreed in part`, `contradicted`, `not shown`."""


@record(kw_only=True, guarded=True)
class ContractRow:
    """One aspect: what is declared, what a run showed, what could not be followed."""

    __pydantic_config__ = {"extra": "forbid"}

    aspect: Aspect
    standing: str
    """`declared`, `declared in part`, or `not followed`, also where nothing says it: never a guess."""
    declared: tuple[Declaration, ...] = ()
    seen: str = NO_RUN
    """What the recorded run showed: `no run` without one, `not recorded` where the recorder does not look."""
    not_followed: tuple[NotFollowed, ...] = ()
    asked: AskedPrecision | None = None
    """What the specification asks for, where it does."""


@record(kw_only=True, guarded=True)
class PrecisionContract:
    """All aspects, in order; no rows where no training of torch is in sight."""

    __pydantic_config__ = {"extra": "forbid"}

    rows: tuple[ContractRow, ...] = ()

    @property
    def not_judged(self) -> tuple[NotFollowed, ...]:
        """Where a driver is that no rule judges, or not all of it."""
        row = self.row(Aspect.DRIVER)
        return row.not_followed if row is not None else ()

    def row(self, aspect: Aspect) -> ContractRow | None:
        return next((row for row in self.rows if row.aspect is aspect), None)


def altered(before: PrecisionContract, after: PrecisionContract) -> tuple[str, ...]:
    """The aspects whose declared values differ: `reduction: float32 -> bfloat16, config.yaml:14`.

    What is derived follows from what differs, and is not told again.
    """
    lines = []
    for aspect in Aspect:
        old, new = _values(before, aspect), _values(after, aspect)
        if old.keys() == new.keys():
            continue
        first = next((each for value, each in new.items() if value not in old), None)
        gone = next((each for value, each in old.items() if value not in new), None)
        place = first or gone
        where = f", {place.path}:{place.line}" if place is not None else ""
        lines.append(f"{aspect.value}: {_listed(old)} -> {_listed(new)}{where}{'' if first else ' before'}")
    return tuple(lines)


def _values(contract: PrecisionContract, aspect: Aspect) -> dict[str, Declaration]:
    row = contract.row(aspect)
    said = [each for each in row.declared if each.said_by != DERIVED] if row is not None else []
    return {each.value: each for each in reversed(said)}


def _listed(values: dict[str, Declaration]) -> str:
    return " and ".join(sorted(values)) or "nothing declared"
