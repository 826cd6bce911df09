"""A file as a libcst tree: find the node a finding points at, change nodes, write the file back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TypeVar

import libcst as cst
from libcst import metadata

from verifygate.fix.draft import CannotFixError, Draft
from verifygate.model import Applicability, Finding

Node = TypeVar("Node", bound=cst.CSTNode)
Change = Callable[[cst.CSTNode], cst.CSTNode]
Block = cst.IndentedBlock | cst.Module


def read_module(data: bytes) -> cst.Module:
    """Parse bytes; what libcst could not write back byte for byte is refused here, before anything is changed."""
    try:
        module = cst.parse_module(data)
        same = module.bytes == data
    except Exception as error:  # its parser raises many kinds
        raise CannotFixError(f"libcst cannot read the file ({type(error).__name__})") from error
    if not same:
        raise CannotFixError("the file cannot be written back byte for byte")
    return module


@dataclass
class Edits:
    """Changes to one tree, collected first and made at once."""

    changes: dict[cst.CSTNode, Change] = field(default_factory=dict)
    before: dict[cst.CSTNode, list[cst.BaseStatement]] = field(default_factory=dict)
    after: dict[cst.CSTNode, list[cst.BaseStatement]] = field(default_factory=dict)
    removed: set[cst.CSTNode] = field(default_factory=set)


class Tree:
    """One parsed file, with positions, parents and scopes of its nodes."""

    def __init__(self, path: str, module: cst.Module, *, dry: bool = False) -> None:
        self.path = path
        self._dry = dry
        self.module = module
        self._positions = metadata.MetadataWrapper(module, unsafe_skip_copy=True).resolve(metadata.PositionProvider)
        self._scopes: Mapping[cst.CSTNode, metadata.Scope | None] | None = None
        self._parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self._below: dict[cst.CSTNode, list[cst.CSTNode]] = {}
        """Node -> those right below it, in source order."""
        self._relate()

    def _relate(self) -> None:
        """Note who stands below whom. libcst's own `children`, and its provider of parents, visit every node for it."""
        stack: list[cst.CSTNode] = [self.module]
        while stack:
            node = stack.pop()
            below = list(_held(node))
            if below:
                self._below[node] = sorted(below, key=self._start)
                self._parents.update(dict.fromkeys(below, node))
                stack += below

    def _start(self, node: cst.CSTNode) -> tuple[int, int]:
        place = self._positions.get(node)
        return (place.start.line, place.start.column) if place is not None else (0, 0)

    def text(self, node: cst.CSTNode) -> str:
        return self.module.code_for_node(node).strip()

    def lines(self, node: cst.CSTNode) -> tuple[int, int]:
        place = self._positions[node]
        return place.start.line, place.end.line

    def at(self, finding: Finding, kind: type[Node]) -> list[Node]:
        """The nodes of a kind that start where the finding points, outermost first."""
        line, column = finding.line, finding.column - 1
        return [
            node
            for node, place in self._positions.items()
            if place.start.line == line and place.start.column == column and isinstance(node, kind)
        ]

    def call(self, finding: Finding) -> cst.Call:
        """The method call that the finding points at. Raises CannotFixError."""
        calls = [call for call in self.at(finding, cst.Call) if self.lines(call)[1] == finding.end_line]
        if not calls:
            raise CannotFixError("there is no such call at the location of the finding")
        return max(calls, key=lambda call: len(self.text(call)))

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self._parents.get(node)

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The node and everything around it, inside out."""
        here: cst.CSTNode | None = node
        while here is not None:
            yield here
            here = self.parent(here)

    def within(self, root: cst.CSTNode, kind: type[Node]) -> list[Node]:
        """Every node of a kind below `root` (itself too), in source order."""
        found: list[Node] = []
        known: dict[type, bool] = {}  # `isinstance` of abstract classes is slow, and there are few classes
        stack: list[cst.CSTNode] = [root]
        while stack:
            node = stack.pop()
            if node.__class__ not in known:
                known[node.__class__] = isinstance(node, kind)
            if known[node.__class__]:
                found.append(node)  # type: ignore[arg-type]
            stack += reversed(self._below.get(node, ()))
        return found

    def scope(self, node: cst.CSTNode) -> metadata.Scope | None:
        """The scope of names at a node; worked out for the first one that asks."""
        if self._scopes is None:
            contexts = _Contexts()
            contexts.visit_Module(self.module)
            scopes = _Scopes(contexts)
            scopes.visit_Module(self.module)
            self._scopes = scopes.found
        for here in self.above(node):
            if (scope := self._scopes.get(here)) is not None:
                return scope
        return None

    @property
    def global_scope(self) -> metadata.Scope:
        scope = self.scope(self.module)
        assert scope is not None  # noqa: S101 - a module always has one
        return scope

    def statement(self, node: cst.CSTNode) -> cst.SimpleStatementLine:
        """The line of statements that holds a node. Raises CannotFixError for a body on the line of its header."""
        for here in self.above(node):
            if isinstance(here, cst.SimpleStatementLine):
                return here
            if isinstance(here, cst.SimpleStatementSuite):
                raise CannotFixError("the statement is on the line of its `if` or loop: move it to a line of its own")
        raise CannotFixError("no statement can be inserted beside this one")

    def holding(self, node: cst.CSTNode) -> cst.CSTNode:
        """The small statement around a node: its lines are also those of the parentheses and comments in it."""
        return next((here for here in self.above(node) if isinstance(here, cst.BaseSmallStatement)), node)

    def block(self, statement: cst.CSTNode) -> Block:
        """The block whose body holds a statement."""
        parent = self.parent(statement)
        if isinstance(parent, cst.IndentedBlock | cst.Module):
            return parent
        raise CannotFixError("the statement is not in a block")

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | cst.Module:
        """The function around a node, or the module."""
        return next(here for here in self.above(node) if isinstance(here, cst.FunctionDef | cst.Module))

    def new_statement(self, text: str) -> cst.SimpleStatementLine:
        made = cst.parse_statement(text, config=self.module.config_for_parsing)
        assert isinstance(made, cst.SimpleStatementLine)  # noqa: S101 - the callers write single lines
        return made

    def draft(
        self, edits: Edits, findings: Sequence[Finding], lines: Sequence[tuple[int, int]], safety: Applicability
    ) -> Draft:
        """Make the edits. `lines` are the stretches of the old file that they touch.

        Of a dry tree only the plan is wanted: writing the file costs as much as all that goes before.
        """
        data = b"" if self._dry else self.module.visit(_Editor(edits)).bytes
        return Draft(self.path, tuple(findings), data, tuple(lines), safety)


class _Contexts(metadata.ExpressionContextProvider):
    """Which names are read and which are bound.

    Both providers work out everything when they visit the module. libcst's wrapper then leads each of them past every
    node once more, where they have nothing to do: more than half of the time.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[cst.CSTNode, metadata.ExpressionContext] = {}

    def set_metadata(self, node, value):  # type: ignore[no-untyped-def]
        self.found[node] = value


