"""Autocast regions, grad modes and the switches of the process on the machine."""

from __future__ import annotations

from collections.abc import Callable

from verifygate.base.records import replace
from verifygate.events.record import Kind as Event
from verifygate.events.record import Region as RegionOfEvent
from verifygate.static.machine.call import REGIONS, Call, Handler
from verifygate.static.machine.lattice import atoms
from verifygate.static.machine.torch_library.dtypes import Dtypes
from verifygate.static.machine.torch_library.tensors import named, named_dtypes
from verifygate.static.machine.values import (
    FALSE,
    NONE,
    TRUE,
    Bound,
    Condition,
    Constant,
    FunctionValue,
    LibraryName,
    Object,
    Option,
    Region,
    Regions,
    Unknown,
    Value,
    constant,
)

_AUTOCASTS = {
    "torch.autocast": "",
    "torch.amp.autocast": "",
    "torch.amp.autocast_mode.autocast": "",
    "torch.cuda.amp.autocast": "cuda",
    "torch.cuda.amp.autocast_mode.autocast": "cuda",
    "torch.cpu.amp.autocast": "cpu",
    "torch.cpu.amp.autocast_mode.autocast": "cpu",
}
"""Name -> the device type that it stands for; empty where the first argument says it."""
_GRAD_MODES = {
    "torch.no_grad": FALSE,
    "torch.autograd.no_grad": FALSE,
    "torch.enable_grad": TRUE,
    "torch.autograd.enable_grad": TRUE,
    "torch.inference_mode": FALSE,
    "torch.set_grad_enabled": None,
    "torch.autograd.set_grad_enabled": None,
}
"""Name -> the mode; None where the argument says it."""
AUTOCAST, GRAD_MODE = "torch.autocast", "torch.no_grad"
_BY_DEFAULT = {"cpu": "bfloat16"}
_CALLED = (FunctionValue, Bound)
_CONDITIONS = frozenset(
    [
        "torch.backends.mps.is_available",
        "torch.cuda.is_bf16_supported",
        "torch.xpu.is_available",
        "torch.distributed.is_available",
        "torch.distributed.is_initialized",
    ]
)


def bases(name: str) -> tuple[str, ...]:
    if name in _AUTOCASTS and name != AUTOCAST:
        return (AUTOCAST,)
    return (GRAD_MODE,) if name in _GRAD_MODES and name != GRAD_MODE else ()


# -- autocast ------------------------------------------------------------------------------------------------------


def _autocast(call: Call) -> Value:
    made = call.new(call.name)
    _fill(call, made, call.name)
    return made


def _fill(call: Call, made: Object, name: str) -> None:
    fixed = _AUTOCASTS[name]
    device = call.argument(None if fixed else 0, "" if fixed else "device_type")
    call.set(made, "#device", constant(fixed) if fixed else device or Unknown("a device that is not given", call.place))
    positions = (1, 0) if fixed else (1, 2)
    call.set(made, "#dtype", call.argument(positions[0], "dtype") or NONE)
    call.set(made, "#enabled", call.argument(positions[1], "enabled") or TRUE)


def _initialize(call: Call) -> Value:
    if isinstance(call.receiver, Object):
        _fill(call, call.receiver, AUTOCAST)
    return NONE


def _enter(call: Call) -> Value:
    of = call.receiver
    if not isinstance(of, Object):
        return of
    given = call.get(of, "#device")
    device = given.value.partition(":")[0] if isinstance(given, Constant) and isinstance(given.value, str) else ""
    dtypes = _region_dtypes(call, call.get(of, "#dtype") or NONE, device)
    enabled = _is_on(call.get(of, "#enabled"))
    if device == "cuda" and call.call(LibraryName("torch.cuda.is_available")) == FALSE:
        enabled = False
    call.enter(Region("autocast", device, dtypes, enabled, call.place))
    known = len(dtypes) == 1 and enabled is not None and device
    if known and enabled is not None:
        call.emit(Event.REGION_ENTER, dtypes_out=(dtypes,), region=RegionOfEvent(device, next(iter(dtypes)), enabled))
    else:
        call.emit(Event.REGION_ENTER, dtypes_out=(dtypes,))
    return of


def _region_dtypes(call: Call, given: Value, device: str) -> Dtypes:
    if given != NONE:
        return named_dtypes(given)
    switched = call.switch(f"autocast_dtype {device}")
    if switched is not None:
        return named_dtypes(switched)
    return frozenset({_BY_DEFAULT.get(device, "float16")}) if device else frozenset()


def _is_on(value: Value | None) -> bool | None:
    """Whether a region is on; None where that hangs on an input."""
    found = {bool(atom.value) if isinstance(atom, Constant) else None for atom in atoms(value)} if value else {True}
    return found.pop() if len(found) == 1 else None


def _leave(call: Call) -> Value:
    call.leave()
    call.emit(Event.REGION_EXIT)
    return NONE


def _decorate(call: Call) -> Value:
    return call.wrapped(call.args[0], call.receiver) if call.args else call.receiver


def _custom(call: Call) -> Value:
    """`custom_fwd` and `custom_bwd`, with arguments or without: the function runs as it is."""
    return call.args[0] if call.args and isinstance(call.args[0], _CALLED) else call.new("torch.amp.custom_fwd")


# -- grad modes ----------------------------------------------------------------------------------------------------


