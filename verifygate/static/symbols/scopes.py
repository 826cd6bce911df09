"""Scopes and bindings: the names that a function, class or module binds, and what each is bound to."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate import torch_names
from verifygate.base.records import field, record
from verifygate.static.syntax.deferred import DEFERRED

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
ScopeNode = FunctionNode | ast.Module | ast.Lambda
# What a loop over all nodes asks first: telling by the class alone is ten times faster than `isinstance` of many.
_DECLARING = DEFERRED | frozenset(
    {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal}
    | {ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping}
)
_BINDING = frozenset(
    {ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.AsyncFor, ast.comprehension, ast.withitem}
)


@record(eq=False)
class Binding:
    """One way in which a name gets its value."""

    kind: str
    """`value`, `item` (of a tuple), `iteration`, `entry` (iteration over the values of a mapping), `index` (of an
    `enumerate`), `part` (of a tuple in an iteration), `context` (with ... as), `parameter`, `function`, `class`,
    `module` (import x), `member` (from x import y), `changed` (augmented), `elsewhere` (by a function inside, which
    declares the name global or nonlocal),
    `opaque`."""
    node: ast.AST
    expr: ast.expr | None = None
    position: int = 0
    """Index in the tuple of an `item` or a `part`."""
    target: str = ""
    """Dotted name of a `module`, or `module:name` of a `member`."""


@record(eq=False, frozen=False, slots=False)
class Scope:
    """The names that one function, lambda or module binds itself."""

    names: dict[str, list[Binding]] = field(default_factory=dict)
    outer: frozenset[str] = frozenset()
    """Names declared global or nonlocal."""

    def add(self, name: str, binding: Binding) -> None:
        self.names.setdefault(name, []).append(binding)


def scope_of(node: ScopeNode | ast.ClassDef, nodes: tuple[ast.AST, ...]) -> Scope:
    """The names that the body of a function, class or module, whose own nodes are given, binds itself."""
    scope = Scope()
    if isinstance(node, FunctionNode | ast.Lambda):
        arguments = node.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            scope.add(argument.arg, Binding("parameter", argument))
        for star in filter(None, (arguments.vararg, arguments.kwarg)):
            scope.add(star.arg, Binding("opaque", star))
    for target, binding in bound_targets(nodes):
        if isinstance(target, ast.Name):
            scope.add(target.id, binding)
    outer: set[str] = set()
    for child in nodes:
        if child.__class__ not in _DECLARING:
            continue
        if isinstance(child, FunctionNode):
            scope.add(child.name, Binding("function", child))
        elif isinstance(child, ast.ClassDef):
            scope.add(child.name, Binding("class", child))
        elif isinstance(child, ast.Import | ast.ImportFrom):
            for name, binding in _imported_names(child):
                scope.add(name, binding)
        elif isinstance(child, ast.Global | ast.Nonlocal):
            outer.update(child.names)
        elif bound := _captured(child):
            scope.add(bound, Binding("opaque", child))
    scope.outer = frozenset(outer)
    if isinstance(node, ast.Module):
        _overrule(scope, nodes)
    return scope


def _captured(node: ast.AST) -> str | None:
    """The name that `except E as x`, or a pattern of a `match`, binds."""
    match node:
        case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name):
            return name
        case ast.MatchMapping(rest=rest):
            return rest
    return None


def _overrule(scope: Scope, nodes: tuple[ast.AST, ...]) -> None:
    """What `exec` runs in a module may set its constants anew: options from the command line, or of another file."""
    runs = [
        child.lineno
        for child in nodes
        if child.__class__ is ast.Expr
        and isinstance(call := child.value, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "exec"
    ]
    if not runs:
        return
    for bindings in scope.names.values():
        constants = [each for each in bindings if each.kind == "value" and isinstance(each.expr, ast.Constant)]
        bindings += [Binding("opaque", each.node) for each in constants if each.node.lineno < runs[-1]]  # type: ignore[attr-defined]


def _imported_names(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Binding]]:
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            if alias.name == "*" and not node.level:
                for name in torch_names.EXPORTS.get(node.module or "", ()):
                    yield name, Binding("member", node, target=f"{node.module}:{name}")
            target = f"{'.' * node.level}{node.module or ''}:{alias.name}"
            yield alias.asname or alias.name, Binding("member", node, target=target)
        elif alias.asname:
            yield alias.asname, Binding("module", node, target=alias.name)
        else:
            head = alias.name.partition(".")[0]
            yield head, Binding("module", node, target=head)


def bound_targets(nodes: tuple[ast.AST, ...]) -> Iterator[tuple[ast.expr, Binding]]:
    """Every assignment target among `nodes`, with what it gets."""
    for node in nodes:
        if node.__class__ not in _BINDING:
            continue
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _unpacked(target, node.value, node)
        elif isinstance(node, ast.AnnAssign):
            kind = "value" if node.value is not None else "opaque"
            yield node.target, Binding(kind, node, node.value)
        elif isinstance(node, ast.AugAssign):
            yield node.target, Binding("changed", node, node.value)
        elif isinstance(node, ast.NamedExpr):
            yield node.target, Binding("value", node, node.value)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            yield from _drawn(node.target, node.iter, node)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            yield from _each(node.optional_vars, Binding("context", node, node.context_expr))


def _unpacked(target: ast.expr, value: ast.expr, node: ast.AST) -> Iterator[tuple[ast.expr, Binding]]:
    if not isinstance(target, ast.Tuple | ast.List):
        yield target, Binding("value", node, value)
        return
    same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
    for index, part in enumerate(target.elts):
        if same and not isinstance(part, ast.Starred):
            yield from _unpacked(part, value.elts[index], node)  # type: ignore[attr-defined]
        elif isinstance(part, ast.Name | ast.Attribute):
            yield part, Binding("item", node, value, index)
        else:
            yield from _each(part, Binding("opaque", node))


def _drawn(target: ast.expr, source: ast.expr, node: ast.AST) -> Iterator[tuple[ast.expr, Binding]]:
    """What a loop's variables get, also through `enumerate`, `zip`, `.items()` and `.values()`."""
    match target, source:
        case ast.Tuple(elts=[index, each]), ast.Call(func=ast.Name(id="enumerate"), args=[inner, *start]):
            yield from _each(index, Binding("opaque" if start else "index", node, inner))
            yield from _drawn(each, inner, node)
        case ast.Tuple(elts=parts), ast.Call(func=ast.Name(id="zip"), args=inner) if len(parts) == len(inner):
            for part, each in zip(parts, inner, strict=True):
                yield from _drawn(part, each, node)
        case ast.Tuple(elts=[key, each]), ast.Call(func=ast.Attribute(value=mapping, attr="items"), args=[]):
            yield from _each(key, Binding("opaque", node))
            yield from _each(each, Binding("entry", node, mapping))
        case ast.Name(), ast.Call(func=ast.Attribute(value=mapping, attr="values"), args=[]):
            yield target, Binding("entry", node, mapping)
        case _:
            yield from _each(target, Binding("iteration", node, source))


def _each(target: ast.expr, binding: Binding) -> Iterator[tuple[ast.expr, Binding]]:
    if isinstance(target, ast.Tuple | ast.List):
        for index, part in enumerate(target.elts):
            is_part = binding.kind == "iteration" and isinstance(part, ast.Name)
            own = Binding("part", binding.node, binding.expr, index) if is_part else Binding("opaque", binding.node)
            yield from _each(part, own)
    elif isinstance(target, ast.Starred):
        yield target.value, Binding("opaque", binding.node)
    else:
        yield target, binding
