"""Inputs: what the arguments of a function that nobody calls are, by annotation, by use, and by name at last.

What an input is by its use is found by running the function once with inputs of which nothing is known: a call of a
method of such an input is noted, wherever the value has gone by then. A second run has objects in their place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import cast

from verifygate.naming import names_a_scaler, names_an_optimizer
from verifygate.static.machine.attributes import module_address
from verifygate.static.machine.call import Call, Machinery
from verifygate.static.machine.core import EndedError, Running
from verifygate.static.machine.statements import Statements
from verifygate.static.machine.values import (
    ClassValue,
    Constant,
    FunctionValue,
    LibraryName,
    Object,
    Option,
    Unknown,
    Value,
    constant,
)
from verifygate.static.uses.roles import Evidence, Role, Use, roles_of

EVIDENCE = "#evidence"
"""The field of an input that says how it is known to be what it is."""
Roles = dict[str, tuple[Role, Evidence]]
"""Input, as `scaler` or `self.scaler` -> what it is."""
_MOST_MADE = 2
"""Objects for an annotation inside each other: a class whose constructor asks for another one."""


class Inputs(Statements):
    """How functions that nobody calls are given arguments."""

    roles: Roles = {}
    making = 0

    def run_alone(self, value: FunctionValue, owner: ClassValue | None = None) -> Value:
        """Run a function that nobody calls, with inputs for its arguments; a method on an object made so too."""
        self._give_fields()
        arguments = self._inputs(value, is_method=owner is not None)
        if owner is not None and arguments:
            arguments[next(iter(arguments))] = self._made(owner)
        return self.run_function(value, arguments, ("alone", value.code.name))

    def run_class(self, cls: ClassValue) -> None:
        """Make an object with inputs, then run its methods twice over, each from what the ones before may have left."""
        self._give_fields()
        made = self._made(cls)
        methods = [
            (name, found)
            for name in list(self.state.store.fields(cls.address))
            if isinstance(found := self.field(cls.address, name), FunctionValue) and not _is_special(name)
        ]
        for _ in range(2):
            for name, method in methods:
                before = self.state.fork()
                arguments = self._inputs(method, is_method=True)
                arguments[next(iter(arguments), "self")] = made
                try:
                    self.run_function(method, arguments, ("alone", cls.name, name))
                except EndedError:
                    self.state = before
                    continue
                self.go_on([before, self.state])

    def _made(self, cls: ClassValue) -> Value:
        """An object of a class, its constructor's arguments inputs."""
        made = self.new_object(cls, ("alone", cls.name), {})
        if not cls.is_known:
            self.state.store.write(made.address, "#rest", Unknown(f"a base of `{cls.name}` is not known", self.place))
        start = self._initializer(made, ("alone", cls.name))
        function = getattr(start, "function", None)
        if isinstance(function, FunctionValue):
            arguments = self._inputs(function, is_method=True)
            arguments[next(iter(arguments), "self")] = made
            try:
                self.run_function(function, arguments, ("alone", cls.name, "__init__"))
            except EndedError:
                pass
        return made

    def _give_fields(self) -> None:
        """What attributes of inputs are by their use: `trainer.scaler`."""
        for name, (role, evidence) in self.roles.items():
            owner, _, last = name.rpartition(".")
            if owner and last.isidentifier() and evidence >= Evidence.USE:
                self.set_attribute(Option(owner), last, self._of_role(name, role, evidence), ("input", name))

    # -- arguments -----------------------------------------------------------------------------------------------

    def _inputs(self, function: FunctionValue, *, is_method: bool = False) -> dict[str, Value]:
        given = function.code.node.args
        bound = self.bind(function, (), {})
        positional = [*given.posonlyargs, *given.args]
        for each in (*positional[1 if is_method else 0 :], *given.kwonlyargs):
            default = dict(function.defaults).get(each.arg)
            bound[each.arg] = self._input(each, default, function)
        return bound

    def _input(self, argument: ast.arg, default: Value | None, function: FunctionValue) -> Value:
        """What stands for one argument."""
        name = argument.arg
        role = self.roles.get(name)
        if role is not None and role[1] >= Evidence.USE:
            return self._of_role(name, *role)
        if argument.annotation is not None:
            annotated = self._annotated_as(argument.annotation, function)
            found = self._of_annotation(name, annotated) if annotated is not None else None
            if found is not None:
                return found
        if role is not None:
            return self._of_role(name, *role)
        known = default if isinstance(default, Constant) else None
        return Option(name, known, place=function.code.place, is_parameter=True)

    def _of_role(self, name: str, role: Role, evidence: Evidence) -> Value:
        return self._made_by_library(name, role.value, evidence) or Option(name, place=self.place, is_parameter=True)

    def _of_annotation(self, name: str, annotated: ClassValue | LibraryName) -> Value | None:
        if isinstance(annotated, LibraryName):
            return self._made_by_library(name, annotated.name, Evidence.ANNOTATION)
        if self.making >= _MOST_MADE:
            return Unknown(f"an object of `{annotated.name}`", self.place, annotated)
        self.making += 1
        try:
            made = self._made(annotated)
        finally:
            self.making -= 1
        if isinstance(made, Object):
            self.state.store.write(made.address, EVIDENCE, constant(int(Evidence.ANNOTATION)))
        return made

    def _made_by_library(self, name: str, what: str, evidence: Evidence) -> Value | None:
        for library in self.libraries:
            handler = library.input(what)
            if handler is not None:
                made = handler(Call(cast(Machinery, self), what, ("input", name)))
                if isinstance(made, Object):
                    self.state.store.write(made.address, EVIDENCE, constant(int(evidence)))
                return made
        return None

    def _annotated_as(self, node: ast.expr, function: FunctionValue) -> ClassValue | LibraryName | None:
        """The class that an annotation names; None where it names none, or says nothing."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except SyntaxError:
                return None
        if not isinstance(node, ast.Name | ast.Attribute):
            return None
        caller = self.frame
        self.frame = Running(module_address(function.code.module.path), function.code.module, "", line=caller.line)
        try:
            found = self.eval(node)
        finally:
            self.frame = caller
        return found if isinstance(found, ClassValue | LibraryName) else None


def _is_special(name: str) -> bool:
    return name in ("__init__", "__new__", "__post_init__", "__getattr__", "__setattr__", "__del__")


def roles_by_use(uses: Iterable[tuple[str, Use]], stepped: Iterable[tuple[str, str]]) -> Roles:
    """The roles of inputs, from what was done with them. `stepped` holds pairs of scaler and optimizer.

    A name counts where nothing else says what it is, and something was done with it.
    """
    seen: dict[str, Use] = {}
    for name, use in uses:
        seen[name] = seen.get(name, Use.NONE) | use
    pairs = tuple(dict.fromkeys(stepped))
    for holder, optimizer in pairs:
        if seen.get(optimizer, Use.NONE) & Use.ZEROES:
            seen[holder] = seen.get(holder, Use.NONE) | Use.STEPS_A_ZEROED
    found: Roles = {name: (role, Evidence.USE) for name, use in seen.items() for role in sorted(roles_of(use))[:1]}
    for holder, optimizer in pairs:
        if found.get(holder, ("",))[0] is Role.SCALER:
            found.setdefault(optimizer, (Role.OPTIMIZER, Evidence.USE))
    for name, use in seen.items():
        if not use & Use.RUNS:
            last = name.rpartition(".")[2]
            if names_a_scaler(last):
                found.setdefault(name, (Role.SCALER, Evidence.NAME))
            elif names_an_optimizer(last):
                found.setdefault(name, (Role.OPTIMIZER, Evidence.NAME))
    return found
