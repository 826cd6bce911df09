"""An allowance of steps for searches: so many for one, and so many for all long ones together.

    allowance.begin()          # for the outermost question: its steps are counted anew
    if not allowance.step():
        return UNKNOWN         # cut short, which is to be told

A search that is cut short gives less, and never something else: what is not looked at is unknown.
"""

from __future__ import annotations


class Allowance:
    """`most` steps for one search; `few` once the searches with more than that have taken `in_all` together."""

    def __init__(self, most: int, in_all: int, few: int) -> None:
        self._most = most
        self._few = few
        self._left_in_all = in_all
        self._taken = 0
        self.is_cut = False
        """Whether the search at hand was cut short."""

    def begin(self) -> None:
        """A new search begins."""
        self._taken, self.is_cut = 0, False

    def step(self) -> bool:
        """Take a step; False where none is left, for this search or, of a long one, for all."""
        self._taken += 1
        if self._taken > self._few:
            self._left_in_all -= 1
        if self._taken > (self._most if self._left_in_all > 0 else self._few):
            self.is_cut = True
        return not self.is_cut
