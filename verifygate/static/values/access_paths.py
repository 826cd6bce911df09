"""Access-path resolution: which object an expression names, through aliases, parameters and `self`.

`opt = self.optimizer` in one method and `trainer.optimizer` outside have one access path, so they name one object.
"""

from __future__ import annotations

import ast
import typing
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeGuard

from verifygate.static.symbols.program import Function
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.symbols.scopes import Binding
from verifygate.static.syntax.names import last_name
from verifygate.static.values.domain import Bound, ExternalResult, Frame, Items, Literal, Object, given_field
from verifygate.static.values.evaluation import Evaluation

_PURE = ast.Name | ast.Attribute | ast.Subscript
_MAX_ALIASES = 12
_MAX_CONTEXT = 3
"""Call sites that tell allocations at one site apart."""


class Root(NamedTuple):
    """The object that an access path begins at."""

    kind: typing.Literal["local", "receiver", "outside", "expression", "result", "flag"]
    """A variable; `self` of a method that no call in sight enters; a builtin or a constant; an expression that names
    nothing, known by its location; what a call returns, known by the call site; a flag that no source has."""
    name: str
    home: str = ""
    """The function whose variable a `local` is, as `Function.key`."""

    def __str__(self) -> str:
        if self.kind == "receiver":
            return f"<{self.name}>"
        return f"{self.home}:{self.name}" if self.home else self.name


class Step(NamedTuple):
    """One step from an object to another."""

    kind: typing.Literal["attribute", "element", "any element", "call"]
    name: str = ""
    """The attribute; the constant key, as Python writes it; the arguments of the call."""

    def __str__(self) -> str:
        match self.kind:
            case "attribute":
                return f".{self.name}"
            case "element":
                return f"[{self.name}]"
            case "any element":
                return "[*]"
        return f"({self.name})"


ANY_ELEMENT = Step("any element")
_PATHS: dict[tuple[Root, tuple[Step, ...]], AccessPath] = {}


class AccessPath:
    """A root and the steps from it: equal paths name one object, for as long as nothing is assigned to them.

    `any element` is a summary: it stands for each element of a collection whose key is not a constant. Paths are
    hash-consed (one object for each path), so that the states of an exploration compare and hash them by identity.
    """

    __slots__ = ("root", "steps")
    root: Root
    steps: tuple[Step, ...]

    def __new__(cls, root: Root, steps: tuple[Step, ...] = ()) -> AccessPath:
        known = _PATHS.get((root, steps))
        if known is None:
            known = _PATHS[root, steps] = super().__new__(cls)
            known.root, known.steps = root, steps
        return known

    def __repr__(self) -> str:
        return f"AccessPath({self})"

    def __str__(self) -> str:
        return f"{self.root}{''.join(map(str, self.steps))}"

    def attribute(self, name: str) -> AccessPath:
        return AccessPath(self.root, (*self.steps, Step("attribute", name)))

    def element(self, key: object) -> AccessPath:
        return AccessPath(self.root, (*self.steps, Step("element", repr(key))))

    def any_element(self) -> AccessPath:
        return AccessPath(self.root, (*self.steps, ANY_ELEMENT))

    def called(self, arguments: Sequence[AccessPath]) -> AccessPath:
        return AccessPath(self.root, (*self.steps, Step("call", ", ".join(map(str, arguments)))))

    @property
    def is_summary(self) -> bool:
        """Whether it may name several objects: some step is to any element."""
        return ANY_ELEMENT in self.steps

    @property
    def ends_in_any_element(self) -> bool:
        return self.steps[-1:] == (ANY_ELEMENT,)

    @property
    def collection(self) -> AccessPath:
        """What it is any element of; else the path itself."""
        return AccessPath(self.root, self.steps[:-1]) if self.ends_in_any_element else self

    @property
    def without_home(self) -> str:
        """The path as text, without the function whose local variable it begins at: `opts[*]`."""
        return str(AccessPath(self.root._replace(home=""), self.steps))

    @property
    def last_name(self) -> str:
        """The last attribute, or the name of the root: `optimizer` of `self.optimizer`, `optims[*]` of `optims[i]`."""
        at = max((n for n, step in enumerate(self.steps) if step.kind == "attribute"), default=-1)
        name = self.steps[at].name if at >= 0 else self.root.name.rpartition(":")[2]
        return name + "".join("(...)" if step.kind == "call" else str(step) for step in self.steps[at + 1 :])

    def without_last_attribute(self, name: str) -> AccessPath:
        """The holder of an attribute of this name; any other path as it is: `model` of `model.module`."""
        return AccessPath(self.root, self.steps[:-1]) if self.steps[-1:] == (Step("attribute", name),) else self

    def is_below(self, other: AccessPath) -> bool:
        """Whether assigning to `other` changes what this path names: it is `other`, or a part of it.

        What a call returns is no part of the function: `make(x)` stays what it is when `make` is bound anew.
        """
        count = len(other.steps)
        if self.root != other.root or self.steps[:count] != other.steps:
            return False
        return len(self.steps) == count or self.steps[count].kind != "call"

    def is_held_by(self, other: AccessPath) -> bool:
        """Whether it leads through an attribute of `other`: `trainer.scaler` of `trainer`."""
        count = len(other.steps)
        return self != other and self.is_below(other) and self.steps[count].kind == "attribute"

    def may_be(self, other: AccessPath) -> bool:
        """Whether it may name the attribute that another path names: one object may be reached through two owners.

        `callback.state.step` and `runner.state.step`, where nothing tells what `callback.state` is. Two objects that
        are known, by where they are made or as `self`, are two.
        """
        same_name = self is not other and self.steps[-1:] == other.steps[-1:]
        return same_name and (self.is_of_unknown_owner or other.is_of_unknown_owner)

    @property
    def is_of_unknown_owner(self) -> bool:
        """Whether it is an attribute of what a variable or an attribute holds, and not of `self` or a call's result."""
        is_attribute = bool(self.steps) and self.steps[-1].kind == "attribute"
        return is_attribute and (len(self.steps) > 1 or self.root.kind not in ("result", "receiver"))

    def holders(self) -> Iterator[AccessPath]:
        """The path, and the path of each object that it leads through: `out` of `out['loss']`."""
        yield self
        for count in range(len(self.steps)):
            if self.steps[count].kind != "call":
                yield AccessPath(self.root, self.steps[:count])


