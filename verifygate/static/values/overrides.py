"""Virtual dispatch: methods that subclasses override, and attributes that they set by name.

`self.training_step(batch)` runs a method of a class below, and `self.workers = 0` is only a default where a class below
fills all attributes from a file.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING

from verifygate.static.symbols.program import Class, Function
from verifygate.static.syntax.names import simple_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import FunctionValue, Object

if TYPE_CHECKING:
    from verifygate.static.values.evaluation import Evaluation

MOST = 6
"""Of more classes that fill one method in, none is looked at: which of them runs is anybody's guess."""


class Overrides:
    """Finds, for a method without a body, the methods that stand in for it."""

    def __init__(self, evaluator: Evaluation) -> None:
        self._evaluator = evaluator
        self._known: dict[tuple[Class, str], tuple[Function, ...]] = {}
        self._by_method: dict[str, list[Class]] | None = None
        self._settable: dict[str, bool] = {}

    def of(self, base: object, name: str) -> tuple[Function, ...]:
        """The methods that classes next below the class of an object put in the place of its empty one."""
        if not isinstance(base, Object) or base.call is not None:
            return ()  # an object that is made here is of this class and no other
        key = (base.made, name)
        if key not in self._known:
            self._known[key] = ()  # asked for the classes that derive from it, this may be asked again
            self._known[key] = self._filled_in(base.made, name)
        return self._known[key]

    def _filled_in(self, made: Class, name: str) -> tuple[Function, ...]:
        line = self._evaluator.linearised(made)
        method = next((each.methods[name] for each in line if name in each.methods), None)
        if method is None or not is_empty(method):
            return ()
        found = []
        for below in self._classes_with(name):
            order = self._evaluator.linearised(below)
            if below is made or made not in order:
                continue
            between = order[1 : order.index(made)]
            if not any(name in each.methods and not is_empty(each.methods[name]) for each in between):
                found.append(below.methods[name])
        found = [each for each in found if not is_left_open(each)]
        return tuple(found) if len(found) <= MOST else ()

    def sets_by_name(self, made: Class) -> bool:
        """Whether the class, or one that says to derive from it, sets attributes whose names the source does not tell.

        What it binds to a constant itself is a default then.
        """
        name = made.node.name
        if name not in self._settable:
            own = (made.module.path, rb"class\s+%s\b" % name.encode())
            below = rb"class\s+\w+\s*\([^)]*\b%s\b" % name.encode()
            self._settable[name] = any(
                re.search(own[1], data) if path == own[0] else re.search(below, data)
                for path, data in self._setting.items()
                if name.encode() in data
            )
        return self._settable[name]

    @cached_property
    def _setting(self) -> dict[str, bytes]:
        """Path -> text of the files in which some `self` gets attributes by name."""
        sources = self._evaluator.program.sources
        return {file.path: file.data for file in sources if file.sets_by_name}

    def _classes_with(self, name: str) -> list[Class]:
        if self._by_method is None:
            self._by_method = {}
            for module in self._evaluator.modules:
                for made in module.classes.values():
                    for method in made.methods:
                        self._by_method.setdefault(method, []).append(made)
        return self._by_method.get(name, [])


def is_left_open(method: Function) -> bool:
    """Whether an empty method is for classes further down to fill in: one that just does nothing is filled in."""
    return is_empty(method) and (isinstance(method.node.body[-1], ast.Raise) or is_abstract(method))


def is_abstract(method: Function) -> bool:
    """Whether every class of which there are objects has a method of its own in the place of this one."""
    return any(
        simple_name(each) in ("abstractmethod", "abstractproperty")
        for each in getattr(method.node, "decorator_list", ())
    )


def runs_only_by_super(callee: object, call: ast.Call) -> bool:
    """Whether a call is dispatched to an abstract method that returns something: what runs is another method.

    The body of an abstract method runs for `super().name(...)` and `Base.name(self, ...)`.
    """
    if not isinstance(callee, FunctionValue) or callee.function.owner is None or callee.receiver is None:
        return False
    if not callee.function.returns or not is_abstract(callee.function):
        return False
    asked = call.func.value if isinstance(call.func, ast.Attribute) else None
    return not (isinstance(asked, ast.Call) and simple_name(asked.func) == "super")


def is_empty(method: Function) -> bool:
    """Whether a method does nothing but, perhaps, say that classes derived from its own are to define it."""
    *_, last = method.node.body
    if isinstance(last, ast.Raise):
        return last.exc is not None and any(
            isinstance(node, ast.Name) and node.id == "NotImplementedError" for node in walk(last.exc)
        )
    return all(
        isinstance(each, ast.Pass) or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        for each in method.node.body
    )
