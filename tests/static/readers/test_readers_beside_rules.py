"""The readers of the machine beside today's rules, over every program of the net: what moved is written down, and why.

`moved.tsv` holds a row for each finding that one of the two has and the other has not: `+` the reader's, `-` the
rule's; whether that is better or worse, and the reason. Nothing that is worse may stay when a rule is switched.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "golden"))

from net import Row, kept
from units import Unit, units

from verifygate.static.facts.dtype_lattice import Dtype
from verifygate.static.machine.libraries import LIBRARIES
from verifygate.static.machine.programs import runs_of
from verifygate.static.readers import low_precision_accumulator as accumulator
from verifygate.static.readers import low_precision_weights as weights
from verifygate.static.readers import rounded_positions as positions
from verifygate.static.readers.all_readers import READERS, violations
from verifygate.static.rules.amp7_low_precision import amp701_low_precision_weights as amp701
from verifygate.static.rules.amp7_low_precision import amp702_low_precision_accumulator as amp702
from verifygate.static.rules.amp7_low_precision import amp703_rounded_positions as amp703
from verifygate.static.symbols.program import Program

MOVED = Path(__file__).parent / "moved.tsv"
HALF = re.compile(rb"\bhalf\b|bfloat16|float16|bf16")
"""Words without one of which no program has anything for these rules: `test_filter` holds it."""


def written() -> dict[str, tuple[str, str]]:
    """A row that moved, with its sign -> better or worse, and why."""
    rows = (line.rsplit("\t", 2) for line in MOVED.read_text("utf-8").splitlines())
    return {row: (verdict, why) for row, verdict, why in rows}


def of_readers(unit: Unit) -> set[Row]:
    """What the readers say of a unit."""
    sources = unit.sources()
    if not any(HALF.search(file.data) for file in sources):
        return set()
    program = Program(sources, {file.path: None for file in sources})
    paths = [file.path for file in sources if file.path.endswith(".py")]
    return {
        Row(
            unit.set,
            unit.name,
            each.place.path,
            each.place.line,
            each.rule,
            each.severity.value,
            "certain" if each.certain else "likely",
        )
        for each in violations(tuple(runs_of(program, paths, LIBRARIES)))
    }


@pytest.fixture(scope="module")
def rows() -> tuple[set[Row], set[Row]]:
    """What the rules say of Python files, and what the readers say."""
    old = {row for row in kept() if row.rule in READERS and row.path.endswith(".py")}
    return old, {row for unit in units() for row in of_readers(unit)}


def test_each_row_that_moved_has_a_reason(rows: tuple[set[Row], set[Row]]) -> None:
    old, new = rows
    moved = {f"-\t{row.text}" for row in old - new} | {f"+\t{row.text}" for row in new - old}
    assert moved == written().keys()
    assert {verdict for verdict, _ in written().values()} <= {"better", "worse"}


def test_what_is_found_beyond_the_rules_is_right(rows: tuple[set[Row], set[Row]]) -> None:
    """Not one row of a reader is a false alarm: it is the rule's, or it is better."""
    old, new = rows
    assert all(written()[f"+\t{row.text}"][0] == "better" for row in new - old)
    assert len(old & new) >= 45


def test_thresholds_are_those_of_the_rules() -> None:
    assert (weights.DEFAULT_RATES, weights.SMALL, weights.TINY) == (amp701._DEFAULT_RATES, amp701._SMALL, amp701._TINY)
    assert {dtype.value: least for dtype, least in amp702._ROUNDED.items()} == accumulator.ROUNDED
    assert amp702._FAR == accumulator.FAR
    assert {dtype: amp703._TOLD_APART[Dtype(dtype)] for dtype in positions.TOLD_APART} == positions.TOLD_APART


def test_filter(rows: tuple[set[Row], set[Row]]) -> None:
    """No rule says anything of a program without such a word."""
    old, _ = rows
    told = {(row.set, row.unit) for row in old}
    assert all(
        any(HALF.search(file.data) for file in unit.sources()) for unit in units() if (unit.set, unit.name) in told
    )