def variable(function: Function, name: str) -> AccessPath:
    """The path of a variable of a function, or of a module's body."""
    return AccessPath(Root("local", name, function.key))


class AccessPaths:
    """Resolves expressions to access paths.

    `flow_sensitive`: a variable that is bound several times names what the definition names that reaches the use.
    """

    def __init__(self, evaluator: Evaluation, *, flow_sensitive: bool = False) -> None:
        self._evaluator = evaluator
        self._flow_sensitive = flow_sensitive

    def of(self, expr: ast.expr, frame: Frame, aliases: int = 0) -> AccessPath:
        """The access path of an expression: equal for two expressions that name one object."""
        if aliases > _MAX_ALIASES:
            return AccessPath(Root("expression", ast.unparse(expr), frame.function.module.path))
        match expr:
            case ast.Name():
                return self._of_name(expr, frame, aliases)
            case ast.Attribute():
                return self._of_attribute(expr, frame, aliases)
            case ast.Subscript():
                return self._of_subscript(expr, frame, aliases)
            case ast.Call() if expr in frame.fixed:
                return self.of(frame.fixed[expr].expr, frame.fixed[expr].frame, aliases + 1)
            case ast.Call() if self._is_allocation(expr, frame) or self._makes_a_tool(expr, frame):
                return _allocated(expr, frame)
            case ast.Call():
                arguments = [self.of(argument, frame, aliases + 1) for argument in expr.args]
                return self.of(expr.func, frame, aliases).called(arguments)
            case ast.Constant():
                return AccessPath(Root("outside", repr(expr.value)))
        location = f"{getattr(expr, 'lineno', 0)}:{getattr(expr, 'col_offset', 0)}"
        return AccessPath(Root("expression", location, frame.function.module.path))

    def _of_name(self, expr: ast.Name, frame: Frame, aliases: int) -> AccessPath:
        found = self._evaluator.lookup(expr.id, frame)
        if found is None:
            return AccessPath(Root("outside", expr.id))
        bindings, home = found
        function = home.function
        own = variable(function, expr.id)
        if len(bindings) != 1:
            bindings = self._alias_at(expr, function, bindings) or bindings
        if len(bindings) != 1 and not iterate_over_the_same(bindings):
            return own
        return self._bound(bindings[0], home, own, aliases)

    def _alias_at(self, expr: ast.Name, function: Function, bindings: list[Binding]) -> list[Binding] | None:
        """The one definition that reaches a use of a variable that is bound several times, if it is an alias.

        Of a variable as such only a parameter is (`optimizer = Wrapper(optimizer)`): a condition on it is not about
        what it was bound to.
        """
        is_alias = _is_alias if self._flow_sensitive else _is_parameter
        if isinstance(getattr(expr, "ctx", None), ast.Store) or not any(map(is_alias, bindings)):
            return None
        last = reaching(expr.id, expr, function)
        return last if last is not None and len(last) == 1 and is_alias(last[0]) else None

    def _of_subscript(self, expr: ast.Subscript, frame: Frame, aliases: int) -> AccessPath:
        holder = self.of(expr.value, frame, aliases)
        if isinstance(expr.slice, ast.Constant):
            return self._element(expr.value, holder, expr.slice.value, frame, aliases)
        if self._flow_sensitive:
            match self._evaluator.values(expr.slice, frame):
                case (
                    Literal(value=str() | int() as key),
                ):  # `key` of a wrapper's `step(key)` that was passed "generator"
                    return holder.element(key)
        return holder.any_element()

    def _bound(self, binding: Binding, home: Frame, own: AccessPath, aliases: int) -> AccessPath:
        """The path of what one binding gives a name, whose own path is `own`."""
        if binding.kind == "parameter":
            return self._of_parameter(binding, home, own, aliases)
        if binding.expr is None:
            imported = binding.kind in ("module", "member")
            return variable(home.function.module.body, binding.target) if imported else own
        if binding.kind == "value" and _names_an_object(binding.expr):
            return self.of(binding.expr, home, aliases + 1)
        if binding.kind == "value" and isinstance(binding.expr, ast.Call) and self._is_allocation(binding.expr, home):
            return _allocated(binding.expr, home)
        if binding.kind == "value" and isinstance(binding.expr, ast.Call) and _outlives_its_call(home):
            return _allocated(binding.expr, home) if self._makes_a_tool(binding.expr, home) else own
        if binding.kind == "item":
            return self._of_item(binding, binding.expr, home, own, aliases)
        if binding.kind in ("iteration", "entry") and isinstance(binding.expr, _PURE):
            return self.of(binding.expr, home, aliases + 1).any_element()
        return own

    def _is_allocation(self, call: ast.Call, frame: Frame) -> bool:
        """Whether a call makes an object that is told apart by its allocation site: of a class of the project."""
        match self._evaluator.values(call, frame):
            case (Object(call=Bound(expr=made)),):
                return made is call
        return False

    def _makes_a_tool(self, call: ast.Call, frame: Frame) -> bool:
        """Whether a call makes an optimizer or a scaler: each call another one."""
        match self._evaluator.values(call, frame):
            case (ExternalResult(name=name, calls=[(made, _), *_]),):
                return made is call and name.startswith("torch.") and name.rpartition(".")[2][:1].isupper()
        return False

    def _of_item(self, binding: Binding, unpacked: ast.expr, home: Frame, own: AccessPath, aliases: int) -> AccessPath:
        """The path of one name of several that a tuple is unpacked to."""
        given = {
            self.of(value.elements[binding.position], value.frame, aliases + 1)
            for value in self._evaluator.values(unpacked, home)
            if isinstance(value, Items) and binding.position < len(value.elements)
        } - {_NONE}
        if given:
            return given.pop() if len(given) == 1 else own  # one of several: which, depends
        if isinstance(unpacked, _PURE):
            holder = self.of(unpacked, home, aliases + 1)
            return self._element(unpacked, holder, binding.position, home, aliases)
        return own

    def _element(self, expr: ast.expr, holder: AccessPath, key: object, frame: Frame, aliases: int) -> AccessPath:
        """The path of an element of what `expr` names: of a named tuple, its field."""
        match self._evaluator.values(expr, frame):
            case (Object(made=made) as value,) if (
                made.is_named_tuple and isinstance(key, int) and key < len(made.fields)
            ):
                given = given_field(value, made.fields[key])
                if given is not None and isinstance(given.expr, _PURE):
                    return self.of(given.expr, given.frame, aliases + 1)
                return holder.attribute(made.fields[key])
        return holder.element(key)

    def _of_parameter(self, binding: Binding, home: Frame, own: AccessPath, aliases: int) -> AccessPath:
        name = binding.node.arg  # type: ignore[attr-defined]
        function = home.function
        if function.owner is not None and function.parameters[0].arg == name and not function.is_static:
            if home.receiver is not None:
                return self.of(home.receiver.expr, home.receiver.frame, aliases + 1)
            return AccessPath(Root("receiver", (home.receiver_class or function.owner).symbol))
        if bound := home.arguments.get(name):
            if isinstance(bound.expr, _PURE | ast.Constant | ast.Call):
                return self.of(bound.expr, bound.frame, aliases + 1)
            return own
        default = function.default(name)
        if home.caller is not None and isinstance(default, ast.Constant):
            return AccessPath(Root("outside", repr(default.value)))
        return own

    def _of_attribute(self, expr: ast.Attribute, frame: Frame, aliases: int) -> AccessPath:
        base = self.of(expr.value, frame, aliases)
        for value in self._evaluator.values(expr.value, frame):
            given = given_field(value, expr.attr)
            if given is not None and isinstance(given.expr, _PURE):
                return self.of(given.expr, given.frame, aliases + 1)
            if isinstance(value, Object) and (alias := self._assigned_once(value, expr, frame)) is not None:
                return self.of(*alias, aliases + 1)
        return base.attribute(expr.attr)

    def _assigned_once(self, value: Object, expr: ast.Attribute, frame: Frame) -> tuple[ast.expr, Frame] | None:
        """What an attribute of an object is an alias of: `self.optimizer = optimizer`, assigned nowhere else."""
        bindings = list(self._evaluator.hierarchy.bindings(value, expr, frame))
        if len(bindings) != 1:
            return None
        binding, owner, _, of = bindings[0]
        if owner is None or binding.kind != "value" or not _names_an_object(binding.expr):
            return None
        if isinstance(binding.expr, ast.Attribute) and binding.expr.attr == expr.attr:
            return None  # `self.optimizer = other.optimizer`: there, the same holds
        return binding.expr, self._evaluator.defining_frame(owner, of, value.call)


