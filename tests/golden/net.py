"""The net: what the rules say of every program of the tests, line by line: `python tests/golden/net.py [--update]`.

Without `--update` it prints what moved against findings.tsv and ends with 1 if anything did. With it, it writes the
file and, beside it, the ledger tests/static/parity.md. What moved, and why, goes into the commit.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import ledger
from units import Unit, units

from verifygate.config.settings import StaticSettings
from verifygate.static.engine import analyse

GOLDEN = Path(__file__).parent / "findings.tsv"


class Row(NamedTuple):
    """A finding, without its words."""

    set: str
    unit: str
    path: str
    line: int
    rule: str
    severity: str
    certainty: str

    @property
    def text(self) -> str:
        return "\t".join(map(str, self))

    @classmethod
    def read(cls, text: str) -> Row:
        """The row of a line of the file."""
        one, unit, path, line, rule, severity, certainty = text.split("\t")
        return cls(one, unit, path, int(line), rule, severity, certainty)


def rows_of(unit: Unit) -> Iterator[Row]:
    """What is told of a unit. Raises AssertionError where a file of it cannot be analysed, or a rule breaks."""
    outcome = analyse(unit.sources(), StaticSettings(), merged=False, with_constructs=False)
    assert not outcome.gave_up, (unit.name, outcome.gave_up)
    for each in outcome.findings:
        yield Row(unit.set, unit.name, each.path, each.line, each.rule, each.severity.value, each.certainty.value)


def kept() -> list[Row]:
    """The rows of the file."""
    return [Row.read(line) for line in GOLDEN.read_text("utf-8").splitlines()]


def moved(old: Iterable[Row], new: Iterable[Row]) -> list[str]:
    """`-` for what is told no more, `+` for what is new; of one place, the two stand together."""
    before, now = set(old), set(new)
    changed = sorted([*((row, "-") for row in before - now), *((row, "+") for row in now - before)])
    return [f"{sign} {row.text}" for row, sign in changed]


def main() -> int:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true")
    given = parser.parse_args()
    everything = units()
    rows = sorted(row for unit in everything for row in rows_of(unit))
    old = kept() if GOLDEN.exists() else []
    changed = moved(old, rows)
    print(*changed, f"{len(rows)} findings in {len(everything)} programs; {len(changed)} lines moved", sep="\n")
    if given.update:
        GOLDEN.write_text("".join(f"{row.text}\n" for row in rows), encoding="utf-8")
        ledger.write(everything, rows)
        return 0
    return bool(changed)


if __name__ == "__main__":
    sys.exit(main())
