"""Which writes to scaled gradients are a clip: told from sizes before and after."""

from __future__ import annotations

import pytest

from verifygate.events.record import Frame
from verifygate.execution.recorded_trace import Event
from verifygate.execution.rewrites import Rewrite, Rewrites

Sizes = list[tuple[float, float]]


def _rewrites(windows: list[Sizes], scales: list[float]) -> Rewrites:
    """One statement in several windows; norms of each tensor before and after, and largest values that tell nothing."""
    rewrites = Rewrites()
    for number, (sizes, scale) in enumerate(zip(windows, scales, strict=True), 1):
        together = [sum(size[side] ** 2 for size in sizes) ** 0.5 for side in (0, 1)]
        fields = {"optimizers": [1], "norm": together, "sizes": [[*size, 1.0, 1.0] for size in sizes]}
        written = Event(number, "written", number, (Frame("train.py", "clip", 3),), "", fields)
        rewrites.add(Rewrite(written, written, (written,), None, scale))
    return rewrites


@pytest.mark.parametrize(
    ("windows", "scales", "found"),
    [
        ([[(8.0, 1.0), (5.0, 1.0)]], [64.0], [False]),  # each tensor to one norm
        ([[(8.0, 1.0), (5.0, 1.0)], [(6.0, 1.0), (9.0, 1.0)]], [64.0, 128.0], [True]),  # whatever the scale is
        ([[(8.0, 0.8), (6.0, 0.6)], [(3.0, 0.6), (4.0, 0.8)]], [64.0, 64.0], [False]),  # all together
        ([[(8.0, 1.0), (5.0, 1.0)], [(0.5, 0.5), (0.7, 0.7)]], [64.0, 64.0], [False]),  # where they exceed it
        ([[(8.0, 1.0), (5.0, 1.0)], [(8.0, 2.0), (5.0, 2.0)]], [64.0, 128.0], []),  # a limit times the scale
        ([[(8.0, 4.0), (5.0, 2.5)], [(6.0, 3.0), (9.0, 4.5)]], [64.0, 64.0], []),  # a factor
        ([[(8.0, 8.1), (5.0, 5.1)]], [64.0], []),  # a term that is added
        ([[(8.0, 0.0), (5.0, 0.0)], [(3.0, 0.0), (4.0, 0.0)]], [64.0, 64.0], []),  # frozen
        ([[(8.0, 1.0), (8.0, 1.0)]], [64.0], []),  # the same before
        ([[(8.0, 1.0), (7.0, 2.0), (6.0, 3.0), (5.0, 1.0), (4.0, 0.5)]], [64.0], []),  # by chance
    ],
)
def test_a_clip_brings_sizes_to_one(windows: list[Sizes], scales: list[float], found: list[bool]):
    assert [certain for _, certain in _rewrites(windows, scales).clips()] == found
