"""What the abstract machine costs: all scripts of a tree on one machine, over `ast.parse` of the same tree.

    python tests/static/machine/bench_machine.py FOLDER... [--steps N] [--per-line N] [--alone]

Steps are the same on every computer; the ratio is of CPU seconds in one process, without collection of garbage, as
`check` runs. `--alone` gives each script a machine of its own, and `--afresh` keeps no outcome of any call.
"""

from __future__ import annotations

import argparse
import ast
import gc
import time
from collections.abc import Iterator
from pathlib import Path

from verifygate.sources.discovery import read_sources
from verifygate.static.machine.core import Limits
from verifygate.static.machine.entries import Entry
from verifygate.static.machine.libraries import LIBRARIES
from verifygate.static.machine.machine import Machine, Outcome, given_up, run, run_entries
from verifygate.static.symbols.program import Program


def parsing(folder: Path) -> float:
    """CPU seconds of parsing every file of a tree, the best of three."""
    texts = [path.read_bytes() for path in sorted(folder.rglob("*.py"))]
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        for text in texts:
            try:
                ast.parse(text)
            except (SyntaxError, ValueError):
                continue
        best = min(best, time.process_time() - start)
    return best


def outcomes(program: Program, entries: list[Entry], given: argparse.Namespace) -> Iterator[Outcome]:
    """What each entry came to."""
    limits = Limits(steps=given.steps)
    if not (given.alone or given.afresh):
        lines = sum(file.data.count(b"\n") for file in program.sources)
        most = None if given.per_line is None else int(given.per_line * lines)
        yield from run_entries(program, entries, LIBRARIES, limits, most)
        return
    for entry in entries:
        machine = Machine(program, LIBRARIES, limits)
        machine.keeps = not given.afresh
        yield run(machine, entry)


def main() -> None:
    """Print a row of the table for each tree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--steps", type=int, default=Limits().steps, help="of one entry")
    parser.add_argument("--per-line", type=float, help="of all entries together, for each line of the tree")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--afresh", action="store_true")
    parser.add_argument("--each", action="store_true", help="a line for each script")
    given = parser.parse_args()
    gc.disable()
    print(
        "| tree | scripts | past their budget | steps | steps a second | times `ast.parse` |\n|---|---|---|---|---|---|"
    )
    for folder in given.folders:
        base = parsing(folder)
        sources = read_sources(folder, ["."])
        program = Program(sources, {file.path: None for file in sources})
        entries = [Entry(file.path) for file in sources if file.is_script]
        start = time.process_time()
        found = []
        for outcome in outcomes(program, entries, given):
            found.append(outcome)
            if given.each:
                print(f"  {outcome.steps:8} steps {len(outcome.events):7} events  {outcome.entry} {outcome.ended}")
        seconds = time.process_time() - start
        steps = sum(each.steps for each in found)
        past = sum(each.steps > given.steps for each in found)
        print(
            f"| {folder.name} | {len(entries)} | {past} | {steps:,} | {steps / seconds:,.0f} | {seconds / base:.1f} |"
        )
        for reason, count in given_up(found).items():
            print(f"  given up: {count}: {reason}")


if __name__ == "__main__":
    main()
