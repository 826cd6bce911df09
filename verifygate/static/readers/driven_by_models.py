"""Who drives a program that trains through a model of the project: its events say it, and no line of the source."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from verifygate.base.records import replace
from verifygate.events.record import Kind
from verifygate.model.precision_contract import OF_CODE, Aspect, ContractRow, Declaration, PrecisionContract
from verifygate.static.analysis_result import contract_row
from verifygate.static.machine.call import Library
from verifygate.static.machine.programs import Run
from verifygate.static.readers.contract_cells import FOLLOWED
from verifygate.static.symbols.program import Program

Driven = tuple[Aspect, Declaration]
"""What a run says of driver or loss scale at a backward."""


def through_models(program: Program, libraries: Iterable[Library]) -> dict[str, str]:
    """File -> the framework that its program imports, of those that the project has a model of."""
    modelled = [name for each in libraries for name in each.replaced]
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


def driven(run: Run, through: dict[str, str]) -> Iterator[Driven]:
    """What the backwards of a program that trains through a model say."""
    framework = through.get(run.outcome.entry.path, "")
    events = [each.event for each in run.events] if framework else []
    regions = any(each.kind is Kind.REGION_ENTER and each.in_region is not False for each in events)
    for event in events:
        words = [*(["autocast"] if regions else []), *(["GradScaler"] if event.scaled else [])]
        if event.kind is Kind.BACKWARD and words:
            said = Declaration(value="GradScaler", path=event.file, line=event.line, note=FOLLOWED)
            yield Aspect.DRIVER, replace(said, value=f"{framework}: {' and '.join(words)}")
            if event.scaled:
                yield Aspect.LOSS_SCALE, said


def with_drivers(contract: PrecisionContract, said: Iterable[Driven]) -> PrecisionContract:
    """The contract, with what runs say at a place instead of what the source says there."""
    found: dict[Aspect, dict[tuple[str, int], Declaration]] = {}
    for aspect, each in said:
        found.setdefault(aspect, {})[each.path, each.line] = each
    rows = contract.rows
    if not rows and found:
        rows = tuple(contract_row(aspect, (), ()) for aspect in OF_CODE)
    return replace(contract, rows=tuple(_row(row, found[row.aspect]) if row.aspect in found else row for row in rows))


def _row(row: ContractRow, known: dict[tuple[str, int], Declaration]) -> ContractRow:
    said = [known.get((each.path, each.line), each) for each in row.declared]
    gaps = [each for each in row.not_followed if (each.path, each.line) not in known]
    return contract_row(row.aspect, {*said, *known.values()}, gaps)
