"""Liveness of branch conditions on graphs written by hand: a chain of payloads, and where each node leads."""

from __future__ import annotations

import ast

import pytest

from verifygate.static.conditions.predicates import OneOf, Predicate, Remainder
from verifygate.static.lowering.event_graph import Assign, Branch, Graph, Node, Pass, Payload
from verifygate.static.paths.condition_liveness import implied, killed, live, next_iterations
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.values.access_paths import AccessPath, Root

FLAG, OTHER, INDEX = (AccessPath(Root("local", name, "train.py:train")) for name in ("flag", "other", "i"))
ON = Predicate(str(FLAG), frozenset({FLAG}))
OFF = Predicate(str(OTHER), frozenset({OTHER}))
LAST = Predicate("last of (i Mod n)", frozenset({INDEX}), remainder=Remainder("(i Mod n)", INDEX, closes=True))
FIRST = Predicate("first of (i Mod n)", frozenset({INDEX}), remainder=Remainder("(i Mod n)", INDEX, closes=False))


@pytest.fixture
def function(analysed) -> Function:
    """Any function: where a node stands plays no part here."""
    (found,) = (each for each in analysed("def train(): pass\n").functions if each.symbol == "train")
    return found


def graph_of(function: Function, payloads: list[Payload], edges: dict[int, list[int]]) -> Graph:
    location = Location(function, ast.Pass())
    nodes = [Node(payload, location, frozenset()) for payload in payloads]
    for number, following in edges.items():
        nodes[number].successors = [(each, None) for each in following]
    return Graph(function, nodes)


def chain(function: Function, *payloads: Payload) -> Graph:
    return graph_of(function, list(payloads), {number: [number + 1] for number in range(len(payloads) - 1)})


def test_a_condition_is_live_up_to_its_last_test(function: Function):
    graph = chain(function, Pass(), Branch(ON), Pass(), Branch(ON), Pass())
    assert live(graph, killed(graph)) == [{ON}, {ON}, {ON}, {ON}, set()]


@pytest.mark.parametrize(
    ("target", "before"),
    [(FLAG, set()), (OTHER, {ON}), (FLAG.attribute("part"), {ON})],
    ids=["itself", "another", "a part of it"],
)
def test_an_assignment_kills_what_reads_its_target(function: Function, target: AccessPath, before: set[Predicate]):
    graph = chain(function, Pass(), Assign(target), Branch(ON))
    assert live(graph, killed(graph))[0] == before


def test_a_part_is_killed_with_the_whole(function: Function):
    part = FLAG.attribute("on")
    reads_part = Predicate(str(part), frozenset({part}))
    graph = chain(function, Pass(), Assign(FLAG), Branch(reads_part))
    assert live(graph, killed(graph))[0] == set()


def test_a_condition_is_live_around_a_loop(function: Function):
    graph = graph_of(function, [Pass(), Branch(ON), Branch(OFF), Pass()], {0: [1], 1: [2, 3], 2: [1]})
    assert live(graph, killed(graph)) == [{ON, OFF}, {ON, OFF}, {ON, OFF}, set()]


def test_what_is_opaque_is_never_live(function: Function):
    """It may come out differently each time: there is nothing to remember."""
    graph = chain(function, Pass(), Branch(Predicate("call()", opaque=True, site=(1, 0))))
    assert live(graph, killed(graph))[0] == set()


def test_the_last_iteration_of_a_window_is_followed_by_the_first(function: Function):
    """`(i + 1) % n == 0` tells of the next iteration's `i % n == 0`: it is kept across the step of the counter."""
    graph = graph_of(
        function,
        [Pass(), Branch(LAST), Assign(INDEX, advances=True), Branch(FIRST), Pass()],
        {0: [1], 1: [2], 2: [3], 3: [4]},
    )
    assert next_iterations(graph) == {LAST: FIRST}
    assert live(graph, killed(graph))[2] == {LAST}


def test_a_value_that_equals_one_constant_equals_no_other(function: Function):
    fp16 = Predicate("mode is fp16", frozenset({FLAG}), among=OneOf(FLAG, frozenset({"'fp16'"})))
    half = Predicate("mode is half", frozenset({FLAG}), among=OneOf(FLAG, frozenset({"'fp16'", "'bf16'"})))
    fp32 = Predicate("mode is fp32", frozenset({FLAG}), among=OneOf(FLAG, frozenset({"'fp32'"})))
    found = implied(chain(function, Branch(fp16), Branch(half), Branch(fp32)))
    assert found[fp16, True] == {(half, True), (fp32, False)}
    assert found[half, True] == {(fp32, False)}
    assert found[half, False] == {(fp16, False)}
    assert found[fp32, True] == {(fp16, False), (half, False)}
