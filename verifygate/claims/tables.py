"""Tables of numbers: total rows, weighted columns, and columns that compare before with after."""

from __future__ import annotations

import re
from collections.abc import Sequence

from verifygate.claims.ledger import Ledger
from verifygate.claims.markdown import Document, Sentence, Table
from verifygate.claims.numbers import NUMBER, Interval, Printed, printed, shown, total
from verifygate.model.claims import ClaimKind, ClaimVerdict

_TOTAL = re.compile(r"^\W*(?:grand |overall )?(?:total|sum)s?\W*$", re.IGNORECASE)
_CELL = re.compile(
    rf"^[\s*~≈$€✅❌⚠️🟢🔴🟡]*(?P<number>[-−+]?{NUMBER})(?P<unit>\s?(?:%|[A-Za-zµ]+(?:/[a-z]+)?)?)[\s*✅❌⚠️🟢🔴🟡]*$"
)
_NOTHING = re.compile(r"^[\s*]*(?:[-–—]|n/?a|none|)[\s*]*$", re.IGNORECASE)
_COUNTED = re.compile(
    r"\b(?:passed|passing|failed|failing|skipped|errors?|tests?|count|issues?|files?|lines?|loc"
    r"|critical|high|medium|low"
    r"|points|max(?:imum)?|possible|hours|cases|checks|items|findings|vulnerabilities|total|statements"
    r"|missed|functions|methods)\b",
    re.IGNORECASE,
)
"""Columns whose numbers can only be added."""
_SHRUNK = re.compile(r"reduc|decreas|less|sav|smaller|drop|fewer|lower", re.IGNORECASE)
_ADDABLE_UNIT = frozenset({"", "h", "hours", "tests", "files", "lines", "points", "pts", "loc"})
_BEFORE = r"^(?:before|baseline|old|original|previous|fp32|initial)\b"
_AFTER = r"^(?:after|new|optimi[sz]ed|current|improved|amp|fp16|final|now)\b"
_CHANGE = (
    r"^(?:improvement|change|reduction|delta|Δ|speed-?up|gain|saving|savings|difference|diff|decrease"
    r"|increase|improve)\b"
)
_FIGURE = re.compile(
    rf"^[\s*✅❌⚠️🟢🔴🟡⬆⬇↑↓️]*(?P<figure>[-−+~≈]?\s?{NUMBER})\s?(?P<unit>%|x\b|×)\s*"
    r"[a-z -]*[\s*✅❌⚠️🟢🔴🟡⬆⬇↑↓️]*$",
    re.IGNORECASE,
)


def extract(document: Document, ledger: Ledger) -> None:
    for table in document.tables:
        _totals(ledger, table)
        _weighted(ledger, table)
        _changes(ledger, table)


# --- total rows


def _totals(ledger: Ledger, table: Table) -> None:
    """The last row, where it is called a total: each column is the sum of the rows above."""
    if len(table.cells) < 3 or not table.cells[-1] or not _TOTAL.match(table.cells[-1][0]):
        return
    for column in range(1, len(table.header)):
        stated = _number(table.cells[-1], column)
        above = [row[column] if column < len(row) else "" for row in table.cells[:-1]]
        numbers = [_number(row, column) for row in table.cells[:-1]]
        units = {found["unit"].strip().lower() for cell in above if (found := _CELL.match(cell))}
        counted = _COUNTED.search(table.header[column]) and units <= _ADDABLE_UNIT
        if stated is None or any(
            n is None and not _NOTHING.match(cell) for n, cell in zip(numbers, above, strict=True)
        ):
            continue
        present = [number for number in numbers if number is not None]
        if len(present) < 2:
            continue
        _total(ledger, table, column, stated, present, counted=bool(counted))


def _total(
    ledger: Ledger, table: Table, column: int, stated: Printed, numbers: Sequence[Printed], *, counted: bool
) -> None:
    sum_ = total(number.interval for number in numbers)
    aim = stated.rounded if any(n.step < 1 for n in (stated, *numbers)) else Interval.exactly(stated.value)
    title, row = table.header[column], table.rows[-1]
    words = f"{table.cells[-1][0].strip(' *')}, {title}: {table.cells[-1][column].strip(' *')}"
    added = " + ".join(shown(number.value) for number in numbers)
    if sum_.meets(aim):
        reason = f"the rows above add up to {shown(stated.value)}"
        ledger.add(row, ClaimKind.TABLE, ClaimVerdict.CONFIRMED, reason, words=words, supports=table.rows)
    elif counted and all(number.step == 1 and not number.about for number in (*numbers, stated)):
        subtotal = any(_TOTAL.search(cells[0]) or "subtotal" in cells[0].lower() for cells in table.cells[:-1])
        verdict = ClaimVerdict.INCONCLUSIVE if subtotal else ClaimVerdict.REFUTED
        reason = f"the rows above add up to {shown(sum_.middle)} ({added}), not {shown(stated.value)}"
        ledger.add(row, ClaimKind.TABLE, verdict, reason, words=words, supports=table.rows)


