"""Answers of calls, kept by what they read: a call that reads the same does the same, whoever makes it.

What counts as read: the function, its arguments, each field that was looked at or written (one that was not there,
too), what was asked of the decisions, the modules that were loaded. A record holds for every place that a function is
called from, and for every entry of a tree: addresses are matched in the order in which they were read, and what the
call made is renamed (`renaming.py`). The bodies of modules are kept in the same way.

Nothing is kept of a call that was cut by a limit, or by a recursion that began around it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from verifygate.base.records import record
from verifygate.static.machine.core import NOT_CUT, Core, EndedError, Running
from verifygate.static.machine.lattice import subject_of
from verifygate.static.machine.observations import renamed
from verifygate.static.machine.renaming import Renaming
from verifygate.static.machine.store import Cell, State, Touched, held
from verifygate.static.machine.trace import Trace
from verifygate.static.machine.values import NO_LINE, Address, Code, Context, Decisions, FunctionValue, Place, Value

_MOST_OUTCOMES = 12
"""Outcomes that are kept of one function, the latest."""


@record
class Given:
    """A call, as it is made."""

    key: Hashable
    """The function's code, or what tells the body of a module."""
    function: FunctionValue | None
    variables: Cell
    context: Context
    """The chain of calls inside of it."""


@record
class Left:
    """A state in which a call may be left: what it has decided, and what it has written."""

    decided: Decisions
    writes: dict[Address, Cell]


@record
class Kept:
    """What one call read, and what it did."""

    given: Given
    before: Decisions
    """All that was decided before the call."""
    decisions: Decisions
    """Those that were asked for."""
    touched: Touched
    calls_below: int
    """How many calls inside each other it made."""
    is_fixed: bool
    """It made classes, which have one address only."""
    result: Value | None
    """None where it does not come back."""
    end: Left
    raised: tuple[Left, ...] | None
    """What a handler outside starts from; None where it may raise, and was not called inside of one."""
    modules: tuple[str, ...]
    """Modules that it loaded, in order."""
    outside: str
    """The calls and rounds around it, where it made tests on data."""
    tests: tuple[str, ...]
    trace: Trace


