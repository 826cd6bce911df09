"""All runs of a tree: its programs first, then what none of them reached, each function or class by itself."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from verifygate.base.failures import contained, words_of
from verifygate.base.records import record, replace
from verifygate.events.record import Kind
from verifygate.static.machine.call import Library
from verifygate.static.machine.core import Limits
from verifygate.static.machine.entries import Entry
from verifygate.static.machine.inputs import Roles, roles_by_use
from verifygate.static.machine.machine import Machine, Outcome, run
from verifygate.static.machine.observations import Optimized
from verifygate.static.machine.trace import Emitted
from verifygate.static.machine.values import Address, Unknown
from verifygate.static.symbols.program import Program
from verifygate.static.uses.roles import Evidence

_ALONE = Limits(steps=20_000)
"""A function by itself is worth a tenth of a program."""
_TOUCHED = "#touched"


@record
class Run:
    """What one entry showed."""

    outcome: Outcome
    handed_on: dict[Address, str]
    """Optimizers that a library without a model was handed, and what that was."""

    @property
    def events(self) -> tuple[Emitted, ...]:
        return self.outcome.events


def runs_of(
    program: Program,
    paths: Iterable[str],
    libraries: Iterable[Library] = (),
    limits: Limits | None = None,
    most_steps: int | None = None,
) -> Iterator[Run]:
    """Run the programs among these files, then the functions and classes of them that nothing has reached.

    `limits` are those of one program. `most_steps` is what all may take together: the entry that comes to it does what
    one past its own limit does, and those after it are not begun, and say so.
    """
    files, graph, tree = tuple(paths), program.import_graph, _Tree(Machine(program, libraries), most_steps)
    scripts = {file.path for file in program.sources if file.is_script}
    for path in files:
        if path in scripts or not graph.is_imported(path):
            yield tree.run(Entry(path), limits or Limits())
    left = list(_alone(program, files))
    called = {name for path in files for name in _called(program, path)}
    for first in (True, False):  # those that nothing calls may reach the others
        for entry, lines in left:
            if first and entry.symbol in called:
                continue
            if lines and not lines <= tree.reached:
                yield tree.run(entry, _ALONE)
                tree.reached |= lines


class _Tree:
    """The runs of one tree, on one machine: which code they have reached, and how many steps they have taken."""

    def __init__(self, machine: Machine, most_steps: int | None) -> None:
        self._machine = machine
        self._most_steps = most_steps
        self._taken = 0
        self.reached: set[tuple[str, int]] = set()
        """Path and line of each function that ran."""

    def run(self, entry: Entry, limits: Limits) -> Run:
        """Run an entry, as far as steps are left for it. A fault of the machine's own ends this one alone."""
        left = limits.steps if self._most_steps is None else min(limits.steps, self._most_steps - self._taken)
        used_up = f"the {self._most_steps} steps of all entries together are used up"
        if left <= 0:
            return Run(Outcome(entry, ended=used_up), {})
        try:
            found = self._run(entry, replace(limits, steps=left))
        except Exception as error:
            return Run(Outcome(entry, ended=f"the machine broke: {words_of(contained(error))}"), {})
        if found.outcome.steps <= left:
            return found
        ended = used_up if left < limits.steps else f"it takes more than the {left} steps of one entry"
        return replace(found, outcome=replace(found.outcome, ended=ended))

    def _run(self, entry: Entry, limits: Limits) -> Run:
        machine = self._machine
        outcome = self._once(entry, limits, {})
        roles = roles_by_use(machine.trace.uses, machine.trace.stepped) if entry.symbol else {}
        if any(role[1] >= Evidence.NAME for role in roles.values()):
            outcome = self._once(entry, limits, roles)
        self.reached |= {(each.module.path, each.node.lineno) for each in machine.ran}
        optimizers = {each.seen.optimizer for each in outcome.events if isinstance(each.seen, Optimized)}
        reasons = {of: machine.field(of, _TOUCHED) for of in optimizers}
        return Run(outcome, {of: found.reason for of, found in reasons.items() if isinstance(found, Unknown)})

    def _once(self, entry: Entry, limits: Limits, roles: Roles) -> Outcome:
        self._machine.limits, self._machine.roles = limits, roles
        outcome = run(self._machine, entry)
        self._taken += outcome.steps
        return outcome


def _alone(program: Program, paths: Iterable[str]) -> Iterator[tuple[Entry, set[tuple[str, int]]]]:
    """The functions and classes at the top level of files, with the lines at which their code begins."""
    for path in paths:
        module = program.module(path)
        for node in module.tree.body if module is not None else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield Entry(path, node.name), {(path, node.lineno)}
            elif isinstance(node, ast.ClassDef):
                methods = (each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
                yield Entry(path, node.name), {(path, each.lineno) for each in methods}


def _called(program: Program, path: str) -> set[str]:
    """The names that a file reads, at the top level or below: what is called is among them."""
    module = program.module(path)
    if module is None:
        return set()
    names = {each.id for each in ast.walk(module.tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    return names | {each.attr for each in ast.walk(module.tree) if isinstance(each, ast.Attribute)}


def of_kind(runs: Iterable[Run], *kinds: Kind) -> Iterator[tuple[Run, Emitted]]:
    """The events of these kinds, with their runs."""
    for each in runs:
        for event in each.events:
            if event.event.kind in kinds:
                yield each, event
