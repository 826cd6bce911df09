"""Say what a watched step showed that neither its loss nor its gradients do, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from verifygate.execution.recorded_trace import Trace
from verifygate.model.numerics import LARGEST, Doubt, Doubtful


@dataclass(frozen=True)
class _Words:
    happened: str
    """`{name}`: the module or statistics; `{figure}`, `{dtype}` and `{operator}` are those of the finding."""
    remedy: str
    lasts: int = 0
    """Steps in which it has to be seen before the run is called unstable; 0: it is told, and no more."""


_IN_FLOAT32 = "compute log-probabilities in float32, `log_softmax(logits.float(), -1)`"
_WORDS = {
    Doubt.STATISTICS_OVERFLOW: _Words(
        "`{name}` becomes inf: it would be {figure:.4g}, and {dtype} holds {largest:.6g}; an evaluation divides by it",
        "keep batch norms in float32: `.float()` on each of them after the cast of the model",
        lasts=1,
    ),
    Doubt.STATISTICS_STUCK: _Words(
        "`{name}` in {dtype} stays away from the batch: rounding took the updates of {figure:.0%} of the channels",
        "keep batch norms in float32: `.float()` on each of them after the cast of the model",
        lasts=1,
    ),
    Doubt.RATIO_OF_ROUNDED: _Words(
        "`{operator}` of a difference of log-probabilities in {dtype}: two neighbours are {figure:.2g} apart, and most "
        "differ by one or none",
        _IN_FLOAT32,
        lasts=2,
    ),
    Doubt.RATIO_OF_TWO_PRECISIONS: _Words(
        "`{operator}` of a difference of log-probabilities of which one side alone, or its logits, was rounded to "
        "{dtype}, {figure:.2g} apart: the ratio shows the rounding",
        f"{_IN_FLOAT32}, of both; compute the rollout and the training under the same autocast",
    ),
    Doubt.PAST_THE_WRAPPER: _Words(
        "`{operator}` calls a {name} outside of every region: only the wrapped `forward` enters one, in {dtype}; this "
        "computed in float32",
        "call the model itself, or open the region around this call: `accelerator.autocast()`",
    ),
}


def doubtful(rows: Sequence[dict[str, Any]], trace: Trace, shown: Callable[[str], str | None]) -> tuple[Doubtful, ...]:
    """What was told, that of one kind and line together."""
    found: dict[tuple[str, ...], Doubtful] = {}
    for row in rows:
        frame = next(iter(trace.where(row["at"])), None)
        path = shown(frame.path) if frame is not None else None
        line = frame.line if frame is not None and path else 0
        key = (str(row["kind"]), path or "", str(line), str(row.get("module", "")))
        steps = found[key].steps if key in found else ()
        found[key] = Doubtful(
            kind=Doubt(row["kind"]),
            steps=tuple(dict.fromkeys((*steps, int(row["number"])))),
            path=path or "",
            line=line,
            operator=str(row["operator"]),
            module=str(row.get("module", "")),
            dtype=str(row["dtype"]),
            figure=float(row["figure"]),
        )
    return tuple(found.values())


def lasting(found: Sequence[Doubtful]) -> Doubtful | None:
    """The first that the numbers of the run do not survive; None where there is none."""
    return next((each for each in found if 0 < _WORDS[each.kind].lasts <= len(each.steps)), None)


def in_one_line(found: Doubtful) -> str:
    """Place, and what happened."""
    largest = LARGEST.get(found.dtype, 0.0)
    words = _WORDS[found.kind].happened.format(
        name=found.module, figure=found.figure, dtype=found.dtype, operator=found.operator, largest=largest
    )
    return f"{found.path}:{found.line}: {words}" if found.line else words


def lines(found: Doubtful) -> Iterator[str]:
    """The same as text for a terminal, with the remedy."""
    yield f"in step {', '.join(map(str, found.steps))}: {in_one_line(found)}"
    yield f"    remedy: {_WORDS[found.kind].remedy}"
