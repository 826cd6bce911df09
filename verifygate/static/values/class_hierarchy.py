"""Class hierarchy analysis: of which classes an object may be, and what binds its attributes in each of them.

`self` in a method is an object of its class or of one derived from it, and `dtype = torch.float16` of a class below
takes the place of its own. Narrowed by what the program instantiates (rapid type analysis): a class that others derive
from, and that nothing names but they, has no objects of its own.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from verifygate.static.symbols.program import Class, Function
from verifygate.static.syntax.names import simple_name
from verifygate.static.values.domain import (
    UNKNOWN,
    AttributeBinding,
    Bound,
    ClassValue,
    Frame,
    FunctionValue,
    Object,
    Value,
)

if TYPE_CHECKING:
    from verifygate.static.values.evaluation import Evaluation

MOST = 6
"""Of more classes that bind an attribute in ways of their own, only one is looked at: the others are unknown."""
_NO_USE = (
    rb"(?m)^[ \t]*class[ \t]+\w+[ \t]*(?:\([^)]*\))?[ \t]*:"
    rb"|^[ \t]*from[ \t]+[\w.]+[ \t]+import[ \t]*(?:\([^)]*\)|[^\n(]*)"
)
"""Where a name stands without being used: a class statement with its bases, and an import."""


class ClassHierarchy:
    """Answers for the classes of one evaluator's modules."""

    def __init__(self, evaluator: Evaluation) -> None:
        self._evaluator = evaluator
        self._below: dict[Class, list[Class]] = {}
        self._waiting: deque[Class] | None = None
        """The classes whose bases nobody has asked about yet, in order."""
        self._ways: dict[tuple[Class, str, Function | None], tuple[Class, ...]] = {}
        self._overriding: dict[tuple[Class, str, Function | None], tuple[Function, ...]] = {}
        self._named: dict[Class, bool] = {}

    def below(self, made: Class) -> list[Class]:
        """The class, and the project's classes that derive from it."""
        self._is_complete()
        return self._below.get(made) or [made]

    def _is_complete(self) -> bool:
        """Whether every class is entered below its bases; while the bases of one are being asked about, it waits."""
        if self._waiting is None:
            self._waiting = deque(made for module in self._evaluator.modules for made in module.classes.values())
        while self._waiting:
            gaps = self._evaluator.demand.gaps
            line = self._evaluator.linearised(self._waiting[0])
            if self._evaluator.demand.gaps != gaps:
                return False  # so whatever rests on this is asked again
            made = self._waiting.popleft()
            for base in line:
                self._below.setdefault(base, []).append(made)
        return True

    def ways(self, value: Object | ClassValue, name: str, at: Bound) -> tuple[Class, ...]:
        """The classes in which to look an attribute of an object up: one for each that may bind it differently.

        Its class alone, where the object is made in sight, where no class below binds the attribute anew, and where
        its own class has a method by that name, or nothing. `at` is what names the object: `self` in a method is no
        object of a class that overrides the method.
        """
        if not isinstance(value, Object) or value.call is not None:
            return (value.made,)
        key = (value.made, name, _running(at))
        if (known := self._ways.get(key)) is None:
            complete = self._is_complete()
            known = self._found(*key)
            if complete:
                self._ways[key] = known
        return known

    def dispatched(self, call: ast.Call, frame: Frame) -> tuple[Value, ...]:
        """What a call on an object may run, where classes below override the method; else nothing.

        Without the method in sight where no object has it.
        """
        match call.func:
            case ast.Attribute(value=base, attr=name):
                called = self._evaluator.values(call.func, frame)
            case _:
                return ()
        match called, self._evaluator.values(base, frame):
            case [FunctionValue(function=own, receiver=Bound() as this)], [Object(made=made, call=None)]:
                methods = self._methods(made, name, _running(Bound(base, frame)))
            case _:
                return ()
        if own.is_class_method or methods in ((), (own,)):
            return ()
        found = tuple(FunctionValue(each, this) for each in methods[:MOST])
        return found if len(methods) <= MOST else (*found, UNKNOWN)

    def _methods(self, made: Class, name: str, running: Function | None) -> tuple[Function, ...]:
        """The methods by a name of the classes that an object may be of; `running` is the method of its that runs."""
        key = (made, name, running)
        if (known := self._overriding.get(key)) is None:
            complete = self._is_complete()
            possible = self._possible(made, running) if len(self.below(made)) > 1 else []
            found = dict.fromkeys(self._method(each, name) for each in possible)
            known = tuple(each for each in found if each is not None)
            if complete:
                self._overriding[key] = known
        return known

    def _method(self, made: Class, name: str) -> Function | None:
        return next((each.methods[name] for each in self._evaluator.linearised(made) if name in each.methods), None)

    def bindings(self, value: Object | ClassValue, expr: ast.Attribute, frame: Frame) -> Iterator[AttributeBinding]:
        """All that binds the attribute `expr` of an object, in whichever of these classes it may be of."""
        seen = set()
        for of in self.ways(value, expr.attr, Bound(expr.value, frame)):
            hidden = False
            for made in self._evaluator.linearised(of):
                for binding, owner in made.attributes.get(expr.attr, ()):
                    if binding not in seen and (owner is not None or not hidden):
                        seen.add(binding)
                        yield AttributeBinding(binding, owner, made, of)
                hidden = hidden or hides(made, expr.attr)

    def may_be_of_one_object(self, one: Function, other: Function) -> bool:
        """Whether an object may have both for methods: those of one class, or of one that derives from the other's."""
        if one.owner is None or other.owner is None:
            return False
        above = self._evaluator.linearised
        return one.owner in above(other.owner) or other.owner in above(one.owner)

    def _found(self, made: Class, name: str, running: Function | None) -> tuple[Class, ...]:
        below = self.below(made)
        own = self._way(made, name) if len(below) > 1 else ()
        if not own or ((method := own[0].methods.get(name)) is not None and not method.is_property):
            return (made,)
        ways = {own: made}
        for each in below:
            ways.setdefault(self._way(each, name), each)
        if len(ways) == 1:
            return (made,)
        possible = {self._way(each, name) for each in self._possible(made, running)}
        return tuple(of for way, of in ways.items() if way in possible) or (made,)

    def _possible(self, made: Class, running: Function | None) -> list[Class]:
        """The class and those below it of which there may be objects, where one of its methods is running: on these."""
        return [each for each in self._instantiated(made) if running is None or self._runs_on(running, each)]

    def _runs_on(self, method: Function, made: Class) -> bool:
        """Whether a method runs on objects of a class: nothing overrides it there, or what does calls it."""
        line = self._evaluator.linearised(made)
        if method.owner not in line:
            return True
        nearer = line[: line.index(method.owner)]
        return not any(method.name in each.methods for each in nearer) or any(
            isinstance(call.func, ast.Attribute)
            and call.func.attr == method.name
            and not (isinstance(call.func.value, ast.Name) and call.func.value.id == "self")
            for each in nearer
            for other in each.methods.values()
            for call in other.calls
        )

    def _way(self, made: Class, name: str) -> tuple[Class, ...]:
        line = self._evaluator.linearised(made)
        return tuple(each for each in line if name in each.attributes or name in each.methods)

    def _instantiated(self, made: Class) -> list[Class]:
        """Of the class and those below it, those that there may be objects of; tests aside, but for a test's own."""
        of_test = made.module.file.is_test
        found = [each for each in self.below(made) if of_test or not each.module.file.is_test]
        if not any(map(self._is_named, found)):
            return found  # they are made by names that the source does not tell, or by whoever imports them
        above = {base for each in found for base in self._evaluator.linearised(each)[1:]}
        return [each for each in found if each not in above or self._is_named(each)]

    def _is_named(self, made: Class) -> bool:
        """Whether the class, or its name as a text, occurs anywhere but where classes derive from it and in imports."""
        if (known := self._named.get(made)) is None:
            known = self._named[made] = _may_be_registered(made) or self._is_used(made.node.name.encode())
        return known

    def _is_used(self, name: bytes) -> bool:
        word = re.compile(rb"\b%b\b" % re.escape(name))
        for file in self._evaluator.program.sources:
            if file.is_test or name not in file.data:
                continue
            data = file.data
            spans = [found.span() for found in re.finditer(_NO_USE, data)]
            for found in word.finditer(data):
                inside = any(start <= found.start() < end for start, end in spans)
                renamed = re.match(rb"[ \t]+as\b", data[found.end() : found.end() + 20])
                if (renamed or not inside) and file.is_code(found.start()):
                    return True
        return False


def hides(made: Class, name: str) -> bool:
    """Whether the body of a class surely binds a name: what the bodies of classes above it bind is not seen then.

    What methods assign to `self` is.
    """
    return any(
        owner is None and binding.kind == "value" and binding.node in made.node.body
        for binding, owner in made.attributes.get(name, ())
    )


def _may_be_registered(made: Class) -> bool:
    """Whether something learns of the class as it is defined: a decorator, a metaclass, `__init_subclass__`."""
    known_meta = all(word.arg == "metaclass" and simple_name(word.value) == "ABCMeta" for word in made.node.keywords)
    return bool(made.node.decorator_list) or not known_meta or "__init_subclass__" in made.methods


def _running(at: Bound) -> Function | None:
    """The method of whose own object an expression is the name: `self`, also in a function inside the method."""
    here: Frame | None = at.frame
    while here is not None and here.function.owner is None:
        here = here.enclosing
    method = here.function if here is not None else None
    if method is None or not method.parameters or method.is_static or not isinstance(at.expr, ast.Name):
        return None
    return method if at.expr.id == method.parameters[0].arg else None
