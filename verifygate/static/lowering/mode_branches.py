"""Correlate branches: conditions that choose how a program trains, one branch with the scaler, the other without.

What such a condition reads may look as if it changed between iterations (`if config.uses_amp():`), but nobody changes
over in the middle of a run: evaluated again, here or elsewhere, it comes out the same.
"""

from __future__ import annotations

from verifygate.base.records import replace
from verifygate.protocol import Event
from verifygate.static.conditions.predicates import Fact, Predicate
from verifygate.static.lowering.event_graph import Assign, Backward, Branch, Graph, Node, Signal

_PLAIN_STEPS = frozenset({Event.OPTIMIZER_STEP, Event.CHECKED_STEP})


def mode_chosen(nodes: list[Node], tested: range, body: range, otherwise: range) -> Predicate | None:
    """The one condition of an `if`, whose parts are ranges of nodes, where it chooses between scaled and plain."""
    tests = [payload for number in tested if isinstance(payload := nodes[number].payload, Branch)]
    if len(tests) != 1 or (atom := tests[0].atom).remainder is not None or atom.loop:
        return None
    branches = [[nodes[number] for number in part] for part in (body, otherwise)]
    scaled = [any(map(_is_scaled, branch)) for branch in branches]
    plain = [any(map(_is_plain, branch)) for branch in branches]
    return atom if scaled[0] != scaled[1] and plain[scaled.index(False)] else None


def settle(graph: Graph, modes: set[str]) -> None:
    """Make the conditions that choose a mode settings that never change; `modes` has what they ask.

    But for those that an assignment decides.
    """
    assigned = {
        node.payload.target
        for node in graph.nodes
        if isinstance(node.payload, Assign) and node.payload.truth is not None
    }
    atoms = (node.payload.atom for node in graph.nodes if isinstance(node.payload, Branch))
    modes = modes - {atom.text for atom in atoms if atom.mentions & assigned}
    for node in graph.nodes if modes else ():
        node.successors = [(number, _settled(fact, modes)) for number, fact in node.successors]
        if isinstance(node.payload, Branch) and node.payload.atom.text in modes:
            node.payload = replace(node.payload, atom=_setting(node.payload.atom))


def _settled(fact: Fact | None, modes: set[str]) -> Fact | None:
    return (_setting(fact[0]), fact[1]) if fact is not None and fact[0].text in modes else fact


def _setting(atom: Predicate) -> Predicate:
    return Predicate(atom.text, among=atom.among)


def _is_scaled(node: Node) -> bool:
    match node.payload:
        case Signal(scaler=scaler):
            return scaler is not None
        case Backward(scaled=scaled) | Assign(scaled=scaled):
            return scaled
    return False


def _is_plain(node: Node) -> bool:
    match node.payload:
        case Signal(event=event):
            return event in _PLAIN_STEPS
        case Backward(scaled=scaled):
            return not scaled
    return False
