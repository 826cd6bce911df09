"""The contract of programs with the rows filled that their source does not declare, from a run on the machine.

What the source declares stays as it is. A row that it leaves open gets what the events of the programs say: the dtype
of the weights that a step trains, of the loss that a backward begins at, of what is saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from verifygate.base.records import replace
from verifygate.model.precision_contract import Aspect, ContractRow, Declaration, PrecisionContract
from verifygate.static.analysis_result import contract_row
from verifygate.static.machine.core import Limits
from verifygate.static.machine.libraries import LIBRARIES
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


def filled(contract: PrecisionContract, program: Program) -> PrecisionContract:
    """The same contract, with what a run shows in the rows of which nothing is declared."""
    if not any(_is_open(row) for row in contract.rows):
        return contract
    found = cells(_within(runs_of(program, _trained_by(contract, program), LIBRARIES, Limits(steps=_STEPS))))
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


def _within(runs: Iterable[Run]) -> Iterator[Run]:
    """The runs that the budget allows."""
    taken = 0
    for each in runs:
        yield each
        taken += each.outcome.steps
        if taken >= _STEPS_OF_ALL:
            return


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
