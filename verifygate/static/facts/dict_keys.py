"""Value-set analysis of dict keys: what a dict is built with, what is stored later, and whether more may be stored."""

from __future__ import annotations

import ast

from verifygate.base.records import field, record
from verifygate.static.facts.dict_writes import (
    READERS,
    Written,
    fills,
    kept_by,
    reached_as,
    runs_a_function,
)
from verifygate.static.facts.list_growth import is_grown
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function, Module
from verifygate.static.syntax.container_methods import SET_KEYS
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import (
    UNKNOWN,
    Bound,
    ClassValue,
    DictLiteral,
    ExternalName,
    Frame,
    FunctionValue,
    Items,
    Literal,
    ModuleValue,
    Object,
    Values,
    dict_items,
    fields_of,
)
from verifygate.static.values.evaluator import Evaluator

_NONE = Literal(None)
_FOLLOWED = Object | ClassValue | ModuleValue
_MAY_BE_DICT = ast.Name | ast.Attribute | ast.Subscript | ast.Starred | ast.Dict


@record(eq=False, frozen=False)
class KeySet:
    """What is known of one dict."""

    made_at: Location
    keys: dict[str, Location] = field(default_factory=dict)
    open: bool = False
    """Something may add keys that the analysis does not see."""


class DictKeys:
    def __init__(self, evaluator: Evaluator, modules: list[Module]) -> None:
        self.evaluator = evaluator
        self.modules = modules
        self._written = Written(evaluator)
        self._read: set[Function] = set()
        """Functions whose writes are noted."""
        self._found: dict[ast.AST, KeySet] = {}
        """Dict expression -> the keys that statements elsewhere add to it."""
        self._elsewhere: set[tuple[str, object]] = set()
        """Attribute, or a function's variable, that holds something unknown, and a key that is put into it."""
        self._kept: dict[ast.AST, set[str]] = {}
        """Dict expression -> the attributes in which objects keep it that were handed it."""
        self._open_ended: set[ast.AST] = set()
        """Dicts being looked into: one that spreads itself may hold anything."""
        self._put: set[tuple[ast.AST, str | None]] = set()
        """A dict and a key, or any: something else than it is written with may be found there."""

    def of(self, expr: ast.expr, frame: Frame) -> list[KeySet] | None:
        """The shapes that `expr` can have, or None where it may be anything else or its keys are open."""
        if isinstance(expr, ast.Subscript) and self._is_put(expr, frame):
            return None
        shapes = []
        for value in self._dicts(expr, frame) or ():
            if value.node in self._open_ended:
                return None
            self._open_ended.add(value.node)
            shape = self._shape(value)
            self._open_ended.discard(value.node)
            if shape.open:
                return None
            shapes.append(shape)
        return shapes or None

    def _dicts(self, expr: ast.expr, frame: Frame) -> list[DictLiteral] | None:
        """The dicts that `expr` can be, or None where it may be anything else with keys: None has none to read."""
        values = [value for value in self.evaluator.values(expr, frame) if value != _NONE]
        dicts = [value for value in values if isinstance(value, DictLiteral)]
        if len(dicts) < len(values) or self._is_of_grown_list(expr, frame):
            return None
        return dicts

    def _is_of_grown_list(self, expr: ast.expr, frame: Frame) -> bool:
        """Whether it is an element of a list that more is added to than it is written with."""
        return any(
            isinstance(value, Items) and is_grown(value)
            for source, home in self._lists_of(expr, frame)
            for value in self.evaluator.values(source, home)
        )

    def _lists_of(self, expr: ast.expr, frame: Frame) -> list[tuple[ast.expr, Frame]]:
        """The lists of which an expression is an element: what a loop goes over, or what a subscript reads."""
        match expr:
            case ast.Subscript():
                return [(expr.value, frame)]
            case ast.Name():
                bindings, home = self.evaluator.lookup(expr.id, frame) or ([], frame)
                found = [(each.expr, each.kind) for each in bindings if each.expr is not None]
                return [
                    *((source, home) for source, kind in found if kind in ("iteration", "item")),
                    *((source.value, home) for source, _ in found if isinstance(source, ast.Subscript)),
                ]
        return []

    def _is_put(self, expr: ast.Subscript, frame: Frame) -> bool:
        """Whether a statement puts something into the place of a dict that an expression reads."""
        self._read_all()
        key = expr.slice.value if isinstance(expr.slice, ast.Constant) else None
        nodes = [value.node for value in self.evaluator.values(expr.value, frame) if isinstance(value, DictLiteral)]
        return any((node, each) in self._put for node in nodes for each in (key, None))

    def lacking(self, key: str, expr: ast.expr, frame: Frame) -> list[KeySet] | None:
        """The shapes that `expr` can have if none has the key, nothing if one has; None where they are not known.

        A key that a dict is written with is seen before all that the project puts into dicts is gone through.
        """
        values = self._dicts(expr, frame)
        if not values:
            return None
        if any(key in dict_items(value.node) for value in values):
            return []
        shapes = self.of(expr, frame)
        return [] if shapes is not None and any(key in shape.keys for shape in shapes) else shapes

    def written_elsewhere(self, expr: ast.expr, key: str, function: Function) -> bool:
        """Whether the key is put into what may be this very dict and cannot be followed: `trainer.env[key] = ...`.

        That can be the same attribute of another object, or the same variable: not one of another function.
        """
        self._read_all()
        return (_holder(expr, function), key) in self._elsewhere

    def _shape(self, value: DictLiteral) -> KeySet:
        self._read_all()
        frame: Frame | None = value.frame
        while frame is not None:  # also where a file was parsed only because a dict is built there, or handed on
            for function in frame.function.module.holding(b""):
                self._read_writes(function)
            frame = frame.caller
        added = self._found.get(value.node)
        shape = KeySet(Location(value.frame.function, value.node))
        for key, item in dict_items(value.node).items():
            shape.keys[key] = Location(value.frame.function, item)
        shape.open = self._spreads_open(value, shape)
        if added is not None:
            shape.keys.update(added.keys)
            shape.open = shape.open or added.open
        kept = self._kept.get(value.node, ())
        for name, written in self._elsewhere if kept else ():
            if name in kept and isinstance(written, str):
                shape.keys.setdefault(written, shape.made_at)
            elif name in kept:
                shape.open = True
        return shape

    def _spreads_open(self, value: DictLiteral, shape: KeySet) -> bool:
        """Take in the keys of `**other` and `dict(other)`; True where those are not known, or a key is computed."""
        node = value.node
        others: list[ast.expr] = []
        if isinstance(node, ast.Call):
            others = [*node.args, *(word.value for word in node.keywords if word.arg is None)]
        else:
            for key, item in zip(node.keys, node.values, strict=True):
                if key is None:
                    others.append(item)
                elif not isinstance(key, ast.Constant):
                    return True
        for other in others:
            inner = self.of(other, value.frame)
            if inner is None:
                return True
            for each in inner:
                shape.keys.update(each.keys)
        return False

    def _read_all(self) -> None:
        """Note every write that rules look at, once."""
        if not self._read:
            for module in self.modules:
                for function in module.all_functions:
                    self._read_writes(function)

    def _read_writes(self, function: Function) -> None:
        """Note every write in a function, once."""
        if function in self._read:
            return
        self._read.add(function)
        frame = self.evaluator.root_frame(function)
        for kind in (ast.Subscript, ast.AugAssign, ast.Call):
            for node in function.of_kind(kind):
                self._note(node, function, frame)
        for assignment in function.of_kind(ast.Assign):
            self._note_kept(assignment, frame)
        for node in function.of_kind(ast.Lambda):  # `patch(save, lambda path: seen.update(path=path))` writes
            for inner in walk(node.body):  # when it is called
                self._note(inner, function, frame)

    def _note(self, node: ast.AST, function: Function, frame: Frame) -> None:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            values = self.evaluator.values(node.value, frame)
            if UNKNOWN in values:
                self._elsewhere |= {(name, key) for name in _holders(node.value, function)}
            self._add(values, key, Location(function, node))
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.BitOr):
            self._open(self.evaluator.values(node.target, frame))
        elif isinstance(node, ast.Call):
            self._note_call(node, function, frame)

    def _note_call(self, call: ast.Call, function: Function, frame: Frame) -> None:
        if isinstance(call.func, ast.Attribute) and call.func.attr in SET_KEYS:
            values = self.evaluator.values(call.func.value, frame)
            place = Location(function, call)
            if UNKNOWN in values:
                self._elsewhere |= {(name, key) for name in _holders(call.func.value, function) for key in _keys(call)}
            if call.func.attr == "setdefault" and call.args and isinstance(call.args[0], ast.Constant):
                self._add(values, call.args[0].value, place)
            elif call.func.attr == "update" and not call.args:
                for word in call.keywords:
                    self._add(values, word.arg, place)
            elif call.func.attr == "update" and len(call.args) == 1 and isinstance(call.args[0], ast.Dict):
                for key in call.args[0].keys:
                    self._add(values, key.value if isinstance(key, ast.Constant) else None, place)
            else:
                self._open(values)
            return
        if last_name(call.func) in READERS:
            return
        self._note_handed_attributes(call, frame)
        handed = [*call.args, *(word.value for word in call.keywords if word.arg is not None)]
        handed = [
            part
            for each in handed
            for part in (each.elts if isinstance(each, ast.Tuple) else (each,))
            if isinstance(part, _MAY_BE_DICT)
        ]
        dicts = [values for each in handed if self._holds_dict(values := self.evaluator.values(each, frame))]
        if not dicts:
            return  # nothing that could grow
        if all(isinstance(value, ExternalName) for value in self.evaluator.values(call.func, frame)):
            if fills(call):
                for values in dicts:
                    self._open(values)
            elif runs_a_function(call, frame, self.evaluator):
                for values in dicts:
                    self._open_all(values)
            return  # a library reads
        if own := self.evaluator.callees(call, frame):
            for callee in own:  # what a function of the project writes is noted where it stands
                for function in callee.function.module.beside(callee.function):
                    self._read_writes(function)
                self._note_handed(callee, call, frame)
            return
        for values in dicts:
            self._open_all(values)

    def _note_handed_attributes(self, call: ast.Call, frame: Frame) -> None:
        """Attributes that are not followed, and handed to a function that puts keys into them: `fill(self.seen)`."""
        given = [
            each for each in (*call.args, *(word.value for word in call.keywords)) if isinstance(each, ast.Attribute)
        ]
        given = [each for each in given if UNKNOWN in self.evaluator.values(each, frame)]
        if not given:
            return
        own = self.evaluator.callees(call, frame)
        if not own and fills(call):
            self._elsewhere |= {(each.attr, None) for each in given}
        for callee in own:
            written = self._written.by(callee.function)
            entered = self.evaluator.enter(callee, call, frame) if written else None
            for name, bound in entered.arguments.items() if entered else ():
                if isinstance(bound.expr, ast.Attribute) and bound.expr in given and written.get(name):
                    self._elsewhere.add((bound.expr.attr, None))

    def _note_kept(self, assignment: ast.Assign, frame: Frame) -> None:
        """A dict, or a list of dicts, that an object has from then on: `optimizer.param_groups = [group]`.

        Whoever has an object that is not followed may fill it; of others, whoever writes to that attribute.
        """
        parts = assignment.value.elts if isinstance(assignment.value, ast.List | ast.Tuple) else [assignment.value]
        parts = [each for each in parts if isinstance(each, ast.Name)]
        for target in assignment.targets if parts else ():
            if not isinstance(target, ast.Attribute):
                continue
            for value in (value for each in parts for value in self.evaluator.values(each, frame)):
                if not isinstance(value, DictLiteral):
                    continue
                self._kept.setdefault(value.node, set()).add(target.attr)
                if not all(isinstance(each, _FOLLOWED) for each in self.evaluator.values(target.value, frame)):
                    self._open((value,))

    def _note_handed(self, callee: FunctionValue, call: ast.Call, frame: Frame) -> None:
        """Dicts that a function of the project is handed and keeps, or puts keys into, or into dicts inside them."""
        written, kept = self._written.by(callee.function), kept_by(callee.function)
        entered = self.evaluator.enter(callee, call, frame) if written or kept else None
        if entered is None:
            return
        for name, bound in sorted(entered.arguments.items()):
            if (itself := reached_as(name, callee.function, written)) is not None:
                self._open_all(self.evaluator.values(bound.expr, bound.frame), itself)
        for name, attribute in kept:
            if given := entered.arguments.get(name):
                for value in self.evaluator.values(given.expr, given.frame):
                    if isinstance(value, DictLiteral):
                        self._kept.setdefault(value.node, set()).add(attribute)

    def _open_all(self, values: Values, itself: bool = True) -> None:
        """Open the dicts inside these dicts, and, unless told otherwise, these."""
        if itself:
            self._open(values)
        for value in values:
            if isinstance(value, DictLiteral | Items):
                self._open_within(value)
            for given in fields_of(value):
                self._open_all(tuple(each for each in self._held(given) if isinstance(each, DictLiteral)))

    def _held(self, given: Bound) -> Values:
        return self.evaluator.values(given.expr, given.frame) if isinstance(given.expr, _MAY_BE_DICT) else ()

    def _open_within(self, value: DictLiteral | Items, key: object = None) -> None:
        """Open the dicts that are written inside a dict or a list: all, or the one at a key."""
        parts = {} if isinstance(value, Items) else dict_items(value.node)
        inner = value.elements if isinstance(value, Items) else parts.values()
        for item in [parts[key]] if key in parts else inner if key is None else ():
            if isinstance(item, ast.Dict):
                self._open_all((DictLiteral(item, value.frame),))

    def _holds_dict(self, values: Values) -> bool:
        return any(
            isinstance(value, DictLiteral)
            or (isinstance(value, Items) and any(isinstance(each, ast.Dict) for each in value.elements))
            or any(isinstance(each, DictLiteral) for given in fields_of(value) for each in self._held(given))
            for value in values
        )

    def _add(self, values: Values, key: object, place: Location) -> None:
        for value in values:
            if isinstance(value, DictLiteral):
                shape = self._found.setdefault(value.node, KeySet(place))
                if isinstance(key, str):
                    shape.keys.setdefault(key, place)
                elif key is None or not isinstance(key, int):
                    shape.open = True
                self._put.add((value.node, key if isinstance(key, str) else None))
                self._open_within(value, key)

    def _open(self, values: Values) -> None:
        for value in values:
            if isinstance(value, DictLiteral):
                self._found.setdefault(value.node, KeySet(Location(value.frame.function, value.node))).open = True
                self._put.add((value.node, None))


