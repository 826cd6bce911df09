"""Work out answers that rest on each other, as deep as they go, without a call inside a call."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def depth_first(start: T, known: Container[T], look: Callable[[T], Iterator[T]]) -> None:
    """Work out the answer for `start`, and first those for all that it rests on.

    `look` notes in `known` that an answer is being worked out, yields what has to be known before it goes on, and at
    last notes the answer. What is known already, or is being worked out further up, is not looked at anew.
    """
    stack = [look(start)]
    while stack:
        following = next((each for each in stack[-1] if each not in known), None)
        if following is None:
            stack.pop()
        else:
            stack.append(look(following))
