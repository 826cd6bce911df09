"""Methods of lists, dicts, sets, tuples and texts."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from verifygate.static.machine.call import Call, Handler, tuple_of
from verifygate.static.machine.lattice import joined
from verifygate.static.machine.values import NONE, Constant, Container, Items, Tuple, Unknown, Value, constant

_MOST_TEXT = 1_000
_TEXT_METHODS = frozenset(
    {"lower", "upper", "strip", "lstrip", "rstrip", "startswith", "endswith", "split", "replace", "removeprefix"}
    | {"removesuffix", "title", "capitalize", "partition", "rpartition", "isdigit", "count", "find", "join", "format"}
)


def _items(call: Call) -> Items:
    found = call.machine.items(call.receiver)
    return found or Items(rest=call.unknown("a container that is not known"))


def _set(call: Call, items: Items) -> Value:
    if isinstance(call.receiver, Container):
        call.machine.set_items(call.receiver, items)
    return NONE


def _given(call: Call) -> Value:
    return call.args[-1] if call.args else call.unknown("an argument that is not given")


def _append(call: Call) -> Value:
    items = _items(call)
    if items.rest is not None:
        return _set(call, Items(items.keys, items.values, joined([items.rest, _given(call)])))
    return _set(call, Items((*items.keys, len(items.keys)), (*items.values, _given(call))))


def _extend(call: Call) -> Value:
    items, more = _items(call), call.elements(_given(call))
    if items.rest is None and more.rest is None:
        values = (*items.values, *more.values)
        return _set(call, Items(tuple(range(len(values))), values))
    rest = [each for each in (items.rest, *more.all) if each is not None]
    return _set(call, Items(items.keys, items.values, joined(rest) if rest else None))


def _add_somewhere(call: Call) -> Value:
    items = _items(call)
    return _set(call, Items(rest=joined([*items.all, _given(call)])))


def _pop(call: Call) -> Value:
    items = _items(call)
    if items.rest is None and items.values and not call.args:
        _set(call, Items(items.keys[:-1], items.values[:-1]))
        return items.values[-1]
    return _draw(call)


def _draw(call: Call) -> Value:
    """Take an element from somewhere."""
    items = _items(call)
    _set(call, Items(rest=joined(items.all)) if items.all else items)
    return joined(items.all) if items.all else call.unknown("an element of what is empty as far as is known")


def _clear(call: Call) -> Value:
    return _set(call, Items())


def _copy(call: Call) -> Value:
    kind = call.receiver.kind if isinstance(call.receiver, Container) else "list"
    return call.machine.new_container(kind, (call.site, "copy"), _items(call))


def _unordered(call: Call) -> Value:
    items = _items(call)
    return _set(call, Items(rest=joined(items.all)) if items.all else items)


def _number(call: Call) -> Value:
    return Unknown("a number that is computed", call.place)


# -- dicts ---------------------------------------------------------------------------------------------------------


def _get(call: Call) -> Value:
    items, key = _items(call), call.args[0] if call.args else NONE
    default = call.argument(1, "default") or NONE
    if isinstance(key, Constant):
        found = items.get(key.value)
        if found is not None:
            return found
        return default if items.rest is None else joined([items.rest, default])
    return joined([*items.all, default])


def _set_default(call: Call) -> Value:
    found = _get(call)
    key = call.args[0] if call.args else NONE
    if isinstance(call.receiver, Container):
        call.machine.set_element(call.receiver, key, found, call.site)
    return found


def _pop_key(call: Call) -> Value:
    found, items = _get(call), _items(call)
    key = call.args[0] if call.args else NONE
    if isinstance(key, Constant) and key.value in items.keys:
        left = [pair for pair in zip(items.keys, items.values, strict=True) if pair[0] != key.value]
        _set(call, Items(tuple(name for name, _ in left), tuple(value for _, value in left), items.rest))
    return found


def _keys(call: Call) -> Value:
    items = _items(call)
    rest = Unknown("a key that is not known", call.place) if items.rest is not None else None
    return Tuple(Items(tuple(range(len(items.keys))), tuple(map(constant, items.keys)), rest))


def _values(call: Call) -> Value:
    items = _items(call)
    return Tuple(Items(tuple(range(len(items.keys))), items.values, items.rest))


def _pairs(call: Call) -> Value:
    items = _items(call)
    pairs = tuple(tuple_of(constant(key), value) for key, value in zip(items.keys, items.values, strict=True))
    key = Unknown("a key that is not known", call.place)
    rest = tuple_of(key, items.rest) if items.rest is not None else None
    return Tuple(Items(tuple(range(len(pairs))), pairs, rest))


def _update(call: Call) -> Value:
    items = _items(call)
    entries: dict[Hashable, Value] = dict(zip(items.keys, items.values, strict=True))
    rest = [items.rest] if items.rest is not None else []
    for value in call.args:
        more = call.machine.items(value)
        if more is None:
            rest.append(call.unknown("entries of a dict that are not known"))
        else:
            entries |= dict(zip(more.keys, more.values, strict=True))
            rest += [more.rest] if more.rest is not None else []
    entries.update(call.keywords)
    return _set(call, Items(tuple(entries), tuple(entries.values()), joined(rest) if rest else None))


_LIST: dict[str, Handler] = {
    "append": _append,
    "extend": _extend,
    "insert": _add_somewhere,
    "remove": _unordered,
    "reverse": _unordered,
    "sort": _unordered,
    "pop": _pop,
    "popleft": _draw,
    "appendleft": _add_somewhere,
    "clear": _clear,
    "copy": _copy,
    "index": _number,
    "count": _number,
}
_SET: dict[str, Handler] = {
    "add": _add_somewhere,
    "update": _extend,
    "discard": _unordered,
    "remove": _unordered,
    "clear": _clear,
    "copy": _copy,
    "pop": _pop,
    "union": _copy,
    "difference": _copy,
    "intersection": _copy,
}
_DICT: dict[str, Handler] = {
    "get": _get,
    "setdefault": _set_default,
    "pop": _pop_key,
    "keys": _keys,
    "values": _values,
    "items": _pairs,
    "update": _update,
    "clear": _clear,
    "copy": _copy,
}


def _of_text(name: str) -> Handler:
    def run(call: Call) -> Value:
        given = [each.value for each in call.args if isinstance(each, Constant)]
        text = call.receiver.value if isinstance(call.receiver, Constant) else None
        sizes = sum(len(each) for each in (text, *given) if isinstance(each, str))
        if (
            text is None
            or len(given) < len(call.args)
            or call.keywords
            or sizes > _MOST_TEXT
            or name in ("join", "format")
        ):
            return Unknown("a text that is put together", call.place)
        try:
            result = getattr(text, name)(*given)
        except (TypeError, ValueError, AttributeError):
            return call.unknown(f"`{name}` of a text fails")
        if isinstance(result, dict):  # of `maketrans`
            return call.unknown(f"no model of `builtins.str.{name}`")
        if isinstance(result, list | tuple):
            return call.listed(map(constant, result)) if isinstance(result, list) else tuple_of(*map(constant, result))
        return (
            constant(result)
            if not isinstance(result, str) or len(result) <= _MOST_TEXT
            else call.unknown("a long text")
        )

    return run


def method(owner: str, name: str) -> Handler | None:
    """What a method of a container or text does."""
    kind = owner.removeprefix("builtins.")
    table: dict[str, dict[str, Handler]] = {"list": _LIST, "dict": _DICT, "set": _SET, "deque": _LIST}
    if kind in table:
        return table[kind].get(name)
    if kind == "tuple" and name in ("index", "count"):
        return _number
    if kind in ("str", "bytes") and name in _TEXT_METHODS:
        return _of_text(name)
    return None


Handlers = dict[str, Callable[[Call], Value]]
