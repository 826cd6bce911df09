"""Ratios of probabilities made of log-probabilities that half precision has rounded: policy losses, preference losses.

A log-probability of -6 in bfloat16 has neighbours 0.03 apart, and a policy moves by less in a step. What a softmax, a
logsumexp or the logarithm of a softmax gives is followed to the difference of two of them, and on to the exponential
or the sigmoid of that. The values tell whether both sides were rounded, or one alone, as where a rollout computes
in another precision than the training.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

from ..recorder.recording import Recording
from ..recorder.update_watch import spread
from .breaking import HALF, tensors

FOLLOWED = frozenset(
    """gather index index_select take select slice squeeze unsqueeze view _unsafe_view reshape transpose t permute
    expand alias detach clone _to_copy neg mul div clamp where masked_fill""".split()  # noqa: SIM905
)
"""Operators that hand on what they are given: the same numbers, some of them, or a multiple."""
ENDS = frozenset("exp expm1 sigmoid log_sigmoid_forward softplus".split())  # noqa: SIM905
COARSE = 0.01
"""The distance of two neighbours, from which on a ratio shows it: one percent."""
MOVED = 0.25
"""The share of the differences that is not 0, from which on the two sides are of different weights."""
FEWEST = 8
MOST = 4
"""Differences that are told of a step."""


class Kind(StrEnum):
    """What a tensor of the watched step is."""

    SHARES = "shares"
    SUM = "sum"
    LOGARITHMS = "logarithms"
    DIFFERENCE = "difference"


class LogRatios:
    """Follows log-probabilities through the step that is watched."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._known: Any = WeakIdKeyDictionary()
        """Tensor -> what it is, and what is known of it: of logarithms the logits, of a difference what is lost."""
        self.found: list[dict[str, Any]] = []

    def begin(self) -> None:
        self._known = WeakIdKeyDictionary()
        self.found = []

    def after(self, name: str, arguments: tuple[Any, ...], result: Any) -> None:
        """An operation of a forward that has run."""
        if name in ("_softmax", "_log_softmax", "logsumexp"):
            kinds = {"_softmax": Kind.SHARES, "_log_softmax": Kind.LOGARITHMS, "logsumexp": Kind.SUM}
            self._known[result] = (kinds[name], self._logits(arguments[0]))
            return
        if not len(self._known) or not arguments:
            return
        given = [each for each in arguments[:2] if isinstance(each, torch.Tensor)]
        known = [self._known[each] for each in given if each in self._known]
        if not known:
            return
        kind, told = known[0]
        if name in ENDS:
            self._end(name, kind, told, given[0])
        elif name == "log" and kind is Kind.SHARES:
            self._keep(result, Kind.LOGARITHMS, told)
        elif name == "sub" and len(given) == 2:
            self._subtract(given[0], given[1], result)
        elif name in FOLLOWED:
            self._keep(result, kind, told)

    def _keep(self, result: Any, kind: Kind, told: dict[str, Any]) -> None:
        for each in tensors((result,)):
            self._known[each] = (kind, told)

    def _subtract(self, one: Any, other: Any, result: Any) -> None:
        kinds = [self._known[each][0] if each in self._known else None for each in (one, other)]
        if kinds == [None, Kind.SUM]:
            self._keep(result, Kind.LOGARITHMS, self._known[other][1])
        elif Kind.LOGARITHMS in kinds and one.shape == other.shape and {*kinds} <= {None, Kind.LOGARITHMS}:
            self._keep(result, Kind.DIFFERENCE, self._what_is_lost(one, other))

    def _can_be_read(self, values: Any) -> bool:
        return values.numel() >= FEWEST and self._recording.is_readable(values)

    def _logits(self, given: Any) -> dict[str, Any]:
        """The half precision that logits were rounded to, and how far neighbours are; empty where it is not known."""
        if not self._can_be_read(given):
            return {}
        values = spread(given).float()
        dtype = _grid(values)
        return {"logits": dtype, "width": float(_steps(values, dtype).median()) if dtype is not None else 0.0}

    def _what_is_lost(self, one: Any, other: Any) -> dict[str, Any]:
        """What rounding does to a difference; empty where it is fine enough, or cannot be read."""
        if not self._can_be_read(one):
            return {}
        wide = [spread(each).float() for each in (one, other)]
        grids = [_grid(each) for each in wide]
        dtype = grids[0] or grids[1]
        distance = (wide[0] - wide[1]).abs()
        moved = distance > 0
        if float(moved.float().mean()) < MOVED:
            return {}
        if dtype is None:
            return self._of_other_logits(one, other)
        step = _steps(wide[0] if grids[0] else wide[1], dtype)
        steps = float((distance / step)[moved].median())
        width = float(step[moved].median())
        return {} if steps > 1.5 else self._lost(dtype, width, both=None not in grids)

    def _of_other_logits(self, one: Any, other: Any) -> dict[str, Any]:
        """Both sides are fine, and the logits of one alone were rounded."""
        known = [self._known[each][1] if each in self._known else {} for each in (one, other)]
        rounded = [each for each in known if each.get("logits") is not None]
        if len(rounded) != 1 or not all("logits" in each for each in known):
            return {}
        return self._lost(rounded[0]["logits"], rounded[0]["width"], both=False)

    def _lost(self, dtype: torch.dtype, width: float, *, both: bool) -> dict[str, Any]:
        if width < COARSE:
            return {}
        name = str(dtype).removeprefix("torch.")
        return {"at": self._recording.places.here(), "dtype": name, "figure": width, "both": both}

    def _end(self, name: str, kind: Kind, told: dict[str, Any], given: Any) -> None:
        if kind is Kind.DIFFERENCE and told and given.requires_grad and len(self.found) < MOST:
            both = {k: v for k, v in told.items() if k != "both"}
            what = "ratio-of-rounded" if told["both"] else "ratio-of-two-precisions"
            self.found.append({"kind": what, "operator": name, **both})


def _steps(values: Any, dtype: torch.dtype) -> Any:
    """The distance from each value to its neighbour in a dtype."""
    return torch.finfo(dtype).eps * torch.exp2(torch.floor(torch.log2(values.abs().clamp_min(1e-30))))


def _grid(values: Any) -> torch.dtype | None:
    """The half precision that holds all of these values as they are; the coarser one first."""
    return next((dtype for dtype in reversed(HALF) if bool((values.to(dtype).float() == values).all())), None)
