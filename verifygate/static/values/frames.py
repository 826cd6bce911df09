"""Frames of functions that no call at hand enters: modules, functions by themselves, and constructors of objects."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verifygate.static.symbols.program import Class, Function, Module
from verifygate.static.values.domain import Bound, Frame, FunctionValue

if TYPE_CHECKING:
    from verifygate.static.values.evaluation import Evaluation


class Frames:
    """One frame for each module, function and method of a class, made when it is first asked for."""

    def __init__(self, evaluator: Evaluation) -> None:
        self._evaluator = evaluator
        self._modules: dict[Module, Frame] = {}
        self._functions: dict[Function, Frame] = {}
        self._methods: dict[tuple[Function, Class], Frame] = {}
        self._counterparts: dict[Frame, Frame] = {}

    def forget(self) -> None:
        """Let go of what is known in them."""
        methods = (*self._functions.values(), *self._methods.values())
        for frame in (*self._modules.values(), *methods, *self._counterparts.values()):
            frame.forget()

    def of_module(self, module: Module) -> Frame:
        """The frame of a module's body."""
        if (frame := self._modules.get(module)) is None:
            frame = self._modules[module] = Frame(module.body)
        return frame

    def of_function(self, function: Function) -> Frame:
        """A frame for a function entered from nowhere in particular."""
        if (frame := self._functions.get(function)) is None:
            if function.node is function.module.tree:
                return self.of_module(function.module)
            enclosing = function.enclosing
            outer = self.of_function(enclosing) if enclosing and enclosing.symbol else None
            frame = self._functions[function] = Frame(function, receiver_class=function.owner, enclosing=outer)
        return frame

    def of_method(self, method: Function, made: Class | None) -> Frame:
        """A frame for a method entered from nowhere in particular, on an object of a class that may derive from its."""
        if made is None or made is method.owner:
            return self.of_function(method)
        if (frame := self._methods.get((method, made))) is None:
            frame = self._methods[method, made] = Frame(method, receiver_class=made)
        return frame

    def of_constructor(self, method: Function, made: Class | None, call: Bound | None) -> Frame:
        """The frame in which a method gave an object an attribute: its constructor's, as the allocation entered it.

        So what two objects of a class were given is told apart by their allocation sites. `call` made the object; where
        that is not known, or another method gave it the attribute, it is the frame of the method by itself.
        """
        if call is None or made is None or not isinstance(call.expr, ast.Call):
            return self.of_method(method, made)
        constructors = (each.methods.get("__init__") for each in self._evaluator.linearised(made))
        if method is not next(filter(None, constructors), None):
            return self.of_method(method, made)
        key = (call.expr, method)
        if (frame := call.frame.constructed.get(key)) is None:
            entered = self._evaluator.entered_anew(FunctionValue(method, call), call.expr, call.frame)
            frame = call.frame.noted("constructed")[key] = entered or self.of_method(method, made)
            frame.receiver_class = made
        return frame

    def counterpart(self, other: Frame) -> Frame:
        """The frame here for one of another evaluator: of the same function, entered by the same calls."""
        if other.caller is None:
            return self.of_method(other.function, other.receiver_class)
        if (frame := self._counterparts.get(other)) is None:
            frame = self._counterparts[other] = Frame(
                other.function,
                receiver=self._bound_here(other.receiver) if other.receiver is not None else None,
                receiver_class=other.receiver_class,
                caller=self.counterpart(other.caller),
                call=other.call,
                enclosing=self.counterpart(other.enclosing) if other.enclosing is not None else None,
                loop=other.loop,
                around=self.counterpart(other.around) if other.around is not None else None,
            )
            frame.arguments.update((name, self._bound_here(each)) for name, each in other.arguments.items())
            frame.fixed = {name: self._bound_here(each) for name, each in other.fixed.items()}
        return frame

    def _bound_here(self, bound: Bound) -> Bound:
        return Bound(bound.expr, self.counterpart(bound.frame))
