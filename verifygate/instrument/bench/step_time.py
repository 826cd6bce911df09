"""Where the host's time of a step goes: preparing data, and lines that somebody asks about."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter as clock
from types import FrameType
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.data import dataloader


class DataTime:
    """Seconds of a step that pass before a forward: since the step, a backward or an optimizer's step was done.

    That is when a batch is drawn, put together and moved, unless workers did it ahead of time.
    """

    def __init__(self, synchronize: Callable[[], object]) -> None:
        self.synchronize = synchronize
        self.seconds = 0.0
        self.forwards = 0
        self.loader_seconds = 0.0
        self.loads = 0
        """How often a torch DataLoader was asked for a batch."""
        self._since: float | None = None
        self._depth = 0

    def begin(self) -> None:
        """A step begins."""
        self.seconds = self.loader_seconds = 0.0
        self.forwards = self.loads = self._depth = 0
        self._mark()

    def _mark(self, *_: object) -> None:
        self._since = clock()

    def _forward_begins(self, *_: object) -> None:
        self._depth += 1
        if self._depth == 1:
            self.forwards += 1
            if self._since is not None:
                self.synchronize()  # what the host has asked for so far is a part of preparing the batch
                self.seconds += clock() - self._since
            self._since = None

    def _forward_ends(self, *_: object) -> None:
        self._depth -= 1

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Be told of forwards, backwards, optimizer steps and loaders."""
        loader: Any = dataloader._BaseDataLoaderIter
        backward, load = torch.autograd.backward, loader.__next__

        def marked(*arguments: Any, **keywords: Any) -> Any:
            result = backward(*arguments, **keywords)
            self._mark()
            return result

        def timed(iterator: Any) -> Any:
            began = clock()
            try:
                return load(iterator)
            finally:
                self.loader_seconds += clock() - began
                self.loads += 1

        hooks = [
            register_module_forward_pre_hook(self._forward_begins),
            register_module_forward_hook(self._forward_ends, always_call=True),
            register_optimizer_step_post_hook(self._mark),
        ]
        torch.autograd.backward = marked
        loader.__next__ = timed
        try:
            yield
        finally:
            torch.autograd.backward = backward
            loader.__next__ = load
            for hook in hooks:
                hook.remove()


class LineClock:
    """Seconds that pass in given lines of the project, and how often they are reached; by a trace function."""

    def __init__(self, root: Path, lines: Sequence[tuple[str, int, int]]) -> None:
        """`lines` are paths below `root`, with the first and the last line of a statement."""
        self.wanted: dict[str, list[tuple[int, int, int]]] = {}
        for number, (path, first, last) in enumerate(lines):
            self.wanted.setdefault(f"{root}{os.sep}{path}", []).append((first, last, number))
        self.seconds = [0.0] * len(lines)
        self.passes = [0] * len(lines)
        self._running: dict[int, tuple[int, float]] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Trace what is called below; nothing at all where no line was asked for, or another tracer is on."""
        if not self.wanted or sys.gettrace() is not None:
            yield
            return
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(None)

    def _call(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        targets = self.wanted.get(frame.f_code.co_filename)
        if targets is None:
            return None
        lines = {line for _, _, line in frame.f_code.co_lines() if line is not None}
        return self._line if any(first <= line <= last for first, last, _ in targets for line in lines) else None

    def _line(self, frame: FrameType, event: str, _argument: Any) -> Any:
        now, key, line = clock(), id(frame), frame.f_lineno
        inside = None
        if event == "line":
            targets = self.wanted[frame.f_code.co_filename]
            inside = next((number for first, last, number in targets if first <= line <= last), None)
        running = self._running.get(key)
        if running is not None and running[0] != inside:
            number, began = self._running.pop(key)
            self.seconds[number] += now - began
        if inside is not None and key not in self._running:
            self._running[key] = (inside, now)
            self.passes[inside] += 1
        return self._line
