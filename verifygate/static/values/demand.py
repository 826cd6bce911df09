"""Demand-driven evaluation: questions that lead to one another, in one stack, whatever they are about.

A question that is asked again while it is being answered gets no answer there: names may be bound in circles. What
rests on such a gap is true only where it was asked from, and is not kept: asked from elsewhere, there may be more to
it. So what is kept does not depend on who asked first.

Two things end a search that grows too large: limits for one question, and a budget for all long searches together.
Where either cuts a search short, `cut_short` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

MAX_DEPTH = 80
MAX_STEPS = 20_000
"""Questions that one question leads to. Both are far from what programs need, and end a search that grows too large."""
LONG = 200
"""Steps from which on a search is long: one where a circle was met is followed by a search that settles the circle."""
MAX_IN_ALL = 1_000_000
"""Steps of all long searches together. Past it, each search is a short one at most."""

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
        self._in_all = 0
        """The steps of long searches so far."""
        self._circles: dict[Hashable, list[Any]] = {}
        """Question that was met while it was being answered -> how often, and what answers it, and keeps the answer."""
        self._most = MAX_STEPS
        self._is_cut = False
        self.cut_short: list[tuple[Any, ...]] = []
        """What the outermost questions were about of the searches that a limit, or the budget, cut short."""

    def kept(self, answers: dict[Any, T], key: Hashable, about: Hashable, find: Callable[[], T], unknown: T) -> T:
        """The answer that is kept under a key, or the one that is found now. `about`: what else tells the question."""
        if key in answers:
            return answers[key]
        question = (key, about)
        found, keep = self.answer(question, find, unknown)
        if keep:
            answers[key] = found
            if self._circles and not self._busy:
                self._settle()
        elif question in self._busy:
            self._circles.setdefault(question, [0, answers, key, find, unknown])[0] += 1
        return found

    def answer(self, question: Hashable, find: Callable[[], T], unknown: T) -> tuple[T, bool]:
        """The answer, `unknown` where there is none here; and whether it may be kept."""
        busy, depth = self._busy, len(self._busy)
        if not depth:
            self._steps, self._is_cut = 0, False
        self._steps += 1
        if question in busy or depth > MAX_DEPTH or self._steps > self._most:
            self._is_cut |= question not in busy
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
            if not depth:
                self._end(find)
            return found, True
        self._rests_on = min(self._rests_on, before)
        return found, False

    def _end(self, find: Callable[[], Any]) -> None:
        """A search has ended: was it long, or cut short?"""
        if self._steps > LONG:
            self._in_all += self._steps
            if self._in_all > MAX_IN_ALL:
                self._most = LONG
        if self._is_cut:
            self.cut_short.append(getattr(find, "args", ()))

    def _settle(self) -> None:
        """After a long search, ask what most of the gaps in it were about, too: who is in the circle finds it known.

        Without it, each of a thousand statements `loss = loss + ...` would go through all the others anew.
        """
        circles, self._circles = self._circles, {}
        if self._steps <= LONG:
            return
        open_yet = [question for question, (_, answers, key, *_) in circles.items() if key not in answers]
        if open_yet:
            question = max(open_yet, key=lambda each: circles[each][0])
            _, answers, key, find, unknown = circles[question]
            answers[key], _ = self.answer(question, find, unknown)
            self._circles.clear()
