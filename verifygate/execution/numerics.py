"""Read what the instrument `numerics` told of a run, and say what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from verifygate.base.counts import counted
from verifygate.execution import doubts
from verifygate.execution.recorded_trace import Trace
from verifygate.model.numerics import LARGEST, BadStep, Limit, NumericsReport, Origin, Swallowed, UnmovedAverage
from verifygate.model.recorded_trace import TraceSummary

ENOUGH_STEPS = 8
"""Steps after which a loss scale has found its level, or does not find one."""
TWICE = 2
"""Watched steps in which the same overflow is swallowed, before the run is called unstable."""
LAST = 4
"""Steps at the end of a run that tell whether it has."""


def numerics(told: Sequence[dict[str, Any]], trace: Trace, shown: Callable[[str], str | None]) -> NumericsReport:
    """The bad steps of the process that was started. `shown` is a path below the root, or None."""
    ends = [each for each in told if each["event"] == "numerics"]
    end = ends[0] if ends else {}
    rows = [each for each in told if each["event"] == "bad-step"]
    bad = tuple(_bad_step(each, trace, shown) for each in rows)
    unexplained = _unexplained(trace, bad, {row.get("steps") for row in rows if row.get("origin")})
    counts = ("watched", "iterations", "losses", "bad_losses", "first_bad_loss", "bad")
    return NumericsReport(
        **{name: int(end.get(name, 0)) for name in counts},
        asked=bool(end.get("asked", True)),
        ends_bad=bool(end.get("ends_bad")),
        bad_steps=bad,
        unexplained=len(unexplained),
        first_unexplained=min(unexplained, default=0),
        swallowed=tuple(_swallowed([each for each in told if each["event"] == "swallowed"], trace, shown)),
        unmoved=tuple(_unmoved(each, trace, shown) for each in told if each["event"] == "unmoved-average"),
        doubtful=doubts.doubtful([each for each in told if each["event"] == "doubtful"], trace, shown),
        not_watched=next((str(each["why_not"]) for each in ends if each["why_not"]), ""),
    )


def _bad_step(row: dict[str, Any], trace: Trace, shown: Callable[[str], str | None]) -> BadStep:
    origin = row.get("origin")
    return BadStep(
        step=int(row["number"]),
        skipped=bool(row["skipped"]),
        scale=row.get("scale"),
        loss=bool(row.get("loss")),
        gradients=int(row.get("gradients", 0)),
        why_not=str(row.get("why_not", "")),
        ended=bool(row.get("ended")),
        origin=_origin(origin, trace, shown) if origin is not None else None,
    )


def _unexplained(trace: Trace, bad: Sequence[BadStep], known: set[Any]) -> list[int]:
    """The skipped steps without a cause, counted from 1: neither `known`, nor by a scale that is too large.

    A scale is known to be too large where an operation overflows by it, or by a smaller one. It is being searched for
    where no step was made with it since it changed, and one was made with a smaller one after that.
    """
    too_large = min((each.scale for each in bad if each.scale and each.at_any_scale is False), default=float("inf"))
    found: list[int] = []
    for section in trace.sections:
        searches: dict[object, list[int]] = {}
        for event in section.events:
            optimizer = (event.scaler, event.optimizers())
            if event.kind == "scaler.step" and not event.skipped and not event.raised:
                searches.pop(optimizer, None)
            has_cause = section.process is None and event.step + 1 in known
            if not event.skipped or has_cause or event.fields.get("scale", 0.0) >= too_large:
                continue
            tried = found if not event.fields.get("untried") else searches.setdefault(optimizer, [])
            tried.append(event.step + 1)
        found += [step for steps in searches.values() for step in steps]
    return found


def _swallowed(rows: Sequence[dict[str, Any]], trace: Trace, shown: Callable[[str], str | None]) -> list[Swallowed]:
    """Those of one operation together."""
    found: dict[str, Swallowed] = {}
    for row in rows:
        origin = _origin(row["origin"], trace, shown)
        steps = found[where(origin)].steps if where(origin) in found else ()
        steps = tuple(dict.fromkeys((*steps, int(row["number"]))))
        found[where(origin)] = Swallowed(steps=steps, origin=origin, ended=str(row["ended"]), lost=float(row["lost"]))
    return list(found.values())


def _unmoved(row: dict[str, Any], trace: Trace, shown: Callable[[str], str | None]) -> UnmovedAverage:
    frame = next(iter(trace.where(row["at"])), None)
    path = shown(frame.path) if frame is not None else None
    line = frame.line if frame is not None and path else 0
    return UnmovedAverage(
        path=path or "", line=line, dtype=row["dtype"], shape=tuple(row["shape"]), lost=float(row["lost"])
    )


def _origin(row: dict[str, Any], trace: Trace, shown: Callable[[str], str | None]) -> Origin:
    frame = next(iter(trace.where(row["at"])), None)
    path = shown(frame.path) if frame is not None else None
    return Origin(
        operator=str(row["operator"]),
        limit=Limit(row["kind"]),
        path=path or "",
        line=frame.line if frame is not None and path else 0,
        symbol=frame.symbol if frame is not None and path else "",
        module=str(row["module"]),
        backward=str(row["backward"]),
        dtypes=tuple(row["dtypes"]),
        dtype=str(row["dtype"]),
        of_infinite=bool(row.get("of_infinite")),
        largest_input=row["largest_input"],
        in_float32=row["in_float32"],
        scaled=bool(row["scaled"]),
    )


def never_settles(trace: Trace, seen: TraceSummary, report: NumericsReport) -> str:
    """Why the run is not clean although it broke no rule: its loss scale finds no level, or its loss is no number.

    Each optimizer is asked by itself: one of a GAN may step while the other never does. Empty where neither was seen.
    """
    if report.ends_bad:
        times = f" in {report.bad_losses} of {counted(report.losses, 'backward')}" if report.bad_losses else ""
        since = f", the first time in iteration {report.first_bad_loss}" if report.first_bad_loss else ""
        return f"the loss was inf or NaN{times}{since}, and is so at the end"
    lasting = next((each for each in report.swallowed if len(each.steps) >= TWICE), None)
    if lasting is not None:
        return f"an overflow ends as a number: {where(lasting.origin)} makes inf, and `{lasting.ended}` a number of it"
    if report.unmoved:
        one = report.unmoved[0]
        return f"an average in {one.dtype} does not move: rounding takes its updates away at {one.path}:{one.line}"
    if (lasting_doubt := doubts.lasting(report.doubtful)) is not None:
        return doubts.in_one_line(lasting_doubt)
    last = seen.scales[-1].scale if seen.scales else None
    any_scale = [each for each in report.bad_steps if each.at_any_scale]
    for optimizer, skips in _skips(trace).items():
        mostly = len(skips) >= ENOUGH_STEPS and 2 * sum(skips) > len(skips)
        for_ever = all(skips) and any_scale
        if mostly and (for_ever or 2 * sum(skips[-LAST:]) > LAST or (last is not None and last < 1)):
            of = f" of {optimizer}" if len(trace.optimizers) > 1 else ""
            fell = f", and the scale fell to {last:g}" if last is not None else ""
            return f"the scaler skipped {sum(skips)} of {len(skips)} steps{of}{fell}: it finds no scale that holds"
    losses, looked, what = sum(each.loss for each in any_scale), report.watched, "watched step"
    if report.bad_losses:  # every one was looked at
        losses, looked, what = report.bad_losses, report.losses, "backward"
    if losses >= LAST and 2 * losses > looked:
        return f"the loss was inf or NaN in {losses} of {counted(looked, what)}, whatever its scale"
    if last is not None and last < 1 and len(any_scale) >= LAST:
        broke = counted(len(any_scale), "step")
        return f"the scale fell to {last:g}, and {broke} broke whatever it was"
    return ""


def _skips(trace: Trace) -> dict[str, list[bool]]:
    """Of each optimizer that a scaler steps, in words, whether it skipped the step."""
    found: dict[str, list[bool]] = {}
    for event in trace.events:
        if event.kind in ("scaler.step", "optimizer.step") and not event.raised:
            for number in event.optimizers()[:1] or (0,):
                name = f"optimizer {number} ({trace.optimizers.get(number, {}).get('type', 'not known')})"
                found.setdefault(name, []).append(event.fields.get("stepped") is False)
    return found


def skips_without_cause(report: NumericsReport) -> str:
    """That steps were skipped and nobody knows why, so that the run is not clean; empty where all is known."""
    if not report.unexplained:
        return ""
    reasons = (each.why_not for each in report.bad_steps if each.skipped and each.why_not)
    why = next(reasons, report.not_watched)
    skipped = f"the scaler skipped {counted(report.unexplained, 'step')} without a cause that was found"
    return f"{skipped}, step {report.first_unexplained} first" + (f": {why}" if why else "")


def broke_in_passing(report: NumericsReport) -> str:
    """That a run went on although its numbers broke, and not by the loss scale; empty where they did not."""
    steps = [each for each in report.bad_steps if each.at_any_scale]
    if not steps:
        return ""
    broke = counted(len(steps), "step")
    return f"the order of its calls; its numbers broke in {broke}, not by the loss scale: see above"


def lines(report: NumericsReport) -> list[str]:
    """The bad steps in words, those of one origin together."""
    together: dict[str, list[BadStep]] = {}
    for each in report.bad_steps:
        together.setdefault(where(each.origin), []).append(each)
    found = []
    for place, steps in together.items():
        numbers = ", ".join(str(each.step) for each in steps)
        found.append(f"not finite in step {numbers}: {place}")
        found += [f"    {line}" for line in _told(steps[-1])]
    for one in report.swallowed:
        numbers = ", ".join(map(str, one.steps))
        found.append(f"overflow that ends as a number in step {numbers}: {where(one.origin)}")
        found.append(f"    {happened(one.origin)}")
        found.append(f"    `{one.ended}` makes a number of the inf: {one.lost:.0%} of its result is another in float32")
        found.append(f"    remedy: {remedy(BadStep(step=1, skipped=False, origin=one.origin))}")
    for place, averages in groupby(report.unmoved, lambda each: f"{each.path}:{each.line}, {each.dtype}"):
        first, *alike = averages
        others = f" and {counted(len(alike), 'more tensor')}" if alike else ""
        lost = min(each.lost for each in (first, *alike))
        found.append(f"an average that does not move: {place} of {list(first.shape)}{others}")
        found.append(f"    {lost:.0%} of the elements that float32 would move stayed as they were in two steps")
        found.append("    remedy: keep averages in float32, whatever the model is in")
    found += [line for each in report.doubtful for line in doubts.lines(each)]
    if report.bad > len(report.bad_steps):
        more = counted(report.bad - len(report.bad_steps), "more step")
        found.append(f"numbers: {more} not finite, of which the cause was not looked for")
    if report.asked and report.watched and not report.bad_steps:
        watched = counted(report.watched, "watched step")
        found.append(f"numbers: no inf or NaN came to the loss or to a gradient in {watched}")
    if report.not_watched and not report.bad_steps:
        found.append(f"numbers: NOT MEASURED: {report.not_watched}")
    return found


def where(origin: Origin | None, at: str = "") -> str:
    """Place, module and operator; `at` stands for the path."""
    if origin is None:
        return "where it began was not seen"
    place = f"{at or origin.path}:{origin.line}" if origin.line else "outside of the project's code"
    module = f" in {origin.module}" if origin.module else ""
    of = f" (its gradient, {origin.backward})" if origin.backward else ""
    return f"{place}{module}: {_in_words(origin)}{of}"


def _in_words(origin: Origin) -> str:
    """The operator, with what it is in a person's terms where its name does not say that."""
    if origin.operator == "_to_copy":
        return f"the cast to {origin.dtype} (`_to_copy`)"
    if origin.operator == "lift_fresh":
        return "a tensor made of numbers (`lift_fresh`)"
    if origin.operator.startswith("_foreach_"):
        one = origin.operator.removeprefix("_foreach_").rstrip("_")
        return f"`{one}` on many tensors at once (`{origin.operator}`)"
    return f"`{origin.operator}`"


