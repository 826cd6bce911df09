"""Entry points: explore the paths from every place at which training begins, and merge the violations on them."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator, Sequence

from verifygate.base.failures import contained, words_of
from verifygate.base.records import replace
from verifygate.model import NotFollowed
from verifygate.protocol import Event
from verifygate.static.amp.roles import Roles
from verifygate.static.lowering.builder import TooLargeError
from verifygate.static.lowering.event_graph import Backward, Graph, Signal
from verifygate.static.lowering.lower import Lowering
from verifygate.static.lowering.reachability import Reachability
from verifygate.static.paths.assumptions import EACH_STEP, EDITED
from verifygate.static.paths.diagnosis import Diagnosis, ViolationReport, diagnose
from verifygate.static.paths.exploration import TooManyStatesError
from verifygate.static.paths.settling import MOST_CONDITIONS, Settling
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Class, Function, Module, Program
from verifygate.static.values.domain import Bound, Frame
from verifygate.static.values.evaluator import Evaluator

NODES_AT_LEAST = 20_000
NODES_PER_MODULE = 1_000
"""How many event nodes are explored in all; a real training script with all that it calls has a few hundred."""
SHARE_OF_TESTS = 10
"""Tests get a tenth of that: those of a training framework each run the same engine from another place."""
_Location = tuple[str, int, int]
"""Path, line, column."""


class EntryPoints:
    """The explorations from every entry point of a project."""

    def __init__(self, program: Program, modules: Sequence[Module], roles: Roles) -> None:
        self.not_followed: list[NotFollowed] = []
        """What no exploration followed, and why; complete once violations() was called."""
        self.broken: list[NotFollowed] = []
        """The entry points at which the exploration itself broke."""
        self._program = program
        self._modules = list(modules)
        self._roles = roles
        self._led_past: dict[Function, list[Bound]] = {}
        """Entry point -> the conditions in it that lead past something that trains, by having one outcome alone."""
        self._frames: dict[Function, Frame | None] = {}
        """Parts of entry points that are too large -> the arguments of the one call of each."""
        self._reached: set[_Location] = set()
        """What some exploration reaches."""

    def violations(self) -> list[ViolationReport]:
        """The violations of the protocol, one per rule and place, in order of both."""
        found: dict[tuple[str, _Location], ViolationReport] = {}
        for report in self._explore_all():
            key = (report.violation, _location(report.place))
            earlier = found.get(key)
            if earlier is None or (earlier.certain and not report.certain):
                found[key] = report  # from another entry point the same place may be right: then it is only likely
        for report in self._once_edited():
            found.setdefault((report.violation, _location(report.place)), report)
        return [report for _, report in sorted(found.items(), key=lambda item: item[0])]

    def _explore_all(self) -> Iterator[ViolationReport]:
        """Explore from every entry point; of one that is too large the functions it calls, and the report says so."""
        reach = Reachability(self._roles)
        queue = deque(sorted(reach.roots(self._modules), key=lambda root: root.module.file.is_test))
        seen: set[Function] = set(queue)
        explored: set[Function] = set()
        entered: set[Function] = set()
        """Functions explored whole, from an entry point that only calls them: a second such one shows nothing new."""
        most = NODES_AT_LEAST + NODES_PER_MODULE * len(self._modules)
        nodes_left = {False: most, True: max(NODES_AT_LEAST, most // SHARE_OF_TESTS)}
        while queue:
            root = queue.popleft()
            if root.module.file.is_test and not reach.has_own_events(root):
                # a test that only calls the program: the program is explored once, not once a test
                inner = _in_order(reach.callees(root) - seen)
                seen.update(inner)
                queue += inner
                continue
            entrance = reach.entered(root)
            if entrance in entered:
                continue
            is_test = root.module.file.is_test
            if nodes_left[is_test] <= 0:
                budget = "tests" if is_test else "program"
                self._not_explored(root, f"is not explored: the budget for the {budget} is used up", whole=not is_test)
                continue
            lowering = Lowering(root, self._roles, reach, self._frames.get(root))
            try:
                graph = lowering.lower()
                diagnosis = self._diagnosis(graph, reach)
                yield from diagnosis.reports
                self._left_open(root, diagnosis)
                if lowering.led_past:
                    self._led_past[root] = lowering.led_past
                self._reached.update(_location(node.place) for node in graph.nodes)
                explored |= graph.functions
                entered |= {entrance} if entrance is not None else set()
                if _is_one_step(graph):
                    yield from self._next_step(root, reach, diagnosis.reports)
                self.not_followed += lowering.not_followed
            except (TooLargeError, TooManyStatesError):
                self._not_explored(
                    root, "has too many paths: the functions that it calls are explored instead", whole=not is_test
                )
                explored.add(root)
                parts = reach.parts(root, self._frames.get(root))
                self._frames |= {part: entered for part, entered in parts.items() if part not in seen}
                queue += [part for part in parts if part not in seen]
                seen.update(parts)
            except Exception as error:
                self._broke(root, error)
                explored.add(root)
            nodes_left[is_test] -= lowering.effort
            if not queue:
                queue.extend(self._left_over(reach, explored, seen))

    def _diagnosis(self, graph: Graph, reach: Reachability) -> Diagnosis:
        """The violations of a graph; a method that several subclasses complete is explored once for each.

        An object is of one of them: no path leads through the step of one and the step of another.
        """
        subclasses = self._subclasses(graph)
        if len(subclasses) < 2:
            return diagnose(graph)
        each = [diagnose(Lowering(graph.root, self._roles, reach).lower(made)) for made in subclasses]
        reports = [report for one in each for report in one.reports]
        unsaid = {place: said for one in each for place, said in one.unsaid.items()}
        return Diagnosis(reports, frozenset().union(*(one.open for one in each)), unsaid)

    def _subclasses(self, graph: Graph) -> list[Class]:
        """The subclasses of a method's own class whose methods it runs, in order."""
        own = graph.root.owner
        owners = {function.owner: None for function in _in_order(graph.functions)} if own is not None else {}
        return [made for made in owners if made not in (None, own) and own in self._roles.evaluator.linearised(made)]

    def _next_step(
        self, root: Function, reach: Reachability, found: list[ViolationReport]
    ) -> Iterator[ViolationReport]:
        """What only the next call of a step shows, where nothing in sight says what happens between two calls."""
        known = {(report.violation, report.place) for report in found}
        try:
            again = diagnose(Lowering(root, self._roles, reach).lower(again=True)).reports
        except (TooLargeError, TooManyStatesError):
            self._not_explored(root, "has too many paths for two calls in a row: the second is not explored")
            return
        for report in again:
            if report.violation.traits.across_steps and (report.violation, report.place) not in known:
                yield replace(report, assumes=EACH_STEP, settling=Settling(by_run=True))

    def _once_edited(self) -> Iterator[ViolationReport]:
        """What runs do once somebody edits a switch that a file sets, `USE_AMP = False`, where none comes as it is."""
        if not self._led_past:
            return
        evaluator = Evaluator(self._program, self._modules, settings_hold=False)
        roles = Roles(evaluator)
        reach = Reachability(roles)
        for root, conditions in self._led_past.items():
            if all(evaluator.truth(each.expr, evaluator.counterpart(each.frame)) is not None for each in conditions):
                continue  # by what a call passes, say
            try:
                found = diagnose(Lowering(root, roles, reach).lower()).reports
            except (TooLargeError, TooManyStatesError):
                self._not_explored(root, "has too many paths once a switch is edited: what runs then is not explored")
                continue
            except Exception as error:
                self._broke(root, error)
                continue
            for report in found:
                new = next(
                    (n for n, (place, _) in enumerate(report.path) if _location(place) not in self._reached), None
                )
                if new is not None:
                    place, what = report.path[new]
                    path = (*report.path[:new], (place, f"{what}, once a switch is edited"), *report.path[new + 1 :])
                    yield replace(
                        report, assumes=EDITED, settling=Settling(by_run=True, given=_edited(conditions)), path=path
                    )
        evaluator.forget()

    def _not_explored(self, root: Function, how: str, *, whole: bool = False, rule: str = "") -> None:
        self.not_followed.append(_unknown(root, how, whole=whole, rule=rule))

    def _left_open(self, root: Function, diagnosis: Diagnosis) -> None:
        for violation in sorted(diagnosis.open):
            how = "has too many paths: which of them a run takes cannot be told"
            self._not_explored(root, how, whole=not root.module.file.is_test, rule=violation)
        for call, (violation, reason) in diagnosis.unsaid.items():
            self.not_followed.append(NotFollowed(path=call.path, line=call.line, reason=reason, rule=violation))

    def _broke(self, root: Function, error: Exception) -> None:
        how = f"is not explored, which is a fault of verifygate's own: {words_of(contained(error))}"
        self.broken.append(_unknown(root, how))

    def _left_over(self, reach: Reachability, explored: set[Function], seen: set[Function]) -> list[Function]:
        """Functions with events that no entry point led to: calls that were not followed, cycles, overridden methods.

        Of a method's class, what its objects begin with comes first.
        """
        known = explored | seen
        left = [function for function in reach.candidates(self._modules) if function not in known]
        first = [each for each in reach.outermost(left) if each not in seen]
        seen.update(first or left)
        return first or left


def _unknown(root: Function, how: str, *, whole: bool = False, rule: str = "") -> NotFollowed:
    place = Location(root, root.node)
    reason = f"{root.symbol or 'the module'} {how}"
    return NotFollowed(path=place.path, line=place.line, reason=reason, rule=rule, whole=whole)


def _location(place: Location) -> _Location:
    return place.path, place.line, place.column


def _is_one_step(graph: Graph) -> bool:
    """Whether a function that nothing in sight calls trains by one step: something calls it for each."""
    events = [node.payload.event for node in graph.nodes if isinstance(node.payload, Signal) and not node.loops]
    backwards = any(isinstance(node.payload, Backward) and node.payload.scaled for node in graph.nodes)
    return bool(graph.root.symbol) and backwards and Event.SCALER_STEP in events and Event.ZERO_GRAD in events


def _in_order(functions: set[Function]) -> list[Function]:
    return sorted(functions, key=lambda function: (function.module.path, function.symbol))


def _edited(conditions: Sequence[Bound]) -> tuple[str, ...]:
    """The conditions that come out otherwise once a switch is edited."""
    return tuple(dict.fromkeys(f"`{ast.unparse(each.expr)}` changed" for each in conditions))[:MOST_CONDITIONS]
