"""The abstract domain: the values that an expression may have, one for each way in which the source binds it.

An expression may have several, as a name may be bound twice (`scaler = GradScaler() if amp else None`): each once, in
the order in which they are found, because what hangs on that order must not differ from run to run. It is evaluated in
a frame: the function it stands in, and what the caller at hand passed to it. A frame holds expressions, not values, so
nothing is evaluated until something asks.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from verifygate.base.records import field, record, replace
from verifygate.static.symbols.program import Class, Function, Module
from verifygate.static.symbols.scopes import Binding
from verifygate.torch_names import DTYPES


class Unknown:
    """Anything. There is one, UNKNOWN."""

    __slots__ = ()


@record
class Literal:
    value: object


@record
class ExternalName:
    """A name outside the project, for example `torch.cuda.amp.GradScaler`."""

    name: str


@record(eq=False)
class ExternalResult:
    """What a call of an outside name gives, for example a GradScaler; `calls` has the partial's call first."""

    name: str
    calls: tuple[tuple[ast.Call, Frame], ...]


@record(eq=False)
class Partial:
    """`functools.partial` of an outside name."""

    name: str
    calls: tuple[tuple[ast.Call, Frame], ...]


@record
class ModuleValue:
    module: Module


@record
class ClassValue:
    made: Class


@record
class FunctionValue:
    """A function of the project; `receiver` is what its first parameter is bound to, for a method."""

    function: Function
    receiver: Bound | None = None
    home: Frame | None = field(default=None, compare=False)
    """The frame around a nested function or a lambda, where that is known: a factory as it was called."""
    partials: tuple[tuple[ast.Call, Frame], ...] = ()
    """The calls that bind its first arguments already, innermost first: those of `functools.partial`."""


@record
class Object:
    """An instance of a class of the project."""

    made: Class
    call: Bound | None = field(default=None, compare=False)
    """The call of the class that made it, where that is known."""


class AttributeBinding(NamedTuple):
    """One of the ways in which an attribute of an object gets its value."""

    binding: Binding
    owner: Function | None
    """The method that assigns it to `self`; None for the body of the class."""
    holder: Class
    """The class in which it stands."""
    made: Class
    """A class of the object that has it: the holder, or one that derives from it."""


@record(eq=False)
class Items:
    """A tuple or list written out."""

    elements: tuple[ast.expr, ...]
    frame: Frame


@record(eq=False)
class DictLiteral:
    """A dict written out, as `{...}` or `dict(key=...)`."""

    node: ast.Dict | ast.Call
    frame: Frame


Value = (
    Unknown
    | Literal
    | ExternalName
    | ExternalResult
    | Partial
    | ModuleValue
    | ClassValue
    | FunctionValue
    | Object
    | Items
    | DictLiteral
)
UNKNOWN = Unknown()
Values = tuple[Value, ...]
_NOTHING: Mapping[Any, Any] = MappingProxyType({})
_KNOWN = ("callees", "contents", "constructed", "callee_frames", "iterations")
"""What a frame comes to know beside values."""
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
READ = ast.Call(func=ast.Name("property", ast.Load()), args=[], keywords=[])
"""Stands for the call that reading a property makes."""


@record(eq=False)
class Bound:
    """An expression and the frame to evaluate it in."""

    expr: ast.expr
    frame: Frame
    place: Bound | None = None
    """For an element that a call made, the read of it from the variable whose container it was put in: `opts["a"]`."""


@record(eq=False)
class Contents:
    """The elements of a container, in order, where all of them are known; of a dict the keys as well."""

    elements: tuple[Bound, ...]
    keys: tuple[object, ...] | None = None

    def at(self, key: object) -> Bound | None:
        """The element with a key, or at an index."""
        if self.keys is not None:
            return next((each for own, each in zip(self.keys, self.elements, strict=True) if own == key), None)
        if not isinstance(key, int) or not -len(self.elements) <= key < len(self.elements):
            return None
        return self.elements[key]