def _told(bad: BadStep) -> list[str]:
    origin = bad.origin
    if origin is None:
        return [f"{bad.why_not or 'not looked at'}; `--numerics` watches the first steps"]
    alone = ["the loss is not finite, its gradients are"] if bad.loss and not bad.gradients else []
    if bad.ended:
        alone = ["the error that ended the run was raised for what came of it"]
    elif not (bad.loss or bad.gradients or bad.skipped):
        alone = ["no step was made; this operation was the last that broke"]
    return [happened(origin), *alone, *_share_of_the_scale(bad), f"remedy: {remedy(bad)}"]


def happened(origin: Origin) -> str:
    """Which limit was crossed, and by what."""
    dtypes = f"{', '.join(origin.dtypes) or 'no tensor'} -> {origin.dtype}"
    of_finite = origin.largest_input is not None and origin.limit is not Limit.CAME_IN
    largest = f", largest input {origin.largest_input:.4g}" if of_finite else ""
    if origin.limit is Limit.OVERFLOW:
        limit = LARGEST.get(origin.dtype, LARGEST["float32"])
        true = f"; it would be {origin.in_float32:.5g}" if origin.in_float32 is not None else ""
        return f"larger than {limit:.6g}, the largest {origin.dtype}{true} ({dtypes}{largest})"
    words = (
        "makes a NaN of an inf" if origin.limit is Limit.NOT_A_NUMBER and origin.of_infinite else _WORDS[origin.limit]
    )
    return f"{words} ({dtypes}{largest})"


