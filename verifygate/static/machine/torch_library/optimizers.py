"""Optimizers, loss scalers, backward passes and clips on the machine."""

from __future__ import annotations

from collections.abc import Iterator

from verifygate.base.records import replace
from verifygate.events.record import Kind as Event
from verifygate.static.machine.call import Call, Handler
from verifygate.static.machine.lattice import atoms, cases, contradict, joined
from verifygate.static.machine.observations import Optimized
from verifygate.static.machine.torch_library import gradient_hooks
from verifygate.static.machine.torch_library.contents import current
from verifygate.static.machine.torch_library.dtypes import HALVES, Dtypes
from verifygate.static.machine.torch_library.observed import RATE, SCALED_STEP, evidence_of, optimized
from verifygate.static.machine.torch_library.tensors import tensors_in
from verifygate.static.machine.values import (
    FALSE,
    NO_DECISIONS,
    NONE,
    NUMBER,
    TRUE,
    Constant,
    Container,
    Decisions,
    Items,
    LibraryName,
    Object,
    OneOf,
    Tensor,
    Tuple,
    Unknown,
    Value,
)
from verifygate.static.uses.roles import Evidence, Use

OPTIMIZER, SCALER = "torch.optim.Optimizer", "torch.amp.GradScaler"
_OPTIMIZERS = frozenset(
    [
        "Adadelta",
        "Adafactor",
        "Adagrad",
        "Adam",
        "AdamW",
        "Adamax",
        "ASGD",
        "LBFGS",
        "Muon",
        "NAdam",
        "RAdam",
        "RMSprop",
        "Rprop",
        "SGD",
        "SparseAdam",
    ]
)
SCALERS = {
    SCALER: 5,
    "torch.GradScaler": 5,
    "torch.amp.grad_scaler.GradScaler": 5,
    "torch.cuda.amp.GradScaler": 4,
    "torch.cuda.amp.grad_scaler.GradScaler": 4,
    "torch.cpu.amp.GradScaler": 4,
}
"""Class -> the position of `enabled`."""
_GROUPS = "param_groups"
_CLIPS = frozenset(
    f"torch.nn.utils.{module}{name}"
    for module in ("", "clip_grad.")
    for name in ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm")
)


def is_optimizer(name: str) -> bool:
    space, _, last = name.rpartition(".")
    return last in _OPTIMIZERS and space.startswith("torch.optim")


def bases(name: str) -> tuple[str, ...]:
    if is_optimizer(name):
        return (OPTIMIZER,)
    if name.startswith("torch.optim.lr_scheduler."):
        return ("torch.optim.lr_scheduler.LRScheduler",) if not name.endswith(".LRScheduler") else ()
    return (SCALER,) if name in SCALERS and name != SCALER else ()


# -- optimizers ----------------------------------------------------------------------------------------------------


def _optimizer(call: Call) -> Value:
    made = call.new(call.name)
    _fill_optimizer(call, made)
    return made


def _fill_optimizer(call: Call, made: Object) -> None:
    given = call.argument(0, "params")
    call.set(made, _GROUPS, _groups(call, given if given is not None else NONE))
    rate = Unknown("a learning rate among arguments that are not known", call.place) if call.is_open else NONE
    call.set(made, RATE, call.argument(1, "lr") or rate)
    call.emit(Event.OPTIMIZER, seen=_seen(call, made), dtypes_in=(dtypes_of(call, made),))


def _seen(call: Call, optimizer: Object) -> Optimized:
    """What rules read of an optimizer as it is now."""
    return optimized(call, optimizer, _held_when(call, optimizer), groups_of(call, optimizer))


def _initialize(call: Call) -> Value:
    if isinstance(call.receiver, Object):
        _fill_optimizer(call, call.receiver)
    return NONE


def _groups(call: Call, given: Value) -> Value:
    """A list of dicts, as torch makes of parameters or of groups of them."""
    ways = [(call.elements(atom), when) for atom, when in cases(given)]
    values = (value for items, _ in ways for value in items.all)
    if {isinstance(atom, Container) and atom.kind == "dict" for value in values for atom in atoms(value)} == {True}:
        items = ways[0][0] if len(ways) == 1 else call.elements(given)
        return call.listed(items.values, items.rest)
    lists = tuple(
        (call.machine.new_container("list", (call.site, "parameters", number), items), when)
        for number, (items, when) in enumerate(ways)
    )
    parameters = lists[0][0] if len(lists) == 1 else OneOf(lists)
    rest = Unknown("an option of an optimizer", call.place)
    group = call.machine.new_container("dict", (call.site, "group"), Items(("params",), (parameters,), rest))
    return call.listed([group])


def held_by(call: Call, optimizer: Value) -> Iterator[Value]:
    """The parameters of an optimizer, as far as they are known, and what is not."""
    return (value for value, _ in _held_when(call, optimizer))


