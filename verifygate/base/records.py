"""Records: small classes of named values, which cost little to define and little to make.

The standard library's dataclass compiles up to seven methods for each class while its module loads, and loads `inspect`
before that: for the records of the analysis that takes a quarter of the time in which `check` starts. So a record's
one compiled method is made with its first instance, type checkers refuse what would change a frozen one, and the rest
is shared. Who asks for its fields as of a dataclass (`asdict`, pydantic) gets them.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar, dataclass_transform, overload

T = TypeVar("T")

_NONE: Any = object()
"""No default; and, in a call, an argument that was not given and gets a fresh default."""


class _Field(NamedTuple):
    default: Any
    default_factory: Callable[[], Any] | None
    compare: bool


def field(*, default: Any = _NONE, default_factory: Callable[[], Any] | None = None, compare: bool = True) -> Any:
    """A field with more to it than a default, as in a dataclass."""
    return _Field(default, default_factory, compare)


@overload
def record(cls: type[T], /) -> type[T]: ...
@overload
def record(
    *, eq: bool = ..., frozen: bool = ..., kw_only: bool = ..., slots: bool = ..., guarded: bool = ...
) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(eq_default=True, frozen_default=True, field_specifiers=(field,))
def record(
    cls: type[T] | None = None,
    /,
    *,
    eq: bool = True,
    frozen: bool = True,  # noqa: ARG001 - for type checkers
    kw_only: bool = False,
    slots: bool = True,
    guarded: bool = False,
) -> Any:
    """Make a class one of records: two of them are equal, and of one hash, where all values are.

    Without `eq`, each is equal to itself alone. One with cached properties has no slots. A guarded one refuses to be
    changed when the program runs, too: making it takes three times as long.
    """
    if cls is None:
        return lambda made: _made(made, eq, kw_only, slots, guarded)
    return _made(cls, eq, kw_only, slots, guarded)


def _made(cls: type[Any], eq: bool, kw_only: bool, slots: bool, guarded: bool) -> type[Any]:
    body = dict(vars(cls))
    fields = {name: _as_field(body.pop(name, _NONE)) for name in cls.__annotations__}
    body |= {
        "__match_args__": tuple(fields),
        "__dataclass_fields__": _AsDataclass(fields, kw_only=kw_only),
        "__init__": _first_init(fields, kw_only=kw_only, guarded=guarded),
    }
    if slots:
        body["__slots__"] = tuple(fields)
    if guarded:
        body |= {"__setattr__": _refuse, "__delattr__": _refuse, "__setstate__": _as_it_was}
    if eq:
        body |= _by_values([name for name, each in fields.items() if each.compare])
    for name in ("__dict__", "__weakref__"):
        body.pop(name, None)
    return type(cls.__name__, cls.__bases__, body | {"__qualname__": cls.__qualname__})


def _as_field(given: Any) -> _Field:
    return given if isinstance(given, _Field) else _Field(given, None, compare=True)


def _refuse(self: object, name: str, *_: object) -> None:
    raise AttributeError(f"cannot change {name!r}: a {type(self).__name__} stays as it was made")


def _as_it_was(self: object, state: tuple[None, dict[str, Any]] | dict[str, Any]) -> None:
    """Make a guarded record from what `pickle` has kept of it."""
    for name, value in (state[1] if isinstance(state, tuple) else state).items():
        object.__setattr__(self, name, value)


def _by_values(names: list[str]) -> dict[str, Any]:
    values: Callable[[object], object] = attrgetter(*names) if names else type

    def equal(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def digest(self: object) -> int:
        return hash(values(self))

    def shown(self: object) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return {"__eq__": equal, "__hash__": digest, "__repr__": shown}


def _first_init(fields: dict[str, _Field], *, kw_only: bool, guarded: bool) -> Any:
    """The `__init__` of a class of which there is no instance yet: it puts the compiled one in its own place."""

    def __init__(self: Any, *given: Any, **named: Any) -> None:  # noqa: N807 - it is one
        made = type(self)
        made.__init__ = _init(f"{made.__qualname__}.__init__", fields, kw_only=kw_only, guarded=guarded)
        made.__init__(self, *given, **named)

    return __init__


def _init(called: str, fields: dict[str, _Field], *, kw_only: bool, guarded: bool) -> Any:
    known: dict[str, Any] = {"_none": _NONE, "_set": object.__setattr__}
    parameters, lines = ["self", "*"] if kw_only and fields else ["self"], []
    for name, each in fields.items():
        value = name
        if each.default_factory is not None:
            known[f"_fresh_{name}"] = each.default_factory
            value = f"_fresh_{name}() if {name} is _none else {name}"
        known[f"_default_{name}"] = each.default
        required = each.default is _NONE and each.default_factory is None
        parameters.append(name if required else f"{name}=_default_{name}")
        lines.append(f" _set(self, {name!r}, {value})\n" if guarded else f" self.{name} = {value}\n")
    exec(f"def __init__({', '.join(parameters)}):\n{''.join(lines) or ' pass'}", known)  # noqa: S102 - of names alone
    made = known["__init__"]
    made.__qualname__ = called
    return made


class _AsDataclass:
    """The fields as `dataclasses` describes them, worked out when somebody asks."""

    def __init__(self, fields: dict[str, _Field], *, kw_only: bool) -> None:
        self._fields = fields
        self._kw_only = kw_only

    def __get__(self, _instance: object, owner: type[Any]) -> dict[str, Any]:
        import dataclasses

        told = []
        for name, each in self._fields.items():
            given: dict[str, Any] = {} if each.default is _NONE else {"default": each.default}
            if each.default_factory is not None:
                given["default_factory"] = each.default_factory
            told.append((name, owner.__annotations__[name], dataclasses.field(compare=each.compare, **given)))
        twin: Any = dataclasses.make_dataclass("Twin", told, kw_only=self._kw_only, init=False, repr=False, eq=False)
        found: dict[str, Any] = twin.__dataclass_fields__
        owner.__dataclass_fields__ = found
        return found


def replace(one: T, **changes: Any) -> T:
    """The same record but for some values."""
    made: Any = type(one)
    return made(**{name: getattr(one, name) for name in made.__match_args__} | changes)  # type: ignore[no-any-return]
