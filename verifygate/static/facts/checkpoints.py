"""Checkpoints that a run can resume from: where an optimizer's state is put in one, and where it is taken out again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Set
from functools import cached_property

from verifygate.naming import names_an_optimizer, speaks_of_a_scaler
from verifygate.sources.tree import Sources
from verifygate.static.amp.roles import Roles
from verifygate.static.facts.scaler_states import LOADING, SAVING, Evidence, ScalerStates
from verifygate.static.facts.states_by_name import states_by_name
from verifygate.static.symbols.enclosing import EnclosingNodes
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function
from verifygate.static.syntax.names import last_name
from verifygate.static.syntax.traversal import walk
from verifygate.static.values.domain import Object

_COLLECTS = r"(?i)optim\w*_?state"
_SAVES = r"(?i)save|write_ckpt|dump_ckpt"
_SAVES_ALL = rf"{_SAVES}|checkpoint|ckpt"
_SAVES_WHAT_IT_IS_GIVEN = r"_?save(?:_|$)"
_CHECKPOINTER = r"Check_?[pP]ointer$|^Checkpoint(?:Manager)?$"
_REGISTRY = r"(?i)check_?point|ckpt"
_REGISTERS = r"^(?:add|register)"
_HANDS_OUT = r"(?i)checkpoint|ckpt|state|save"
_NAMES = ast.Name | ast.Attribute
_DEPTH = 3
"""So many calls deep an optimizer is followed to where it is stepped."""


class Checkpoints:
    """Looks through functions for the states of optimizers that are kept."""

    def __init__(self, sources: Sources, roles: Roles, nesting: EnclosingNodes, functions: list[Function]) -> None:
        self.sources = sources
        self.roles = roles
        self.nesting = nesting
        self.functions = [
            function
            for function in functions
            if function.module.mentions(b"state", b"Checkpoint", b"heckpoint", b"ckpt")
        ]
        self._with_optimizers = [function for function in functions if function.module.mentions(b"optim")]
        self._scaler_states = ScalerStates(sources, roles, functions, _registrations)

    @cached_property
    def saved(self) -> list[Location]:
        """Every place at which the state of an optimizer goes into a checkpoint."""
        return [
            Location(function, call)
            for function in self.functions
            for found in (self._saved_in, self._named_in, self._collected_in, self._registered_in)
            for call in found(function)
        ] + [Location(function, call) for function in self._with_optimizers for call in self._handed_in(function)]

    @cached_property
    def saved_alone(self) -> list[Location]:
        """Every place at which the state of an optimizer is saved by itself: what saves it is given no dict."""
        return [
            Location(function, given)
            for function in self.functions
            for call in function.calls
            if re.match(_SAVES_WHAT_IT_IS_GIVEN, last_name(call.func))
            for given in call.args
            if isinstance(given, ast.Call)
            if self._is_state(given, function) and not self._steps_without_scaler(given, function)
        ]

    @cached_property
    def restored(self) -> list[Location]:
        """Every place at which an optimizer's state is taken out of a checkpoint to be loaded."""
        return [
            Location(function, _taken_out(node, function))
            for function in self.functions
            for node in function.calls
            if isinstance(node.func, ast.Attribute)
            and node.func.attr == "load_state_dict"
            and self._is_optimizer(node.func.value, function)
        ] + [
            Location(function, states.call)
            for function in self.functions
            for states in states_by_name(function, "load_state_dict", self.roles)
            if states.has("optim")
        ]

    def scaler_saved(self, files: Set[str]) -> Evidence | None:
        """What in any of the files keeps the state of a scaler, or may."""
        return self._scaler_states.evidence(SAVING, files)

    def is_kept(self, state: ast.Call, function: Function) -> bool:
        """Whether the state that a call takes goes into a checkpoint."""
        return self._keeps(function) and self._goes_into_a_record(state, function)

    def scaler_restored(self, files: Set[str]) -> Evidence | None:
        """What in any of the files loads it, or may."""
        return self._scaler_states.evidence(LOADING, files)

    # -- what is kept ------------------------------------------------------------------------------------------

    def _saved_in(self, function: Function) -> Iterator[ast.Call]:
        states = [node for node in function.calls if self._is_state(node, function)]
        if states and self._keeps(function) and not self._is_part_of_an_optimizer(function):
            for call in states:
                if self._goes_into_a_record(call, function) and not self._steps_without_scaler(call, function):
                    yield call

    def _named_in(self, function: Function) -> Iterator[ast.Call]:
        """The call that takes the states of attributes by their names, an optimizer's among them."""
        for states in states_by_name(function, "state_dict", self.roles):
            if states.names is not None and states.has("optim") and self._keeps(function):
                yield states.call

    def _handed_in(self, function: Function) -> Iterator[ast.Call]:
        """The calls that hand an optimizer, and no scaler, to a function that saves the states of all it is given."""
        for call in function.calls:
            given = [word.value for word in call.keywords if word.arg is not None]
            if not given or not self._saves_all_states:
                continue
            if self._scaler_states.may_be_given(call, given, function):
                continue
            if not any(self._is_optimizer(each, function) for each in given):
                continue
            callees = self.roles.evaluator.callees(call, self.roles.evaluator.root_frame(function))
            if any(each.function in self._saves_all_states for each in callees):
                yield call

    @cached_property
    def _saves_all_states(self) -> set[Function]:
        """The functions that save the state of each thing that they are given by keyword."""
        return {
            each
            for each in self.functions
            if keeps_all_states(each) and (_saves(each) or each.name == "__init__" or re.search(_SAVES_ALL, each.name))
        }

    def _collected_in(self, function: Function) -> Iterator[ast.Call]:
        """The call that builds a checkpointer, which saves all it is given by name: an optimizer, and no scaler."""
        if not function.module.mentions(b"Checkpoint") or function.module.mentions(b"add_checkpointable"):
            return
        for call in function.calls:
            if not re.search(_CHECKPOINTER, last_name(call.func)) or self._only_holds(call, function):
                continue
            kept = _handed(call, function)
            if self._scaler_states.may_be_given(call, kept, function):
                continue
            if any(self._is_optimizer(each, function) or self._steps_by_a_scaler(each, function) for each in kept):
                yield call
                return  # of several, one is where the scaler's state belongs

    def _registered_in(self, function: Function) -> Iterator[ast.AST]:
        """The call that hands an optimizer to a checkpointer; of several, one is where the scaler belongs."""
        for call in _registrations(function):
            if any(
                self._is_optimizer(each, function) for each in (*call.args, *(word.value for word in call.keywords))
            ):
                yield call
                return
        for put in function.of_kind(ast.Assign):
            match put:
                case ast.Assign(targets=[ast.Subscript(value=registry, slice=ast.Constant())], value=given):
                    if re.search(_REGISTRY, last_name(registry)) and self._is_held_whole(given, function):
                        yield put
                        return

    def _is_held_whole(self, expr: ast.expr, function: Function) -> bool:
        """Whether a table gets an optimizer itself: whoever writes the table down asks each entry for its state."""
        return isinstance(expr, ast.Name | ast.Attribute) and self._is_optimizer(expr, function)

    def _only_holds(self, call: ast.Call, function: Function) -> bool:
        """Whether a call makes a record of the project's own: what is kept of it, other code writes down."""
        evaluator = self.roles.evaluator
        values = evaluator.values(call, evaluator.root_frame(function))
        return bool(values) and all(isinstance(value, Object) and value.made.fields for value in values)

    def _steps_by_a_scaler(self, expr: ast.expr, function: Function) -> bool:
        """Whether something is a trainer of the project's own that lets a scaler step: its state is saved for it.

        One that derives from a library's AMP trainer has the scaler's state from there.
        """
        evaluator = self.roles.evaluator
        return any(
            isinstance(value, Object)
            and not any("AMP" in base for base in evaluator.outside_bases(value.made))
            and any(
                last_name(call.func) == "step" and speaks_of_a_scaler(ast.unparse(call.func))
                for made in evaluator.linearised(value.made)
                for method in made.methods.values()
                for call in method.calls
            )
            for value in evaluator.values(expr, evaluator.root_frame(function))
        )

    def _is_state(self, call: ast.Call, function: Function) -> bool:
        """`optimizer.state_dict()`, or a call of what collects the states of all optimizers."""
        if isinstance(call.func, ast.Attribute) and call.func.attr == "state_dict":
            return self._is_optimizer(call.func.value, function)
        return bool(re.search(_COLLECTS, last_name(call.func))) and "load" not in last_name(call.func)

    def _is_optimizer(self, expr: ast.expr, function: Function) -> bool:
        frame = self.roles.evaluator.root_frame(function)
        return self.roles.is_optimizer(expr, frame) or self.roles.wraps_optimizers(expr, frame)

    def _keeps(self, function: Function) -> bool:
        """Whether the function saves something, or hands out what its name says is a checkpoint."""
        if _saves(function) or any(self._hands_over(call, function) for call in function.calls):
            return True
        return bool(function.returns) and bool(re.search(_HANDS_OUT, function.name))

    def _is_part_of_an_optimizer(self, function: Function) -> bool:
        """Whether it is the `state_dict` of an optimizer around others: whoever asks for it keeps a checkpoint.

        Not of one that has a scaler of its own, whose state belongs in there.
        """
        made = function.owner
        if made is None or function.name != "state_dict":
            return False
        bases = self.roles.evaluator.outside_bases(made)
        is_one = any(base.startswith("torch.optim.") for base in bases) or names_an_optimizer(made.node.name)
        inside = [node for each in self.roles.evaluator.linearised(made) for node in walk(each.node)]
        return is_one and not any(
            (isinstance(node, ast.Attribute) and speaks_of_a_scaler(node.attr))
            or (isinstance(node, ast.Call) and speaks_of_a_scaler(last_name(node.func)))
            for node in inside
        )

    def _hands_over(self, call: ast.Call, function: Function) -> bool:
        """Whether a dict built here is handed to a function of the project that saves something."""
        if not any(_dicts(argument, function) for argument in (*call.args, *(word.value for word in call.keywords))):
            return False
        evaluator = self.roles.evaluator
        return any(_saves(each.function) for each in evaluator.callees(call, evaluator.root_frame(function)))

    def _steps_without_scaler(self, state: ast.Call, function: Function) -> bool:
        """Whether the same function steps this optimizer itself, with no scaler: it is none of a scaler's."""
        if not isinstance(state.func, ast.Attribute):
            return False
        return self._ways_to_step(ast.unparse(state.func.value), function, _DEPTH) == {False}

    def _ways_to_step(self, optimizer: str, function: Function, depth: int) -> set[bool]:
        """How a function steps an optimizer, or what it hands it to: by something else, as a scaler, or by itself."""
        found: set[bool] = set()
        for node in function.calls:
            given = [*node.args, *(word.value for word in node.keywords)]
            is_given = any(ast.unparse(each) == optimizer for each in given)
            if isinstance(node.func, ast.Attribute) and node.func.attr == "step":
                if is_given:
                    found.add(True)
                elif ast.unparse(node.func.value) == optimizer:
                    found.add(False)
            elif is_given and speaks_of_a_scaler(last_name(node.func)):
                found.add(True)  # `loss_scaler(loss, optimizer)` of a library
            elif is_given and depth:
                found |= self._ways_to_step_of_callees(node, optimizer, function, depth - 1)
        return found

    def _ways_to_step_of_callees(self, call: ast.Call, optimizer: str, function: Function, depth: int) -> set[bool]:
        evaluator, found = self.roles.evaluator, set[bool]()
        frame = evaluator.root_frame(function)
        for callee in evaluator.callees(call, frame):
            entered = evaluator.enter(callee, call, frame)
            for name, bound in entered.arguments.items() if entered is not None else ():
                if ast.unparse(bound.expr) == optimizer:
                    found |= self._ways_to_step(name, callee.function, depth)
        return found

    def _goes_into_a_record(self, call: ast.Call, function: Function) -> bool:
        for each in self.nesting.around(call, function):
            match each.node:
                case ast.Dict() | ast.DictComp() | ast.keyword():
                    return True
                case ast.Tuple() | ast.List():
                    return _saves(function)
                case ast.Call(func=made) if last_name(made)[:1].isupper():  # a record of the project's own
                    return True
                case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=str()) | ast.JoinedStr())]):
                    return True
                case ast.Assign(targets=[ast.Name(id=name)]):
                    return _is_held(name, function)
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[only]) if only is call:
                    return _is_held(name, function)
                case ast.Call(func=ast.Attribute(value=ast.Subscript(slice=ast.Constant()), attr="append")):
                    return True
                case ast.stmt():
                    return False
        return False


