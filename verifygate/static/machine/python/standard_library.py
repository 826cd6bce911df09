"""The standard library, as far as a training program's flow depends on it; the rest of it has no effect on AMP."""

from __future__ import annotations

import sys

from verifygate.static.machine.call import Call, Handler
from verifygate.static.machine.core import EndedError
from verifygate.static.machine.lattice import atoms, joined
from verifygate.static.machine.values import (
    NONE,
    NUMBER,
    Constant,
    Container,
    Descriptor,
    Items,
    LibraryName,
    Object,
    Option,
    Partial,
    Tuple,
    Unknown,
    Value,
)

PARSER = "argparse.ArgumentParser"


def _first(call: Call) -> Value:
    return call.args[0] if call.args else NONE


def _decorator(_: Call) -> Value:
    """What `functools.wraps(f)` gives: a function that gives back what it gets."""
    return LibraryName("#same")


def _same_or_decorator(call: Call) -> Value:
    return _first(call) if call.args and not isinstance(call.args[0], Constant) else LibraryName("#same")


def _partial(call: Call) -> Value:
    return Partial(_first(call), call.args[1:], tuple(call.keywords.items()))


def _manager(call: Call) -> Value:
    return Descriptor("contextmanager", _first(call))


def _property(call: Call) -> Value:
    return Descriptor("property", _first(call))


def _field(call: Call) -> Value:
    factory = call.keywords.get("default_factory")
    return (
        call.keywords.get("default", call.unknown("a field without a default")) if factory is None else Partial(factory)
    )


def _exit(_: Call) -> Value:
    raise EndedError


def _copied(call: Call) -> Value:
    """A copy of an object, whose fields are copies too."""
    return _copy_of(call, _first(call), 0)


def _copy_of(call: Call, value: Value, depth: int) -> Value:
    machine = call.machine
    found: list[Value] = []
    for number, atom in enumerate(atoms(value)):
        if isinstance(atom, Object) and depth < 6:
            made = machine.new_object(atom.cls, (call.site, "copy", depth, atom.address.site, number), {})
            for name, each in list(machine.state.store.fields(atom.address).items()):
                machine.state.store.write(made.address, name, _copy_of(call, each, depth + 1))
            found.append(made)
        elif isinstance(atom, Container) and (items := machine.items(atom)) is not None and depth < 6:
            values = tuple(_copy_of(call, each, depth + 1) for each in items.values)
            rest = None if items.rest is None else _copy_of(call, items.rest, depth + 1)
            site = (call.site, "copy", depth, atom.address.site, number)
            found.append(machine.new_container(atom.kind, site, Items(items.keys, values, rest)))
        else:
            found.append(atom)
    return joined(found)


def _chain(call: Call) -> Value:
    found = [each for value in call.args for each in call.elements(value).all]
    return Tuple(Items(rest=joined(found))) if found else Tuple(Items())


def _deque(call: Call) -> Value:
    return call.machine.new_container(
        "list", (call.site, "deque"), call.elements(call.args[0]) if call.args else Items()
    )


def _dict(call: Call) -> Value:
    """A `defaultdict`: a key that is not there gives what the factory makes."""
    rest = call.call(call.args[0]) if call.args and not isinstance(call.args[0], Constant) else None
    return call.machine.new_container("dict", (call.site, "dict"), Items(rest=rest))


def _environment(call: Call) -> Value:
    name = _first(call)
    default = call.argument(1, "default")
    text = name.value if isinstance(name, Constant) else "..."
    return Option(f"the environment's {text}", default if isinstance(default, Constant) else None, place=call.place)


def _namespace(call: Call) -> Value:
    made = call.new("types.SimpleNamespace")
    for name, value in call.keywords.items():
        call.set(made, name, value)
    return made


# -- argparse ------------------------------------------------------------------------------------------------------


_OPTION = "#option "
"""What the field of a parser that holds an option begins with."""
_NAMESPACES = ("argparse.Namespace", "types.SimpleNamespace")


def _parser(call: Call) -> Value:
    return call.new(PARSER)


