"""The evaluator's interface: a Protocol for the modules that evaluate parts, so that none of them imports it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Protocol

from verifygate.static.symbols.program import Class, Function, Module, Program
from verifygate.static.symbols.scopes import Binding
from verifygate.static.values.contents import Row
from verifygate.static.values.demand import Demand
from verifygate.static.values.domain import (
    AttributeBinding,
    Bound,
    ClassValue,
    Contents,
    ExternalResult,
    Frame,
    FunctionValue,
    Object,
    Value,
    Values,
)


class ContainerContents(Protocol):
    """What containers hold. `values.containers.Containers` is the one that answers."""

    def of(self, expr: ast.expr, frame: Frame) -> Contents | None: ...

    def at(self, holder: ast.expr, key: object, frame: Frame) -> Bound | None: ...

    def entry(self, key: ast.expr, value: Bound, frame: Frame) -> Contents | None: ...

    def iterations(self, target: ast.expr, source: ast.expr, frame: Frame) -> list[Row] | None: ...


class AttributeLookup(Protocol):
    """What binds the attributes of objects. `values.class_hierarchy.ClassHierarchy` is the one that answers."""

    def bindings(self, value: Object | ClassValue, expr: ast.Attribute, frame: Frame) -> Iterator[AttributeBinding]: ...


class Evaluation(Protocol):
    """Abstract interpretation on demand. `values.evaluator.Evaluator` is the one that answers."""

    program: Program
    modules: Sequence[Module]

    @property
    def containers(self) -> ContainerContents: ...

    demand: Demand

    def values(self, expr: ast.expr, frame: Frame) -> Values: ...

    def truth(self, test: ast.expr, frame: Frame) -> bool | None: ...

    def sources(self, expr: ast.expr, frame: Frame) -> list[Bound]: ...

    def bound_to(self, binding: Binding, frame: Frame) -> list[Bound]: ...

    def passed(self, name: str, frame: Frame) -> list[Bound]: ...

    def entries(self, function: Function) -> list[Frame]: ...

    def outside_bases(self, made: Class) -> frozenset[str]: ...

    def attribute(self, base: Value, name: str, base_expr: ast.expr, frame: Frame) -> Sequence[Value]: ...

    def lookup(self, name: str, frame: Frame) -> tuple[list[Binding], Frame] | None: ...

    def linearised(self, made: Class) -> tuple[Class, ...]: ...

    @property
    def hierarchy(self) -> AttributeLookup: ...

    def callees(self, call: ast.Call, frame: Frame) -> tuple[FunctionValue, ...]: ...

    def enter(self, callee: FunctionValue, call: ast.Call, frame: Frame) -> Frame | None: ...

    def entered_anew(self, callee: FunctionValue, call: ast.Call, frame: Frame) -> Frame | None: ...

    def root_frame(self, function: Function) -> Frame: ...

    def defining_frame(self, method: Function, made: Class | None, call: Bound | None) -> Frame: ...

    def module_frame(self, module: Module) -> Frame: ...


def is_module_without(value: Value, name: str, evaluator: Evaluation) -> bool:
    """Whether a value is a module of torch, or one of the project that has torch's method of a name."""
    match value:
        case ExternalResult():
            return value.name.startswith("torch.nn.") and value.name.rpartition(".")[2][:1].isupper()
        case Object():
            own = any(name in each.methods for each in evaluator.linearised(value.made))
            return not own and any(base.startswith("torch.nn.") for base in evaluator.outside_bases(value.made))
    return False