def _taken_out(load: ast.Call, function: Function) -> ast.AST:
    """Where what is loaded is read from the checkpoint, if that is a statement of its own; else the loading itself."""
    given = load.args[0] if load.args else None
    bindings = function.scope.names.get(given.id, []) if isinstance(given, ast.Name) else []
    reads = len(bindings) == 1 and isinstance(bindings[0].expr, ast.Subscript)
    return bindings[0].node if reads else load


def keeps_all_states(function: Function) -> bool:
    """Whether a function goes over what it is given by keywords of any name, and takes the state of each.

    Of a constructor: whether some method of its class does so with what was given.
    """
    rest = None if isinstance(function.node, ast.Module) else function.node.args.kwarg
    if rest is None:
        return False
    if function.owner is None or function.name != "__init__":
        return _keeps_states_of(rest.arg, function)
    kept = [
        ast.unparse(node.targets[0])
        for node in function.of_kind(ast.Assign)
        if isinstance(node.value, ast.Name) and node.value.id == rest.arg
    ]
    return any(_keeps_states_of(name, method) for name in kept for method in function.owner.methods.values())


def _keeps_states_of(rest: str, function: Function) -> bool:
    loops: list[ast.For | ast.DictComp] = [*function.of_kind(ast.For), *function.of_kind(ast.DictComp)]
    return any(_takes_states_of(rest, loop) for loop in loops)


