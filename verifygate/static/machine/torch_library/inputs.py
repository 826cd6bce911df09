"""Objects of torch that come in from outside: what is known of a scaler, an optimizer, a model, a tensor that is given.

Each is made for the name of a class, or for the word of a role.
"""

from __future__ import annotations

from verifygate.static.machine.call import TENSOR, Call, Handler
from verifygate.static.machine.torch_library.contents import MODULE, OWN
from verifygate.static.machine.torch_library.layers import is_module
from verifygate.static.machine.torch_library.optimizers import OPTIMIZER, SCALER, SCALERS, is_optimizer
from verifygate.static.machine.values import Option, Tensor, Value
from verifygate.static.uses.roles import Role


def input_of(what: str) -> Handler | None:
    """What makes such an object; None for a class that is not known."""
    if what == TENSOR:
        return _tensor
    if what == Role.SCALER or what in SCALERS:
        return _scaler
    if what == Role.OPTIMIZER or what == OPTIMIZER or is_optimizer(what):
        return lambda call: call.new(OPTIMIZER if what == Role.OPTIMIZER else what)
    return _module if what == Role.MODULE or is_module(what) else None


def _tensor(call: Call) -> Value:
    return Tensor(reason="a tensor that comes in from outside", place=call.place)


def _scaler(call: Call) -> Value:
    """Whether it is on is an option."""
    made = call.new(SCALER)
    call.set(made, "#enabled", Option(f"whether `{call.name}` is on", place=call.place))
    return made


def _module(call: Call) -> Value:
    """Its parameters are there, and their dtype is not known."""
    made = call.new(MODULE)
    own = Tensor(is_parameter=True, reason="the weights of a model that comes in from outside", place=call.place)
    call.set(made, OWN, own)
    return made
