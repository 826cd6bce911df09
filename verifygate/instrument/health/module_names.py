"""What a module is called, and which of its outputs is looked at."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

from ..recorder.recording import Recording


def first_tensor(result: Any) -> Any:
    """The first tensor of numbers in what a module returned; None where there is none."""
    from torch.utils._pytree import tree_leaves

    leaves = (result,) if isinstance(result, torch.Tensor) else tree_leaves(result)
    plain = (each for each in leaves if isinstance(each, torch.Tensor) and each.layout is torch.strided)
    return next((each for each in plain if each.is_floating_point()), None)


class ModuleNames:
    """What the project calls its modules: the path in the largest model that has it. A name once given stays."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._names: Any = WeakIdKeyDictionary()
        self._titles: Any = WeakIdKeyDictionary()
        """Model -> its class, with a number from the second model of that class on."""
        self._kinds: Counter[str] = Counter()

    def of(self, modules: list[Any]) -> dict[int, str]:
        """The name of each, by its id."""
        if unnamed := {id(module): module for module in modules if module not in self._names}:
            self._name(list(unnamed.values()))
        return {id(module): self._names[module] for module in modules}

    def _name(self, unnamed: list[Any]) -> None:
        known = self._recording.names.modules
        found: dict[int, tuple[int, Any, str]] = {}
        for root in {id(each): each for each in (*known, *unnamed)}.values():
            inside = list(torch.nn.Module.named_modules(root))
            for path, module in inside:
                if len(inside) > found.get(id(module), (0,))[0]:
                    found[id(module)] = (len(inside), root, path)
        several = sum(found[id(root)][1] is root for root in known) > 1
        for module in unnamed:
            _, root, path = found[id(module)]
            title = self._title(root)
            full = f"{title}.{path}".rstrip(".")
            taken = path in self._names.values()
            self._names[module] = full if several or taken or not path else path

    def _title(self, root: Any) -> str:
        """A module without parameters, such as one that a forward makes anew each time, gets no number."""
        if root not in self._titles:
            kind = type(root).__qualname__
            self._kinds[kind] += 1
            number = self._kinds[kind] if _has_parameters(root) else 1
            self._titles[root] = kind if number == 1 else f"{kind} {number}"
        return str(self._titles[root])


def _has_parameters(root: Any) -> bool:
    parts = torch.nn.Module.modules(root)
    return any(parameter is not None for part in parts for parameter in part._parameters.values())


def dtype_name(tensor: Any) -> str:
    """`float16`."""
    return str(tensor.dtype).removeprefix("torch.")
