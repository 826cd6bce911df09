"""What the project calls the parameters of an optimizer: by the modules that it asked for them."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import torch

SHOWN = 4
"""Parameters of an optimizer whose names are told."""
MODULES = 64
"""Modules that are remembered."""


class ParameterNames:
    """Remembers the modules whose parameters were asked for; nothing is kept alive by it."""

    def __init__(self) -> None:
        self._modules: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()

    def asked(self, arguments: tuple[Any, ...], _keywords: dict[str, Any]) -> None:
        """`Module.named_parameters` is called, which `Module.parameters` calls as well."""
        if arguments and len(self._modules) < MODULES:
            self._modules.add(arguments[0])

    @property
    def modules(self) -> list[torch.nn.Module]:
        """The modules that are remembered and live."""
        return list(self._modules)

    def of(self, parameters: Sequence[Any]) -> dict[str, object]:
        """`model` and `names`: the class that has most of these parameters, and what it calls the first of them."""
        wanted = {id(parameter) for parameter in parameters}
        best: dict[int, str] = {}
        model = ""
        for module in self.modules:
            own = torch.nn.Module.named_parameters(module)  # without what a subclass does in its place
            names = {id(parameter): name for name, parameter in own if id(parameter) in wanted}
            if len(names) > len(best):
                best, model = names, type(module).__qualname__
        shown = [best[id(parameter)] for parameter in parameters if id(parameter) in best][:SHOWN]
        return {"model": model, "names": shown} if shown else {}