@record(eq=False, frozen=False)
class Frame:
    """A function as entered from one place: what its parameters are bound to there."""

    function: Function
    arguments: dict[str, Bound] = field(default_factory=dict)
    receiver: Bound | None = None
    receiver_class: Class | None = None
    """The class of `self`, which may derive from the one that defines the method."""
    caller: Frame | None = None
    call: ast.Call | None = None
    """The caller's call by which it was entered."""
    enclosing: Frame | None = None
    """Frame of the function around a nested function, where that is being walked."""
    fixed: Mapping[str | ast.expr, Bound] = _NOTHING
    """What the variables of a loop are in the iteration at hand, where its iterations are told apart; and what the
    call gives that takes the element of this iteration out of a queue."""
    iteration: str = ""
    """Tells the iterations of a comprehension apart, each of which makes objects of its own."""
    memo: dict[Hashable, Values] = field(default_factory=dict)
    callees: Mapping[ast.Call, tuple[FunctionValue, ...]] = _NOTHING
    contents: Mapping[ast.expr, Contents | None] = _NOTHING
    """What is known of values, of the functions that calls run, and of what containers hold, in this frame."""
    constructed: Mapping[tuple[ast.Call, Function], Frame] = _NOTHING
    """Allocation site in this frame, and its constructor -> the frame of the constructor as entered from there."""
    callee_frames: Mapping[Hashable, Frame] = _NOTHING
    """A call in this frame, and what it runs -> the frame in which that runs."""
    loop: ast.AST | None = None
    """The loop, or the comprehension, of which this frame is one iteration."""
    around: Frame | None = None
    """The frame around that loop."""
    iterations: Mapping[Hashable, Frame] = _NOTHING
    """A loop in this frame, and the number of an iteration -> the frame of that iteration."""

    @property
    def after_loops(self) -> Frame:
        """The frame as a function sees it that runs later: no loop of it is in an iteration that is known."""
        frame = self
        while frame.around is not None:
            frame = frame.around
        return frame

    @property
    def outer(self) -> Frame | None:
        """The frame around a comprehension, to which all names belong that it does not bind; None in any other."""
        return self.around if isinstance(self.loop, _COMPREHENSIONS) else None

    @property
    def depth(self) -> int:
        return 1 + self.caller.depth if self.caller else 0

    def forget(self) -> None:
        """Let go of what is known: values hold frames, and those what they know."""
        for each in self.iterations.values():
            each.forget()
        self.memo.clear()
        for name in _KNOWN:
            setattr(self, name, _NOTHING)

    def noted(self, name: str) -> dict[Any, Any]:
        """One of the dicts of what is known, to add to: most frames never need most of them, and have none."""
        known = getattr(self, name)
        if known is _NOTHING:
            known = {}
            setattr(self, name, known)
        return known  # type: ignore[no-any-return]

    def in_iteration(
        self, loop: ast.AST, number: int, variables: Mapping[str | ast.expr, Bound], label: str = ""
    ) -> Frame:
        """The frame in one iteration of a loop or of a comprehension: there is one, so that circles close.

        A loop is in one iteration at a time: seen from another iteration of it, or from a loop inside it, the frame is
        the same as seen from around it.
        """
        around, each = self, self
        while each.around is not None:
            if each.loop is loop:
                around = each.around
            each = each.around
        if (frame := around.iterations.get(key := (loop, number, label))) is None:
            fixed = {**around.fixed, **variables}
            frame = replace(around, fixed=fixed, iteration=around.iteration + label, loop=loop, around=around)
            frame.memo = {}
            for name in _KNOWN:
                setattr(frame, name, _NOTHING)
            around.noted("iterations")[key] = frame
        return frame

    def entered(self, function: Function) -> bool:
        """Whether the function is already being walked, here or in a caller."""
        return self.running(function) is not None

    def running(self, function: Function) -> Frame | None:
        """The nearest frame of a function, here or among the callers; None where it is not being walked."""
        frame: Frame | None = self
        while frame is not None and frame.function is not function:
            frame = frame.caller
        return frame


def truth_of(value: Value) -> bool | None:
    """Whether a value counts as true in a condition, where that can be told."""
    match value:
        case Literal():
            return bool(value.value)
        case FunctionValue() | ClassValue() | ModuleValue():
            return True
        case ExternalResult(name=name) if name.endswith(("GradScaler", "autocast")) or name.startswith("torch.optim."):
            return True
        case _:
            return None


def is_switch(expr: ast.expr) -> bool:
    """Whether an expression is True or False and nothing else, as a setting is written that somebody may edit."""
    return isinstance(expr, ast.Constant) and isinstance(expr.value, bool)


def may_end(op: ast.boolop, value: Value) -> bool:
    """Whether `and` or `or` may come to a value that is not the last of its operands."""
    return truth_of(value) is not isinstance(op, ast.And)


