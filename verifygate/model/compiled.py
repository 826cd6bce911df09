"""What `verifygate probe --compare-compile` prints: graphs that torch.compile captured, eagerly and compiled."""

from __future__ import annotations

from verifygate.model.base import Model


class Difference(Model):
    """An operation whose result is another one when it is compiled."""

    operator: str
    path: str = ""
    """Of the line that it comes from, below the root; empty where the capture noted none of the project's."""
    line: int = 0
    eager: str
    """dtype."""
    compiled: str
    """dtype."""
    error: float | None
    """||compiled - eager|| / ||eager||; null where it is not finite."""
    eps: float
    """Of the coarsest dtype among the results up to there."""


class CompiledGraph(Model):
    """One graph, at its first call, computed again with every intermediate result kept."""

    number: int
    results: int
    """How many results were compared."""
    error: float | None
    """The largest of all results; null where it is not finite."""
    first: Difference | None = None
    """The first operation that differs; None where all agree."""
    why_not: str = ""
    """Why it was not compared."""


class CompiledReport(Model):
    """The graphs of a run."""

    graphs: int
    """How many were captured; the first few are compared."""
    compared: tuple[CompiledGraph, ...] = ()
    not_measured: str = ""
    """Why nothing is known."""
