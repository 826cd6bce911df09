"""Clean up after a gate that was killed. Started by its path, once for each gate, with the standard library alone.

It reads orders from its standard input, one line of JSON each: `mark` and `folder` of a run that begins, or `over` with
the mark of one that has ended. When the gate is gone it kills the processes of the runs that were not over, found by
the variable that marks them and by descent, and removes their folders.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

POLL_SECONDS = 0.2
ROUNDS = 50


def read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def alive(marks: set[bytes]) -> set[int]:
    """Ids of the processes that bear one of the marks, or descend from one that does."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    parents: dict[int, int] = {}
    for pid in pids:
        fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        if len(fields) > 1 and fields[0] not in (b"Z", b"X"):
            parents[pid] = int(fields[1])
    found = {pid for pid in parents if marks & set(read(f"/proc/{pid}/environ").split(b"\0"))}
    more = found
    while more:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        found |= more
    return found - {os.getpid()}


def clean(runs: Sequence[dict[str, str]]) -> None:
    """End the processes of the runs, and remove their folders."""
    marks = {run["mark"].encode() for run in runs}
    for _ in range(ROUNDS):
        if not (left := alive(marks)):
            break
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(POLL_SECONDS / 4)
    for run in runs:
        if run["folder"]:
            shutil.rmtree(run["folder"], ignore_errors=True)


def obey(runs: dict[str, dict[str, str]], lines: Sequence[bytes]) -> None:
    """Keep those runs in `runs` that have begun and are not over."""
    for order in map(json.loads, lines):
        if "over" in order:
            runs.pop(order["over"], None)
        else:
            runs[order["mark"]] = order


def main() -> None:
    """Listen until the gate is gone, and then to the end of what it said.

    A gate can be killed before this process has started, so its orders are read although it is gone. Nobody waits for
    the end of the input then: a forked copy of the gate may keep it open.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    gate, rest = int(sys.argv[1]), b""
    runs: dict[str, dict[str, str]] = {}
    while True:
        lives = os.getppid() == gate  # asked first: what a gate said that is gone by now has arrived
        if select.select([0], [], [], POLL_SECONDS if lives else 0)[0]:
            heard = os.read(0, 65536)
            *lines, rest = (rest + heard).split(b"\n")
            obey(runs, lines)
            if not heard:
                break
        elif not lives:
            break
    if runs:
        clean(list(runs.values()))


if __name__ == "__main__":
    main()
