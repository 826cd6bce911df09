"""Whether the answer depends on the order in which files and rules are looked at.

    python tests/static/orders.py FOLDER... [--orders NAME...]

Each folder is analysed in the order of paths, and again in each other order; findings that differ are printed, and the
exit code is 1 then. The order of paths is the one that a user gets, wherever the files come from. Under another order,
another rule or file is the first to ask what an expression may be: no answer may rest on that, or a file that is
renamed, or a rule that is left out, changes what is said of another file.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

from verifygate.config.rule_selection import RuleSelection
from verifygate.model import Finding
from verifygate.sources.discovery import read_sources
from verifygate.sources.tree import Sources
from verifygate.static import engine, part_analysis
from verifygate.static.analysis import Analysis
from verifygate.static.registry import chosen
from verifygate.static.symbols.program import Program

Item = TypeVar("Item")
Order = Callable[[Sequence[Item]], list[Item]]


def backwards(items: Sequence[Item]) -> list[Item]:
    """The last one first."""
    return list(reversed(items))


def shuffled(seed: int) -> Order[Any]:
    """In an order that looks like none, and is the same on each run."""
    return lambda items: random.Random(seed).sample(list(items), len(items))  # noqa: S311 - to have many orders


FILE_ORDERS: Mapping[str, Order[Any]] = {
    "files backwards": backwards,
    "files shuffled": shuffled(1),
    "files shuffled again": shuffled(2),
}
RULE_ORDERS: Mapping[str, Order[Any]] = {"rules backwards": backwards, "rules shuffled": shuffled(3)}


@contextmanager
def in_order(sources: Sources, name: str) -> Iterator[None]:
    """Look at the files, or at the rules, in the order of that name while the context lasts."""
    by_file, by_rule = FILE_ORDERS.get(name, list), RULE_ORDERS.get(name, list)
    built = Analysis.__init__

    def reordered(analysis: Analysis, program: Program, *rest: Any) -> None:
        program.picked = dict(by_file(list(program.picked.items())))
        built(analysis, program, *rest)

    def rules(*given: Any) -> dict[str, Any]:
        return dict(by_rule(list(chosen(*given).items())))

    files = sources.files
    sources.files = tuple(by_file(files))
    try:
        with patch.object(Analysis, "__init__", reordered), patch.object(part_analysis, "chosen", rules):
            yield
    finally:
        sources.files = files


def found_in(sources: Sources, order: str = "") -> set[Finding]:
    """The findings in an order; without one, in the order of paths."""
    with in_order(sources, order):
        found = set(engine.analyse(sources, RuleSelection(), with_constructs=False).findings)
    gc.collect()  # frames and values hold each other
    return found


def differing(sources: Sources, order: str, expected: set[Finding]) -> list[str]:
    """What is found in one of the orders alone, a line for each."""
    found = found_in(sources, order)
    return sorted(
        f"{sign} {each.path}:{each.line} {each.rule} {each.certainty.value}: {each.message} "
        + "; ".join(f"{step.path}:{step.line} {step.text}" for step in each.steps)
        for sign, those in (("-", expected - found), ("+", found - expected))
        for each in those
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    orders = [*FILE_ORDERS, *RULE_ORDERS]
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--orders", nargs="+", choices=orders, default=orders)
    given = parser.parse_args()
    depends = False
    for folder in given.folders:
        sources = read_sources(folder, ["."])
        expected = found_in(sources)
        for order in given.orders:
            lines = differing(sources, order, expected)
            depends |= bool(lines)
            print(f"{folder.name}, {order}: {len(lines)} differ, of {len(expected)}", *lines, sep="\n  ", flush=True)
    return int(depends)


if __name__ == "__main__":
    sys.exit(main())
