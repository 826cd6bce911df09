"""Parameter sets: whose parameters an optimizer, a clip or a zero_grad is about.

`model.parameters()` are those of `model`, and `model.head.parameters()` are some of them. Gradients belong to
parameters, so what happens to the gradients of one set happens to all sets that share parameters with it. Two access
paths of which neither leads through the other are assumed to name different modules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from enum import StrEnum

from verifygate.base.records import record, replace
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.symbols.scopes import Binding
from verifygate.static.syntax.names import last_name
from verifygate.static.values.access_paths import AccessPath, AccessPaths, variable
from verifygate.static.values.domain import Bound, ExternalResult, Frame, Items, Object, Value
from verifygate.static.values.evaluator import Evaluator

_WHOLE = frozenset({"parameters", "named_parameters"})
_KEEPS_ALL = frozenset(
    {"list", "tuple", "iter", "set", "chain", "from_iterable", "dict", "values", "sorted", "reversed"}
)
_KEEPS_SOME = frozenset({"filter", "next", "islice"})
_LISTING = ast.List | ast.Tuple | ast.ListComp | ast.GeneratorExp | ast.BinOp | ast.Name | ast.Attribute
_MAX_FOLLOWED = 8


class Overlap(StrEnum):
    """How the parameters of another set lie to those of one."""

    NONE = "none"
    WITHIN = "all of the other set are in this one"
    SOME = "they share some, or may"
    CHOSEN = "each is chosen among the same parameters: they may share none"
    UNKNOWN = "unknown"


@record
class ParameterSet:
    """The modules and parameters that a set is made of."""

    roots: frozenset[AccessPath] = frozenset()
    chosen: frozenset[AccessPath] = frozenset()
    """Those of the roots whose parameters may not all be in it: `[p for p in model.parameters() if p.ndim == 2]`."""
    held: frozenset[AccessPath] = frozenset()
    """What the modules were made of: `Both(encoder, decoder)` may hold the parameters of its arguments."""

    @property
    def is_whole(self) -> bool:
        """Whether all parameters of the roots are in it."""
        return not self.chosen

    @property
    def _whole(self) -> frozenset[AccessPath]:
        return self.roots - self.chosen

    def overlap(self, other: ParameterSet | None) -> Overlap:
        """How much of another set is in this one."""
        if other is None or not other.roots or not self.roots:
            return Overlap.UNKNOWN
        if all(any(_leads_to(mine, each) for mine in self._whole) for each in other.roots):
            return Overlap.WITHIN
        if _meet(self.roots, other.roots | other.held) or _meet(self.held, other.roots):
            return Overlap.SOME
        # what both were made of may be a module, or the arguments of the command line
        return Overlap.UNKNOWN if _meet(self.held, other.held) else Overlap.NONE

    def may_miss(self, other: ParameterSet) -> bool:
        """Whether they may share nothing because one chooses among the parameters of the other's roots, or both do."""
        sure = any(_leads_to(mine, each) for mine in self._whole for each in other.roots)
        sure = sure or any(_leads_to(each, mine) for each in other._whole for mine in self.roots)
        return not sure and not (self.is_whole and other.is_whole)

    def __or__(self, other: ParameterSet) -> ParameterSet:
        chosen = (self.chosen | other.chosen) - self._whole - other._whole
        return ParameterSet(self.roots | other.roots, chosen, self.held | other.held)


def _meet(some: Iterable[AccessPath], others: Iterable[AccessPath]) -> bool:
    return any(_leads_to(one, each) or _leads_to(each, one) for one in some for each in others)


def _leads_to(whole: AccessPath, part: AccessPath) -> bool:
    return part.is_below(whole)


