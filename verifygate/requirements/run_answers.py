"""Answers from recorded runs: the order of the steps, types, the loss scale's way, and what the oracles found.

The trace of the project's own tests is evidence of the class `executed`; that of the tests that ran with CUDA
emulated is `emulated`. What either run did wrong counts; what is asked for has to be seen in one of them. Figures
differ from run to run, so they stand in the trace, and never in an answer's words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from verifygate.model import EntryPrecision, EvidenceClass, ExecutionDetails, OwnEvents, Status, TraceSummary
from verifygate.requirements.facts import SHOWN, Answer, Cite, Facts, Missing, listed, together
from verifygate.requirements.figures import carried_over, judged_share
from verifygate.requirements.queries import Oracle, Query, RunEvent, RunQuery, ScaleBehaviour

Run = tuple[EvidenceClass, TraceSummary]
RECORDED_AS = {
    RunEvent.STEP: "scaler.step",
    RunEvent.OPTIMIZER_STEP: "optimizer.step",
    RunEvent.ZERO_GRAD: "zero_grad",
    RunEvent.GET_SCALE: "get_scale",
    RunEvent.STATE_SAVED: "scaler.state_dict",
    RunEvent.STATE_LOADED: "scaler.load_state_dict",
}
"""The recorder's name of an event, where it is another one."""
OF_A_SCALER = frozenset({RunEvent.SCALE, RunEvent.UNSCALE, RunEvent.STEP, RunEvent.UPDATE})
OF_AMP = OF_A_SCALER | {RunEvent.AUTOCAST, RunEvent.GET_SCALE, RunEvent.STATE_SAVED, RunEvent.STATE_LOADED}
"""What training in float32 does not do: tests on a machine without CUDA may do that alone."""
ORACLE_CHECKS = {
    oracle: f"execution.{'oracle' if oracle in ('scale-invariance', 'inf-injection', 'schedule') else 'edge'}-{oracle}"
    for oracle in Oracle
}
TRAIN = "let a test train a few steps with AMP, with `execution.recorder` on"
CALLED = {EvidenceClass.EXECUTED: "the recorded tests", EvidenceClass.EMULATED: "the tests with CUDA emulated"}


def run(query: Query, facts: Facts) -> Answer:
    """What the recorded runs, or an oracle's, say to the query."""
    asked = query.run
    assert asked is not None  # noqa: S101 - a query of this kind has one
    if asked.oracle:
        return _oracle(ORACLE_CHECKS[asked.oracle], facts)
    execution = facts.execution
    if isinstance(execution, Missing):
        return execution.answer
    if asked.low_precision_share and execution.half_precision:
        return _share_of_entries(asked, execution.half_precision)
    runs = list(recorded_runs(execution))
    if not runs:
        return Answer(Status.NOT_MEASURED, "no run was recorded", remedy=TRAIN)
    ask = next(judge for key, judge in _JUDGES.items() if getattr(asked, key) is not None)
    return _together([(kind, ask(asked, trace, kind)) for kind, trace in runs], facts, asked)


def _oracle(wanted: str, facts: Facts) -> Answer:
    """What an oracle answered; where an entry ended before it could be asked, how that one ended."""
    stage = facts.stage("execution")
    checks = {} if isinstance(stage, Missing) else {each.id: each for each in stage.checks}
    first = checks.get(ORACLE_CHECKS[Oracle.INF_INJECTION])
    was_asked = any(each.startswith("execution.edge-") for each in checks)
    if not was_asked and first is not None and first.status in (Status.FAIL, Status.NOT_MEASURED):
        return Answer(Status.NOT_MEASURED, f"{wanted} could not be asked: {first.actual}", remedy=first.remedy)
    return carried_over(wanted, facts, "name what trains in `execution.oracles.entries`")


def recorded_runs(execution: ExecutionDetails) -> Iterator[Run]:
    """The recorded runs in which something happened, the strongest evidence first."""
    for kind, trace in (
        (EvidenceClass.EXECUTED, execution.trace),
        (EvidenceClass.EMULATED, execution.emulated_trace),
    ):
        if trace is not None and trace.events:
            yield kind, trace


