"""Modules on the machine: how they are made and cast, what their methods give, and what calling them runs."""

from __future__ import annotations

from collections.abc import Iterator

from verifygate.base.records import replace
from verifygate.events.record import Kind as Event
from verifygate.static.machine.call import PROCESS, Call, Handler, tuple_of
from verifygate.static.machine.lattice import atoms, joined
from verifygate.static.machine.observations import Cast
from verifygate.static.machine.torch_library import module_hooks
from verifygate.static.machine.torch_library.casts import CASTING, asked_of
from verifygate.static.machine.torch_library.composites import FORWARDS
from verifygate.static.machine.torch_library.contents import (
    BUFFER,
    MODULE,
    OWN,
    all_held,
    below,
    cast_all,
    has_unknown_parts,
    held,
)
from verifygate.static.machine.torch_library.dtypes import Dtypes
from verifygate.static.machine.torch_library.layers import (
    DICTIONARIES,
    SEQUENCES,
    WRAPPERS,
    holds_parameters,
    is_module,
    last_of,
    layer,
)
from verifygate.static.machine.torch_library.observed import freeze_all, load, weights_of_module
from verifygate.static.machine.torch_library.tensors import (
    device_named,
    named,
    named_dtypes,
    run_operator,
)
from verifygate.static.machine.values import (
    FALSE,
    NONE,
    TRUE,
    Constant,
    Items,
    LibraryName,
    Object,
    Tensor,
    Tuple,
    Unknown,
    Value,
    constant,
)

_A_NAME = Unknown("the name of a module")


def bases(name: str) -> tuple[str, ...]:
    return (MODULE,) if is_module(name) else ()


def constructor(name: str) -> Handler | None:
    """What making a module of torch does."""
    if not is_module(name):
        return None

    def make(call: Call) -> Value:
        made = call.new(name)
        _fill(call, made, name)
        return made

    return make


def initializer(owner: str) -> Handler | None:
    """`super().__init__()` in a class of the project that derives from a module of torch."""
    if not is_module(owner):
        return None

    def start(call: Call) -> Value:
        if isinstance(call.receiver, Object):
            _fill(call, call.receiver, owner)
        return NONE

    return start


def _fill(call: Call, made: Object, name: str) -> None:
    asked = call.keywords.get("dtype")
    dtypes = None if asked is None or asked == NONE else named_dtypes(asked)
    if last_of(name) == "TransformerEncoder":
        call.set(made, "layers", call.argument(0, "encoder_layer") or call.unknown("a transformer without layers"))
    elif holds_parameters(name):
        call.set(made, "#batch_first", call.keywords.get("batch_first") or FALSE)
        where = call.keywords.get("device")
        device = "" if where is None else device_named(where)
        call.set(made, OWN, _own(call, dtypes, device))
        if call.keywords.get("bias") == constant(False):
            call.set(made, "bias", NONE)
    elif name in WRAPPERS:
        call.set(made, "module", call.argument(0, "module") or call.unknown("a wrapper around no module"))
    elif name in SEQUENCES or name in DICTIONARIES or name == "torch.nn.ParameterList":
        _fill_container(call, made, name)


def _own(call: Call, dtypes: Dtypes | None, device: str) -> Value:
    """The parameters of a layer, in the default dtype where none is asked for: that may hang on an option."""

    def made(default: Value) -> Value:
        found = dtypes if dtypes is not None else frozenset({named(default) or "float32"})
        return Tensor(found, device, True, place=call.place)

    return call.machine.mapped(call.state.read(PROCESS, "default_dtype"), made)


def _fill_container(call: Call, made: Object, name: str) -> None:
    if name == "torch.nn.Sequential" and not (len(call.args) == 1 and not call.is_a(call.args[0], MODULE)):
        given = Items(tuple(range(len(call.args))), call.args)
    else:
        value = call.argument(0, "modules")
        given = Items() if value is None else call.machine.items(value) or call.elements(value)
    for key, value in zip(given.keys, given.values, strict=True):
        call.set(made, str(key), value)
    call.set(made, "#keys", Tuple(Items(given.keys, tuple(constant(str(key)) for key in given.keys))))
    if given.rest is not None:
        call.set(made, "#more", given.rest)


