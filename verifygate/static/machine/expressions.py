"""Expressions: what each evaluates to, in the state at hand."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Hashable
from typing import Any

from verifygate.static.machine.call import TENSOR
from verifygate.static.machine.calls import Calls
from verifygate.static.machine.core import REST
from verifygate.static.machine.lattice import atoms, joined
from verifygate.static.machine.operators import COMPARING, DUNDERS, SIGNS, computed, signed
from verifygate.static.machine.truth import Truth, compared, negated
from verifygate.static.machine.values import (
    NONE,
    NUMBER,
    TRUE,
    Atom,
    ClassValue,
    Code,
    Constant,
    Container,
    Decisions,
    FunctionValue,
    Items,
    LibraryName,
    Object,
    OneOf,
    Option,
    Super,
    Tensor,
    Tuple,
    Unknown,
    Value,
    constant,
)

_MOST_TEXT = 1_000
DATA = "the test at "
"""Begins what a test on data is called: it is no option of a user's."""


class Expressions(Calls):
    """How expressions are evaluated."""

    def eval(self, node: ast.expr) -> Value:
        """The value of an expression. Raises EndedError where it has none, because it does not end."""
        evaluate = KINDS.get(node.__class__)
        if evaluate is None:
            return self.unknown(f"an expression of kind {node.__class__.__name__}")
        return evaluate(self, node)

    # -- names ---------------------------------------------------------------------------------------------------

    def _name(self, node: ast.Name) -> Value:
        return self.variable(node.id)

    def variable(self, name: str) -> Value:
        """The value of a variable, of this function or of what is around it."""
        frame = self.frame
        if name not in frame.declared:
            own = self.field(frame.address, name)
            if own is not None:
                return own
        here = frame.declared.get(name, frame.outer)
        while here is not None:
            found = self.field(here, name)
            if found is not None:
                return found
            here = self.outer.get(here)
        if name == "super" or name in _BUILTINS:
            return LibraryName(f"builtins.{name}")
        return self.unknown(f"`{name}` is not seen to be bound")

    def _attribute(self, node: ast.Attribute) -> Value:
        return self.attribute(self.eval(node.value), node.attr, self.site(node))

    # -- constants and containers --------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant) -> Value:
        return constant(node.value)

    def _sequence(self, nodes: list[ast.expr]) -> Items:
        values: list[Value] = []
        rest: Value | None = None
        for each in nodes:
            if isinstance(each, ast.Starred):
                items = self.elements(self.eval(each.value))
                values += items.values
                rest = items.rest if rest is None else joined([rest, *items.all])
            else:
                values.append(self.eval(each))
        if rest is not None:
            return Items((), (), joined([*values, rest]))
        return Items(tuple(range(len(values))), tuple(values))

    def _tuple(self, node: ast.Tuple) -> Value:
        return Tuple(self._sequence(node.elts))

    def _list(self, node: ast.List) -> Value:
        return self.new_container("list", self.site(node), self._sequence(node.elts))

    def _set(self, node: ast.Set) -> Value:
        return self.new_container("set", self.site(node), self._sequence(node.elts))

    def _dict(self, node: ast.Dict) -> Value:
        keys: dict[Hashable, Value] = {}
        rest: list[Value] = []
        for key, value in zip(node.keys, node.values, strict=True):
            given = self.eval(value)
            if key is None:
                items = [found for atom in atoms(given) if (found := self.items(atom)) is not None]
                if len(items) == 1 and len(atoms(given)) == 1:
                    keys |= dict(zip(items[0].keys, items[0].values, strict=True))
                    rest += [items[0].rest] if items[0].rest is not None else []
                else:
                    rest.append(self.unknown("entries of a dict that are not known"))
                continue
            name = self.eval(key)
            if isinstance(name, Constant):
                keys[name.value] = given
            else:
                rest.append(given)
        items_ = Items(tuple(keys), tuple(keys.values()), joined(rest) if rest else None)
        return self.new_container("dict", self.site(node), items_)

    def _text(self, node: ast.JoinedStr) -> Value:
        parts = []
        for each in node.values:
            value = self.eval(each.value) if isinstance(each, ast.FormattedValue) else self.eval(each)
            if isinstance(each, ast.FormattedValue) and (each.format_spec is not None or each.conversion != -1):
                value = Unknown("a formatted text")
            parts.append(value)
        texts = [str(each.value)[:_MOST_TEXT] for each in parts if isinstance(each, Constant)]
        if len(texts) == len(parts):
            text = "".join(texts)
            return constant(text[:_MOST_TEXT]) if len(text) <= _MOST_TEXT else Unknown("a long text")
        return Unknown("a text that is put together", self.place)

    def _lambda(self, node: ast.Lambda) -> Value:
        return self.function_value(node, "<lambda>")

    def function_value(self, node: Any, name: str) -> FunctionValue:
        """The function that a definition makes here."""
        given = node.args
        positional = [*given.posonlyargs, *given.args]
        pairs = list(
            zip([each.arg for each in positional[len(positional) - len(given.defaults) :]], given.defaults, strict=True)
        )
        pairs += [(arg.arg, value) for arg, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value]
        defaults = tuple((arg, self.eval(value)) for arg, value in pairs)
        home = self.frame.outer if self.frame.symbol.startswith("class ") else self.frame.address
        assert home is not None  # noqa: S101 - a class stands in a module at least
        owner = self.frame.owner if self.frame.symbol.startswith("class ") else None
        return FunctionValue(self.code(node, name), home, defaults, owner)

    def code(self, node: Any, name: str) -> Code:
        """What stands for the text of a function: the same each time."""
        raise NotImplementedError

    # -- calls ---------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Name) and node.func.id in _SPECIAL:
            found = self._special(node, node.func.id)
            if found is not None:
                return found
        function = self.eval(node.func)
        args: list[Value] = []
        keywords: dict[str, Value] = {}
        for each in node.args:
            if isinstance(each, ast.Starred):
                items = self.elements(self.eval(each.value))
                args += items.all
            else:
                args.append(self.eval(each))
        for word in node.keywords:
            value = self.eval(word.value)
            if word.arg is not None:
                keywords[word.arg] = value
            else:
                self._spread(value, keywords)
        line, self.frame.line = self.frame.line, node.lineno
        try:
            return self.call(function, tuple(args), keywords, self.site(node))
        finally:
            self.frame.line = line

    def _spread(self, value: Value, keywords: dict[str, Value]) -> None:
        """`**value` in a call."""
        found = [items for atom in atoms(value) if (items := self.items(atom)) is not None]
        if len(found) == 1 and len(atoms(value)) == 1:
            keywords |= {str(key): each for key, each in zip(found[0].keys, found[0].values, strict=True)}
            if found[0].rest is not None:
                keywords[REST] = found[0].rest
        else:
            keywords[REST] = Unknown("keyword arguments that are not known", self.place)

    def _special(self, node: ast.Call, name: str) -> Value | None:
        """`super()`, `locals()`: what depends on the function that they stand in."""
        if name == "super":
            owner = self.frame.owner
            if len(node.args) == 2:
                of, receiver = self.eval(node.args[0]), self.eval(node.args[1])
                return self.mapped(of, lambda cls: self._super(cls, receiver))
            code = self.frame.code
            if owner is None or code is None or not code.node.args.args:
                return self.unknown("super() outside of a method")
            return Super(owner, self.variable(code.node.args.args[0].arg))
        return None

    def _super(self, cls: Atom, receiver: Value) -> Value:
        return (
            Super(cls, receiver) if isinstance(cls, ClassValue) else self.unknown("super() of what is no known class")
        )

    def _yield(self, node: ast.Yield) -> Value:
        value = self.eval(node.value) if node.value is not None else NONE
        consumer = self.frame.consumer
        if consumer is None:
            return Unknown("what a consumer sends", self.place)
        return consumer(value)

    def _yield_from(self, node: ast.YieldFrom) -> Value:
        value = self.elements(self.eval(node.value))
        consumer = self.frame.consumer
        for each in value.all:
            if consumer is not None:
                consumer(each)
        return Unknown("what a generator returns", self.place)

    def _await(self, node: ast.Await) -> Value:
        return self.eval(node.value)

    def _slice(self, node: ast.Slice) -> Value:
        """`a:b` among several indices."""
        for each in (node.lower, node.upper, node.step):
            if each is not None:
                self.eval(each)
        return Unknown("a slice")

    def _starred(self, node: ast.Starred) -> Value:
        return self.eval(node.value)

    def _walrus(self, node: ast.NamedExpr) -> Value:
        value = self.eval(node.value)
        self.assign(node.target, value)
        return value

    def assign(self, target: ast.expr, value: Value) -> None:
        raise NotImplementedError

    # -- operators -----------------------------------------------------------------------------------------------

    def _binary(self, node: ast.BinOp) -> Value:
        left, right = self.eval(node.left), self.eval(node.right)
        return self.operate(node.op.__class__.__name__, left, right, self.site(node))

    def operate(self, name: str, left: Value, right: Value, site: Hashable, *, in_place: bool = False) -> Value:
        """`left + right`, and the like; `in_place`: `left += right`."""
        if isinstance(left, OneOf):
            return self.each_way(left, lambda atom: self.operate(name, atom, right, site, in_place=in_place))
        if isinstance(right, OneOf):
            return self.each_way(right, lambda atom: self.operate(name, left, atom, site, in_place=in_place))
        if isinstance(left, Constant) and isinstance(right, Constant):
            return computed(left, name, right)
        found = self._by_methods(name, left, right, site, in_place=in_place) if name in DUNDERS else None
        if found is not None:
            return found
        if isinstance(left, Option) and isinstance(right, Constant) and name in SIGNS:
            default = computed(left.default, name, right) if left.default is not None else None
            known = default if isinstance(default, Constant) else None
            return left.part(f"{left.identity} {SIGNS[name]} {right.value!r}", known)
        return self._of_sequences(name, left, right, site, in_place=in_place)

    def _by_methods(self, name: str, left: Value, right: Value, site: Hashable, *, in_place: bool) -> Value | None:
        """The same by the methods of the operands' classes; None where these are neither tensors nor objects."""
        middle = DUNDERS[name]
        tries = [(left, right, f"__{middle}__"), (right, left, f"__r{middle}__")]
        if in_place:
            tries.insert(0, (left, right, f"__i{middle}__"))
        for one, other, method in tries:
            if isinstance(one, Tensor | Object):
                found = self.dunder(one, method, (other,), site)
                if found is not None:
                    return found
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            return self.unknown(f"no model of `{TENSOR}.__{middle}__`")
        return None

    def _of_sequences(self, name: str, left: Value, right: Value, site: Hashable, *, in_place: bool) -> Value:
        mine, theirs = self.items(left), self.items(right)
        if name == "Add" and mine is not None and theirs is not None:
            values = (*mine.values, *theirs.values)
            items = Items(tuple(range(len(values))), values)
            if mine.rest is not None or theirs.rest is not None:
                items = Items((), (), joined((*mine.all, *theirs.all)))
            if in_place and isinstance(left, Container):
                self.set_items(left, items)
                return left
            return Tuple(items) if isinstance(left, Tuple) else self.new_container("list", site, items)
        if name == "Mult" and mine is not None and mine.all:
            items = Items((), (), joined(mine.all))
            return Tuple(items) if isinstance(left, Tuple) else self.new_container("list", site, items)
        if name == "BitOr" and mine is not None and theirs is not None:
            entries = dict(zip(mine.keys, mine.values, strict=True)) | dict(
                zip(theirs.keys, theirs.values, strict=True)
            )
            rest = [each.rest for each in (mine, theirs) if each.rest is not None]
            return self.new_container(
                "dict", site, Items(tuple(entries), tuple(entries.values()), joined(rest) if rest else None)
            )
        unknown = [each for each in (left, right) if isinstance(each, Unknown)]
        unknown.sort(key=lambda each: each.role == NUMBER)
        return unknown[0] if unknown else Unknown("a number that is computed", self.place, role=NUMBER)

    def dunder(self, of: Tensor | Object, method: str, args: tuple[Value, ...], site: Hashable) -> Value | None:
        """What a method of an operator gives; None where there is none."""
        if isinstance(of, Tensor):
            handler = self.library_handler("method", TENSOR, method)
            return self.handled(handler, method, site, args, receiver=of) if handler is not None else None
        found = self.inherited(of.cls, method, of, site)
        return self.call(found, args, {}, site) if found is not None and not isinstance(found, Unknown) else None

    def _unary(self, node: ast.UnaryOp) -> Value:
        value = self.eval(node.operand)
        name = node.op.__class__.__name__
        if name == "Not":
            return self.mapped(value, self._negated)
        method = {"USub": "__neg__", "UAdd": "__pos__", "Invert": "__invert__"}[name]

        def one(atom: Atom) -> Value:
            if isinstance(atom, Constant):
                return signed(name, atom)
            if isinstance(atom, Tensor | Object):
                return self.dunder(atom, method, (), self.site(node)) or self.unknown(f"no `{method}`")
            return atom if isinstance(atom, Unknown) else Unknown("a number that is computed", self.place)

        return self.mapped(value, one)

    def _negated(self, atom: Atom) -> Value:
        self.truth_of(atom, self.state.decisions)  # which notes that it is asked
        return negated(atom, self.state.decisions)

    def truth_of(self, atom: Atom, decisions: Decisions) -> Truth:
        """What a value is as a condition."""
        raise NotImplementedError

    def mapped(self, value: Value, change: Callable[[Atom], Value]) -> Value:
        """The same for each value that there may be, where nothing is changed by it."""
        if not isinstance(value, OneOf):
            return change(value)
        return self.of_cases([(change(atom), when) for atom, when in value.cases])

    def _compare(self, node: ast.Compare) -> Value:
        result: Value = TRUE
        left = self.eval(node.left)
        for sign, each in zip(node.ops, node.comparators, strict=True):
            right = self.eval(each)
            result = self._compared(left, sign.__class__.__name__, right, node)
            left = right
        return result if len(node.ops) == 1 else Unknown("a comparison of several values", self.place)

    def _compared(self, left: Value, name: str, right: Value, node: ast.Compare) -> Value:
        tensor = next((each for each in (left, right) if isinstance(each, Tensor)), None)
        if tensor is not None and name in COMPARING:
            other = right if tensor is left else left
            found = self.dunder(tensor, f"__{COMPARING[name]}__", (other,), self.site(node))
            return found if found is not None else self.unknown("a comparison of tensors")
        if name in ("In", "NotIn"):
            known = self._contains(left, right)
            if known is not None:
                return constant(known is (name == "In"))
        fresh = self.fresh_test(node)
        return self.mapped(left, lambda one: self.mapped(right, lambda other: compared(one, name, other, fresh)))

    def _contains(self, one: Value, of: Value) -> bool | None:
        items = self.items(of) if not isinstance(of, OneOf) else None
        if items is None or not isinstance(one, Constant):
            return None
        held: tuple[Hashable, ...] = items.keys
        if not (isinstance(of, Container) and of.kind == "dict"):
            held = tuple(each.value for each in items.values if isinstance(each, Constant))
            if len(held) < len(items.values):
                return True if one.value in held else None
        return True if one.value in held else (False if items.rest is None else None)

    def fresh_test(self, node: ast.expr) -> str:
        """What a reader calls a test on data; its outcome holds in one round of the loops around."""
        place = f"{self.frame.module.path}:{node.lineno}:{node.col_offset + 1}"
        self.tests.append(f"{DATA}{place}{self._rounds_here()}{self.frame.outside}")
        return self.tests[-1]


_BUILTINS = frozenset(dir(builtins))
_SPECIAL = frozenset({"super"})
KINDS: dict[type[ast.AST], Callable[[Any, Any], Value]] = {
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.Constant: Expressions._constant,
    ast.Call: Expressions._call,
    ast.Tuple: Expressions._tuple,
    ast.List: Expressions._list,
    ast.Set: Expressions._set,
    ast.Dict: Expressions._dict,
    ast.JoinedStr: Expressions._text,
    ast.Lambda: Expressions._lambda,
    ast.BinOp: Expressions._binary,
    ast.UnaryOp: Expressions._unary,
    ast.Compare: Expressions._compare,
    ast.NamedExpr: Expressions._walrus,
    ast.Await: Expressions._await,
    ast.Yield: Expressions._yield,
    ast.YieldFrom: Expressions._yield_from,
    ast.Starred: Expressions._starred,
    ast.Slice: Expressions._slice,
}
