"""The builtin functions."""

from __future__ import annotations

from verifygate.static.machine.call import TENSOR, Call, Handler, tuple_of
from verifygate.static.machine.lattice import joined
from verifygate.static.machine.values import (
    FALSE,
    NONE,
    NUMBER,
    TRUE,
    Atom,
    Bound,
    ClassValue,
    Condition,
    Constant,
    Container,
    Descriptor,
    FunctionValue,
    Items,
    LibraryMethod,
    LibraryName,
    Object,
    OneOf,
    Option,
    Partial,
    Tensor,
    Tuple,
    Unknown,
    Value,
    constant,
)

_MOST_RANGE = 64
_CALLABLE = (FunctionValue, Bound, LibraryMethod, ClassValue, Partial)


def _first(call: Call) -> Value:
    return call.args[0] if call.args else call.unknown("an argument that is not given")


def _len(call: Call) -> Value:
    of = _first(call)
    items = call.machine.items(of)
    if items is not None and items.rest is None:
        return constant(len(items.keys))
    if isinstance(of, Constant) and isinstance(of.value, str | bytes):
        return constant(len(of.value))
    if isinstance(of, Object):
        return call.call_method(of, "__len__")
    return of.part(f"len({of.identity})") if isinstance(of, Option) else Unknown("a length", call.place, role=NUMBER)


def _range(call: Call) -> Value:
    numbers = [each.value for each in call.args if isinstance(each, Constant) and isinstance(each.value, int)]
    if len(numbers) == len(call.args) and 0 < len(numbers) <= 3 and not (len(numbers) == 3 and numbers[2] == 0):
        found = range(*numbers)
        if len(found) <= _MOST_RANGE:
            return Tuple(Items(tuple(range(len(found))), tuple(map(constant, found))))
    return Tuple(Items(rest=Unknown("a number that counts", call.place, role=NUMBER)))


def _enumerate(call: Call) -> Value:
    items = call.elements(_first(call))
    counts = (
        [constant(number) for number in range(len(items.values))] if len(call.args) == 1 and not call.keywords else []
    )
    number = Unknown("a number that counts", call.place, role=NUMBER)
    pairs = tuple(tuple_of(counts[place] if counts else number, value) for place, value in enumerate(items.values))
    return Tuple(Items(tuple(range(len(pairs))), pairs, None if items.rest is None else tuple_of(number, items.rest)))


def _zip(call: Call) -> Value:
    given = [call.elements(each) for each in call.args]
    if given and all(each.rest is None for each in given):
        rows = tuple(tuple_of(*row) for row in zip(*(each.values for each in given), strict=False))
        return Tuple(Items(tuple(range(len(rows))), rows))
    return Tuple(Items(rest=tuple_of(*(joined(each.all) if each.all else NONE for each in given))))


def _gathered(kind: str) -> Handler:
    def make(call: Call) -> Value:
        items = call.elements(call.args[0]) if call.args else Items()
        return Tuple(items) if kind == "tuple" else call.machine.new_container(kind, (call.site, kind), items)

    return make


def _dict(call: Call) -> Value:
    of = call.args[0] if call.args else None
    if isinstance(of, Container) and of.kind == "dict":
        items = call.machine.items(of) or Items()
    elif of is None:
        items = Items()
    else:
        pairs = [call.machine.items(each) for each in call.elements(of).values if isinstance(each, Tuple)]
        entries = {
            each.values[0].value: each.values[1]
            for each in pairs
            if each and len(each.values) == 2 and isinstance(each.values[0], Constant)
        }
        rest = call.elements(of).rest
        known = rest is None and len(entries) == len(call.elements(of).values)
        items = Items(
            tuple(entries),
            tuple(entries.values()),
            None if known else call.unknown("entries of a dict that are not known"),
        )
    entries_ = dict(zip(items.keys, items.values, strict=True)) | call.keywords
    return call.machine.new_container(
        "dict", (call.site, "dict"), Items(tuple(entries_), tuple(entries_.values()), items.rest)
    )


def _dict_of_keys(call: Call) -> Value:
    items, value = call.elements(_first(call)), call.argument(1, "value") or NONE
    keys = [each.value for each in items.values if isinstance(each, Constant)]
    known = items.rest is None and len(keys) == len(items.values)
    found = Items(tuple(keys), (value,) * len(keys)) if known else Items(rest=value)
    return call.machine.new_container("dict", (call.site, "dict"), found)


def _any_of(call: Call) -> Value:
    """What `next`, `min`, `max` give: an element."""
    items = (
        call.elements(call.args[0])
        if len(call.args) == 1 or call.name.endswith("next")
        else Items(rest=joined(call.args))
    )
    found = [*items.all, *(call.args[1:] if call.name.endswith("next") else ())]
    return joined(found) if found else call.unknown("an element of what is empty as far as is known")


def _sum(call: Call) -> Value:
    items = call.elements(_first(call))
    total: Value = call.argument(1, "start") or constant(0)
    for each in items.all:
        total = call.machine.operate("Add", total, each, call.site)
    return total