def children(call: Call, of: Object) -> Items:
    """What a container of modules holds, in order."""
    keys = call.get(of, "#keys")
    names = (
        [str(each.value) for each in keys.items.values if isinstance(each, Constant)] if isinstance(keys, Tuple) else []
    )
    values = tuple(call.get(of, name) or NONE for name in names)
    return Items(tuple(range(len(values))), values, call.get(of, "#more"))


# -- casts ----------------------------------------------------------------------------------------------------------


def _cast(call: Call) -> Value:
    if call.name in CASTING:
        dtypes: Dtypes | None = named_dtypes(LibraryName(f"torch.{call.name}"))
        device: str | None = None
    elif call.name in ("cuda", "cpu", "xpu"):
        dtypes, device = None, call.name
    else:
        asked, device = asked_of(call)
        dtypes = None if asked is None else (asked.dtypes if isinstance(asked, Tensor) else named_dtypes(asked))

    def change(tensor: Tensor) -> Tensor:
        where = tensor.device if device is None else device
        if dtypes is None or dtypes == tensor.dtypes:
            return replace(tensor, device=where)
        return replace(tensor, dtypes=dtypes, device=where, rounded=tensor.rounded | tensor.dtypes, place=call.place)

    for before in dict.fromkeys(tensor.dtypes for _, _, tensor, _ in all_held(call, call.receiver)):
        after = before if dtypes is None else dtypes
        name = f"torch.Tensor.{call.name}"
        call.emit(Event.OPERATOR, operator=name, dtypes_in=(before,), dtypes_out=(after,), grad_mode=False)
    weights = weights_of_module(call, call.receiver)
    cast_all(call, call.receiver, change)
    if dtypes is not None:
        call.emit(Event.CAST, seen=Cast(weights, weights_of_module(call, call.receiver)))
    return call.receiver


# -- methods -------------------------------------------------------------------------------------------------------


def _parameters(call: Call) -> Value:
    found = [tensor for _, _, tensor, is_parameter in all_held(call, call.receiver) if is_parameter]
    return _listed(call, found)


def _listed(call: Call, found: list[Value] | list[Tensor]) -> Value:
    missing = has_unknown_parts(call, call.receiver)
    return (
        Tuple(Items(tuple(range(len(found))), tuple(found), missing))
        if len(found) <= 64
        else Tuple(Items(rest=joined(found)))
    )


def _named(call: Call) -> Value:
    wanted = call.name == "named_parameters"
    pairs = [
        tuple_of(constant(name) if name else Unknown("the name of a parameter", call.place), tensor)
        for _, name, tensor, is_parameter in all_held(call, call.receiver)
        if is_parameter is wanted
    ]
    names = Unknown("the name of a parameter", call.place)
    if len(pairs) > 1 or not pairs:  # names are paths from the module on: not told
        pairs = [tuple_of(names, pair.items.values[1]) for pair in pairs]
    missing = has_unknown_parts(call, call.receiver)
    rest = tuple_of(names, missing) if missing is not None else None
    return Tuple(Items(tuple(range(len(pairs))), tuple(pairs), rest))


def _buffers(call: Call) -> Value:
    return _listed(call, [tensor for _, _, tensor, is_parameter in all_held(call, call.receiver) if not is_parameter])


def _modules(call: Call) -> Value:
    found = list(below(call, call.receiver))
    names: list[Value] = []
    if call.name in ("children", "named_children"):
        direct = {each: name for name, each in _direct(call)}
        found, names = list(direct), [constant(name) if name else _A_NAME for name in direct.values()]
    if call.name.startswith("named"):
        pairs = zip(names or [_A_NAME] * len(found), found, strict=True)
        return Tuple(Items(tuple(range(len(found))), tuple(tuple_of(*pair) for pair in pairs)))
    return Tuple(Items(tuple(range(len(found))), tuple(found)))


