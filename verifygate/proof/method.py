"""The ways to show harm: which runs each needs, what it reads from them, and when that counts as proof."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

Seen = Mapping[str, Any]
"""What the harness recorded of one run."""


class Setting(NamedTuple):
    """How one run is set up."""

    scale: float = 2.0**10
    """The scaler's initial scale: small enough for float16 gradients of the tiny model."""
    bfloat16: bool = False
    """Whether autocast takes bfloat16 where float16 is asked for."""
    inf_at: int = 0
    """The backward that gets an inf into one gradient; 0 for none."""
    one_batch: bool = False
    """Whether every batch is the same one."""
    loss_factor: float = 1.0
    """What the loss is multiplied with: a small one gives gradients that float16 cannot hold."""
    target_factor: float = 1.0
    """What the targets are multiplied with: with small ones, right code keeps even a large scale."""
    raw_inputs: bool = False
    """Whether the inputs come in raw units, beyond what float16 holds, to a model that normalises them first."""
    cuda_ban: bool = False
    """Whether autocast on the CPU refuses `binary_cross_entropy`, as autocast on CUDA does."""
    ranks: int = 1
    """The processes that train together, each with its share of the rows; an inf is one rank's."""
    counted: bool = False
    """Whether operations, reads on the host and loaded items are counted."""
    queued: bool = False
    """Whether the tensors lie on an emulated device that works through a queue while the host goes on."""


@dataclass(frozen=True)
class Judgement:
    """What the runs show: rows of label, bad example, good example; and whether the harm is in them."""

    rows: tuple[tuple[str, str, str], ...]
    proved: bool


Judge = Callable[[Sequence[Seen], Sequence[Seen]], Judgement]


@dataclass(frozen=True)
class Method:
    """One way to show harm. Both examples run once under each setting."""

    text: str
    """What is compared, in one sentence."""
    settings: tuple[Setting, ...]
    judge: Judge


def _scale_invariance(bad: Sequence[Seen], good: Sequence[Seen]) -> Judgement:
    moved, same = _distance(*bad), _distance(*good)
    row = ("largest weight difference", _number(moved), _number(same))
    return Judgement((row,), moved > 0 and same == 0)


def _told_invariance(bad: Sequence[Seen], good: Sequence[Seen]) -> Judgement:
    def said(runs: Sequence[Seen]) -> str:
        small, large = (_short(run["told"]) for run in runs)
        return f"{small} | {large}" if small != large else f"{small or 'nothing'}, both times"

    differs = bad[0]["told"] != bad[1]["told"]
    return Judgement((("told at small | large scale", said(bad), said(good)),), differs and _same(good, "told"))


def _told_of_the_same(bad: Sequence[Seen], good: Sequence[Seen]) -> Judgement:
    distance = _distance(bad[0], good[0])
    rows = (
        ("told", _short(bad[0]["told"]), _short(good[0]["told"])),
        ("largest weight difference", _number(distance), "0 (the measure)"),
    )
    return Judgement(rows, distance == 0 and bad[0]["told"] != good[0]["told"])


def _inf_injection(bad: Sequence[Seen], good: Sequence[Seen]) -> Judgement:
    def finite(run: Seen) -> str:
        return "finite" if run["finite"] else "inf or NaN"

    rows = (
        ("weights after an inf gradient", finite(bad[0]), finite(good[0])),
        ("scale at the end", _last(bad[0]["scales"]), _last(good[0]["scales"])),
    )
    broken = not bad[0]["finite"] or not _backed_off(bad[0])
    return Judgement(rows, broken and bool(good[0]["finite"]) and _backed_off(good[0]))


def _backed_off(run: Seen) -> bool:
    return INJECTED.scale / 2 in run["scales"]


def _raised_error(bad: Sequence[Seen], good: Sequence[Seen]) -> Judgement:
    return Judgement((("raised", _error(bad[0]), _error(good[0])),), bad[0]["error"] is not None)


