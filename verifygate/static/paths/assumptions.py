"""Assumptions of an error path: what is taken for granted about its objects, so that it proves nothing for certain.

A path is a proof where each object on it is known: the optimizer is one object, by its name or as any one element of
what a loop goes through, and nothing that the analysis cannot follow was given the scaler meanwhile.
"""

from __future__ import annotations

import ast

from verifygate.protocol import Event
from verifygate.static.lowering.event_graph import Backward, Branch, Escape, Signal
from verifygate.static.paths.equivalent_conditions import taken_for_one
from verifygate.static.paths.error_path import ErrorPath
from verifygate.static.uses.roles import Evidence
from verifygate.static.values.access_paths import AccessPath

NOT_FOLLOWED = "a call that is not followed leaves the scaler that it is given as it is"
ONE_OF_SEVERAL = "of several functions that a call may run, it is this one"
TWO_NAMES = "two names mean one optimizer"
READ_ALIKE = "two conditions that read alike ask the same"
BY_NAME = "what is named, or annotated, as a scaler or an optimizer is one, and on"
ONE_OBJECT = "it is the same optimizer each time"
AS_CONFIGURED = "the options are as on this path"
AS_DECIDED = "the conditions come out as on this path"
AN_INF = "a run meets an inf"
JOINED = "none of the paths that were joined is innocent"
LEFT_BEHIND = "the loss leaves gradients in what it goes through"
OF_NO_USE = "what the loop throws away served no other purpose"
HANDED_IN = "the callable that is handed in zeroes no gradients"
EACH_STEP = "the function is called for each step"
EDITED = "the switch is edited"


def assumption(path: ErrorPath, optimizer: AccessPath | None) -> str:
    """What has to hold, and nobody has seen, for a violation on this path to be one; empty where all is seen."""
    if _escapes(path):
        return NOT_FOLLOWED
    if _dispatches(path):
        return ONE_OF_SEVERAL
    if _is_renamed(path):
        return TWO_NAMES
    if _takes_two_for_one(path):
        return READ_ALIKE
    if _rests_on_a_name(path, optimizer):
        return BY_NAME
    if optimizer is not None and _is_presumed(optimizer, path):
        return ONE_OBJECT
    return ""


def _rests_on_a_name(path: ErrorPath, optimizer: AccessPath | None) -> bool:
    """Whether only a name, or an annotation, says that what an event is called on is a scaler or an optimizer."""
    payloads = (path.graph.nodes[number].payload for number in path.numbers)
    return any(
        isinstance(each, Signal | Backward)
        and each.evidence < Evidence.USE
        and (isinstance(each, Backward) or each.optimizer in (None, optimizer))
        for each in payloads
    )


def runs_what_is_handed_in(path: ErrorPath) -> bool:
    """Whether a callable that nobody in sight gave, `on_end()`, runs for what it does: it may zero the gradients."""
    functions = {path.graph.nodes[number].place.function for number in path.numbers}
    return any(
        isinstance(call := each.value, ast.Call)
        and isinstance(call.func, ast.Name)
        and any(binding.kind == "parameter" for binding in function.scope.names.get(call.func.id, ()))
        for function in functions
        for each in function.of_kind(ast.Expr)
    )


def _is_renamed(path: ErrorPath) -> bool:
    """Whether the optimizer goes by one name where the violation shows, and by another at what is blamed for it."""
    return (path.blamed in path.graph.renamed) is not (path.shown in path.graph.renamed)


def _takes_two_for_one(path: ErrorPath) -> bool:
    """Whether two conditions on the path are taken for one."""
    same = taken_for_one(path.graph)
    decided = {fact[0] for _, fact in path.decisions()} if same else set()
    return any(not same[atom].isdisjoint(decided) for atom in decided if atom in same)


def _is_presumed(optimizer: AccessPath, path: ErrorPath) -> bool:
    """Whether an optimizer may be another object at another place on the path.

    It comes of a call that may give another one each time, or of a container by a key that is not a constant.
    """
    if optimizer.root.kind == "expression" or any(step.kind == "call" for step in optimizer.steps):
        return True
    graph = path.graph
    if any(each is not optimizer and _may_be_one(each, optimizer) for each in graph.optimizers):
        return True
    if not optimizer.is_summary:
        return False
    tracked = {each for number in path.numbers for each in graph.nodes[number].collections}
    return optimizer in graph.presumed or optimizer not in tracked


def _may_be_one(other: AccessPath, optimizer: AccessPath) -> bool:
    """Whether two elements of one container may be one object, as one of them has a key that is not known."""
    if not (other.is_summary or optimizer.is_summary) or len(other.steps) != len(optimizer.steps):
        return False
    kinds = ("element", "any element")
    return other.root == optimizer.root and all(
        one == another or (one.kind in kinds and another.kind in kinds)
        for one, another in zip(other.steps, optimizer.steps, strict=True)
    )


def _dispatches(path: ErrorPath) -> bool:
    """Whether the path runs one of several functions, and nothing says which of them it is there."""
    return any(
        isinstance(payload := path.graph.nodes[number].payload, Branch) and payload.is_dispatch
        for number in path.numbers
    )


def _escapes(path: ErrorPath) -> bool:
    """Whether a call that is not followed was given the scaler after a backward of the window at hand."""
    window = path.numbers[: path.since + 1]
    updates = [at for at, number in enumerate(window) if path.event(number) is Event.UPDATE and number != path.blamed]
    seen_backward = False
    for number in path.numbers[updates[-1] if updates else 0 :]:
        payload = path.graph.nodes[number].payload
        seen_backward = seen_backward or isinstance(payload, Backward)
        if seen_backward and isinstance(payload, Escape):
            return True
    return False
