"""The contract beside findings of an abstract run: no row may say anything else of the weights than they do."""

from __future__ import annotations

from collections.abc import Iterable

from verifygate.base.records import replace
from verifygate.model.precision_contract import Aspect, ContractRow, PrecisionContract
from verifygate.static.analysis_result import contract_row
from verifygate.static.readers.contract_cells import Cell


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
    added = [each.declaration for each in found]
    added = [each for each in added if each.value not in known.get((each.path, each.line), "")]
    places = {(each.place.path, each.place.line) for each in found}
    gaps = (each for each in row.not_followed if (each.path, each.line) not in places)
    return contract_row(row.aspect, [*row.declared, *added], gaps)