class _Scopes(metadata.ScopeProvider):
    """The scope at each node that has one."""

    def __init__(self, contexts: _Contexts) -> None:
        super().__init__()
        self.contexts = contexts
        self.found: dict[cst.CSTNode, metadata.Scope | None] = {}

    def set_metadata(self, node, value):  # type: ignore[no-untyped-def]
        self.found[node] = value

    def get_metadata(self, key, node, default=None):  # type: ignore[no-untyped-def]
        assert key is metadata.ExpressionContextProvider  # noqa: S101 - the one provider that it depends on
        return self.contexts.found.get(node, default)


def _held(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes in the fields of a node."""
    for name in _field_names(node.__class__):
        value = getattr(node, name)
        for each in value if isinstance(value, list | tuple) else (value,):
            if _is_node(each.__class__):
                yield each


@cache
def _field_names(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


@cache
def _is_node(kind: type) -> bool:
    return issubclass(kind, cst.CSTNode)


class _Editor(cst.CSTTransformer):
    def __init__(self, edits: Edits) -> None:
        super().__init__()
        self._edits = edits

    def on_leave(self, original_node, updated_node):  # type: ignore[no-untyped-def]
        edits = self._edits
        if original_node in edits.removed:
            return cst.RemoveFromParent()
        if change := edits.changes.get(original_node):
            updated_node = change(updated_node)
        before, after = edits.before.get(original_node), edits.after.get(original_node)
        if before or after:
            return cst.FlattenSentinel([*(before or ()), updated_node, *(after or ())])
        return updated_node


def dotted(node: cst.CSTNode) -> list[str]:
    """`torch.cuda.amp` as its parts; empty for anything but names joined by dots."""
    if isinstance(node, cst.Name):
        return [node.value]
    if isinstance(node, cst.Attribute):
        head = dotted(node.value)
        return [*head, node.attr.value] if head else []
    return []


def root_name(node: cst.CSTNode) -> cst.Name | None:
    """The leftmost name of a dotted expression."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return node if isinstance(node, cst.Name) else None


def method_call(call: cst.CSTNode) -> tuple[cst.BaseExpression, str] | None:
    """Receiver and method name of `receiver.method(...)`."""
    if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute):
        return call.func.value, call.func.attr.value
    return None
