"""Runs inside the subject's interpreter: count what an example gives torch and the host to do.

On a CPU nothing waits for the host; what is counted is what would make it wait on an accelerator.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data._utils.fetch import _MapDatasetFetcher

from .observations import Seen, replaced

if TYPE_CHECKING:
    import torch

READ = "aten::_local_scalar_dense"
"""What `item()`, `float()` and their like come down to: the value goes to the host, which waits until there is one."""


class Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the operations, but for those of what records the run."""

    def __init__(self, seen: Seen) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen = seen

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not self.seen.aside:
            self.seen.operations += 1
            self.seen.reads += func.name() == READ
        return func(*args, **(kwargs or {}))


def watch(stack: contextlib.ExitStack, seen: Seen, _model: torch.nn.Module) -> None:
    """Count operations, reads on the host, and items that a DataLoader takes in this process and not in a worker."""
    fetch = _MapDatasetFetcher.fetch

    def counted(fetcher: Any, index: Any) -> Any:
        seen.loaded += len(index) if isinstance(index, list) else 1
        return fetch(fetcher, index)  # type: ignore[no-untyped-call]

    stack.enter_context(replaced(_MapDatasetFetcher, "fetch", counted))
    stack.enter_context(Operations(seen))
