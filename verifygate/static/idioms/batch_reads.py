"""Reads of constant keys from batches and items: in loops, in steps that a framework calls, in collate functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from verifygate.base.records import record
from verifygate.static.analysis import Analysis
from verifygate.static.idioms.key_guards import guarded
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.container_methods import SET_KEYS
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Frame


@record
class Read:
    """A key read from a batch, by the name that the batch has there."""

    place: Location
    node: ast.Subscript
    batch: str
    certain: bool = True
    """Not in a function that may be another one, nor where it asks for something, its mode perhaps, before it reads."""

    @property
    def key(self) -> str:
        return str(self.node.slice.value) if isinstance(self.node.slice, ast.Constant) else ""


class BatchReads:
    """Finds, for one analysis, the keys that are read and not there."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis

    def batch_of(self, loop: ast.For) -> str | None:
        """The variable that holds the batch: the target, or the second part of an enumerated one."""
        text = ast.unparse(loop.iter)
        if "zip(" in text:
            return None
        match loop.target:
            case ast.Name(id=name) if "enumerate" not in text:
                return name
            case ast.Tuple(elts=[_, ast.Name(id=name)]) if "enumerate(" in text:
                return name
        return None

    def missed(self, body: Sequence[ast.stmt], name: str, function: Function, keys: set[str]) -> Iterator[Read]:
        """The reads in statements, and in functions that get the batch as it is there, of keys that it has not."""
        if _bound_anew(body, name):
            return
        known = keys | _stored(body, name)
        for alternatives in self._reads(body, name, function):
            missed = [[read for read in reads if self._misses(read, known)] for reads in alternatives]
            if all(missed):  # where one of several models can take the batch, that one is meant
                yield from (each for reads in missed for each in reads)

    def missed_in_step(self, function: Function, name: str, keys: set[str]) -> Iterator[Read]:
        """The same in a method that a framework calls with the batch; behind a condition it may never come to that."""
        body = getattr(function.node, "body", ())
        if len(function.scope.names.get(name, ())) != 1 or _touches(function, name):
            return
        for read in self.missed(body, name, function, keys):
            asks = any(True for _ in self._analysis.path_conditions.conditions(read.place))
            yield Read(read.place, read.node, read.batch, read.certain and not asks)

    def _reads(self, body: Sequence[ast.stmt], name: str, function: Function) -> Iterator[list[list[Read]]]:
        """Constant keys read from the batch in statements, and in functions that get the batch as it is.

        For each place that reads, or hands the batch over: what each of the functions reads that it may run.
        """
        evaluator = self._analysis.evaluator
        frame = evaluator.root_frame(function)
        for node in (each for statement in body for each in walk(statement)):
            if _is_read(node, name):
                yield [[Read(Location(function, node), node, name)]]
            if not isinstance(node, ast.Call):
                continue
            if not any(isinstance(argument, ast.Name) and argument.id == name for argument in node.args):
                continue
            entered = {each.function: evaluator.enter(each, node, frame) for each in evaluator.callees(node, frame)}
            yield [
                _reads_in(callee, inside, name, len(entered) == 1, self._analysis) for callee, inside in entered.items()
            ]

    def _misses(self, read: Read, keys: set[str]) -> bool:
        """Whether a key that is read is not there, and nothing asks for it first or catches what that raises."""
        if read.key in keys or guarded(read.node, read.key, read.place.function):
            return False
        if self._is_left_out(read.place):
            return False
        return not any(
            _asks_for_another(test, holds, read.batch, keys)
            for test, holds in self._analysis.path_conditions.leaves(read.place)
        )

    def _is_left_out(self, place: Location) -> bool:
        """Whether every call in sight denies what a place is held by: a mode that is left as it is, another one."""
        tests = list(self._analysis.path_conditions.conditions(place))
        entries = [entered for _, entered in self._analysis.call_graph.entries(place.function)] if tests else []
        truth = self._analysis.evaluator.truth
        return bool(entries) and all(any(truth(test, each) is (not holds) for test, holds in tests) for each in entries)

    # -- items -------------------------------------------------------------------------------------------------

    def missed_of_items(self, function: Function, keys: set[str]) -> Iterator[Read]:
        """The reads of keys that items have not in a function that gets a list of them."""
        parameters = [each.arg for each in function.parameters]
        name = next(iter(parameters[1:] if function.owner is not None and not function.is_static else parameters), "")
        if len(function.scope.names.get(name, ())) != 1 or self._hands_on(name, function):
            return
        variables = list(_items_of(name, function))
        if any(_touches(function, variable) or self._hands_on(variable, function) for variable, _ in variables):
            return
        for node in function.own_nodes:
            if not _reads_a_key(node):
                continue
            held = node.value
            of_an_item = _is_at_a_number(held, name) or (
                isinstance(held, ast.Name) and any(held.id == each and node in inside for each, inside in variables)
            )
            read = Read(Location(function, node), node, ast.unparse(held))
            if of_an_item and self._misses(read, keys):
                asks = any(True for _ in self._analysis.path_conditions.conditions(read.place))
                yield Read(read.place, read.node, read.batch, not asks)

    def _hands_on(self, name: str, function: Function) -> bool:
        """Whether a function of the project is handed what goes by a name: it may put keys in."""
        return any(
            self._analysis.call_graph.callees(call, function)
            for call in function.calls
            for given in (*call.args, *(word.value for word in call.keywords))
            if isinstance(given, ast.Name) and given.id == name
        )


