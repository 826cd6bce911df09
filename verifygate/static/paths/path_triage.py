"""Triage of error paths: keep a candidate, re-classify it, or drop it.

The exploration takes every branch; whether two conditions that differ between iterations can hold together as a path
needs them to is beyond it. A path that needs two such decisions proves nothing. And the same order of events is another
violation where a hand-written check for inf and NaN led past the step. Which violations these exceptions are for is in
`Violation.traits`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from verifygate.protocol import Event, Violation
from verifygate.static.lowering.event_graph import Backward, Branch
from verifygate.static.paths.error_path import STEPS, USES, ErrorPath
from verifygate.static.paths.finite_checks import queries_finite_result, queries_gradients, queries_scaler, raises
from verifygate.static.paths.open_windows import counts_batches, loop_of
from verifygate.static.symbols.location import Location
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk

_COUNTS = r"(?i) Mod |accum|boundary|need_update|update_grad|sync_grad|should_step|do_step"
_ITS_OWN = ("zero_grad", "set_to_none")
_ZEROES = r"(?i)(zero|clear|reset|clean|delete|release|discard)\w*grad|set_to_none|zero_\("


def triage(path: ErrorPath, violation: Violation) -> tuple[Violation | None, int]:
    """The violation that an error path shows, None where it shows none; and the node at fault."""
    if violation is Violation.SKIP_GUARD_BREAKS_SCALER:
        return _skipping_guard(path)
    if violation.traits.guard_at_fault and (guard := _guard_past_update(path, violation)) is not None:
        return violation.under_guard, guard
    if _is_dropped(path, violation):
        return None, path.blamed
    return violation, path.blamed


def _is_dropped(path: ErrorPath, violation: Violation) -> bool:
    traits = violation.traits
    if traits.depends_on_unscale and any(
        queries_scaler(path.graph.nodes[number].place.node) for number, _ in path.decisions()
    ):
        return True
    if traits.about_zero_grad and not _is_misplaced_zero_grad(path):
        return True
    return traits.needs_same_iteration and path.has_new_iteration_since_step()


# -- checks for inf and NaN ------------------------------------------------------------------------------------------


def _guard_past_update(path: ErrorPath, violation: Violation) -> int | None:
    """The last check for inf and NaN since what is blamed that led past an update.

    None led past an update that is at fault itself, since nothing was recorded before it: it has closed the window.
    """
    if path.blamed == path.shown and path.event(path.shown) is Event.UPDATE:
        return None
    # where the scaler has stepped, a condition on the norm or on `skipped` led past no step
    stepped = violation.traits.blames_earlier
    since = path.since if path.blamed != path.shown else path.last_use(path.since)
    guards = [
        number
        for number, fact in path.decisions(since)
        if path.checks_finite(number) or (not stepped and path.checks_norm(number, fact))
    ]
    guards = [
        number
        for number in guards
        if not raises(path.graph.nodes[number].place) and path.reaches_update(path.branches(number, since)[1])
    ]
    return guards[-1] if guards else None


def _skipping_guard(path: ErrorPath) -> tuple[Violation | None, int]:
    """A check of scaled gradients that leads past the update: the scale that made them inf stays."""
    since = path.last_backward(len(path.numbers)) or 0
    for number, _ in path.decisions(since):
        if path.checks_finite(number) and queries_gradients(path.graph.nodes[number]):
            taken, others = path.branches(number, since)
            for until in (None, path.numbers[since]):  # the update may be behind another optimizer's backward
                if path.reaches_update(others, until) and not path.reaches_update(taken, until):
                    return Violation.SKIP_GUARD_BREAKS_SCALER, number
            if path.event(path.shown) is Event.ZERO_GRAD and path.steps_ahead(path.shown):
                return Violation.SKIP_GUARD_BREAKS_SCALER, path.shown  # the scaler finds no inf, and never backs off
    if isinstance(path.graph.nodes[path.shown].payload, Branch):
        return Violation.SKIP_GUARD_BREAKS_SCALER, path.shown
    return None, path.blamed


# -- zero_grad -------------------------------------------------------------------------------------------------------


def _is_misplaced_zero_grad(path: ErrorPath) -> bool:
    if not isinstance(path.graph.nodes[path.shown].payload, Backward):
        # a step on gradients that were thrown away: where their norm decides on that, a step that does nothing
        since = path.last_backward(path.since) or 0
        guards = (
            number
            for number, fact in path.decisions(since)
            if path.checks_norm(number, fact) or queries_finite_result(path.graph.nodes[number].place)
        )
        return not any(_leads_past_the_blamed(path, number, since) for number in guards)
    return _is_never_zeroed(path) if path.blamed == path.shown else _wipes_accumulation(path)


def _leads_past_the_blamed(path: ErrorPath, guard: int, since: int) -> bool:
    """Whether the other branch of a condition comes to a step without what is blamed."""
    _, ahead = path.branches(guard, since)
    seen = {path.blamed}
    while ahead := ahead - seen:
        if any(path.event(number) in STEPS for number in ahead):
            return True
        seen |= ahead
        ahead = {successor for number in ahead for successor, _ in path.graph.nodes[number].successors}
    return False


def _is_never_zeroed(path: ErrorPath) -> bool:
    """Whether nothing zeroes, nor looks as if it zeroed by means that the exploration does not know."""
    return not _is_dropped_later(path) and _named_like_a_zero_grad(path) is None


def zeroed_by_name(path: ErrorPath, violation: Violation) -> Location | None:
    """The call by whose name alone a path shows no backward onto gradients that nothing has zeroed."""
    about = violation.traits.about_zero_grad and path.blamed == path.shown
    if not about or not isinstance(path.graph.nodes[path.shown].payload, Backward) or _is_dropped_later(path):
        return None
    return _named_like_a_zero_grad(path)


def _is_dropped_later(path: ErrorPath) -> bool:
    """Whether what a backward left serves nothing: that of an attack on the inputs, or of the end of training."""
    return _nothing_uses_gradients(path) or _left_zeroing_loop(path)


def _named_like_a_zero_grad(path: ErrorPath) -> Location | None:
    functions = {node.place.function: None for node in path.graph.nodes}
    return next(
        (
            Location(function, call)
            for function in functions
            for call in function.calls
            if any(re.search(_ZEROES, text) for text in _words(call))
        ),
        None,
    )


def _left_zeroing_loop(path: ErrorPath) -> bool:
    """Whether a way out of the loop passes by the zero_grad of each iteration: most often the end of training."""
    inside = set(path.loops(path.shown))
    uses = [index for index, number in enumerate(path.numbers[:-1]) if path.event(number) in USES]
    since = path.numbers[uses[-1] :] if uses else []
    missed = [inside.difference(path.loops(number)) for number in since]
    if not missed or missed[0] or all(len(each) <= 1 for each in missed):
        return False  # the head of a loop is no part of it: only that of one further out is beyond
    zeroing = (node for number, node in enumerate(path.graph.nodes) if path.event(number) is Event.ZERO_GRAD)
    return any(inside <= set(node.loops) for node in zeroing)


def _nothing_uses_gradients(path: ErrorPath) -> bool:
    """Whether a zero_grad comes after the violation before anything uses the gradients, or nothing ever does.

    Where window follows window, one behind the loop drops what the last of them leaves, and only that.
    """
    ahead, seen, used = [path.shown], {path.shown}, False
    inside = set(path.loops(path.shown)) if _windows_follow(path) else set()
    while ahead:
        for successor, _ in path.graph.nodes[ahead.pop()].successors:
            event = path.event(successor)
            if event is Event.ZERO_GRAD and inside <= set(path.loops(successor)):
                return True
            used = used or event in USES
            if event not in (*USES, Event.ZERO_GRAD) and successor not in seen:
                seen.add(successor)
                ahead.append(successor)
    return not used


def _windows_follow(path: ErrorPath) -> bool:
    """Whether the last step came behind a count that closes one window of batches after the other: `i % n == 0`."""
    steps = [at for at, number in enumerate(path.numbers) if path.event(number) in STEPS]
    loops = [loop_of(path.graph, number) for number in path.loops(path.shown)]
    if not steps or not loops or not counts_batches(loops[-1]):
        return False
    iterated = _names(loops[-1].node.iter)  # type: ignore[attr-defined]
    if any(iterated & _names(each.node.target) for each in loops[:-1] if isinstance(each.node, ast.For)):
        return False  # the batches of one window, say
    tests = [number for number, fact in path.decisions(path.last_backward(steps[-1]) or 0) if fact[0].remainder]
    return any(_is_shorter(path.graph.nodes[number].place, iterated) for number in tests)


def _is_shorter(test: Location, iterated: set[str]) -> bool:
    """Whether nothing says that a window is as long as what the loop iterates over."""
    lengths = [node.right for node in walk(test.node) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)]
    named = {name for each in lengths for name in _names(each)}
    data = test.function.module.file.data
    counted = any(re.search(rb"\b%b\s*=[^=\n]*\blen\(" % name.encode(), data) for name in named)
    return bool(lengths) and not counted and named.isdisjoint({*iterated, "len"})


def _names(expr: ast.expr) -> set[str]:
    return {last_name(each) for each in walk(expr) if isinstance(each, ast.Name | ast.Attribute)} - {"self"}


def _wipes_accumulation(path: ErrorPath) -> bool:
    """Whether a zero_grad of every iteration throws away what an accumulation counts on.

    The step comes behind a count in the same loop, or behind the loop.

    A zero_grad further out drops the rest of an epoch, one behind a check a bad batch, one in a handler what an error
    left: on purpose.
    """
    wiped = path.last_backward(path.since)
    if wiped is None or _is_in_a_handler(path.graph.nodes[path.blamed].place) or path.is_caught(wiped):
        return False
    loops = {path.loops(number) for number in (path.numbers[wiped], path.blamed, path.shown)}
    if len(loops) != 1 or not all(loops) or any(path.checks_finite(number) for number, _ in path.decisions(wiped)):
        return False
    choices = path.choices(wiped)
    if not choices:
        return not path.steps_in_loop_of(path.shown) and path.steps_ahead(path.shown)
    return len(choices) == 1 and bool(re.search(_COUNTS, next(iter(choices)).text))


def _is_in_a_handler(place: Location) -> bool:
    handlers = (each for node in place.function.own_nodes if isinstance(node, ast.Try) for each in node.handlers)
    return any(node is place.node for handler in handlers for node in walk(handler))


def _words(call: ast.Call) -> Iterator[str]:
    """What is called, and the names of keyword arguments, but for the method `zero_grad`, which is an event."""
    if not isinstance(call.func, ast.Attribute):
        yield ast.unparse(call.func)
    elif call.func.attr not in _ITS_OWN:
        yield call.func.attr
    yield from (word.arg for word in call.keywords if word.arg and word.arg not in _ITS_OWN)