def _number(cells: Sequence[str], column: int) -> Printed | None:
    found = _CELL.match(cells[column]) if column < len(cells) else None
    number = printed(found["number"].replace(" ", "")) if found else None
    return Printed(number.value, number.step, "~" in cells[column] or "≈" in cells[column]) if number else None


# --- weight, score, weighted score


def _weighted(ledger: Ledger, table: Table) -> None:
    """Each row of a table with weights: weight times score is the weighted score."""
    weight, score = table.column(r"^weight"), table.column(r"^(?:raw )?(?:score|points|grade|rating)$")
    product = table.column(r"^(?:weighted|contribution|weighted score|weighted points)$|^weighted\b")
    if weight is None or score is None or product is None or len({weight, score, product}) < 3:
        return
    for row, cells in zip(table.rows, table.cells, strict=True):
        if (
            max(weight, score, product) >= len(cells)
            or _TOTAL.match(cells[0])
            or cells[0].strip(" *").lower() in ("overall", "average")
        ):
            continue
        share, points, stated = (printed(cells[index].strip(" *")) for index in (weight, score, product))
        if share is None or points is None or stated is None:
            continue
        most = re.search(rf"/\s*({NUMBER})", cells[score])
        limit = printed(most[1]) if most else None
        product_of = share.interval * points.interval
        ways = [product_of, product_of * Interval.exactly(_HUNDREDTH)]
        if limit is not None and limit.value:
            ways += [product_of / limit.interval, product_of / limit.interval * Interval.exactly(_HUNDREDTH)]
            ways.append(product_of / limit.interval * Interval.exactly(100))
        words = " | ".join(cells)
        if any(way.meets(stated.rounded) for way in ways):
            ledger.add(row, ClaimKind.TABLE, ClaimVerdict.CONFIRMED, "weight times score is right", words=words)
        else:
            product_is = ways[1] if "%" in cells[weight] else ways[0]
            reason = f"weight times score is {shown(product_is.middle)}, not {shown(stated.value)}"
            ledger.add(row, ClaimKind.TABLE, ClaimVerdict.REFUTED, reason, words=words)


_HUNDREDTH = Interval.exactly(1).middle / 100


# --- before, after, change


def _changes(ledger: Ledger, table: Table) -> None:
    before, after, change = table.column(_BEFORE), table.column(_AFTER), table.column(_CHANGE)
    if before is None or after is None or change is None or len({before, after, change}) < 3:
        return
    for row, cells in zip(table.rows, table.cells, strict=True):
        if max(before, after, change) < len(cells):
            _change(ledger, row, table.header[change], cells[before], cells[after], cells[change])


def _change(ledger: Ledger, row: Sentence, title: str, before: str, after: str, change: str) -> None:
    first, second, figure = _CELL.match(before), _CELL.match(after), _FIGURE.match(change)
    if not first or not second or not figure or first["unit"].strip().lower() != second["unit"].strip().lower():
        return
    old, new, stated = printed(first["number"]), printed(second["number"]), printed(figure["figure"].replace(" ", ""))
    if old is None or new is None or stated is None or old.value <= 0 or new.value <= 0:
        return
    about = re.search("[~≈]", before + after) is not None
    old, new = Printed(old.value, old.step, about), Printed(new.value, new.step, about)
    words = f"{before} -> {after}: {change}"
    verdict, reason = compared(old, new, stated, figure["unit"], called=title)
    ledger.add(row, ClaimKind.DERIVED, verdict, reason, words=words)


def compared(old: Printed, new: Printed, stated: Printed, unit: str, called: str = "") -> tuple[ClaimVerdict, str]:
    """Whether a percentage, or a factor, follows from two values by any of the usual ways to compare them.

    `called` is what the report calls the figure: a reduction is a share of the old value, a change is no remainder.
    """
    aim = Printed(abs(stated.value), stated.step, stated.about).rounded
    one, percent = Interval.exactly(1), Interval.exactly(100)
    shrunk, grown = new.interval / old.interval, old.interval / new.interval
    if unit == "%":
        ways = [abs(one - shrunk) * percent, abs(new.interval - old.interval)]
        if not _SHRUNK.search(called):
            ways.append(abs(grown - one) * percent)
        if not called or "speed" in called.lower():
            ways += [shrunk * percent, grown * percent]
        natural = ways[0]
    else:
        ways = [grown, shrunk, abs(one - shrunk), abs(grown - one)]
        natural = ways[0] if old.value > new.value else ways[1]
    of = f"from {shown(old.value, 4)} to {shown(new.value, 4)}"
    mark = " %" if unit == "%" else "x"
    if any(way.meets(aim) for way in ways):
        return ClaimVerdict.CONFIRMED, f"{of} is {shown(abs(stated.value))}{mark}"
    return (
        ClaimVerdict.REFUTED,
        f"{of} is {shown(natural.middle, 1 if unit == '%' else 2)}{mark}, not {shown(abs(stated.value))}{mark}",
    )
