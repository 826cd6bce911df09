"""Kill the gate at random moments, and count what it loses and leaves behind.

`python tests/process/kills.py --kills 100 --seed 1` kills `verifygate run --stage all` and `verifygate bench run` in
turn, by SIGKILL and by SIGTERM, in a small project whose tests leave a daemon. After each kill the last complete report
must be whole, and `PATIENCE` seconds later no process may live. Where a temporary folder is there then, be it beside
the reports, a run that nobody kills follows at once, and has to remove it. Linux only: orphans fall to this process.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from verifygate.base.lifeline import WARDEN
from verifygate.merge import handed_in
from verifygate.process import orphans
from verifygate.report.formats import render

PATIENCE = 2.0
"""Seconds after a kill within which everything must be gone."""
COMMANDS = (("run", "--stage", "all"), ("bench", "run"))
SIGNALS = (signal.SIGKILL, signal.SIGTERM)
WORKLOAD = Path(__file__).parent.parent / "performance" / "simulated"
CONFIGURATION = """\
[performance]
workload = "workloads:sound"
rounds = 3
rounds_max = 3
steps = 2
warmup = 1
train_steps = 3
seeds = [0, 1, 2]
profile = false
"""
SUITE = """\
import subprocess
import sys
import time


def test_starts_a_process():
    subprocess.run([sys.executable, "-S", "-c", "import time; time.sleep(0.5)"], check=True)


def test_leaves_a_daemon(tmp_path):
    (tmp_path / "file").write_text("x")
    subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(300)"], start_new_session=True)
    time.sleep(0.3)
"""


@dataclass
class Found:
    """What the kills showed."""

    wardens: bool = False
    """Whether the warden of each gate was killed with it; then nobody ends its processes."""
    kills: Counter[str] = field(default_factory=Counter)
    """By command and signal."""
    too_late: int = 0
    """Runs that had ended by themselves when their moment came; they are not counted as kills."""
    reports_lost: list[str] = field(default_factory=list)
    processes_left: list[str] = field(default_factory=list)
    folders_at_once: int = 0
    """Kills after which a temporary folder was there when the patience was over: the next run has to sweep it."""
    folders_left: list[str] = field(default_factory=list)
    """What was still there after that run, and at the very end."""

    @property
    def sound(self) -> bool:
        return not (self.reports_lost or self.processes_left or self.folders_left)

    def lines(self) -> Iterator[str]:
        for name, count in sorted(self.kills.items()):
            yield f"{count:4} x {name}"
        yield f"{self.kills.total():4} kills ({self.too_late} moments came after the end and do not count)"
        yield f"{len(self.reports_lost):4} reports lost {self.reports_lost or ''}"
        if self.wardens:
            yield "   - processes: not counted, for what ends them was killed as well"
        else:
            yield f"{len(self.processes_left):4} processes left after {PATIENCE:g} s {self.processes_left or ''}"
        yield f"{self.folders_at_once:4} kills with a temporary folder left for the next run"
        yield f"{len(self.folders_left):4} temporary folders after the next run {self.folders_left or ''}"


def make_project(folder: Path) -> Path:
    """A project with tests, a workload and a training file; its torch is a stand-in that starts at once."""
    project = Path(shutil.copytree(WORKLOAD, folder / "project", ignore=shutil.ignore_patterns("__pycache__")))
    (project / "verifygate.toml").write_text(CONFIGURATION, encoding="utf-8")
    (project / "test_suite.py").write_text(SUITE, encoding="utf-8")
    return project


def kill_often(folder: Path, kills: int, seed: int, *, wardens: bool = False) -> Found:
    """Work in `folder`, which is empty. The project, the temporary folder and the home of the runs lie in it.

    `wardens`: the warden of each gate is killed as well.
    """
    chance, found = random.Random(seed), Found(wardens)  # noqa: S311 — moments, no secrets
    project, temporary = make_project(folder), folder / "tmp"
    temporary.mkdir()
    (folder / "home").mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "HOME": str(folder / "home")}
    with orphans.fostering():
        lasts = {command: _unkilled(command, project, environment) for command in COMMANDS}
        while found.kills.total() < kills:
            number = found.kills.total()
            command = COMMANDS[number % len(COMMANDS)]
            number_of_signal = SIGNALS[number // len(COMMANDS) % len(SIGNALS)]
            gate = _started(command, project, environment)
            try:
                gate.wait(timeout=chance.uniform(0, lasts[command]))
                found.too_late += 1
            except subprocess.TimeoutExpired:
                if wardens:
                    _kill_warden_of(gate)
                gate.send_signal(number_of_signal)
                found.kills[f"{' '.join(command)}, {number_of_signal.name}"] += 1
                until = time.monotonic() + PATIENCE
                _wait(gate)
                found.reports_lost += _lost(project, number)
                while (left := _descendants()) and time.monotonic() < until:
                    time.sleep(0.05)
                if not wardens:
                    found.processes_left += left
                _end_all()  # what is left must not disturb the next run
                if _folders(project, temporary):
                    found.folders_at_once += 1
                    _unkilled(command, project, environment)
                    found.folders_left += [f"kill {number}: {name}" for name in _folders(project, temporary)]
                print(f"{found.kills.total()}/{kills}: {' '.join(command)}", file=sys.stderr, flush=True)
            _end_all()
        _unkilled(COMMANDS[0], project, environment)
        found.folders_left += _folders(project, temporary)
    return found


def _started(command: Sequence[str], project: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "verifygate", *command],
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _unkilled(command: Sequence[str], project: Path, environment: dict[str, str]) -> float:
    """How many seconds it takes when nobody kills it."""
    begun = time.monotonic()
    _started(command, project, environment).wait()
    return time.monotonic() - begun


def _wait(gate: subprocess.Popen[bytes]) -> None:
    """What does not end for a SIGTERM is a process that is left; it is killed so that the campaign goes on."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        gate.wait(timeout=PATIENCE)


