"""Reports of sweeps as documents: read, put together from shards, and compared with an earlier one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from verifygate import __version__
from verifygate.base.errors import UsageError
from verifygate.base.regular_files import read_argument
from verifygate.base.strict_json import MAX_BYTES, DocumentError, parsed
from verifygate.model.sweep_report import Answer, Change, Row, SweepReport, Trend


def read_report(file: Path, shown: str) -> SweepReport:
    """The report in a file that a sweep wrote. Raises UsageError."""
    try:
        data = read_argument(file, MAX_BYTES)
        parsed(data)  # two values of one name are refused
        return SweepReport.model_validate_json(data)
    except DocumentError as error:
        remedy = "name a sweep.json that this version wrote"
        raise UsageError(f"is no report of a sweep: {error}", where=shown, remedy=remedy) from None
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=shown, remedy="name a sweep.json") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the document"
        problem = f"is no report of a sweep: {place}: {first['msg']}"
        raise UsageError(problem, where=shown, remedy="name a sweep.json that this version wrote") from None


def costs_of(report: SweepReport) -> dict[str, float]:
    """Unit -> the CPU seconds that its analysis took."""
    return {row.name: row.seconds for row in report.rows if row.seconds}


def merged(parts: Sequence[tuple[str, SweepReport]]) -> SweepReport:
    """One report of shards, each with the name of its file. Raises UsageError where they are not shards of one list.

    A unit that is in none of them gets a row that says so.
    """
    first_file, first = parts[0]
    rows: dict[str, tuple[str, Row]] = {}
    for file, part in parts:
        if part.listed != first.listed:
            raise UsageError(f"is of another list than {first_file}", where=file, remedy="sweep one list")
        if part.tool_version != first.tool_version:
            problem = f"is of verifygate {part.tool_version}, and {first_file} of {first.tool_version}"
            raise UsageError(problem, where=file, remedy="sweep all shards with one version")
        for row in part.rows:
            if row.name in rows:
                raise UsageError(
                    f"`{row.name}` stands in {rows[row.name][0]} as well",
                    where=file,
                    remedy="make all shards from the same list and the same --against",
                )
            rows[row.name] = (file, row)
    if foreign := rows.keys() - set(first.listed):
        raise UsageError(f"`{min(foreign)}` is not in its own list", where=first_file, remedy="sweep again")
    missing = Row(name="", answer=Answer.UNKNOWN, reason="it is in none of the merged shards")
    return SweepReport(
        tool_version=first.tool_version,
        listed=first.listed,
        rows=tuple(
            rows[name][1] if name in rows else missing.model_copy(update={"name": name}) for name in first.listed
        ),
    )


def report_of(listed: Sequence[str], rows: Sequence[Row], shard: str = "") -> SweepReport:
    """The report of the rows of a sweep by this version."""
    return SweepReport(tool_version=__version__, listed=tuple(listed), rows=tuple(rows), shard=shard)


def against(report: SweepReport, old: SweepReport) -> SweepReport:
    """The report with what changed since an earlier one."""
    before = {row.name: row for row in old.rows}
    left = () if report.shard else tuple(name for name in old.listed if name not in set(report.listed))
    mine = [row for row in old.rows if not report.shard or row.name in {each.name for each in report.rows}]
    trend = Trend(
        tool_version=old.tool_version,
        changes=tuple(_change(row, before.get(row.name)) for row in report.rows),
        left=left,
        rules=dict(sorted(Counter(fault.rule for row in mine for fault in row.faults).items())),
    )
    return report.model_copy(update={"trend": trend})


def _change(row: Row, old: Row | None) -> Change:
    """How a unit changed. A fault is new where one of its locations is, and gone where all of them are."""
    if old is None:
        return Change(name=row.name)
    if not (row.key and old.key):  # nothing is known of one of them
        return Change(name=row.name, before=old.answer)
    known = {each for fault in old.faults for each in fault.fingerprints}
    now = {each for fault in row.faults for each in fault.fingerprints}
    return Change(
        name=row.name,
        before=old.answer,
        new=sum(not known.issuperset(fault.fingerprints) for fault in row.faults),
        gone=sum(now.isdisjoint(fault.fingerprints) for fault in old.faults),
    )


def exit_code(report: SweepReport) -> int:
    """2 where something is not known of a unit, else 1 where one is blocked, else 0."""
    if any(row.answer is Answer.UNKNOWN or row.not_analysed for row in report.rows):
        return 2
    return 1 if any(row.answer is Answer.BLOCK for row in report.rows) else 0
