"""A sweep of which nothing goes wrong, and one of which a worker is killed midway: do they say the same?

    python tests/sweep/bench_killed_worker.py LIST [--out FOLDER]

The first sweep is the command with two worker processes; the second one is handed to a Dask scheduler with two workers,
of which one is killed with SIGKILL when half of the units are answered. Both begin with an empty cache. The reports are
compared byte for byte, but for the CPU time that each unit took. `--out` keeps both. Exit code 1: they differ.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dask_cluster import WAIT_SECONDS, cluster

from verifygate.base.cache_folder import VARIABLE
from verifygate.base.masking import masked_model
from verifygate.model.sweep_report import SweepReport
from verifygate.report.sweep import FILES
from verifygate.sweep import executors
from verifygate.sweep.reports import read_report, report_of
from verifygate.sweep.schedule import Answered, answer_all
from verifygate.sweep.units import Unit, read_list


def quiet(units: Path, out: Path, cache: Path) -> SweepReport:
    """The report of the command. Raises SystemExit where it wrote none."""
    command = [sys.executable, "-m", "verifygate", "sweep", str(units), "--workers", "2", "--out", str(out)]
    surroundings = os.environ | {VARIABLE: str(cache)}
    done = subprocess.run(command, env=surroundings, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if not (out / "sweep.json").exists():
        raise SystemExit(done.stderr)
    return read_report(out / "sweep.json", "sweep.json")


def disturbed(units: Sequence[Unit], folder: Path) -> tuple[SweepReport, list[str]]:
    """The report of the sweep that loses a worker, and the names of the units as their answers came."""
    told: list[str] = []
    with cluster(folder) as (address, workers):

        def tell(answered: Answered, number: int) -> None:
            told.append(answered.unit.name)
            if number == len(units) // 2:
                workers[0].send_signal(signal.SIGKILL)

        rows = answer_all(units, executors.dask(address), {}, tell)
        if workers[0].wait(WAIT_SECONDS) != -signal.SIGKILL:
            raise SystemExit("the worker ended before it was killed")
    return masked_model(report_of([unit.name for unit in units], rows)), told


def without_times(report: SweepReport) -> SweepReport:
    return report.model_copy(update={"rows": tuple(row.model_copy(update={"seconds": 0.0}) for row in report.rows)})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    units = read_list(given.list, str(given.list))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        out = given.out or place
        before = quiet(given.list, out / "quiet", place / "one")
        os.environ[VARIABLE] = str(place / "other")  # the workers inherit it
        after, told = disturbed(units, place)
        for name, render in FILES.items():
            (out / "killed").mkdir(parents=True, exist_ok=True)
            (out / "killed" / name).write_text(render(after), encoding="utf-8")
    rows = [row.name for row in after.rows]
    print(f"units: {len(units)}; rows: {len(rows)}; answers: {len(told)}")
    print(f"lost: {len({unit.name for unit in units} - set(told))}; doubled: {len(told) - len(set(told))}")
    same = [name for name, render in FILES.items() if render(without_times(before)) == render(without_times(after))]
    print(f"the same, but for times: {', '.join(same) or 'nothing'}")
    return 0 if same == list(FILES) and len(told) == len(set(told)) == len(units) else 1


if __name__ == "__main__":
    sys.exit(main())
