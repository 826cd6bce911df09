"""Evaluate containers: which elements a list, a tuple, a dict or a queue surely holds where an expression stands.

Written out, built by a comprehension, by `+` and `*`, by `list(...)` and `deque()`, filled by `append` or by keys in
straight-line code or in a loop whose iterations are known. Either all elements are known, in order, or nothing is.
A caller out of sight may pass another container: that is another program.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from verifygate.static.values.container_changes import Changes
from verifygate.static.values.contents import Row, constant, joined, keys_of, merged, reads, side_by_side
from verifygate.static.values.domain import Bound, ClassValue, Contents, ExternalName, Frame, Literal

if TYPE_CHECKING:
    from verifygate.static.values.evaluation import Evaluation

MOST = 32
"""Elements; of a container that holds more, nobody wrote each one down."""
_COPIES = frozenset({"builtins.list", "builtins.tuple", "builtins.iter", "builtins.set", "collections.deque"})
_DICTS = frozenset({"builtins.dict", "collections.OrderedDict"})
_COMPREHENSION = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


class Containers:
    def __init__(self, evaluator: Evaluation) -> None:
        self._evaluator = evaluator
        self._changes = Changes(evaluator)

    def of(self, expr: ast.expr, frame: Frame) -> Contents | None:
        """What a container holds; None where that is not known."""
        known: dict[ast.expr, Contents | None] = frame.noted("contents")
        about = ("contents", id(frame))
        return self._evaluator.demand.kept(known, expr, about, partial(self._found, expr, frame), None)

    def _found(self, expr: ast.expr, frame: Frame) -> Contents | None:
        found = self._of(expr, frame)
        return found if found is None or len(found.elements) <= MOST else None

    def at(self, holder: ast.expr, key: object, frame: Frame) -> Bound | None:
        """The element of a container with a key, or at an index; stores under other keys do not matter to it."""
        found = self.of(holder, frame)
        if found is None:
            look = partial(self._changes.of, holder, frame, key=key)
            found, _ = self._evaluator.demand.answer((holder, id(frame), "element"), look, None)
        return found.at(key) if found is not None else None

    def before(self, source: ast.expr, frame: Frame, taken_by: ast.Call) -> Contents | None:
        """What a queue holds before a loop in which `taken_by` takes one element after the other out of it."""
        return self._changes.of(source, frame, taken_by=taken_by)

    # -- expressions -------------------------------------------------------------------------------------------

    def _of(self, expr: ast.expr, frame: Frame) -> Contents | None:
        match expr:
            case ast.List() | ast.Tuple() | ast.Set():
                return self._displayed(expr.elts, frame)
            case ast.Dict():
                return self._mapping([*zip(expr.keys, expr.values, strict=True)], frame)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(expr, frame)
            case ast.BinOp(op=ast.Add()):
                return joined(self.of(expr.left, frame), self.of(expr.right, frame))
            case ast.BinOp(op=ast.Mult()):
                return self._repeated(expr.left, expr.right, frame) or self._repeated(expr.right, expr.left, frame)
            case ast.BinOp(op=ast.BitOr()):
                return merged(self.of(expr.left, frame), self.of(expr.right, frame))
            case ast.Subscript(slice=ast.Slice() as part):
                return self._sliced(expr.value, part, frame)
            case ast.Call(func=ast.Attribute(value=holder, attr="copy"), args=[]):
                return self.of(holder, frame)
            case ast.Call(func=ast.Attribute(value=holder, attr="values" | "keys" as asked), args=[]):
                found = self.of(holder, frame)
                if found is None or found.keys is None:
                    return None
                return Contents(found.elements) if asked == "values" else keys_of(found, holder, frame)
            case ast.Call() if (made := self._built(expr, frame)) is not None:
                return made
        return self._changes.of(expr, frame)

    def _displayed(self, elements: list[ast.expr], frame: Frame) -> Contents | None:
        found: list[Bound] = []
        for each in elements:
            if not isinstance(each, ast.Starred):
                found.append(Bound(each, frame))
                continue
            if (inner := self._iterated(each.value, frame)) is None:
                return None
            found += inner.elements
        return Contents(tuple(found))

    def _mapping(self, pairs: Sequence[tuple[ast.expr | None, ast.expr]], frame: Frame) -> Contents | None:
        found: dict[object, Bound] = {}
        for key, value in pairs:
            added = self.of(value, frame) if key is None else self.entry(key, Bound(value, frame), frame)
            if added is None or added.keys is None:
                return None
            found |= zip(added.keys, added.elements, strict=True)
            if len(found) > MOST:
                return None
        return Contents(tuple(found.values()), tuple(found))

    def entry(self, key: ast.expr, value: Bound, frame: Frame) -> Contents | None:
        """A dict of one entry, where its key is a constant."""
        match self._evaluator.values(key, frame):
            case (Literal(value=str() | int() | float() | None as constant),):
                return Contents((value,), (constant,))
        return None

    def _comprehension(self, expr: _COMPREHENSION, frame: Frame) -> Contents | None:
        match expr.generators:
            case [ast.comprehension(is_async=0) as loop]:
                rows = self.iterations(loop.target, loop.iter, frame)
            case _:
                return None
        keyed = isinstance(expr, ast.DictComp)
        found: Contents | None = Contents((), () if keyed else None)
        for number, row in enumerate(rows or ()):
            inside = frame.in_iteration(expr, number, row, f" {expr.lineno}:{expr.col_offset}#{number}")
            truths = {self._evaluator.truth(condition, inside) for condition in loop.ifs}
            if None in truths:
                return None
            if False in truths:
                continue
            if isinstance(expr, ast.DictComp):
                found = merged(found, self.entry(expr.key, Bound(expr.value, inside), inside))
            else:
                found = joined(found, Contents((Bound(expr.elt, inside),)))
        return found if rows is not None else None

    def _repeated(self, listed: ast.expr, count: ast.expr, frame: Frame) -> Contents | None:
        match self._evaluator.values(count, frame):
            case (Literal(value=int() as times),) if 0 <= times <= MOST:
                found = self.of(listed, frame)
                return Contents(found.elements * times) if found is not None and found.keys is None else None
        return None

    def _sliced(self, listed: ast.expr, part: ast.Slice, frame: Frame) -> Contents | None:
        bounds: list[int | None] = []
        for each in (part.lower, part.upper, part.step):
            if isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.USub):
                sign, each = -1, each.operand
            else:
                sign = 1
            match self._evaluator.values(each, frame) if each is not None else (Literal(None),):
                case (Literal(value=int() | None as bound),):
                    bounds.append(bound and sign * bound)
        found = self.of(listed, frame)
        if found is None or found.keys is not None or len(bounds) < 3 or bounds[2] == 0:
            return None
        return Contents(found.elements[slice(*bounds)])

    def _built(self, call: ast.Call, frame: Frame) -> Contents | None:
        """What a call of `list`, `deque`, `dict` and the like gives."""
        match self._evaluator.values(call.func, frame), call.args:
            case (ExternalName(name=name),), [] if name in _COPIES and not call.keywords:
                return Contents(())
            case (ExternalName(name=name),), [source] if name in _COPIES and not call.keywords:
                return self._iterated(source, frame)
            case (ExternalName(name="builtins.reversed"),), [source]:
                found = self._iterated(source, frame)
                return Contents(found.elements[::-1]) if found is not None else None
            case (ExternalName(name="collections.defaultdict"),), [_] if not call.keywords:
                return Contents((), ())
            case (ExternalName(name=name),), [*sources] if name in _DICTS and len(sources) < 2:
                named = [(ast.Constant(word.arg) if word.arg else None, word.value) for word in call.keywords]
                return merged(self._paired(sources, frame), self._mapping(named, frame))
            case (ClassValue(made=made),), [*given] if made.is_named_tuple:
                fields = dict(zip(made.fields, given, strict=False))
                fields |= {word.arg: word.value for word in call.keywords if word.arg is not None}
                there = [Bound(fields[name], frame) for name in made.fields if name in fields]
                return Contents(tuple(there)) if len(there) == len(made.fields) else None
        return None

    def _paired(self, sources: list[ast.expr], frame: Frame) -> Contents | None:
        """The dict that a mapping, or an iterable of pairs, is turned into."""
        found: Contents | None = Contents((), ())
        for source in sources:
            if (held := self.of(source, frame)) is not None and held.keys is not None:
                return held
            pair = ast.Tuple([ast.Name("key", ast.Store()), ast.Name("value", ast.Store())], ast.Store())
            rows = self.iterations(pair, source, frame)
            for row in rows or ():
                found = merged(found, self.entry(row["key"].expr, row["value"], row["key"].frame))
            found = found if rows is not None else None
        return found

    # -- iteration ---------------------------------------------------------------------------------------------

    def _iterated(self, source: ast.expr, frame: Frame) -> Contents | None:
        """What iterating over an expression gives: the keys of a dict, the elements of anything else."""
        found = self.of(source, frame)
        return keys_of(found, source, frame) if found is not None and found.keys is not None else found

    def iterations(self, target: ast.expr, source: ast.expr, frame: Frame) -> list[Row] | None:
        """The variables of a loop in each iteration; None where they are not known."""
        match target, source:
            case ast.Tuple(elts=[key, value]), ast.Call(func=ast.Attribute(value=holder, attr="items"), args=[]):
                found = self.of(holder, frame)
                if found is None or found.keys is None:
                    return None
                named = self._bind_all(key, keys_of(found, holder, frame).elements)
                return side_by_side([named, self._bind_all(value, reads(found))])
            case ast.Tuple(elts=[index, inner]), ast.Call(func=ast.Name(id="enumerate"), args=[counted]):
                rows = self.iterations(inner, counted, frame)
                numbers = [constant(number, source, frame) for number in range(len(rows or ()))]
                return side_by_side([self._bind_all(index, numbers), rows])
            case ast.Tuple(elts=parts), ast.Call(func=ast.Name(id="zip"), args=args) if len(parts) == len(args):
                return side_by_side(
                    [self.iterations(part, each, frame) for part, each in zip(parts, args, strict=True)]
                )
        found = self._iterated(source, frame)
        if found is None:
            return None
        return self._bind_all(target, reads(found))

    def _bind_all(self, target: ast.expr, elements: list[Bound] | tuple[Bound, ...]) -> list[Row] | None:
        rows = [self._bind(target, each) for each in elements]
        return None if None in rows else rows  # type: ignore[return-value]

    def _bind(self, target: ast.expr, element: Bound) -> Row | None:
        """Bind a target to an element; a tuple to its parts."""
        if isinstance(target, ast.Name):
            return {target.id: element}
        found = self.of(element.expr, element.frame) if isinstance(target, ast.Tuple) else None
        if found is None or found.keys is not None or len(found.elements) != len(target.elts):  # type: ignore[attr-defined]
            return None
        row: Row = {}
        for part, each in zip(target.elts, reads(found), strict=True):  # type: ignore[attr-defined]
            if (inner := self._bind(part, each)) is None:
                return None
            row |= inner
        return row