def _add_argument(call: Call) -> Value:
    names = [each.value for each in call.args if isinstance(each, Constant) and isinstance(each.value, str)]
    dest = call.constant(None, "dest")
    if not isinstance(dest, str):
        name = next((each for each in names if each.startswith("--")), names[0] if names else "")
        dest = name.lstrip("-").replace("-", "_")
    action = call.constant(None, "action", "store")
    default = call.keywords.get("default")
    if action in ("store_true", "store_false") and default is None:
        default = Constant(action == "store_false", bool)
    elif default is None:
        default = NONE
    choices = call.elements(call.keywords["choices"]) if "choices" in call.keywords else Items()
    known = tuple(each for each in choices.values if isinstance(each, Constant)) if choices.rest is None else ()
    option = Option(f"args.{dest}", default if isinstance(default, Constant) else None, known, call.place)
    _keep(call, dest, option)
    return NONE


def _keep(call: Call, dest: str, value: Value) -> None:
    if isinstance(call.receiver, Object):
        call.set(call.receiver, f"{_OPTION}{dest}", value)


def _set_defaults(call: Call) -> Value:
    for name, value in call.keywords.items():
        _keep(call, name, Option(f"args.{name}", value if isinstance(value, Constant) else None, (), call.place))
    return NONE


def _parse(call: Call) -> Value:
    made = call.new("argparse.Namespace")
    for name, value in call.fields(call.receiver).items() if isinstance(call.receiver, Object) else ():
        if name.startswith(_OPTION):
            call.set(made, name.removeprefix(_OPTION), value)
    call.set(made, "#rest", Option("args.?", place=call.place))
    if call.name == "parse_known_args":
        return Tuple(Items((0, 1), (made, Unknown("arguments that the parser does not know", call.place))))
    return made


def _same_parser(call: Call) -> Value:
    return call.receiver


_FUNCTIONS: dict[str, Handler] = {
    "functools.partial": _partial,
    "functools.wraps": _decorator,
    "functools.lru_cache": _same_or_decorator,
    "functools.cache": _first,
    "functools.cached_property": _property,
    "functools.total_ordering": _first,
    "#same": _first,
    "contextlib.contextmanager": _manager,
    "contextlib.asynccontextmanager": _manager,
    "dataclasses.dataclass": _same_or_decorator,
    "dataclasses.field": _field,
    "abc.abstractmethod": _first,
    "typing.cast": lambda call: call.args[-1] if call.args else NONE,
    "typing.no_type_check": _first,
    "typing.overload": _first,
    "sys.exit": _exit,
    "os._exit": _exit,
    "builtins.exit": _exit,
    "builtins.quit": _exit,
    "copy.deepcopy": _copied,
    "copy.copy": _copied,
    "itertools.chain": _chain,
    "collections.deque": _deque,
    "collections.defaultdict": _dict,
    "collections.OrderedDict": _dict,
    "os.environ.get": _environment,
    "os.getenv": _environment,
    "types.SimpleNamespace": _namespace,
    "argparse.Namespace": _namespace,
    PARSER: _parser,
}
_METHODS: dict[tuple[str, str], Handler] = {
    (PARSER, "add_argument"): _add_argument,
    (PARSER, "add_argument_group"): _same_parser,
    (PARSER, "add_mutually_exclusive_group"): _same_parser,
    (PARSER, "set_defaults"): _set_defaults,
    (PARSER, "parse_args"): _parse,
    (PARSER, "parse_known_args"): _parse,
}
_WITHOUT_EFFECT = frozenset(sys.stdlib_module_names - {"builtins", "threading", "multiprocessing", "concurrent"}) | {
    "tqdm",
    "matplotlib",
    "numpy",
    "pandas",
    "wandb",
    "yaml",
    "PIL",
    "cv2",
}
"""Modules whose calls change nothing that the machine follows."""


def _nothing(call: Call) -> Value:
    """What has no effect: it gives back a number, a text, a file."""
    return Unknown(f"what `{call.name}` gives", call.place, role=NUMBER if call.name.startswith("math.") else "")


def _progress(call: Call) -> Value:
    """A progress bar goes through what it gets."""
    return _first(call)


def function(name: str) -> Handler | None:
    """What a function of the standard library does."""
    found = _FUNCTIONS.get(name)
    if found is not None:
        return found
    head, _, rest = name.partition(".")
    if head == "tqdm" and rest.rpartition(".")[2] in ("tqdm", "trange", "auto"):
        return _progress
    if head in _WITHOUT_EFFECT and rest:
        return _nothing
    return None


def method(owner: str, name: str) -> Handler | None:
    """What a method of an object of the standard library does."""
    known = _METHODS.get((owner, name))
    if known is not None or owner in _NAMESPACES:
        return known
    return _nothing if owner.partition(".")[0] in _WITHOUT_EFFECT else None