def _kill_warden_of(gate: subprocess.Popen[bytes]) -> None:
    for pid in map(int, _children(gate.pid)):
        with contextlib.suppress(OSError):  # it has just ended
            if WARDEN.name.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)


def _end_all() -> None:
    """Kill all descendants: those whose parent ends become children of this process."""
    while pids := _children(os.getpid()):
        for pid in map(int, pids):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _lost(project: Path, number: int) -> list[str]:
    """What is wrong with the report under the name: it must be whole, and its pages those of its data."""
    folder = project / "reports" / "latest"
    try:
        report = handed_in(folder / "report.json")
        wrong = [name for name, text in render(report, "md").items() if (folder / name).read_text("utf-8") != text]
    except Exception as error:  # whatever it is, nobody can read the report
        return [f"kill {number}: {type(error).__name__}: {error}"]
    return [f"kill {number}: {name} is not that of report.json" for name in wrong]


def _descendants() -> list[str]:
    """The command lines of all live processes below this one; dead ones that fell to it are buried."""
    found, pending = [], _children(os.getpid())
    while pending:
        pid = pending.pop()
        try:
            state = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
            words = Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace").replace("\0", " ").strip()
        except OSError:
            continue
        if state in "ZX":
            _bury(int(pid))
            continue
        found.append(words[:120] or f"process {pid}")
        pending += _children(int(pid))
    return found


def _children(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
    except OSError:
        return []


def _bury(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.waitpid(pid, os.WNOHANG)


def _folders(project: Path, temporary: Path) -> list[str]:
    """What lies where temporary files go, and beside the reports under a temporary name."""
    return sorted(path.name for path in (*temporary.iterdir(), *(project / "reports").glob(".*")))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wardens", action="store_true", help="Kill the process that cleans up as well.")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        found = kill_often(Path(folder), asked.kills, asked.seed, wardens=asked.wardens)
    print(*found.lines(), sep="\n")
    return 0 if found.sound else 1


if __name__ == "__main__":
    sys.exit(main())
