"""What a breach that was met on one way through a graph is worth: the rule's, another rule's, or nothing.

The walk takes every branch; whether two conditions that change from turn to turn can hold together as a way needs
them to is beyond it. A way that needs two such decisions proves nothing. And the same breach means something else
where a hand-written check for inf and NaN led past the step.
"""

from __future__ import annotations

import ast
import re
from itertools import pairwise

from verifygate import torch_names
from verifygate.protocol import Event
from verifygate.static.conditions.predicates import Fact
from verifygate.static.lowering.event_graph import Backward, Branch, Graph, Node, Signal
from verifygate.static.symbols.location import Place
from verifygate.static.syntax.traversal import walk

OF_ONE = "of one member: "
"""Before a condition on one member of a collection: which other loops it is in may hang together with that."""
_BY_GUARD = {"AMP202": "AMP214", "AMP203": "AMP214", "AMP209": "AMP214", "AMP210": "AMP214"}
_UNSCALED_OR_NOT = frozenset({"AMP201", "AMP202", "AMP203", "AMP204"})
"""What depends on whether the gradients were unscaled: code that asks the scaler itself knows better than the walk."""
_COUNTS = r"(?i) Mod |accum|boundary|need_update|update_grad|sync_grad|should_step|do_step"
_STEPS = (Event.SCALER_STEP, Event.OPTIMIZER_STEP, Event.CHECKED_STEP)
_USES = (Event.UNSCALE, *_STEPS)
_ZEROES = r"(?i)(zero|clear|reset|clean|delete|release|discard)\w*grad|set_to_none|zero_\("


