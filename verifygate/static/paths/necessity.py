"""Necessity: which branch decisions on an error path the violation needs, because no other path leads there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import pairwise

from verifygate.static.paths.error_path import Choice, ErrorPath
from verifygate.static.paths.states import PathNode, State

MAX_STATES = 3_000
"""States looked at for one decision; where no path around it is found by then, it counts as needed."""

Successors = Callable[[int, State], list[PathNode]]


class Necessity:
    """Looks, for each condition that may differ between iterations, at what happens where it comes out otherwise."""

    def __init__(self, successors: Successors, violating: set[PathNode], path: ErrorPath) -> None:
        self.successors = successors
        self.violating = violating
        """Where the violation shows."""
        self.path = path
        self._left = MAX_STATES

    def needed(self, steps: list[PathNode], given: frozenset[tuple[str, bool]], enough: int) -> set[Choice]:
        """The choices that the path through these steps needs, other than those that both ends of it stand under.

        No more than `enough` of them are looked for.
        """
        choices = self.path.choices()
        decided = {
            position: (fact, choice)
            for position, fact in self.path.decisions_at()
            if (choice := self.path.choice(steps[position][0], fact)) in choices
        }
        since = max((at for at, (number, _) in enumerate(steps[:-1]) if number == self.path.blamed), default=len(steps))
        found: set[Choice] = set()
        for position, ((number, state), (successor, _)) in enumerate(pairwise(steps)):
            if position not in decided or decided[position][1] in found:
                continue
            (atom, truth), choice = decided[position]
            if (atom.key, truth) in given:
                continue
            others = [step for step in self.successors(number, state) if step[0] != successor]
            self._left = MAX_STATES
            if not self._leads_to_violation(others, None if position >= since else number, since < len(steps)):
                found.add(choice)
                if len(found) >= enough:
                    break
        return found

    def _leads_to_violation(self, starts: list[PathNode], branch: int | None, earlier: bool) -> bool:
        """Whether the violation can be met from any of these, before what is to blame happens anew.

        Where that is still ahead (`branch` is the node of the condition), a path has to get there without testing it
        again.
        """
        blamed = self.path.blamed
        if branch is None or not earlier:
            return any(step in self.violating for step in self._until(starts, {blamed, branch or blamed}, set(starts)))
        behind: set[PathNode] = set()
        for step in self._until(starts, {blamed, branch}, set(starts)):
            if step[0] == blamed:
                following = [each for each in self.successors(*step) if each not in behind]
                behind.update(following)
                if any(each in self.violating for each in self._until(following, {blamed}, behind)):
                    return True
        return False

    def _until(self, starts: list[PathNode], barred: set[int], seen: set[PathNode]) -> Iterator[PathNode]:
        """Every state that can be met from these, up to the barred nodes, nearest first."""
        waiting = deque(starts)
        while waiting and self._left:
            self._left -= 1
            step = waiting.popleft()
            yield step
            for following in self.successors(*step) if step[0] not in barred else ():
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)