def _keys(call: ast.Call) -> set[object]:
    """The keys that `setdefault` or `update` puts in; None for any."""
    first = call.args[0] if call.args else None
    if isinstance(call.func, ast.Attribute) and call.func.attr != "update":
        return {first.value if isinstance(first, ast.Constant) else None}
    given: set[object] = {word.arg for word in call.keywords}
    if isinstance(first, ast.Dict):
        return given | {key.value if isinstance(key, ast.Constant) else None for key in first.keys}
    return given if first is None else given | {None}


def _holders(expr: ast.expr, function: Function) -> set[str]:
    """What holds a dict, and the attributes that a variable is bound to: `seen = self.seen`."""
    bound = function.scope.names.get(expr.id, ()) if isinstance(expr, ast.Name) else ()
    over = (each.expr.value if isinstance(each.expr, ast.Subscript) else each.expr for each in bound)
    return {_holder(expr, function), *(each.attr for each in over if isinstance(each, ast.Attribute))}


def _holder(expr: ast.expr, function: Function) -> str:
    """What holds a dict: an attribute, by its name, or a variable of one function or module."""
    if not isinstance(expr, ast.Name):
        return last_name(expr)
    home: Function | None = function
    while home is not None and home.symbol and expr.id not in home.scope.names:
        home = home.enclosing
    return f"{(home or function).key}:{expr.id}"
