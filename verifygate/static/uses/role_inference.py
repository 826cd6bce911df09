"""Find the role of a variable by how the whole program uses it, through calls, fields and elements.

What is done to the value of a variable further on is done to the variable: in a function that it is passed to, by a
field that it is kept in. What was done to it before counts where it can have no other value: a name that is bound once,
a parameter of which the call at hand is known, or all of whose calls pass what has the role.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifygate.base.records import field, record
from verifygate.static.symbols.program import Class, Function, Module
from verifygate.static.uses.observed import Observed, Table, observed
from verifygate.static.uses.roles import Role, Use, roles_of
from verifygate.static.uses.variables import Variable, variable
from verifygate.static.values.domain import Bound, Frame
from verifygate.static.values.evaluator import Evaluator

_NOTHING = Observed()


@record(eq=False, frozen=False)
class _Found:
    """What the program does with a variable and with all that has its value."""

    uses: Use = Use.NONE
    stepped_by: list[tuple[ast.expr, Function]] = field(default_factory=list)


class RolesByUse:
    """The roles that uses prove, worked out when they are asked for."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._tables: dict[Module, Table] = {}
        self._families: dict[Class, list[Class]] = {}
        self._found: dict[Variable, _Found] = {}
        self._asking: set[tuple[Variable, Role]] = set()

    def has(self, role: Role, expr: ast.expr, frame: Frame) -> bool:
        """Whether uses prove that an expression is an object of a role."""
        asked = variable(expr, frame.function)
        if asked is None or not asked.path or (asked, role) in self._asking:
            return False
        self._asking.add((asked, role))
        try:
            return self._proves(role, asked) or self._is_given(role, asked, frame)
        finally:
            self._asking.discard((asked, role))

    def _proves(self, role: Role, asked: Variable) -> bool:
        found = self._uses(asked)
        if role in roles_of(found.uses):
            return True
        return role is Role.OPTIMIZER and any(
            self.has(Role.SCALER, holder, self._evaluator.root_frame(function)) for holder, function in found.stepped_by
        )

    def _is_given(self, role: Role, asked: Variable, frame: Frame) -> bool:
        """Whether a parameter is given what has the role: by the call at hand, or by every call of the function."""
        if not isinstance(asked.home, Function) or len(asked.path) != 1 or asked.home is not frame.function:
            return False
        name = asked.path[0]
        if frame.caller is not None:
            bound = frame.arguments.get(name)
            return bound is not None and self.has(role, bound.expr, bound.frame)
        given = [entered.arguments.get(name) for entered in self._evaluator.entries(frame.function)]
        return bool(given) and all(each is not None and self._is(role, each) for each in given)

    def _is(self, role: Role, given: Bound) -> bool:
        return self.has(role, given.expr, given.frame)

    # -- what is seen --------------------------------------------------------------------------------------------

    def _uses(self, asked: Variable) -> _Found:
        """What is done to a variable, and to all that its value goes to."""
        if asked in self._found:
            return self._found[asked]
        gaps, found = self._evaluator.demand.gaps, _Found()
        ahead, seen = [asked], {asked}
        while ahead:
            here = ahead.pop()
            for each in self._observed(here):
                found.uses |= each.uses
                found.stepped_by += each.stepped_by
                following = [
                    *each.gives,
                    *each.takes,
                    *(to for passed in each.passed for to in self._parameters(*passed)),
                ]
                for step in following:
                    if step not in seen:
                        seen.add(step)
                        ahead.append(step)
        if self._evaluator.demand.gaps == gaps:  # else asked from elsewhere there may be more
            self._found[asked] = found
        return found

    def _observed(self, of: Variable) -> Iterator[Observed]:
        if isinstance(of.home, Function):
            yield self._table(of.home.module).get(of, _NOTHING)
            return
        for made in self._family(of.home):
            yield self._table(made.module).get(Variable(made, of.path), _NOTHING)

    def _table(self, module: Module) -> Table:
        if module not in self._tables:
            self._tables[module] = observed(module.all_functions)
        return self._tables[module]

    def _family(self, made: Class) -> list[Class]:
        """The class, those that it derives from, and those that derive from it: they share their objects' fields."""
        if made not in self._families:
            classes = [*self._evaluator.linearised(made), *self._evaluator.below(made)]
            self._families[made] = list(dict.fromkeys(classes))
        return self._families[made]

    def _parameters(self, call: ast.Call, given: ast.expr, function: Function) -> Iterator[Variable]:
        """The parameters that an argument of a call is bound to."""
        frame = self._evaluator.root_frame(function)
        for callee in self._evaluator.callees(call, frame):
            entered = self._evaluator.enter(callee, call, frame)
            for name, bound in entered.arguments.items() if entered is not None else ():
                if bound.expr is given:
                    yield Variable(callee.function, (name,))