def _update_norm(bad: Sequence[Seen], good: Sequence[Seen]) -> Judgement:
    before, after = (max(run[0]["updates"], default=0.0) for run in (bad, good))
    made = [len(run[0]["updates"]) for run in (bad, good)]
    rows = (
        ("longest update / learning rate", _number(before), _number(after)),
        ("steps made", str(made[0]), str(made[1])),
    )
    return Judgement(rows, made[0] != made[1] or not math.isclose(before, after, rel_tol=0.01))


def _gradient_flush(bad: Sequence[Seen], good: Sequence[Seen]) -> Judgement:
    before, after = (max(run[0]["updates"], default=0.0) for run in (bad, good))
    rows = (("longest update / learning rate", _number(before), _number(after)),)
    return Judgement(rows, before < after / 2)


def _dtype_census(bad: Sequence[Seen], good: Sequence[Seen]) -> Judgement:
    census = [", ".join(run[0]["dtypes"]) or "none" for run in (bad, good)]
    rows = (("dtypes of layer outputs", census[0], census[1]),)
    return Judgement(rows, bad[0]["dtypes"] != good[0]["dtypes"])


def _warning_seen(bad: Sequence[Seen], good: Sequence[Seen]) -> Judgement:
    own = [text for text in bad[0]["warnings"] if text not in good[0]["warnings"]]
    return Judgement((("warning", _short(own[0]) if own else "none", "none of it"),), bool(own))


def _graph_growth(bad: Sequence[Seen], good: Sequence[Seen]) -> Judgement:
    def ends(run: Seen) -> str:
        return f"{run['graph'][1]} -> {run['graph'][-1]}" if len(run["graph"]) > 1 else "no second forward"

    def grows(run: Seen) -> bool:
        sizes = run["graph"][1:]
        return len(sizes) > 1 and sizes[-1] > sizes[0]

    rows = (("autograd nodes held, 2nd -> last batch", ends(bad[0]), ends(good[0])),)
    return Judgement(rows, grows(bad[0]) and not grows(good[0]))


def _loss_progress(bad: Sequence[Seen], good: Sequence[Seen]) -> Judgement:
    def way(run: Seen) -> str:
        return f"{_number(run['losses'][0])} -> {_number(run['losses'][-1])}" if run["losses"] else "no loss"

    def fall(run: Seen) -> float:
        return float(run["losses"][0] - run["losses"][-1]) if run["losses"] else 0.0

    rows = (("loss on one batch, first -> last", way(bad[0]), way(good[0])),)
    return Judgement(rows, fall(good[0]) > 0 and fall(bad[0]) < fall(good[0]) / 2)


def _final_weights(bad: Sequence[Seen], good: Sequence[Seen]) -> Judgement:
    distance = _distance(bad[0], good[0])
    return Judgement((("largest weight difference", _number(distance), "0 (the measure)"),), distance > 0)


def _weights_moved(bad: Sequence[Seen], good: Sequence[Seen]) -> Judgement:
    (lost, every), (kept, _) = bad[0]["unmoved"], good[0]["unmoved"]
    rows = (("weights that no step moved", f"{lost} of {every}", f"{kept} of {every}"),)
    return Judgement(rows, lost > every / 2 and kept < every / 10)


def _told_by_ranks(bad: Sequence[Seen], good: Sequence[Seen]) -> Judgement:
    def said(run: Seen) -> list[str]:
        return [_short(rank["told"]) for rank in run["ranks"]]

    rows = (("told, 0 | 1", " | ".join(said(bad[0])), " | ".join(said(good[0]))),)
    return Judgement(rows, len(set(said(bad[0]))) > 1 and len(set(said(good[0]))) == 1)


def _scale_trace(bad: Sequence[Seen], good: Sequence[Seen]) -> Judgement:
    def trace(run: Seen) -> str:
        values = run["scales"]
        kept = [value for at, value in enumerate(values) if at == 0 or value != values[at - 1]]
        return " -> ".join(f"{value:g}" for value in kept) or "never updated"

    return Judgement((("loss scale", trace(bad[0]), trace(good[0])),), not _same((bad[0], good[0]), "scales"))


