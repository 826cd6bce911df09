"""Loops that train on the host: each model that they run is built there, and nothing moves it before the loop ends."""

from __future__ import annotations

import ast
from functools import cached_property

from verifygate.static.facts.hot_loops import HotLoop, HotLoops
from verifygate.static.symbols.program import Class, Function
from verifygate.static.symbols.reaching_definitions import reaching
from verifygate.static.symbols.scopes import Binding
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import ExternalResult, Object

_MOVES = frozenset({"to", "cuda", "to_empty", "autocast", "DataParallel", "DistributedDataParallel"})
_WORDS = frozenset({"device", "cuda"})
_DEFAULTS = (b"set_default_device", b"set_default_tensor_type")
_LEAVES_IT_THERE = frozenset(
    {"parameters", "named_parameters", "train", "eval", "zero_grad", "state_dict", "load_state_dict"}
)
_ON_THE_HOST = ("torch.nn.", "torchvision.models.")


class HostLoops:
    """Answers for the hot loops of one set of modules."""

    def __init__(self, hot: HotLoops) -> None:
        self._hot = hot
        self._evaluator = hot.evaluator
        self._enclosing = hot.roles.enclosing

    def has(self, loop: HotLoop) -> bool:
        """Whether a loop surely computes on the host, as far as the source tells of its models."""
        calls = [node for node in walk(loop.node) if isinstance(node, ast.Call)]
        if any(last_name(call.func) in _MOVES for call in calls):
            return False
        models = [call.func for call in calls if self._hot.is_model(call.func, loop.function)]
        return (
            bool(models)
            and all(isinstance(model, ast.Name) and self._stays(model, loop) for model in models)
            and not self._may_default_elsewhere
        )

    @cached_property
    def _may_default_elsewhere(self) -> bool:
        """Whether a source sets the device that modules are built on."""
        return any(word in file.data for file in self._evaluator.program.sources for word in _DEFAULTS)

    def _stays(self, model: ast.Name, loop: HotLoop) -> bool:
        """Whether all that may be bound to a name there is built on the host, and left there until the loop ends."""
        function = loop.function
        bindings = reaching(model.id, model, function)
        if not bindings or not all(self._is_built_there(each, function) for each in bindings):
            return False
        outermost = [loop.node, *self._enclosing.loops(loop.node, function)][-1]
        uses = (node for node in function.own_nodes if isinstance(node, ast.Name) and node.id == model.id)
        return not _is_used_below(model.id, function) and all(
            self._leaves_it_there(use, function)
            for use in uses
            if use.lineno <= (outermost.end_lineno or use.lineno)
            and any(each in bindings for each in reaching(use.id, use, function) or ())
        )

    def _leaves_it_there(self, use: ast.Name, function: Function) -> bool:
        match self._enclosing.parent(use, function):
            case ast.Call(func=func):
                return func is use or last_name(func) == "print"
            case ast.Attribute(attr=name):
                return name in _LEAVES_IT_THERE
        return isinstance(use.ctx, ast.Store)

    def _is_built_there(self, binding: Binding, function: Function) -> bool:
        """Whether a module is constructed, of no other module and with no word of a device."""
        call = binding.expr
        if binding.kind != "value" or not isinstance(call, ast.Call) or _speaks_of_a_device(call):
            return False
        frame = self._evaluator.root_frame(function)
        names = (node for node in walk(call) if isinstance(node, ast.Name | ast.Attribute) and node is not call.func)
        if any(isinstance(value, Object) for name in names for value in self._evaluator.values(name, frame)):
            return False
        values = self._evaluator.values(call, frame)
        return bool(values) and all(self._is_on_the_host(value, call) for value in values)

    def _is_on_the_host(self, value: object, call: ast.Call) -> bool:
        match value:
            case ExternalResult(name=name, calls=[(made, _)]):
                return made is call and name.startswith(_ON_THE_HOST)
            case Object(made=made, call=bound) if bound is not None and bound.expr is call:
                bases = self._evaluator.outside_bases(made)
                is_module = bool(bases) and all(base.startswith("torch.nn.") for base in bases)
                return is_module and not any(map(_moves_itself, self._evaluator.linearised(made)))
        return False


def _is_used_below(name: str, function: Function) -> bool:
    """Whether a function inside, or of the module whose body this is, uses the variable: it may move what it holds."""
    return any(
        isinstance(node, ast.Name) and node.id == name and (name not in other.scope.names or name in other.scope.outer)
        for other in function.module.all_functions
        if other is not function
        for node in other.own_nodes
    )


def _moves_itself(made: Class) -> bool:
    return _speaks_of_a_device(made.node)


def _speaks_of_a_device(node: ast.AST) -> bool:
    """Whether something is moved there, or given a device."""
    for each in walk(node):
        match each:
            case ast.Call(func=func) if last_name(func) in _MOVES:
                return True
            case ast.keyword(arg=str(word)) | ast.Attribute(attr=word) if word in _WORDS:
                return True
    return False
