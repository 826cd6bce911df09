"""A dozen names of torch as a library of the machine: as much as the machine's own tests need."""

from __future__ import annotations

from collections.abc import Iterator

from verifygate.events.record import Kind
from verifygate.static.machine.call import Call, Handler, NoLibrary
from verifygate.static.machine.lattice import atoms, joined
from verifygate.static.machine.values import (
    FALSE,
    NONE,
    TRUE,
    Address,
    Constant,
    Container,
    LibraryName,
    Object,
    Part,
    Region,
    Tensor,
    Value,
    constant,
)

DTYPES = {"float16": "float16", "half": "float16", "bfloat16": "bfloat16", "float32": "float32", "float": "float32"}
MODULE, TENSOR, OPTIMIZER = "torch.nn.Module", "torch.Tensor", "torch.optim.Optimizer"
_LAYERS = ("torch.nn.Linear", "torch.nn.LayerNorm")
_CONTAINERS = ("torch.nn.Sequential", "torch.nn.ModuleList")


def _dtype(value: Value | None) -> str:
    name = value.name.removeprefix("torch.") if isinstance(value, LibraryName) else ""
    return DTYPES.get(name, "")


def _layer(call: Call) -> Value:
    default = call.switch("default_dtype")
    return call.new(call.name, **{"#dtype": default or Tensor(frozenset({"float32"}), place=call.place)})


def _several(call: Call) -> Value:
    values = call.args if len(call.args) != 1 else call.elements(call.args[0]).all
    return call.new(call.name, **{str(number): value for number, value in enumerate(values)})


def modules(call: Call, value: Value, seen: set[Address] | None = None) -> Iterator[Object]:
    """A module and all below it."""
    found: set[Address] = set() if seen is None else seen
    for atom in atoms(value):
        if isinstance(atom, Container) and (items := call.machine.items(atom)) is not None:
            for each in items.all:
                yield from modules(call, each, found)
        if isinstance(atom, Object) and call.is_a(atom, MODULE) and atom.address not in found:
            found.add(atom.address)
            yield atom
            for each in call.fields(atom).values():
                yield from modules(call, each, found)


def _cast(call: Call) -> Value:
    wanted = DTYPES.get(call.name, "") or next(filter(None, map(_dtype, call.args)), "")
    for each in modules(call, call.receiver) if wanted else ():
        if call.get(each, "#dtype") is not None:
            call.set(each, "#dtype", Tensor(frozenset({wanted}), place=call.place))
    return call.receiver


def _parameters(call: Call) -> Value:
    return call.listed(
        Tensor(parameters=frozenset({Part(each.address)}), is_parameter=True)
        for each in modules(call, call.receiver)
        if call.get(each, "#dtype") is not None
    )


def _modules(call: Call) -> Value:
    return call.listed(modules(call, call.receiver))


def _forward(call: Call) -> Value:
    return call.call_method(call.receiver, "forward", call.args, call.keywords)


def _linear(call: Call) -> Value:
    own = call.get(call.receiver, "#dtype") if isinstance(call.receiver, Object) else None
    region = (call.regions or (None,))[-1]
    dtypes = region.dtypes if region is not None and region.enabled else getattr(own, "dtypes", frozenset())
    call.emit(Kind.OPERATOR, operator="torch.nn.functional.linear", dtypes_out=(dtypes,))
    return Tensor(dtypes, graph=True, place=call.place)


def _tensor_cast(call: Call) -> Value:
    wanted = DTYPES.get(call.name, "") or next(filter(None, map(_dtype, call.args)), "")
    return Tensor(frozenset({wanted}), place=call.place)


def _same(call: Call) -> Value:
    return call.receiver


def _set_data(call: Call) -> Value:
    for atom in atoms(call.receiver):
        for part in atom.parameters if isinstance(atom, Tensor) else ():
            call.set(part.module, "#dtype", call.args[0])
    return NONE


def _optimizer(call: Call) -> Value:
    given = call.argument(0, "params")
    return call.new(call.name, **{"#parameters": joined(call.elements(given).all if given is not None else (NONE,))})