def _rank_agreement(bad: Sequence[Seen], good: Sequence[Seen]) -> Judgement:
    def first_norm(run: Seen) -> list[str]:
        return [_number(rank["norms"][0]) if rank["norms"] else "none" for rank in run["ranks"]]

    def steps(run: Seen) -> list[str]:
        return [str(len(rank["updates"])) for rank in run["ranks"]]

    def scale(run: Seen) -> list[str]:
        return [_last(rank["scales"]) for rank in run["ranks"]]

    def longest(run: Seen) -> str:
        together = zip(*(rank["updates"] for rank in run["ranks"]), strict=False)
        return _number(max(map(math.hypot, *zip(*together, strict=True)), default=0.0))

    told = (
        ("norm that a rank clips by, 0 | 1", first_norm, 0),
        ("steps made, one rank has an inf, 0 | 1", steps, 1),
        ("scale at the end, 0 | 1", scale, 1),
    )
    rows = [(label, " | ".join(tell(bad[at])), " | ".join(tell(good[at]))) for label, tell, at in told]
    rows.insert(1, ("longest update of both / learning rate", longest(bad[0]), longest(good[0])))
    apart = all(len(set(tell(bad[at]))) > 1 for _, tell, at in told)
    return Judgement(tuple(rows), apart and all(len(set(tell(good[at]))) == 1 for _, tell, at in told))


def _gradients_sent(bad: Sequence[Seen], good: Sequence[Seen]) -> Judgement:
    one, other = (runs[0]["ranks"][0] for runs in (bad, good))
    before, after = one["reductions"], other["reductions"]
    rows = (
        ("all-reduces of the gradients", str(before), str(after)),
        ("steps made", str(len(one["updates"])), str(len(other["updates"]))),
    )
    return Judgement(rows, before > after > 0)


def _told_seconds(bad: Sequence[Seen], good: Sequence[Seen]) -> Judgement:
    rows = (("seconds that the code tells", _short(bad[0]["told"]), _short(good[0]["told"])),)
    try:
        before, after = float(bad[0]["told"]), float(good[0]["told"])
    except ValueError:
        return Judgement(rows, False)
    return Judgement(rows, before < after / 2)


def _fewer(field: str, label: str) -> Judge:
    def judge(bad: Sequence[Seen], good: Sequence[Seen]) -> Judgement:
        before, after = bad[0][field], good[0][field]
        return Judgement(((label, str(before), str(after)),), before > after)

    return judge


