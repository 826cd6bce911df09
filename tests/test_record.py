"""Records are values: equal by what they hold, of one hash then, and nothing but their fields fits into them."""

from __future__ import annotations

from dataclasses import field, replace

import pytest

from verifygate.record import record


@record
class Pair:
    left: int
    right: str = "r"
    aside: int = field(default=0, compare=False)


@record
class Other:
    left: int
    right: str = "r"


@record
class Mark:
    """Holds nothing."""


def test_records_are_equal_where_all_that_is_compared_is() -> None:
    """Of the same class: another one with the same values is another thing."""
    assert Pair(1) == Pair(1, "r", aside=7)
    assert len({Pair(1), Pair(1, aside=7), Pair(2), Pair(1, "s")}) == 3
    assert Pair(1) != Pair(2)
    assert Pair(1) != Other(1)
    assert Mark() == Mark()
    assert len({Mark(), Mark()}) == 1
    assert Mark() != Other(1)


def test_a_record_changes_by_becoming_another() -> None:
    """`replace` makes one, with the rest as it was; what is no field cannot be set."""
    assert replace(Pair(1, aside=3), left=2) == Pair(2)
    assert replace(Pair(1, aside=3), left=2).aside == 3
    with pytest.raises(AttributeError):
        Pair(1).more = 1  # type: ignore[attr-defined]


def test_a_record_shows_what_it_is_known_by() -> None:
    """In a failed assertion, say."""
    assert repr(Pair(1)) == "Pair(left=1, right='r')"
    assert repr(Mark()) == "Mark()"
