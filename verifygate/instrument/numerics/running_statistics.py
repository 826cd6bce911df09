"""Running statistics of a batch norm in half precision: a variance that overflows, an average that stops on its way.

The loss shows neither: a training uses the statistics of the batch, and an evaluation those that were kept. In a
watched step they are compared with what float32 makes of the same input.
"""

from __future__ import annotations

from typing import Any

import torch

from ..recorder.recording import Recording
from .breaking import HALF, MAX_ELEMENTS

FAR = {"running_mean": 0.1, "running_var": 0.2}
"""How far the batch has to be from what is kept: of the standard deviation, and of the variance."""
ERRORS = 3
"""Standard errors of the batch's own statistics that it has to be away as well."""
STUCK = 0.75
"""The share of the channels that stay where they are, from which on it is told."""
FEWEST = 4


class RunningStatistics:
    """Looks at every batch norm that trains in the step that is watched."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._before: dict[str, Any] = {}
        self._stuck: dict[tuple[int, str], tuple[Any, dict[str, Any]]] = {}
        """Address and name -> which way each channel that stayed would go in the step that runs, and what is told."""
        self._earlier: dict[tuple[int, str], tuple[Any, dict[str, Any]]] = {}
        """The same of the step that was watched before."""
        self.found: list[dict[str, Any]] = []

    def begin(self) -> None:
        self._stuck, self.found, self._before = {}, [], {}

    def before(self, operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """An operation that is about to run: keep the statistics that it is going to write."""
        self._before = {}
        name = operator._schema.name
        if "batch_norm" not in name or "backward" in name:
            return
        given = _by_name(operator, arguments, keywords)
        if given.get("training", True) and given["input"].numel() <= MAX_ELEMENTS:
            self._before = {
                each: given[each].detach().clone()
                for each in FAR
                if isinstance(given.get(each), torch.Tensor) and given[each].dtype in HALF
            }

    def after(self, operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], module: str) -> None:
        """It has run: compare."""
        before, self._before = self._before, {}
        if not before or not self._recording.is_readable(next(iter(before.values()))):
            return
        given = _by_name(operator, arguments, keywords)
        share = given.get("momentum", given.get("exponential_average_factor"))
        values = given["input"].detach().float().transpose(0, 1).flatten(1)
        count = values.shape[1]
        if share is None or count < 2:
            return
        variance, mean = torch.var_mean(values, dim=1)
        errors = {"running_mean": (variance / count).sqrt(), "running_var": variance * (2 / count) ** 0.5}
        units = {"running_mean": variance.sqrt(), "running_var": variance}
        for name, was in before.items():
            now, aim = given[name], mean if name == "running_mean" else variance
            told = {
                "at": self._recording.places.here(),
                "module": f"{module}.{name}" if module else name,
                "operator": "batch_norm",
                "dtype": str(was.dtype).removeprefix("torch."),
            }
            true = was.float() + share * (aim - was.float())
            broke = torch.isfinite(aim) & ~torch.isfinite(now) & ~torch.isnan(now)
            if bool(broke.any()):
                would = torch.where(torch.isfinite(true), true, aim)
                self.found.append({"kind": "statistics-overflow", "figure": float(would[broke].abs().max()), **told})
            away = aim - was.float()
            far = (away.abs() > FAR[name] * units[name]) & (away.abs() > ERRORS * errors[name])
            self._stuck[now.data_ptr(), name] = (torch.sign(away) * ((now == was) & torch.isfinite(was) & far), told)

    def end(self) -> list[dict[str, Any]]:
        """What is told of this step: overflows, and what this one and the one before left on its way."""
        found = list(self.found)
        for key, (ways, told) in self._stuck.items():
            earlier = self._earlier.get(key)
            if earlier is not None and earlier[0].shape == ways.shape and ways.numel() >= FEWEST:
                share = float(((ways == earlier[0]) & (ways != 0)).float().mean())
                if share >= STUCK:
                    found.append({"kind": "statistics-stuck", "figure": share, **told})
        self._earlier = self._stuck
        return found

    @property
    def is_suspicious(self) -> bool:
        """Whether the step after this one has to be watched as well."""
        ways = [each for each, _ in self._earlier.values() if each.numel() >= FEWEST]
        return any(float((each != 0).float().mean()) >= STUCK for each in ways)


def _by_name(operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    names = [each.name for each in operator._schema.arguments]
    return {**dict(zip(names, arguments, strict=False)), **keywords}
