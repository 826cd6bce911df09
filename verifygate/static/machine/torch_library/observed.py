"""What rules read of parameters and optimizers: a snapshot of what each part may be at this moment."""

from __future__ import annotations

from collections.abc import Iterator

from verifygate.base.records import replace
from verifygate.events.record import Kind
from verifygate.static.machine.call import Call
from verifygate.static.machine.lattice import atoms, cases, contradict
from verifygate.static.machine.observations import Loaded, Optimized, Rate, Weights
from verifygate.static.machine.torch_library.contents import OWN, all_held, cast_all
from verifygate.static.machine.torch_library.dtypes import Dtypes
from verifygate.static.machine.torch_library.tensors import named_dtypes
from verifygate.static.machine.values import (
    NO_DECISIONS,
    NONE,
    Address,
    ClassValue,
    Constant,
    Decisions,
    Items,
    Object,
    Part,
    Tensor,
    Unknown,
    Value,
    constant,
)
from verifygate.static.uses.roles import Evidence

EVIDENCE = "#evidence"
"""The field of an input that says how it is known to be what it is."""
RATE = "#rate"
"""The field of an optimizer that holds its learning rate."""
_FROZEN = "#frozen "
"""Begins the name of the field of a module that says whether a parameter is left out of the training."""
SHARDED = "_mp_policy"
"""The field of a module that holds the policy by which FSDP shards it (`../../models/fsdp.py`)."""
SCALED_STEP = "#scaled step"
"""The field of an optimizer that says that a scaler steps it."""
_TOUCHED = "#touched"
_STATE_DTYPE = "state_dtype"
"""The variable of an optimizer's class in a model that says what its state is kept in, where not as the weights."""


def freeze(call: Call, part: Part, wanted: Value) -> None:
    """`requires_grad` of a parameter is set."""
    known = constant(not wanted.value) if isinstance(wanted, Constant) else Unknown("a switch", call.place)
    call.set(part.module, _FROZEN + part.condition, known)


def freeze_all(call: Call, of: Value, wanted: Value) -> None:
    """The same of all parameters of a module."""
    for module, name, _, is_parameter in list(all_held(call, of)):
        if is_parameter:
            freeze(call, Part(module.address, name), wanted)


def weights_in(call: Call, value: Value, having: Decisions = NO_DECISIONS) -> Iterator[Weights]:
    """The parameters among a value that is there under the decisions `having`, each with what it may be now."""
    for atom, decided in cases(value):
        when = having | decided
        if contradict(having, decided):
            continue
        if isinstance(atom, Tensor) and atom.is_parameter and atom.parameters:
            for part in sorted(atom.parameters, key=_order):
                yield from weights_of(call, part, when)
        elif isinstance(atom, Tensor):
            yield Weights(None, atom.dtypes, atom.place, atom.rounded, when, True, atom.reason)
        else:
            reason = atom.reason if isinstance(atom, Unknown) else "what is stepped is no tensor that is followed"
            yield Weights(None, frozenset(), None, decisions=when, is_trained=None, reason=reason)


def _order(part: Part) -> tuple[str, str]:
    return (str(part.module.place), part.condition)


def weights_of(call: Call, part: Part, when: Decisions = NO_DECISIONS) -> Iterator[Weights]:
    """What one parameter may be now."""
    own = call.get(part.module, part.condition) if part.condition else None
    value = own if own is not None else call.get(part.module, OWN)
    trained = is_trained(call, part)
    for atom, decided in cases(value) if value is not None else ():
        if contradict(when, decided):
            continue
        if isinstance(atom, Tensor):
            yield Weights(part, atom.dtypes, atom.place, atom.rounded, when | decided, trained, atom.reason)
        elif isinstance(atom, Unknown):
            yield Weights(part, frozenset(), atom.place, frozenset(), when | decided, trained, atom.reason)


def is_trained(call: Call, part: Part) -> bool | None:
    """Whether a parameter requires gradients at this moment; None where that is not known."""
    found = call.get(part.module, _FROZEN + part.condition)
    if found is None:
        return True
    known = {not atom.value if isinstance(atom, Constant) else None for atom in atoms(found)}
    is_set = call.state.read(part.module, _FROZEN + part.condition)
    return known.pop() if len(known) == 1 and is_set == found else None


def weights_of_module(call: Call, of: Value) -> tuple[Weights, ...]:
    """All parameters that a module has."""
    parts = [Part(module.address, name) for module, name, _, is_parameter in all_held(call, of) if is_parameter]
    return tuple(each for part in parts for each in weights_of(call, part))


def optimized(
    call: Call, optimizer: Object, held: Iterator[tuple[Value, Decisions]], groups: Iterator[Items]
) -> Optimized:
    """An optimizer and the parameters that it holds."""
    cls = optimizer.cls
    package = cls.cls.module.package if isinstance(cls, ClassValue) and cls.cls is not None else ""
    bases = cls.library_bases if isinstance(cls, ClassValue) and not package else ()
    name = f"{package}.{cls.name}" if package else next(iter(bases), cls.name)
    weights = tuple(dict.fromkeys(each for value, when in held for each in weights_in(call, value, when)))
    given = call.get(optimizer, RATE) or NONE
    rates = [each.get("lr") or given for each in groups] or [given]
    scaled = call.get(optimizer, SCALED_STEP)
    return Optimized(
        optimizer.address,
        name,
        weights,
        tuple(dict.fromkeys(each for rate in rates for each in _rates(rate))),
        reason_of(call, optimizer.address),
        evidence_of(call, optimizer),
        isinstance(cls, ClassValue) and not package,
        any(call.get(each.part.module, SHARDED) not in (None, NONE) for each in weights if each.part is not None),
        scaled is not None,
        _state_of(call, optimizer) if package else frozenset(),
    )


def _state_of(call: Call, optimizer: Object) -> Dtypes:
    """The `state_dtype` that a model's optimizer has."""
    assert isinstance(optimizer.cls, ClassValue)  # noqa: S101 - of a model
    found = [call.get(each.address, _STATE_DTYPE) for each in optimizer.cls.mro if isinstance(each, ClassValue)]
    return next((named_dtypes(each) for each in found if each is not None), frozenset())


def load(call: Call) -> Value:
    """`module.load_state_dict(...)`: the values are others from here on; the dtypes stay."""
    parts = frozenset(each.part for each in weights_of_module(call, call.receiver) if each.part is not None)
    cast_all(call, call.receiver, lambda tensor: replace(tensor, rounded=frozenset()), floats=False)
    call.emit(Kind.CAST, seen=Loaded(parts))
    return NONE


def _rates(value: Value) -> Iterator[Rate]:
    for atom, when in cases(value):
        if atom != NONE:
            is_number = isinstance(atom, Constant) and atom.kind in (int, float)
            yield Rate(float(atom.value) if is_number else None, when)  # type: ignore[union-attr, arg-type]


def reason_of(call: Call, of: Address) -> str:
    """Why an object may be another one by now: a library without a model was handed it."""
    found = call.get(of, _TOUCHED)
    return found.reason if isinstance(found, Unknown) else ""


def evidence_of(call: Call, of: Value) -> Evidence:
    """How an object is known to be what it is."""
    found = call.get(of, EVIDENCE) if isinstance(of, Object) else None
    return Evidence(found.value) if isinstance(found, Constant) and isinstance(found.value, int) else Evidence.OBJECT