def _held_when(call: Call, optimizer: Value) -> Iterator[tuple[Value, Decisions]]:
    """The same, with the decisions under which the optimizer has them."""
    for atom in atoms(optimizer):
        groups = call.get(atom, _GROUPS) if isinstance(atom, Object) else None
        if groups is None:
            yield Unknown("the parameters of an optimizer", call.place), NO_DECISIONS
            continue
        for group in call.elements(groups).all:
            for each in atoms(group):
                items = call.machine.items(each)
                params = items.get("params") if items is not None else None
                for given, when in cases(params if params is not None else each):
                    call.state.ask(when)
                    if contradict(when, call.state.decisions):
                        continue
                    known = call.elements(given).all if params is not None else (given,)
                    yield from ((value, when) for value in known)


def groups_of(call: Call, optimizer: Object) -> Iterator[Items]:
    """The parameter groups of an optimizer, as far as they are known."""
    groups = call.get(optimizer, _GROUPS)
    for group in call.elements(groups).all if groups is not None else ():
        for each in atoms(group):
            items = call.machine.items(each)
            if items is not None:
                yield items


def dtypes_of(call: Call, optimizer: Value) -> Dtypes:
    """The dtypes that an optimizer's parameters have now; empty where one of them is not known."""
    found: set[str] = set()
    for value in held_by(call, optimizer):
        for atom in atoms(value):
            tensor = current(call, atom) if isinstance(atom, Tensor) else None
            if tensor is None or not tensor.dtypes:
                return frozenset()
            found |= tensor.dtypes
    return frozenset(found)


def _step(call: Call) -> Value:
    closure = call.argument(0, "closure")
    result = call.call(closure) if closure is not None and closure != NONE else NONE
    of = call.receiver
    call.emit(Event.STEP, seen=_seen(call, of) if isinstance(of, Object) else None, dtypes_in=(dtypes_of(call, of),))
    return result


def _zero_grad(call: Call) -> Value:
    call.emit(Event.ZERO_GRAD)
    return NONE


def _state(call: Call) -> Value:
    rest = Unknown("a part of a state", call.place)
    return call.machine.new_container("dict", (call.site, "state"), Items(rest=rest))


def _add_group(call: Call) -> Value:
    of, group = call.receiver, call.argument(0, "param_group")
    groups = call.get(of, _GROUPS) if isinstance(of, Object) else None
    for atom in atoms(groups) if groups is not None and group is not None else ():
        if isinstance(atom, Container):
            items = call.machine.items(atom) or Items()
            values = (*items.values, group or NONE)
            call.machine.set_items(atom, Items(tuple(range(len(values))), values, items.rest))
    return NONE


def _nothing(_: Call) -> Value:
    return NONE


# -- scalers -------------------------------------------------------------------------------------------------------


def _scaler(call: Call) -> Value:
    made = call.new(call.name)
    _fill_scaler(call, made, SCALERS[call.name])
    return made


def _fill_scaler(call: Call, made: Object, position: int) -> None:
    device = call.argument(0, "device") if position == SCALERS[SCALER] else None
    enabled = call.argument(position, "enabled") or TRUE
    is_lacking = is_for_cuda(call.name, device) and call.call(LibraryName("torch.cuda.is_available")) == FALSE
    call.set(made, "#enabled", FALSE if is_lacking else enabled)
    call.emit(Event.SCALER)


def is_for_cuda(name: str, device: Value | None) -> bool:
    """Whether a scaler is one for CUDA, which does nothing where that is lacking."""
    if device is None or device == NONE:
        return not name.startswith("torch.cpu.")
    return isinstance(device, Constant) and str(device.value).startswith("cuda")


def _initialize_scaler(call: Call) -> Value:
    if isinstance(call.receiver, Object):
        _fill_scaler(call, call.receiver, 5)
    return NONE


def _enabled(call: Call) -> Value:
    found = call.get(call.receiver, "#enabled") if isinstance(call.receiver, Object) else None
    return found if found is not None else Unknown("whether a scaler is enabled", call.place)


def _is_off(call: Call) -> bool:
    enabled = _enabled(call)
    return isinstance(enabled, Constant) and not enabled.value


def _scale(call: Call) -> Value:
    given = call.argument(0, "outputs") or NONE
    if _is_off(call):
        return given
    call.emit(Event.SCALE)
    address = frozenset({call.receiver.address}) if isinstance(call.receiver, Object) else frozenset()

    def scaled(value: Value) -> Value:
        if not isinstance(value, Tensor):
            return value
        widened = frozenset("float32" if each in HALVES else each for each in value.dtypes)
        return replace(value, scaled_by=value.scaled_by | address, dtypes=widened if value.is_loss else value.dtypes)

    if isinstance(given, Tuple | Container):
        items = call.elements(given)
        values = tuple(scaled(each) for each in items.values)
        return call.listed(values, scaled(items.rest) if items.rest is not None else None)
    return call.machine.mapped(given, scaled)


def _unscale(call: Call) -> Value:
    call.machine.used(call.argument(0, "optimizer") or NONE, Use.IS_UNSCALED)
    if not _is_off(call):
        call.emit(Event.UNSCALE)
    return NONE


