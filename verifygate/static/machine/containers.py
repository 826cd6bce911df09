"""Containers: elements, slices, assignment to parts, and comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from functools import reduce
from typing import Any

from verifygate.static.machine import expressions
from verifygate.static.machine.call import TENSOR
from verifygate.static.machine.conditions import Conditions
from verifygate.static.machine.core import EndedError
from verifygate.static.machine.lattice import atoms, joined, joined_items
from verifygate.static.machine.store import State, join_states
from verifygate.static.machine.values import (
    NONE,
    Address,
    Atom,
    Constant,
    Container,
    Generator,
    Items,
    Object,
    OneOf,
    Option,
    Tensor,
    Tuple,
    Unknown,
    Value,
    constant,
)

_DRAWN = Address("drawn", None)
"""Where a comprehension or a consumer keeps what it has got so far."""


class Containers(Conditions):
    """How elements are read, set and gone through."""

    def elements(self, value: Value) -> Items:
        if isinstance(value, OneOf):
            first, *others = [self.elements(atom) for atom in atoms(value)]
            return reduce(joined_items, others, first)
        match value:
            case Container(kind="dict"):
                items = self.items(value) or Items(rest=Unknown("a dict that is not known", self.place))
                rest = Unknown("a key that is not known", self.place) if items.rest is not None else None
                return Items(tuple(range(len(items.keys))), tuple(map(constant, items.keys)), rest)
            case Container() | Tuple():
                return self.items(value) or Items(rest=Unknown("a container that is not known", self.place))
            case Constant(value=str() as text) if len(text) <= self.limits.unrolled:
                return Items(tuple(range(len(text))), tuple(map(constant, text)))
            case Generator():
                return self._drawn(value)
            case Object():
                return self._of_object(value)
            case Tensor():
                rows = self.library_handler("method", TENSOR, "__getitem__")
                given = self.handled(rows, "__getitem__", "rows", (constant(0),), receiver=value) if rows else value
                return Items(rest=given)
            case Option():
                return Items(rest=Unknown(f"an element of `{value.identity}`", self.place))
            case Unknown():
                return Items(rest=Unknown(value.reason, value.place))
        return Items(rest=self.unknown(f"iteration over a {type(value).__name__.lower()}"))

    def _drawn(self, generator: Generator) -> Items:
        """All that a generator yields, gathered."""
        self.state.store.replace(_DRAWN, {})
        found: list[Value] = []

        def gather(value: Value) -> Value:
            found.append(value)
            return NONE

        try:
            self.consume(generator, gather)
        except EndedError:
            pass
        return Items(rest=joined(found)) if found else Items()

    def consume(self, generator: Generator, consumer: Callable[[Value], Value]) -> Value:
        """Run a generator, and the consumer at each of its yields."""
        caller, context, frame = self.frame, self.context, self.frame

        def at_yield(value: Value) -> Value:
            inner, inside = self.frame, self.context
            self.frame, self.context = frame, context
            try:
                return consumer(value)
            finally:
                self.frame, self.context = inner, inside

        reason = self.not_entered(generator.function.code)
        if reason:
            return consumer(self.unknown(reason))
        try:
            return self.run_function(generator.function, dict(generator.arguments), generator.context.site, at_yield)
        finally:
            self.frame, self.context = caller, context

    def _of_object(self, value: Object) -> Items:
        found = self.inherited(value.cls, "__iter__", value, ("iter", value.address.site))
        if found is not None and not isinstance(found, Unknown):
            given = self.call(found, (), {}, ("iter", value.address.site))
            if given != value:
                return self.elements(given)
            draw = self.inherited(value.cls, "__next__", value, ("next", value.address.site))
            if draw is not None and not isinstance(draw, Unknown):
                return Items(rest=self.call(draw, (), {}, ("next", value.address.site)))
        found = self.inherited(value.cls, "__getitem__", value, ("item", value.address.site))
        if found is not None and not isinstance(found, Unknown):
            return Items(rest=self.call(found, (Unknown("an index", self.place),), {}, ("item", value.address.site)))
        return Items(rest=self.unknown("iteration over an object whose class has no `__iter__`"))

    # -- elements ------------------------------------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript) -> Value:
        of = self.eval(node.value)
        if isinstance(node.slice, ast.Slice):
            return self.mapped(of, lambda atom: self._sliced(atom, node))
        key = self.eval(node.slice)
        return self.each_way(of, lambda atom: self.element(atom, key, self.site(node)))

    def element(self, of: Atom, key: Value, site: Hashable) -> Value:
        """`of[key]`."""
        if isinstance(of, Container | Tuple):
            return self._of_items(of, key)
        if isinstance(of, Tensor):
            return self.dunder(of, "__getitem__", (key,), site) or of
        if isinstance(of, Object):
            found = self.dunder(of, "__getitem__", (key,), site)
            return found if found is not None else self.unknown("an element of an object whose class has none")
        if isinstance(of, Option):
            name = repr(key.value) if isinstance(key, Constant) else "..."
            return of.part(f"{of.identity}[{name}]")
        if isinstance(of, Constant) and isinstance(key, Constant):
            try:
                held: Any = of.value
                return constant(held[key.value])
            except (TypeError, KeyError, IndexError, ValueError):
                return self.unknown("an element that is not there")
        return of if isinstance(of, Unknown) else self.library_constant(f"{getattr(of, 'name', '')}[]")

    def _of_items(self, of: Container | Tuple, key: Value) -> Value:
        items = self.items(of)
        if items is None:
            return self.unknown("a container that is not known")
        if isinstance(key, Constant):
            index = key.value
            if isinstance(index, int) and index < 0 and not (isinstance(of, Container) and of.kind == "dict"):
                index = index + len(items.keys) if items.rest is None else None
            found = items.get(index)
            if found is not None:
                return found
            if items.rest is None:
                return self.unknown(f"no element under {key.value!r} is seen to be set")
            return joined(items.all) if index is None else items.rest
        return joined(items.all) if items.all else self.unknown("an element of what is empty as far as is known")

    def _sliced(self, of: Atom, node: ast.Subscript) -> Value:
        given: list[Any] = [None if each is None else self.eval(each) for each in _bounds(node.slice)]
        items = self.items(of) if isinstance(of, Container | Tuple) else None
        if items is not None:
            cut: list[Any] = [
                None if each is None else each.value for each in given if not each or isinstance(each, Constant)
            ]
            if len(cut) == len(given) and items.rest is None:
                try:
                    values = items.values[slice(*cut)]
                except (TypeError, ValueError):
                    return self.unknown("a slice that fails")
                left = Items(tuple(range(len(values))), values)
            else:
                left = Items(rest=joined(items.all)) if items.all else items
            return Tuple(left) if isinstance(of, Tuple) else self.new_container("list", self.site(node), left)
        if isinstance(of, Tensor):
            return self.dunder(of, "__getitem__", (Unknown("a slice", self.place),), self.site(node)) or of
        if isinstance(of, Object):
            return self.element(of, Unknown("a slice", self.place), self.site(node))
        return of if isinstance(of, Unknown) else Unknown("a slice", self.place)

    # -- assignment ----------------------------------------------------------------------------------------------

    def assign(self, target: ast.expr, value: Value) -> None:
        """Bind a target: a name, an attribute, an element, or several of them."""
        if target.__class__ is ast.Name:
            self.set_variable(target.id, value)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(self.eval(target.value), target.attr, value, self.site(target))
        elif isinstance(target, ast.Subscript):
            of = self.eval(target.value)
            key = Unknown("a slice") if isinstance(target.slice, ast.Slice) else self.eval(target.slice)
            for atom in atoms(of):
                self.set_element(atom, key, value, self.site(target), surely=not isinstance(of, OneOf))
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value)

    def set_variable(self, name: str, value: Value) -> None:
        home = self.frame.declared.get(name, self.frame.address)
        self.state.store.write(home, name, value)

    def set_element(self, of: Atom, key: Value, value: Value, site: Hashable, *, surely: bool = True) -> None:
        """`of[key] = value`; not `surely`: of may be something else."""
        if isinstance(of, Object):
            found = self.inherited(of.cls, "__setitem__", of, site)
            if found is not None and not isinstance(found, Unknown):
                self.call(found, (key, value), {}, site)
            return
        if isinstance(of, Tensor):
            handler = self.library_handler("method", TENSOR, "__setitem__")
            if handler is not None:
                self.handled(handler, "__setitem__", site, (key, value), receiver=of)
            return
        items = self.items(of) if isinstance(of, Container) else None
        if items is None or not isinstance(of, Container):
            return
        if isinstance(key, Constant):
            before = items.get(key.value)
            new = value if surely or before is None else joined([before, value])
            entries = dict(zip(items.keys, items.values, strict=True)) | {key.value: new}
            self.set_items(of, Items(tuple(entries), tuple(entries.values()), items.rest))
        else:
            changed = tuple(joined([each, value]) for each in items.values)
            rest = value if items.rest is None else joined([items.rest, value])
            self.set_items(of, Items(items.keys, changed, rest))

    def _unpack(self, targets: list[ast.expr], value: Value) -> None:
        items = self.elements(value)
        star = next((number for number, each in enumerate(targets) if isinstance(each, ast.Starred)), None)
        if items.rest is None and star is None and len(items.values) == len(targets):
            given: list[Value] = list(items.values)
        elif items.rest is None and star is not None and len(items.values) >= len(targets) - 1:
            after = len(targets) - star - 1
            middle = items.values[star : len(items.values) - after]
            given = [
                *items.values[:star],
                self._in_list(middle, targets[star]),
                *items.values[len(items.values) - after :],
            ]
        else:
            one = joined(items.all) if items.all else self.unknown("an element of what is empty as far as is known")
            given = [items.get(number) or one for number in range(len(targets))]
            if star is not None:
                given[star] = self.new_container("list", self.site(targets[star]), Items(rest=one))
        for target, each in zip(targets, given, strict=True):
            self.assign(target, each)

    def _in_list(self, values: tuple[Value, ...], node: ast.expr) -> Value:
        return self.new_container("list", self.site(node), Items(tuple(range(len(values))), values))

    # -- comprehensions ------------------------------------------------------------------------------------------

    def _comprehension(self, node: Any) -> Value:
        names = {each.id for part in node.generators for each in ast.walk(part.target) if isinstance(each, ast.Name)}
        home, before = self.frame.address, dict(self.state.store.fields(self.frame.address))
        found: list[tuple[Value | None, Value]] = []
        exact = self._draw(node, 0, found)
        cell = dict(self.state.store.fields(home))
        for name in names:
            if name in before:
                cell[name] = before[name]
            else:
                cell.pop(name, None)
        self.state.store.replace(home, cell)
        kind = {ast.ListComp: "list", ast.SetComp: "set", ast.DictComp: "dict"}.get(node.__class__, "")
        items = _gathered(found, exact)
        return self.new_container(kind, self.site(node), items) if kind else Tuple(items)

    def _draw(self, node: Any, depth: int, found: list[tuple[Value | None, Value]]) -> bool:
        """Gather what a comprehension gives; tells whether that is each element, in order."""
        if depth == len(node.generators):
            key = self.eval(node.key) if isinstance(node, ast.DictComp) else None
            found.append((key, self.eval(node.value if isinstance(node, ast.DictComp) else node.elt)))
            return True
        part = node.generators[depth]
        items = self.elements(self.eval(part.iter))
        unrolled = items.rest is None and len(items.values) <= self.limits.unrolled
        exact = unrolled
        context = self.context
        for number, value in enumerate(items.values if unrolled else [joined(items.all)]):
            self.context = context.child(("element", self.site(node), number if unrolled else "any"))
            try:
                self.assign(part.target, value)
                exact = self._where(part.ifs, lambda: self._draw(node, depth + 1, found)) and exact
            finally:
                self.context = context
        return exact

    def _where(self, tests: list[ast.expr], run: Callable[[], bool]) -> bool:
        """Run where all tests may hold; tells whether what it gives is exact."""
        skipped: list[State] = []
        for test in tests:
            holds, fails = self.branch(test)
            skipped += [fails] if fails is not None else []
            if holds is None:
                self.state = skipped[0]
                return True
            self.state = holds
        exact = run()
        self.state = join_states([self.state, *skipped]) or self.state
        return exact and not skipped


def _bounds(node: ast.expr) -> tuple[ast.expr | None, ...]:
    return (node.lower, node.upper, node.step) if isinstance(node, ast.Slice) else ()


def _gathered(found: list[tuple[Value | None, Value]], exact: bool) -> Items:
    values = tuple(value for _, value in found)
    keys = [key.value for key, _ in found if isinstance(key, Constant)]
    if exact and all(key is None for key, _ in found):
        return Items(tuple(range(len(values))), values)
    if exact and len(keys) == len(found):
        entries = dict(zip(keys, values, strict=True))
        return Items(tuple(entries), tuple(entries.values()))
    return Items(rest=joined(values)) if values else Items()


expressions.KINDS.update(
    {
        ast.Subscript: Containers._subscript,
        ast.ListComp: Containers._comprehension,
        ast.SetComp: Containers._comprehension,
        ast.DictComp: Containers._comprehension,
        ast.GeneratorExp: Containers._comprehension,
    }
)