def _unordered(call: Call) -> Value:
    items = call.elements(_first(call))
    return call.listed((), joined(items.all)) if items.all else call.listed(())


def _reversed(call: Call) -> Value:
    items = call.elements(_first(call))
    return Tuple(Items(items.keys, items.values[::-1])) if items.rest is None else Tuple(Items(rest=joined(items.all)))


def _map(call: Call) -> Value:
    items = call.elements(call.args[1]) if len(call.args) == 2 else Items(rest=call.unknown("`map` over several"))
    found = [call.call(call.args[0], (each,)) for each in items.all]
    return Tuple(Items(items.keys, tuple(found)) if items.rest is None else Items(rest=joined(found)))


def _filter(call: Call) -> Value:
    items = (
        call.elements(call.args[1])
        if len(call.args) == 2
        else Items(rest=call.unknown("`filter` of what is not given"))
    )
    return Tuple(Items(rest=joined(items.all)) if items.all else Items())


# -- classes and attributes ----------------------------------------------------------------------------------------


_DATA = frozenset({"str", "int", "float", "bool", "bytes", "list", "tuple", "dict", "set"})
"""Classes of data: no function, class or dtype of a library is of one of them."""


def _is_instance(call: Call) -> Value:
    if len(call.args) != 2:
        return call.unknown("isinstance of what is not given")
    wanted = call.elements(call.args[1]).all if isinstance(call.args[1], Tuple) else (call.args[1],)
    return call.machine.mapped(call.args[0], lambda atom: _is_one(call, atom, wanted))


def _is_one(call: Call, atom: Atom, wanted: tuple[Value, ...]) -> Value:
    answers = [_is_of(call, atom, each) for each in wanted]
    if True in answers:
        return TRUE
    if all(each is False for each in answers):
        return FALSE
    if isinstance(atom, Option):
        names = ", ".join(getattr(each, "name", "?") for each in wanted)
        return Condition(f"isinstance({atom.identity}, {names})")
    return Unknown("whether a value is of a class", call.place)


def _is_of(call: Call, atom: Atom, cls: Value) -> bool | None:
    if isinstance(cls, LibraryName):
        name = cls.name.removeprefix("builtins.")
        if isinstance(atom, Constant):
            return name in {each.__name__ for each in atom.kind.__mro__} if cls.name.startswith("builtins.") else False
        if isinstance(atom, Tensor):
            return name in ("torch.Tensor", "torch.FloatTensor") or (name == "torch.nn.Parameter" and atom.is_parameter)
        if isinstance(atom, Container):
            return atom.kind == name
        if isinstance(atom, Tuple):
            return name == "tuple"
        if isinstance(atom, Object):
            known = not isinstance(atom.cls, ClassValue) or atom.cls.is_known
            return True if call.is_a(atom, cls.name) else (False if known else None)
        if isinstance(atom, LibraryName) and name in _DATA:
            return False
    if isinstance(cls, ClassValue):
        if isinstance(atom, Object) and isinstance(atom.cls, ClassValue):
            return True if cls in atom.cls.mro else (False if atom.cls.is_known else None)
        return None if isinstance(atom, Unknown | Option) else False
    return None


def _has_attribute(call: Call) -> Value:
    of, name = (*call.args, NONE, NONE)[:2]
    if not isinstance(name, Constant):
        return Unknown("whether an attribute is there", call.place)
    return call.machine.mapped(of, lambda atom: _has(call, atom, str(name.value)))


def _has(call: Call, atom: Atom, name: str) -> Value:
    if isinstance(atom, Object):
        found = call.get(atom, name) or call.machine.inherited(atom.cls, name, atom, call.site)
        if found is not None:
            return Unknown("whether an attribute is there", call.place) if isinstance(found, Unknown) else TRUE
        known = isinstance(atom.cls, ClassValue) and atom.cls.is_known
        opaque = call.get(atom, "#rest") or call.machine.inherited(atom.cls, "__getattr__", atom, call.site)
        return FALSE if known and opaque is None else Unknown("whether an attribute is there", call.place)
    if isinstance(atom, Option):
        return Condition(f"hasattr({atom.identity}, {name!r})")
    return (
        Condition(f"hasattr({atom.name}, {name!r})")
        if isinstance(atom, LibraryName)
        else Unknown("whether an attribute is there")
    )


def _get_attribute(call: Call) -> Value:
    of, name, *default = call.args
    if not isinstance(name, Constant):
        return call.unknown("an attribute whose name is not known")
    if default and not isinstance(of, OneOf) and _has(call, of, str(name.value)) == FALSE:
        return default[0]
    return call.machine.attribute(of, str(name.value), call.site)