def _items_of(name: str, function: Function) -> Iterator[tuple[str, frozenset[ast.AST]]]:
    """The variables that are items of a list, each with the nodes in which it is one."""
    for node in function.own_nodes:
        match node:
            case ast.For(target=target, iter=iterated, body=body):
                if (variable := _item(target, iterated, name)) and len(function.scope.names.get(variable, ())) == 1:
                    yield variable, frozenset(inner for statement in body for inner in walk(statement))
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                for part in node.generators:
                    if variable := _item(part.target, part.iter, name):
                        yield variable, frozenset(walk(node))
            case ast.Assign(targets=[ast.Name(id=variable)], value=value) if _is_at_a_number(value, name):
                if len(function.scope.names.get(variable, ())) == 1:
                    yield variable, frozenset(function.own_nodes)


def _item(target: ast.expr, iterated: ast.expr, name: str) -> str | None:
    """The variable that an iteration over a list binds to an item, also over an enumerated one."""
    match target, iterated:
        case ast.Name(id=variable), ast.Name(id=over) if over == name:
            return variable
        case (
            ast.Tuple(elts=[_, ast.Name(id=variable)]),
            ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name(id=over), *_]),
        ) if over == name:
            return variable
    return None


def _is_at_a_number(expr: ast.expr, name: str) -> bool:
    match expr:
        case ast.Subscript(value=ast.Name(id=over), slice=ast.Constant(value=int())):
            return over == name
    return False


def _bound_anew(body: Sequence[ast.stmt], name: str) -> bool:
    inside = [node for statement in body for node in walk(statement)]
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store) for node in inside
    ) or any(
        isinstance(node, ast.Attribute)
        and node.attr in SET_KEYS
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        for node in inside
    )


def _stored(body: Sequence[ast.stmt], name: str) -> set[str]:
    return {
        str(node.slice.value)
        for statement in body
        for node in walk(statement)
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and isinstance(node.slice, ast.Constant)
    }


def _reads_in(callee: Function, frame: Frame | None, name: str, certain: bool, analysis: Analysis) -> list[Read]:
    """What a function reads from the parameter that gets the batch."""
    found: list[Read] = []
    for parameter, bound in (frame.arguments if frame else {}).items():
        bindings = callee.scope.names.get(parameter, ())  # none for what `*args` takes
        if not (isinstance(bound.expr, ast.Name) and bound.expr.id == name) or len(bindings) != 1:
            continue
        if _touches(callee, parameter):
            continue
        for node in callee.own_nodes:
            if _is_read(node, parameter):
                asks = any(True for _ in analysis.path_conditions.conditions(Location(callee, node)))
                found.append(Read(Location(callee, node), node, parameter, certain and not asks))
    return found


def _asks_for_another(test: ast.expr, holds: bool, batch: str, keys: set[str]) -> bool:
    """Whether a condition wants a key in the batch that is not there: no such batch comes behind it."""
    match test:
        case ast.Compare(left=ast.Constant(value=str(key)), ops=[op], comparators=[ast.Name(id=name)]):
            return name == batch and key not in keys and isinstance(op, ast.In if holds else ast.NotIn)
    return False


def _touches(function: Function, name: str) -> bool:
    """Whether a function may put keys into one of its parameters."""
    return any(
        isinstance(node, ast.Subscript | ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and (not isinstance(node.ctx, ast.Load) or getattr(node, "attr", "") in SET_KEYS)
        for node in function.own_nodes
    )


def _is_read(node: ast.AST, name: str) -> TypeGuard[ast.Subscript]:
    return _reads_a_key(node) and isinstance(node.value, ast.Name) and node.value.id == name


def _reads_a_key(node: ast.AST) -> TypeGuard[ast.Subscript]:
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    )
