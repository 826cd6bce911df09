"""The contract of programs with the rows filled that their source does not declare, from a run on the machine.

What the source declares stays as it is. A row that it leaves open gets what the events of the programs say: the dtype
of the weights that a step trains, of the loss that a backward begins at, of what is saved. Who drives a program through
a framework that the project has a model of is known from a run alone: there its events stand for what the source says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from verifygate.base.records import replace
from verifygate.model.precision_contract import Aspect, ContractRow, PrecisionContract
from verifygate.static.analysis_result import contract_row
from verifygate.static.machine.call import Library
from verifygate.static.machine.core import Limits
from verifygate.static.machine.programs import runs_of
from verifygate.static.readers.contract_cells import Cell, cells
from verifygate.static.readers.driven_by_models import driven, through_models, with_drivers
from verifygate.static.symbols.program import Program

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


def filled(contract: PrecisionContract, program: Program, libraries: Sequence[Library]) -> PrecisionContract:
    """The same contract, with what a run with these libraries shows in the rows of which nothing is declared."""
    through = through_models(program, libraries)
    if not through and not any(_is_open(row) for row in contract.rows):
        return contract
    files = {*_trained_by(contract, program), *through}
    paths = [file.path for file in program.sources if file.path in files and not file.is_test]
    runs = list(runs_of(program, paths, libraries, Limits(steps=_STEPS), _STEPS_OF_ALL))
    contract = with_drivers(contract, [each for run in runs for each in driven(run, through)])
    found = cells(runs)
    return replace(contract, rows=tuple(_row(row, found) if _is_open(row) else row for row in contract.rows))


def _is_open(row: ContractRow) -> bool:
    return row.aspect in _FILLED and not row.declared


def _trained_by(contract: PrecisionContract, program: Program) -> set[str]:
    """The files of the programs that a driver is in."""
    driver = contract.row(Aspect.DRIVER)
    if driver is None:
        return set()
    places = {*(each.path for each in driver.declared), *(each.path for each in driver.not_followed)}
    return {path for each in places if each.endswith(".py") for path in program.import_graph.together(each)}


def _row(row: ContractRow, found: Iterable[Cell]) -> ContractRow:
    """What is known of an open row. A gap stays, unless the line it is at is known now."""
    known = [each for each in found if each.aspect is row.aspect and each.dtypes]
    places = {(each.place.path, each.place.line) for each in known}
    gaps = [each for each in row.not_followed if (each.path, each.line) not in places]
    return contract_row(row.aspect, [each.declaration for each in known], gaps)
