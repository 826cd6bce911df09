"""Runs inside the subject's interpreter: a device that works through a queue while the host goes on, emulated.

What the device is given takes it a millisecond an operation and the host nothing; so the host's clock stands still
until it waits for the device. It waits where CUDA makes it wait: for a value that it reads, for `synchronize()`, for
`empty_cache()`, and for a copy that is not from pinned memory or not asked to run beside the host.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.data import DataLoader

from .counts import READ
from .observations import Seen, replaced

if TYPE_CHECKING:
    import torch

OPERATION = 1e-3
"""Seconds of the device for each operation."""
CLOCKS = ("time", "monotonic", "perf_counter")


class Queue(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """The device's time and the host's; operations of what records the run take neither."""

    def __init__(self, seen: Seen) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen = seen
        self.device_is_done = self.host = 0.0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not self.seen.aside:
            self.device_is_done += OPERATION
            if func.name() == READ:
                self.wait()
        return func(*args, **(kwargs or {}))

    def wait(self, *_arguments: object, **_keywords: object) -> None:
        """The host goes on when the device has done all that it was given."""
        self.seen.waits += 1
        self.host = self.device_is_done


class Copies(TorchFunctionMode):
    """Knows which tensors came of a loader, and waits when one is moved in a way that cannot run beside the host."""

    def __init__(self, queue: Queue) -> None:
        super().__init__()
        self.queue = queue
        self.pinned: dict[int, tuple[torch.Tensor, bool]] = {}

    def drawn(self, loader: Any) -> Iterator[Any]:
        """The batches of a loader, in place of its own iterator: what it does, the host does."""
        with self.queue.seen.recording():
            batches = _ITERATE(loader)
        while True:
            with self.queue.seen.recording():
                batch = next(batches, batches)
            if batch is batches:
                return
            self.pinned = {id(tensor): (tensor, loader.pin_memory) for tensor in tree_leaves(batch)}
            yield batch

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        if _moves(func, args, keywords):
            _, pinned = self.pinned.pop(id(args[0]), (None, None))
            if pinned is False or (pinned and not keywords.get("non_blocking")):
                self.queue.wait()
        return func(*args, **keywords)


def _moves(func: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Whether it is `to()` with a device, or `cuda()`; with a dtype alone, the tensor stays where it lies."""
    import torch

    name = getattr(func, "__name__", "")
    to_device = "device" in keywords or any(isinstance(each, str | torch.device) for each in args[1:])
    return name == "cuda" or (name == "to" and to_device)


_ITERATE = DataLoader.__iter__


def watch(stack: contextlib.ExitStack, seen: Seen, _model: torch.nn.Module) -> None:
    """Let the example train as if its tensors lay on such a device, and its clocks were that host's."""
    import torch

    queue = Queue(seen)
    copies = Copies(queue)

    def for_the_example(name: str, owner: Any, answer: Callable[[], object]) -> None:
        real = getattr(owner, name)

        def ask() -> object:
            return answer() if sys._getframe(1).f_code.co_filename == seen.filename else real()

        stack.enter_context(replaced(owner, name, ask))

    for name in CLOCKS:
        for_the_example(name, time, lambda: round(queue.host, 6))
    for_the_example("is_available", torch.cuda, lambda: True)
    for name in ("synchronize", "empty_cache"):
        stack.enter_context(replaced(torch.cuda, name, queue.wait))
    stack.enter_context(replaced(DataLoader, "__iter__", lambda loader: copies.drawn(loader)))
    stack.enter_context(queue)
    stack.enter_context(copies)
