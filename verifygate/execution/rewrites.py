"""What statements of the project made of scaled gradients, told from their sizes before and after.

A clip brings gradients of different sizes to one size: a norm, a largest value, or a norm of all of them together. That
size comes from a limit, so it does not grow with the loss scale, and the scaler divides it. A factor, or a sum over
processes, keeps the sizes apart; it is right on scaled gradients as well.

What is added to scaled gradients has to follow the scale. Weight decay and noise do not, if their factor, or their
size, stays the same while the scale changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from verifygate.events.record import Frame
from verifygate.execution.recorded_trace import Event

SAME, DIFFERENT = 1e-4, 1e-2
"""Relative: what counts as one size, and what as sizes that differ."""
NEAR, OFTEN = 0.05, 4
"""Relative: what counts as one size of random numbers, and in how many windows it has to be so."""
MOST_DECAY, LEAST_SCALE = 0.1, 256.0
"""No weights decay by more than that factor; one that is multiplied by such a scale is larger."""


@dataclass(frozen=True)
class Rewrite:
    """One statement's writes to the scaled gradients of one optimizer in a window, which the scaler then divided."""

    written: Event
    used: Event
    path: tuple[Event, ...]
    before: Event | None
    scale: float | None
    """The loss scale, where it is known."""
    read: bool = False
    """Whether the project read the scale in this window: what it writes may be multiplied by it."""


@dataclass
class Rewrites:
    """Those of a section, by statement and optimizer."""

    _seen: dict[tuple[tuple[Frame, ...], tuple[int, ...]], list[Rewrite]] = field(default_factory=dict)

    def add(self, rewrite: Rewrite) -> None:
        self._seen.setdefault((rewrite.written.frames, rewrite.written.optimizers()), []).append(rewrite)

    def clips(self) -> Iterator[tuple[Rewrite, bool]]:
        """The first write of each statement that clips, and whether its limit is known to ignore the scale."""
        for rewrites in self._seen.values():
            measured = [rewrite for rewrite in rewrites if rewrite.written.typed.measured.norm and not rewrite.read]
            sizes = [(size, rewrite.scale) for rewrite in measured for size in rewrite.written.typed.measured.sizes]
            whole = [(norm, rewrite.scale) for rewrite in measured if (norm := rewrite.written.typed.measured.norm)]
            for pairs in (
                [(a, b, scale) for (a, b, _, _), scale in sizes],
                [(a, b, scale) for (_, _, a, b), scale in sizes],
                [(a, b, scale) for (a, b), scale in whole],
            ):
                if (scales := _brought_to_one_size(pairs)) is not None:
                    yield measured[0], len(scales) > 1
                    break

    def sums(self) -> Iterator[tuple[Rewrite, bool]]:
        """The first write of each statement that adds what has no scale, and whether the scale changed meanwhile."""
        for rewrites in self._seen.values():
            added = [each for each in rewrites if each.written.typed.measured.added and each.scale]
            if added and (certain := _ignores_the_scale(added)) is not None:
                yield added[0], certain


def _ignores_the_scale(added: list[Rewrite]) -> bool | None:
    """Whether what a statement adds is known (True) or likely (False) to ignore the scale; None where it is neither."""
    scales = [each.scale or 0.0 for each in added]
    changed = len(set(scales)) > 1
    factors = [abs(each.written.typed.measured.multiple or 0.0) for each in added]
    if all(factors):
        if changed and max(factors) <= min(factors) * (1 + SAME):
            return True
        by_scale = [factor / scale for factor, scale in zip(factors, scales, strict=True)]
        follows = changed and max(by_scale) <= min(by_scale) * (1 + DIFFERENT)
        read = any(each.read for each in added)
        return None if follows or read or max(factors) > MOST_DECAY or min(scales) < LEAST_SCALE else False
    sizes = [each.written.typed.measured.added or 0.0 for each in added]
    often = changed and len(sizes) >= OFTEN
    return True if often and max(sizes) <= min(sizes) * (1 + NEAR) else None


def _brought_to_one_size(pairs: list[tuple[float, float, float | None]]) -> set[float] | None:
    """The loss scales under which different sizes became the same; None where they did not.

    At least half of what shrank must have become so: what is alike by chance is no clip.
    """
    shrunk = sorted(((b, a, scale) for a, b, scale in pairs if 0 < b < a * (1 - DIFFERENT)), key=lambda one: one[0])
    by_scale = [b / scale for b, _, scale in shrunk if scale]
    has_several = len({scale for _, _, scale in shrunk}) > 1 and len(by_scale) == len(shrunk)
    if has_several and max(by_scale) <= min(by_scale) * (1 + SAME):
        return None  # a limit that is multiplied by the scale
    classes: list[list[tuple[float, float, float | None]]] = []
    for one in shrunk:
        if classes and one[0] <= classes[-1][0][0] * (1 + SAME):
            classes[-1].append(one)
        else:
            classes.append([one])
    largest = max(classes, key=len, default=[])
    sizes = [a for _, a, _ in largest]
    if len(largest) < 2 or 2 * len(largest) < len(shrunk) or max(sizes) < min(sizes) * (1 + DIFFERENT):
        return None
    return {scale for _, _, scale in largest if scale is not None}
