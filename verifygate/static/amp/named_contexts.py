"""Recognise `with` blocks over a context of a library, by the qualified name of what makes it."""

from __future__ import annotations

import ast

from verifygate.static.amp.roles import Region
from verifygate.static.values.domain import ExternalResult, Frame
from verifygate.static.values.evaluator import Evaluator

GRAPH_CAPTURES = frozenset({"torch.cuda.graph", "torch.cuda.graphs.graph"})
"""What captures the work of its block into a CUDA graph."""
CAPTURE_WORD = "cuda.graph"


class NamedContexts:
    """Tells a region that a call of one of some names opens."""

    def __init__(self, names: frozenset[str], evaluator: Evaluator) -> None:
        self._names = names
        self._last = tuple(sorted({name.rpartition(".")[2].encode() for name in names}))
        self._evaluator = evaluator

    def opened_by(self, expr: ast.expr, frame: Frame) -> Region | None:
        """The region that entering `expr` opens, or None where it opens none."""
        if not frame.function.module.mentions(*self._last):
            return None
        values = self._evaluator.values(expr, frame)
        made = [each for each in values if isinstance(each, ExternalResult) and each.name in self._names]
        return Region(True, made=made[0], optional=len(made) < len(values)) if made else None
