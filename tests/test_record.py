"""Records are values: equal by what they hold, of one hash then, and nothing but their fields fits into them."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

import pytest

from verifygate.base.records import field, record, replace


@record
class Pair:
    left: int
    right: str = "r"
    aside: int = field(default=0, compare=False)


@record
class Other:
    left: int
    right: str = "r"


@record(eq=False, frozen=False, slots=False)
class Heap:
    found: list[int] = field(default_factory=list)
    most: int = 3

    @cached_property
    def total(self) -> int:
        return sum(self.found)


@record(kw_only=True, guarded=True)
class Shared:
    names: tuple[str, ...] = ()
    count: int


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


def test_a_fresh_default_is_each_records_own() -> None:
    """What is given stands in its place, and so does a given nothing."""
    one, other = Heap(), Heap()
    one.found.append(1)
    one.most = 4
    assert (one.found, one.most, one.total) == ([1], 4, 1)
    assert (other.found, other.most) == ([], 3)
    assert Heap([7]).total == 7
    assert Heap(found=None).found is None  # type: ignore[arg-type]


def test_a_record_by_identity_is_equal_to_itself_alone() -> None:
    """One that changes, or that holds whole trees, is nothing to compare."""
    assert Heap() != Heap()
    assert len({Heap(), Heap()}) == 2


def test_a_guarded_record_refuses_to_be_changed() -> None:
    """Type checkers do not see what strangers do with it."""
    one = Shared(count=2)
    for change in (lambda: setattr(one, "count", 3), lambda: delattr(one, "count")):
        with pytest.raises(AttributeError, match="a Shared stays as it was made"):
            change()
    assert one == Shared(names=(), count=2)
    assert dataclasses.replace(one, count=3) == replace(one, count=3) == Shared(count=3)


@pytest.mark.parametrize(
    "wrong", [lambda: Pair(), lambda: Pair(1, "r", 0, 4), lambda: Shared((), 1), lambda: Shared(more=1)]
)
def test_what_does_not_fit_the_fields_is_refused(wrong: Any) -> None:
    """As Python refuses arguments."""
    with pytest.raises(TypeError, match=r"^(Pair|Shared)\.__init__\(\) "):
        wrong()


def test_a_default_before_what_has_none_is_refused() -> None:
    """When the first one is made: its `__init__` is no Python."""

    @record
    class Wrong:
        left: int = 0
        right: int  # type: ignore[misc]

    with pytest.raises(SyntaxError):
        Wrong(1, 2)


def test_whoever_asks_is_told_of_a_dataclass() -> None:
    """Its fields, with what they are when nothing is given."""
    assert [dataclasses.is_dataclass(each) for each in (Pair, Heap, Shared, Mark)] == [True] * 4
    assert dataclasses.asdict(Shared(names=("a",), count=1)) == {"names": ("a",), "count": 1}
    fields = {
        each.name: each for each in (*dataclasses.fields(Pair), *dataclasses.fields(Heap), *dataclasses.fields(Shared))
    }
    assert (fields["left"].default, fields["right"].default, fields["aside"].compare) == (
        dataclasses.MISSING,
        "r",
        False,
    )
    assert fields["found"].default_factory is list
    assert (fields["count"].type, fields["count"].kw_only) == ("int", True)
