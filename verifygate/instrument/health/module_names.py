"""What a module is called, and which of its outputs is looked at."""

from __future__ import annotations

from typing import Any

import torch

from ..recorder.recording import Recording


def first_tensor(result: Any) -> Any:
    """The first tensor of numbers in what a module returned; None where there is none."""
    from torch.utils._pytree import tree_leaves

    leaves = (result,) if isinstance(result, torch.Tensor) else tree_leaves(result)
    plain = (each for each in leaves if isinstance(each, torch.Tensor) and each.layout is torch.strided)
    return next((each for each in plain if each.is_floating_point()), None)


def module_names(recording: Recording, modules: list[Any]) -> dict[int, str]:
    """What the project calls its modules: the path in the largest module that has it, else its class."""
    known: dict[int, tuple[int, str]] = {}
    roots = [*recording.names.modules, *modules]
    several = len({id(each) for each in recording.names.modules}) > 1
    for root in {id(each): each for each in roots}.values():
        inside = list(torch.nn.Module.named_modules(root))
        for path, module in inside:
            name = f"{type(root).__qualname__}.{path}".rstrip(".") if several or not path else path
            if len(inside) > known.get(id(module), (0, ""))[0]:
                known[id(module)] = (len(inside), name)
    return {id(module): known[id(module)][1] for module in modules}


def dtype_name(tensor: Any) -> str:
    """`float16`."""
    return str(tensor.dtype).removeprefix("torch.")
