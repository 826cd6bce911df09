"""Calls: of functions of the project in the context at hand, of its classes, and of what a library models."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable

from verifygate.static.machine.attributes import Attributes
from verifygate.static.machine.core import ITEMS, REST, Running
from verifygate.static.machine.lattice import atoms, joined
from verifygate.static.machine.memo import Given, Memo
from verifygate.static.machine.store import State
from verifygate.static.machine.values import (
    ABSENT,
    NONE,
    SCALED,
    Address,
    Bound,
    ClassValue,
    Code,
    Container,
    Descriptor,
    FunctionValue,
    Generator,
    Items,
    LibraryMethod,
    LibraryName,
    Object,
    OneOf,
    Option,
    Partial,
    Tuple,
    Unknown,
    Value,
    Wrapped,
)
from verifygate.static.uses.roles import Use, use_of

_SAME = frozenset({"bfloat16", "cpu", "cuda", "double", "eval", "float", "half", "to", "train"})
"""Methods of models and tensors that give the same again, cast or moved: of an input, no more is known of it then."""
_MOST_REACHED = 400
"""Objects that are looked through for what an unknown call may change."""
_MOST_IN_A_MODEL = 2
"""How often a function of a model may be open: the engine of a framework runs in a handler of another engine."""


class Calls(Memo, Attributes):
    """How calls run."""

    def call(self, function: Value, args: tuple[Value, ...], keywords: dict[str, Value], site: Hashable) -> Value:
        """Call a value. Raises EndedError where the call does not return."""
        self.steps += 1
        match function:
            case FunctionValue():
                return self._call_function(function, args, keywords, site)
            case Bound():
                return self.call(function.function, (function.receiver, *args), keywords, site)
            case LibraryMethod():
                return self._call_library_method(function, args, keywords, site)
            case LibraryName():
                return self._call_library(function.name, args, keywords, site)
            case ClassValue():
                return self._instantiate(function, args, keywords, site)
            case OneOf():
                return self.each_way(function, lambda atom: self.call(atom, args, keywords, site))
            case Object():
                return self._call_object(function, args, keywords, site)
            case Partial():
                return self.call(
                    function.function, (*function.positional, *args), {**dict(function.keywords), **keywords}, site
                )
            case Wrapped():
                return self.inside(function.manager, lambda: self.call(function.function, args, keywords, site), site)
            case Descriptor(kind="contextmanager", function=FunctionValue() as inner):
                return self._generator(inner, args, keywords, site, is_manager=True)
            case Descriptor():
                return self.call(function.function, args, keywords, site)
        return self.unfollowed(function, args, keywords)

    def unfollowed(self, function: Value, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """The result of a call of something that is not known."""
        reason = f"a call of a {type(function).__name__.lower()}"
        role = ""
        if isinstance(function, Option):
            reason = f"what `{function.identity}()` does is not known"
            role = self.note_call(function, args, keywords)
            owner, _, method = function.identity.rpartition(".")
            if owner and method in _SAME:
                return function.part(owner)
        elif isinstance(function, Unknown):
            reason = function.reason
        self.reach((*args, *keywords.values()), reason)
        return Unknown(reason, function.place if isinstance(function, Unknown) else self.place, role=role)

    def note_call(self, function: Option, args: tuple[Value, ...], keywords: dict[str, Value]) -> str:
        """Note what a call of an input, or of a method of one, says of it; returns the role of the result."""
        self.used(function, Use.RUNS)
        identity, _, method = function.identity.rpartition(".")
        optimizer = keywords.get("optimizer", args[0] if args else None)
        use = use_of(method, len(args), len(args) + len(keywords), steps_another=optimizer is not None)
        if not identity or not use:
            return ""
        holder = Option(identity)
        self.used(holder, use)
        if use is Use.UNSCALES and args:
            self.used(args[0], Use.IS_UNSCALED)
        for atom in atoms(optimizer) if use is Use.STEPS_ANOTHER and optimizer is not None else ():
            if isinstance(atom, Option):
                self.trace.stepped[identity, atom.identity] = None
        return f"{SCALED}{identity}" if use is Use.SCALES else ""

    def inside(self, manager: Value, run: Callable[[], Value], site: Hashable) -> Value:
        """Run something inside a context manager."""
        raise NotImplementedError

    # -- functions of the project --------------------------------------------------------------------------------

    def _call_function(
        self, function: FunctionValue, args: tuple[Value, ...], keywords: dict[str, Value], site: Hashable
    ) -> Value:
        code = function.code
        if code.is_generator:
            return self._generator(function, args, keywords, site)
        reason = self.not_entered(code)
        if reason:
            found = self.unknown(reason)
            self.reach((*args, *keywords.values()), reason)
            return found
        variables = self.bind(function, args, keywords)
        key = (code, self.place) if code.module.is_model else code  # what a model does is at its caller's line
        given = Given(key, function, variables, self.context.child(site))
        return self.remembered(given, lambda: self.run_function(function, variables, site))

    def not_entered(self, code: Code) -> str:
        """Why a function is not followed here, which is noted; empty where it is."""
        if self.is_over_budget:
            self.cut = 0
            return f"the entry took more than {self.limits.steps} steps: `{code.name}` is not followed"
        here: Running | None = self.frame
        again = _MOST_IN_A_MODEL if code.module.is_model else 1
        while here is not None:
            again -= here.code is code
            if not again:
                self.cut = min(self.cut, here.depth)
                return f"`{code.name}` calls itself"
            here = here.caller
        if self.frame.depth < self.limits.depth:
            return ""
        self.cut = 0
        return f"calls nested deeper than {self.limits.depth}"

    def run_function(
        self,
        function: FunctionValue,
        variables: dict[str, Value],
        site: Hashable,
        consumer: Callable[[Value], Value] | None = None,
    ) -> Value:
        """Run a function with its parameters set, and join what it returns. Raises EndedError if it never does."""
        caller = self.frame
        context = self.context
        self.ran.add(function.code)
        self.context = context.child(site)
        address = Address(function.code, self.context)
        self.outer[address] = function.frame
        outside = self.outside
        self.frame = Running(
            address,
            function.code.module,
            f"{function.owner.name}.{function.code.name}" if function.owner else function.code.name,
            function.code,
            function.frame,
            function.owner,
            caller,
            consumer=consumer,
            depth=caller.depth + 1,
            outside=outside,
            first_round=len(self.rounds),
        )
        self.enter(function.code, address, variables)
        try:
            ends = self._ends(function.code.node)
        finally:
            self.frame, self.context = caller, context
        result = self.join_ends(ends)
        if not function.code.has_inner:
            self.state.store.leave(address)
        return result

    def _ends(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[tuple[State, Value]]:
        if isinstance(node, ast.Lambda):
            self.frame.line = node.lineno
            value = self.eval(node.body)
            return [(self.state, value)]
        goes_on = self.run_block(node.body)
        ends = self.frame.returns
        return [*ends, (self.state, NONE)] if goes_on else ends

    def bind(self, function: FunctionValue, args: tuple[Value, ...], keywords: dict[str, Value]) -> dict[str, Value]:
        """The parameters of a function as a call sets them."""
        given = function.code.node.args
        names = [each.arg for each in (*given.posonlyargs, *given.args)]
        rest = keywords.get(REST)
        found: dict[str, Value] = dict(function.defaults)
        if rest is not None:  # any parameter may be among what is not known
            for name in (*names[len(args) :], *(each.arg for each in given.kwonlyargs)):
                found[name] = joined([found[name], rest]) if name in found else rest
        found.update(zip(names, args, strict=False))
        extra = {}
        allowed = {*names, *(each.arg for each in given.kwonlyargs)}
        for name, value in keywords.items():
            if name in allowed:
                found[name] = value
            elif name != REST:
                extra[name] = value
                if given.kwarg is None and function.code.module.is_model:
                    self.unknown(f"`{function.code.name}` of the model has no parameter `{name}`")
        for name in (*names, *(each.arg for each in given.kwonlyargs)):
            if name not in found:
                found[name] = self._unbound(name, args, function)
        if given.vararg is not None:
            left = args[len(names) :]
            found[given.vararg.arg] = Tuple(Items(tuple(range(len(left))), left))
        if given.kwarg is not None:
            items = Items(tuple(extra), tuple(extra.values()), rest)
            found[given.kwarg.arg] = self.new_container("dict", (function.code, "**"), items)
        return found

    def _unbound(self, name: str, args: tuple[Value, ...], function: FunctionValue) -> Value:
        spread = [each for each in args if isinstance(each, Unknown)]
        return spread[-1] if spread else Unknown(f"no argument for `{name}` of `{function.code.name}`", self.place)

    def _generator(
        self,
        function: FunctionValue,
        args: tuple[Value, ...],
        keywords: dict[str, Value],
        site: Hashable,
        *,
        is_manager: bool = False,
    ) -> Value:
        bound = self.bind(function, args, keywords)
        return Generator(function, tuple(bound.items()), self.context.child(site), is_manager)

    # -- classes -------------------------------------------------------------------------------------------------

    def _instantiate(
        self, cls: ClassValue, args: tuple[Value, ...], keywords: dict[str, Value], site: Hashable
    ) -> Value:
        if any(name.startswith("enum.") or name == "builtins.type" for name in cls.library_bases):
            return joined(args) if args else self.unknown(f"a member of `{cls.name}`")
        made = self.new_object(cls, (site, cls.name), {})
        if not cls.is_known:
            reason = next(each for each in cls.order if isinstance(each, Unknown)).reason
            self.state.store.write(made.address, "#rest", Unknown(reason, self.place))
        start = self._initializer(made, site)
        if start is not None:
            self.call(start, args, keywords, site)
        elif cls.cls is not None and cls.cls.fields:
            self._set_fields(cls, made, args, keywords)
        return made

    def _initializer(self, made: Object, site: Hashable) -> Value | None:
        found = self.inherited(made.cls, "__init__", made, site)
        return found if isinstance(found, Bound | LibraryMethod) else None

    def _set_fields(self, cls: ClassValue, made: Object, args: tuple[Value, ...], keywords: dict[str, Value]) -> None:
        """What the constructor of a dataclass does."""
        names = [
            name for each in reversed(cls.mro) if isinstance(each, ClassValue) and each.cls for name in each.cls.fields
        ]
        given = {**dict(zip(names, args, strict=False)), **keywords}
        for name in dict.fromkeys(names):
            value = given.get(name)
            if value is None:
                value = self._default_of_field(cls, name)
            self.state.store.write(made.address, name, value)
        start = self.inherited(cls, "__post_init__", made, name_site := (cls.name, "__post_init__"))
        if isinstance(start, Bound):
            self.call(start, (), {}, name_site)

    def _default_of_field(self, cls: ClassValue, name: str) -> Value:
        for each in cls.mro:
            found = self.field(each.address, name) if isinstance(each, ClassValue) else None
            if isinstance(found, Partial):  # field(default_factory=...)
                return self.call(found.function, (), {}, (cls.name, name))
            if found is not None:
                return found
        return self.unknown(f"no argument for the field `{name}` of `{cls.name}`")

    # -- libraries -----------------------------------------------------------------------------------------------

    def _call_object(self, of: Object, args: tuple[Value, ...], keywords: dict[str, Value], site: Hashable) -> Value:
        found = self.inherited(of.cls, "__call__", of, site)
        if found is not None and not isinstance(found, Unknown):
            return self.call(found, args, keywords, site)
        return self.unfollowed(self.unknown(f"a call of an object of `{of.cls.name}`"), args, keywords)

    def _call_library_method(
        self, method: LibraryMethod, args: tuple[Value, ...], keywords: dict[str, Value], site: Hashable
    ) -> Value:
        handler = self.library_handler("method", method.owner, method.name)
        if handler is None:
            reason = f"no model of `{method.owner}.{method.name}`"
            self.reach((method.receiver, *args, *keywords.values()), reason, of_library=True)
            return self.unknown(reason)
        return self.handled(handler, method.name, site, args, keywords, method.receiver)

    def _call_library(self, name: str, args: tuple[Value, ...], keywords: dict[str, Value], site: Hashable) -> Value:
        handler = self.library_function(name)
        if handler is not None:
            return self.handled(handler, name, site, args, keywords)
        owner, _, method = name.rpartition(".")
        if args and (handler := self.library_handler("method", owner, method)) is not None:
            return self.handled(handler, method, site, args[1:], keywords, args[0])
        self.reach((*args, *keywords.values()), f"no model of `{name}`", of_library=True)
        return self.unknown(f"no model of `{name}`")

    # -- what is not followed ------------------------------------------------------------------------------------

    def reach(self, values: tuple[Value, ...], reason: str, *, of_library: bool = False) -> None:
        """Let all that these values lead to be changed by a call that is not followed.

        A library changes no fields of the project's objects: only what it was handed itself, and there what it models.
        """
        if of_library:
            for given in (atom for value in values for atom in atoms(value) if isinstance(atom, Object)):
                self.state.store.write(given.address, "#touched", Unknown(reason, self.place))
            return
        change = Unknown(reason, self.place)
        ahead = [atom for value in values for atom in atoms(value)]
        seen: set[Address] = set()
        while ahead and len(seen) < _MOST_REACHED:
            atom = ahead.pop()
            if isinstance(atom, Tuple):
                ahead += [each for value in atom.items.all for each in atoms(value)]
            if not isinstance(atom, Object | Container) or atom.address in seen:
                continue
            seen.add(atom.address)
            for name, value in list(self.state.store.fields(atom.address).items()):
                ahead += [each for part in _parts(value) for each in atoms(part)]
                self._may_change(atom.address, name, value, change)
        if ahead:
            self.unknown(f"more than {_MOST_REACHED} objects may be changed by a call that is not followed")

    def _may_change(self, address: Address, name: str, value: Value, change: Unknown) -> None:
        changed: Value = value
        if name == ITEMS:
            for atom in atoms(value):
                if isinstance(atom, Items):
                    values = tuple(joined([each, change]) for each in atom.values)
                    rest = change if atom.rest is None else joined([atom.rest, change])
                    changed = Items(atom.keys, values, rest)
        elif value is not ABSENT and not isinstance(value, Unknown):
            changed = joined([value, change])
        if changed is not value and changed != value:
            self.state.store.write(address, name, changed)


def _parts(value: Value) -> tuple[Value, ...]:
    """A value and, where it is the contents of a container, what is in it."""
    return tuple(part for atom in atoms(value) for part in (atom.all if isinstance(atom, Items) else (atom,)))
