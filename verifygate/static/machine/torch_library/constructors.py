"""Functions of torch that make tensors out of none."""

from __future__ import annotations

from math import inf, prod

from verifygate.base.records import replace
from verifygate.events.record import Kind as Event
from verifygate.static.machine.call import Call, Handler
from verifygate.static.machine.observations import Counted
from verifygate.static.machine.torch_library.dtypes import FLOATS, Dtypes
from verifygate.static.machine.torch_library.tensors import default_dtype, device_named, named_dtypes, tensors_in
from verifygate.static.machine.values import Constant, Container, LibraryName, Tensor, Tuple, Unknown, Value

_BY_DEFAULT = frozenset(
    [
        "zeros",
        "ones",
        "empty",
        "rand",
        "randn",
        "linspace",
        "logspace",
        "eye",
        "hann_window",
        "hamming_window",
        "blackman_window",
        "bartlett_window",
        "kaiser_window",
        "empty_strided",
        "normal",
    ]
)
_BY_VALUE = frozenset({"tensor", "as_tensor", "asarray", "full", "arange", "scalar_tensor", "range"})
_FIXED = {"randperm": "int64", "randint": "int64", "tril_indices": "int64", "triu_indices": "int64"}
_FROM_OUTSIDE = frozenset({"from_numpy", "frombuffer", "from_dlpack"})
_OF_TENSOR = frozenset({"new_zeros", "new_ones", "new_empty", "new_full", "new_tensor"})
_COUNTING = frozenset({"arange", "linspace", "randint", "randperm"})
_KINDS = {bool: "bool", int: "int64"}


def function(name: str) -> Handler | None:
    """What `torch.zeros` and the like do."""
    last = name.removeprefix("torch.")
    if last in _BY_DEFAULT:
        return lambda call: _made(call, frozenset({default_dtype(call)}))
    if last in _FIXED:
        return lambda call: _made(call, frozenset({_FIXED[last]}))
    if last in _BY_VALUE:
        return _of_value
    if last in _FROM_OUTSIDE:
        return lambda call: _made(call, frozenset())
    return None


def method(name: str) -> Handler | None:
    """What `tensor.new_zeros` and the like do."""
    if name not in _OF_TENSOR:
        return None
    return lambda call: _made(call, call.receiver.dtypes if isinstance(call.receiver, Tensor) else frozenset())


def _made(call: Call, dtypes: Dtypes) -> Value:
    asked = call.keywords.get("dtype")
    if asked is not None and not (isinstance(asked, Constant) and asked.value is None):
        dtypes = named_dtypes(asked)
    given = call.keywords.get("device")
    wants = call.keywords.get("requires_grad")
    device = "" if given is None else device_named(given)
    last = call.name.removeprefix("torch.")
    made = Tensor(
        dtypes,
        device,
        wants is not None and wants != Constant(False, bool),
        place=call.place,
        count=_count(call, last),
        largest=_largest(call, last),
    )
    if not dtypes:
        made = replace(made, reason=f"what `torch.{call.name.removeprefix('torch.')}` is given")
    name = call.name if call.name.startswith("torch.") else f"torch.Tensor.{call.name}"
    seen = Counted(dtypes, made.largest) if made.largest is not None else None
    call.emit(Event.OPERATOR, seen=seen, operator=name, dtypes_in=_given(call), dtypes_out=(dtypes,))
    return made


def _count(call: Call, last: str) -> int | None:
    """How many numbers are made, where that is stated."""
    first = call.argument(0, "size")
    if last in ("tensor", "as_tensor", "scalar_tensor"):
        items = call.machine.items(first) if first is not None else None
        if items is not None:
            return len(items.values) if items.rest is None and len(items.values) == 1 else None
        return 1 if isinstance(first, Constant) else None
    if last not in ("zeros", "ones", "empty", "full", "rand", "randn") or first is None:
        return None
    items = call.machine.items(first)
    sizes = items.values if items is not None else call.args[:1] if last == "full" else call.args
    if items is not None and items.rest is not None:
        return None
    numbers = [each.value for each in sizes if isinstance(each, Constant) and isinstance(each.value, int)]
    return prod(numbers) if len(numbers) == len(sizes) else None


def _largest(call: Call, last: str) -> float | None:
    """The largest of the whole numbers that are counted; None for what does not count."""
    if last not in _COUNTING:
        return None
    bound = next((call.keywords[word] for word in ("end", "high", "n") if word in call.keywords), None)
    if bound is None and call.args:
        is_second = len(call.args) > 1 and last != "randperm"
        is_second = is_second and not isinstance(call.args[1], Tuple | Container)
        bound = call.args[1] if is_second else call.args[0]
    if isinstance(bound, Constant) and bound.kind in (int, float):
        return float(bound.value)  # type: ignore[arg-type]
    return inf if last == "arange" and len(call.args) < 3 and bound is not None else None


def _given(call: Call) -> tuple[Dtypes, ...]:
    values = (call.receiver, *call.args, *call.keywords.values())
    return tuple(each.dtypes for value in values for each in tensors_in(value, call))


def _of_value(call: Call) -> Value:
    """The dtype is that of the numbers that it is given."""
    last = call.name.removeprefix("torch.")
    values = call.args[1:2] if last == "full" else call.args if last in ("arange", "range") else call.args[:1]
    if last == "full" and "fill_value" in call.keywords:
        values = (call.keywords["fill_value"],)
    if last == "range":
        return _made(call, frozenset({default_dtype(call)}))
    found = [_kind(call, value) for value in values]
    known = [each for each in found if each]
    if len(known) != len(found) or not found:
        return _made(call, frozenset())
    floats = [each for each in known if not each.isdisjoint(FLOATS)]
    integers = [each for each in known if each == frozenset({"int64"})]
    return _made(call, (floats or integers or known)[0])


def _kind(call: Call, value: Value) -> Dtypes:
    if isinstance(value, Tensor):
        return value.dtypes
    if isinstance(value, Constant):
        if value.kind is float:
            return frozenset({default_dtype(call)})
        return frozenset({_KINDS[value.kind]}) if value.kind in _KINDS else frozenset()
    if isinstance(value, Unknown) and value.cls == LibraryName("builtins.float"):
        return frozenset({default_dtype(call)})
    if isinstance(value, Container | Tuple) and (items := call.machine.items(value)) is not None:
        found = [_kind(call, each) for each in items.all]
        if not found:
            return frozenset({default_dtype(call)})
        if all(found):
            return next((each for each in found if not each.isdisjoint(FLOATS)), found[0])
    return frozenset()
