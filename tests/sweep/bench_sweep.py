"""What a sweep costs: with how many units it grows, with how many workers, and the second time.

    python tests/sweep/bench_sweep.py LIST [--sizes 25,50,100,200] [--workers 1,2]

Each size is that many units from the head of the list, so the list should be in no order. All figures are CPU time of
the command with all its processes, so that other work on the machine matters little; what is printed are ratios. A cost
that grows as `size ** exponent` has the exponent 1 where it is linear. Each sweep begins with an empty cache,
and the second one finds what the first one kept; `second` is the cost of the second as a part of the first.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from math import log
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import NamedTuple

from verifygate.model.sweep_report import SweepReport
from verifygate.sweep.units import read_list


class Measured(NamedTuple):
    """One size with one number of workers."""

    units: int
    files: int
    workers: int
    first: float
    second: float


def swept(units: Path, workers: int, out: Path, cache: Path) -> float:
    """The CPU seconds of one sweep with all its processes. Raises SystemExit where it wrote no report."""
    began = getrusage(RUSAGE_CHILDREN)
    words = ["sweep", str(units), "--workers", str(workers), "--out", str(out)]
    command = [sys.executable, "-m", "verifygate", *words]
    surroundings = os.environ | {"VERIFYGATE_CACHE_DIR": str(cache)}
    done = subprocess.run(command, env=surroundings, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if not (out / "sweep.json").exists():
        raise SystemExit(done.stderr)
    ended = getrusage(RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime


def measured(paths: list[str], workers: int) -> Measured:
    """A first and a second sweep. Raises SystemExit where they do not say the same."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "list").write_text("\n".join(paths) + "\n", encoding="utf-8")
        out, cache = place / "out", place / "cache"
        first = swept(place / "list", workers, out, cache)
        text = (out / "sweep.json").read_text(encoding="utf-8")
        second = swept(place / "list", workers, out, cache)
        if (out / "sweep.json").read_text(encoding="utf-8") != text:
            raise SystemExit("the second sweep says something else than the first")
    report = SweepReport.model_validate_json(text)
    return Measured(len(report.rows), sum(row.files for row in report.rows), workers, first, second)


def exponent(small: Measured, large: Measured) -> float:
    """How the cost grows with the Python files, which are what is paid for: units differ in size."""
    return log(large.first / small.first) / log(large.files / small.files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=Path)
    parser.add_argument("--sizes", default="25,50,100,200")
    parser.add_argument("--workers", default="1,2")
    given = parser.parse_args()
    paths = [unit.path for unit in read_list(given.list, str(given.list))]
    sizes, numbers = ([int(word) for word in text.split(",")] for text in (given.sizes, given.workers))
    if max(sizes) > len(paths):
        raise SystemExit(f"{given.list} has {len(paths)} units, and {max(sizes)} are asked for")
    print(f"{'units':>6}{'files':>8}{'workers':>9}{'cost':>8}{'exponent':>10}{'second':>9}")
    least: Measured | None = None
    for workers in numbers:
        before: Measured | None = None
        for size in sizes:
            now = measured(paths[:size], workers)
            least = least or now
            grown = f"{exponent(before, now):.2f}" if before else ""
            ratios = f"{now.first / least.first:>8.2f}{grown:>10}{now.second / now.first:>9.3f}"
            print(f"{now.units:>6}{now.files:>8}{now.workers:>9}{ratios}", flush=True)
            before = now


if __name__ == "__main__":
    main()
