"""States of scalers in checkpoints: which code keeps one or restores one, surely or perhaps.

Words select what is looked at, objects decide: `scaler.state_dict()` of a StandardScaler keeps no loss scale.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Set

from verifygate import torch_names
from verifygate.base.records import record
from verifygate.naming import names_a_scaler, speaks_of_a_scaler
from verifygate.sources.tree import Sources
from verifygate.static.amp.roles import Roles
from verifygate.static.facts.states_by_name import states_by_name
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class, Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ExternalResult, Object, Unknown

_NAMED = rb"(?:scaler|(?:amp|grad|loss)_?scalar)"
"""How scalers are called, also by those who write it like a number; what is looked for is in small letters."""
_STATE = r"(?i)(?:scaler|(?:amp|grad|loss)_?scalar)_?state|load_scaler"
_WRAPPED = rb"def state_dict\([^)]*\)[^:\n]*:\s*return self\.\w*" + _NAMED + rb"\w*\.state_dict\(\)"
"""What a class around a scaler hands on: kept only where somebody asks for it."""
_OTHERS = r"(?i)model|net|optim|sched|ema|module|loss|crit|actor|student|teacher|generator|discriminator|coder"
"""Names of what is surely no such class, where its state is asked for."""

_WORDS = rb"caler|calar|getattr\("

SAVING = "state_dict"
LOADING = "load_state_dict"


@record
class Evidence:
    """Code that saves a scaler's state or loads it, surely or perhaps."""

    place: Location
    sure: bool