def _names_an_object(expr: ast.expr | None) -> TypeGuard[ast.Name | ast.Attribute | ast.Subscript]:
    """Whether an expression names one object however often it is evaluated: not what a call in it gives."""
    inner = expr
    while isinstance(inner, ast.Attribute | ast.Subscript):
        inner = inner.value
    return isinstance(expr, _PURE) and not isinstance(inner, ast.Call)


def _is_parameter(binding: Binding) -> bool:
    return binding.kind == "parameter"


def _is_alias(binding: Binding) -> bool:
    """Whether a binding gives a name what another expression names already; a parameter is its argument."""
    return binding.kind == "parameter" or (binding.kind == "value" and isinstance(binding.expr, _PURE))


def _outlives_its_call(frame: Frame) -> bool:
    """Whether a function that a call at hand entered may hand out functions that share its variables."""
    function = frame.function
    return frame.call is not None and any(each.enclosing is function for each in function.module.functions.values())


def _allocated(call: ast.Call, frame: Frame) -> AccessPath:
    """The path of an object by its allocation site, in its calling context: the calls that lead to its function."""
    sites = [f"{frame.function.key}:{call.lineno}:{call.col_offset}{frame.iteration}"]
    caller: Frame | None = frame
    while caller is not None and caller.call is not None and len(sites) < _MAX_CONTEXT:
        sites.append(f"{caller.call.lineno}:{caller.call.col_offset}")
        caller = caller.caller
    return AccessPath(Root("result", f"{last_name(call.func)}(...)", " < ".join(sites)))


_NONE = AccessPath(Root("outside", "None"))


def iterate_over_the_same(bindings: list[Binding]) -> bool:
    """Whether a name is only ever the variable of loops over one collection."""
    if any(each.kind not in ("iteration", "entry") for each in bindings):
        return False  # asked first: most names are no loop's, and writing expressions out as text is slow
    if len({last_name(each.expr) if each.expr is not None else "" for each in bindings}) > 1:
        return False
    return len({ast.unparse(each.expr) if each.expr is not None else "" for each in bindings}) == 1