def _scaler_step(call: Call) -> Value:
    if not _is_off(call):
        call.emit(Event.SCALER_STEP)
    optimizer = call.argument(0, "optimizer")
    if optimizer is None:
        return call.unknown("a step of no optimizer")
    if evidence_of(call, call.receiver) is Evidence.OBJECT:
        call.machine.used(optimizer, Use.STEPS | Use.ZEROES)  # nothing else is handed to a scaler
    for atom in atoms(optimizer) if not _is_off(call) else ():
        if isinstance(atom, Object):
            call.set(atom, SCALED_STEP, TRUE)
    return call.call_method(optimizer, "step", call.args[1:])


def _update(call: Call) -> Value:
    if not _is_off(call):
        call.emit(Event.UPDATE)
    return NONE


def _get_scale(call: Call) -> Value:
    call.emit(Event.GET_SCALE)
    return Unknown("the scale", call.place, LibraryName("builtins.float"), NUMBER)


# -- gradients -----------------------------------------------------------------------------------------------------


def backward(call: Call) -> Value:
    """`tensor.backward()`."""
    roots = [atom for atom in atoms(call.receiver) if isinstance(atom, Tensor)]
    _emit_backward(call, roots)
    return NONE


def _autograd_backward(call: Call) -> Value:
    _emit_backward(call, list(tensors_in(call.argument(0, "tensors"), call)))
    return NONE


def _emit_backward(call: Call, roots: list[Tensor]) -> None:
    scaled = {bool(each.scaled_by) for each in roots}
    dtypes = tuple(each.dtypes for each in roots)
    call.emit(Event.BACKWARD, dtypes_in=dtypes, scaled=scaled.pop() if len(scaled) == 1 else None)
    gradient_hooks.run(call, roots)


def _gradients(call: Call) -> Value:
    roots = list(tensors_in(call.argument(0, "outputs"), call))
    scaled = frozenset().union(*(each.scaled_by for each in roots))
    of = [replace(current(call, each), is_parameter=False) for each in tensors_in(call.argument(1, "inputs"), call)]
    call.emit(Event.GRAD, dtypes_in=tuple(each.dtypes for each in roots), scaled=bool(scaled))
    values = tuple(replace(each, scaled_by=scaled) for each in of)
    return Tuple(Items(tuple(range(len(values))), values)) if values else Unknown("gradients", call.place)


def _clip(call: Call) -> Value:
    given = call.argument(0, "parameters")
    found = [current(call, each) for each in tensors_in(given, call)]
    call.emit(Event.CLIP, dtypes_in=tuple(dict.fromkeys(each.dtypes for each in found)))
    return (
        joined([replace(each, is_parameter=False) for each in found]) if found else Tensor(reason="a norm of gradients")
    )


def _reduce(call: Call) -> Value:
    given = [*tensors_in(call.argument(0, "tensor"), call)]
    call.emit(Event.REDUCE, dtypes_in=tuple(each.dtypes for each in given))
    return NONE


def _save(call: Call) -> Value:
    found = dict.fromkeys(each.dtypes for each in tensors_in(call.argument(0, "obj"), call))
    call.emit(Event.SAVE, dtypes_in=tuple(found))
    return NONE


def _load(call: Call) -> Value:
    call.emit(Event.LOAD)
    return Unknown("what a file holds", call.place)


FUNCTIONS: dict[str, Handler] = {
    **dict.fromkeys(SCALERS, _scaler),
    **dict.fromkeys(_CLIPS, _clip),
    "torch.autograd.backward": _autograd_backward,
    "torch.autograd.grad": _gradients,
    "torch.save": _save,
    "torch.load": _load,
    **dict.fromkeys(("torch.distributed.all_reduce", "torch.distributed.reduce"), _reduce),
}
METHODS: dict[str, dict[str, Handler]] = {
    OPTIMIZER: {
        "__init__": _initialize,
        "step": _step,
        "zero_grad": _zero_grad,
        "state_dict": _state,
        "add_param_group": _add_group,
        **dict.fromkeys(("load_state_dict", "register_step_pre_hook", "register_step_post_hook"), _nothing),
    },
    SCALER: {
        "__init__": _initialize_scaler,
        "scale": _scale,
        "unscale_": _unscale,
        "step": _scaler_step,
        "update": _update,
        "get_scale": _get_scale,
        "is_enabled": _enabled,
        "state_dict": _state,
        "load_state_dict": _nothing,
    },
    "torch.optim.lr_scheduler.LRScheduler": {
        **dict.fromkeys(("__init__", "step", "load_state_dict"), _nothing),
        "state_dict": _state,
        "get_last_lr": lambda call: call.listed((), Unknown("a learning rate", call.place)),
    },
}


def function(name: str) -> Handler | None:
    if is_optimizer(name) or name == OPTIMIZER:
        return _optimizer
    if name.startswith("torch.optim.lr_scheduler."):
        return lambda call: call.new(name, optimizer=call.argument(0, "optimizer") or NONE)
    return FUNCTIONS.get(name)


def method(owner: str, name: str) -> Handler | None:
    return METHODS.get(owner, {}).get(name)
