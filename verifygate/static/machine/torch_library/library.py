"""torch as a library of the machine."""

from __future__ import annotations

from verifygate.static.machine.call import Handler, NoLibrary
from verifygate.static.machine.torch_library import (
    casts,
    constructors,
    contents,
    data,
    functions,
    inputs,
    modules,
    optimizers,
    regions,
    tensors,
)
from verifygate.static.machine.torch_library.dtypes import dtype_named
from verifygate.static.machine.values import LibraryName, Value, constant

_TENSOR, _TEXT = "torch.Tensor", "builtins.str"
"""A device is the text that names it."""


class Torch(NoLibrary):
    """What is known of torch: tables for operators, handlers for what has a state.

    A program is judged as it runs where it is meant to: CUDA is there, unless a run is compared that had none.
    """

    def __init__(self, *, has_cuda: bool = True) -> None:
        self._has_cuda = constant(has_cuda)

    def constant(self, name: str) -> Value | None:
        dtype = dtype_named(name) if name.startswith("torch.") and name.count(".") == 1 else None
        return LibraryName(f"torch.{dtype}") if dtype else None

    def function(self, name: str) -> Handler | None:
        if not name.startswith("torch."):
            return None
        if name == "torch.cuda.is_available":
            return lambda _: self._has_cuda
        if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
            return contents.parameter
        if name == "torch.is_floating_point":
            return casts.METHODS["is_floating_point"]
        return (
            regions.FUNCTIONS.get(name)
            or optimizers.function(name)
            or modules.constructor(name)
            or data.function(name)
            or constructors.function(name)
            or tensors.function_handler(name)
        )

    def method(self, owner: str, name: str) -> Handler | None:
        if owner == _TENSOR:
            if name == "backward":
                return optimizers.backward
            return casts.METHODS.get(name) or constructors.method(name) or tensors.method_handler(name)
        found = modules.method(owner, name) or optimizers.method(owner, name) or data.method(owner, name)
        found = found or functions.method(owner, name)
        return found or regions.METHODS.get(owner, {}).get(name)

    def attribute(self, owner: str, name: str) -> Handler | None:
        if owner == _TENSOR:
            return casts.ATTRIBUTES.get(name)
        if owner == _TEXT:
            return casts.ATTRIBUTES_OF_DEVICES.get(name)
        return modules.attribute(owner, name) or functions.attribute(owner, name)

    def assignment(self, owner: str, name: str) -> Handler | None:
        if owner == _TENSOR:
            return {"data": contents.set_data, "requires_grad": casts.set_requires_grad}.get(name)
        return contents.assignment(owner, name)

    def bases(self, name: str) -> tuple[str, ...]:
        return (
            modules.bases(name)
            or optimizers.bases(name)
            or regions.bases(name)
            or data.bases(name)
            or functions.bases(name)
        )

    def input(self, what: str) -> Handler | None:
        return inputs.input_of(what)


TORCH = Torch()
TORCH_WITHOUT_CUDA = Torch(has_cuda=False)