def _direct(call: Call) -> Iterator[tuple[str, Object]]:
    """The modules that one holds itself, with their names; an empty one where it is not known."""
    of = call.receiver
    for name, value in call.fields(of).items() if isinstance(of, Object) else ():
        if name[:1] != "#" or name == "#more":
            found = [each for each in atoms(value) if isinstance(each, Object) and call.is_a(each, MODULE)]
            yield from (("" if name == "#more" else name, each) for each in found)


def _state(call: Call) -> Value:
    found = [tensor for _, _, tensor, _ in all_held(call, call.receiver)]
    for dtypes in dict.fromkeys(each.dtypes for each in found):
        call.emit(Event.OPERATOR, operator="torch.Tensor.detach", dtypes_in=(dtypes,), dtypes_out=(dtypes,))
    missing = has_unknown_parts(call, call.receiver)
    rest = joined([*found, *([missing] if missing else [])]) if found or missing else None
    plain = replace(rest, is_parameter=False, graph=False) if isinstance(rest, Tensor) else rest
    return call.machine.new_container("dict", (call.site, "state"), Items(rest=plain))


def _register(call: Call) -> Value:
    name, value = (
        call.constant(0, "name"),
        call.argument(1) or call.keywords.get("tensor") or call.keywords.get("param"),
    )
    of = call.receiver
    if not isinstance(of, Object) or not isinstance(name, str):
        return call.unknown("a part of a module whose name is not known") if value is not None else NONE
    value = value or call.keywords.get("module") or NONE
    call.set(of, name, value)
    if call.name == "register_buffer":
        call.set(of, BUFFER + name, constant(True))
    if call.name == "add_module" and isinstance(keys := call.get(of, "#keys"), Tuple):
        _extend(call, of, keys, name)
    return NONE


def _extend(call: Call, of: Object, keys: Tuple, name: str) -> None:
    values = (*keys.items.values, constant(name))
    call.set(of, "#keys", Tuple(Items(tuple(range(len(values))), values)))


def _append(call: Call) -> Value:
    of = call.receiver
    keys = call.get(of, "#keys") if isinstance(of, Object) else None
    given = (call.args[0],) if call.name == "append" else call.elements(call.args[0]).all
    for value in given:
        if not isinstance(of, Object):
            break
        if isinstance(keys, Tuple):
            name = str(len(keys.items.values))
            if call.get(of, name) is None:
                call.set(of, name, value)
                _extend(call, of, keys, name)
                keys = call.get(of, "#keys")
                continue
        before = call.get(of, "#more")
        call.set(of, "#more", value if before is None else joined([before, value]))
    return of


def _apply(call: Call) -> Value:
    for module in list(below(call, call.receiver)):
        call.call(call.args[0], (module,))
    return call.receiver


def _element(call: Call) -> Value:
    if not isinstance(call.receiver, Object):
        return call.unknown("an element of a module that is not known")
    items, key = children(call, call.receiver), call.argument(0)
    if (
        isinstance(key, Constant)
        and isinstance(key.value, int)
        and items.rest is None
        and -len(items.values) <= key.value < len(items.values)
    ):
        return items.values[key.value]
    if (
        isinstance(key, Constant)
        and isinstance(key.value, str)
        and (found := call.get(call.receiver, key.value)) is not None
    ):
        return found
    return joined(items.all) if items.all else call.unknown("an element of an empty module")


def _iterated(call: Call) -> Value:
    if not isinstance(call.receiver, Object):
        return call.unknown("the elements of a module that is not known")
    items = children(call, call.receiver)
    if call.name == "items":
        keys = call.get(call.receiver, "#keys")
        names = keys.items.values if isinstance(keys, Tuple) else ()
        pairs = tuple(tuple_of(*pair) for pair in zip(names, items.values, strict=False))
        return Tuple(Items(tuple(range(len(pairs))), pairs, items.rest))
    if call.name == "keys":
        keys = call.get(call.receiver, "#keys")
        return keys if keys is not None else Tuple(Items())
    return Tuple(items)