class Way:
    """The nodes on the shortest way to a breach."""

    def __init__(self, graph: Graph, numbers: list[int], blamed: int, volatile: set[str]) -> None:
        self.graph = graph
        self.volatile = volatile
        self.numbers = numbers
        self.blamed = blamed
        self.shown = numbers[-1]
        self._drawn = graph.loop_variables()
        self._since = max((index for index, number in enumerate(numbers) if number == blamed), default=0)

    def decisions(self, start: int = 0) -> list[tuple[int, Fact]]:
        """The conditions decided from a position on, and the nodes that ask; not those that keep a `while` going."""
        return [(self.numbers[position], fact) for position, fact in self.decided_at() if position >= start]

    def decided_at(self) -> list[tuple[int, Fact]]:
        """The same from the beginning, each with its position on the way."""
        found = []
        for position, (number, successor) in enumerate(pairwise(self.numbers)):
            payload = self.graph.nodes[number].payload
            facts = [fact for each, fact in self.graph.nodes[number].successors if each == successor]
            if isinstance(payload, Branch) and not payload.is_loop_test and len(facts) == 1 and facts[0] is not None:
                found.append((position, facts[0]))
        return found

    def choices(self, start: int = 0) -> set[str]:
        """The conditions decided that may change from turn to turn; finite checks come out as they come out."""
        return {
            self.choice(number, fact)
            for number, fact in self.decisions(start)
            if (fact[0].opaque or fact[0].mentions & self.volatile)
            and not fact[0].loop
            and not self._stays_in_the_loop(number, fact)
            and not self._checks_finite(number)
        }

    def choice(self, number: int, fact: Fact) -> str:
        """What a decision counts as."""
        atom = fact[0]
        about_one = self.graph.nodes[number].collections and not atom.remainder and atom.mentions & self._drawn
        return f"{OF_ONE}{atom.text}" if about_one else atom.choice

    def _stays_in_the_loop(self, number: int, fact: Fact) -> bool:
        """Whether all that is decided is not to leave the loop yet."""
        node = self.graph.nodes[number]
        others = [other for other, decided in node.successors if decided is not None and decided[1] is not fact[1]]
        return bool(node.loops) and all(len(self.graph.nodes[each].loops) < len(node.loops) for each in others)

    def verdict(self, rule: str) -> tuple[str, int]:
        """The code of the rule that this way breaks, empty where it breaks none; and the node at fault."""
        if rule == "AMP214":
            return self._stuck()
        # where the scaler has stepped, a question for the norm or for `skipped` led past no step
        stepped = rule == "AMP209"
        decided = self.decisions(self._since)
        guards = [n for n, fact in decided if self._checks_finite(n) or (not stepped and self._asks_for_norm(n, fact))]
        guards = [n for n in guards if not _raises(self.graph.nodes[n].place) and self._led_past_an_update(n)]
        if guards and rule in _BY_GUARD:
            return _BY_GUARD[rule], guards[-1]
        if rule in _UNSCALED_OR_NOT and any(
            _asks_the_scaler(self.graph.nodes[number].place.node) for number, _ in self.decisions()
        ):
            return "", self.blamed
        if rule == "AMP212" and not self._is_misplaced_zero():
            return "", self.blamed
        return "" if rule in ("AMP208", "AMP211") and self._turns_since_step() else rule, self.blamed

    def _stuck(self) -> tuple[str, int]:
        """AMP214 where a check of scaled gradients leads past the update: the scale that made them inf stays."""
        since = self._last_backward(len(self.numbers)) or 0
        for number, _ in self.decisions(since):
            if self._checks_finite(number) and asks_gradients(self.graph.nodes[number]):
                taken, others = self._arms(number, since)
                for until in (None, self.numbers[since]):  # the update may be behind another optimizer's backward
                    if self._comes_to_an_update(others, until) and not self._comes_to_an_update(taken, until):
                        return "AMP214", number
        return "", self.blamed

    def _led_past_an_update(self, guard: int) -> bool:
        """Whether the other arm of a check comes to an update before the next backward."""
        return self._comes_to_an_update(self._arms(guard, self._since)[1])

    def _leads_past_the_blamed(self, guard: int, since: int) -> bool:
        """Whether the other arm of a condition comes to a step without what is blamed."""
        _, ahead = self._arms(guard, since)
        seen = {self.blamed}
        while ahead := ahead - seen:
            if any(self._event(number) in _STEPS for number in ahead):
                return True
            seen |= ahead
            ahead = {successor for number in ahead for successor, _ in self.graph.nodes[number].successors}
        return False

    def _arms(self, guard: int, since: int) -> tuple[set[int], set[int]]:
        """Where the way goes on from a condition, met after a position, and where it does not."""
        taken = set(self.numbers[self.numbers.index(guard, since) + 1 :][:1])
        return taken, {successor for successor, _ in self.graph.nodes[guard].successors} - taken

    def _comes_to_an_update(self, starts: set[int], until: int | None = None) -> bool:
        """Whether an update comes before the next backward, or before a certain one."""
        ahead, seen = list(starts), set(starts)
        while ahead:
            node = self.graph.nodes[number := ahead.pop()]
            if self._event(number) is Event.UPDATE:
                return True
            if not isinstance(node.payload, Backward) if until is None else number != until:
                following = {successor for successor, _ in node.successors} - seen
                seen |= following
                ahead += following
        return False

    def needs_two_alike(self) -> bool:
        """Whether two turns of one loop have to run the same method of what the loop goes over.

        `for hook in self.hooks: hook.before_step(self)`: of each kind of hook there is one.
        """
        for calls, loop in self._drawn_calls().items():
            nodes = enumerate(self.graph.nodes)
            entry = next((n for n, node in nodes if node.place.node is loop and node.calls == calls[:-1]), None)
            if entry is not None and self._most_turns(calls, entry) > 1:  # none where turns are written out
                return True
        return False

    def _most_turns(self, calls: tuple[Place, ...], entry: int) -> int:
        """How often the way comes into a call before the loop around it, which is entered there, begins anew."""
        most, turns, inside = 0, 0, False
        for number in self.numbers:
            turns = 0 if number == entry else turns
            before, inside = inside, self.graph.nodes[number].calls[: len(calls)] == calls
            turns += inside and not before
            most = max(most, turns)
        return most

    def _drawn_calls(self) -> dict[tuple[Place, ...], ast.For]:
        """The calls on the way, each after those that lead to it, that run what a loop goes over; and the loop."""
        found = {}
        for number in self.numbers:
            calls = self.graph.nodes[number].calls
            for end, call in enumerate(calls, 1):
                if (loop := _drawn_by(call)) is not None:
                    found[calls[:end]] = loop
        return found

    def left_loops(self) -> set[int]:
        """The loops around the last backward that the way has left where the breach shows."""
        backwards = [number for number in self.numbers if isinstance(self.graph.nodes[number].payload, Backward)]
        around = set(self.graph.nodes[backwards[-1]].loops) if backwards else set()
        return around - set(self.graph.nodes[self.shown].loops)

    # -- zero_grad ---------------------------------------------------------------------------------------------

    def _is_misplaced_zero(self) -> bool:
        if not isinstance(self.graph.nodes[self.shown].payload, Backward):
            # a step on gradients that were thrown away: where their norm decides on that, a step that does nothing
            since = self._last_backward(self._since) or 0
            asked = (
                each for each in self.decisions(since) if self._asks_for_norm(*each) or self._asks_a_check(each[0])
            )
            return not any(self._leads_past_the_blamed(number, since) for number, _ in asked)
        return self._is_never_zeroed() if self.blamed == self.shown else self._is_wiped_window()

    def _is_never_zeroed(self) -> bool:
        """Whether nothing on the way looks as if it zeroed by means that the walk does not know."""
        if self._nothing_uses_them():
            return False  # a backward for something else, an attack on the inputs say: what it left is dropped
        if self._left_what_zeroes():
            return False
        functions = {node.place.function for node in self.graph.nodes}
        return not any(re.search(_ZEROES, text) for function in functions for text in _names(function.own_nodes))

    def _left_what_zeroes(self) -> bool:
        """Whether a way out of the loop passes by the zero_grad of each turn: most often the end of training."""
        inside = set(self.graph.nodes[self.shown].loops)
        steps = [index for index, number in enumerate(self.numbers[:-1]) if self._event(number) in _USES]
        since = self.numbers[steps[-1] :] if steps else []
        missed = [inside.difference(self.graph.nodes[number].loops) for number in since]
        if not missed or missed[0] or all(len(each) <= 1 for each in missed):
            return False  # the head of a loop is no part of it: only that of one further out is beyond
        zeroing = (node for number, node in enumerate(self.graph.nodes) if self._event(number) is Event.ZERO_GRAD)
        return any(inside <= set(node.loops) for node in zeroing)

    def _event(self, number: int) -> Event | None:
        payload = self.graph.nodes[number].payload
        return payload.event if isinstance(payload, Signal) else None

    def _nothing_uses_them(self) -> bool:
        """Whether a zero_grad comes after the breach before anything uses the gradients, or nothing ever does."""
        ahead, seen, used = [self.shown], {self.shown}, False
        while ahead:
            for successor, _ in self.graph.nodes[ahead.pop()].successors:
                event = self._event(successor)
                if event is Event.ZERO_GRAD:
                    return True
                used = used or event in _USES
                if event not in _USES and successor not in seen:
                    seen.add(successor)
                    ahead.append(successor)
        return not used

    def _is_wiped_window(self) -> bool:
        """Whether a zero_grad of every turn throws away what an accumulation counts on.

        A zero_grad further out drops the rest of an epoch, one behind a check a bad batch, one in a handler what an
        error left: on purpose.
        """
        wiped = self._last_backward(self._since)
        if wiped is None or _is_in_a_handler(self.graph.nodes[self.blamed].place):
            return False
        loops = {self.graph.nodes[number].loops for number in (self.numbers[wiped], self.blamed, self.shown)}
        decided = self.decisions(wiped)
        if self._is_caught(wiped):
            return False
        if len(loops) != 1 or not all(loops) or any(self._checks_finite(number) for number, _ in decided):
            return False
        choices = self.choices(wiped)
        return len(choices) == 1 and bool(re.search(_COUNTS, next(iter(choices))))

    def _last_backward(self, before: int) -> int | None:
        """The position of the last backward before another position."""
        positions = (
            index
            for index, number in enumerate(self.numbers[:before])
            if isinstance(self.graph.nodes[number].payload, Backward)
        )
        return max(positions, default=None)

    # -- what the way holds ------------------------------------------------------------------------------------

    def _turns_since_step(self) -> bool:
        """Whether a new turn of a loop began between the scaler's step and where the breach showed."""
        steps = [
            index
            for index, number in enumerate(self.numbers[:-1])
            if isinstance(payload := self.graph.nodes[number].payload, Signal) and payload.event is Event.SCALER_STEP
        ]
        after = self.numbers[steps[-1] :] if steps else self.numbers
        return any(successor < number for number, successor in pairwise(after))

    def _asks_for_norm(self, number: int, fact: Fact) -> bool:
        """Whether a condition that may change from turn to turn asks how large the gradients are."""
        changes = fact[0].opaque or bool(fact[0].mentions & self.volatile)
        return changes and _asks_for_norm(self.graph.nodes[number].place.node)

    def _is_caught(self, start: int) -> bool:
        """Whether the way from a position on leads through a handler: what an error left undone is no omission."""
        return any(isinstance(self.graph.nodes[each].place.node, ast.ExceptHandler) for each in self.numbers[start:])

    def _asks_a_check(self, number: int) -> bool:
        """Whether a condition asks for what a check for inf and NaN gives: `ok = isfinite(g).all()`, `ok(model)`."""
        place = self.graph.nodes[number].place
        names = {node.id for node in walk(place.node) if isinstance(node, ast.Name)}
        bound = (each.expr for name in names for each in place.function.scope.names.get(name, ()))
        called = (each.node for name in names if (each := place.function.module.functions.get(name)) is not None)
        return any(word in ast.unparse(each) for each in (*bound, *called) if each for word in torch_names.FINITE_WORDS)

    def _checks_finite(self, number: int) -> bool:
        """Whether a condition checks for inf and NaN, or asks for a name that such a check was given to."""
        text = ast.unparse(self.graph.nodes[number].place.node)
        return any(word in text for word in torch_names.FINITE_WORDS) or self._asks_a_check(number)


