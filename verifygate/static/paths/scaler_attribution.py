"""Scaler attribution: which scalers may have scaled the gradients; each divides by its own scale, whoever multiplied.

Only scalers that can be told apart count. One that may be one of several, by a condition or an index, may be any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from verifygate.protocol import Event, ScalerState
from verifygate.static.amp.roles import ScalerOrigin
from verifygate.static.lowering.event_graph import Assign, Backward, ForeignBackward, Graph, Signal
from verifygate.static.paths.typestate import Typestate, Typestates
from verifygate.static.values.access_paths import AccessPath

_DIVIDES = frozenset({Event.UNSCALE, Event.SCALER_STEP})
_ANY: frozenset[ScalerOrigin | None] = frozenset({None})


def scaled_by(graph: Graph) -> dict[int, frozenset[ScalerOrigin | None]]:
    """Node with a backward -> the scalers that may have scaled its loss; nothing where there are no two of them."""
    payloads = [node.payload for node in graph.nodes]
    known = {each.origin for each in payloads if isinstance(each, Signal | Backward | Assign) and each.origin}
    if len(known) < 2:
        return {}
    assigns = [each for each in payloads if isinstance(each, Assign)]
    found = dict.fromkeys((n for n, each in enumerate(payloads) if isinstance(each, ForeignBackward)), _ANY)
    for number, payload in enumerate(payloads):
        if isinstance(payload, Backward):
            direct = payload.scaled and not payload.idle
            found[number] = frozenset({payload.origin}) if direct else _flowing_into(payload.roots, assigns)
    return found


def _flowing_into(roots: frozenset[AccessPath], assigns: list[Assign]) -> frozenset[ScalerOrigin | None]:
    """The scalers of the scaled values that may flow into these variables, on any path."""
    names, more = set(roots), set(roots)
    while more:
        more = {source for each in assigns if each.target in more for source in each.sources.paths} - names
        names |= more
    return frozenset(each.origin for each in assigns if each.scaled and each.target in names) or _ANY


def attributed(optimizers: Typestates, scalers: frozenset[ScalerOrigin | None] | None) -> Typestates:
    """The typestates after a backward that these scalers may have scaled: it may have reached any optimizer."""
    if not scalers:
        return optimizers
    return tuple((name, each._replace(scales=each.scales | scalers)) for name, each in optimizers)


def is_by_other_scaler(typestate: Typestate, signal: Signal) -> bool:
    """Whether a scaler is to divide gradients that only other scalers have multiplied."""
    if signal.event not in _DIVIDES or signal.origin is None or not typestate.scales:
        return False
    if signal.optimizer is not None and signal.optimizer.is_summary:
        return False
    own = signal.origin
    return all(
        scale is not None and scale != own and scale.is_parameter == own.is_parameter  # a parameter may be given either
        for scale in typestate.scales
    )


def has_own_backward(others: Iterable[Typestates], optimizer: AccessPath | None, divides: object) -> bool:
    """Whether on other paths to an unscale or a step its scaler has scaled the loss of some backward.

    Next to other optimizers this one then has a backward of its own: a path around that leaves nothing to divide.
    """
    if not isinstance(divides, Signal) or optimizer is None:
        return False
    found = (dict(optimizers)[optimizer] for optimizers in others if len(optimizers) > 1)
    return any(divides.origin in typestate.scales for typestate in found)


def served_by(
    update: Signal, optimizers: Typestates, scalers: Mapping[AccessPath, set[AccessPath]], of_several: set[AccessPath]
) -> list[AccessPath]:
    """The optimizers that a scaler's update is about: not those that only other scalers are seen to serve.

    One that has been stepped is also served by what may be the same scaler under another name.
    """
    served = []
    for name, typestate in optimizers:
        own = scalers.get(name, {update.scaler})
        may_be_one = typestate.state.scaler is ScalerState.STEPPED and (update.is_any or bool(own & of_several))
        if update.scaler in own or may_be_one:
            served.append(name)
    return served