def _together(answers: list[tuple[EvidenceClass, Answer]], facts: Facts, asked: RunQuery) -> Answer:
    """What one run did wrong stands, whatever another shows; otherwise the best answer does."""
    for status in (Status.FAIL, Status.PARTIAL, Status.PASS):
        found = [pair for pair in answers if pair[1].status is status]
        if status is Status.FAIL and asked.events and len(found) < len(answers):
            continue  # seen in one run is seen
        if found:
            kind, answer = found[0]
            return Answer(
                status,
                f"{answer.actual}, in {CALLED[kind]}",
                answer.cites,
                code=answer.code,
                remedy=answer.remedy,
            )
    if asked.low_precision_share and (measured := judged_share(asked, facts)):
        return measured
    return answers[0][1]


def _order(asked: RunQuery, trace: TraceSummary, kind: EvidenceClass) -> Answer:
    wanted = [str(event) for event in asked.order or ()]
    own = trace.own or OwnEvents()
    with_scaler = asked.with_scaler
    if with_scaler is None:
        with_scaler = any(event in OF_A_SCALER for event in asked.order or ())
    seen = [
        order
        for order in own.orders
        # Gradients that no backward of the window made were there before: what came first is not known.
        if "backward" in order.events and any(event in OF_A_SCALER for event in order.events) == with_scaler
    ]
    if not seen:
        scaled = dict(own.counts).get("scale", 0)
        if with_scaler and scaled:
            actual = "a loss is scaled, and no step of the project's own code follows"
            return Answer(Status.FAIL, actual, remedy="step and update through the scaler")
        return Answer(Status.NOT_MEASURED, _no_step(own, with_scaler=with_scaler), remedy=TRAIN)
    for order in seen:
        named = [event for event in order.events if event in wanted]
        if wrong := _turned(named, wanted):
            cite = Cite(kind, f"a step was taken as {', '.join(order.events)}", order.path, order.line)
            actual = f"`{wrong[1]}` came before `{wrong[0]}`: {', '.join(order.events)}"
            return Answer(Status.FAIL, actual, (cite,), remedy=f"put `{wrong[0]}` before `{wrong[1]}`")
    whole = [order for order in seen if set(wanted) <= set(order.events)]
    lacking = [order for order in seen if order not in whole]
    missing = list(dict.fromkeys(event for order in lacking for event in wanted if event not in order.events))
    cites = tuple(
        Cite(kind, f"a step was taken as {', '.join(order.events)}", order.path, order.line)
        for order in (lacking + whole)[:SHOWN]
    )
    if not whole:
        actual = f"no step had {', '.join(missing)}: {', '.join(seen[0].events)}"
        return Answer(Status.FAIL, actual, cites, remedy=f"add {', '.join(missing)} to the loop")
    if lacking:
        actual = f"in this order, but some steps were taken without {', '.join(missing)}"
        return Answer(Status.PARTIAL, actual, cites, remedy="take every step in the same way")
    kept = "; not all events were kept" if trace.dropped else ""
    return Answer(Status.PASS, f"every recorded step was taken in this order{kept}", cites)


def _no_step(own: OwnEvents, *, with_scaler: bool) -> str:
    """That nothing was seen to ask about: no step, or none of the kind."""
    which = "" if not own.orders else " with a live scaler" if with_scaler else " without a scaler"
    return f"no step{which} of the project's own code was recorded"


def _turned(named: list[str], wanted: list[str]) -> tuple[str, str] | None:
    """Two events that came the wrong way round; None where there are none."""
    for one, other in pairwise(named):
        if wanted.index(one) > wanted.index(other):
            return other, one
    return None


def _events(asked: RunQuery, trace: TraceSummary, kind: EvidenceClass) -> Answer:
    own = trace.own or OwnEvents()
    counts = dict(own.counts)
    wanted = asked.events or ()
    missing = [event for event in wanted if not counts.get(RECORDED_AS.get(event, event.value))]
    with_amp = counts.get("scale") or any(event in OF_AMP for order in own.orders for event in order.events)
    if missing and not with_amp and (not own.orders or set(missing) <= OF_AMP):
        actual = f"{_no_step(own, with_scaler=True)}, and no {', '.join(missing)}"
        return Answer(Status.NOT_MEASURED, actual, remedy=TRAIN)
    if missing:
        actual = f"the project's own code never did {', '.join(missing)}"
        return Answer(
            Status.FAIL, actual, (Cite(kind, actual),), remedy=f"let a test run the code that does {missing[0]}"
        )
    said = f"the project's own code did {', '.join(wanted)}"
    return Answer(Status.PASS, said, (Cite(kind, said),))


