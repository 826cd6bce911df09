"""The net: what the rules say of every program of the tests is in the tree, and nothing moves unseen."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import ledger
from net import Row, kept, moved, rows_of
from trees import kind_of
from units import NEWER, Label, Unit, units


@pytest.fixture(scope="module")
def everything() -> list[Unit]:
    return units()


@pytest.fixture(scope="module")
def rows(everything: list[Unit]) -> list[Row]:
    return sorted(row for unit in everything for row in rows_of(unit))


def test_nothing_moved(rows: list[Row]) -> None:
    """`python tests/golden/net.py --update` writes what is told now; the commit says why it moved."""
    changed = moved(kept(), rows)
    assert not changed, "\n".join(["`python tests/golden/net.py --update`:", *changed])


def test_net_is_wide(everything: list[Unit]) -> None:
    """No set has come away: a net with a hole holds nothing."""
    names = [(unit.set, unit.name) for unit in everything]
    assert len(names) == len(set(names))
    wide = {"cases": 1050, "found": 92, "found3": 72, "modern": 122, "others": 100}
    assert {
        name: sum(unit.set == name for unit in everything) >= least for name, least in wide.items()
    } == dict.fromkeys(wide, True)


def test_ledger_is_as_generated(everything: list[Unit]) -> None:
    """The page says what the rows and the labels say."""
    assert ledger.PAGE.read_text("utf-8") == ledger.page(ledger.before(), ledger.figures(everything, kept()))


def test_no_rule_is_worse_without_a_reason(everything: list[Unit]) -> None:
    """A reason stands for each figure that is worse, and for none that is not."""
    assert ledger.worse(ledger.before(), ledger.figures(everything, kept())) == sorted(ledger.reasons())


RIGHT = Unit("modern", "a/right", Path(), is_right=True)
FAULTY = Unit("cases", "AMP201/bad.py", Path(), (Label(("AMP201",), frozenset({3}), "bad.py"),))
TOLD = Row("cases", "AMP201/bad.py", "bad.py", 3, "AMP201", "critical", "certain")


def test_a_move_is_seen() -> None:
    """A line, a certainty, a finding more or less: each is a line of what moved."""
    likely, below = TOLD._replace(certainty="likely"), TOLD._replace(line=4)
    assert moved([TOLD], [TOLD]) == []
    assert moved([TOLD], [likely]) == [f"- {TOLD.text}", f"+ {likely.text}"]
    assert moved([TOLD], [TOLD, below]) == [f"+ {below.text}"]
    assert Row.read(TOLD.text) == TOLD


def test_what_is_worse() -> None:
    """An expected finding that is gone, and one that blocks a right program."""
    before = ledger.figures([FAULTY, RIGHT], [TOLD])
    blocks = Row("modern", "a/right", "train.py", 1, "AMP305", "high", "certain")
    assert ledger.worse(before, ledger.figures([FAULTY, RIGHT], [TOLD])) == []
    assert ledger.worse(before, ledger.figures([FAULTY, RIGHT], [blocks])) == ["AMP201 cases", "AMP305 false"]


@pytest.mark.parametrize(
    ("rule", "severity", "label", "met"),
    [
        ("AMP201", "critical", Label(("AMP201",), frozenset({3})), True),
        ("AMP201", "critical", Label(("AMP201",), frozenset({4})), False),
        ("AMP201", "critical", Label(("AMP201",), frozenset({3}), "other.py"), False),
        ("KEY102", "critical", Label(("KEY*",)), True),
        ("AMP707", "medium", Label((NEWER,)), True),
        ("AMP201", "critical", Label((NEWER,)), False),
    ],
)
def test_label_is_met(rule: str, severity: str, label: Label, met: bool) -> None:
    assert ledger.meets(TOLD._replace(rule=rule, severity=severity), label) is met


def test_reasons_are_counted_by_kind() -> None:
    """Names and numbers are what differs between two of a kind."""
    assert kind_of("process_batch calls itself") == kind_of("step calls itself")
    assert kind_of("whether `unet`, which is half, is stepped here") == "whether _, which is half, is stepped here"