def _grad_mode(call: Call) -> Value:
    first = call.argument(0, "mode")
    if call.args and isinstance(call.args[0], _CALLED):  # `@torch.no_grad` without parentheses
        return call.wrapped(call.args[0], _mode(call, FALSE))
    mode: Value | None = _GRAD_MODES[call.name]
    if call.name == "torch.inference_mode":
        mode = FALSE if first is None else _inverted(first)
    made = _mode(call, mode if mode is not None else first or TRUE)
    if call.name.endswith("set_grad_enabled"):
        call.set(made, "#before", call.switch("grad") or TRUE)
        call.set_switch("grad", first or TRUE)
    return made


def _mode(call: Call, mode: Value) -> Object:
    made = call.new(call.name)
    call.set(made, "#mode", mode)
    return made


def _inverted(value: Value) -> Value:
    return constant(not value.value) if isinstance(value, Constant) else Unknown("a grad mode that is not known")


def _enter_mode(call: Call) -> Value:
    of = call.receiver
    if isinstance(of, Object):
        if call.get(of, "#before") is None or not _sets_at_once(of):
            call.set(of, "#before", call.switch("grad") or TRUE)
        call.set_switch("grad", call.get(of, "#mode") or FALSE)
    return NONE


def _sets_at_once(of: Object) -> bool:
    return isinstance(of.cls, LibraryName) and of.cls.name.endswith("set_grad_enabled")


def _leave_mode(call: Call) -> Value:
    before = call.get(call.receiver, "#before") if isinstance(call.receiver, Object) else None
    call.set_switch("grad", before or TRUE)
    return NONE


# -- switches ------------------------------------------------------------------------------------------------------


def _set_default(call: Call) -> Value:
    given = call.argument(0, "d") or NONE
    name = given.value if isinstance(given, Constant) and isinstance(given.value, str) else ""
    value = LibraryName(f"torch.{named(LibraryName(name))}") if name else given
    call.set_switch("default_dtype", value)
    return NONE


def _set_autocast_dtype(call: Call) -> Value:
    device, given = call.constant(0, "device_type"), call.argument(1, "dtype") or NONE
    if isinstance(device, str):
        call.set_switch(f"autocast_dtype {device}", given)
        _change_region(call, device, lambda region: replace(region, dtypes=named_dtypes(given)))
    return NONE


def _set_autocast(call: Call) -> Value:
    """`torch.set_autocast_enabled("cuda", True)`: for good, or to the end of the region around."""
    device, enabled = (call.constant(0), call.argument(1)) if len(call.args) == 2 else ("cuda", call.argument(0))
    name = device if isinstance(device, str) else ""
    found = _change_region(call, name, lambda region: replace(region, enabled=_is_on(enabled)))
    if not found:
        region = Region("autocast", name, _region_dtypes(call, NONE, name), _is_on(enabled), call.place)
        call.set_switch(REGIONS, Regions((region, *(call.regions or ()))))
    return NONE


def _change_region(call: Call, device: str, change: Callable[[Region], Region]) -> bool:
    """Change the innermost region of a device; tells whether there is one."""
    stack = list(call.regions or ())
    for place in range(len(stack) - 1, -1, -1):
        if stack[place].kind == "autocast" and stack[place].device == device:
            stack[place] = change(stack[place])
            call.set_switch(REGIONS, Regions(tuple(stack)))
            return True
    return False


def _device(call: Call) -> Value:
    given = call.argument(0, "type") or Unknown("a device that is not known", call.place)
    return given if not isinstance(given, Option) else Unknown("a device that is not known", call.place)


def _condition(call: Call) -> Value:
    return Condition(f"{call.name}()")


def _is_grad_enabled(call: Call) -> Value:
    return call.switch("grad") or TRUE


def _checkpoint(call: Call) -> Value:
    """The function runs now; that it runs again in the backward changes nothing here."""
    own = ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug")
    return call.call(
        call.args[0], call.args[1:], {name: each for name, each in call.keywords.items() if name not in own}
    )


def _identity(call: Call) -> Value:
    return call.args[0] if call.args else call.new("torch.compile")


FUNCTIONS: dict[str, Handler] = {
    **dict.fromkeys(_AUTOCASTS, _autocast),
    **dict.fromkeys(_GRAD_MODES, _grad_mode),
    **{
        f"torch.{space}.{name}": _custom
        for space in ("amp", "cuda.amp", "amp.autocast_mode")
        for name in ("custom_fwd", "custom_bwd")
    },
    **dict.fromkeys(_CONDITIONS, _condition),
    "torch.set_default_dtype": _set_default,
    "torch.set_default_tensor_type": _set_default,
    "torch.get_default_dtype": lambda call: call.switch("default_dtype") or LibraryName("torch.float32"),
    "torch.set_autocast_dtype": _set_autocast_dtype,
    "torch.set_autocast_enabled": _set_autocast,
    "torch.is_grad_enabled": _is_grad_enabled,
    "torch.device": _device,
    "torch.utils.checkpoint.checkpoint": _checkpoint,
    "torch.compile": _identity,
    "torch.jit.script": _identity,
}
METHODS: dict[str, dict[str, Handler]] = {
    AUTOCAST: {"__init__": _initialize, "__enter__": _enter, "__exit__": _leave, "__call__": _decorate},
    GRAD_MODE: {"__enter__": _enter_mode, "__exit__": _leave_mode, "__call__": _decorate},
    "torch.amp.custom_fwd": {"__call__": _identity},
    "torch.compile": {"__call__": _identity},
}
