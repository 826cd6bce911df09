"""Dtype propagation over modules: the dtypes that a module's parameters may be of, and the casts that made them so.

A module is followed to where it comes from: through assignments, arguments (in the calling context), what functions of
the project return, attributes, elements of a container, and casts in place on the way. What no cast touches is of
torch's default dtype, which is not said here: the answer has only what casts and `dtype=` arguments say.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from verifygate.base.records import record, replace
from verifygate.static.amp.roles import Roles
from verifygate.static.facts.default_dtypes import default_dtype_at
from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.facts.dtype_values import DtypeValues
from verifygate.static.facts.kept_modules import is_a_module, kept_parts, may_have_weights
from verifygate.static.symbols.enclosing import EnclosingNodes
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class, Function
from verifygate.static.symbols.scopes import Binding
from verifygate.static.values.call_binding import spread_out
from verifygate.static.values.call_graph import CallGraph
from verifygate.static.values.domain import (
    Bound,
    ClassValue,
    ExternalName,
    Frame,
    FunctionValue,
)
from verifygate.static.values.framework_results import WRAPPERS

_CASTS = {"half": Dtype.FLOAT16, "bfloat16": Dtype.BFLOAT16, "float": Dtype.FLOAT32, "double": Dtype.FLOAT64}
_SAY = frozenset({"dtype", "torch_dtype"})
"""Arguments that tell a constructor its dtype."""
_KEEP = frozenset({"cuda", "cpu", "train", "eval", "requires_grad_", "to_empty", "apply"})
"""Methods of a module that return it, in the dtype that it has."""
_WRAP = frozenset(name.rpartition(".")[2] for name in WRAPPERS)
"""Methods of frameworks that hand back what they are given, made their own: `prepare`, `setup`."""
_PARTS = frozenset({"children", "named_children", "modules", "named_modules", "values", "items"})
"""Methods that give the modules in a module, or in a container of modules."""
_MAX_STEPS = 10
_MAX_ASKED = 400
"""Expressions looked at to answer one question: names that are bound to what is made of them have no end."""


@record
class ModuleDtype:
    """One dtype that the parameters of a module may be of."""

    dtype: Dtype
    cast: Location
    """The cast, or the call with the `dtype`, that makes them so."""
    sure: bool
    """Whether they are of no other dtype, as far as the way to the cast shows."""
    said: Bound | None = None
    """What names the dtype there; None where the cast is named after it."""


Found = tuple[ModuleDtype, ...]


class ModuleDtypes:
    """Answers for the modules (of torch) that expressions of one set of source modules stand for."""

    def __init__(
        self,
        roles: Roles,
        dtype_values: DtypeValues,
        callers: CallGraph,
        enclosing: EnclosingNodes,
        run_by_frameworks: Callable[[Function], list[Bound]],
    ) -> None:
        """`run_by_frameworks` gives the modules on which a framework runs a method."""
        self.run_by_frameworks = run_by_frameworks
        self.roles = roles
        self.evaluator = roles.evaluator
        self.dtype_values = dtype_values
        self.callers = callers
        self.enclosing = enclosing
        self._asked = 0
        self._answers: dict[tuple[ast.expr, Frame], Found] = {}
        self._calls_on: dict[Function, dict[str, list[ast.Call]]] = {}

    def of(self, expr: ast.expr, frame: Frame) -> Found:
        """The dtypes of the parameters of the module that an expression stands for, at the place where it stands."""
        return tuple(each for each in self._answer(expr, frame) if each.dtype is not Dtype.UNKNOWN)

    def open_casts(self, expr: ast.expr, frame: Frame) -> Found:
        """The casts on the way to a module that give it a dtype which nothing here tells, or that may come before."""
        return tuple(each for each in self._answer(expr, frame) if each.dtype is Dtype.UNKNOWN)

    def _answer(self, expr: ast.expr, frame: Frame) -> Found:
        if (expr, frame) not in self._answers:
            self._asked = 0
            self._answers[expr, frame] = self._of(expr, frame, 0)
        return self._answers[expr, frame]

    def _further(self, expr: ast.expr, frame: Frame, steps: int) -> Found:
        """The same of what an expression is made of, `steps` away from the one that is asked for."""
        self._asked += 1
        return () if steps > _MAX_STEPS or self._asked > _MAX_ASKED else self._of(expr, frame, steps)

    def _of(self, expr: ast.expr, frame: Frame, steps: int) -> Found:
        match expr:
            case ast.IfExp(test=test, body=body, orelse=orelse):
                holds = self.evaluator.truth(test, frame)
                arms = [each for each, dead in ((body, holds is False), (orelse, holds is True)) if not dead]
                found = [self._further(each, frame, steps + 1) for each in arms]
                every = all(any(each.sure for each in arm) for arm in found)
                return tuple(replace(each, sure=each.sure and every) for arm in found for each in arm)
            case ast.NamedExpr(value=value):
                return self._further(value, frame, steps + 1)
            case ast.Call():
                return self._of_call(expr, frame, steps)
            case ast.Name() | ast.Attribute():
                return self._of_name(expr, frame, steps)
            case ast.Subscript():
                return self._further(expr.value, frame, steps + 1)
        return ()

    def may_be(self, dtype: Dtype, expr: ast.expr, frame: Frame) -> ModuleDtype | None:
        """The first way in which the parameters may be of a dtype, a sure one before others."""
        ways = [each for each in self.of(expr, frame) if each.dtype is dtype]
        return min(ways, key=lambda each: not each.sure, default=None)

    # -- calls -------------------------------------------------------------------------------------------------

    def _of_call(self, call: ast.Call, frame: Frame, steps: int) -> Found:
        if isinstance(call.func, ast.Attribute):
            if cast := self.cast(call, frame):
                return cast
            if call.func.attr in _KEEP or call.func.attr in _PARTS or self._is_move(call, frame):
                return (*self._further(call.func.value, frame, steps + 1), *self._open_cast(call, frame))
        values = self.evaluator.values(call.func, frame)
        if any(isinstance(each, ExternalName) for each in values):
            made_of = self._given(call, frame) or self._wrapped(call, frame, steps) or self._by_default(call, frame)
            return made_of or self._unsaid((word.value for word in call.keywords if word.arg in _SAY), call, frame)
        if any(isinstance(each, FunctionValue) for each in values):
            return self._returned(call, frame, steps)
        made = next((each.made for each in values if isinstance(each, ClassValue)), self._own_class(call.func, frame))
        if made is None:
            return self._given(call, frame)
        if not any(each.node.bases for each in self.evaluator.linearised(made)):
            return ()  # of the project, and no module: what it is told is the dtype of something else
        return self._given(call, frame) or self._of_parts(made, Bound(call, frame), steps)

    def _own_class(self, expr: ast.expr, frame: Frame) -> Class | None:
        """The class that `cls` of a class method is."""
        function = frame.function
        first = function.parameters[0].arg if function.is_class_method and function.parameters else ""
        is_it = isinstance(expr, ast.Name) and expr.id == first
        return (frame.receiver_class or function.owner) if is_it else None

    def cast(self, call: ast.Call, frame: Frame) -> Found:
        """What `model.half()`, `model.to(dtype)` and `model.to(device, dtype=dtype)` make of a module."""
        func = call.func
        place = Location(frame.function, call)
        if not isinstance(func, ast.Attribute):
            return ()
        if func.attr in _CASTS and not call.args:
            return (ModuleDtype(_CASTS[func.attr], place, sure=True),)
        if func.attr not in ("to", "type"):
            return ()
        given = [*call.args, *(word.value for word in call.keywords if word.arg == "dtype")]
        return self._said([Bound(each, frame) for each in given], place)

    def _said(self, given: Iterable[Bound], place: Location) -> Found:
        """The dtypes that arguments say."""
        for each in given:
            dtypes = self.dtype_values.of(each.expr, each.frame)
            known = dtypes - {Dtype.UNKNOWN, Dtype.OTHER}
            if known:
                return tuple(ModuleDtype(dtype, place, len(dtypes) == 1, each) for dtype in sorted(known))
        return ()

    def _is_move(self, call: ast.Call, frame: Frame) -> bool:
        """`model.to(device)`, which says no dtype."""
        return isinstance(call.func, ast.Attribute) and call.func.attr == "to" and not self.cast(call, frame)

    def _open_cast(self, call: ast.Call, frame: Frame) -> Found:
        """`model.to(kind)` of what is a dtype, and nothing here tells which; not `model.to(device)`."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "to" or self.cast(call, frame):
            return ()
        given = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "dtype")]
        is_one = any(self.dtype_values.may_be_one(each, frame) for each in call.args[:1])
        return self._unsaid(given, call, frame) or (_unknown(call, frame) if is_one else ())

    def _unsaid(self, given: Iterable[ast.expr], call: ast.Call, frame: Frame) -> Found:
        """Where arguments stand for a dtype, and none is written out: `load(path, dtype=kind)`."""
        return _unknown(call, frame) if any(not isinstance(each, ast.Constant | ast.Call) for each in given) else ()

    def _given(self, call: ast.Call, frame: Frame) -> Found:
        """The dtype that a constructor is told: `nn.Linear(4, 4, dtype=torch.half)`, also among what `**` gives."""
        given = [Bound(word.value, frame) for word in call.keywords if word.arg in _SAY]
        for word in call.keywords if not given else ():
            if word.arg is None:
                given += [each for name, each in spread_out(word.value, frame, self.evaluator) if name in _SAY]
        return self._said(given, Location(frame.function, call))

    def _by_default(self, call: ast.Call, frame: Frame) -> Found:
        """A layer of torch that is told no dtype is made in the default one, where something sets that."""
        names = [each.name for each in self.evaluator.values(call.func, frame) if isinstance(each, ExternalName)]
        if not all(each.startswith("torch.nn.") and each.rpartition(".")[2][:1].isupper() for each in names):
            return ()
        default = default_dtype_at(call, frame, self.roles, self.enclosing)
        if default is None:
            return ()
        return tuple(
            replace(each, sure=each.sure and default.always) for each in self._said([default.said], default.place)
        )

    def _wrapped(self, call: ast.Call, frame: Frame, steps: int) -> Found:
        """What a wrapper of torch, a container of layers, or `list(...)` has for parts."""
        names = {each.name for each in self.evaluator.values(call.func, frame) if isinstance(each, ExternalName)}
        if names <= WRAPPERS.keys():
            return self._further(call.args[0], frame, steps + 1) if len(call.args) == 1 else ()
        if not all(name.startswith(("torch.", "builtins.", "copy.")) for name in names):
            return ()
        return tuple(each for part in call.args for each in self._further(_unstarred(part), frame, steps + 1))

    def _returned(self, call: ast.Call, frame: Frame, steps: int) -> Found:
        found: list[ModuleDtype] = []
        for callee in self.evaluator.callees(call, frame):
            entered = self.evaluator.enter(callee, call, frame)
            returns = callee.function.returns if entered is not None else ()
            for each in returns:
                found += self._further(each, entered, steps + 1)  # type: ignore[arg-type]
        return tuple(found)

    def _of_parts(self, made: Class, call: Bound | None, steps: int) -> Found:
        """Of an object of the project: those of the modules that its constructor keeps."""
        if not is_a_module(made, self.evaluator):
            return ()
        found: list[Found] = []
        others = False
        for name, part in kept_parts(made, call, self.evaluator):
            if of_part := self._further(part.expr, part.frame, steps + 1):
                found.append(of_part)
            else:
                others = others or may_have_weights(name, part, self.evaluator)
        dtypes = {each.dtype for of_part in found for each in of_part}
        only = len(dtypes) == 1 and not others
        whole = self._of_whole(made)
        if any(each.sure for each in whole):
            return whole
        return (*(replace(each, sure=each.sure and only) for of_part in found for each in of_part), *whole)

    def _of_whole(self, made: Class) -> Found:
        """By a cast of the object in its own constructor; unknown where a condition or a setting decides about it."""
        methods = (each.methods.get("__init__") for each in self.evaluator.linearised(made))
        constructor = next(filter(None, methods), None)
        if constructor is None or not constructor.parameters:
            return ()
        frame = self.evaluator.root_frame(constructor)
        for call in reversed(self._method_calls(constructor).get(constructor.parameters[0].arg, [])):
            if cast := self.cast(call, frame):
                later = [each for each in constructor.of_kind(ast.Assign) if each.lineno > call.lineno]
                alone = not later and not self.enclosing.conditions(call, constructor)
                return cast if alone and all(each.sure for each in cast) else _unknown(call, frame)
        return ()

    def _of_itself(self, frame: Frame, steps: int) -> Found:
        """Of the object that a method runs on: as it is given to a framework, or as its constructor makes it."""
        function = frame.function
        if frame.receiver is not None:
            return self._further(frame.receiver.expr, frame.receiver.frame, steps + 1)
        given = [self._further(each.expr, each.frame, steps + 1) for each in self.run_by_frameworks(function)]
        if given:
            every = all(any(each.sure for each in found) for found in given)
            return tuple(replace(each, sure=each.sure and every) for found in given for each in found)
        made = frame.receiver_class or function.owner
        return self._of_parts(made, None, steps) if made is not None else ()

    # -- names -------------------------------------------------------------------------------------------------

    def _of_name(self, expr: ast.Name | ast.Attribute, frame: Frame, steps: int) -> Found:
        """The last cast in place before the use, where there is one that always runs; else that and the definitions."""
        if isinstance(expr, ast.Attribute) and (elsewhere := self._cast_elsewhere(expr, frame)) is not None:
            return _unknown(elsewhere.node, self.evaluator.root_frame(elsewhere.function))
        casts = list(self._casts_in_place(expr, frame))
        found: list[ModuleDtype] = []
        for cast, always in reversed(casts):
            found += (replace(each, sure=each.sure and always) for each in cast)
            if always:
                return tuple(found)
        made: list[Found] = []
        for binding, home in self.dtype_values.bindings(expr, frame):
            if binding.expr is not None and expr in (binding.expr, *ast.walk(binding.expr)):
                continue
            made.append(self._of_binding(binding, home, steps))
        if isinstance(expr, ast.Attribute) and not made:
            made.append(self._of_holder(expr, frame, steps))
        return (*found, *_of_either(made))

    def _of_holder(self, expr: ast.Attribute, frame: Frame, steps: int) -> Found:
        """Of a part of a module, `model.encoder`: that of the whole."""
        return self._further(expr.value, frame, steps + 1)

    def _of_binding(self, binding: Binding, home: Frame, steps: int) -> Found:
        if binding.kind == "parameter":
            name = binding.node.arg  # type: ignore[attr-defined]
            if self._is_the_object(name, home.function):
                return self._of_itself(home, steps)
            return tuple(
                each for bound in self._passed(name, home) for each in self._further(bound.expr, bound.frame, steps + 1)
            )
        if binding.kind in ("opaque", "part") and isinstance(
            binding.node, ast.For
        ):  # `for name, layer in model.named_children()`
            return self._further(binding.node.iter, home, steps + 1)
        if binding.expr is None or binding.kind not in ("value", "item", "iteration", "entry", "index"):
            return ()
        if binding.kind == "item" and isinstance(binding.expr, ast.Tuple | ast.List):
            parts = binding.expr.elts
            return self._further(parts[binding.position], home, steps + 1) if binding.position < len(parts) else ()
        if binding.kind == "item" and isinstance(binding.expr, ast.Call):
            return self._of_part(binding.expr, binding.position, home, steps)
        return self._further(binding.expr, home, steps + 1)

    def _is_the_object(self, name: str, function: Function) -> bool:
        first = function.parameters[0].arg if function.parameters else ""
        return function.owner is not None and name == first and not function.is_static and not function.is_class_method

    def _of_part(self, call: ast.Call, position: int, home: Frame, steps: int) -> Found:
        """Of what is unpacked: a part of a tuple that a function returns, or what `prepare(model, ...)` gives back."""
        found: list[ModuleDtype] = []
        callees = self.evaluator.callees(call, home)
        for callee in callees:
            entered = self.evaluator.enter(callee, call, home)
            for each in callee.function.returns if entered is not None else ():
                if isinstance(each, ast.Tuple) and position < len(each.elts):
                    found += self._further(each.elts[position], entered, steps + 1)  # type: ignore[arg-type]
        is_wrapped = isinstance(call.func, ast.Attribute) and call.func.attr in _WRAP
        if not callees and is_wrapped and position < len(call.args):
            return self._further(call.args[position], home, steps + 1)
        if isinstance(call.func, ast.Attribute) and call.func.attr in _PARTS:
            return self._further(call.func.value, home, steps + 1)
        return tuple(found)

    def _passed(self, name: str, home: Frame) -> list[Bound]:
        """What a parameter stands for: in the calling context at hand, else in every call outside of tests."""
        if (bound := home.arguments.get(name)) is not None:
            return [bound]
        if home.caller is not None:
            return []
        given = self.callers.given(name, home.function)
        return [bound for site, bound in given if not site.caller.module.file.is_test]

    def _casts_in_place(self, expr: ast.Name | ast.Attribute, frame: Frame) -> Iterator[tuple[Found, bool]]:
        """The casts on a name before a use of it, in source order, each with whether it always comes before."""
        function = frame.function
        asked, text = Location(function, expr).line, ast.unparse(expr)
        around = self.enclosing.conditions(expr, function)
        for call in self._method_calls(function).get(text, ()):
            if call.lineno >= asked:
                continue
            if self._leaves(call, expr, function):
                continue
            if cast := self.cast(call, frame):
                alone = [each for each in self.enclosing.conditions(call, function) if each not in around]
                yield cast, not alone
            elif unknown := self._open_cast(call, frame):
                yield unknown, False

    def _method_calls(self, function: Function) -> dict[str, list[ast.Call]]:
        """What a chain of methods begins with -> the calls of such methods in a function, in order."""
        if function not in self._calls_on:
            found: dict[str, list[ast.Call]] = {}
            self._calls_on[function] = found
            for call in sorted(function.calls, key=lambda each: (each.lineno, each.col_offset)):
                if isinstance(call.func, ast.Attribute):
                    found.setdefault(_root(call), []).append(call)
        return self._calls_on[function]

    def _leaves(self, cast: ast.Call, use: ast.expr, function: Function) -> bool:
        """Whether a branch that a cast is in, and the use is not, is left by a `return` or the like."""
        around = {each.node for each in self.enclosing.around(use, function)}
        return any(
            isinstance(each.node, ast.If)
            and each.node not in around
            and each.part in ("body", "orelse")
            and isinstance(getattr(each.node, each.part)[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)
            for each in self.enclosing.around(cast, function)
        )

    def _cast_elsewhere(self, expr: ast.Attribute, frame: Frame) -> Location | None:
        """Where another method casts an attribute in place: nothing tells which of them comes first."""
        owner, text = frame.function.owner, ast.unparse(expr)
        methods = owner.methods.values() if owner is not None and text.startswith("self.") else ()
        casts = (
            Location(method, call)
            for method in methods
            if method is not frame.function
            for call in method.calls
            if isinstance(call.func, ast.Attribute) and call.func.attr in (*_CASTS, "to")
            if _root(call) == text and self.cast(call, self.evaluator.root_frame(method))
        )
        return next(casts, None)


def _unknown(call: ast.AST, frame: Frame) -> Found:
    return (ModuleDtype(Dtype.UNKNOWN, Location(frame.function, call), sure=False),)


def _of_either(groups: list[Found]) -> Iterator[ModuleDtype]:
    """What holds of a name that is bound in several places: sure where each of them is sure of the same dtype."""
    dtypes = {each.dtype for group in groups for each in group}
    agree = len(groups) == 1 or (len(dtypes) == 1 and all(any(each.sure for each in group) for group in groups))
    return (replace(each, sure=each.sure and agree) for group in groups for each in group)


def _root(call: ast.Call) -> str:
    """What a chain of a module's own methods begins with: `model` of `model.cuda().half()`."""
    base: ast.expr = call
    while isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute):
        base = base.func.value
    return ast.unparse(base)


def _unstarred(expr: ast.expr) -> ast.expr:
    return expr.value if isinstance(expr, ast.Starred) else expr
