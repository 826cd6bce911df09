"""What the modules of a program hold: parameters and buffers, each with the dtype that it has at this moment.

A layer of torch keeps the dtype of its parameters and buffers in one field, `#dtype`. What a module of the project
holds lies in its own fields: modules, parameters, buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from verifygate.base.records import replace
from verifygate.static.machine.call import Call, Handler
from verifygate.static.machine.lattice import atoms
from verifygate.static.machine.torch_library.dtypes import FLOATS, Dtypes
from verifygate.static.machine.torch_library.layers import layer
from verifygate.static.machine.values import (
    NONE,
    Address,
    ClassValue,
    LibraryName,
    Object,
    Part,
    Tensor,
    Unknown,
    Value,
)

MODULE = "torch.nn.Module"
OWN = "#dtype"
"""The field of a layer of torch that holds a tensor for all of its parameters and buffers."""
BUFFER = "#buffer "
"""Begins the name of the field that says that another one is a buffer."""


def below(call: Call, value: Value, seen: set[Address] | None = None) -> Iterator[Object]:
    """A module and all below it, each once."""
    met: set[Address] = set() if seen is None else seen
    for atom in atoms(value):
        if isinstance(atom, Object) and atom.address not in met and call.is_a(atom, MODULE):
            met.add(atom.address)
            yield atom
            for name, each in call.fields(atom).items():
                if not name.startswith("#") or name == "#more":
                    yield from below(call, each, met)


def held(call: Call, module: Object) -> Iterator[tuple[str, Tensor, bool]]:
    """The tensors that one module holds itself: name, tensor, and whether it is a parameter, else a buffer."""
    own = call.get(module, OWN)
    if own is not None:
        cls = module.cls.library_bases[0] if isinstance(module.cls, ClassValue) else module.cls.name
        yield from _of_layer(call, module, cls, own)
    for name, value in call.fields(module).items():
        for atom in atoms(value) if not name.startswith("#") else ():
            if isinstance(atom, Tensor):
                is_buffer = call.get(module, BUFFER + name) is not None
                if atom.is_parameter or is_buffer:
                    part = Part(module.address, name)
                    parts = frozenset({part}) if atom.is_parameter else atom.parameters
                    yield name, replace(atom, parameters=parts), atom.is_parameter


def _of_layer(call: Call, module: Object, cls: str, own: Value) -> Iterator[tuple[str, Tensor, bool]]:
    known = layer(cls)
    tensors = [atom for atom in atoms(own) if isinstance(atom, Tensor)]
    dtypes = frozenset().union(*(each.dtypes for each in tensors))
    tensor = replace(tensors[0], dtypes=dtypes) if tensors else Tensor()
    names = [name for name, _ in known.parameters] if known is not None else [""]
    for name in names:
        if call.get(module, name) is None or not name:
            part = frozenset({Part(module.address, name)})
            yield name, replace(tensor, is_parameter=True, parameters=part), True
    for name in known.buffers if known is not None else ():
        yield name, replace(tensor, graph=False), False


def all_held(call: Call, of: Value) -> Iterator[tuple[Object, str, Tensor, bool]]:
    for module in below(call, of):
        for name, tensor, is_parameter in held(call, module):
            yield module, name, tensor, is_parameter


def has_unknown_parts(call: Call, of: Value) -> Unknown | None:
    """Why not all that a module holds is known; None where it is."""
    for module in below(call, of):
        found = [call.get(module, "#rest"), *(each for name, each in call.fields(module).items() if name[:1] != "#")]
        for value in found:
            for atom in atoms(value) if value is not None else ():
                of_class = isinstance(atom, Unknown) and isinstance(atom.cls, LibraryName)
                if isinstance(atom, Unknown) and (value is found[0] or (of_class and "torch" in str(atom.cls))):
                    return atom
    return None


def dtypes_of_part(call: Call, part: Part) -> Dtypes:
    """The dtype of a parameter, or of all that a module holds itself, at this moment; empty where it is not known."""
    own = call.get(part.module, part.condition) if part.condition else None
    value = own if own is not None else call.get(part.module, OWN)
    found = [atom.dtypes for atom in atoms(value) if isinstance(atom, Tensor)] if value is not None else []
    return frozenset().union(*found) if found and all(found) else frozenset()


def current(call: Call, tensor: Tensor) -> Tensor:
    """A parameter as it is at this moment: it may have been cast since it was taken."""
    if not tensor.is_parameter or not tensor.parameters:
        return tensor
    found = [dtypes_of_part(call, part) for part in tensor.parameters]
    return replace(tensor, dtypes=frozenset().union(*found) if all(found) else frozenset())


def cast_all(call: Call, of: Value, change: Callable[[Tensor], Tensor], *, floats: bool = True) -> None:
    """Change every parameter and buffer of a module; `floats`: those that are floating-point alone.

    What hangs on an option keeps it.
    """

    def changed(value: Value) -> Value:
        return call.machine.mapped(value, lambda atom: change(atom) if isinstance(atom, Tensor) else atom)

    for module in below(call, of):
        own = call.get(module, OWN)
        if own is not None:
            call.set(module, OWN, changed(own))
        for name, tensor, _ in list(held(call, module)):
            value = call.get(module, name)
            if name and value is not None and (not floats or not tensor.dtypes or not tensor.dtypes.isdisjoint(FLOATS)):
                call.set(module, name, changed(value))


def set_data(call: Call) -> Value:
    """`parameter.data = tensor`: the parameter has that dtype from here on."""
    given = call.args[0]
    for atom in atoms(call.receiver):
        for part in atom.parameters if isinstance(atom, Tensor) and atom.is_parameter else ():
            for value in atoms(given):
                if not isinstance(value, Tensor):
                    continue
                before = call.get(part.module, part.condition) if part.condition else None
                name = part.condition if before is not None else OWN
                new = replace(value, is_parameter=name != OWN, graph=True, place=call.place)
                call.set(part.module, name, new)
    return NONE


def assignment(owner: str, name: str) -> Handler | None:
    """Setting an attribute of a module: a parameter knows whose it is from here on."""
    if owner != MODULE:
        return None

    def keep(call: Call) -> Value:
        of, value = call.receiver, call.args[0]
        if isinstance(of, Object):
            if isinstance(value, Tensor) and value.is_parameter and not value.parameters:
                value = replace(value, parameters=frozenset({Part(of.address, name)}))
            call.set(of, name, value)
        return NONE

    return keep


def parameter(call: Call) -> Value:
    """`nn.Parameter(tensor)`."""
    given = call.argument(0, "data")
    tensor = given if isinstance(given, Tensor) else Tensor(reason="what a parameter is made of", place=call.place)
    return replace(
        tensor, is_parameter=True, graph=call.constant(1, "requires_grad", True) is not False, parameters=frozenset()
    )
