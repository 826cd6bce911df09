"""Casts, attributes and other methods of tensors that no table of operators has."""

from __future__ import annotations

from verifygate.base.records import replace
from verifygate.events.record import Kind as Event
from verifygate.static.machine.call import Call, Handler
from verifygate.static.machine.lattice import atoms, joined
from verifygate.static.machine.observations import Counted
from verifygate.static.machine.torch_library import gradient_hooks
from verifygate.static.machine.torch_library.dtypes import ALL, FLOATS, Dtypes, dtype_named
from verifygate.static.machine.torch_library.observed import freeze, is_trained
from verifygate.static.machine.torch_library.tensors import TENSOR, device_named, named, named_dtypes, tensors_in
from verifygate.static.machine.values import (
    NONE,
    NUMBER,
    TRUE,
    Constant,
    Items,
    LibraryName,
    Option,
    Tensor,
    Tuple,
    Unknown,
    Value,
    constant,
)


def cast(call: Call, tensor: Tensor, dtypes: Dtypes, device: str | None = None) -> Tensor:
    """The tensor in another dtype, or on another device."""
    changed = dtypes != tensor.dtypes
    rounded = tensor.rounded | tensor.dtypes if changed else tensor.rounded
    return replace(
        tensor,
        dtypes=dtypes,
        device=tensor.device if device is None else device,
        is_parameter=tensor.is_parameter and not changed and device is None,
        graph=True if tensor.is_parameter and call.switch("grad") == constant(True) else tensor.graph,
        rounded=rounded,
        place=call.place if changed else tensor.place,
    )


def asked_of(call: Call) -> tuple[Value | None, str | None]:
    """The dtype and the device among the arguments of `to`: None for what is not asked for, "" for a device unknown."""
    dtype = call.keywords.get("dtype")
    device: str | None = None if "device" not in call.keywords else device_named(call.keywords["device"])
    for value in call.args[:2]:
        if any(named(atom) for atom in atoms(value)):
            dtype = value
        elif isinstance(value, Tensor):
            return LibraryName(f"torch.{next(iter(value.dtypes))}") if len(value.dtypes) == 1 else value, value.device
        elif isinstance(value, Constant) and isinstance(value.value, bool):
            continue
        elif isinstance(value, Unknown | Option) and dtype is None and not _looks_like_device(value):
            dtype, device = value, ""
        else:
            device = device_named(value)
    return dtype, device


def _looks_like_device(value: Unknown | Option) -> bool:
    """An input that is called a device, or that came of a call for one."""
    text = value.identity if isinstance(value, Option) else value.reason
    return "device" in text or "rank" in text


def _emit_cast(call: Call, before: Tensor, after: Tensor) -> None:
    given = tuple(each.dtypes for value in call.args for each in tensors_in(value, call))
    name = f"{TENSOR}.{call.name}"
    seen = Counted(after.dtypes, before.largest) if before.largest is not None else None
    call.emit(Event.OPERATOR, seen=seen, operator=name, dtypes_in=(before.dtypes, *given), dtypes_out=(after.dtypes,))


def _to(call: Call) -> Value:
    dtype, device = asked_of(call)

    def one(tensor: Value) -> Value:
        if not isinstance(tensor, Tensor):
            return tensor
        dtypes = tensor.dtypes if dtype is None else named_dtypes(dtype)
        if isinstance(dtype, Tensor):
            dtypes = dtype.dtypes
        after = cast(call, tensor, dtypes, device)
        _emit_cast(call, tensor, after)
        return after

    return one(call.receiver)


def _type(call: Call) -> Value:
    if not call.args and "dtype" not in call.keywords:
        return Unknown("the name of a type of tensor", call.place)
    given = call.argument(0, "dtype")
    name = given.value if isinstance(given, Constant) and isinstance(given.value, str) else ""
    found = frozenset({dtype_named(name) or ""}) - {""} if name else named_dtypes(given)
    return _cast_to(call, found, "" if name or "cuda" in getattr(given, "name", "") else None)


def _cast_to(call: Call, dtypes: Dtypes, device: str | None = None) -> Value:
    if not isinstance(call.receiver, Tensor):
        return call.receiver
    after = cast(call, call.receiver, dtypes, device)
    _emit_cast(call, call.receiver, after)
    return after


def _type_as(call: Call) -> Value:
    other = call.argument(0, "other")
    return _cast_to(call, other.dtypes if isinstance(other, Tensor) else frozenset(), "")


def _moved(device: str) -> Handler:
    return lambda call: _cast_to(
        call, call.receiver.dtypes if isinstance(call.receiver, Tensor) else frozenset(), device
    )


_CASTS = {"half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64"}
CASTING = frozenset(_CASTS)


