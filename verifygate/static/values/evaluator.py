"""Evaluate expressions abstractly, on demand: the values of one expression, and the functions that a call may run.

Nothing is asked as often as this: kinds of nodes and of values are told by their class alone, the frequent ones first,
and lists are built where generators would read better.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Sequence
from functools import partial

from verifygate.static.symbols.generators import handed_back
from verifygate.static.symbols.program import Class, Module, Program
from verifygate.static.symbols.scopes import Binding, Scope
from verifygate.static.symbols.star_imports import StarImports
from verifygate.static.values.call_binding import entered_by, partially
from verifygate.static.values.class_hierarchy import MOST, ClassHierarchy, hides
from verifygate.static.values.closures import Closures
from verifygate.static.values.containers import Containers
from verifygate.static.values.demand import Demand
from verifygate.static.values.domain import (
    READ,
    UNKNOWN,
    Bound,
    ClassValue,
    DictLiteral,
    ExternalName,
    ExternalResult,
    Frame,
    FunctionValue,
    Items,
    Literal,
    ModuleValue,
    Object,
    Partial,
    Value,
    Values,
    called,
    compared,
    distinct,
    elements_of,
    given_field,
    is_switch,
    may_end,
    same,
    truth_of,
)
from verifygate.static.values.evaluation import is_module_without
from verifygate.static.values.frames import Frames
from verifygate.static.values.framework_results import FORWARDS, WRAPPERS, made_part, runs_a_forward
from verifygate.static.values.named_attributes import NamedAttributes, as_text, written_out
from verifygate.static.values.overrides import Overrides, runs_only_by_super
from verifygate.static.values.parameters import Parameters
from verifygate.static.values.replaced_functions import ReplacedFunctions
from verifygate.static.values.sources import Sources
from verifygate.static.values.subscripts import Subscripts
from verifygate.static.values.super_lookup import SuperLookup, merged

MAX_CALLS = 24
"""Calls that lead into one another."""

_NOTHING_KNOWN: Values = (UNKNOWN,)
_UNANSWERED: Sequence[Value] = _NOTHING_KNOWN
_GIVE_THE_MODULE = frozenset({"to", "cuda", "cpu", "train", "eval", "float", "double", "requires_grad_"})
"""Methods of a module that return it."""


class Evaluator:
    """Finds the values of expressions, and the project's function behind a call."""

    def __init__(self, program: Program, modules: Sequence[Module] = (), *, settings_hold: bool = True) -> None:
        """`settings_hold`: whether a switch that a file sets for good, `USE_AMP = False`, stays as it is."""
        self.program = program
        self.modules = modules
        self._settings_hold = settings_hold
        self._frames = Frames(self)
        self.module_frame = self._frames.of_module
        self.root_frame = self._frames.of_function
        self.heirs_frame = self._frames.of_method
        self.defining_frame = self._frames.of_constructor
        self.counterpart = self._frames.counterpart
        self.demand = Demand()
        self._bases: dict[Class, tuple[Class, ...]] = {}
        self._outside_names: dict[str, Values] = {}
        self._bases_outside: dict[Class, frozenset[str]] = {}
        self._parameters, self._overrides, self._stars = Parameters(self), Overrides(self), StarImports(program)
        self.sets_by_name, self.hierarchy = self._overrides.sets_by_name, ClassHierarchy(self)
        self.below, self.may_be_of_one_object = self.hierarchy.below, self.hierarchy.may_be_of_one_object
        self._inherited, self._subscripts, self._replaced = SuperLookup(self), Subscripts(self), ReplacedFunctions(self)
        self._named, self._closures, self.containers = NamedAttributes(self), Closures(self), Containers(self)
        self.sources, self.bound_to = (origins := Sources(self)).of, origins.of_binding
        self.is_method = self._closures.is_method
        self.passed, self.entries = self._parameters.passed, self._parameters.entries

    def forget(self) -> None:
        """Let go of every answer, for good: frames and values hold each other, so nobody else would."""
        self._frames.forget()
        vars(self).clear()

    # -- expressions -------------------------------------------------------------------------------------------

    def values(self, expr: ast.expr, frame: Frame) -> Values:
        """All that `expr` can be in `frame`; UNKNOWN among them where that cannot be told."""
        what = same(expr)
        known = frame.memo.get(what)
        if known is not None:
            return known
        return self.demand.kept(frame.memo, what, id(frame), partial(self._found, expr, frame), _NOTHING_KNOWN)

    def _found(self, expr: ast.expr, frame: Frame) -> Values:
        found = self._evaluate(expr, frame)
        only = (_NOTHING_KNOWN if found[0] is UNKNOWN else tuple(found)) if len(found) == 1 else ()
        return only or distinct(found) or _NOTHING_KNOWN

    def _evaluate(self, expr: ast.expr, frame: Frame) -> Sequence[Value]:
        kind = expr.__class__
        if kind is ast.Name:
            return self._name(expr.id, frame)  # type: ignore[attr-defined]
        if kind is ast.Attribute:
            base, name = expr.value, expr.attr  # type: ignore[attr-defined]
            bases = self.values(base, frame)
            if len(bases) == 1:
                return self.attribute(bases[0], name, base, frame)
            return [value for each in bases for value in self.attribute(each, name, base, frame)]
        match expr:
            case ast.Call(func=ast.Attribute(attr=name) as func) if name in _GIVE_THE_MODULE:
                found: list[Value] = []
                for base in self.values(func.value, frame):
                    if is_module_without(base, name, self):
                        found.append(base)
                    else:
                        callees = self.attribute(base, name, func.value, frame)
                        found += [value for callee in callees for value in self._called(callee, expr, frame)]
                return found
            case ast.Call() if expr in frame.fixed:
                return self._at(frame.fixed[expr])
            case ast.Call():
                called = self.hierarchy.dispatched(expr, frame) or self.values(expr.func, frame)
                if len(called) == 1:
                    return self._called(called[0], expr, frame)
                return [value for callee in called for value in self._called(callee, expr, frame)]
            case ast.Constant():
                return [Literal(expr.value)]
            case ast.IfExp():
                test = self.truth(expr.test, frame)
                yes = self.values(expr.body, frame) if test is not False else ()
                return yes + self.values(expr.orelse, frame) if test is not True else yes
            case ast.BoolOp():
                each = ((part, value) for part in expr.values for value in self.values(part, frame))
                return [value for part, value in each if part is expr.values[-1] or may_end(expr.op, value)]
            case ast.Lambda():
                return [self._closures.of_lambda(expr, frame)]
            case ast.JoinedStr() | ast.BinOp(op=ast.Add()):
                return written_out(expr, frame, self)
            case ast.NamedExpr() | ast.Await() | ast.Starred():
                return self.values(expr.value, frame)
            case ast.Tuple() | ast.List():
                return [Items(tuple(expr.elts), frame)]
            case ast.Dict():
                return [DictLiteral(expr, frame)]
            case ast.Subscript():
                return self._subscripts.of(expr, frame)
            case ast.BinOp(op=ast.Mod(), right=length) if self._settings_hold:
                return [Literal(0)] if self.values(length, frame) == (Literal(1),) else _NOTHING_KNOWN
            case ast.UnaryOp(op=ast.Not()) | ast.Compare():
                truth = self.truth(expr, frame)
                return [UNKNOWN if truth is None else Literal(truth)]
        return _NOTHING_KNOWN

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
                return compared(self.values(left, frame), op, self.values(right, frame), dtypes=self._settings_hold)
        truths = {truth_of(value) for value in self.values(test, frame)}
        return truths.pop() if len(truths) == 1 else None

    def _name(self, name: str, frame: Frame) -> Sequence[Value]:
        found = self.lookup(name, frame)
        if found is None:
            return self._outside(f"builtins.{name}")
        bindings, home = found
        if len(bindings) == 1:
            return self.given_by(bindings[0], home)
        return [value for binding in bindings for value in self.given_by(binding, home)]

    def _outside(self, name: str) -> Values:
        """What a name outside of the project stands for: one value, however often it is named."""
        if (known := self._outside_names.get(name)) is None:
            known = self._outside_names[name] = (ExternalName(name),)
        return known

    def lookup(self, name: str, frame: Frame) -> tuple[list[Binding], Frame] | None:
        """The bindings of a name and the frame they belong to; None for a builtin or an unbound name."""
        here: Frame | None = frame
        while here is not None:
            if here.fixed and (bound := here.fixed.get(name)):
                return [Binding("value", bound.expr, bound.expr)], bound.frame
            while here.around is not None and (outer := here.outer) is not None:
                here = outer
            scope: Scope = here.function.scope
            if name in scope.names and name not in scope.outer:
                return scope.names[name], here
            here = here.enclosing
        module = self._stars.binder(name, frame.function.module)
        return (module.body.scope.names[name], self.module_frame(module)) if module else None

    def given_by(self, binding: Binding, frame: Frame) -> Sequence[Value]:
        """The values that one binding gives a name."""
        module = frame.function.module
        match binding.kind:
            case "value" if binding.expr is not None:
                if not self._settings_hold and is_switch(binding.expr):
                    return _NOTHING_KNOWN
                return self.values(binding.expr, frame)
            case "parameter":
                return self._parameters.of(binding.node.arg, frame)  # type: ignore[attr-defined]
            case "member":
                return self._imported_member(binding.target, module)
            case "elsewhere" if binding.expr is not None:
                return self.values(binding.expr, self.root_frame(module.binders[binding]))
            case "item" if binding.expr is not None:
                return self._subscripts.item(binding.expr, binding.position, frame)
            case "function":
                home = frame if frame.function.symbol else None
                return [FunctionValue(module.function(binding.node), home=home)]  # type: ignore[arg-type]
            case "class":
                return [ClassValue(module.made(binding.node))]  # type: ignore[arg-type]
            case "module":
                inside = self.program.imported(binding.target, module)
                return [ModuleValue(inside) if inside else ExternalName(binding.target)]
            case "context" if binding.expr is not None:
                objects = [value for value in self.values(binding.expr, frame) if isinstance(value, Object)]
                return [*objects, *self._at(*self.bound_to(binding, frame))]
            case "part":
                return self._at(*self.bound_to(binding, frame))
            case "iteration" | "entry" if binding.expr is not None:
                elements: list[Value] = []
                for value in self.values(binding.expr, frame):
                    if not isinstance(value, Items | DictLiteral):
                        elements += self._at(*self.bound_to(binding, frame)) or _NOTHING_KNOWN
                    for element in elements_of(value, binding.kind == "entry"):
                        elements += self.values(element, value.frame)  # type: ignore[union-attr]
                return elements
            case "index":
                return [ExternalResult("builtins.int", ())]
        return _NOTHING_KNOWN

    def _at(self, *places: Bound) -> list[Value]:
        return [value for each in places for value in self.values(each.expr, each.frame)]

    def _imported_member(self, target: str, importer: Module) -> Sequence[Value]:
        source, name = target.split(":")
        dotted = source.lstrip(".")
        level = len(source) - len(dotted)
        inside = self.program.imported(dotted, importer, level)
        submodule = self.program.imported(f"{dotted}.{name}" if dotted else name, importer, level)
        if inside is None:  # a folder without `__init__.py` is a package, too
            return [ModuleValue(submodule) if submodule else UNKNOWN if level else ExternalName(f"{dotted}.{name}")]
        if self._stars.binder(name, inside):  # a name may be handed on in a circle, or a file import its own namesake
            find = partial(self._name, name, self.module_frame(inside))
            return self.demand.answer(("import", inside.path, name), find, _UNANSWERED)[0]
        return [ModuleValue(submodule) if submodule is not None else UNKNOWN]

    # -- attributes, items, calls ------------------------------------------------------------------------------

    def attribute(self, base: Value, name: str, base_expr: ast.expr, frame: Frame) -> Sequence[Value]:
        """What `base.name` can be."""
        if base is UNKNOWN:
            return _NOTHING_KNOWN
        if given := given_field(base, name):
            return self.values(given.expr, given.frame)
        match base:
            case ExternalName():
                return self._outside(f"{base.name}.{name}")
            case ClassValue() | FunctionValue() if name == "__name__":
                return [Literal(base.made.node.name if isinstance(base, ClassValue) else base.function.name)]
            case ClassValue():
                return self._member(self.linearised(base.made), name, Bound(base_expr, frame), None)
            case Object():
                return self._of_object(base, name, Bound(base_expr, frame))
            case ModuleValue():
                if self._stars.binder(name, base.module):
                    return self._name(name, self.module_frame(base.module))
                package = base.module if base.module.path.endswith("__init__.py") else None
                inside = self.program.imported(name, package, level=1) if package is not None else None
                return [ModuleValue(inside) if inside is not None else UNKNOWN]
            case ExternalResult() if f"{base.name}.{name}" in WRAPPERS:
                return [ExternalName(f"{base.name}.{name}")]
            case ExternalResult(name="builtins.super", calls=[(call, home)]):
                asked = self._inherited.of(call, home)
                return [value for bases, this, made in asked for value in self._member(bases, name, this, made)]
        return _NOTHING_KNOWN

    def _of_object(self, base: Object, name: str, this: Bound) -> Sequence[Value]:
        classes = self.hierarchy.ways(base, name, this)
        found: list[Value] = [] if len(classes) <= MOST else [UNKNOWN]
        for made in classes[:MOST]:
            found += self._member(self.linearised(made), name, this, made, base.call)
        return [*found, *(FunctionValue(method, this) for method in self._overrides.of(base, name))]

    def _member(
        self, bases: tuple[Class, ...], name: str, receiver: Bound, made: Class | None, call: Bound | None = None
    ) -> Sequence[Value]:
        """What the classes have by a name; `made` is the class of the object, where one is asked, `call` made it."""
        found: list[Value] = []
        bound = hidden = False
        for base in bases:
            if (method := base.methods.get(name)) and not hidden:
                value = FunctionValue(
                    method, receiver if (made or method.is_class_method) and not method.is_static else None
                )
                is_read = made is not None and method.is_property
                return [*found, *(self._called(value, READ, receiver.frame) if is_read else (value,))]
            for binding, owner in base.attributes.get(name, ()):
                if hidden and owner is None:
                    continue  # the body of a nearer class binds it
                bound = True
                home = self.defining_frame(owner, made, call) if owner else self.module_frame(base.module)
                if owner is not None and receiver.frame.function.owner is not None and receiver.frame.entered(owner):
                    home = receiver.frame
                found += self.given_by(binding, home)
                is_field = owner is None and isinstance(binding.node, ast.AnnAssign)
                if is_field or (isinstance(binding.expr, ast.Constant) and self._overrides.sets_by_name(made or base)):
                    found.append(UNKNOWN)  # a default: a dataclass's constructor, or a loop over names, may set it
            hidden = hidden or hides(base, name)
        return found if bound else _NOTHING_KNOWN

    def linearised(self, made: Class) -> tuple[Class, ...]:
        """The class and the project's classes it derives from, in method resolution order."""
        if (known := self._bases.get(made)) is not None:
            return known
        return self.demand.kept(self._bases, made, "bases", partial(self._linearised, made), (made,))

    def _linearised(self, made: Class) -> tuple[Class, ...]:
        given = [value for base in made.node.bases for value in self.values(base, self.module_frame(made.module))]
        bases = [value.made for value in given if isinstance(value, ClassValue) and value.made is not made]
        return (made, *merged([*map(self.linearised, bases), bases]))

    def outside_bases(self, made: Class) -> frozenset[str]:
        """Names outside the project that the class derives from, directly or not."""
        if (known := self._bases_outside.get(made)) is not None:
            return known
        gaps, found, counted = self.demand.gaps, set[str](), set[Class]()
        for each in self.linearised(made):
            if each not in counted and (below := self._bases_outside.get(each)) is not None:
                found |= below
                counted.update(self.linearised(each))
            elif each not in counted:
                home = self.module_frame(each.module)
                values = (value for base in each.node.bases for value in self.values(base, home))
                found |= {value.name for value in values if isinstance(value, ExternalName)}
        if self.demand.gaps == gaps:
            self._bases_outside[made] = frozenset(found)
        return frozenset(found)

    def _called(self, callee: Value, call: ast.Call, frame: Frame) -> Sequence[Value]:
        if callee is UNKNOWN or self._replaced.holds(callee, frame) or runs_only_by_super(callee, call):
            return _NOTHING_KNOWN
        match callee:
            case ExternalName(name="functools.partial") if call.args:
                inner = ast.Call(func=call.args[0], args=call.args[1:], keywords=call.keywords)
                ast.copy_location(inner, call)
                return [partially(value, inner, frame) for value in self.values(call.args[0], frame)]
            case ExternalName(name="dataclasses.field"):
                made = [word.value for word in call.keywords if word.arg == "default_factory"]
                return [
                    value
                    for each in made
                    for value in self.values(each.body if isinstance(each, ast.Lambda) else called(each), frame)
                ]
            case ExternalName(name="builtins.dict"):
                return [DictLiteral(call, frame)]
            case ExternalName(name="builtins.str") if len(call.args) == 1:
                return as_text(self.values(call.args[0], frame))
            case ExternalName(name="builtins.getattr") if len(call.args) > 1:
                return self._named.of(call, frame) or [ExternalResult(callee.name, ((call, frame),))]
            case ExternalName(name=name) if name in WRAPPERS:
                return made_part(name, call, frame, self)
            case ExternalName():
                return [ExternalResult(callee.name, ((call, frame),))]
            case FunctionValue() if (inside := self.enter(callee, call, frame)) is not None:
                return [value for result in handed_back(callee.function) for value in self.values(result, inside)]
            case ClassValue():
                return [Object(callee.made, Bound(call, frame))]
            case Partial():
                return [ExternalResult(callee.name, (*callee.calls, (call, frame)))]
            case Object() | ExternalResult() if runs_a_forward(callee, self):
                runs = self.callees(call, frame)
                return [value for each in runs for value in self._called(each, call, frame)] or _NOTHING_KNOWN
        return _NOTHING_KNOWN

    def enter(self, callee: FunctionValue, call: ast.Call, frame: Frame) -> Frame | None:
        """The one frame of the function as this call enters it; None where it is being walked already (recursion)."""
        this = callee.receiver and (callee.receiver.expr, callee.receiver.frame)
        key = (call, callee.function, this, callee.home, callee.partials)
        if (known := frame.callee_frames.get(key)) is not None:
            return known
        gaps = self.demand.gaps
        if (entered := self.entered_anew(callee, call, frame)) is not None and self.demand.gaps == gaps:
            frame.noted("callee_frames")[key] = entered
        return entered

    def entered_anew(self, callee: FunctionValue, call: ast.Call, frame: Frame) -> Frame | None:
        """A frame of its own for the function as this call enters it; None where it is being walked already."""
        if frame.entered(callee.function) or frame.depth > MAX_CALLS:
            return None
        return entered_by(callee, call, frame, self)

    def callees(self, call: ast.Call, frame: Frame) -> tuple[FunctionValue, ...]:
        """The project's functions that a call may run: a function, a method, a class's `__init__`, or `__call__`."""
        if (known := frame.callees.get(call)) is not None:
            return known
        about = ("callees", id(frame))
        return self.demand.kept(frame.noted("callees"), call, about, partial(self._callees, call, frame), ())

    def _callees(self, call: ast.Call, frame: Frame) -> tuple[FunctionValue, ...]:
        found: dict[Hashable, FunctionValue] = {}
        for value in self.values(call.func, frame):
            match value:
                case FunctionValue():
                    found.setdefault((value.function, *(made for made, _ in value.partials)), value)
                case ClassValue():
                    self._add_method(found, value.made, Bound(call, frame), "__init__")
                case Object():
                    self._add_method(found, value.made, Bound(call.func, frame), "__call__", "forward")
                case ExternalResult(name=name, calls=[(made, home), *_]) if name in FORWARDS and made.args:
                    for model in self.values(made.args[0], home):
                        if isinstance(model, Object):
                            self._add_method(found, model.made, Bound(made.args[0], home), "__call__", "forward")
        if call.func.__class__ is not ast.Attribute or not found:
            found |= {(value.function,): value for value in self._closures.of_methods(call, frame)}
        return tuple(found.values())

    def _add_method(self, found: dict[Hashable, FunctionValue], made: Class, receiver: Bound, *names: str) -> None:
        """Add the method of the first of these names that the class has."""
        methods = (base.methods.get(name) for name in names for base in self.linearised(made))
        if method := next(filter(None, methods), None):
            found.setdefault((method,), FunctionValue(method, receiver))
