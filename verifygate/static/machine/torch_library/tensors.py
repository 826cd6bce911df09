"""Operators on the machine: what a call of torch gives, by the tables, and the event that it leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from verifygate.events.record import Kind as Event
from verifygate.static.machine.call import PROCESS, REGIONS, Call, Handler, tuple_of
from verifygate.static.machine.lattice import atoms
from verifygate.static.machine.observations import Accumulated
from verifygate.static.machine.torch_library.dtypes import HALVES, Dtypes, Kind, Operand, dtype_named, to_floating
from verifygate.static.machine.torch_library.operators import Operator, operator, result_dtypes
from verifygate.static.machine.values import (
    NUMBER,
    Constant,
    Container,
    Items,
    LibraryName,
    OneOf,
    Option,
    Region,
    Regions,
    Tensor,
    Tuple,
    Unknown,
    Value,
    constant,
)

TENSOR = "torch.Tensor"
_ANY_NUMBER = frozenset({"bool", "int64", "float64"})
_NUMBERS_OF_TENSORS = frozenset({"item", "numel", "dim", "nelement", "ndimension", "element_size"})
_NUMBERS = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
_CALLED = {
    **{f"__{name}__": name for name in ("add", "sub", "mul", "matmul", "neg", "gt", "lt", "ge", "le", "abs")},
    **{f"__r{name}__": name for name in ("add", "mul")},
    **{f"__i{name}__": f"{name}_" for name in ("add", "sub", "mul")},
    "__truediv__": "div",
    "__itruediv__": "div_",
    "__mod__": "remainder",
}
"""Operator of Python -> the method of a tensor that torch calls for it; any other is called by its own name."""
_SCALE_LIVES_ON = frozenset(
    {"add", "sub", "mul", "div", "neg", "sum", "mean", "clone", "view", "reshape", "stack", "cat"}
)
LOSSES = frozenset(
    {
        f"torch.nn.functional.{name}"
        for name in [
            "cross_entropy",
            "nll_loss",
            "mse_loss",
            "l1_loss",
            "smooth_l1_loss",
            "huber_loss",
            "kl_div",
            "binary_cross_entropy",
            "binary_cross_entropy_with_logits",
            "ctc_loss",
            "triplet_margin_loss",
            "margin_ranking_loss",
            "cosine_embedding_loss",
            "poisson_nll_loss",
            "gaussian_nll_loss",
            "hinge_embedding_loss",
            "multi_margin_loss",
            "multilabel_soft_margin_loss",
        ]
    }
)
"""Functions whose result is a loss."""


def tensors_in(value: Value | None, call: Call) -> Iterable[Tensor]:
    """The tensors of an argument, in lists and tuples too."""
    if value.__class__ is Tensor:
        return (value,)
    return () if value.__class__ is Constant else _tensors_in(value, call)


def _tensors_in(value: Value | None, call: Call) -> Iterator[Tensor]:
    for atom in atoms(value) if value is not None else ():
        if isinstance(atom, Tensor):
            yield atom
        elif isinstance(atom, Tuple | Container) and (items := call.machine.items(atom)) is not None:
            for each in items.all:
                yield from tensors_in(each, call)


def operand_of(value: Value, call: Call) -> Iterator[Operand]:
    """What an argument is in the eyes of promotion; nothing for None."""
    found = atoms(value)
    if all(isinstance(atom, Tensor) for atom in found):
        tensors = [atom for atom in found if isinstance(atom, Tensor)]
        known = all(each.dtypes for each in tensors)
        kind = Kind.ZERO_DIM if all(each.is_loss for each in tensors) else Kind.TENSOR
        yield Operand(frozenset().union(*(each.dtypes for each in tensors)) if known else frozenset(), kind)
        return
    for atom in found:
        if isinstance(atom, Tuple | Container) and (items := call.machine.items(atom)) is not None:
            for each in items.all:
                yield from operand_of(each, call)
        elif isinstance(atom, Constant):
            if atom.kind in _NUMBERS:
                yield Operand(frozenset({_NUMBERS[atom.kind]}), Kind.NUMBER)
        elif isinstance(atom, Unknown) and atom.role == NUMBER:
            yield Operand(_ANY_NUMBER, Kind.NUMBER)
        elif isinstance(atom, Option) and (atom.default is None or atom.default.kind in _NUMBERS):
            yield Operand(_ANY_NUMBER, Kind.NUMBER if atom.default else Kind.TENSOR)
        else:
            yield Operand(frozenset())


def device_named(value: Value) -> str:
    """`cuda` for `"cuda:0"`; empty for one that is not known."""
    if isinstance(value, Constant) and isinstance(value.value, str):
        return value.value.partition(":")[0]
    return "cuda" if isinstance(value, Constant) and isinstance(value.value, int) else ""


def default_dtype(call: Call) -> str:
    found = call.switch("default_dtype")
    return named(found) or "float32"


def named(value: Value | None) -> str:
    """The dtype that a value names: `torch.half`; empty where it names none, or is not known."""
    return (dtype_named(value.name) or "") if isinstance(value, LibraryName) else ""


def named_dtypes(value: Value | None) -> Dtypes:
    """The dtypes that a value may name; empty where one of them is not known."""
    found = [named(atom) for atom in atoms(value)] if value is not None else []
    return frozenset(found) if all(found) else frozenset()


def regions_for(call: Call, device: str) -> list[tuple[str, str] | None]:
    """The autocast regions that may act on tensors of a device, as device type and dtype; None for none."""
    stacks = call.machine.field(PROCESS, REGIONS)
    found: dict[tuple[str, str] | None, None] = {}
    for atom in atoms(stacks) if stacks is not None else ():
        region = _acting(atom.stack if isinstance(atom, Regions) else (), device)
        if region is None or not region.enabled:
            found[None] = None
        if region is not None and region.enabled is not False:
            for dtype in sorted(region.dtypes or HALVES):
                found[(region.device or device, dtype)] = None
    return list(found) or [None]


def _acting(stack: tuple[Region, ...], device: str) -> Region | None:
    fitting = (each for each in reversed(stack) if each.kind == "autocast" and device in ("", each.device))
    return next(fitting, None)


def device_of(tensors: Iterable[Tensor]) -> str:
    """The device that all are on; empty where one of them may be elsewhere."""
    found = {each.device for each in tensors}
    return found.pop() if len(found) == 1 else ""


def each_combination_of_values(call: Call, run: Handler) -> Value:
    """Run a handler for each way in which the values that it is given may come about."""
    for position, value in enumerate(call.args):
        if isinstance(value, OneOf):
            return call.machine.each_way(value, _at(call, position, run))
    return run(call)


def _at(call: Call, position: int, run: Handler) -> Callable[[Value], Value]:
    def follow(atom: Value) -> Value:
        args = (*call.args[:position], atom, *call.args[position + 1 :])
        made = Call(call.machine, call.name, call.site, args, call.keywords, call.receiver)
        made.is_open = call.is_open
        return each_combination_of_values(made, run)

    return follow


def function_handler(name: str) -> Handler | None:
    """What calling a function of torch does, where it is an operator."""
    if operator(name) is None:
        return None
    return lambda call: each_combination_of_values(call, lambda one: run_operator(one, name, one.args))


def method_handler(name: str) -> Handler | None:
    """What a method of a tensor does, where it is an operator."""
    full = f"{TENSOR}.{name}"
    if operator(full) is None:
        return None
    called = f"{TENSOR}.{_CALLED.get(name, name)}"
    reflected = name.startswith("__r") and name != "__reversed__"

    def handle(call: Call) -> Value:
        return each_combination_of_values(call, one_way)

    def one_way(call: Call) -> Value:
        args = (*call.args, call.receiver) if reflected else (call.receiver, *call.args)
        return run_operator(call, full, args, called)

    return handle


def run_operator(call: Call, name: str, args: tuple[Value, ...], called: str = "") -> Value:
    """The result of an operator, with an event at this place."""
    given = frozenset(word for word, value in call.keywords.items() if not _is_absent(value))
    known = operator(name, given)
    if known is None:
        return call.unknown(f"no model of `{name}`")
    tensors = [each for value in (*args, *call.keywords.values()) for each in tensors_in(value, call)]
    if not known.gives_tensors:
        role = NUMBER if known.name.rpartition(".")[2] in _NUMBERS_OF_TENSORS else ""
        return Unknown(f"what `{name}` gives", call.place, role=role)
    found = dtypes_of_call(call, known, args, tensors)
    results = tuple(_result(call, known, dtypes, tensors) for dtypes in found)
    several = _gives_several(known, args, call)
    out = results if several is not False else results[:1]
    call.emit(
        Event.OPERATOR,
        seen=_accumulated(call, called or name, args) if known.in_place and args else None,
        operator=called or name.replace("torch.functional.", "torch."),
        dtypes_in=tuple(each.dtypes for each in tensors),
        dtypes_out=tuple(each.dtypes for each in out),
    )
    if known.in_place and args:
        return args[0]
    if several is None:
        return Unknown(f"one or several results of `{name}`", call.place)
    if not several:
        return results[0]
    return tuple_of(*results) if len(results) > 1 else Tuple(Items(rest=results[0]))


def _accumulated(call: Call, name: str, args: tuple[Value, ...]) -> Accumulated | None:
    """What rules read of an operator that changes a tensor in place."""
    last, of = name.rpartition(".")[2], args[0]
    if last not in ("add_", "mul_", "lerp_") or not isinstance(of, Tensor):
        return None
    given = {
        "add_": call.keywords.get("alpha", constant(1)),
        "mul_": args[1] if len(args) > 1 else None,
        "lerp_": call.keywords.get("weight", args[2] if len(args) > 2 else None),
    }[last]
    is_number = isinstance(given, Constant) and given.kind in (int, float)
    return Accumulated(
        last,
        of.dtypes,
        of.place,
        of.parameters if of.is_parameter else frozenset(),
        of.count == 1,
        call.machine.is_older(of.place),
        float(given.value) if is_number else None,  # type: ignore[union-attr, arg-type]
    )


def _is_absent(value: Value) -> bool:
    return isinstance(value, Constant) and (value.value is None or value.value is False)


def _gives_several(known: Operator, args: tuple[Value, ...], call: Call) -> bool | None:
    if known.several in ("never", "always", "unknown"):
        return {"never": False, "always": True}.get(known.several)
    value = call.keywords.get(known.several)
    if value is None and known.several == "dim":
        value = args[1] if len(args) > 1 and not isinstance(args[1], Tensor) else None
    return value is not None and not _is_absent(value)


def dtypes_of_call(call: Call, known: Operator, args: tuple[Value, ...], tensors: list[Tensor]) -> tuple[Dtypes, ...]:
    """The dtypes of the results."""
    asked = known.asked_dtype(args, call.keywords)
    if asked is not None and not _is_absent(asked):
        return (named_dtypes(asked),) * len(known.results)
    into = call.keywords.get("out")
    if into is not None and not _is_absent(into):
        return tuple(each.dtypes for each in tensors_in(into, call)) or (frozenset(),)
    operands = [each for value in known.operands(args, call.keywords) for each in operand_of(value, call)]
    default = default_dtype(call)
    each = [result_dtypes(known, operands, region, default) for region in regions_for(call, device_of(tensors))]
    return tuple(frozenset().union(*of) if all(of) else frozenset() for of in zip(*each, strict=True))


def _result(call: Call, known: Operator, dtypes: Dtypes, tensors: list[Tensor]) -> Tensor:
    last = known.name.rpartition(".")[2]
    floats = not dtypes or any(dtype == to_floating(dtype) for dtype in dtypes)
    graph = known.has_graph and floats and call.switch("grad") == constant(True)
    keeps = graph and any(each.graph or each.is_parameter for each in tensors)
    unsure = graph and not keeps and any(each.graph is None for each in tensors)
    linear = last in _SCALE_LIVES_ON
    return Tensor(
        dtypes,
        device_of(tensors),
        None if unsure else keeps,
        frozenset().union(*(each.parameters for each in tensors)) if graph else frozenset(),
        scaled_by=frozenset().union(*(each.scaled_by for each in tensors)) if linear else frozenset(),
        is_loss=known.name in LOSSES or (linear and last in ("add", "sub", "mul", "div") and _are_losses(tensors)),
        place=call.place,
        reason=""
        if dtypes
        else next((each.reason for each in tensors if each.reason), f"what `{known.name}` is given"),
    )


def _are_losses(tensors: list[Tensor]) -> bool:
    return bool(tensors) and all(each.is_loss for each in tensors)