class Memo(Core):
    """How calls are answered by earlier ones."""

    @property
    def outside(self) -> str:
        """The call at hand and all around it, in words: what tells a test inside of it from others."""
        if not self._has_frame or self.frame.line == NO_LINE:
            return ""
        here = self.frame
        return f", called at {here.module.path}:{here.line}{self._rounds_here()}{here.outside}"

    def _rounds_here(self) -> str:
        rounds = self.rounds[self.frame.first_round :]
        return "".join(f", round {each}" for each in reversed(rounds)) if rounds else ""

    def asked_for(self, path: str) -> None:
        """Note that a module is asked for."""
        if self.state.store.logs:
            self.state.store.logs[-1].modules.add(path)

    def enter(self, code: Code, address: Address, variables: Cell) -> None:
        """Let a function begin. Its variables are forgotten at its end, unless functions in it may keep them."""
        store = self.state.store
        if store.logs:
            log = store.logs[-1]
            log.entered.add(code)
            log.deepest = max(log.deepest, self.frame.depth)
            if code.has_inner:
                log.frames[address] = None
        if code.has_inner:
            store.replace(address, variables)
        else:
            store.enter(address, variables)

    def remembered(self, given: Given, run: Callable[[], Value]) -> Value:
        """The result of a call: what an earlier one did, where that has read the same, else what `run` does now."""
        if not self.keeps or self.is_over_budget:
            return run()
        kept = self.kept.setdefault(given.key, [])
        for each in reversed(kept):
            renaming = self._holds(each, given)
            if renaming is not None:
                return self._replayed(each, renaming)
        return self._run_and_keep(given, run, kept)

    def _run_and_keep(self, given: Given, run: Callable[[], Value], kept: list[Kept]) -> Value:
        cut, decisions, partial, uncaught = self.cut, self.state.decisions, self.partial, self.uncaught
        outside = self.outside if given.function is not None else ""
        tests = len(self.tests)
        modules, raised = len(self.modules_loaded), len(self.handlers[-1]) if self.handlers else 0
        classes, variables = self.classes, dict(given.variables)
        depth = self.frame.depth if self._has_frame else 0
        result: Value | None = None
        trace, around = Trace(), self.trace
        self.partial, self.trace, self.cut = 0, trace, NOT_CUT
        log = self.state.store.watch()
        try:
            result = run()
        except EndedError:
            pass
        finally:
            self.partial, self.trace = partial, around
            self._leave_again(trace, partial=bool(partial))
            self.state.store.logs.pop()
            self._pass_on(log)
        is_whole = self.cut > depth and not self.is_over_budget
        self.cut = min(self.cut, cut)
        if is_whole:
            made = Kept(
                Given(given.key, given.function, variables, given.context),
                decisions,
                frozenset(each for each in decisions if subject_of(each.test) in log.tests),
                log,
                log.deepest - depth,
                self.classes != classes,
                result,
                _left_in(self.state, decisions, log),
                None
                if self.uncaught != uncaught
                else tuple(_left_in(each, decisions, log) for each in (self.handlers or [[]])[-1][raised:]),
                tuple(self.modules_loaded)[modules:],
                outside if len(self.tests) != tests else "",
                tuple(self.tests[tests:]),
                trace,
            )
            log.start = ()
            kept.append(made)
            del kept[:-_MOST_OUTCOMES]
        if result is None:
            raise EndedError
        return result

    @property
    def _has_frame(self) -> bool:
        return "frame" in vars(self)

    def _pass_on(self, log: Touched) -> None:
        """What a call touches, its caller touches as well."""
        if not self.state.store.logs:
            return
        around = self.state.store.logs[-1]
        for address in log.whole:
            around.touch_all(address)
        for address, fields in log.fields.items():
            for name in fields:
                around.touch(address, name)
        around.tests |= log.tests
        around.modules |= log.modules
        around.entered |= log.entered
        around.frames |= log.frames
        around.deepest = max(around.deepest, log.deepest)

    # -- what an earlier call did --------------------------------------------------------------------------------

    def _holds(self, kept: Kept, given: Given) -> Renaming | None:
        """Whether a call would read what an earlier one did, and under which names; None where it would not."""
        touched = kept.touched
        if kept.raised is None and self.handlers:
            return None
        loaded = self.modules_loaded
        if any(each in loaded for each in kept.modules):
            return None
        renaming = Renaming(kept.given.context, given.context, self.outer, lambda place: _is_inside(place, kept))
        one, other = kept.given.function, given.function
        if one is not other and (one is None or other is None or not renaming.matches(one, other)):
            return None
        if not renaming.cells_match(kept.given.variables, given.variables):  # what differs most often is asked first
            return None
        if any(each not in loaded and each not in kept.modules for each in touched.modules):
            return None
        if touched.entered and self._is_too_deep(kept):
            return None
        renaming.tests = self._tests_here(kept)
        asked = {renaming.test(each) for each in touched.tests} if renaming.tests else touched.tests
        decided = frozenset(each for each in self.state.decisions if subject_of(each.test) in asked)
        if renaming.decisions(kept.decisions) != decided:
            return None
        if not self._reads_match(touched, renaming):
            return None
        return None if kept.is_fixed and renaming.is_elsewhere else renaming

    def _tests_here(self, kept: Kept) -> dict[str, str]:
        """The tests on data of an earlier call, by what they are called here; none where that is the same."""
        outside = self.outside if kept.tests and kept.given.function is not None else ""
        if outside == kept.outside:
            return {}
        end = len(kept.outside)
        return {each: each[: len(each) - end] + outside for each in kept.tests}

    def _is_too_deep(self, kept: Kept) -> bool:
        """Whether the call would be cut here: it goes too deep, or a function in it runs already."""
        here: Running | None = self.frame if self._has_frame else None
        if (here.depth if here is not None else 0) + kept.calls_below > self.limits.depth:
            return True
        while here is not None:
            if here.code in kept.touched.entered:
                return True
            here = here.caller
        return False

    def _reads_match(self, touched: Touched, renaming: Renaming) -> bool:
        store = self.state.store
        for address, fields in touched.fields.items():
            here = renaming.here(address)
            if here is None:
                return False
            now = store.peek(here)
            for name, value in fields.items():
                if not renaming.matches(value, held(now, name)):
                    return False
        for address, cell in touched.whole.items():
            here = renaming.here(address)
            if here is None or not renaming.cells_match(cell, store.peek(here)):
                return False
        return True

    def _replayed(self, kept: Kept, renaming: Renaming) -> Value:
        """Do what an earlier call did."""
        self.replayed += 1
        self.state.store.freeze()
        self._touch_again(kept, renaming)
        is_renamed = renaming.is_needed or bool(renaming.tests)
        before = self.state
        for each in kept.raised or () if self.handlers else ():
            self.handlers[-1].append(self._state_again(before, each, renaming, is_renamed=is_renamed))
        if kept.raised is None or (kept.raised and not self.handlers):
            self.uncaught += 1
        self._emit_again(kept, renaming)
        self.state = self._state_again(before, kept.end, renaming, is_renamed=is_renamed)
        for address in kept.touched.frames if is_renamed else ():
            around = self.outer.get(address)
            self.outer[renaming.address(address)] = None if around is None else renaming.address(around)
        self.modules_loaded |= dict.fromkeys(kept.modules)
        self.tests += [renaming.test(each) for each in kept.tests]
        self.ran |= kept.touched.entered
        if kept.result is None:
            raise EndedError
        return renaming.value(kept.result) if is_renamed else kept.result

    def _state_again(self, before: State, left: Left, renaming: Renaming, *, is_renamed: bool) -> State:
        """The state in which an earlier call was left, from where this one begins."""
        state = before.fork()
        for address, cell in left.writes.items():
            if is_renamed:
                state.store.change(renaming.address(address), renaming.cell(cell))
            else:
                state.store.change(address, cell)
        state.decisions = before.decisions | renaming.decisions(left.decided)
        return state

    def _touch_again(self, kept: Kept, renaming: Renaming) -> None:
        logs = self.state.store.logs
        if not logs:
            return
        log, touched = logs[-1], kept.touched
        for address in touched.whole:
            log.touch_all(renaming.address(address))
        for address, fields in touched.fields.items():
            for name in fields:
                log.touch(renaming.address(address), name)
        log.tests |= touched.tests
        log.modules |= touched.modules
        log.entered |= touched.entered
        log.frames |= {renaming.address(each): None for each in touched.frames}
        log.deepest = max(log.deepest, (self.frame.depth if self._has_frame else 0) + kept.calls_below)

    def _emit_again(self, kept: Kept, renaming: Renaming) -> None:
        here, is_partial = self.state.decisions, bool(self.partial)
        if here == kept.before and not is_partial and not renaming.is_needed and not renaming.tests:
            self.trace.add(kept.trace)
            return
        decided: dict[Decisions, Decisions] = {}
        for each in kept.trace.events:
            decisions = decided.get(each.decisions)
            if decisions is None:
                decisions = here | renaming.decisions(each.decisions - kept.before)
                decided[each.decisions] = decisions
            seen = each.seen
            if seen is not None:
                seen = renamed(seen, renaming.address, renaming.decisions, renaming.place)
            again = self.made.emitted(each.event, decisions, is_partial or each.is_partial, seen)
            self.trace.events[again] = None
        self.trace.add_but_events(kept.trace)

    def _leave_again(self, trace: Trace, *, partial: bool) -> None:
        """What a call has left, its caller leaves as well."""
        if not partial:
            self.trace.add(trace)
            return
        for each in trace.events:
            self.trace.events[self.made.emitted(each.event, each.decisions, True, each.seen)] = None
        self.trace.add_but_events(trace)


def _is_inside(place: Place, kept: Kept) -> bool:
    """Whether what a call made may be from a place: a line of a function that ran, or the one that called a model."""
    if kept.given.function is None or kept.given.key == (kept.given.function.code, place):
        return True
    return any(
        code.module.path == place.path and code.node.lineno <= place.line <= (code.node.end_lineno or 0)
        for code in kept.touched.entered
    )


def _left_in(state: State, decisions: Decisions, log: Touched) -> Left:
    return Left(state.decisions - decisions, state.store.changes(log.start))