class ParameterSets:
    """Resolves expressions to parameter sets; None where the source does not tell."""

    def __init__(self, evaluator: Evaluator, paths: AccessPaths) -> None:
        self._evaluator = evaluator
        self._paths = paths

    def of_optimizer(self, optimizer: ast.expr, frame: Frame) -> ParameterSet | None:
        """What an optimizer updates, by the call that makes it; of several calls, if they all update the same."""
        found: set[ParameterSet | None] = set()
        for value in self._evaluator.values(_at_use(optimizer, frame), frame):
            if isinstance(value, ExternalResult) and value.calls:
                call, home = value.calls[-1]
                given = next((word.value for word in call.keywords if word.arg == "params"), None)
                given = call.args[0] if call.args else given
                found.add(self.of(given, home) if given is not None else None)
            else:
                found.add(None)
        return found.pop() if len(found) == 1 else None

    def of(self, params: ast.expr, frame: Frame, followed: int = 0) -> ParameterSet | None:
        """The set that an expression lists: `model.parameters()`, `[*a.parameters(), b]`, a name for either."""
        if followed > _MAX_FOLLOWED:
            return None
        deeper = followed + 1
        match params:
            case ast.Call(func=ast.Attribute(value=module, attr=name)) if name in _WHOLE:
                return self.of_module(module, frame)
            case ast.Call(func=func, args=[first, *_]) if last_name(func) in _KEEPS_SOME:
                found = self.of(params.args[-1] if last_name(func) == "filter" else first, frame, deeper)
                return replace(found, chosen=found.roots) if found is not None else None
            case ast.Call(func=func, args=args) if last_name(func) in _KEEPS_ALL and not params.keywords:
                held = [func.value] if not args and isinstance(func, ast.Attribute) else args
                return self._union(held, frame, deeper)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._union([left, right], frame, deeper)
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                return self._union(elements, frame, deeper)
            case ast.Starred(value=value):
                return self.of(value, frame, deeper)
            case ast.Dict():
                groups = dict(zip((getattr(key, "value", None) for key in params.keys), params.values, strict=True))
                return self.of(groups["params"], frame, deeper) if "params" in groups else None
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                return self._of_comprehension(params, frame, deeper)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self._of_name(params, frame, deeper)
        return None

    def _union(self, parts: list[ast.expr], frame: Frame, followed: int) -> ParameterSet | None:
        found = [self.of(part, frame, followed) for part in parts]
        whole = ParameterSet()
        for each in found:
            if each is None:
                return None
            whole |= each
        return whole if whole.roots else None

    def _of_comprehension(
        self, expr: ast.ListComp | ast.GeneratorExp | ast.SetComp, frame: Frame, followed: int
    ) -> ParameterSet | None:
        source = self.of(expr.generators[0].iter, frame, followed)
        if source is None or len(expr.generators) != 1:
            return None
        return replace(source, chosen=source.roots) if expr.generators[0].ifs else source

    def _of_name(self, expr: ast.expr, frame: Frame, followed: int) -> ParameterSet | None:
        """By the definition of a name; a name that nothing in sight defines may be a module, or a parameter itself."""
        bound = self._definition(expr, frame)
        if bound is not None:
            return self.of(bound.expr, bound.frame, followed)
        values = self._evaluator.values(expr, frame)
        if len(values) == 1 and isinstance(values[0], Items):
            return self._union(list(values[0].elements), values[0].frame, followed)
        if isinstance(expr, ast.Name) and (found := self._evaluator.lookup(expr.id, frame)):
            bindings, home = found
            kinds = {each.kind for each in bindings}
            if kinds <= {"iteration", "item", "entry"} and (source := bindings[0].expr) is not None:
                return self._of_iterated(source, home, followed)
        match values:
            case (ExternalResult(calls=[(call, home)]),) if last_name(call.func) in _WHOLE | _KEEPS_ALL | _KEEPS_SOME:
                return self.of(call, home, followed)
        return self.of_module(expr, frame)

    def _of_iterated(self, source: ast.expr, frame: Frame, followed: int) -> ParameterSet | None:
        """The set that the variable of a loop goes through: each of `for old, p in zip(saved, model.parameters())`."""
        match source:
            case ast.Call(func=ast.Name(id="zip"), args=args) if args:
                found = [each for each in (self.of(arg, frame, followed) for arg in args) if each is not None]
                listed = [each for each, arg in zip(found, args, strict=False) if _lists_parameters(arg)]
                return listed[0] if len(listed) == 1 else None
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
                return self.of(inner, frame, followed)
        return self.of(source, frame, followed)

    def _definition(self, expr: ast.expr, frame: Frame) -> Bound | None:
        """What a name or an attribute was assigned, where that lists parameters."""
        if isinstance(expr, ast.Name) and (found := self._evaluator.lookup(expr.id, frame)):
            bindings, home = found
            if len(bindings) > 1 and home is frame:
                bindings = reaching(expr.id, expr, home.function) or bindings
            if len(bindings) == 1:
                binding = bindings[0]
                if binding.kind == "parameter" and (given := home.arguments.get(expr.id)):
                    return given
                if binding.kind == "value" and binding.expr is not None and not _is_module(binding.expr):
                    return Bound(binding.expr, home)
        return None

    def of_module(self, module: ast.expr, frame: Frame) -> ParameterSet | None:
        """The set of a module, or of a single parameter: itself, and what it was made of."""
        origin = self._origin(module, frame)
        if origin is None:
            return None
        made = [_allocation(value) for value in self._evaluator.values(module, frame)]
        given = [
            (each, home)
            for call, home in filter(None, made)
            for each in (*call.args, *(w.value for w in call.keywords))
        ]
        held = {self._paths.of(each, home) for each, home in given if isinstance(each, ast.Name | ast.Attribute)}
        return ParameterSet(frozenset({origin}), held=frozenset(held - {origin}))

    def _origin(self, module: ast.expr, frame: Frame) -> AccessPath | None:
        """The path of a module, through the wrappers it was given to: `model` of `model = DDP(model.cuda())`.

        None where several may reach it. Each wrapping is looked through once, also where a loop leads back to it.
        """
        while isinstance(module, ast.Attribute) and module.attr == "module":
            module = module.value
        found = self._evaluator.lookup(module.id, frame) if isinstance(module, ast.Name) else None
        if found is None or len(found[0]) < 2:
            return self._paths.of(module, frame)
        name, (bindings, home) = module.id, found  # type: ignore[attr-defined]
        own = variable(home.function, name)
        waiting = [*((reaching(name, module, home.function) if home is frame else None) or bindings)]
        origins = set()
        wrapped = set()
        while waiting:
            each = waiting.pop()
            inner = _wrapped(each, name)
            if inner is None:
                origins.add(self._defined(each, home, own))
            elif inner not in wrapped:
                wrapped.add(inner)
                waiting += reaching(name, inner, home.function) or bindings
        return origins.pop() if len(origins) == 1 else None

    def _defined(self, binding: Binding, home: Frame, own: AccessPath) -> AccessPath:
        """What one binding of several gives a name: the argument for a parameter, else an object of its own."""
        given = home.arguments.get(binding.node.arg) if binding.kind == "parameter" else None  # type: ignore[attr-defined]
        return self._paths.of(given.expr, given.frame) if given is not None else own


