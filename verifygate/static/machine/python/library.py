"""Python itself as a library of the machine."""

from __future__ import annotations

import builtins as python

from verifygate.static.machine.call import Call, Handler, NoLibrary
from verifygate.static.machine.python import builtins, containers, standard_library
from verifygate.static.machine.values import FALSE, Option, Unknown, Value, constant

_CONSTANTS: dict[str, Value] = {
    "math.inf": constant(float("inf")),
    "typing.TYPE_CHECKING": FALSE,
    "math.pi": constant(3.141592653589793),
}


class Python(NoLibrary):
    """Builtins, the methods of what they make, and the standard library."""

    def constant(self, name: str) -> Value | None:
        if name.startswith("os.environ["):
            return Option("an environment variable")
        return _CONSTANTS.get(name)

    def function(self, name: str) -> Handler | None:
        head, _, rest = name.partition(".")
        if head == "builtins" and rest in builtins.FUNCTIONS:
            return builtins.FUNCTIONS[rest]
        if head == "builtins" and _is_exception(rest):
            return _exception
        return standard_library.function(name)

    def method(self, owner: str, name: str) -> Handler | None:
        if owner.startswith("builtins."):
            return containers.method(owner, name) or builtins.method(owner, name)
        return standard_library.method(owner, name)


def _is_exception(name: str) -> bool:
    found = getattr(python, name, None)
    return isinstance(found, type) and issubclass(found, BaseException)


def _exception(call: Call) -> Value:
    return Unknown("an exception", call.place)


PYTHON = Python()
