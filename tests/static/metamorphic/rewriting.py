"""A training loop taken apart with libcst, and what it takes to put it together in another way.

Every loop is one module with one function `train`: statements that set it up, one loop over the batches, a return.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import libcst as cst
import libcst.matchers as m

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
Program = dict[str, str]

NOT_A_VALUE = frozenset(
    {"torch", "range", "enumerate", "autocast", "GradScaler", "print", "len", "iter", "next", "True", "False", "None"}
)
"""Names that are neither local nor part of the state of training."""


class Names(cst.CSTVisitor):
    """The variables that a piece of code reads and assigns, without attributes, keywords and outside names."""

    def __init__(self, *nodes: cst.CSTNode) -> None:
        self.read: dict[str, None] = {}
        self.assigned: dict[str, None] = {}
        for node in nodes:
            node.visit(self)

    def visit_Name(self, node: cst.Name) -> None:
        if node.value not in NOT_A_VALUE:
            self.read.setdefault(node.value)

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        node.value.visit(self)
        return False

    def visit_Arg(self, node: cst.Arg) -> bool:
        node.value.visit(self)
        return False

    def visit_Assign(self, node: cst.Assign) -> bool:
        node.value.visit(self)
        for target in node.targets:
            self._assign(target.target)
        return False

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._assign(node.target)

    def visit_For(self, node: cst.For) -> bool:
        node.iter.visit(self)
        self._assign(node.target)
        node.body.visit(self)
        return False

    def _assign(self, target: cst.BaseExpression) -> None:
        for name in Names(target).read if not m.matches(target, m.Attribute()) else ():
            self.assigned.setdefault(name)


class Renamed(cst.CSTTransformer):
    """Puts another name, or another expression, in the place of variables."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        new = self.names.get(original_node.value)
        return cst.parse_expression(new) if new else updated_node

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_ImportAlias(self, original_node: cst.ImportAlias, updated_node: cst.ImportAlias) -> cst.ImportAlias:
        return original_node


class Returning(cst.CSTTransformer):
    """`continue` becomes `return`, for a loop's body that has moved into a function."""

    def leave_Continue(self, original_node: cst.Continue, updated_node: cst.Continue) -> cst.Return:
        return cst.Return()


def code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node).strip()


def call(function: str, arguments: Iterable[str] = ()) -> cst.BaseExpression:
    return cst.parse_expression(f"{function}({', '.join(arguments)})")


def statement(text: str) -> Statement:
    return cst.parse_statement(text)


def block(statements: Iterable[Statement]) -> cst.IndentedBlock:
    return cst.IndentedBlock(list(statements))


def function(name: str, parameters: Iterable[str], body: Sequence[Statement]) -> cst.FunctionDef:
    made = cst.ensure_type(statement(f"def {name}({', '.join(parameters)}):\n    pass\n"), cst.FunctionDef)
    return made.with_changes(body=block(body))


def guarded(condition: str, body: Sequence[Statement], otherwise: Sequence[Statement] = ()) -> cst.If:
    orelse = cst.Else(block(otherwise)) if otherwise else None
    return cst.If(cst.parse_expression(condition), block(body), orelse)


def is_region(node: cst.CSTNode) -> bool:
    return m.matches(node, m.With(items=[m.WithItem(m.Call(m.Name("autocast")))]))


def each(nodes: Iterable[Statement], *transformers: cst.CSTTransformer) -> list[Statement]:
    """The statements after the transformers, without those that they removed."""
    body = block(nodes)
    for transformer in transformers:
        body = cst.ensure_type(body.visit(transformer), cst.IndentedBlock)
    return list(body.body)


@dataclass(frozen=True)
class Loop:
    """A program in the shape that all loops start from, taken apart."""

    imports: tuple[Statement, ...]
    parameters: tuple[str, ...]
    setup: tuple[Statement, ...]
    head: cst.For
    after: tuple[Statement, ...]

    @classmethod
    def parse(cls, text: str) -> Loop:
        module = cst.parse_module(text)
        train = cst.ensure_type(module.body[-1], cst.FunctionDef)
        statements = list(train.body.body)
        at = next(number for number, each in enumerate(statements) if isinstance(each, cst.For))
        return cls(
            imports=tuple(each for each in module.body if m.findall(each, m.Import() | m.ImportFrom())),
            parameters=tuple(each.name.value for each in train.params.params),
            setup=tuple(statements[:at]),
            head=cst.ensure_type(statements[at], cst.For),
            after=tuple(statements[at + 1 :]),
        )

    @property
    def body(self) -> list[Statement]:
        return list(self.head.body.body)

    @cached_property
    def made(self) -> tuple[str, ...]:
        """What the set-up assigns: optimizers, the scaler, what is summed up."""
        return tuple(Names(*self.setup).assigned)

    def having(
        self,
        *,
        body: Sequence[Statement] | None = None,
        setup: Iterable[Statement] | None = None,
        loop: Sequence[Statement] | None = None,
        more: Sequence[str] = (),
        before: Sequence[Statement] = (),
        imports: Sequence[Statement] = (),
    ) -> Program:
        """The program with some of its parts replaced; `more` are further parameters, `before` goes above `train`."""
        return program(train=[*self.imports, *imports, *before, self.train(body, setup, loop, more)])

    def train(
        self,
        body: Sequence[Statement] | None = None,
        setup: Iterable[Statement] | None = None,
        loop: Sequence[Statement] | None = None,
        more: Sequence[str] = (),
    ) -> cst.FunctionDef:
        """The function, with some of its parts replaced."""
        head = self.head if body is None else self.head.with_changes(body=block(body))
        inside = [
            *(self.setup if setup is None else setup),
            *([head] if loop is None else loop),
            *self.after,
        ]
        return function("train", [*self.parameters, *more], inside)

    def helper(self, name: str, body: Sequence[Statement]) -> tuple[cst.FunctionDef, Statement]:
        """The statements as a function of what they read, and the statement that calls it and takes its results."""
        names = Names(*body)
        unbound = set(self.made) | set(self.parameters) | set(Names(self.head.target).read)
        elsewhere = [each for each in self.body if each not in body]
        known = unbound | set(Names(*elsewhere).assigned)
        parameters = [each for each in (*names.read, *names.assigned) if each in known]
        parameters = list(dict.fromkeys(parameters))
        results = [each for each in names.assigned if each in self.made]
        moved = [*each(body, Returning()), *([statement(f"return {', '.join(results)}\n")] if results else [])]
        value = code(call(name, parameters))
        return (
            function(name, parameters, moved),
            statement(f"{', '.join(results)} = {value}\n" if results else f"{value}\n"),
        )


def program(**modules: Sequence[Statement]) -> Program:
    return {f"{name}.py": cst.Module(list(body)).code for name, body in modules.items()}