def _step(call: Call) -> Value:
    held = call.get(call.receiver, "#parameters") if isinstance(call.receiver, Object) else None
    parts = [part for atom in atoms(held or NONE) if isinstance(atom, Tensor) for part in atom.parameters]
    found = [call.get(part.module, "#dtype") for part in parts]
    dtypes = [getattr(atom, "dtypes", frozenset()) for each in found if each is not None for atom in atoms(each)]
    call.emit(Kind.STEP, dtypes_in=tuple(dict.fromkeys(dtypes)))
    return NONE


def _autocast(call: Call) -> Value:
    dtype = call.argument(None, "dtype") or LibraryName("torch.float16")
    return call.new(call.name, dtype=dtype, enabled=call.argument(None, "enabled") or TRUE)


def _enter(call: Call) -> Value:
    enabled = call.machine.attribute(call.receiver, "enabled", call.site)
    known = bool(enabled.value) if isinstance(enabled, Constant) else None
    dtype = _dtype(call.machine.attribute(call.receiver, "dtype", call.site))
    call.enter(Region("autocast", "cuda", frozenset({dtype}), known, call.place))
    call.emit(Kind.REGION_ENTER)
    return call.receiver


def _leave(call: Call) -> Value:
    call.leave()
    return FALSE


def _no_grad_enter(call: Call) -> Value:
    call.set_switch("grad", FALSE)
    return NONE


def _no_grad_leave(call: Call) -> Value:
    call.set_switch("grad", TRUE)
    return NONE


def _decorate(call: Call) -> Value:
    return call.wrapped(call.args[0], call.receiver)


_FUNCTIONS: dict[str, Handler] = {
    **dict.fromkeys(_LAYERS, _layer),
    **dict.fromkeys(_CONTAINERS, _several),
    "torch.optim.AdamW": _optimizer,
    "torch.autocast": _autocast,
    "torch.no_grad": lambda call: call.new(call.name),
    "torch.randn": lambda call: Tensor(frozenset({"float32"}), graph=False, place=call.place),
}
_METHODS: dict[tuple[str, str], Handler] = {
    **{(MODULE, name): _cast for name in (*DTYPES, "to")},
    **{(TENSOR, name): _tensor_cast for name in (*DTYPES, "to")},
    (MODULE, "cuda"): _same,
    (MODULE, "train"): _same,
    (MODULE, "__init__"): lambda _: NONE,
    (MODULE, "__call__"): _forward,
    (MODULE, "parameters"): _parameters,
    (MODULE, "modules"): _modules,
    ("torch.nn.Linear", "__call__"): _linear,
    (TENSOR, "backward"): lambda call: call.emit(Kind.BACKWARD, scaled=bool(call.receiver.scaled_by)) or NONE,  # type: ignore[union-attr]
    (OPTIMIZER, "step"): _step,
    (OPTIMIZER, "zero_grad"): lambda _: NONE,
    ("torch.autocast", "__enter__"): _enter,
    ("torch.autocast", "__exit__"): _leave,
    ("torch.autocast", "__call__"): _decorate,
    ("torch.no_grad", "__enter__"): _no_grad_enter,
    ("torch.no_grad", "__exit__"): _no_grad_leave,
    ("torch.no_grad", "__call__"): _decorate,
}


class TinyTorch(NoLibrary):
    """What the machine's tests know of torch."""

    def function(self, name: str) -> Handler | None:
        return _FUNCTIONS.get(name)

    def method(self, owner: str, name: str) -> Handler | None:
        return _METHODS.get((owner, name))

    def attribute(self, owner: str, name: str) -> Handler | None:
        if owner == TENSOR and name == "data":
            return _same
        if owner == TENSOR and name == "requires_grad":
            return lambda _: TRUE
        return (lambda _: constant(2)) if owner == TENSOR and name == "ndim" else None

    def assignment(self, owner: str, name: str) -> Handler | None:
        return _set_data if (owner, name) == (TENSOR, "data") else None

    def bases(self, name: str) -> tuple[str, ...]:
        if name in (*_LAYERS, *_CONTAINERS):
            return (MODULE,)
        return (OPTIMIZER,) if name == "torch.optim.AdamW" else ()