def _requires(call: Call) -> Value:
    freeze_all(call, call.receiver, call.argument(0, "requires_grad") or TRUE)
    held_here = [tensor for _, _, tensor, is_parameter in all_held(call, call.receiver) if is_parameter]
    for dtypes in dict.fromkeys(each.dtypes for each in held_here):
        name = "torch.Tensor.requires_grad_"
        call.emit(Event.OPERATOR, operator=name, dtypes_in=(dtypes,), dtypes_out=(dtypes,))
    return call.receiver


def _same(call: Call) -> Value:
    return call.receiver


def _nothing(_: Call) -> Value:
    return NONE


def _zero_grad(call: Call) -> Value:
    call.emit(Event.ZERO_GRAD)
    return NONE


METHODS: dict[str, Handler] = {
    **dict.fromkeys((*CASTING, "to", "cuda", "cpu", "xpu", "type"), _cast),
    "parameters": _parameters,
    **dict.fromkeys(("named_parameters", "named_buffers"), _named),
    "buffers": _buffers,
    **dict.fromkeys(("modules", "children", "named_modules", "named_children"), _modules),
    "state_dict": _state,
    "load_state_dict": load,
    **dict.fromkeys(("__init__", "extra_repr", "_init_weights", "reset_parameters"), _nothing),
    **dict.fromkeys(("register_buffer", "register_parameter", "register_module", "add_module"), _register),
    **dict.fromkeys(("train", "eval", "share_memory", "compile"), _same),
    "apply": _apply,
    "requires_grad_": _requires,
    "zero_grad": _zero_grad,
    "__call__": module_hooks.run,
    **dict.fromkeys(("register_forward_hook", "register_forward_pre_hook"), module_hooks.register),
}
_OF_CONTAINERS: dict[str, Handler] = {
    **dict.fromkeys(("append", "extend"), _append),
    "__getitem__": _element,
    **dict.fromkeys(("__iter__", "values", "items", "keys"), _iterated),
    "__len__": lambda call: (
        constant(len(children(call, call.receiver).values)) if isinstance(call.receiver, Object) else NONE
    ),
}


def method(owner: str, name: str) -> Handler | None:
    """A method of a module of torch."""
    if owner == MODULE:
        return METHODS.get(name)
    if name == "__init__":
        return initializer(owner)
    if owner in SEQUENCES | DICTIONARIES | {"torch.nn.ParameterList"} and name in _OF_CONTAINERS:
        return _OF_CONTAINERS[name]
    if name == "forward":
        return _forward(owner)
    return None


def _forward(owner: str) -> Handler | None:
    if owner == "torch.nn.Sequential":
        return _in_sequence
    if owner in WRAPPERS:
        return lambda call: call.call(
            call.machine.attribute(call.receiver, "module", call.site), call.args, call.keywords
        )
    if last_of(owner) in FORWARDS:
        return FORWARDS[last_of(owner)]
    known = layer(owner)
    if known is None:
        return None
    if not known.operator:
        return lambda call: call.args[0] if call.args else NONE

    def run(call: Call) -> Value:
        own = {name: call.machine.attribute(call.receiver, name, call.site) for name in (*known.first, *known.operands)}
        args = (*call.args[:1], *(own[name] for name in known.first), *call.args[1:])
        inner = Call(call.machine, known.operator, call.site, args, {name: own[name] for name in known.operands})
        return run_operator(inner, known.operator, args)

    return run


def _in_sequence(call: Call) -> Value:
    value = call.args[0] if call.args else NONE
    items = children(call, call.receiver) if isinstance(call.receiver, Object) else Items()
    for each in items.values:
        value = call.call(each, (value,))
    if items.rest is not None:
        value = joined([value, call.call(items.rest, (value,))])
    return value


def attribute(owner: str, name: str) -> Handler | None:
    """A parameter or buffer of a layer of torch."""
    known = layer(owner)
    if known is None or name not in {*(each for each, _ in known.parameters), *known.buffers}:
        return {"training": _training}.get(name) if owner == MODULE else None

    def read(call: Call) -> Value:
        for each, tensor, _ in held(call, call.receiver) if isinstance(call.receiver, Object) else ():
            if each == name:
                return tensor
        return call.unknown(f"`{name}` of a layer that is not known")

    return read


def _training(call: Call) -> Value:
    return Unknown("whether a module trains", call.place)
