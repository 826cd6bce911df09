"""Follow a container from where it is made to where it is used: what straight-line code in between puts into it.

Statements between the two are interpreted in order; loops whose iterations are known are unrolled. Any other change
(under a condition, in a loop that nobody counts, by a function inside) makes what it holds unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from verifygate.static.symbols.program import Function, Module
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.symbols.scopes import Binding
from verifygate.static.syntax.container_methods import CHANGE
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.contents import joined, merged, placed
from verifygate.static.values.domain import Bound, Contents, Frame, ModuleValue, Object, given_field
from verifygate.static.values.registries import Registries

if TYPE_CHECKING:
    from verifygate.static.values.evaluation import Evaluation

_LEAVING = ast.Break | ast.Continue | ast.Return | ast.Raise
_ANY_KEY = object()


class _Use(NamedTuple):
    """What a container is asked for."""

    at: ast.expr
    key: object = _ANY_KEY
    """The element with this key alone; stores under other constants do not matter."""
    taken_by: ast.Call | None = None
    """The call that takes the elements out, in a loop around the use."""


class Changes:
    def __init__(self, evaluator: Evaluation) -> None:
        self._evaluator = evaluator
        self._registries = Registries(evaluator)

    def of(
        self, expr: ast.expr, frame: Frame, *, key: object = _ANY_KEY, taken_by: ast.Call | None = None
    ) -> Contents | None:
        """What the container holds that a variable, an attribute or an element names; None where that is not known."""
        use = _Use(expr, key, taken_by)
        match expr:
            case ast.Name():
                found = self._of_name(expr, frame, use)
            case ast.Attribute():
                found = self._of_attribute(expr, frame, use)
            case _:
                found = self._of_only(self._evaluator.sources(expr, frame))
        named = isinstance(expr, ast.Name | ast.Attribute | ast.Subscript) and taken_by is None
        return placed(found, expr, frame) if found is not None and named else found

    def _of_only(self, sources: Sequence[Bound]) -> Contents | None:
        return self._evaluator.containers.of(sources[0].expr, sources[0].frame) if len(sources) == 1 else None

    def _of_name(self, expr: ast.Name, frame: Frame, use: _Use) -> Contents | None:
        found = self._evaluator.lookup(expr.id, frame)
        if found is None:
            return None
        bindings, home = found
        whole = [each for each in bindings if each.kind != "changed"]
        if len(whole) != 1 and home.function is frame.function:
            whole = reaching(expr.id, expr, home.function) or []
        if len(whole) != 1:
            return None
        (binding,) = whole
        if binding.kind == "member":
            source, name = binding.target.split(":")
            level = len(source) - len(source.lstrip("."))
            module = self._evaluator.program.imported(source[level:], home.function.module, level)
            return self._of_global(name, module, use) if module is not None else None
        made = self._of_only(self._evaluator.bound_to(binding, home))
        if made is None:
            return None
        own = Frame(home.function, fixed=home.fixed) if binding not in bindings else home
        return self._changed(made, expr.id, binding, own, use, inside=home.function is frame.function)

    def _of_global(self, name: str, module: Module, use: _Use) -> Contents | None:
        """What a variable of a module holds once that has run."""
        bindings, home = module.body.scope.names.get(name, []), self._evaluator.module_frame(module)
        if len(bindings) != 1 or (made := self._of_only(self._evaluator.bound_to(bindings[0], home))) is None:
            return None
        return self._changed(made, name, bindings[0], home, use, inside=False)

    def _of_attribute(self, expr: ast.Attribute, frame: Frame, use: _Use) -> Contents | None:
        values = self._evaluator.values(expr.value, frame)
        if len(values) != 1:
            return None
        (value,) = values
        if isinstance(value, ModuleValue):
            return self._of_global(expr.attr, value.module, use)
        if (given := given_field(value, expr.attr)) is not None:
            return self._evaluator.containers.of(given.expr, given.frame)
        if not isinstance(value, Object):
            return None
        bound = list(self._evaluator.hierarchy.bindings(value, expr, frame))
        if len(bound) != 1 or bound[0][0].kind not in ("value", "item"):
            return None
        binding, owner, holder, of = bound[0]
        home = self._evaluator.defining_frame(owner, of, value.call) if owner is not None else None
        home = home or self._evaluator.module_frame(holder.module)
        made = self._of_only(self._evaluator.bound_to(binding, home))
        if made is None:
            return None
        others = {frame.function.module, *(each.module for each in self._evaluator.linearised(of))}
        elsewhere = [
            (function, change)
            for module in others
            for function in module.all_functions
            if function is not owner
            for name, changes in _changes_in(function).items()
            if name.rpartition(".")[2] == expr.attr and "." in name
            for change in changes
        ]
        if elsewhere:
            registered = self._registries.filled_by(elsewhere)
            if registered is None or made.elements:
                return None
            made = registered
        if owner is None or owner.name != "__init__":
            return made if owner is None or not _changes_in(owner).get(f"self.{expr.attr}") else None
        this = owner.parameters[0].arg
        return self._changed(made, f"{this}.{expr.attr}", binding, home, use, inside=False)

    # -- between the binding and the use -----------------------------------------------------------------------

    def _changed(
        self, made: Contents, name: str, binding: Binding, home: Frame, use: _Use, *, inside: bool
    ) -> Contents | None:
        """What is in the container at its use, which is inside the function that binds the name, or another."""
        function = home.function
        own = set(_changes_in(function).get(name, ()))
        own = {each for each in own if each is not use.taken_by and not _is_of_other_key(each, use.key)}
        if "." not in name and (foreign := _changes_inside(function, name)):
            registered = self._registries.filled_by(foreign)
            if registered is None or made.elements or own:
                return None
            made = registered
        block = _statements(_block_of(binding, function))
        start = next((at for at, each in enumerate(block) if each is binding.node), -1) + 1
        end = len(block)
        if inside:
            end = next((at for at, each in enumerate(block) if at >= start and _holds(each, use.at)), end)
        if not own and not self._is_handed_to_a_changer(name, block[start : end + 1], home):
            return made
        done: Contents | None = made
        covered: set[ast.AST] = set()
        for statement in block[start:end]:
            here = _within(statement, own)
            covered |= here
            if here and done is not None:
                done = self._interpreted(done, statement, name, home)
        if done is None or self._is_handed_to_a_changer(name, block[start : end + 1], home):
            return None
        left = own - covered
        if end == len(block):
            return done if not left else None  # used in a function inside, or behind the block
        return done if not _within(block[end], left) else None

    def _interpreted(self, held: Contents, statement: ast.stmt, name: str, frame: Frame) -> Contents | None:
        """What a container holds behind a statement that changes it."""
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method), args=[given], keywords=[])):
                added = Contents((Bound(given, frame),))
                if method in ("append", "add"):
                    return joined(held, added)
                if method == "appendleft":
                    return joined(added, held)
                more = self._evaluator.containers.of(given, frame) if method in ("extend", "update") else None
                return joined(held, more) if method == "extend" else merged(held, more)
            case ast.Assign(targets=[ast.Subscript(slice=key)], value=value):
                return merged(held, self._evaluator.containers.entry(key, Bound(value, frame), frame))
            case ast.AugAssign(op=ast.Add(), value=value):
                return joined(held, self._evaluator.containers.of(value, frame))
            case ast.AugAssign(op=ast.BitOr(), value=value):
                return merged(held, self._evaluator.containers.of(value, frame))
            case ast.If(test=test, body=body, orelse=orelse):
                truth = self._evaluator.truth(test, frame)
                return None if truth is None else self._after(held, body if truth else orelse, name, frame)
            case ast.For(target=target, iter=source, body=body):
                rows = self._evaluator.containers.iterations(target, source, frame)
                if rows is None or any(isinstance(each, _LEAVING) for each in walk(statement)):
                    return None
                found: Contents | None = held
                for number, row in enumerate(rows):
                    inside = frame.in_iteration(statement, number, row, f" {statement.lineno}#{number}")
                    found = self._after(found, body, name, inside) if found is not None else None
                return found
        return None

    def _after(self, held: Contents, body: list[ast.stmt], name: str, frame: Frame) -> Contents | None:
        changes = set(_changes_in(frame.function).get(name, ()))
        found: Contents | None = held
        for statement in _statements(body):
            if found is not None and _within(statement, changes):
                found = self._interpreted(found, statement, name, frame)
        return found

    def _is_handed_to_a_changer(self, name: str, block: Sequence[ast.stmt], frame: Frame) -> bool:
        """Whether a function of the project is passed the container that changes what it is passed."""
        for statement in block:
            for call in _calls_by_argument(statement).get(name, ()):
                given = [*call.args, *(word.value for word in call.keywords)]
                for callee in self._evaluator.callees(call, frame):
                    entered = self._evaluator.enter(callee, call, frame)
                    for parameter, bound in entered.arguments.items() if entered is not None else ():
                        is_it = bound.expr in given and ast.unparse(bound.expr) == name
                        if is_it and parameter in _changes_in(callee.function):
                            return True
        return False


@lru_cache(maxsize=4096)
def _calls_by_argument(statement: ast.stmt) -> dict[str, list[ast.Call]]:
    """Variable or attribute, as it is written -> the calls in a statement that are given it."""
    found: dict[str, list[ast.Call]] = {}
    for call in walk(statement):
        if isinstance(call, ast.Call):
            given = [*call.args, *(word.value for word in call.keywords)]
            for name in {ast.unparse(each): None for each in given if isinstance(each, ast.Name | ast.Attribute)}:
                found.setdefault(name, []).append(call)
    return found


@lru_cache(maxsize=1024)
def _changes_in(function: Function) -> dict[str, list[ast.AST]]:
    """Container, as it is written -> the nodes of a function that change what it holds."""
    found: dict[str, list[ast.AST]] = {}
    for node in _own_and_lambdas(function):
        match node:
            case ast.Call(func=ast.Attribute(value=holder, attr=method)) if method in CHANGE:
                pass
            case ast.Subscript(value=holder, ctx=ast.Store() | ast.Del()):
                pass
            case ast.AugAssign(target=holder):
                pass
            case _:
                continue
        if isinstance(holder, ast.Name | ast.Attribute):
            found.setdefault(ast.unparse(holder), []).append(node)
    return found


def _own_and_lambdas(function: Function) -> Iterator[ast.AST]:
    for node in function.own_nodes:
        yield node
        if node.__class__ is ast.Lambda:
            yield from walk(node.body)


@lru_cache(maxsize=1024)
def _changes_inside(function: Function, name: str) -> list[tuple[Function, ast.AST]]:
    """The functions inside a function, or a module, that change what a variable of it holds."""
    is_module = isinstance(function.node, ast.Module)
    module = function.module
    candidates = module.holding(name.encode()) if is_module else module.beside(function)
    return [
        (each, change)
        for each in candidates
        if each is not function and name not in each.scope.names and (is_module or _is_within(each, function))
        for change in _changes_in(each).get(name, ())
    ]


def _is_within(inner: Function | None, outer: Function) -> bool:
    while inner is not None and inner is not outer:
        inner = inner.enclosing
    return inner is outer


def _is_of_other_key(change: ast.AST, key: object) -> bool:
    """Whether a change stores under a constant that is another key."""
    if key is _ANY_KEY or not isinstance(change, ast.Subscript) or not isinstance(change.ctx, ast.Store):
        return False
    return isinstance(change.slice, ast.Constant) and change.slice.value != key


def _block_of(binding: Binding, function: Function) -> list[ast.stmt]:
    """The statements among which the one stands that binds a name; those of the function, for a parameter."""
    waiting = [function.node.body]
    while waiting:
        block = waiting.pop()
        if any(each is binding.node for each in _statements(block)):
            return block
        for statement in block:
            for part in ("body", "orelse", "finalbody", "handlers", "cases"):
                inner = getattr(statement, part, None)
                if isinstance(inner, list) and inner and not isinstance(statement, ast.FunctionDef | ast.ClassDef):
                    waiting.append(inner)
    return function.node.body


def _statements(block: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements of a block; those below a `with` run as part of it."""
    found: list[ast.stmt] = []
    for each in block:
        found += _statements(each.body) if isinstance(each, ast.With | ast.AsyncWith) else [each]
    return found


def _within(statement: ast.stmt, changes: set[ast.AST]) -> set[ast.AST]:
    """Those of some nodes that are parts of a statement: its lines tell first whether any can be."""
    near = {each for each in changes if _holds(statement, each)}
    return near.intersection(walk(statement)) if near else near


def _holds(statement: ast.stmt, node: ast.AST) -> bool:
    line = node.lineno  # type: ignore[attr-defined]
    return bool(statement.lineno <= line <= (statement.end_lineno or statement.lineno))
