"""The closure of a set under a successor function."""

from __future__ import annotations

import pytest

from verifygate.base.fixpoint import fixpoint

EDGES = {"a": "bc", "b": "d", "c": "d", "d": "a", "e": "e"}


@pytest.mark.parametrize(("start", "closed"), [("", ""), ("a", "acdb"), ("e", "e"), ("ad", "dacb"), ("ee", "e")])
def test_closure(start: str, closed: str):
    """In the order in which they are found, each once."""
    assert "".join(fixpoint(start, EDGES.__getitem__)) == closed


def test_successors_are_asked_for_once():
    calls = []
    fixpoint("a", lambda each: calls.append(each) or EDGES[each])
    assert sorted(calls) == ["a", "b", "c", "d"]
