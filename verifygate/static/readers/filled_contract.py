"""The contract of programs with the rows filled that their source does not declare, from a run on the machine.

What the source declares stays as it is. A row that it leaves open gets what the events of the programs say: the dtype
of the weights that a step trains, of the loss that a backward begins at, of what is saved.
"""

from __future__ import annotations

from collections.abc import Iterable

from verifygate.base.records import replace
from verifygate.model.precision_contract import Aspect, ContractRow, Declaration, PrecisionContract
from verifygate.static.analysis_result import contract_row
from verifygate.static.machine.core import Limits
from verifygate.static.machine.libraries import LIBRARIES
from verifygate.static.machine.programs import runs_of
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


def filled(contract: PrecisionContract, program: Program) -> PrecisionContract:
    """The same contract, with what a run shows in the rows of which nothing is declared."""
    if not any(_is_open(row) for row in contract.rows):
        return contract
    trained_by, limits = _trained_by(contract, program), Limits(steps=_STEPS)
    found = cells(runs_of(program, trained_by, LIBRARIES, limits, _STEPS_OF_ALL))
    return replace(contract, rows=tuple(_row(row, found) if _is_open(row) else row for row in contract.rows))


def _is_open(row: ContractRow) -> bool:
    return row.aspect in _FILLED and not row.declared


def _trained_by(contract: PrecisionContract, program: Program) -> list[str]:
    """The files of the programs that a driver is in; tests train for themselves."""
    driver = contract.row(Aspect.DRIVER)
    if driver is None:
        return []
    places = {*(each.path for each in driver.declared), *(each.path for each in driver.not_followed)}
    files = {path for each in places if each.endswith(".py") for path in program.import_graph.together(each)}
    return [file.path for file in program.sources if file.path in files and not file.is_test]


def _row(row: ContractRow, found: Iterable[Cell]) -> ContractRow:
    """What is known of an open row. A gap stays, unless the line it is at is known now."""
    known = [each for each in found if each.aspect is row.aspect and each.dtypes]
    said = map(_declaration, known)
    places = {(each.place.path, each.place.line) for each in known}
    return contract_row(row.aspect, said, [each for each in row.not_followed if (each.path, each.line) not in places])


def _declaration(cell: Cell) -> Declaration:
    return Declaration(
        value=" or ".join(sorted(cell.dtypes)),
        path=cell.place.path,
        line=cell.place.line,
        note=FOLLOWED,
        condition=cell.condition,
    )


def agreeing_with(contract: PrecisionContract, said: Iterable[Cell]) -> PrecisionContract:
    """The same contract, with these cells in the row of weights, and in rows that declare anything else than they say.

    A finding rests on them, and must not contradict a row.
    """
    found = [each for each in said if each.dtypes]
    rows = tuple(_with(row, [each for each in found if each.aspect is row.aspect]) for row in contract.rows)
    return replace(contract, rows=rows)


def _with(row: ContractRow, found: list[Cell]) -> ContractRow:
    if not found or (row.aspect is not Aspect.WEIGHTS and all(each.said_by == "derived" for each in row.declared)):
        return row
    known = {(each.path, each.line): each.value for each in row.declared}
    added = [_declaration(each) for each in found]
    added = [each for each in added if each.value not in known.get((each.path, each.line), "")]
    places = {(each.place.path, each.place.line) for each in found}
    gaps = (each for each in row.not_followed if (each.path, each.line) not in places)
    return contract_row(row.aspect, [*row.declared, *added], gaps)