_WORDS = {
    Limit.ZERO_DIVISOR: "divides by 0",
    Limit.LOG_OF_ZERO: "the logarithm of 0, or of a negative number",
    Limit.NOT_A_NUMBER: "makes a NaN of finite numbers",
    Limit.CAME_IN: "its input was inf or NaN when the step began",
}


def _share_of_the_scale(bad: BadStep) -> list[str]:
    if bad.origin is None or not bad.origin.scaled or bad.scale is None:
        return []
    if bad.at_any_scale is None:
        return [f"the loss scale is {bad.scale:g}; whether a smaller one would do is not known"]
    if bad.at_any_scale:
        return [f"the loss scale of {bad.scale:g} is not the cause: a scale of 1 would overflow as well"]
    return [f"the loss scale of {bad.scale:g} is the cause: without it the number fits"]


def remedy(bad: BadStep) -> str:
    """What to write instead, in one sentence."""
    origin = bad.origin
    if origin is None:
        return "watch the first steps with `--numerics`"
    match origin.limit:
        case Limit.CAME_IN:
            return "look at the batch and at the weights: something was inf or NaN before this step computed anything"
        case Limit.ZERO_DIVISOR if origin.backward.startswith(("Sqrt", "Norm", "LinalgVectorNorm", "Pow")):
            return "add an epsilon below the root: its gradient at 0 is infinite"
        case Limit.ZERO_DIVISOR:
            smallest = "above 6e-8" if "float16" in origin.dtypes else "above 1e-38"
            dtype = origin.dtypes[0] if len(origin.dtypes) == 1 else "its dtype"
            return f"keep the divisor away from 0: an epsilon that {dtype} holds ({smallest}), a count of at least 1"
        case Limit.LOG_OF_ZERO if "ctc" in origin.operator:
            return "leave out targets that are longer than their inputs, repeats counted twice; or `zero_infinity=True`"
        case Limit.LOG_OF_ZERO:
            return "take the logarithm of what cannot be 0: `log_softmax`, `logsigmoid`, an epsilon in float32"
        case Limit.NOT_A_NUMBER if origin.operator in _STATISTICS:
            return "leave such a batch out, or divide by at least 1: the mean of nothing and the spread of one are NaN"
        case Limit.NOT_A_NUMBER if origin.operator.startswith("nll_loss"):
            return "leave out a batch whose targets are all ignored: the mean over none of them is 0/0"
        case Limit.NOT_A_NUMBER if origin.operator.rstrip("_") == "mul" and origin.of_infinite:
            return "put 0 in the place of the inf before it is multiplied, by `torch.where`: 0 times inf is a NaN"
        case Limit.NOT_A_NUMBER if (origin.largest_input or 0.0) ** 2 > LARGEST["float32"]:
            return "look at what made its input so large, a learning rate for example: its square is no float32"
        case Limit.NOT_A_NUMBER:
            return "look for a row that is masked as a whole, for 0/0 and for inf - inf; clamp, or leave such rows out"
    if bad.at_any_scale is False:
        return "nothing, while the scale is being found; a smaller `init_scale` saves these steps"
    plain = origin.operator.rstrip("_")
    if plain in ("exp", "exp2", "expm1") and not origin.backward:
        return "subtract the largest before the exponential (`softmax`, `logsumexp`), or clamp what goes in"
    if plain in _FILLING:
        return (
            f"write `torch.finfo(torch.{origin.dtype}).min` in the place of a constant that {origin.dtype} cannot hold"
        )
    if origin.dtype == "float16":
        return (
            "compute this operation in float32 (`.float()`, or `autocast(enabled=False)`), or normalise what it adds up"
        )
    return "normalise what goes in, or lower the learning rate: it is too large for float32 as well"


_STATISTICS = frozenset("mean std var std_mean var_mean nanmean".split())  # noqa: SIM905
_FILLING = frozenset("full full_like fill new_full masked_fill where scalar_tensor".split())  # noqa: SIM905