def _set_attribute(call: Call) -> Value:
    if len(call.args) == 3 and isinstance(call.args[1], Constant):
        call.machine.set_attribute(call.args[0], str(call.args[1].value), call.args[2], call.site)
    elif call.args and isinstance(call.args[0], Object):
        call.set(call.args[0], "#rest", call.unknown("an attribute is set whose name is not known"))
    return NONE


def _type(call: Call) -> Value:
    return call.machine.mapped(_first(call), lambda atom: _type_of(call, atom))


def _type_of(call: Call, atom: Atom) -> Value:
    match atom:
        case Object():
            return atom.cls
        case Constant():
            return LibraryName(f"builtins.{atom.kind.__name__}")
        case Tensor():
            return LibraryName(TENSOR)
        case Container():
            return LibraryName(f"builtins.{atom.kind}")
        case Tuple():
            return LibraryName("builtins.tuple")
    return Unknown("the type of a value", call.place)


def _descriptor(kind: str) -> Handler:
    return lambda call: Descriptor(kind, _first(call))


def _with_setter(call: Call) -> Value:
    of = call.receiver
    if not isinstance(of, Descriptor):
        return of
    return Descriptor("property", of.function, _first(call)) if call.name == "setter" else of


# -- texts and numbers ---------------------------------------------------------------------------------------------


def _converted(kind: type) -> Handler:
    def convert(call: Call) -> Value:
        if not call.args:
            return constant(kind())
        of = call.args[0]
        if isinstance(of, Constant) and len(call.args) == 1 and not (isinstance(of.value, str) and len(of.value) > 100):
            try:
                return constant(kind(of.value))
            except (TypeError, ValueError, OverflowError):
                return call.unknown(f"`{kind.__name__}` of a value that is none")
        if kind is bool:
            return call.machine.mapped(of, lambda atom: _as_condition(call, atom))
        role = NUMBER if kind in (int, float) else ""
        if isinstance(of, Unknown) and role:
            return Unknown(of.reason, of.place, role=role)
        return of if isinstance(of, Option | Unknown) else Unknown("what is converted", call.place, role=role)

    return convert


def _as_condition(call: Call, atom: Atom) -> Value:
    found = call.machine.truth_of(atom, call.state.decisions)
    if found.may_hold and found.may_fail:
        return Condition(found.test, found.negated) if found.test else Unknown("a condition on data", call.place)
    return constant(found.may_hold)


def _all_or_any(call: Call) -> Value:
    items = call.elements(_first(call))
    given = [bool(each.value) for each in items.values if isinstance(each, Constant)]
    if items.rest is None and len(given) == len(items.values):
        return constant(all(given) if call.name.endswith("all") else any(given))
    return Unknown("a condition on data", call.place)


def _computed(call: Call) -> Value:
    of = _first(call)
    if isinstance(of, Tensor) and call.name.endswith("abs"):
        return call.call_method(of, "abs")
    if isinstance(of, Constant) and isinstance(of.value, int | float) and len(call.args) == 1:
        return constant(abs(of.value) if call.name.endswith("abs") else round(of.value))
    return Unknown("a number or text that is computed", call.place)


def _nothing(_: Call) -> Value:
    return NONE


def _callable(call: Call) -> Value:
    return TRUE if isinstance(_first(call), _CALLABLE) else Unknown("whether a value can be called", call.place)


FUNCTIONS: dict[str, Handler] = {
    "len": _len,
    "range": _range,
    "enumerate": _enumerate,
    "zip": _zip,
    "list": _gathered("list"),
    "tuple": _gathered("tuple"),
    "set": _gathered("set"),
    "frozenset": _gathered("set"),
    "dict": _dict,
    "dict.fromkeys": _dict_of_keys,
    "iter": _first,
    "next": _any_of,
    "min": _any_of,
    "max": _any_of,
    "sum": _sum,
    "sorted": _unordered,
    "reversed": _reversed,
    "map": _map,
    "filter": _filter,
    "isinstance": _is_instance,
    "hasattr": _has_attribute,
    "getattr": _get_attribute,
    "setattr": _set_attribute,
    "type": _type,
    "property": _descriptor("property"),
    "staticmethod": _descriptor("staticmethod"),
    "classmethod": _descriptor("classmethod"),
    "int": _converted(int),
    "float": _converted(float),
    "str": _converted(str),
    "bool": _converted(bool),
    "any": _all_or_any,
    "all": _all_or_any,
    "abs": _computed,
    "round": _computed,
    "print": _nothing,
    "callable": _callable,
    "repr": _computed,
    "format": _computed,
    "id": _computed,
    "hash": _computed,
    "input": _computed,
    "open": _computed,
    "divmod": _computed,
    "pow": _computed,
    "ord": _computed,
    "chr": _computed,
    "issubclass": _computed,
    "vars": _computed,
    "dir": _computed,
    "bytes": _computed,
}


def method(owner: str, name: str) -> Handler | None:
    """Methods of what builtins make."""
    if owner == "builtins.property" and name in ("setter", "getter", "deleter"):
        return _with_setter
    if owner == "builtins.object":
        return _nothing
    return None
