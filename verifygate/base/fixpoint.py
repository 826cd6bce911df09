"""Fixpoint: the closure of a set under a successor function."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, KeysView
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def fixpoint(start: Iterable[T], successors: Callable[[T], Iterable[T]]) -> KeysView[T]:
    """Close a set under a function: the least set that holds the start and the successors of all its elements.

        fixpoint(["a"], {"a": ["b"], "b": ["a", "c"], "c": []}.__getitem__)  # a, b, c

    The elements are in the order of a depth-first search, which is the same in every run; `successors` is called once
    for each.
    """
    found: dict[T, None] = {}
    ahead = list(start)
    while ahead:
        each = ahead.pop()
        if each not in found:
            found[each] = None
            ahead += successors(each)
    return found.keys()
