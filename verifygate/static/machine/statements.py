"""Statements: what each does to the state, and where it goes on."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from verifygate.static.machine.core import EndedError, OverBudgetError, Running
from verifygate.static.machine.imports import Imports
from verifygate.static.machine.lattice import atoms
from verifygate.static.machine.loops import Loops
from verifygate.static.machine.managers import Managers
from verifygate.static.machine.store import State
from verifygate.static.machine.values import (
    NONE,
    Address,
    ClassValue,
    Code,
    LibraryName,
    OneOf,
    Place,
    Unknown,
    Value,
)
from verifygate.static.syntax.deferred import DEFERRED

_COMPOUND = ast.If | ast.For | ast.AsyncFor | ast.While | ast.With | ast.AsyncWith | ast.Try | ast.Match
_FAR_PAST = 2
"""An entry that takes so many times its budget is given up."""


class Statements(Imports, Managers, Loops):
    """How statements run."""

    observer: Callable[[Place], None] | None = None
    """Told of each line: after its statement has run, before a block begins."""

    def run_block(self, body: list[ast.stmt]) -> bool:
        """Run statements one after another; tells whether the last one goes on.

        What happens next is at the line of the statement around: a manager is left, a loop tests again.
        """
        frame, line = self.frame, self.frame.line
        goes_on = True
        for each in body:
            goes_on = self.run_statement(each)
            if not goes_on:
                break
        frame.line = line
        return goes_on

    def run_statement(self, node: ast.stmt) -> bool:
        """Run one statement; tells whether it goes on to the next."""
        self.steps += 1
        if self.steps > self.limits.steps * _FAR_PAST:
            raise OverBudgetError
        self.frame.line = node.lineno
        run = _KINDS.get(node.__class__) or _KINDS.get(kind_of(node))
        if self.observer is not None:
            return self._observed(self.observer, run, node)
        try:
            return run is None or run(self, node)
        except EndedError:
            return False

    def _observed(
        self, observer: Callable[[Place], None], run: Callable[[Any, Any], bool] | None, node: ast.stmt
    ) -> bool:
        """Run a statement, and tell the observer."""
        if isinstance(node, _COMPOUND):
            observer(self.place)
        try:
            goes_on = run is None or run(self, node)
        except EndedError:
            return False
        if not isinstance(node, _COMPOUND):
            self.frame.line = node.lineno
            observer(self.place)
        return goes_on

    # -- simple ones ---------------------------------------------------------------------------------------------

    def _expression(self, node: ast.Expr) -> bool:
        self.eval(node.value)
        return True

    def _assign(self, node: ast.Assign) -> bool:
        value = self.eval(node.value)
        for target in node.targets:
            self.assign(target, value)
        return True

    def _annotated(self, node: ast.AnnAssign) -> bool:
        if node.value is not None:
            self.assign(node.target, self.eval(node.value))
        return True

    def _augmented(self, node: ast.AugAssign) -> bool:
        name = node.op.__class__.__name__
        left, right = self.eval(node.target), self.eval(node.value)
        self.assign(node.target, self.operate(name, left, right, self.site(node), in_place=True))
        return True

    def _return(self, node: ast.Return) -> bool:
        value = self.eval(node.value) if node.value is not None else NONE
        self.frame.returns.append((self.state, value))
        return False

    def _raise(self, node: ast.Raise) -> bool:
        if node.exc is not None:
            self.eval(node.exc)
        self.may_raise()
        return False

    def _break(self, _: ast.Break) -> bool:
        self.frame.breaks.append(self.state)
        return False

    def _continue(self, _: ast.Continue) -> bool:
        self.frame.continues.append(self.state)
        return False

    def _delete(self, node: ast.Delete) -> bool:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.state.store.remove(self.frame.declared.get(target.id, self.frame.address), target.id)
        return True

    def _assert(self, node: ast.Assert) -> bool:
        holds, _ = self.branch(node.test)
        if holds is not None:
            self.state = holds
        return holds is not None

    def _global(self, node: ast.Global) -> bool:
        for name in node.names:
            self.frame.declared[name] = self.module_frame
        return True

    def _nonlocal(self, node: ast.Nonlocal) -> bool:
        for name in node.names:
            here = self.frame.outer
            while here is not None and self.field(here, name) is None:
                here = self.outer.get(here)
            if here is not None:
                self.frame.declared[name] = here
        return True

    @property
    def module_frame(self) -> Address:
        """Where the global variables of the code at hand lie."""
        return Address(("module", self.frame.module.path), None)

    # -- definitions ---------------------------------------------------------------------------------------------

    def code(self, node: Any, name: str) -> Code:
        found = self.codes.get(node)
        if found is None:
            found = self.codes[node] = Code(node, self.frame.module, name)
        return found

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        value: Value = self.function_value(node, node.name)
        self.set_variable(node.name, self._decorated(node, value))
        return True

    def _decorated(self, node: Any, value: Value) -> Value:
        for each in reversed(node.decorator_list):
            decorator = self.eval(each)
            result = self.call(decorator, (value,), {}, self.site(each))
            if isinstance(result, Unknown) and not isinstance(decorator, Unknown | OneOf):
                self.unknown(f"what a decorator of `{node.name}` makes")
            value = value if isinstance(result, Unknown) else result
        return value

    def _class(self, node: ast.ClassDef) -> bool:
        bases = tuple(self.eval(each) for each in node.bases if not isinstance(each, ast.Starred))
        address = Address(("class", self.site(node)), self.context)
        try:
            made = self.frame.module.made(node)
        except KeyError:
            made = None
        home = self.frame.outer if self.frame.symbol.startswith("class ") else self.frame.address
        self.classes += 1
        cls = ClassValue(made, node.name, address, bases, self._order(node, bases))
        caller = self.frame
        self.outer[address] = home
        self.state.store.replace(address, {})
        self.frame = Running(
            address,
            caller.module,
            f"class {node.name}",
            None,
            home,
            cls,
            caller,
            node.lineno,
            caller.depth + 1,
            self.outside,
            len(self.rounds),
        )
        try:
            self.run_block(node.body)
        finally:
            self.frame = caller
        self.set_variable(node.name, self._decorated(node, cls))
        return True

    def _order(self, node: ast.ClassDef, bases: tuple[Value, ...]) -> tuple[Any, ...]:
        """The classes above, as C3 orders them; where bases cannot be ordered, one branch after the other."""
        lines: list[list[Any]] = []
        for base in bases:
            for atom in atoms(base):
                if isinstance(atom, ClassValue):
                    lines.append(list(atom.mro))
                elif isinstance(atom, LibraryName):
                    lines.append([atom] if atom.name != "builtins.object" else [])
                else:
                    lines.append([self.unknown(f"a base of `{node.name}` is not known")])
        if any(word.arg == "metaclass" for word in node.keywords):
            name = next(self.eval(word.value) for word in node.keywords if word.arg == "metaclass")
            if not (isinstance(name, LibraryName) and name.name.startswith("abc.")):
                lines.append([self.unknown(f"the metaclass of `{node.name}`")])
        return _merged(lines)

    # -- branches ------------------------------------------------------------------------------------------------

    def _if(self, node: ast.If) -> bool:
        left: list[State] = []
        for state, arm in zip(self.branch(node.test), (node.body, node.orelse), strict=True):
            if state is not None:
                self.state = state
                if self.run_block(arm):
                    left.append(self.state)
        return self.go_on(left)

    def _match(self, node: ast.Match) -> bool:
        self.eval(node.subject)
        start, left = self.state, []
        for case in node.cases:
            self.state = start.fork()
            for each in ast.walk(case.pattern):
                name = getattr(each, "name", None) or getattr(each, "rest", None)
                if isinstance(each, ast.MatchAs | ast.MatchStar | ast.MatchMapping) and name:
                    self.set_variable(name, self.unknown("what a pattern binds"))
            if self.run_block(case.body):
                left.append(self.state)
        return self.go_on([start, *left])


def _merged(lines: list[list[Any]]) -> tuple[Any, ...]:
    """C3: the first head that stands behind no other, again and again."""
    result: list[Any] = []
    heads = [line[0] for line in lines if line]
    lines = [*[list(line) for line in lines if line], heads]
    while lines := [line for line in lines if line]:
        head = next((line[0] for line in lines if not any(line[0] in other[1:] for other in lines)), lines[0][0])
        result.append(head)
        lines = [[each for each in line if each is not head and each != head] for line in lines]
    return tuple(result)


_KINDS: dict[type[ast.AST], Callable[[Any, Any], bool]] = {
    ast.Expr: Statements._expression,
    ast.Assign: Statements._assign,
    ast.AnnAssign: Statements._annotated,
    ast.AugAssign: Statements._augmented,
    ast.Return: Statements._return,
    ast.Raise: Statements._raise,
    ast.Break: Statements._break,
    ast.Continue: Statements._continue,
    ast.Delete: Statements._delete,
    ast.Assert: Statements._assert,
    ast.Global: Statements._global,
    ast.Nonlocal: Statements._nonlocal,
    ast.FunctionDef: Statements._define,
    ast.AsyncFunctionDef: Statements._define,
    ast.ClassDef: Statements._class,
    ast.If: Statements._if,
    ast.For: Statements._for,
    ast.AsyncFor: Statements._for,
    ast.While: Statements._while,
    ast.Import: Statements._import,
    ast.ImportFrom: Statements._import_from,
    ast.Match: Statements._match,
    ast.Try: Statements._try,
    ast.TryStar: Statements._try,
    ast.With: Statements._with,
    ast.AsyncWith: Statements._with,
}


def kind_of(node: ast.stmt) -> type[ast.AST]:
    """The kind of a statement, parsed if it has not been yet."""
    if node.__class__ in DEFERRED:
        node.body  # type: ignore[attr-defined] # noqa: B018 - asking parses it
    return node.__class__