@lru_cache(maxsize=64)
def dict_items(node: ast.Dict | ast.Call) -> dict[str, ast.expr]:
    """The constant text keys of a dict written out; kept for the next read of the same dict, and not to be changed."""
    if isinstance(node, ast.Call):
        return {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
    pairs = zip(node.keys, node.values, strict=True)
    return {key.value: value for key, value in pairs if isinstance(key, ast.Constant) and isinstance(key.value, str)}


def called(factory: ast.expr) -> ast.Call:
    """A call of something that is handed over to be called with nothing, as the `default_factory` of a field."""
    return ast.copy_location(ast.Call(func=factory, args=[], keywords=[]), factory)


def whole(value: Value) -> list[Bound]:
    """The values of a dict that is written out as `{...}`, all of it; none of any other."""
    if not isinstance(value, DictLiteral) or not isinstance(value.node, ast.Dict) or None in value.node.keys:
        return []
    return [Bound(item, value.frame) for item in value.node.values]


def elements_of(value: Value, of_mapping: bool) -> tuple[ast.expr, ...]:
    """What a loop over a tuple or list written out gets, or one over the values of a dict written out."""
    if isinstance(value, Items):
        return () if of_mapping else value.elements
    return tuple(dict_items(value.node).values()) if of_mapping and isinstance(value, DictLiteral) else ()


def given_field(value: Value, name: str) -> Bound | None:
    """What a field of a dataclass, a named tuple or a namespace was given when the object was made."""
    match value:
        case Object(made=made, call=Bound(expr=ast.Call() as call, frame=frame)) if made.fields:
            positional = dict(zip(made.fields, call.args, strict=False))
        case ExternalResult(name="types.SimpleNamespace" | "argparse.Namespace", calls=[(call, frame)]):
            positional = {}
        case _:
            return None
    given = positional | {word.arg: word.value for word in call.keywords if word.arg is not None}
    return Bound(given[name], frame) if name in given else None


def fields_of(value: Value) -> list[Bound]:
    """What the fields of a dataclass, a named tuple or a namespace were given when the object was made."""
    match value:
        case Object(made=made, call=Bound(expr=ast.Call() as call, frame=frame)) if made.fields:
            given = [*call.args, *(word.value for word in call.keywords)]
        case ExternalResult(name="types.SimpleNamespace" | "argparse.Namespace", calls=[(call, frame)]):
            given = [word.value for word in call.keywords]
        case _:
            return []
    return [Bound(each, frame) for each in given]


def compared(lefts: Values, op: ast.cmpop, rights: Values, *, dtypes: bool = True) -> bool | None:
    """Whether a comparison with a constant, or with a dtype, holds, where all values on the left agree on it.

    Without `dtypes` a dtype is a setting that somebody may edit, and a comparison with it is open.
    """
    if len(rights) != 1 or not isinstance(constant := next(iter(rights)), Literal | ExternalName):
        return None
    results: set[bool | None] = set()
    for value in lefts:
        same: bool | None
        if isinstance(constant, ExternalName):
            same = _same_dtype(value, constant) if dtypes else None
        elif isinstance(value, Literal):
            alike = type(value.value) is type(constant.value) or isinstance(op, ast.Eq | ast.NotEq)  # `1 == 1.0`
            same = value.value == constant.value and alike
        else:
            same = None if constant.value is not None or _may_be_none(value) else False
        if isinstance(op, ast.Is | ast.Eq):
            results.add(same)
        elif isinstance(op, ast.IsNot | ast.NotEq):
            results.add(None if same is None else not same)
        else:
            results.add(_in_order(value, op, constant))
    return results.pop() if len(results) == 1 else None


_ORDERS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _in_order(one: Value, op: ast.cmpop, other: Value) -> bool | None:
    """How an order of two numbers comes out; None for anything else."""
    match one, other:
        case Literal(value=int() | float() as left), Literal(value=int() | float() as right) if type(op) in _ORDERS:
            return _ORDERS[type(op)](left, right)
    return None


def _same_dtype(one: Value, other: ExternalName) -> bool | None:
    """Whether a value is a dtype of torch, `torch.half` being `torch.float16`; None where one of the two is none."""
    if not isinstance(one, ExternalName) or one.name not in DTYPES or other.name not in DTYPES:
        return None
    return DTYPES[one.name] == DTYPES[other.name]


def _may_be_none(value: Value) -> bool:
    """Whether a value that is no literal may be None: an outside function (`re.match`) may give it, a class cannot."""
    if isinstance(value, ExternalResult):
        return not value.name.startswith(("torch.", "builtins.")) and value.name.rpartition(".")[2][:1].islower()
    return isinstance(value, Unknown)


def same(expr: ast.expr) -> Hashable:
    """The memo key of an expression: names with the same bindings share one; any other node is its own key.

    The node itself and not its `id`: the key keeps it alive, so that no later node takes its address and its answer.
    """
    if expr.__class__ is ast.Name:
        return expr.id
    if expr.__class__ is ast.Attribute and expr.value.__class__ is ast.Name:
        return expr.value.id, expr.attr
    return expr


def distinct(found: Sequence[Value]) -> Values:
    """The values, each once; of several objects of one class, the class: which of them it is, is not known."""
    first: dict[Value, Value] = {}
    for value in found:
        known = first.setdefault(value, value)
        if isinstance(known, Object) and isinstance(value, Object) and known.call is not value.call:
            first[value] = Object(value.made)
    return tuple(found) if len(first) == len(found) else tuple(first.values())
