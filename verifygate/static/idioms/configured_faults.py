"""What a configuration that is a program of its own breaks, as the table of its framework says it."""

from __future__ import annotations

from collections.abc import Iterator

from verifygate.configured_precision.drivers import Driver
from verifygate.configured_precision.framework_table import Cell
from verifygate.configured_precision.setting import Setting
from verifygate.static.analysis import Analysis
from verifygate.static.rule import ConfigurationMatch


def of_drivers(code: str, analysis: Analysis) -> Iterator[ConfigurationMatch]:
    """What breaks a rule in the configurations that frameworks train by, once at each place."""
    found: dict[tuple[str, int], ConfigurationMatch] = {}
    for driver in analysis.configuration.drivers:
        for cell, is_sure in driver.faults:
            if cell.rule == code:
                place = _place(driver, cell)
                message = cell.value or cell.gap
                steps = ((place, f"what {driver.framework.name} goes by"),)
                match = ConfigurationMatch(place, message, is_sure, steps)
                if is_sure or (place.path, place.line) not in found:
                    found[place.path, place.line] = match
    yield from found.values()


def _place(driver: Driver, cell: Cell) -> Setting:
    """The line that decides a cell."""
    key, _, value = (cell.said or f"{cell.default}: ").partition(": ")
    return Setting(
        framework=driver.framework.name, aspect="precision", key=key, value=value, path=cell.path, line=cell.line,
        reach=f"{driver.launched[0]}:{driver.launched[1]} starts it" if driver.launched else "",
    )  # fmt: skip
