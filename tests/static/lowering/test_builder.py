"""The graph builder: pending edges, branches that join, jumps, and subgraphs without events that collapse."""

from __future__ import annotations

import pytest

from verifygate.protocol import Event
from verifygate.static.conditions.predicates import Predicate
from verifygate.static.lowering import builder as building
from verifygate.static.lowering.builder import GraphBuilder, TooLargeError
from verifygate.static.lowering.event_graph import Assign, Pass, Signal
from verifygate.static.values.domain import Frame

ATOM = Predicate("x")
STEP = Signal(Event.OPTIMIZER_STEP)


class Built(GraphBuilder):
    """A builder of nodes that all stand in one place."""

    def __init__(self, analysed) -> None:
        (function,) = (each for each in analysed("def train(x):\n    pass\n").functions if each.symbol == "train")
        super().__init__(function)
        self.here = function.node, Frame(function)
        self.emit_entry()

    def add(self, payload: object) -> int:
        return self.emit(payload, *self.here)

    def fork(self) -> tuple:
        return self.branch(ATOM, True, *self.here)

    def edges(self) -> list[tuple[int, int, bool | None]]:
        """Source, target, and the outcome of the branch between."""
        return [
            (number, target, fact and fact[1])
            for number, node in enumerate(self.graph.nodes)
            for target, fact in node.successors
        ]


@pytest.fixture
def built(analysed) -> Built:
    return Built(analysed)


def test_a_node_is_the_target_of_the_pending_edges(built):
    assert (built.add(STEP), built.add(STEP)) == (1, 2)
    assert built.edges() == [(0, 1, None), (1, 2, None)]
    assert built.pending == [(2, None)]


def test_paths_of_a_branch_join(built):
    holds, fails = built.fork()
    with built.join() as join:
        with join.path(holds):
            built.add(STEP)
        with join.path(fails):
            pass
    built.add(Pass())
    assert built.edges() == [(0, 1, None), (1, 2, True), (1, 3, False), (2, 3, None)]


def test_a_branch_on_a_negated_predicate(built):
    holds, fails = built.branch(ATOM, False, *built.here)
    assert (holds, fails) == ([(1, (ATOM, False))], [(1, (ATOM, True))])


def test_a_jump_leads_elsewhere(built):
    returns = []
    built.jump(returns)
    assert (returns, built.pending) == ([(0, None)], [])


def test_a_node_knows_the_loops_around_it(built):
    with built.loop():
        with built.loop():
            built.add(STEP)
        with built.loop():
            built.add(STEP)
    built.add(STEP)
    assert [node.loops for node in built.graph.nodes[1:]] == [(1, 2), (1, 3), ()]


def test_a_subgraph_without_events_collapses_to_its_assignments(built):
    with built.collapsible():
        holds, fails = built.fork()
        with built.join() as join:
            with join.path(holds):
                built.add(Assign("a"))
            with join.path(fails):
                built.add(Assign("b"))
    built.add(STEP)
    assert [getattr(node.payload, "target", None) for node in built.graph.nodes[1:]] == ["a", "b", None]
    assert built.edges() == [(0, 1, None), (1, 2, None), (2, 3, None)]


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(STEP, id="an event"),
        pytest.param(Assign("a", truth=True), id="it settles a condition"),
        pytest.param(Assign("a", scaled=True), id="it scales a loss"),
        pytest.param(Assign("trainer.optimizer"), id="another optimizer"),
        pytest.param(None, id="a jump"),
    ],
)
def test_a_subgraph_in_which_the_path_matters_does_not_collapse(payload, built):
    with built.collapsible():
        holds, fails = built.fork()
        with built.join() as join:
            with join.path(holds):
                built.add(payload) if payload is not None else built.jump([])
            with join.path(fails):
                pass
    built.add(STEP)
    assert built.edges()[0] == (0, 1, None)
    assert any(source == 1 and not outcome for source, _, outcome in built.edges())


def test_a_graph_has_a_limit(built, monkeypatch):
    monkeypatch.setattr(building, "MAX_NODES", 2)
    built.add(STEP)
    with pytest.raises(TooLargeError):
        built.add(STEP)
