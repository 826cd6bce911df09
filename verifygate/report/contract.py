"""The precision contract in few words: one line for each aspect that something is said of."""

from __future__ import annotations

from collections.abc import Iterator

from verifygate.base.records import record
from verifygate.model.precision_contract import DERIVED, NO_RUN, Aspect, ContractRow, Declaration, PrecisionContract
from verifygate.model.source_facts import NotFollowed

_NOTHING_SEEN = (NO_RUN, "not recorded", "")
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
        """One that holds in every run, where there is one."""
        return min(self.places, key=lambda each: bool(each.condition))

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


class ContractInWords:
    """A contract as all formats show it: rows that say something, who judges what, and what is not known."""

    def __init__(self, contract: PrecisionContract) -> None:
        self.is_there = bool(contract.rows)
        self._contract = contract

    @property
    def rows(self) -> list[ContractRow]:
        """The rows with something declared, seen, or asked for."""
        return [row for row in self._contract.rows if row.declared or row.asked or row.seen not in _NOTHING_SEEN]

    @property
    def is_asked(self) -> bool:
        """Whether a specification asks for any row."""
        return any(row.asked is not None for row in self._contract.rows)

    def values(self, row: ContractRow) -> list[Declared]:
        """The values of an aspect, those of most places first, then in order of place."""
        groups: dict[str, list[Declaration]] = {}
        for each in row.declared:
            groups.setdefault(each.value, []).append(each)
        found = [Declared(value, tuple(places)) for value, places in groups.items()]
        return sorted(found, key=lambda each: -len(each.places))

    @property
    def judged(self) -> dict[str, list[str]]:
        """What judges the drivers -> their names: `rules`, `configuration rules`, the empty text for nothing."""
        row = self._contract.row(Aspect.DRIVER)
        found: dict[str, list[str]] = {}
        for each in self.values(row) if row is not None else ():
            found.setdefault(each.first.judged_by, []).append(each.value)
        return found

    @property
    def silent(self) -> str:
        """The aspects of which nothing is said, nor named as not followed."""
        rows = [row for row in self._contract.rows if not row.asked]
        found = [row.aspect.value for row in rows if not row.declared and not row.not_followed]
        return ", ".join(found) if len(found) <= MOST_NAMED else "all else"

    @property
    def gaps(self) -> list[Gap]:
        """What could not be followed, each reason once; what of a driver is not judged is listed by itself."""
        groups: dict[tuple[Aspect, str], list[NotFollowed]] = {}
        for row in (each for each in self._contract.rows if each.aspect is not Aspect.DRIVER):
            for each in row.not_followed:
                groups.setdefault((row.aspect, each.reason), []).append(each)
        return [Gap(aspect, tuple(places)) for (aspect, _), places in groups.items()]

    @property
    def _derived_alike(self) -> dict[Aspect, list[Aspect]]:
        """Each aspect of which all is derived -> those of which the same is, in order: they are told in one line."""
        groups: dict[tuple[str, ...], list[Aspect]] = {}
        for row in self.rows:
            if row.declared and not row.asked and all(each.said_by == DERIVED for each in row.declared):
                groups.setdefault(tuple(each.value for each in self.values(row)), []).append(row.aspect)
        return {aspect: found for found in groups.values() for aspect in found}

    def text_lines(self, *, listed: bool = True) -> Iterator[tuple[str, str]]:
        """(label, text) of each line, about a dozen at most; unless `listed`, rows that are not there go unsaid."""
        joined, told = self._derived_alike, set[Aspect]()
        for row in self.rows:
            if row.aspect in told:
                continue
            alike = joined.get(row.aspect, [])
            told.update(alike)
            if len(alike) > 1:
                shown = self.values(row)[:MOST_VALUES]
                values = "; ".join(_in_words(each) for each in shown)
                yield "derived", f"{', '.join(each.value for each in alike)}: {values}"
                continue
            shown = self.values(row)
            parts = [_in_words(each) for each in shown[:MOST_VALUES]]
            if (more := len(shown) - MOST_VALUES) > 0:
                parts.append(f"and {more} more")
            yield row.aspect.value, "; ".join(parts)
        for by, names in self.judged.items():
            if by != "rules":
                yield ("judged" if by else "not judged"), f"{', '.join(names)}{f', by {by}' if by else ''}"
        found = self.gaps
        for each in found[:MOST_GAPS]:
            first, others = each.first, f" and {each.more} more" if each.more else ""
            yield "not followed", f"{first.path}:{first.line}{others}: {each.aspect.value}: {first.reason}"
        if (rest := len(found) - MOST_GAPS) > 0:
            yield "", f"and {rest} more: see `--format json`"
        if self.silent and listed:
            yield "not declared", self.silent


def _in_words(each: Declared) -> str:
    more = f", and {each.more} more" if each.more else ""  # behind the condition, which is not theirs
    condition = f", {each.first.condition}" if each.first.condition else ""
    return f"{each.value} ({each.first.path}:{each.first.line}{condition}{more})"
