"""Start the audited project's processes: its interpreter, a clean environment, limits, and the death of the group.

This is the only place that starts a process of the project. Output goes to files, never to pipes, so a grandchild
that outlives its parent cannot hold the gate up; when the child ends or its time is over, its whole group is killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

PASSED_ON = frozenset(
    "PATH HOME USER LOGNAME SHELL LANG LC_ALL LC_CTYPE TZ TMPDIR TEMP TMP CI SYSTEMROOT VIRTUAL_ENV LD_LIBRARY_PATH "  # noqa: SIM905
    "OMP_NUM_THREADS MKL_NUM_THREADS CUDA_VISIBLE_DEVICES CUDA_HOME NVIDIA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES "
    "ROCR_VISIBLE_DEVICES".split()
)
"""Environment variables that a project's process inherits. Anything else (tokens, PYTEST_ADDOPTS, PYTHONPATH, ...)
could leak a secret or bend the run, so it stays out."""

ALWAYS = {
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONUNBUFFERED": "1",
    "WANDB_MODE": "offline",
    "WANDB_SILENT": "true",
    "NO_COLOR": "1",
}
TAIL_BYTES = 16 * 1024
GRACE_SECONDS = 3.0
POLL_SECONDS = 0.05
MAX_OUTPUT_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Completed:
    """How a process ended. `exit_code` is negative for a signal (-9 is SIGKILL), as in `subprocess`."""

    argv: tuple[str, ...]
    exit_code: int
    timed_out: bool
    seconds: float
    stdout_tail: str
    stderr_tail: str
    output_bytes: int
    limit_seconds: float = 0.0
    """The time limit it ran under."""
    flooded: bool = False
    """Whether it was stopped because it wrote more than the gate keeps."""

    @property
    def ending(self) -> str:
        """The end in words, the same for the same end: `exit code 1`, `killed by SIGSEGV`, `stopped at its ...`."""
        if self.flooded:
            return f"stopped after more than {MAX_OUTPUT_BYTES // 1024 // 1024} MiB of output"
        if self.timed_out:
            return f"stopped at its time limit of {self.limit_seconds:g} s"
        if self.exit_code < 0:
            return f"killed by {_signal_name(-self.exit_code)}"
        return f"exit code {self.exit_code}"


@dataclass(frozen=True)
class Subject:
    """The audited project as something that can be run."""

    root: Path
    interpreter: Path

    def run(
        self,
        argv: Sequence[str],
        *,
        seconds: float,
        env: Mapping[str, str] | None = None,
        python_path: Sequence[Path] = (),
        cwd: Path | None = None,
        stop: threading.Event | None = None,
    ) -> Completed:
        """Run the interpreter with `argv` in the root (or `cwd`) for at most `seconds`.

        `env` adds to the allowed environment; `python_path` goes in front of the root on the module path. Setting
        `stop` from another thread ends the process early, as the time limit would.
        Raises OSError where the interpreter cannot be started.
        """
        command = (str(self.interpreter), *argv)
        environment = {name: value for name, value in os.environ.items() if name in PASSED_ON} | ALWAYS
        environment["PYTHONPATH"] = os.pathsep.join(str(path) for path in (*python_path, self.root))
        environment |= env or {}
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="verifygate-") as folder:
            outputs = Path(folder, "stdout"), Path(folder, "stderr")
            with outputs[0].open("wb") as out, outputs[1].open("wb") as err:
                child = subprocess.Popen(
                    command,
                    cwd=cwd or self.root,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                )
                try:
                    end = _watch(child, started + seconds, outputs, stop)
                finally:
                    exit_code = _kill_group(child)
            return Completed(
                argv=tuple(argv),
                exit_code=exit_code,
                timed_out=end is _End.LATE,
                seconds=time.monotonic() - started,
                stdout_tail=_tail(outputs[0]),
                stderr_tail=_tail(outputs[1]),
                output_bytes=_written(outputs),
                limit_seconds=seconds,
                flooded=end is _End.FLOODED,
            )


def discover_interpreter(root: Path) -> Path:
    """The project's own interpreter: an active or local virtual environment that has pytest, else the gate's own.

    An active environment is somebody's choice, so it goes before `.venv` and `venv` in the root; unless it is the one
    that the gate itself is installed in, which says nothing about the project.
    """
    places = [root / ".venv", root / "venv"]
    active = os.environ.get("VIRTUAL_ENV")
    if active and Path(active).resolve() != Path(sys.prefix).resolve():
        places.insert(0, Path(active))
    for place in places:
        candidate = place / "bin" / "python"
        if os.access(candidate, os.X_OK) and _has_pytest(candidate):
            return candidate
    return Path(sys.executable)


def _has_pytest(interpreter: Path) -> bool:
    return any((interpreter.parent.parent / "lib").glob("python3*/site-packages/pytest"))


class _End(Enum):
    OWN = "it ended by itself"
    LATE = "its time was over"
    FLOODED = "it wrote more than the gate keeps"


def _watch(
    child: subprocess.Popen[bytes], deadline: float, outputs: Sequence[Path], stop: threading.Event | None
) -> _End:
    """Wait for the end, the deadline, a call to stop, or an output that fills the disk; the last three stop the group.

    The child is not reaped here: as long as it is a zombie, the system cannot give its id to somebody else's group.
    """
    while not _ended(child):
        late = time.monotonic() >= deadline or (stop is not None and stop.is_set())
        if late or _written(outputs) > MAX_OUTPUT_BYTES:
            _signal_group(child, signal.SIGTERM)
            patience = time.monotonic() + GRACE_SECONDS
            while not _ended(child) and time.monotonic() < patience:
                time.sleep(POLL_SECONDS)
            return _End.LATE if late else _End.FLOODED
        time.sleep(max(0.0, min(POLL_SECONDS, deadline - time.monotonic())))
    return _End.OWN


def _ended(child: subprocess.Popen[bytes]) -> bool:
    if not hasattr(os, "waitid"):  # macOS before Python 3.13: the id is free a moment earlier there
        return child.poll() is not None
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill_group(child: subprocess.Popen[bytes]) -> int:
    """End whatever is left of the child's group, and only then reap the child. Returns its exit code."""
    _signal_group(child, signal.SIGKILL)
    return child.wait()


def _signal_group(child: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(child.pid, number)  # start_new_session made the child the leader: its pid is the group's
    except (ProcessLookupError, PermissionError):
        pass


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _written(outputs: Sequence[Path]) -> int:
    return sum(path.stat().st_size for path in outputs)


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        size = file.tell()
        file.seek(max(0, size - TAIL_BYTES))
        text = file.read().decode("utf-8", "replace")
    return text if size <= TAIL_BYTES else f"[{size - TAIL_BYTES} bytes left out]\n{text}"
