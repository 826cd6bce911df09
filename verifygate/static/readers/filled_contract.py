"""The contract of programs with the rows filled that their source does not declare, from a run on the machine.

What the source declares stays as it is. A row that it leaves open gets what the events of the programs say: the dtype
of the weights that a step trains, of the loss that a backward begins at, of what is saved. Who drives a program through
a framework that the project has a model of is known from a run alone: there its events stand for what the source says.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from verifygate.base.records import replace
from verifygate.events.record import Kind
from verifygate.model.precision_contract import OF_CODE, Aspect, ContractRow, Declaration, PrecisionContract
from verifygate.static.analysis_result import contract_row
from verifygate.static.machine.call import Library
from verifygate.static.machine.core import Limits
from verifygate.static.machine.programs import Run, runs_of
from verifygate.static.readers.contract_cells import Cell, cells
from verifygate.static.symbols.program import Program

FOLLOWED = "an abstract run of the program"
_STEPS = 40_000
"""Of one entry."""
_STEPS_OF_ALL = 100_000
"""Some seconds. What is not begun by then stays open."""
_FILLED = (
    Aspect.WEIGHTS,
    Aspect.COMPUTE,
    Aspect.GRADIENTS,
    Aspect.REDUCTION,
    Aspect.OPTIMIZER_STATE,
    Aspect.LOSS,
    Aspect.CHECKPOINT,
    Aspect.EVALUATION,
)


def filled(contract: PrecisionContract, program: Program, libraries: Iterable[Library]) -> PrecisionContract:
    """The same contract, with what a run with these libraries shows in the rows of which nothing is declared."""
    given = tuple(libraries)
    through = _through_models(program, tuple(name for each in given for name in each.replaced))
    if not through and not any(_is_open(row) for row in contract.rows):
        return contract
    files = {*_trained_by(contract, program), *through}
    paths = [file.path for file in program.sources if file.path in files and not file.is_test]
    runs = list(runs_of(program, paths, given, Limits(steps=_STEPS), _STEPS_OF_ALL))
    driven = _driven(runs, through)
    if not contract.rows and driven:
        contract = replace(contract, rows=tuple(contract_row(aspect, (), ()) for aspect in OF_CODE))
    found = cells(runs)
    rows = (_row(row, found) if _is_open(row) else _driven_row(row, driven) for row in contract.rows)
    return replace(contract, rows=tuple(rows))


def _is_open(row: ContractRow) -> bool:
    return row.aspect in _FILLED and not row.declared


def _trained_by(contract: PrecisionContract, program: Program) -> set[str]:
    """The files of the programs that a driver is in."""
    driver = contract.row(Aspect.DRIVER)
    if driver is None:
        return set()
    places = {*(each.path for each in driver.declared), *(each.path for each in driver.not_followed)}
    return {path for each in places if each.endswith(".py") for path in program.import_graph.together(each)}


def _through_models(program: Program, modelled: tuple[str, ...]) -> dict[str, str]:
    """File -> the framework that its program imports, of those that the project has a model of."""
    found: dict[str, str] = {}
    for file in program.sources:
        names = [each for each in modelled if each.partition(".")[0].encode() in file.data]
        module = program.module(file.path) if names else None
        for node in ast.walk(module.tree) if module is not None else ():
            imported = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            imported += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                if any(f"{each}.".startswith(f"{name}.") for each in imported):
                    found |= dict.fromkeys(program.import_graph.together(file.path), name)
    return found


def _driven(runs: Iterable[Run], through: dict[str, str]) -> dict[Aspect, dict[tuple[str, int], Declaration]]:
    """What the backwards of programs that train through a model say of driver and loss scale, by their places."""
    found: dict[Aspect, dict[tuple[str, int], Declaration]] = {Aspect.DRIVER: {}, Aspect.LOSS_SCALE: {}}
    for run in runs:
        framework = through.get(run.outcome.entry.path, "")
        events = [each.event for each in run.events]
        regions = any(each.kind is Kind.REGION_ENTER and each.in_region is not False for each in events)
        for event in events if framework else ():
            words = [*(["autocast"] if regions else []), *(["GradScaler"] if event.scaled else [])]
            if event.kind is Kind.BACKWARD and words:
                place = (event.file, event.line)
                said = Declaration(value="", path=event.file, line=event.line, note=FOLLOWED)
                by = f"{framework}: {' and '.join(words)}"
                found[Aspect.DRIVER][place] = replace(said, value=by)
                if event.scaled:
                    found[Aspect.LOSS_SCALE][place] = replace(said, value="GradScaler")
    return found


def _driven_row(row: ContractRow, driven: dict[Aspect, dict[tuple[str, int], Declaration]]) -> ContractRow:
    """The row with what a run shows at a place instead of what the source says there."""
    known = driven.get(row.aspect)
    if not known:
        return row
    said = [known.get((each.path, each.line), each) for each in row.declared]
    gaps = [each for each in row.not_followed if (each.path, each.line) not in known]
    return contract_row(row.aspect, {*said, *known.values()}, gaps)


def _row(row: ContractRow, found: Iterable[Cell]) -> ContractRow:
    """What is known of an open row. A gap stays, unless the line it is at is known now."""
    known = [each for each in found if each.aspect is row.aspect and each.dtypes]
    said = [
        Declaration(
            value=" or ".join(sorted(each.dtypes)),
            path=each.place.path,
            line=each.place.line,
            note=FOLLOWED,
            condition=each.condition,
        )
        for each in known
    ]
    places = {(each.place.path, each.place.line) for each in known}
    return contract_row(row.aspect, said, [each for each in row.not_followed if (each.path, each.line) not in places])
