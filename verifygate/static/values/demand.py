"""Demand-driven evaluation: questions that lead to one another, in one stack, whatever they are about.

A question that is asked again while it is being answered gets no answer there: names may be bound in circles. What
rests on such a gap is true only where it was asked from, and is not kept: asked from elsewhere, there may be more to
it. So what is kept does not depend on who asked first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

MAX_DEPTH = 80
MAX_STEPS = 20_000
"""Questions that one question leads to. Both are far from what programs need, and end a search that grows too large."""

T = TypeVar("T")


class Demand:
    """The questions that are being answered, each of which led to the next one."""

    def __init__(self) -> None:
        self._busy: dict[Hashable, int] = {}
        """Question -> how deep in the stack."""
        self._rests_on = MAX_DEPTH
        """The outermost question that an answer lacks the answer of."""
        self._steps = self.gaps = 0
        """Gaps: how often a question got no answer. What was found between two equal counts rests on none."""

    def kept(self, answers: dict[Any, T], key: Hashable, about: Hashable, find: Callable[[], T], unknown: T) -> T:
        """The answer that is kept under a key, or the one that is found now. `about`: what else tells the question."""
        if key in answers:
            return answers[key]
        found, keep = self.answer((key, about), find, unknown)
        if keep:
            answers[key] = found
        return found

    def answer(self, question: Hashable, find: Callable[[], T], unknown: T) -> tuple[T, bool]:
        """The answer, `unknown` where there is none here; and whether it may be kept."""
        busy, depth = self._busy, len(self._busy)
        if not depth:
            self._steps = 0
        self._steps += 1
        if question in busy or depth > MAX_DEPTH or self._steps > MAX_STEPS:
            self.gaps += 1
            self._rests_on = min(self._rests_on, busy.get(question, -1))
            return unknown, False
        busy[question] = depth
        gaps, before = self.gaps, self._rests_on
        self._rests_on = MAX_DEPTH
        try:
            found = find()
        finally:
            del busy[question]
        if self._rests_on >= depth or not depth:
            self.gaps, self._rests_on = gaps, before
            return found, True
        self._rests_on = min(self._rests_on, before)
        return found, False
