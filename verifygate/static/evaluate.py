"""Find the values of expressions, and the project's function behind a call."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator, Sequence

from verifygate.static.entries import Entries
from verifygate.static.overrides import Overrides
from verifygate.static.program import Class, Function, Module, Program, simple_name
from verifygate.static.scopes import Binding, Scope
from verifygate.static.stars import Stars
from verifygate.static.values import (
    READ,
    UNKNOWN,
    Bound,
    ClassValue,
    DictLiteral,
    Frame,
    FunctionValue,
    Items,
    Known,
    Literal,
    Made,
    ModuleValue,
    Object,
    Partial,
    Value,
    Values,
    compared,
    dict_items,
    elements_of,
    given_field,
    same,
    truth_of,
)

MAX_DEPTH = 24
MAX_STEPS = 500
"""Expressions looked at to answer one question; names bound to one another in circles have no end otherwise."""

_NOTHING_KNOWN: Values = (UNKNOWN,)


class Evaluator:
    """Finds the values of expressions, and the project's function behind a call."""

    def __init__(self, program: Program, modules: Sequence[Module] = ()) -> None:
        self.program = program
        self.modules = modules
        self._module_frames: dict[Module, Frame] = {}
        self._method_frames: dict[Function, Frame] = {}
        self._busy: set[tuple[Hashable, int]] = set()
        self._importing: set[tuple[str, str]] = set()
        self._steps = 0
        self.cuts = 0
        """How often an answer was cut short: an unknown that comes of it is none for good."""
        self._bases: dict[Class, tuple[Class, ...]] = {}
        self._entries, self._overrides, self._stars = Entries(self), Overrides(self), Stars(program)

    def module_frame(self, module: Module) -> Frame:
        return self._module_frames.setdefault(module, Frame(module.body))

    def root_frame(self, function: Function) -> Frame:
        """A frame for a function entered from nowhere in particular."""
        if function.node is function.module.tree:
            return self.module_frame(function.module)
        if function not in self._method_frames:
            enclosing = function.enclosing
            outer = self.root_frame(enclosing) if enclosing and enclosing.symbol else None
            self._method_frames[function] = Frame(function, receiver_class=function.owner, enclosing=outer)
        return self._method_frames[function]

    # -- expressions -------------------------------------------------------------------------------------------

    def values(self, expr: ast.expr, frame: Frame) -> Values:
        """All that `expr` can be in `frame`; UNKNOWN among them where that cannot be told."""
        what = same(expr)
        known = frame.memo.get(what)
        if known is not None:
            return known
        key = (what, id(frame))
        if not self._busy:
            self._steps = 0
        self._steps += 1
        if key in self._busy or len(self._busy) > MAX_DEPTH or self._steps > MAX_STEPS:
            self.cuts += 1
            return _NOTHING_KNOWN
        self._busy.add(key)
        cuts = self.cuts
        try:
            result = tuple(dict.fromkeys(self._evaluate(expr, frame))) or _NOTHING_KNOWN
        finally:
            self._busy.discard(key)
        if self.cuts == cuts or not self._busy or UNKNOWN not in result:
            frame.memo[what] = result  # an unknown inside a cycle may be known when asked from elsewhere
        return result

    def _evaluate(self, expr: ast.expr, frame: Frame) -> Iterator[Value]:
        match expr:
            case ast.Constant():
                yield Literal(expr.value)
            case ast.Name():
                yield from self._name(expr.id, frame)
            case ast.Attribute():
                for base in self.values(expr.value, frame):
                    yield from self.attribute(base, expr.attr, expr.value, frame)
            case ast.Call():
                for callee in self.values(expr.func, frame):
                    yield from self._called(callee, expr, frame)
            case ast.IfExp():
                test = self.truth(expr.test, frame)
                if test is not False:
                    yield from self.values(expr.body, frame)
                if test is not True:
                    yield from self.values(expr.orelse, frame)
            case ast.BoolOp():
                yield from (value for part in expr.values for value in self.values(part, frame))
            case ast.NamedExpr() | ast.Await() | ast.Starred():
                yield from self.values(expr.value, frame)
            case ast.Tuple() | ast.List():
                yield Items(tuple(expr.elts), frame)
            case ast.Dict():
                yield DictLiteral(expr, frame)
            case ast.Subscript():
                yield from self._subscript(expr, frame)
            case ast.UnaryOp(op=ast.Not()):
                truth = self.truth(expr.operand, frame)
                yield UNKNOWN if truth is None else Literal(not truth)
            case ast.Compare():
                truth = self.truth(expr, frame)
                yield UNKNOWN if truth is None else Literal(truth)
            case _:
                yield UNKNOWN

    def truth(self, test: ast.expr, frame: Frame) -> bool | None:
        """Whether a condition holds, where its values decide it."""
        match test:
            case ast.UnaryOp(op=ast.Not()):
                inner = self.truth(test.operand, frame)
                return None if inner is None else not inner
            case ast.BoolOp():
                parts = [self.truth(part, frame) for part in test.values]
                stop = isinstance(test.op, ast.Or)
                if stop in parts:
                    return stop
                return None if None in parts else not stop
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return compared(self.values(left, frame), op, self.values(right, frame))
        truths = {truth_of(value) for value in self.values(test, frame)}
        return truths.pop() if len(truths) == 1 else None

    def _name(self, name: str, frame: Frame) -> Iterator[Value]:
        found = self.lookup(name, frame)
        if found is None:
            yield Known(f"builtins.{name}")
            return
        bindings, home = found
        for binding in bindings:
            yield from self.bound_value(binding, home)

    def lookup(self, name: str, frame: Frame) -> tuple[list[Binding], Frame] | None:
        """The bindings of a name and the frame they belong to; None for a builtin or an unbound name."""
        here: Frame | None = frame
        while here is not None:
            if here.fixed and (bound := here.fixed.get(name)):
                return [Binding("value", bound.expr, bound.expr)], bound.frame
            scope: Scope = here.function.scope
            if name in scope.names and name not in scope.outer:
                return scope.names[name], here
            here = here.enclosing
        module = self._stars.binder(name, frame.function.module)
        return (module.body.scope.names[name], self.module_frame(module)) if module else None

    def bound_value(self, binding: Binding, frame: Frame) -> Iterator[Value]:
        """The values that one binding gives a name."""
        module = frame.function.module
        match binding.kind:
            case "value" if binding.expr is not None:
                yield from self.values(binding.expr, frame)
            case "elsewhere" if binding.expr is not None and binding.home is not None:
                yield from self.values(binding.expr, self.root_frame(binding.home))
            case "item" if binding.expr is not None:
                yield from self._item(binding.expr, binding.position, frame)
            case "parameter":
                yield from self._parameter(binding.node.arg, frame)  # type: ignore[attr-defined]
            case "function":
                yield FunctionValue(module.function(binding.node))  # type: ignore[arg-type]
            case "class":
                yield ClassValue(module.made(binding.node))  # type: ignore[arg-type]
            case "module":
                inside = self.program.imported(binding.target, module)
                yield ModuleValue(inside) if inside else Known(binding.target)
            case "member":
                yield from self._imported_member(binding.target, module)
            case "context" if binding.expr is not None:
                yield from (value for value in self.values(binding.expr, frame) if isinstance(value, Object))
            case "iteration" | "entry" if binding.expr is not None:
                for value in self.values(binding.expr, frame):
                    yield from () if isinstance(value, Items | DictLiteral) else (UNKNOWN,)
                    for element in elements_of(value, binding.kind == "entry"):
                        yield from self.values(element, value.frame)  # type: ignore[union-attr]
            case "index":
                yield Made("builtins.int", ())
            case _:
                yield UNKNOWN

    def _imported_member(self, target: str, importer: Module) -> Iterator[Value]:
        source, name = target.split(":")
        dotted = source.lstrip(".")
        level = len(source) - len(dotted)
        inside = self.program.imported(dotted, importer, level)
        if inside is None:
            yield Known(f"{dotted}.{name}") if not level else UNKNOWN
            return
        submodule = self.program.imported(f"{dotted}.{name}" if dotted else name, importer, level)
        key = (inside.path, name)
        if self._stars.binder(name, inside) and key not in self._importing:
            self._importing.add(key)  # a name may be handed on in a circle, or a file import its own namesake
            try:
                yield from self._name(name, self.module_frame(inside))
            finally:
                self._importing.discard(key)
        elif submodule is not None:
            yield ModuleValue(submodule)
        else:
            yield UNKNOWN

    def _parameter(self, name: str, frame: Frame) -> Iterator[Value]:
        function = frame.function
        first = function.parameters[0].arg if function.parameters else ""
        if function.owner is not None and name == first and not function.is_static:
            if frame.receiver_class is not None:
                yield Object(frame.receiver_class)
            elif frame.receiver is not None:
                yield from self.values(frame.receiver.expr, frame.receiver.frame)
            else:
                yield Object(function.owner)
            return
        if bound := frame.arguments.get(name):
            yield from self.values(bound.expr, bound.frame)
            return
        default = function.default(name)
        if frame.caller is not None and default is not None:
            yield from self.values(default, self.module_frame(function.module))
            return
        annotation = next((arg.annotation for arg in function.parameters if arg.arg == name), None)
        if frame.caller is None and annotation is None:
            yield from self._passed(name, function)
        yield from self._annotated(annotation, frame)

    def _passed(self, name: str, function: Function) -> Iterator[Value]:
        """What the project's own calls pass as a parameter, for a function entered from nowhere in particular."""
        for entered in self._entries.of(function):
            if bound := entered.arguments.get(name):
                yield from self.values(bound.expr, bound.frame)

    def _annotated(self, annotation: ast.expr | None, frame: Frame) -> Iterator[Value]:
        """What an annotation promises; `X | None` and `Optional[X]` promise X or None."""
        match annotation:
            case ast.BinOp(op=ast.BitOr()):
                yield from self._annotated(annotation.left, frame)
                yield from self._annotated(annotation.right, frame)
            case ast.Subscript() if simple_name(annotation.value).endswith("Optional"):
                yield from self._annotated(annotation.slice, frame)
                yield Literal(None)
            case ast.Name() | ast.Attribute():
                for value in self.values(annotation, frame):
                    if isinstance(value, Known):
                        yield Made(value.name, ())
                    elif isinstance(value, ClassValue):
                        yield Object(value.made)
                    else:
                        yield UNKNOWN
            case ast.Constant(value=None):
                yield Literal(None)
            case _:
                yield UNKNOWN

    # -- attributes, items, calls ------------------------------------------------------------------------------

    def attribute(self, base: Value, name: str, base_expr: ast.expr, frame: Frame) -> Iterator[Value]:
        """What `base.name` can be."""
        if given := given_field(base, name):
            yield from self.values(given.expr, given.frame)
            return
        match base:
            case Known():
                yield Known(f"{base.name}.{name}")
            case ModuleValue():
                if self._stars.binder(name, base.module):
                    yield from self._name(name, self.module_frame(base.module))
                elif base.module.path.endswith("__init__.py") and (
                    found := self.program.imported(name, base.module, level=1)
                ):
                    yield ModuleValue(found)
                else:
                    yield UNKNOWN
            case Object() | ClassValue():
                yield from self._member(base.made, name, Bound(base_expr, frame), isinstance(base, Object))
                for method in self._overrides.of(base, name):
                    yield FunctionValue(method, Bound(base_expr, frame))
            case _:
                yield UNKNOWN

    def _member(self, made: Class, name: str, receiver: Bound, of_object: bool) -> Iterator[Value]:
        found = False
        for base in self.linearised(made):
            if method := base.methods.get(name):
                value = FunctionValue(method, receiver if of_object and not method.is_static else None)
                is_read = of_object and method.is_property
                yield from self._called(value, READ, receiver.frame) if is_read else (value,)
                return
            for binding, owner in base.attributes.get(name, ()):
                found = True
                home = self.root_frame(owner) if owner else self.module_frame(base.module)
                if owner is not None and receiver.frame.function.owner is not None and receiver.frame.entered(owner):
                    home = receiver.frame
                yield from self.bound_value(binding, home)
                is_field = owner is None and isinstance(binding.node, ast.AnnAssign)
                if is_field or (isinstance(binding.expr, ast.Constant) and self._overrides.sets_by_name(made)):
                    yield UNKNOWN  # a default: a dataclass's constructor, or a loop over names, may set it otherwise
        if not found:
            yield UNKNOWN

    def linearised(self, made: Class) -> tuple[Class, ...]:
        """The class and the project's classes it derives from, nearest first."""
        if made not in self._bases:
            self._bases[made] = (made,)
            order = [made]
            for base in made.node.bases:
                for value in self.values(base, self.module_frame(made.module)):
                    if isinstance(value, ClassValue):
                        order += [each for each in self.linearised(value.made) if each not in order]
            self._bases[made] = tuple(order)
        return self._bases[made]

    def outside_bases(self, made: Class) -> frozenset[str]:
        """Names outside the project that the class derives from, directly or not."""
        names: set[str] = set()
        for each in self.linearised(made):
            for base in each.node.bases:
                values = self.values(base, self.module_frame(each.module))
                names.update(value.name for value in values if isinstance(value, Known))
        return frozenset(names)

    def _item(self, expr: ast.expr, position: int, frame: Frame) -> Iterator[Value]:
        for value in self.values(expr, frame):
            if isinstance(value, Items) and position < len(value.elements):
                yield from self.values(value.elements[position], value.frame)
            else:
                yield UNKNOWN

    def _subscript(self, expr: ast.Subscript, frame: Frame) -> Iterator[Value]:
        keys = [value.value for value in self.values(expr.slice, frame) if isinstance(value, Literal)]
        if len(keys) != 1:
            items = dict_items(expr.value).values() if isinstance(expr.value, ast.Dict) else ()
            yield from (value for item in items for value in self.values(item, frame)) if items else (UNKNOWN,)
            return
        for value in self.values(expr.value, frame):
            if (
                isinstance(value, Items)
                and isinstance(keys[0], int)
                and -len(value.elements) <= keys[0] < len(value.elements)
            ):
                yield from self.values(value.elements[keys[0]], value.frame)
            elif isinstance(value, DictLiteral) and isinstance(keys[0], str):
                item = dict_items(value.node).get(keys[0])
                yield from self.values(item, value.frame) if item is not None else (UNKNOWN,)
            else:
                yield UNKNOWN

    def _called(self, callee: Value, call: ast.Call, frame: Frame) -> Iterator[Value]:
        match callee:
            case Known(name="functools.partial") if call.args:
                inner = ast.Call(func=call.args[0], args=call.args[1:], keywords=call.keywords)
                ast.copy_location(inner, call)
                for value in self.values(call.args[0], frame):
                    if isinstance(value, Known):
                        yield Partial(value.name, ((inner, frame),))
                    else:
                        yield value
            case Known(name="builtins.dict"):
                yield DictLiteral(call, frame)
            case Known():
                yield Made(callee.name, ((call, frame),))
            case Partial():
                yield Made(callee.name, (*callee.calls, (call, frame)))
            case ClassValue():
                yield Object(callee.made, Bound(call, frame))
            case FunctionValue():
                inner_frame = self.enter(callee, call, frame)
                if inner_frame is None:
                    yield UNKNOWN
                    return
                yield from (value for result in callee.function.returns for value in self.values(result, inner_frame))
            case _:
                yield UNKNOWN

    def enter(self, callee: FunctionValue, call: ast.Call, frame: Frame) -> Frame | None:
        """A frame for the function as this call enters it; None where it is being walked already (recursion)."""
        function = callee.function
        if frame.entered(function) or frame.depth > MAX_DEPTH:
            return None
        parameters = [argument.arg for argument in function.parameters]
        entered = Frame(function, caller=frame)
        if function.enclosing is not None and function.enclosing.symbol:
            entered.enclosing = frame.running(function.enclosing) or self.root_frame(function.enclosing)
        if function.owner is not None and not function.is_static and callee.receiver is not None and parameters:
            parameters.pop(0)
            entered.receiver = callee.receiver
            receivers = self.values(callee.receiver.expr, callee.receiver.frame)
            classes = [value.made for value in receivers if isinstance(value, Object)]
            one = len(classes) == 1 and function.owner in self.linearised(classes[0])
            entered.receiver_class = classes[0] if one else function.owner
        if not any(isinstance(argument, ast.Starred) for argument in call.args):
            for name, argument in zip(parameters, call.args, strict=False):
                entered.arguments[name] = Bound(argument, frame)
        for keyword in call.keywords:
            if keyword.arg in parameters:
                entered.arguments[keyword.arg] = Bound(keyword.value, frame)
        return entered

    def callees(self, call: ast.Call, frame: Frame) -> tuple[FunctionValue, ...]:
        """The project's functions that a call may run: a function, a method, a class's `__init__`, or `__call__`."""
        known = frame.callees.get(call)
        if known is not None:
            return known
        found: dict[Function, FunctionValue] = {}
        cuts = self.cuts
        for value in self.values(call.func, frame):
            match value:
                case FunctionValue():
                    found.setdefault(value.function, value)
                case ClassValue():
                    self._add_method(found, value.made, "__init__", Bound(call, frame))
                case Object():
                    self._add_method(found, value.made, "__call__", Bound(call.func, frame))
                    if not any("__call__" in base.methods for base in self.linearised(value.made)):
                        self._add_method(found, value.made, "forward", Bound(call.func, frame))
        callees = tuple(found.values())
        if not self._busy or self.cuts == cuts:  # cut short inside a cycle, there may be more to it
            frame.callees[call] = callees
        return callees

    def _add_method(self, found: dict[Function, FunctionValue], made: Class, name: str, receiver: Bound) -> None:
        for base in self.linearised(made):
            if method := base.methods.get(name):
                found.setdefault(method, FunctionValue(method, receiver))
                return