class ScalerStates:
    def __init__(
        self,
        sources: Sources,
        roles: Roles,
        functions: list[Function],
        registrations: Callable[[Function], Iterator[ast.Call]],
    ) -> None:
        self._sources = sources
        self._roles = roles
        self._functions = functions
        self._registrations = registrations
        self._known: dict[tuple[str, str], list[Evidence]] = {}
        self._told: dict[tuple[str, Set[str]], Evidence | None] = {}

    def evidence(self, method: str, files: Set[str]) -> Evidence | None:
        """What in some files keeps a scaler's state (`SAVING`), or restores it (`LOADING`): first what surely does."""
        if (method, files) not in self._told:
            found = [each for path in sorted(files) for each in self._in_file(method, path)]
            if method == SAVING:
                found += (each for path in sorted(files) for each in self._is_asked_for(path, files))
            self._told[method, files] = next((each for each in found if each.sure), next(iter(found), None))
        return self._told[method, files]

    def _in_file(self, method: str, path: str) -> list[Evidence]:
        key = (method, path)
        if key not in self._known:
            file = self._sources.get(path)
            module = self._roles.evaluator.program.module(path) if file and re.search(_WORDS, file.data) else None
            functions = module.all_functions if module is not None else ()
            self._known[key] = [each for function in functions for each in self._in_function(method, function)]
        return self._known[key]

    def _in_function(self, method: str, function: Function) -> Iterator[Evidence]:
        for found, node in (
            *self._asked(method, function),
            *(self._stored(function) if method == SAVING else self._read(function)),
            *self._by_attribute_name(method, function),
            *(self._registered(function) if method == SAVING else ()),
        ):
            if found is not False:
                yield Evidence(Location(function, node), found is True)

    def _asked(self, method: str, function: Function) -> Iterator[tuple[bool | None, ast.AST]]:
        """`scaler.state_dict()`; and names such as `scaler_state` for what is not in sight."""
        if _hands_on(function):
            return
        for node in function.of_kind(ast.Attribute):
            if node.attr == method:
                base = node.value
                while isinstance(base, ast.Call | ast.Subscript):
                    base = base.func if isinstance(base, ast.Call) else base.value
                if names_a_scaler(last_name(base)) or self._is_scaler(node.value, function):
                    yield self._holds_scaler(node.value, function), node
            elif re.search(_STATE, node.attr) and isinstance(node.ctx, ast.Load):
                yield None, node
        for name in function.own_nodes:
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load) and re.search(_STATE, name.id):
                yield None, name

    def _stored(self, function: Function) -> Iterator[tuple[bool | None, ast.AST]]:
        """What is put under a key that says scaler: `{"scaler": ...}`, `state["scaler"] = ...`."""
        for entries in function.of_kind(ast.Dict):
            for key, value in zip(entries.keys, entries.values, strict=True):
                if _says_scaler(key):
                    yield self._holds_scaler(value, function), value
        for put in function.of_kind(ast.Assign):
            if any(isinstance(each, ast.Subscript) and _says_scaler(each.slice) for each in put.targets):
                yield self._holds_scaler(put.value, function), put.value

    def _read(self, function: Function) -> Iterator[tuple[bool | None, ast.AST]]:
        """What is taken from under such a key: where it goes is not followed."""
        for node in function.of_kind(ast.Subscript):
            if isinstance(node.ctx, ast.Load) and _says_scaler(node.slice):
                yield None, node
        for call in function.calls:
            if last_name(call.func) in ("get", "pop") and call.args and _says_scaler(call.args[0]):
                yield None, call

    def _by_attribute_name(self, method: str, function: Function) -> Iterator[tuple[bool | None, ast.AST]]:
        """A loop over the names of attributes that saves, or loads, the state of each."""
        for states in states_by_name(function, method, self._roles):
            if states.names is None:
                yield None, states.call
            for name in sorted(states.names or ()):
                if "scal" in name.lower():
                    held = ast.copy_location(ast.Attribute(states.holder, name, ast.Load()), states.call)
                    yield self._holds_scaler(held, function), states.call

    def _registered(self, function: Function) -> Iterator[tuple[bool | None, ast.AST]]:
        """What a checkpointer is told to save."""
        for call in self._registrations(function):
            given = [*call.args, *(word.value for word in call.keywords)]
            if any(self._is_scaler(each, function) for each in given):
                yield True, call
            elif speaks_of_a_scaler(ast.unparse(call)) and any(self._is_unknown(each, function) for each in given):
                yield None, call

    def may_be_given(self, call: ast.Call, given: Iterable[ast.expr], function: Function) -> bool:
        """Whether a scaler is among what a call is given; where that is unknown, whether the call speaks of one."""
        held = [self._holds_scaler(each, function) for each in given]
        return True in held or (None in held and speaks_of_a_scaler(ast.unparse(call)))

    def _holds_scaler(self, expr: ast.expr, function: Function) -> bool | None:
        """Whether a scaler, or its state, is in the value of an expression; None where that cannot be told."""
        parts = [expr]
        for node in walk(expr):
            bound = function.scope.names.get(node.id, ()) if isinstance(node, ast.Name) else ()
            parts += [each.expr for each in bound if each.expr is not None]
        for part in parts:
            for node in walk(part):
                if isinstance(node, ast.Call) and last_name(node.func) == "get_scale":
                    return False  # a number to look at: it is not loaded again
                kinds = ast.Name | ast.Attribute | ast.Subscript | ast.Call
                if isinstance(node, kinds) and self._is_scaler(node, function):
                    return True
        return None if self._is_unknown(expr, function) else False

    def _is_scaler(self, expr: ast.expr, function: Function) -> bool:
        """Whether something is a scaler, or a library's or the project's own object around one."""
        evaluator = self._roles.evaluator
        frame = evaluator.root_frame(function)
        if self._roles.scaler(expr, frame) is not None:
            return True
        for value in evaluator.values(expr, frame):
            if isinstance(value, ExternalResult) and value.name in torch_names.STEPPING_SCALERS:
                return True
            if isinstance(value, Object) and self._is_around_a_scaler(value.made):
                return True
        return False

    def _is_around_a_scaler(self, made: Class) -> bool:
        """Whether the `state_dict` of a class of the project is that of a scaler that it holds."""
        method = next(
            (each.methods[SAVING] for each in self._roles.evaluator.linearised(made) if SAVING in each.methods), None
        )
        if method is None:
            return False
        frame = self._roles.evaluator.root_frame(method)
        return any(self._roles.scaler(node, frame) is not None for node in method.of_kind(ast.Attribute))

    def _is_unknown(self, expr: ast.expr, function: Function) -> bool:
        """Whether it is not known what an expression is, or whose state: also of a class of another library."""
        match expr:
            case ast.Call(func=ast.Attribute(value=holder, attr="state_dict")):
                expr = holder
            case ast.IfExp(body=body, orelse=orelse):
                return any(self._is_unknown(each, function) for each in (body, orelse))
        values = self._roles.evaluator.values(expr, self._roles.evaluator.root_frame(function))
        return any(
            isinstance(value, Unknown)
            or (isinstance(value, ExternalResult) and not value.name.startswith(("torch.", "sklearn.", "builtins.")))
            for value in values
        )

    def _is_asked_for(self, path: str, files: Set[str]) -> Iterator[Evidence]:
        """Calls that may ask a class of a file, under any name, for the scaler's state that it hands on."""
        file = self._sources.get(path)
        if file is None or b"caler" not in file.data or not re.search(_WRAPPED, file.data.lower()):
            return
        for function in self._functions:
            for call in function.calls if function.module.path in files else ():
                if (
                    isinstance(call.func, ast.Attribute)
                    and call.func.attr == "state_dict"
                    and function.name != "state_dict"
                    and not re.search(_OTHERS, last_name(call.func.value))
                    and not self._roles.is_optimizer(call.func.value, self._roles.evaluator.root_frame(function))
                ):
                    yield Evidence(Location(function, call), True)


def _hands_on(function: Function) -> bool:
    """Whether it is the `state_dict` of a class around a scaler."""
    return (
        function.name == "state_dict"
        and function.owner is not None
        and bool(function.returns)
        and all(isinstance(each, ast.Call) and last_name(each.func) == "state_dict" for each in function.returns)
    )


def _says_scaler(key: ast.expr | None) -> bool:
    return isinstance(key, ast.Constant) and isinstance(key.value, str) and names_a_scaler(key.value)