def _named_cast(call: Call) -> Value:
    return _cast_to(call, frozenset({_CASTS[call.name]}))


def _same(call: Call) -> Value:
    return call.receiver


def _requires(call: Call) -> Value:
    if not isinstance(call.receiver, Tensor):
        return call.receiver
    _emit_cast(call, call.receiver, call.receiver)
    wanted = call.constant(0, "requires_grad", True)
    _freeze(call, call.argument(0, "requires_grad") or TRUE)
    return replace(call.receiver, graph=wanted if isinstance(wanted, bool) else None)


def _freeze(call: Call, wanted: Value) -> None:
    """`requires_grad` of parameters is set."""
    for atom in atoms(call.receiver):
        for part in atom.parameters if isinstance(atom, Tensor) and atom.is_parameter else ():
            freeze(call, part, wanted)


def set_requires_grad(call: Call) -> Value:
    """`tensor.requires_grad = wanted`."""
    _freeze(call, call.args[0])
    return NONE


def _is_floating(call: Call) -> Value:
    tensor = call.receiver if isinstance(call.receiver, Tensor) else (call.args[0] if call.args else NONE)
    dtypes = tensor.dtypes if isinstance(tensor, Tensor) else frozenset()
    if dtypes and (dtypes <= FLOATS or dtypes.isdisjoint(FLOATS)):
        return constant(dtypes <= FLOATS)
    return Unknown("whether a tensor is floating-point", call.place)


METHODS: dict[str, Handler] = {
    "to": _to,
    "is_floating_point": _is_floating,
    "type": _type,
    "type_as": _type_as,
    "cuda": _moved("cuda"),
    "cpu": _moved("cpu"),
    "requires_grad_": _requires,
    "size": lambda call: _sizes(call),
    "retain_grad": lambda _: NONE,
    **dict.fromkeys(("register_hook", "register_post_accumulate_grad_hook"), gradient_hooks.register),
    "share_memory_": _same,
    **dict.fromkeys(("to_local", "full_tensor"), _same),
    "pin_memory": _same,
    **dict.fromkeys(_CASTS, _named_cast),
}


def _dtype(call: Call) -> Value:
    dtypes = call.receiver.dtypes if isinstance(call.receiver, Tensor) else frozenset()
    names = [LibraryName(f"torch.{dtype}") for dtype in sorted(dtypes & ALL)]
    return joined(names) if names else Unknown("the dtype of a tensor that is not known", call.place)


def _data(call: Call) -> Value:
    return replace(call.receiver, graph=False) if isinstance(call.receiver, Tensor) else call.receiver


def _transposed(call: Call) -> Value:
    return replace(call.receiver, is_parameter=False) if isinstance(call.receiver, Tensor) else call.receiver


def _gradient(call: Call) -> Value:
    return replace(call.receiver, is_parameter=False, graph=False) if isinstance(call.receiver, Tensor) else NONE


def _requires_grad(call: Call) -> Value:
    """Known of parameters of which the program makes the module."""
    of = call.receiver
    if isinstance(of, Tensor) and of.is_parameter and of.parameters and of.dtypes:
        found = {False if of.graph is False else is_trained(call, part) for part in of.parameters}
        if len(found) == 1 and (known := found.pop()) is not None:
            return constant(known)
    return Unknown("whether a tensor requires gradients", call.place)


def _size(call: Call) -> Value:
    return Unknown("the size of a tensor", call.place, role=NUMBER)


def _sizes(call: Call) -> Value:
    return _size(call) if call.args or call.keywords else Tuple(Items(rest=_size(call)))


def _what(text: str) -> Handler:
    return lambda call: Unknown(text, call.place)


def _device(call: Call) -> Value:
    device = call.receiver.device if isinstance(call.receiver, Tensor) else ""
    return constant(device) if device else Unknown("a device that is not known", call.place)


def _type_of_device(call: Call) -> Value:
    name = call.receiver.value if isinstance(call.receiver, Constant) else ""
    return constant(str(name).partition(":")[0])


ATTRIBUTES_OF_DEVICES: dict[str, Handler] = {"type": _type_of_device, "index": lambda _: NONE}
ATTRIBUTES: dict[str, Handler] = {
    "dtype": _dtype,
    "data": _data,
    "grad": _gradient,
    "device": _device,
    "shape": lambda call: Tuple(Items(rest=_size(call))),
    "ndim": lambda call: _size(call),
    "requires_grad": _requires_grad,
    "grad_fn": _what("the graph of a tensor"),
    "is_leaf": _what("whether a tensor is a leaf"),
    "is_cuda": _what("the device of a tensor"),
    **dict.fromkeys(("T", "mT", "H", "mH", "real"), _transposed),
}