INJECTED = Setting(inf_at=3)
_TWO_SCALES = (Setting(scale=2.0**8, bfloat16=True), Setting(scale=2.0**16, bfloat16=True))
_ONCE = (Setting(),)
_TINY_LOSS = (Setting(scale=2.0**16, loss_factor=2.0**-24),)
_COUNTED = (Setting(counted=True),)
_QUEUED = (Setting(queued=True),)
_TWO_RANKS = (Setting(ranks=2), Setting(ranks=2, inf_at=3))

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "scale-invariance": Method(
            "the same training from loss scale 2^8 and from 2^16, bfloat16 in place of float16: right code ends in "
            "the same bits",
            _TWO_SCALES,
            _scale_invariance,
        ),
        "told-invariance": Method(
            "what the code prints and returns from loss scale 2^8 and from 2^16: right code tells the same numbers",
            _TWO_SCALES,
            _told_invariance,
        ),
        "told-of-the-same": Method(
            "what the code prints and returns of the same weights, which both trainings end in",
            _ONCE,
            _told_of_the_same,
        ),
        "inf-injection": Method(
            "an inf put into one gradient: right code keeps finite weights and halves the scale",
            (INJECTED,),
            _inf_injection,
        ),
        "raised-error": Method("whether the code raises", _ONCE, _raised_error),
        "raised-error-inf": Method("whether the code raises after one overflow", (INJECTED,), _raised_error),
        "raised-error-on-cuda": Method(
            "whether the code raises where autocast refuses what it refuses on CUDA (emulated on the CPU)",
            (Setting(cuda_ban=True),),
            _raised_error,
        ),
        "update-norm": Method("the updates that reach the weights", _ONCE, _update_norm),
        "update-norm-raw": Method(
            "the updates that reach the weights where inputs are beyond 65504 and the model's first layer is a norm",
            (Setting(raw_inputs=True),),
            _update_norm,
        ),
        "gradient-flush": Method(
            "the updates where the loss is so small (2^-24) that float16 gradients without a scale are zero",
            _TINY_LOSS,
            _gradient_flush,
        ),
        "dtype-census": Method("the dtypes that the layers compute in", _ONCE, _dtype_census),
        "warning-seen": Method("the warnings that torch gives", _ONCE, _warning_seen),
        "graph-growth": Method(
            "the autograd graph that the code still holds when the next batch begins", _ONCE, _graph_growth
        ),
        "loss-progress": Method(
            "the loss over repeated training on one batch", (Setting(one_batch=True),), _loss_progress
        ),
        "final-weights": Method("the weights that the same training ends in", _ONCE, _final_weights),
        "weights-moved": Method("how many weights the training moved", _ONCE, _weights_moved),
        "scale-trace": Method("the loss scale after each update", _ONCE, _scale_trace),
        "scale-trace-default": Method(
            "the loss scale after each update, from torch's default of 65536",
            (Setting(scale=2.0**16, target_factor=0.1),),
            _scale_trace,
        ),
        "rank-agreement": Method(
            "two ranks that train one model (gloo, on this CPU), clean and with an inf in one rank's part: right code "
            "clips, steps and scales alike on both",
            _TWO_RANKS,
            _rank_agreement,
        ),
        "gradients-sent": Method(
            "how often two ranks (gloo, on this CPU) send each other their gradients", _TWO_RANKS[:1], _gradients_sent
        ),
        "told-by-ranks": Method(
            "what two ranks (gloo, on this CPU) tell of one training: right code tells the same on both",
            _TWO_RANKS[:1],
            _told_by_ranks,
        ),
        "weights-moved-of-ranks": Method(
            "how many weights the training of two ranks (gloo, on this CPU) moved", _TWO_RANKS[:1], _weights_moved
        ),
        "final-weights-of-ranks": Method(
            "the weights that the same training of two ranks (gloo, on this CPU) ends in",
            _TWO_RANKS[:1],
            _final_weights,
        ),
        "loss-progress-of-ranks": Method(
            "the loss over repeated training of two ranks (gloo, on this CPU) on one batch",
            (Setting(ranks=2, one_batch=True),),
            _loss_progress,
        ),
        "operations": Method(
            "how many operations torch is given to do", _COUNTED, _fewer("operations", "operations of torch")
        ),
        "host-reads": Method(
            "how often the host reads a tensor's value, for which it waits on an accelerator (on this CPU: counted)",
            _COUNTED,
            _fewer("reads", "reads on the host"),
        ),
        "loading": Method(
            "how much of the data the process that trains loads itself, between two steps",
            _COUNTED,
            _fewer("loaded", "batches loaded by the process that trains"),
        ),
        "device-waits": Method(
            "how often the host waits for a device that works through a queue (emulated on this CPU): at reads, "
            "synchronize(), empty_cache(), and copies that do not run beside it",
            _QUEUED,
            _fewer("waits", "waits for the device"),
        ),
        "device-clock": Method(
            "the time that the code tells, where a device works through a queue (emulated on this CPU, 1 ms an "
            "operation) and the host goes on",
            _QUEUED,
            _told_seconds,
        ),
        "scale-trace-inf": Method("the loss scale after each update, with one overflow", (INJECTED,), _scale_trace),
    }
)
"""The names are what a rule's record gives as its `proof`."""


def _distance(one: Seen, other: Seen) -> float:
    """The largest difference of a weight; infinite where one side is not finite."""
    if not (one["finite"] and other["finite"]):
        return math.inf
    return max((abs(a - b) for a, b in zip(one["weights"], other["weights"], strict=True)), default=0.0)


def _same(runs: Sequence[Seen], field: str) -> bool:
    return all(run[field] == runs[0][field] for run in runs)


def _number(value: float) -> str:
    return f"{value:.3g}"


def _last(values: Sequence[float]) -> str:
    return f"{values[-1]:g}" if values else "never updated"


def _error(run: Seen) -> str:
    return _short(f"{run['error']['type']}: {run['error']['message']}") if run["error"] else "nothing"


def _short(text: str) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= 100 else f"{line[:97]}..."
