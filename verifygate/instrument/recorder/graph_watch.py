"""Watch CUDA graphs: what a capture recorded of a backward happens at each replay, where no line of Python runs."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import torch

from ..patching.wrapping import After
from .recording import Arguments, Keywords, Recording


class _Backward(NamedTuple):
    """A backward that a capture recorded."""

    told: dict[str, Any]
    empty: set[int]
    """The optimizers that had no gradients before it."""


class GraphWatch:
    """Tells of the backwards of each replay."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._captured: list[_Backward] | None = None
        """Those of the capture that runs; None where none does."""
        self._of_graph: weakref.WeakKeyDictionary[Any, list[_Backward]] = weakref.WeakKeyDictionary()

    def patch(self) -> None:
        """Put the watch around the capture and the replay of graphs."""
        self._recording.around(torch.cuda.CUDAGraph, "capture_begin", self._begins)
        self._recording.around(torch.cuda.CUDAGraph, "capture_end", self._ends)
        self._recording.around(torch.cuda.CUDAGraph, "replay", self._replays)

    def captures(self, told: dict[str, Any], empty: set[int]) -> None:
        """A backward has run, as it was told; `empty` are the optimizers without gradients before it."""
        if self._captured is not None:
            self._captured.append(_Backward(told, empty))

    def _begins(self, _arguments: Arguments, _keywords: Keywords) -> None:
        self._captured = []

    def _ends(self, arguments: Arguments, _keywords: Keywords) -> None:
        if self._captured is not None:
            self._of_graph[arguments[0]] = self._captured
            self._captured = None

    def _replays(self, arguments: Arguments, _keywords: Keywords) -> After | None:
        backwards = self._of_graph.get(arguments[0])
        if not backwards:
            return None
        self._recording.notice_touched(list(self._recording.tracks))

        def after(_result: object, raised: BaseException | None) -> None:
            for each in backwards if raised is None else ():
                self._tell(each)

        return after

    def _tell(self, backward: _Backward) -> None:
        """Gradients that the capture found empty are written anew; those dropped since are no longer the graph's."""
        tracks = [each for each in self._recording.tracks if each.index in backward.told["optimizers"]]
        for track in tracks:
            track.changed()
        reached = [track for track in tracks if not track.is_empty]
        anew = [track.index for track in reached if track.index in backward.empty]
        if anew:
            self._recording.tell("zero_grad", optimizers=anew, by_hand=True)
        inf = [track.index for track in reached if not track.is_finite] or None
        told = backward.told | {"optimizers": [track.index for track in reached]}
        self._recording.tell("backward", **told, inf=inf)
