"""Variables by where they live: a name in the function that binds it, a field of a class, an element of a container."""

from __future__ import annotations

import ast
from typing import NamedTuple

from verifygate.static.symbols.program import Class, Function

ELEMENT = "[]"
"""Stands for any element of a container."""


class Variable(NamedTuple):
    """A name, or what is reached from one: `self.optimizers["net"]` is (the class, "optimizers", "[]")."""

    home: Function | Class
    path: tuple[str, ...]

    @property
    def element(self) -> Variable:
        return Variable(self.home, (*self.path, ELEMENT))


def variable(expr: ast.expr, function: Function) -> Variable | None:
    """The variable that an expression in a function names; None where it is no name, attribute or element."""
    match expr:
        case ast.Name(id=name):
            if name == _receiver(function):
                return None if function.owner is None else Variable(function.owner, ())
            home = _home(name, function)
            return Variable(home, (name,)) if home is not None else None
        case ast.Attribute(value=base, attr=step):
            owner = variable(base, function)
        case ast.Subscript(value=base):
            owner, step = variable(base, function), ELEMENT
        case _:
            return None
    return Variable(owner.home, (*owner.path, step)) if owner is not None else None


def _home(name: str, function: Function) -> Function | None:
    """The function around which binds a name, or the module's body; None for a name that is not bound there."""
    here: Function | None = function
    while here is not None:
        if name in here.scope.names and name not in here.scope.outer:
            return here
        if name == _receiver(here):
            return None  # `self` of the method around
        here = here.enclosing
    body = function.module.body
    return body if name in body.scope.names else None


def _receiver(function: Function) -> str:
    """The name of the object that a method runs on."""
    is_method = function.owner is not None and not function.is_static and not function.is_class_method
    return function.parameters[0].arg if is_method and function.parameters else ""