def _at_use(expr: ast.expr, frame: Frame) -> ast.expr:
    """What a variable that is bound several times is an alias of where it stands: `current = head_optimizer`."""
    while isinstance(expr, ast.Name) and len(frame.function.scope.names.get(expr.id, ())) > 1:
        here = reaching(expr.id, expr, frame.function)
        if here is None or len(here) != 1 or here[0].kind != "value" or not isinstance(here[0].expr, ast.Name):
            break
        expr = here[0].expr
    return expr


def _allocation(value: Value) -> tuple[ast.Call, Frame] | None:
    """The call that made a value."""
    match value:
        case Object(call=Bound(expr=ast.Call() as call, frame=home)):
            return call, home
        case ExternalResult(calls=[(call, home), *_]):
            return call, home
    return None


def _wrapped(binding: Binding, name: str) -> ast.expr | None:
    """What was the value of a name, in an expression that gives the name a new one: `model = DDP(model)`."""
    if binding.expr is None or binding.kind not in ("value", "item"):
        return None
    names = (each for each in ast.walk(binding.expr) if isinstance(each, ast.Name) and each.id == name)
    return next(names, None)


def _lists_parameters(expr: ast.expr) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr in _WHOLE for each in ast.walk(expr))


def _is_module(expr: ast.expr) -> bool:
    """Whether an expression makes or wraps a module rather than listing parameters: `Net().cuda()`."""
    if isinstance(expr, ast.Call):
        return last_name(expr.func) not in _WHOLE | _KEEPS_ALL | _KEEPS_SOME
    return not isinstance(expr, _LISTING)
