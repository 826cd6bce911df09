"""Hooks on the gradients of parameters: `register_hook`, `register_post_accumulate_grad_hook`. A backward runs them."""

from __future__ import annotations

from collections.abc import Iterable

from verifygate.base.records import replace
from verifygate.static.machine.call import Call, tuple_of
from verifygate.static.machine.lattice import atoms
from verifygate.static.machine.torch_library.contents import dtypes_of_part
from verifygate.static.machine.values import NONE, TRUE, Part, Tensor, Tuple, Value, constant

_HOOKS = "#gradient hooks "
"""Begins the name of the field of a module that holds the hooks of one of its parameters."""
_ANY = "gradient hooks"
"""The switch of the process that says that there are hooks at all."""


def register(call: Call) -> Value:
    """Keep a hook with each parameter that the tensor may be."""
    hook = call.argument(0, "hook") or NONE
    for atom in atoms(call.receiver):
        for part in atom.parameters if isinstance(atom, Tensor) and atom.is_parameter else ():
            name = _HOOKS + part.condition
            call.set(part.module, name, tuple_of(*_kept(call, part), tuple_of(constant(call.name), hook)))
            call.set_switch(_ANY, TRUE)
    return call.new("torch.utils.hooks.RemovableHandle")


def _kept(call: Call, part: Part) -> tuple[Value, ...]:
    found = call.get(part.module, _HOOKS + part.condition)
    return call.elements(found).all if found is not None else ()


def run(call: Call, roots: Iterable[Tensor]) -> None:
    """Run the hooks of the parameters that tensors were computed from, each with the gradient, or the parameter."""
    if call.switch(_ANY) is None:
        return
    parts = {part for root in roots for part in root.parameters}
    for part in sorted(parts, key=lambda each: (str(each.module.place), each.condition)):
        tensor = Tensor(dtypes_of_part(call, part), "", True, place=call.place, parameters=frozenset({part}))
        for pair in _kept(call, part):
            if isinstance(pair, Tuple) and len(pair.items.values) == 2:
                name, hook = pair.items.values
                is_after = name == constant("register_post_accumulate_grad_hook")
                call.call(hook, (tensor if is_after else replace(tensor, is_parameter=False, graph=False),))