def _drawn_by(call: Place) -> ast.For | None:
    """The loop over the objects of which a call runs a method, or over the functions of which it runs one."""
    if not isinstance(call.node, ast.Call):
        return None
    names = {node.id for node in walk(call.node.func) if isinstance(node, ast.Name)}
    nodes = call.function.of_kind(ast.For)
    loops = (each for each in nodes if each.body[0].lineno <= call.line <= Place(call.function, each).end_line)
    drawn = (loop for loop in loops if names & {node.id for node in walk(loop.target) if isinstance(node, ast.Name)})
    return next(drawn, None)


def asks_gradients(node: Node) -> bool:
    """Whether a node asks about gradients, or their norm, whether they are finite."""
    if not isinstance(node.payload, Branch):
        return False
    text = ast.unparse(node.place.node)
    return "grad" in text and any(word in text for word in torch_names.FINITE_WORDS)


def _asks_for_norm(test: ast.AST) -> bool:
    text = ast.unparse(test)
    return bool(re.search(r"norm|skip", text, re.IGNORECASE)) or any(word in text for word in torch_names.FINITE_WORDS)


def _raises(place: Place) -> bool:
    """Whether a check raises where it strikes: whatever comes after it has been led past nothing."""
    return any(
        place.node in walk(each.test) and isinstance(each.body[-1], ast.Raise) and not each.orelse
        for each in place.function.of_kind(ast.If)
    )


def _is_in_a_handler(place: Place) -> bool:
    handlers = (each for node in place.function.own_nodes if isinstance(node, ast.Try) for each in node.handlers)
    return any(node is place.node for handler in handlers for node in walk(handler))


def _asks_the_scaler(test: ast.AST) -> bool:
    """Whether a condition looks up what the scaler remembers, so as to unscale once."""
    text = ast.unparse(test)
    return any(word in text for word in ("UNSCALED", "_per_optimizer_states"))


def _names(nodes: tuple[ast.AST, ...]) -> list[str]:
    """Names called or handed over, but for the method `zero_grad`, which is an event."""
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    methods = [node.func.attr for node in calls if isinstance(node.func, ast.Attribute)]
    functions = [ast.unparse(node.func) for node in calls if not isinstance(node.func, ast.Attribute)]
    words = [word.arg or "" for node in calls for word in node.keywords]
    return functions + [each for each in (*methods, *words) if each not in ("zero_grad", "set_to_none")]
