"""The precision contract in few words: one line for each aspect that something is said of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verifygate.base.records import record
from verifygate.model.precision_contract import NO_RUN, Aspect, ContractRow, Declaration, PrecisionContract
from verifygate.model.source_facts import NotFollowed

MOST_VALUES = 3
MOST_GAPS = 3
MOST_NAMED = 6
"""Aspects of which nothing is said that are named one by one."""


@record
class Declared:
    """One value of an aspect, with the places that say it."""

    value: str
    places: tuple[Declaration, ...]

    @property
    def first(self) -> Declaration:
        return self.places[0]

    @property
    def more(self) -> int:
        return len(self.places) - 1


@record
class Gap:
    """One reason for which an aspect is not known, with the places."""

    aspect: Aspect
    places: tuple[NotFollowed, ...]

    @property
    def first(self) -> NotFollowed:
        return self.places[0]

    @property
    def more(self) -> int:
        return len(self.places) - 1


def values_of(row: ContractRow) -> list[Declared]:
    """The values of an aspect, those of most places first, then in order of place."""
    groups: dict[str, list[Declaration]] = {}
    for each in row.declared:
        groups.setdefault(each.value, []).append(each)
    found = [Declared(value, tuple(places)) for value, places in groups.items()]
    return sorted(found, key=lambda each: -len(each.places))


def rows_that_say(contract: PrecisionContract) -> list[ContractRow]:
    """The rows with something declared or seen."""
    return [row for row in contract.rows if row.declared or row.seen not in (NO_RUN, "not recorded", "")]


def judged(contract: PrecisionContract) -> dict[str, list[str]]:
    """What judges the drivers -> their names: `rules`, `configuration rules`, and the empty text for nothing."""
    row = contract.row(Aspect.DRIVER)
    found: dict[str, list[str]] = {}
    for each in values_of(row) if row is not None else ():
        found.setdefault(each.first.judged_by, []).append(each.value)
    return found


def unknown(contract: PrecisionContract) -> list[str]:
    """The aspects of which nothing is said, nor named as not followed."""
    return [row.aspect.value for row in contract.rows if not row.declared and not row.not_followed]


def gaps(contract: PrecisionContract) -> list[Gap]:
    """What could not be followed, each reason once; those about who drives the precision first."""
    groups: dict[tuple[Aspect, str], list[NotFollowed]] = {}
    for row in contract.rows:
        for each in row.not_followed:
            groups.setdefault((row.aspect, each.reason), []).append(each)
    return [Gap(aspect, tuple(places)) for (aspect, _), places in groups.items()]


def text_lines(contract: PrecisionContract) -> Iterator[tuple[str, str]]:
    """(label, text) of each line, at most a dozen and one."""
    for row in rows_that_say(contract):
        shown = values_of(row)
        parts = [_in_words(each) for each in shown[:MOST_VALUES]]
        if (more := len(shown) - MOST_VALUES) > 0:
            parts.append(f"and {more} more")
        seen = f"; seen: {row.seen}" if row.seen not in (NO_RUN, "not recorded", "") else ""
        yield row.aspect.value, "; ".join(parts) + seen
    for by, names in judged(contract).items():
        if by != "rules":
            yield ("judged" if by else "not judged"), f"{_listed(names)}{f', by {by}' if by else ''}"
    found = gaps(contract)
    for each in found[:MOST_GAPS]:
        first, others = each.first, f" and {each.more} more" if each.more else ""
        yield "not followed", f"{first.path}:{first.line}{others}: {each.aspect.value}: {first.reason}"
    if (rest := len(found) - MOST_GAPS) > 0:
        yield "", f"and {rest} more: see `--format json`"
    if silent := unknown(contract):
        what = _listed(silent) if len(silent) <= MOST_NAMED else "all else"
        yield "not followed", f"{what}: nothing here says it"


def _in_words(each: Declared) -> str:
    more = f" and {each.more} more" if each.more else ""
    return f"{each.value} ({each.first.path}:{each.first.line}{more})"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
