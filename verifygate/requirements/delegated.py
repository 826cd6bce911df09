"""Delegated precision: what recorded steps and the oracles show of a framework that drives autocast and the scaler."""

from __future__ import annotations

from collections.abc import Sequence

from verifygate.base.counts import counted
from verifygate.model import Construct, Status
from verifygate.requirements.code_answers import cited, place
from verifygate.requirements.facts import Answer, Cite, Facts, Missing, listed, together
from verifygate.requirements.frameworks import framework_of
from verifygate.requirements.queries import Oracle
from verifygate.requirements.run_answers import CALLED, ORACLE_CHECKS, TRAIN, recorded_runs

_SCALED = ("autocast", "scale", "backward", "step", "update")
_UNSCALED = ("autocast", "backward", "optimizer-step")
_ASKED = (Oracle.SCALE_INVARIANCE, Oracle.INF_INJECTION)


def shown_by_runs(handed_over: Sequence[Construct], facts: Facts) -> Answer:
    """Whether runs show what the framework does: steps in the protocol's order, and what the oracles say of them."""
    if not handed_over:
        actual = "no framework is given a precision"
        return Answer(Status.FAIL, actual, remedy="give the framework its precision, or write explicit AMP")
    to = listed(dict.fromkeys(f"{framework_of(item.callee).name} at {place(item)}" for item in handed_over))
    steps, cites = _steps(handed_over, facts)
    if not steps:
        return Answer(
            Status.NOT_MEASURED, f"delegated to {to}; behaviour not shown: no run took such a step", cited(handed_over),
            remedy=TRAIN,
        )  # fmt: skip
    oracles = {name.value: status for name in _ASKED if (status := _oracle(name, facts)) is not None}
    told = "".join(f", {name} {status.value}" for name, status in oracles.items())
    return Answer(
        together((Status.PASS, *oracles.values())),
        f"delegated to {to}; behaviour shown by {'; '.join(steps)}{told}",
        (*cited(handed_over), *cites),
        remedy="correct what the oracles show" if any(each is Status.FAIL for each in oracles.values()) else "",
    )


def _steps(handed_over: Sequence[Construct], facts: Facts) -> tuple[list[str], list[Cite]]:
    """Steps that were recorded, in words; where float16 is asked for, only those of a live scaler."""
    execution = facts.execution
    if isinstance(execution, Missing):
        return [], []
    wanted = _SCALED if any("16" in item.text and "bf16" not in item.text for item in handed_over) else _UNSCALED
    words, cites = [], []
    for kind, trace in recorded_runs(execution):
        for order in trace.own.orders if trace.own is not None else ():
            if [event for event in order.events if event in wanted] == list(wanted):
                words.append(f"{counted(order.times, 'step')} in {CALLED[kind]} ({', '.join(order.events)})")
                cites.append(Cite(kind, f"a step was taken as {', '.join(order.events)}", order.path, order.line))
    return words, cites


def _oracle(name: Oracle, facts: Facts) -> Status | None:
    """An oracle's answer, where it was asked."""
    result = facts.stage("execution")
    checks = () if isinstance(result, Missing) else result.checks
    found = next((check.status for check in checks if check.id == ORACLE_CHECKS[name]), Status.NOT_APPLICABLE)
    return found if found is not Status.NOT_APPLICABLE else None