def _dtype(asked: RunQuery, trace: TraceSummary, kind: EvidenceClass) -> Answer:
    regions = [region.split() for region in (trace.own or OwnEvents()).regions]
    if any(dtype == asked.dtype and asked.device in (None, device) for device, dtype in regions):
        said = f"an autocast region of {asked.dtype}" + (f" on {asked.device}" if asked.device else "")
        return Answer(Status.PASS, said, (Cite(kind, said),))
    seen = ", ".join(f"{dtype} on {device}" for device, dtype in regions) or "no autocast region at all"
    return Answer(Status.NOT_MEASURED, f"seen: {seen}", remedy=f"let a test train with {asked.dtype} where it can")


def _parameters(_asked: RunQuery, trace: TraceSummary, kind: EvidenceClass) -> Answer:
    own = trace.own or OwnEvents()
    if own.not_float32:
        cites = tuple(Cite(kind, line) for line in own.not_float32[:SHOWN])
        actual = f"not float32: {listed(own.not_float32)}"
        return Answer(Status.FAIL, actual, cites, remedy="keep parameters float32 and let autocast cast")
    if not own.orders or not dict(own.counts).get("optimizer"):
        return Answer(Status.NOT_MEASURED, "the project's own code made no optimizer, or took no step", remedy=TRAIN)
    said = "all that the project's own optimizers step is float32"
    return Answer(Status.PASS, said, (Cite(kind, said),))


def _scale(asked: RunQuery, trace: TraceSummary, kind: EvidenceClass) -> Answer:
    moves = [
        (one.scale, other.scale) for one, other in pairwise(trace.scales) if one.scaler == other.scaler and one.scale
    ]
    if asked.scale is ScaleBehaviour.DOUBLES:
        if any(after == 2 * before for before, after in moves):
            said = "the loss scale doubled"
            return Answer(Status.PASS, said, (Cite(kind, said),))
        return Answer(
            Status.NOT_MEASURED,
            "the loss scale never doubled",
            remedy="let a test train with a growth_interval that is shorter than it",
        )
    if not trace.skipped:
        return Answer(Status.NOT_MEASURED, "no step overflowed", remedy="let a test put an inf into a gradient")
    if any(2 * after == before for before, after in moves):
        said = "steps overflowed, and the loss scale was halved"
        return Answer(Status.PASS, said, (Cite(kind, said),))
    if any(after < before for before, after in moves):
        actual = "steps overflowed, and the loss scale fell, but never by half"
        return Answer(Status.PARTIAL, actual, (Cite(kind, actual),), remedy="look at the scaler's backoff_factor")
    actual = "steps overflowed, and the loss scale did not fall"
    return Answer(Status.FAIL, actual, (Cite(kind, actual),), remedy="call `scaler.update()` after every step")


def _share(asked: RunQuery, trace: TraceSummary, kind: EvidenceClass) -> Answer:
    share = trace.low_precision.share if trace.low_precision else None
    if share is None:
        why = trace.not_sampled or "there was no matrix work"
        return Answer(
            Status.NOT_MEASURED,
            f"the share of low precision was not sampled: {why}",
            remedy="`verifygate probe` samples it; the performance stage may measure it",
        )
    operator, bound = asked.bound
    met = share >= bound if operator == ">=" else share <= bound
    said = f"the share of low precision is {'' if met else 'not '}{operator} {bound:g}"
    remedy = "" if met else "find what runs in float32 inside autocast: see the islands in the report"
    return Answer(Status.PASS if met else Status.FAIL, said, (Cite(kind, said),), remedy=remedy)


def _share_of_entries(asked: RunQuery, entries: Sequence[EntryPrecision]) -> Answer:
    """The share as it was sampled in what `[execution.oracles]` runs: every entry has to meet the bound."""
    answers = [
        _share(
            asked,
            TraceSummary(low_precision=each.low_precision, not_sampled=each.not_sampled),
            EvidenceClass.EMULATED if each.emulated else EvidenceClass.EXECUTED,
        )
        for each in entries
    ]
    wrong = [answer for answer in answers if answer.status is not Status.PASS]
    return Answer(
        together(answer.status for answer in answers),
        "; ".join(f"entry {each.entry}: {answer.actual}" for each, answer in zip(entries, answers, strict=True)),
        tuple(cite for answer in answers for cite in answer.cites)[:SHOWN],
        remedy=wrong[0].remedy if wrong else "",
    )


_JUDGES: dict[str, Callable[[RunQuery, TraceSummary, EvidenceClass], Answer]] = {
    "order": _order,
    "events": _events,
    "dtype": _dtype,
    "parameters": _parameters,
    "scale": _scale,
    "low_precision_share": _share,
}
"""Key of a query -> who answers it."""
