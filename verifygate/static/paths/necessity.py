"""Which of the conditions decided on the way to a breach it needs: those round which no other way leads there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import pairwise

from verifygate.static.paths.path_triage import Way
from verifygate.static.paths.predecessors import Step
from verifygate.static.paths.states import State

MAX_STATES = 3_000
"""States looked at for one condition; where no way round it is found by then, it counts as needed."""

Onward = Callable[[int, State], list[Step]]


class Detours:
    """Asks, for each condition that may change from turn to turn, what had happened if it had come out otherwise."""

    def __init__(self, onward: Onward, broken: set[Step], way: Way) -> None:
        self.onward = onward
        self.broken = broken
        self.way = way
        self._left = MAX_STATES

    def needed(self, steps: list[Step], given: frozenset[tuple[str, bool]], enough: int) -> set[str]:
        """The conditions that the way through these steps needs, other than those that both ends of it stand under.

        No more than `enough` of them are looked for.
        """
        choices = self.way.choices()
        decided = {
            position: (fact, choice)
            for position, fact in self.way.decided_at()
            if (choice := self.way.choice(steps[position][0], fact)) in choices
        }
        since = max((at for at, (number, _) in enumerate(steps[:-1]) if number == self.way.blamed), default=len(steps))
        found: set[str] = set()
        for position, ((number, state), (successor, _)) in enumerate(pairwise(steps)):
            if position not in decided or decided[position][1] in found:
                continue
            (atom, truth), choice = decided[position]
            if (atom.text, truth) in given:
                continue
            others = [step for step in self.onward(number, state) if step[0] != successor]
            self._left = MAX_STATES
            if not self._leads_to_breach(others, None if position >= since else number, since < len(steps)):
                found.add(choice)
                if len(found) >= enough:
                    break
        return found

    def _leads_to_breach(self, starts: list[Step], asked: int | None, earlier: bool) -> bool:
        """Whether the breach can be met from any of these, before what is to blame happens anew.

        Where that is still ahead (`asked` is the node of the condition), a run has to get there without asking again.
        """
        blamed = self.way.blamed
        if asked is None or not earlier:
            return any(step in self.broken for step in self._until(starts, {blamed, asked or blamed}, set(starts)))
        behind: set[Step] = set()
        for step in self._until(starts, {blamed, asked}, set(starts)):
            if step[0] == blamed:
                following = [each for each in self.onward(*step) if each not in behind]
                behind.update(following)
                if any(each in self.broken for each in self._until(following, {blamed}, behind)):
                    return True
        return False

    def _until(self, starts: list[Step], barred: set[int], seen: set[Step]) -> Iterator[Step]:
        """Every state that can be met from these, up to the barred nodes, nearest first."""
        waiting = deque(starts)
        while waiting and self._left:
            self._left -= 1
            step = waiting.popleft()
            yield step
            for following in self.onward(*step) if step[0] not in barred else ():
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)
