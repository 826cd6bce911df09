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
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

    @property
    def ending(self) -> str:
        """The end in words: `exit code 1`, `killed by SIGSEGV`, `stopped after its 60 s limit`."""
        if self.timed_out:
            return f"stopped after its time limit ({self.seconds:.0f} s)"
        if self.exit_code < 0:
            return f"killed by {signal.Signals(-self.exit_code).name}"
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
    ) -> Completed:
        """Run the interpreter with `argv` in the root (or `cwd`) for at most `seconds`.

        `env` adds to the allowed environment; `python_path` goes in front of the root on the module path.
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
                    exit_code, timed_out = _wait(child, started + seconds, outputs)
                finally:
                    _kill_group(child)
            return Completed(
                argv=tuple(argv),
                exit_code=exit_code,
                timed_out=timed_out,
                seconds=time.monotonic() - started,
                stdout_tail=_tail(outputs[0]),
                stderr_tail=_tail(outputs[1]),
                output_bytes=sum(path.stat().st_size for path in outputs),
            )


def discover_interpreter(root: Path) -> Path:
    """The project's own interpreter: an active or local virtual environment that has pytest, else the gate's own."""
    places = [root / ".venv", root / "venv"]
    if active := os.environ.get("VIRTUAL_ENV"):
        places.insert(0, Path(active))
    for place in places:
        candidate = place / "bin" / "python"
        if candidate.exists() and _has_pytest(candidate):
            return candidate
    return Path(sys.executable)


def _has_pytest(interpreter: Path) -> bool:
    if interpreter == Path(sys.executable):
        return True
    return any((interpreter.parent.parent / "lib").glob("python3*/site-packages/pytest"))


def _wait(child: subprocess.Popen[bytes], deadline: float, outputs: Sequence[Path]) -> tuple[int, bool]:
    """Wait for the end, the deadline, or an output that fills the disk; the latter two stop the group."""
    while True:
        try:
            return child.wait(timeout=max(0.0, min(0.5, deadline - time.monotonic()))), False
        except subprocess.TimeoutExpired:
            flooded = sum(path.stat().st_size for path in outputs) > MAX_OUTPUT_BYTES
            if time.monotonic() < deadline and not flooded:
                continue
        _signal_group(child, signal.SIGTERM)
        try:
            child.wait(timeout=GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            _signal_group(child, signal.SIGKILL)
        return child.wait(), True


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """End whatever the child left behind in its group, and the child itself if an exception cut the wait short."""
    _signal_group(child, signal.SIGKILL)
    child.wait()


def _signal_group(child: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(child.pid, number)  # start_new_session made the child the leader: its pid is the group's
    except (ProcessLookupError, PermissionError):
        pass


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        size = file.tell()
        file.seek(max(0, size - TAIL_BYTES))
        text = file.read().decode("utf-8", "replace")
    return text if size <= TAIL_BYTES else f"[{size - TAIL_BYTES} bytes left out]\n{text}"
