"""Compute one captured graph twice, eagerly and compiled, with every intermediate result kept, and compare them.

A compiler fuses operations, so what it computes in between cannot be seen. Here it compiles a copy of the graph that
returns each floating-point result as well. The same inputs, random state and autocast state go into both. Copies
compute: the run's own tensors and random state are as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from ..patching.frames import foreign

Backend = Callable[[GraphModule, list[Any]], Callable[..., Any]]
MOST_NODES = 4_000
EPS_OFF = 16
"""By how many eps of the coarsest dtype up to there a result may differ: a fused kernel rounds less often."""


class NotComparableError(Exception):
    """Why a graph cannot be computed again without doing harm."""


def copied(graph: GraphModule) -> GraphModule:
    """A copy to compute with; a backend may change the graph that it is given."""
    nodes = Graph()
    nodes.output(nodes.graph_copy(graph.graph, {}))
    return GraphModule(graph, nodes)


def compared(graph: GraphModule, backend: Backend, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """`results` (how many), the largest `error`, and the `first` that differs, if one does.

    Raises NotComparableError, and what the graph or the backend raises.
    """
    if any(True for _ in (*graph.parameters(), *graph.buffers())):
        raise NotComparableError("the graph holds weights itself, which computing again may change")
    kept, nodes = _with_results(graph)
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        state = torch.get_rng_state()
        exact = kept(*_cloned(arguments))
        torch.set_rng_state(state)
        found = backend(copied(kept), list(_cloned(arguments)))(*_cloned(arguments))
    told: dict[str, Any] = {"results": 0, "error": 0.0, "first": None}
    eps = 0.0
    for node, eager, compiled in zip(nodes, exact, found, strict=True):
        if not isinstance(eager, torch.Tensor) or not eager.is_floating_point():
            continue
        told["results"] += 1
        eps = max(eps, torch.finfo(eager.dtype).eps)
        error = _error(eager, compiled)
        told["error"] = max(told["error"], error)
        differs = eager.dtype is not compiled.dtype or error > EPS_OFF * eps
        if differs and told["first"] is None:
            told["first"] = {
                "operator": _operator(node),
                "place": _place(node),
                "eager": str(eager.dtype).removeprefix("torch."),
                "compiled": str(compiled.dtype).removeprefix("torch."),
                "error": error,
                "eps": eps,
            }
    return told


def _with_results(graph: GraphModule) -> tuple[GraphModule, list[Node]]:
    """A copy of the graph that returns what its operations give, and those operations."""
    kept = copied(graph)
    operations = [node for node in kept.graph.nodes if node.op in ("call_function", "call_method", "call_module")]
    nodes = [node for node in operations[:MOST_NODES] if isinstance(_value(node), torch.Tensor)]
    kept.graph.output_node().args = (tuple(nodes),)
    kept.recompile()
    return kept, nodes


def _value(node: Node) -> Any:
    """What was computed for a node while the graph was captured, without values."""
    return node.meta.get("example_value", node.meta.get("val"))


def _cloned(arguments: tuple[Any, ...]) -> Iterator[Any]:
    return (each.detach().clone() if isinstance(each, torch.Tensor) else each for each in arguments)


def _error(eager: torch.Tensor, compiled: torch.Tensor) -> float:
    """||compiled - eager|| / ||eager||; 0 where both are equal, NaN for NaN; inf where one alone is not finite."""
    one, other = eager.double(), compiled.double()
    if one.shape != other.shape:
        return float("inf")
    same = (one == other) | (one.isnan() & other.isnan())
    if bool(same.all()):
        return 0.0
    distance, size = float((one - other).norm()), float(one.norm())
    return distance / size if size and distance < float("inf") else float("inf")


def _operator(node: Node) -> str:
    return str(getattr(node.target, "__name__", node.target))


def _place(node: Node) -> tuple[str, int]:
    """The innermost line of the project that the operation comes from; `("", 0)` where the capture noted none."""
    lines = [line.split('"') for line in (node.stack_trace or "").splitlines() if line.lstrip().startswith("File ")]
    for parts in reversed(lines):
        if len(parts) > 2 and not foreign(parts[1]):
            return parts[1], int("".join(each for each in parts[2].split(",")[1] if each.isdigit()) or 0)
    return "", 0
