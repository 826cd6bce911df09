"""Which names of torch may leave an event that a rule reads, and which give a tensor only."""

from __future__ import annotations

from verifygate.static.machine.call import Matter
from verifygate.static.machine.torch_library import casts, constructors, data, modules, optimizers, regions, tensors
from verifygate.static.machine.torch_library.dtypes import dtype_named

_HALVES = frozenset({"float16", "bfloat16"})
_WITHOUT_EVENT = frozenset(
    ["torch.device", "torch.get_default_dtype", "torch.is_grad_enabled", "torch.compile", "torch.jit.script"]
)
_OPERATORS = ("torch.nn.functional", "torch.nn.init", "torch.nn.utils.rnn")
_WITH_A_STATE = ("torch.nn.", "torch.optim.", "torch.autograd.", "torch.amp.", "torch.cuda.amp.", "torch.cpu.amp.")
"""What is made or done here has a state, whether it is modelled or not."""
_SPACES = frozenset(
    ["torch", "torch.nn", "torch.optim", "torch.amp", "torch.cuda.amp", "torch.autograd", "torch.nn.functional"]
)
"""Modules: who reads one as a value looks names up in it."""
ON_ANY_TENSOR = frozenset(["backward", "requires_grad_", "retain_grad", "grad"])
"""What matters of every tensor, whatever its dtype."""
METHODS = frozenset(modules.METHODS).union(*map(frozenset, optimizers.METHODS.values()), casts.METHODS) - {
    "__init__",
    "size",
}
"""Methods that change a module, an optimizer or a scaler, cast something, or give parameters."""


def matters(name: str) -> Matter:
    """What reading or calling a dotted name may come to; the longest part of it that is known decides."""
    if name in _SPACES:
        return Matter.EVENT
    while name.startswith("torch."):
        found = _of(name)
        if found is not None:
            return found
        name = name.rpartition(".")[0]
    return Matter.NOTHING


def _of(name: str) -> Matter | None:
    dtype = dtype_named(name) if name.count(".") == 1 else None
    if dtype:
        return Matter.EVENT if dtype in _HALVES else Matter.VALUE
    if regions.is_without_event(name):
        return Matter.NOTHING
    if name in _WITHOUT_EVENT or name.startswith(_OPERATORS):
        return Matter.VALUE
    if name in regions.FUNCTIONS or name.startswith(_WITH_A_STATE):
        return Matter.EVENT
    if optimizers.function(name) or modules.constructor(name):
        return Matter.EVENT
    if data.changes_nothing(name):
        return Matter.NOTHING
    if data.function(name) or constructors.function(name) or tensors.function_handler(name):
        return Matter.VALUE
    return None


def method_matters(name: str) -> Matter:
    """The same of a method, or an attribute that is written, of who knows what."""
    if name in ON_ANY_TENSOR:
        return Matter.EVENT
    changes = name.endswith("_") and not name.startswith("_")
    return Matter.OF_STATE if changes or name in METHODS or name.startswith("register_") else Matter.NOTHING
