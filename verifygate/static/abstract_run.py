"""The abstract run as a second witness of the source: what its readers find, as matches of their rules.

A reader and a rule that report one fault are one match, the surer of the two. What was not run is listed.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from verifygate.base.counts import counted
from verifygate.base.failures import contained, words_of
from verifygate.base.records import record, replace
from verifygate.model import Detail, NotFollowed
from verifygate.model.precision_contract import PrecisionContract
from verifygate.rule_codes import ABSTRACT_RUN
from verifygate.static.analysis import Analysis
from verifygate.static.failures import gave_up
from verifygate.static.machine.call import Library
from verifygate.static.machine.programs import Run
from verifygate.static.machine.values import Place
from verifygate.static.readers.agreeing_contract import agreeing_with
from verifygate.static.readers.all_readers import violations
from verifygate.static.readers.bounded_runs import NotRun, bounded_runs, not_run
from verifygate.static.readers.contract_cells import Cell, cells
from verifygate.static.readers.driven_by_models import Driven, driven, through_models, with_drivers
from verifygate.static.readers.judgement import Violated, merged
from verifygate.static.rule import ConfigurationMatch, LoadedRule, Match
from verifygate.static.symbols.location import Location
from verifygate.static.symbols.program import Function, Program

_MOST_ENTRIES = 3
"""Entries that a finding names."""
Matches = list[tuple[LoadedRule, Match | ConfigurationMatch]]


@record
class AbstractRun:
    """What the abstract runs of some sources showed."""

    matches: Mapping[str, tuple[Match, ...]]
    """Code -> what its reader found, one of each place."""
    cells: tuple[Cell, ...] = ()
    """What the precision contract may say of the weights in these matches."""
    drivers: tuple[Driven, ...] = ()
    """What it says of who drives programs that train through a model of the project."""
    not_followed: tuple[NotFollowed, ...] = ()

    def agreeing(self, contract: PrecisionContract) -> PrecisionContract:
        """The contract, with what these matches rest on where it declares something else, and who drives it."""
        return agreeing_with(with_drivers(contract, self.drivers), self.cells)


def abstract_run(analysis: Analysis, libraries: Sequence[Library]) -> AbstractRun:
    """Run the programs of an analysis, and read off what they violate. A fault of our own is listed."""
    try:
        return _made(analysis.program, libraries)
    except Exception as error:
        first = next(iter(analysis.program.sources.paths), ".")
        return AbstractRun({}, not_followed=(gave_up(error, first, "the abstract run", ABSTRACT_RUN),))


def _made(program: Program, libraries: Sequence[Library]) -> AbstractRun:
    found: dict[Violated, list[str]] = {}
    said: dict[Cell, None] = {}
    through = through_models(program, libraries)
    drivers: dict[Driven, None] = {}
    runs: list[Run] = []
    broken: dict[str, list[str]] = {}
    for run in bounded_runs(program, libraries):
        try:
            violated = _violated(run, program)
            said |= dict.fromkeys(cells([run]) if violated else ())
            drivers |= dict.fromkeys(driven(run, through))
        except Exception as error:  # a reader's fault costs it one entry, as one of the machine does
            broken.setdefault(f"a reader broke: {words_of(contained(error))}", []).append(run.outcome.entry.path)
            violated = []
        for each in violated:
            found.setdefault(each, []).append(str(run.outcome.entry))
        runs.append(replace(run, outcome=replace(run.outcome, events=(), not_followed=())))
    entries: dict[tuple[str, Place], list[str]] = {}
    for each, names in found.items():
        entries.setdefault((each.rule, each.place), []).extend(names)
    surest = merged(found)
    matches: dict[str, list[Match]] = {}
    for each in surest:
        match = _match(each, entries[each.rule, each.place], program)
        if match is not None:
            matches.setdefault(each.rule, []).append(match)
    gaps = [*not_run(runs), *(NotRun(reason, paths[0], len(paths)) for reason, paths in broken.items())]
    places = {place for each in surest for place, _ in each.steps}
    return AbstractRun(
        {code: tuple(each) for code, each in matches.items()},
        tuple(each for each in said if each.place in places),
        tuple(drivers),
        tuple(map(_gap, gaps)),
    )


def _violated(run: Run, program: Program) -> list[Violated]:
    """What a run violates in the code of the project: a test may do what no program should."""
    files = ((each, program.sources.get(each.place.path)) for each in violations((run,)))
    return [each for each, file in files if file is not None and not file.is_test]


def _gap(each: NotRun) -> NotFollowed:
    others = f", and {counted(each.count - 1, 'other entry', 'other entries')}" if each.count > 1 else ""
    reason = f"the abstract run of it did not come to its end{others}: {each.reason}"
    return NotFollowed(path=each.first, line=1, reason=reason, rule=ABSTRACT_RUN)


def _match(violated: Violated, entries: Sequence[str], program: Program) -> Match | None:
    place = _location(violated.place, program)
    if place is None:
        return None
    steps = ((_location(each, program), label) for each, label in violated.steps)
    names = [*dict.fromkeys(entries)]
    more = [f"{len(names) - _MOST_ENTRIES} more"] if len(names) > _MOST_ENTRIES else []
    return Match(
        place,
        violated.message,
        certain=violated.certain,
        steps=tuple((each, label) for each, label in steps if each is not None),
        details=(Detail(label="abstract run of", values=(*names[:_MOST_ENTRIES], *more)),),
        severity=violated.severity,
        assumes=violated.assumes,
    )


def _location(place: Place, program: Program) -> Location | None:
    """The call that begins in a line, else the statement that does, else the one that the line is a part of."""
    module = program.module(place.path)
    if module is None:
        return None
    function = module.body
    body: Sequence[ast.AST] = module.tree.body
    while (inner := _definition(body, place.line)) is not None:
        made = module.made(inner) if isinstance(inner, ast.ClassDef) else module.function(inner)
        function = made if isinstance(made, Function) else function
        body = inner.body
    at = [each for each in function.own_nodes if getattr(each, "lineno", 0) == place.line]
    around = [each for each in function.own_nodes if isinstance(each, ast.stmt) and _is_in(each, place.line)]
    calls = [each for each in at if isinstance(each, ast.Call)]
    statements = [each for each in at if isinstance(each, ast.stmt)]
    node = next(iter([*calls, *statements, *reversed(around)]), None)
    return None if node is None else Location(function, node)


def _definition(body: Sequence[ast.AST], line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None:
    """The outermost definition in a body that a line is a part of, also under a condition."""
    for each in body:
        if not _is_in(each, line):
            continue
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return each if line >= each.body[0].lineno else None
        return _definition(list(ast.iter_child_nodes(each)), line)
    return None


def _is_in(node: ast.AST, line: int) -> bool:
    return getattr(node, "lineno", line + 1) <= line <= (getattr(node, "end_lineno", None) or 0)


def joined(matches: Matches, seen: Matches) -> Matches:
    """The matches of the rules with those of the abstract run: of a fault that both report, the surer one.

    It stays at the place of the rule, by which it is known.
    """
    together = list(matches)
    for loaded, new in seen:
        number = next((at for at, (rule, old) in enumerate(matches) if rule is loaded and _is_one(old, new)), None)
        if number is None:
            together.append((loaded, new))
            continue
        old = together[number][1]
        if isinstance(old, Match) and isinstance(new, Match) and not old.certain:
            surer = replace(new, place=old.place, places=old.places, cause=old.cause)
            together[number] = (loaded, surer if new.certain else replace(old, assumes=old.assumes or new.assumes))
    return together


def _is_one(old: Match | ConfigurationMatch, new: Match | ConfigurationMatch) -> bool:
    """Whether both are about one fault: one of them begins where the other does, or where a step to it is."""
    if not isinstance(old, Match) or not isinstance(new, Match):
        return False
    theirs = [old.place, *old.places, *(place for place, _ in old.steps)]
    return any(_covers(each, new.place) for each in theirs) or any(_covers(step, old.place) for step, _ in new.steps)


def _covers(place: object, other: Location) -> bool:
    """Whether one begins in the statement or expression that the other is; of a block only its first line counts."""
    if not isinstance(place, Location) or place.path != other.path:
        return False
    return place.line <= other.line <= (place.line if hasattr(place.node, "body") else place.end_line)
