"""Recall on faults put into somebody's training code: each that `run --mutate` knows, one at a time.

    python tests/static/seed_faults.py FOLDER... [--each N] [--limit BYTES]

A fault counts as found where `check` has a finding of its rule that it has not without the fault, as told otherwise
where it has another new one. What a file already has findings of is not broken once more. Some
moves break nothing where they are made (an update that another one follows): all of them found is not to be expected.
What was missed is named on stderr, the Markdown table is on stdout.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter, defaultdict
from pathlib import Path

from verifygate.config.rule_selection import RuleSelection
from verifygate.mutation import OPERATORS, Move, mutants_of
from verifygate.sources.discovery import read_sources
from verifygate.sources.tree import Sources
from verifygate.static.engine import analyse

Told = set[tuple[str, str]]
"""Path and rule of findings."""


def told(sources: Sources) -> Counter[tuple[str, str]]:
    found = analyse(sources, RuleSelection(), with_constructs=False).findings
    return Counter((each.path, each.rule) for each in found)


def moves_of(sources: Sources, each: int) -> list[Move]:
    """So many moves of each kind for one project, the first ones."""
    constructs = analyse(sources, RuleSelection()).constructs
    taken: dict[str, list[Move]] = defaultdict(list)
    for move in mutants_of(sources, constructs):
        if not move.same_code and len(taken[move.operator.name]) < each:
            taken[move.operator.name].append(move)
    return [move for moves in taken.values() for move in moves]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="+", type=Path)
    parser.add_argument("--each", type=int, default=1, help="faults of a kind for each folder")
    parser.add_argument("--limit", type=int, default=2_000_000, help="leave out folders with more bytes of source")
    options = parser.parse_args()
    made: Counter[str] = Counter()
    found: Counter[str] = Counter()
    otherwise: Counter[str] = Counter()
    for folder in options.folder:
        sources = read_sources(folder, ["."])
        if sum(file.size for file in sources) > options.limit or not any(file.mentions_amp for file in sources):
            continue
        before = told(sources)
        for move in moves_of(sources, options.each):
            name, place = move.operator.name, (move.path, move.operator.rule)
            if before[place]:
                continue
            after = told(move.sources(sources))
            new = {rule for _, rule in after - before}
            made[name] += 1
            found[name] += move.operator.rule in new
            otherwise[name] += bool(new) and move.operator.rule not in new
            if move.operator.rule not in new:
                print(f"{folder.name} {move.path}:{move.line} {name}: {sorted(new)}", file=sys.stderr, flush=True)
    print("| Fault | Rule | Made | Found | By another rule |")
    print("|---|---|---|---|---|")
    for operator in OPERATORS:
        name = operator.name
        print(f"| {operator.title} | {operator.rule} | {made[name]} | {found[name]} | {otherwise[name]} |")
    print(f"| all | | {made.total()} | {found.total()} | {otherwise.total()} |")
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
