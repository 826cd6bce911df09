"""Hand units to an executor and collect a row for each of them: none is lost, and none stands there twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from typing import NamedTuple

from pydantic import ValidationError

from verifygate import __version__
from verifygate.base.errors import UsageError
from verifygate.model.sweep_report import Row
from verifygate.sweep.answering import answer, unknown
from verifygate.sweep.executors import Executors
from verifygate.sweep.units import Unit


class Answered(NamedTuple):
    """A unit, its row, and whether that is an answer of an earlier sweep."""

    unit: Unit
    row: Row
    kept: bool


def answer_all(
    units: Sequence[Unit], executors: Executors, costs: Mapping[str, float], tell: Callable[[Answered, int], None]
) -> tuple[Row, ...]:
    """A row for each unit, in their order. `tell` hears of each as it comes, and how many are there.

    Costly units go first, so that none of them begins when the others are through. Where workers die and take the
    executor with them, another one is made for what is left, as long as that brings any answer.
    """
    rows: dict[str, Row] = {}
    left = dearest_first(units, costs)
    why = ""
    while left:
        before = len(rows)
        try:
            with executors() as executor:
                for unit, given in _results(executor, left):
                    if isinstance(given, str):
                        answered = _answered(unit, given)
                        rows[unit.name] = answered.row
                        tell(answered, len(rows))
                    else:
                        why = f"{type(given).__name__}: {given}"
        except UsageError as error:  # no executor: what was answered before is not lost with it
            if not rows:
                raise
            why = str(error)
        left = [unit for unit in left if unit.name not in rows]
        if len(rows) == before:
            break
    for unit in left:
        rows[unit.name] = unknown(unit, f"no worker lived long enough to answer it: {why}")
        tell(Answered(unit, rows[unit.name], kept=False), len(rows))
    return tuple(rows[unit.name] for unit in units)


def _results(executor: Executor, units: Iterable[Unit]) -> Iterator[tuple[Unit, str | Exception]]:
    """The text that each call returned, as they come, or what went wrong with the executor."""
    futures: dict[Future[str], Unit] = {}
    for unit in units:
        try:
            futures[executor.submit(answer, unit)] = unit
        except RuntimeError as error:  # it broke while it was being filled
            yield unit, error
    for future in as_completed(futures):
        try:
            yield futures[future], future.result()
        except Exception as error:
            yield futures[future], error


def _answered(unit: Unit, text: str) -> Answered:
    """A row as this version knows it: a worker of another version has other rules."""
    try:
        said = json.loads(text)
        version, kept = said["version"], bool(said["kept"])
        if version != __version__:
            return Answered(unit, unknown(unit, f"its worker runs verifygate {version}, not {__version__}"), kept=False)
        return Answered(unit, Row.model_validate_json(json.dumps(said["row"])), kept)
    except (ValueError, KeyError, TypeError, ValidationError):
        return Answered(unit, unknown(unit, "its worker gave no row that this version knows"), kept=False)


def dearest_first(units: Sequence[Unit], costs: Mapping[str, float]) -> list[Unit]:
    """By recorded cost; a unit without one counts as the average, and equal ones stay in the order of the list."""
    average = _average(costs)
    return sorted(units, key=lambda unit: -costs.get(unit.name, average))


def share(units: Sequence[Unit], number: int, of: int, costs: Mapping[str, float]) -> tuple[Unit, ...]:
    """One of `of` parts of about one cost, counted from 1, in the order of the list: all parts together are the list.

    Each unit, the dearest first, goes to the part that has least so far. The parts fit together where all are made
    from the same list and the same recorded costs. Raises UsageError.
    """
    if not 1 <= number <= of:
        raise UsageError(
            f"there is no part {number} of {of}", where="--shard", remedy="write for example `--shard 1/4`"
        )
    average = _average(costs)
    sums, counts = [0.0] * of, [0] * of
    mine: set[str] = set()
    for unit in dearest_first(units, costs):
        least = min(range(of), key=lambda part: (sums[part], counts[part]))
        sums[least] += costs.get(unit.name, average)
        counts[least] += 1
        if least == number - 1:
            mine.add(unit.name)
    return tuple(unit for unit in units if unit.name in mine)


def _average(costs: Mapping[str, float]) -> float:
    return sum(costs.values()) / len(costs) if costs else 1.0
