"""Evaluate a parameter: from the call at hand, from other calls, or from its annotation."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from verifygate.static.symbols.program import Class, Function
from verifygate.static.syntax.names import simple_name
from verifygate.static.values.call_contexts import CallContexts
from verifygate.static.values.domain import (
    UNKNOWN,
    Bound,
    ClassValue,
    ExternalName,
    ExternalResult,
    Frame,
    Literal,
    Object,
    Value,
)

if TYPE_CHECKING:
    from verifygate.static.values.evaluation import Evaluation


_ANY = frozenset(
    {"torch.nn.Module", "torch.nn.modules.Module", "torch.nn.modules.module.Module"}
    | {"torch.optim.Optimizer", "torch.optim.optimizer.Optimizer"}
)
"""Classes that promise no more than a model, or an optimizer: which one it is, the calls say."""
_NO_CLASSES = frozenset({"typing.Any", "typing.Callable", "collections.abc.Callable", "builtins.object"})
"""Annotations that name no class."""
_PROTOCOLS = frozenset({"typing.Protocol", "typing_extensions.Protocol"})


class Parameters:
    def __init__(self, evaluator: Evaluation) -> None:
        self._evaluator = evaluator
        self._entries = CallContexts(evaluator)

    def entries(self, function: Function) -> list[Frame]:
        """The function as each of the calls that pass it something enters it."""
        return self._entries.of(function)

    def passed(self, name: str, frame: Frame) -> list[Bound]:
        """What a parameter is given: by the call at hand, by its default, or by the project's own calls."""
        if bound := frame.arguments.get(name):
            return [bound]
        default = frame.function.default(name) if frame.caller is not None else None
        if default is not None:
            return [Bound(default, self._evaluator.module_frame(frame.function.module))]
        return list(self._given(name, frame)) if frame.caller is None else []

    def of(self, name: str, frame: Frame) -> Sequence[Value]:
        """All that a parameter can be in a frame of its function."""
        function = frame.function
        first = function.parameters[0].arg if function.parameters else ""
        if function.owner is not None and name == first and not function.is_static:
            if frame.receiver_class is not None:
                return [self._receiver(frame, frame.receiver_class)]
            if frame.receiver is not None:
                return self._evaluator.values(frame.receiver.expr, frame.receiver.frame)
            return [Object(function.owner)]
        if bound := frame.arguments.get(name):
            return self._evaluator.values(bound.expr, bound.frame)
        default = function.default(name) if frame.caller is not None else None
        if default is not None:
            return self._evaluator.values(default, self._evaluator.module_frame(function.module))
        annotation = next((arg.annotation for arg in function.parameters if arg.arg == name), None)
        promised = self._annotated(annotation, frame)
        if frame.caller is None and (UNKNOWN in promised or all(map(_may_be_any, promised))):
            return [*self._passed(name, frame), *promised]
        return promised

    def _receiver(self, frame: Frame, made: Class) -> Object:
        """The object that a method runs on; by its allocation site, where the call at hand tells it."""
        if frame.receiver is not None:
            match self._evaluator.values(frame.receiver.expr, frame.receiver.frame):
                case (Object() as value,) if value.made is made:
                    return value
        return Object(made)

    def _passed(self, name: str, frame: Frame) -> Iterator[Value]:
        for bound in self._given(name, frame):
            yield from self._evaluator.values(bound.expr, bound.frame)

    def _given(self, name: str, frame: Frame) -> Iterator[Bound]:
        """What the project's own calls pass as a parameter, for a function entered from nowhere in particular."""
        made, function = frame.receiver_class, frame.function
        for entered in self._entries.of(function):
            of = entered.receiver_class or function.owner
            if made is not function.owner and of is not None and made not in self._evaluator.linearised(of):
                continue  # that is an object of another class with the same base
            if bound := entered.arguments.get(name):
                yield bound

    def _annotated(self, annotation: ast.expr | None, frame: Frame) -> Sequence[Value]:
        """What an annotation promises; `X | None` and `Optional[X]` promise X or None.

        Unknown is what names no class: `Any`, `object`, a callable, a Protocol of the project's, a text, a container.
        """
        match annotation:
            case None:
                return (UNKNOWN,)
            case ast.BinOp(op=ast.BitOr()):
                return [*self._annotated(annotation.left, frame), *self._annotated(annotation.right, frame)]
            case ast.Subscript() if simple_name(annotation.value).endswith("Optional"):
                return [*self._annotated(annotation.slice, frame), Literal(None)]
            case ast.Name() | ast.Attribute():
                return [self._promised(value) for value in self._evaluator.values(annotation, frame)]
            case ast.Constant(value=None):
                return [Literal(None)]
        return (UNKNOWN,)

    def _promised(self, annotation: Value) -> Value:
        """What an annotation of this value promises."""
        match annotation:
            case ExternalName(name=name) if name not in _NO_CLASSES:
                return ExternalResult(name, ())
            case ClassValue(made=made) if not self._evaluator.outside_bases(made) & _PROTOCOLS:
                return Object(made)
        return UNKNOWN


def _may_be_any(promised: Value) -> bool:
    return isinstance(promised, ExternalResult) and promised.name in _ANY
