"""The table of faults: every test that it names is collected, and every fault is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fault_table import faults

ROOT = Path(__file__).parent.parent
FAULTS = faults()


def test_every_fault_has_one_row() -> None:
    of_machines = [fault.id for fault in FAULTS if fault.id.startswith("F")]
    of_changes = [int(fault.id.removeprefix("C")) for fault in FAULTS[len(of_machines) :]]
    assert of_machines == [f"F{number}" for number in range(1, 49)]
    assert of_changes[:8] == list(range(1, 9))
    assert of_changes == sorted(set(of_changes))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_fault_is_proved_or_says_why_not(fault) -> None:
    assert fault.tests or fault.uncovered
    assert len(set(fault.tests)) == len(fault.tests)


@pytest.mark.slow
def test_every_test_of_the_table_is_collected() -> None:
    """pytest itself is asked: a test that was renamed, moved or never collected proves nothing."""
    asked = sorted({test for fault in FAULTS for test in fault.tests})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:randomly", "-n0", *asked]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    collected = {line.partition("[")[0] for line in done.stdout.splitlines() if "::" in line}

    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert collected == set(asked)