def _takes_states_of(rest: str, loop: ast.For | ast.DictComp) -> bool:
    given = [loop.iter] if isinstance(loop, ast.For) else [each.iter for each in loop.generators]
    goes_over = any(ast.unparse(node) == rest for each in given for node in walk(each) if isinstance(node, _NAMES))
    return goes_over and any(isinstance(node, ast.Attribute) and node.attr == "state_dict" for node in walk(loop))


def _registrations(function: Function) -> Iterator[ast.Call]:
    """The calls that tell a checkpointer what to save: `checkpointer.add_recoverable("model", model)`."""
    for call in function.calls:
        match call.func:
            case ast.Attribute(value=ast.Name() | ast.Attribute() as registry, attr=name):
                if re.search(_REGISTERS, name) and re.search(_REGISTRY, last_name(registry)):
                    yield call


def _saves(function: Function) -> bool:
    return any(re.search(_SAVES, last_name(call.func)) for call in function.calls)


def _handed(call: ast.Call, function: Function) -> list[ast.expr]:
    """What a call is given by keyword, and what is in the dicts that it is given."""
    named = [word.value for word in call.keywords if word.arg is not None]
    return named + [
        value for each in (*call.args, *named) for given in _dicts(each, function) for value in given.values
    ]


def _dicts(expr: ast.expr, function: Function) -> list[ast.Dict]:
    """The dicts, written out, that an expression is, or that a variable is given."""
    bound = function.scope.names.get(expr.id, ()) if isinstance(expr, ast.Name) else ()
    return [each for each in (expr, *(binding.expr for binding in bound)) if isinstance(each, ast.Dict)]


def _is_held(name: str, function: Function) -> bool:
    """Whether a dict of the function has the variable for a value: written out, or put in under a key."""
    for node in (*function.of_kind(ast.Dict), *function.of_kind(ast.Assign)):
        match node:
            case ast.Dict(values=values):
                if any(isinstance(value, ast.Name) and value.id == name for value in values):
                    return True
            case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=str()))], value=ast.Name(id=put)):
                if put == name:
                    return True
    return False
