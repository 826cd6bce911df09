"""What does the root of a backward descend from: a scaled loss, an event? Marks on autograd nodes tell."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import torch

MARK = "verifygate scaler"
EVENT_MARK = "verifygate event"
NODES = 48
"""Nodes of the graph looked at below a root: sums and quotients of scaled losses lie right there."""
NEAR = 2_000
"""Nodes looked at for what events marked: a loss, and the penalties that it is made of."""
DEEP, MAX_MISSES = 20_000, 4
"""Nodes looked at, and how often in vain, before a root is called plain: scaled outputs lie below a whole loss."""


class Roots:
    """The marks, and what else bears on a root's kind."""

    def __init__(self) -> None:
        self.scale_read = False
        """Whether the project read the scale since the last update: it may have multiplied by hand."""
        self.asked: set[int] = set()
        """The places where it read the scale."""
        self._live = False
        """Whether a scaler has scaled anything."""
        self._misses = 0
        """How often a deep look found nothing."""
        self.marked_events = 0
        """Results that events marked since the last backward."""

    def forget(self) -> None:
        self.scale_read = self._live = False
        self.asked.clear()
        self._misses = self.marked_events = 0

    def mark_event(self, results: Any, event: int) -> None:
        """Mark results of the operation that this event tells of."""
        for tensor in _tensors(results):
            node: Any = tensor.grad_fn
            if node is not None:
                node.metadata[EVENT_MARK] = event
                self.marked_events += 1

    def events_below(self, tensors: Any) -> list[int]:
        """The events whose results the roots of a backward descend from."""
        if not self.marked_events:
            return []
        self.marked_events = 0
        nodes = _below([tensor.grad_fn for tensor in _tensors(tensors)], NEAR)
        return sorted({node.metadata[EVENT_MARK] for node in nodes if EVENT_MARK in node.metadata})

    def mark(self, scaled: Any, scaler: int) -> None:
        """Mark the result of `scale()`: a tensor, or a container of them."""
        self._live = True
        for tensor in _tensors(scaled):
            node: Any = tensor.grad_fn
            if node is not None:
                node.metadata[MARK] = scaler

    def kind(self, tensors: Any, weights: Any) -> tuple[str, int | None]:
        """`scaled` with the scaler's number, `plain`, or `unclear` where it may have been scaled by hand."""
        roots = [tensor.grad_fn for tensor in _tensors(tensors) if tensor.grad_fn is not None]
        if not self._live:
            return "plain", None
        looked = 0
        for node in _below(roots, DEEP if self._misses < MAX_MISSES else NODES):
            if MARK in node.metadata:
                return "scaled", node.metadata[MARK]
            looked += 1
        self._misses += looked > NODES
        by_hand = self.scale_read and any(_is_factor(node) for node in _below(roots, 4))
        weighted = weights is not None and any(weight is not None for weight in _listed(weights))
        return ("unclear" if by_hand or weighted else "plain"), None


def share_of(tensors: Any) -> float | None:
    """The number that a loss was multiplied by, or divided: `loss / 4` gives 0.25; None for none.

    What a scaler did is left out. A number that somebody's hooks keep is not asked for: they would run.
    """
    roots = [tensor.grad_fn for tensor in _tensors(tensors)]
    node: Any = roots[0] if len(roots) == 1 else None
    share = 1.0
    for _ in range(4):
        if node is None or not _is_factor(node) or node.next_functions[-1][0] is not None:
            break
        if MARK not in node.metadata:
            kept: Any = getattr(node, "_raw_saved_other", None)
            if getattr(kept, "unpack_hook", True) is not None or not isinstance(kept.data, torch.Tensor):
                break
            if kept.data.numel() != 1 or kept.data.device.type != "cpu":
                break
            value: Any = kept.data.tolist()  # a dispatch mode is handed the number itself, and `item` fails
            number = float(value[0] if isinstance(value, list) else value)
            share *= number if node.name().startswith("Mul") or not number else 1.0 / number
        node = node.next_functions[0][0]
    return share if share != 1.0 else None


def factor_near(outputs: Any) -> bool:
    """Whether the outputs were multiplied or divided right before: by a scale, it may be."""
    return any(map(_is_factor, _below([tensor.grad_fn for tensor in _tensors(outputs)], 4)))


def half_below(outputs: Any) -> bool:
    """Whether float16 results, of which gradients are float16, lie between the outputs and what they depend on."""
    return any(
        each.dtype is torch.float16
        for node in _below([tensor.grad_fn for tensor in _tensors(outputs)], NEAR)
        for each in getattr(node, "_input_metadata", ())
    )


def _is_factor(node: Any) -> bool:
    return bool(node.name().startswith(("Mul", "Div")))


def _below(roots: list[Any], limit: int) -> Iterator[Any]:
    """The first nodes below some, the nearest first."""
    seen: set[Any] = set()
    pending = deque(roots)
    while pending and len(seen) < limit:
        node = pending.popleft()
        if node is None or node in seen:
            continue
        seen.add(node)
        yield node
        pending += [child for child, _ in node.next_functions]


def _tensors(value: Any) -> list[torch.Tensor]:
    return [each for each in _listed(value) if isinstance(each, torch.Tensor)]


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
