"""CUDA graphs on a CPU: a capture records its operators, and a replay computes them again into the same memory.

The captured work is computed once while it is captured, where CUDA only records it; that can be told by numbers alone.
Like CUDA, a replay changes tensors behind the back of autograd: no version counter moves.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .gaps import Gaps
from .tensors import tensors_in


class _Capture(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Keeps each operator below autograd and autocast, with its inputs and outputs."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[tuple[Any, Any, Any, list[torch.Tensor]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.calls.append((func, args, kwargs or {}, list(tensors_in(result))))
        return result


class CUDAGraph:
    """`torch.cuda.CUDAGraph`, as far as programs call it."""

    __module__ = "torch.cuda"
    gaps: Gaps
    capturing = False

    def __init__(self, keep_graph: bool = False) -> None:
        self._capture: _Capture | None = None

    def capture_begin(self, *_args: Any, **_kwargs: Any) -> None:
        """Begin to record what this thread computes."""
        self.gaps("CUDA graphs")
        self._capture = _Capture()
        self._capture.__enter__()  # type: ignore[no-untyped-call]
        CUDAGraph.capturing = True

    def capture_end(self) -> None:
        """End the recording. Raises what CUDA raises where none has begun."""
        if self._capture is None:
            raise RuntimeError("capture_end() called before capture_begin().")
        CUDAGraph.capturing = False
        self._capture.__exit__(None, None, None)  # type: ignore[no-untyped-call]

    def replay(self) -> None:
        """Compute again what was captured, with what its inputs hold now. Raises what CUDA raises without a capture."""
        if self._capture is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        calls = self._capture.calls
        written = [each for func, args, _, _ in calls if func._schema.is_mutable for each in tensors_in(args)]
        with torch.no_grad(), torch._C._DisableAutocast(), _unnoticed(written):
            for func, args, kwargs, outputs in calls:
                for kept, made in zip(outputs, tensors_in(func(*args, **kwargs)), strict=True):
                    if kept.untyped_storage() is not made.untyped_storage():  # a view, or written in place
                        kept.data.copy_(made)

    def reset(self) -> None:
        self._capture = None

    def pool(self) -> tuple[int, int]:
        return (0, 0)

    def instantiate(self) -> None: ...

    def enable_debug_mode(self) -> None: ...

    def debug_dump(self, debug_path: str) -> None: ...


def _unnoticed(tensors: list[torch.Tensor]) -> contextlib.AbstractContextManager[object]:
    kept: Any = torch.autograd
    made: contextlib.AbstractContextManager[object] = kept._unsafe_preserve_version_counter(tuple(tensors))
    return made


class Graph(contextlib.AbstractContextManager[None]):
    """`with torch.cuda.graph(graph):`"""

    def __init__(self, cuda_graph: CUDAGraph, *_args: Any, **_kwargs: Any) -> None:
        self._graph = cuda_graph

    def __enter__(self) -> None:
        self._graph.capture_begin()

    def __exit__(self, *_error: object) -> None:
        self._graph.capture_end()
