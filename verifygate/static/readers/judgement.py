"""How sure a violation is that the machine saw: one way of judging for all rules (docs/machine.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from verifygate.base.records import record
from verifygate.model import Severity
from verifygate.static.machine.expressions import DATA
from verifygate.static.machine.observations import Weights
from verifygate.static.machine.trace import Emitted
from verifygate.static.machine.values import Decisions, Place
from verifygate.static.uses.roles import Evidence


@record
class Violated:
    """A place at which a rule is broken, as one run shows it."""

    rule: str
    place: Place
    message: str
    certain: bool
    severity: Severity
    assumes: str = ""
    """What keeps it from being certain."""
    steps: tuple[tuple[Place, str], ...] = ()


@record
class Judged:
    """Whether all states violate, and if not, what decides it."""

    certain: bool
    assumes: str = ""


CERTAIN = Judged(True)


def judged(
    emitted: Emitted, violating: Iterable[Decisions], *, all_states: bool, evidence: Evidence = Evidence.OBJECT
) -> Judged:
    """Certain is what every state violates, where nothing came through a limit, a widened loop, a handler, an unknown.

    `violating` are the decisions under which each violating state holds; `all_states`: no other state is known or may
    be. What hangs on an option names the option and the value that it violates for.
    """
    each_way = list(violating)
    if all_states and each_way:  # what they have in common is when there is such a state at all
        each_way = [frozenset.intersection(*each_way)]
    ways = [emitted.decisions | each for each in each_way] or [emitted.decisions]
    decided = min((options(each) for each in ways), key=lambda each: (len(each), each), default=[])
    if decided:
        return Judged(False, " and ".join(decided))
    if emitted.is_partial:
        return Judged(False, "what comes after a loop or a handler that is not followed to its end")
    if not all_states:
        return Judged(False, "another state may hold as well, or is not known")
    if evidence < Evidence.USE:
        said = "its name" if evidence is Evidence.NAME else "an annotation"
        return Judged(False, f"only {said} says what the object is")
    return CERTAIN


def options(decisions: Decisions) -> list[str]:
    """The decisions on options, in words; an outcome of a test on data says only when something happens."""
    return sorted(str(each) for each in decisions if not each.test.startswith(DATA))


@record
class PartStates:
    """One part of what is stepped, with each state that it may be in."""

    states: tuple[Weights, ...]

    def having(self, dtypes: frozenset[str]) -> tuple[Weights, ...]:
        """The states in which it has one of these dtypes only."""
        return tuple(each for each in self.states if each.dtypes and each.dtypes <= dtypes)

    @property
    def is_known(self) -> bool:
        return all(each.dtypes for each in self.states)


def by_part(weights: Iterable[Weights]) -> Iterator[PartStates]:
    """The states of each part; what is no parameter of a known module is one part by itself."""
    found: dict[object, list[Weights]] = {}
    for number, each in enumerate(weights):
        found.setdefault(each.part or number, []).append(each)
    return (PartStates(tuple(each)) for each in found.values())


def merged(found: Iterable[Violated]) -> list[Violated]:
    """One violation per rule and place: the surest of those that the runs show."""
    kept: dict[tuple[str, Place], Violated] = {}
    for each in found:
        before = kept.get((each.rule, each.place))
        if before is None or (each.certain and not before.certain):
            kept[each.rule, each.place] = each
    return [kept[key] for key in sorted(kept)]
