"""What configuration adds to a check: files that train by themselves, and those that were named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifygate.base.errors import UsageError
from verifygate.base.records import replace

if TYPE_CHECKING:
    from collections.abc import Container

    from verifygate.check.project import Asked
    from verifygate.configured_precision.drivers import Drivers
    from verifygate.model.check_report import CheckReport
    from verifygate.model.precision_contract import PrecisionContract

_REMEDY = "name the folder of its program; `verifygate docs precision-contract` says which files are read"


def with_drivers(report: CheckReport, asked: Asked) -> tuple[CheckReport, Asked, list[str]]:
    """The report, with the contract of the one configuration that trains by itself; and the paths of all that do.

    They count where no program declares a precision, and where files were named, those of which they are. What is
    asked for then includes the files that a driver names. Raises UsageError where a file was named that nothing here
    takes a precision from.
    """
    from verifygate.configured_precision.drivers import Drivers

    named = asked.settings
    if report.contract.rows and not named:
        return report, asked, []
    read = Drivers.of(asked.sources)
    drivers = [(each, {*each.files, *_paths_of(each.contract)}) for each in read.all()]
    drivers = [(each, paths) for each, paths in drivers if any(map(asked.is_asked, paths))]
    if named:
        _refuse_unread(asked, read, known=_paths_in(report).union(*(paths for _, paths in drivers)))
    if len(drivers) == 1 and (not report.contract.rows or len(named) == len(asked.scope or ())):
        report = replace(report, contract=drivers[0][0].contract)
    theirs = asked.homes.union(*(each.files for each, _ in drivers))
    return report, asked._replace(homes=theirs), [each.path for each, _ in drivers]


def moved_since(asked: Asked, commit: str, drivers: list[str]) -> tuple[str, ...]:
    """What moved since a commit, if one is named, in the contracts of the configurations that are asked for.

    Where a program declares its own precision, they count if they were named: then there are `drivers`.
    """
    from verifygate.configured_precision.drivers import Drivers, changed
    from verifygate.configured_precision.read import train
    from verifygate.sources import git

    if not commit or (not drivers and train(asked.sources)):
        return ()

    before = [each for each in git.configuration_at(asked.root, commit) if asked.is_audited(each.path)]
    then, now = (
        [each.shown(asked.as_typed or str) for each in read.all() if any(map(asked.is_asked, each.files))]
        for read in (Drivers(before), Drivers.of(asked.sources))
    )
    return tuple(changed(then, now))


def read_of(report: CheckReport, asked: Asked, drivers: list[str]) -> int:
    """How many of the named files and of the drivers were read."""
    return len({*drivers, *asked.settings} - {each.path for each in report.not_analysed})


def _refuse_unread(asked: Asked, read: Drivers, known: Container[str]) -> None:
    from verifygate.configured_precision.launches import DOCUMENTS

    for path in (each for each in asked.settings if each not in known):
        if path.endswith(DOCUMENTS):
            read.document(path)
        shown = asked.as_typed(path) if asked.as_typed is not None else path
        if (error := read.broken.get(path)) is not None:
            raise UsageError(f"cannot be read: {error}", where=f"{shown}:{error.line}", remedy="correct the file")
        raise UsageError("no program here takes a precision from it", where=shown, remedy=_REMEDY)


def _paths_in(report: CheckReport) -> set[str]:
    """Of all places that a report says something of."""
    found = {place.path for each in report.findings for place in each.locations}
    found |= {step.path for each in report.findings for step in each.steps}
    return found | {each.path for each in report.not_analysed} | _paths_of(report.contract)


def _paths_of(contract: PrecisionContract) -> set[str]:
    """Of the places that a contract names."""
    declared = {each.path for row in contract.rows for each in row.declared}
    return declared | {each.path for row in contract.rows for each in row.not_followed}
