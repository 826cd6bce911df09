"""Compare what torch.compile makes of each graph with the graph, at the first call of each of the first graphs."""

from __future__ import annotations

import atexit
import functools
from typing import Any

from ..launch import Tell
from ..recorder import install as recorder
from .comparison import Backend, compared, copied

GRAPHS = 8
"""How many graphs of a run are compared."""


class Graphs:
    """The graphs of a run, as dynamo hands them to the backend."""

    def __init__(self, recording: Any, tell: Tell) -> None:
        self._recording, self._tell = recording, tell
        self._made = 0

    def around(self, get: Any) -> Any:
        """`get_compiler_fn`, whose backends are compared."""

        @functools.wraps(get)
        def looked_up(chosen: Any) -> Any:
            return self._watched(get(chosen))

        return looked_up

    def _watched(self, backend: Any) -> Backend:
        @functools.wraps(backend)
        def compile_and_compare(graph: Any, inputs: list[Any], **options: Any) -> Any:
            self._made += 1
            number = self._made
            original = copied(graph) if number <= GRAPHS else None
            made = backend(graph, inputs, **options)
            if original is None:
                return made
            pending = [original]

            @functools.wraps(made)
            def call(*arguments: Any) -> Any:
                if pending:
                    self._compare(number, pending.pop(), backend, arguments)
                return made(*arguments)

            return call

        return compile_and_compare

    def _compare(self, number: int, graph: Any, backend: Backend, arguments: tuple[Any, ...]) -> None:
        from torch._inductor import config

        told: dict[str, Any] = {"results": 0, "error": 0.0, "first": None, "why_not": ""}
        active, self._recording.active = self._recording.active, False
        try:
            with config.patch(fallback_random=True):  # else dropout draws other numbers
                told |= compared(graph, backend, arguments)
        except Exception as error:  # the backend's, which cannot return every result
            told["why_not"] = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
        finally:
            self._recording.active = active
        self._tell("compiled-graph", number=number, **told)

    def end(self) -> None:
        self._tell("compiled", graphs=self._made)


def install(_options: dict[str, Any], tell: Tell) -> None:
    """Look at each graph that dynamo captures. The recorder is installed before."""
    from torch._dynamo import eval_frame

    if recorder.current is None:
        raise RuntimeError("the recorder is not installed")
    graphs = Graphs(recorder.current, tell)
    eval_frame.get_compiler_fn = graphs.around(eval_frame.get_compiler_fn)
    atexit.register(graphs.end)
