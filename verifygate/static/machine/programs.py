"""All runs of a tree: its programs first, then what none of them reached, each function or class by itself."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from verifygate.base.records import record
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
) -> Iterator[Run]:
    """Run the programs among these files, then the functions and classes of them that nothing has reached."""
    machine = Machine(program, libraries)
    files, graph, ran = tuple(paths), program.import_graph, set[tuple[str, int]]()
    scripts = {file.path for file in program.sources if file.is_script}
    mains = [path for path in files if path in scripts or not graph.is_imported(path)]
    for path in mains:
        yield _run(machine, Entry(path), limits or Limits(), ran)
    left = list(_alone(program, files))
    called = {name for path in files for name in _called(program, path)}
    for first in (True, False):  # those that nothing calls may reach the others
        for entry, lines in left:
            if first and entry.symbol in called:
                continue
            if lines and not lines <= ran:
                yield _run(machine, entry, _ALONE, ran)


def _run(machine: Machine, entry: Entry, limits: Limits, ran: set[tuple[str, int]]) -> Run:
    outcome = _once(machine, entry, limits, {})
    roles = roles_by_use(machine.trace.uses, machine.trace.stepped) if entry.symbol else {}
    if any(role[1] >= Evidence.NAME for role in roles.values()):
        outcome = _once(machine, entry, limits, roles)
    ran |= {(each.module.path, each.node.lineno) for each in machine.ran}
    optimizers = {each.seen.optimizer for each in outcome.events if isinstance(each.seen, Optimized)}
    reasons = {of: machine.field(of, _TOUCHED) for of in optimizers}
    return Run(outcome, {of: found.reason for of, found in reasons.items() if isinstance(found, Unknown)})


def _once(machine: Machine, entry: Entry, limits: Limits, roles: Roles) -> Outcome:
    machine.limits, machine.roles = limits, roles
    return run(machine, entry)


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
