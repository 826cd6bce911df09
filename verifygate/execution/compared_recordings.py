"""Hold two recordings against each other: the first operation at which they part, and what explains it."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from verifygate.base.counts import counted
from verifygate.model.finding import Finding
from verifygate.model.recording import Cause, Comparison, Operation, Parting, Recording, Window

EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
EPS_OFF = 16
"""By how many eps of the coarsest dtype so far two results may differ: as in the comparison of compiled graphs."""
REDUCED = ("gradient", "weight")
CASTS = ("_to_copy", "copy_")


@dataclass(frozen=True)
class _Pair:
    step: int
    old: Operation
    new: Operation
    error: float
    limit: float

    @property
    def differs(self) -> bool:
        return self.error > 0 or self.old.dtype != self.new.dtype


def compare(old: Recording, new: Recording) -> Comparison:
    """Pair the results of the first process of each, step by step, in the order of the old run."""
    reduced_only = len(old.processes) != len(new.processes)
    ours, theirs = (each.processes[0] if each.processes else () for each in (old, new))
    later = {window.step: window for window in theirs}
    both = [(window, later[window.step]) for window in ours if window.step in later]
    pairs: list[_Pair] = []
    alone = [0, 0]
    eps = 0.0
    for before, after in both:
        found, lonely = _paired(before, after, eps, reduced_only=reduced_only)
        eps = max([eps, *(pair.limit / EPS_OFF for pair in found)])
        pairs += found
        alone = [one + other for one, other in zip(alone, lonely, strict=True)]
    findings = (*old.report.findings, *new.report.findings)
    first = next((each for each in pairs if each.differs), None)
    beyond = next((each for each in pairs if each.error > each.limit), None)
    return Comparison(
        compared=len(pairs),
        alone=(alone[0], alone[1]),
        steps=tuple(window.step for window, _ in both),
        first=_parting(first, pairs, findings),
        beyond=_parting(beyond, pairs, findings),
        dropped=sum(window.dropped for pair in both for window in pair),
        why_not=tuple(each.why_not for each in (old, new) if each.why_not),
        reduced_only=reduced_only,
    )


def _paired(before: Window, after: Window, eps: float, *, reduced_only: bool) -> tuple[list[_Pair], tuple[int, int]]:
    """The pairs of one step, and how many results of each run have no counterpart; `eps` is the coarsest so far."""
    ours, theirs = (_comparable(window, reduced_only=reduced_only) for window in (before, after))
    matcher = difflib.SequenceMatcher(
        None, [_key(each) for each in ours], [_key(each) for each in theirs], autojunk=False
    )
    found: list[_Pair] = []
    for one, other, size in matcher.get_matching_blocks():
        for old, new in zip(ours[one : one + size], theirs[other : other + size], strict=True):
            eps = max(eps, *(EPS.get(dtype, 0.0) for dtype in (old.dtype, new.dtype, *old.dtypes, *new.dtypes)))
            found.append(_Pair(before.step, old, new, error(old, new), EPS_OFF * eps))
    return found, (len(ours) - len(found), len(theirs) - len(found))


def _comparable(window: Window, *, reduced_only: bool) -> list[Operation]:
    """Results other than casts. Of ranks, each of which has a part of the batch, what the step was made with."""
    kept = [each for each in window.operations if each.operator not in CASTS]
    return [each for each in kept if each.kind in REDUCED] if reduced_only else kept


def _key(operation: Operation) -> tuple[str, ...]:
    """What two results that belong together share: not the line, which moves when the source is edited."""
    return operation.kind, operation.operator, operation.module, operation.symbol


def error(old: Operation, new: Operation) -> float:
    """The relative distance of two results, as their sketches tell it; inf where they cannot be held together."""
    *sums, square, broken = old.sketch
    *others, _, broken_too = new.sketch
    if old.shape != new.shape or broken != broken_too:
        return math.inf
    distance = math.sqrt(sum((one - other) ** 2 for one, other in zip(sums, others, strict=True)))
    if distance == 0:
        return 0.0
    return distance / math.sqrt(square) if square else math.inf


def _parting(pair: _Pair | None, pairs: Sequence[_Pair], findings: Sequence[Finding]) -> Parting | None:
    if pair is None:
        return None
    cause, reason = _explained(pair, pairs)
    known = _findings_at(pair, findings)
    return Parting(
        step=pair.step,
        old=pair.old,
        new=pair.new,
        error=pair.error,
        limit=pair.limit,
        cause=cause,
        reason=reason + (f"; {known}" if known else ""),
    )


def _explained(pair: _Pair, pairs: Sequence[_Pair]) -> tuple[Cause, str]:
    """The first of the known reasons that holds at this pair."""
    old, new = pair.old, pair.new
    if old.kind == "input" and old.dtype == new.dtype:
        return Cause.INPUT, "the runs are given other data here"
    if old.kind == "weight before" and old.dtype == new.dtype:
        return Cause.WEIGHTS, f"the weights differ before the step: `{old.operator}`"
    if old.random and old.dtype == new.dtype:
        return Cause.RANDOM, "it draws random numbers: other seeds, or other draws before"
    if old.shape != new.shape:
        return Cause.INPUT, f"the shapes differ: {list(old.shape)} and {list(new.shape)}"
    if old.text != new.text:
        return Cause.SOURCE, f"the line was changed: `{old.text}` is `{new.text}`"
    if old.dtype != new.dtype or old.dtypes != new.dtypes:
        return Cause.CAST, _cast(old, new)
    if old.device != new.device:
        return Cause.DEVICE, f"{old.device} and {new.device} add in another order"
    before = pairs[: pairs.index(pair)]
    if cast := next((each for each in before if each.old.dtype != each.new.dtype), None):
        where = f" at {cast.new.path}:{cast.new.line}" if cast.new.path else ""
        return Cause.CAST, (
            f"{cast.old.dtype} has been {cast.new.dtype} since `{cast.new.operator}`{where}; "
            "this operation made the difference large"
        )
    return Cause.UNEXPLAINED, "same line, dtypes and device: no cause was found"


def _cast(old: Operation, new: Operation) -> str:
    """Where another dtype comes from: a region, or the inputs."""
    change = f"{old.dtype} becomes {new.dtype}"
    if old.autocast != new.autocast:
        return f"{change}: autocast {old.autocast or 'off'} in the old run, {new.autocast or 'off'} in the new one"
    if old.dtypes != new.dtypes:
        return f"{change}: its inputs are {', '.join(old.dtypes) or 'none'}, and {', '.join(new.dtypes) or 'none'}"
    return change


def _findings_at(pair: _Pair, findings: Sequence[Finding]) -> str:
    """The rules that were violated at the line of the new run."""
    here = (pair.new.path, pair.new.line)
    rules = sorted({each.rule for each in findings if (each.path, each.line) == here and here[0]})
    return f"{', '.join(rules)} is reported at this line" if rules else ""


def lines(comparison: Comparison) -> Iterator[str]:
    """The comparison as text for a terminal."""
    steps = ", ".join(map(str, comparison.steps)) or "none"
    yield f"compared  {counted(comparison.compared, 'result')} of steps {steps}"
    if comparison.reduced_only:
        yield "note: another number of processes, so only the gradients and weights of steps are held together"
    if comparison.dropped:
        yield f"note: {counted(comparison.dropped, 'result')} beyond the limit of a step not kept"
    if any(comparison.alone):
        old, new = comparison.alone
        yield f"note: without a counterpart: {counted(old, 'result')} of the old run, {new} of the new one"
    for title, parting in (("first difference", comparison.first), ("beyond rounding", comparison.beyond)):
        if parting is not None and (parting is comparison.beyond or parting != comparison.beyond):
            yield from _lines(title, parting)
    yield ""
    yield _last(comparison)


def _lines(title: str, parting: Parting) -> Iterator[str]:
    new = parting.new
    place = f"{new.path}:{new.line}  {new.text}" if new.path else "no line of the project"
    module = f" in {new.module}" if new.module else ""
    what = f"{new.kind} `{new.operator}`"
    yield ""
    yield f"{title}: step {parting.step}, {what}{module}: {place}"
    yield f"  error {parting.error:.1e}; rounding explains {parting.limit:.1e}"
    yield f"  {parting.cause}: {parting.reason}"


def _last(comparison: Comparison) -> str:
    if not comparison.compared:
        return f"NOT MEASURED: {'; '.join(comparison.why_not) or 'the recordings have no result in common'}"
    if comparison.first is None:
        return "the same, as far as the sketches tell"
    return "the runs part" if comparison.beyond is not None else "the same within rounding"


def exit_code(comparison: Comparison) -> int:
    """0 the same, or within rounding; 1 they part; 2 nothing could be compared."""
    if not comparison.compared:
        return 2
    return 0 if comparison.beyond is None else 1
