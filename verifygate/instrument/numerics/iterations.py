"""Count the iterations of a training: an optimizer of several steps once in each."""

from __future__ import annotations

from ..recorder.gradient_versions import Track


class Iterations:
    """An iteration begins with the first step, and then with each of an optimizer that has stepped in it already.

    So it does with the first step of one that was made since: the run has begun anew.
    """

    def __init__(self) -> None:
        self.number = 0
        self._in_this: set[int] = set()
        self._newest = 0

    def stepped(self, track: Track | None, newest: int) -> bool:
        """Count a step; returns whether it was the first of its iteration. `newest`: of the optimizers there are."""
        index = track.index if track is not None else 0
        is_new = not self._in_this or index in self._in_this or index > self._newest
        if is_new:
            self.number += 1
            self._in_this.clear()
            self._newest = newest
        self._in_this.add(index)
        return is_new
