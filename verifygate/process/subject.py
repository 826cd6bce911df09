"""Start the audited project's processes: its interpreter, a clean environment, limits, and the death of the group.

This is the only place that starts a process of the project. Output goes to files, never to pipes, so a grandchild
that outlives its parent cannot hold the gate up; when the child ends or its time is over, its whole group is killed,
and what left the group as well (verifygate/process/orphans.py).
"""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from verifygate.base import answer_store
from verifygate.base.clean_start import projects_path
from verifygate.base.lifeline import temporary_folder, watched
from verifygate.base.regular_files import MIB, open_regular, read_regular
from verifygate.process import orphans
from verifygate.process.isolation import (
    LAYERS,
    MOST_BYTES,
    Confinement,
    Isolation,
    Reach,
    Started,
    bury,
    confinement,
    granted,
)
from verifygate.process.orphans import Family
from verifygate.process.trusted import State, state_of

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
OPTIONS = ("--check-hash-based-pycs", "always")
"""The interpreter's own. Bytecode may say that it need not be compared with its source, and a tree may bring such."""
MODULE_PATH = "VERIFYGATE_MODULE_PATH"
"""What `instrument/start.py` puts in front of the module path; it has this name too."""
HEAD_BYTES = 2 * 1024
TAIL_BYTES = 16 * 1024
GRACE_SECONDS = 3.0
POLL_SECONDS = 0.05
MAX_OUTPUT_BYTES = 64 * 1024 * 1024
COUNT_SECONDS = 0.5
"""How often the processes of a run are counted, where their number is limited."""


@dataclass(frozen=True)
class Limits:
    """What each process of a run may take, in bytes, and how many of them there may be at once. None is no limit.

    Linux only: elsewhere they do not hold.
    """

    memory: int | None = None
    """Address space."""
    file: int | None = None
    """Size of a file that it writes."""
    processes: int | None = None


UNLIMITED = Limits()


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
    crowded: int = 0
    """The limit of processes, where it was stopped because it had more at once."""
    isolated: tuple[str, ...] = ()
    """Names of the layers of isolation that held, of `isolation.LAYERS`."""
    left_behind: tuple[str, ...] = ()
    """Command lines of processes that outlived it and had to be ended; on Linux only."""

    @property
    def ending(self) -> str:
        """The end in words, the same for the same end: `exit code 1`, `killed by SIGSEGV`, `stopped at its ...`."""
        if self.flooded:
            return f"stopped after more than {MAX_OUTPUT_BYTES // 1024 // 1024} MiB of output"
        if self.crowded:
            return f"stopped with more than {self.crowded} processes at once"
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
    passed_on: tuple[str, ...] = ()
    """Further environment variables that its processes inherit."""
    isolation: str = Isolation.OFF
    """How far its processes are kept away from the machine: a value of `Isolation`."""
    guarded: tuple[Path, ...] = ()
    """What confined processes must not change, beside what the gate trusts: the folder of reports."""
    copy_of: Path | None = None
    """The project, where the root is a copy of it that links to its files."""

    def run(
        self,
        argv: Sequence[str],
        *,
        seconds: float,
        env: Mapping[str, str] | None = None,
        python_path: Sequence[Path] = (),
        cwd: Path | None = None,
        stop: threading.Event | None = None,
        limits: Limits = UNLIMITED,
        tell: Callable[[str], object] | None = None,
        safe_path: bool = False,
        given: bytes = b"",
        answers: Sequence[Path] = (),
    ) -> Completed:
        """Run the interpreter with `argv` in the root (or `cwd`) for at most `seconds`.

        `env` adds to the allowed environment; where it names no `TMPDIR`, that is a folder which goes with the run.
        `python_path` goes in front of the root on the module path. Setting `stop` from another thread ends the process
        early, as the time limit would. `tell` gets each line that it writes, on either stream, while it runs. With
        `safe_path` nothing of the project is on the module path while the interpreter starts: `instrument/start.py`
        puts it there, after its own modules are loaded. `given` is what the process reads from its standard input.
        `answers` are folders where the gate finds or hears its answers: a confined process writes there for good.
        Raises OSError where the interpreter cannot be started, or where isolation is required and does not hold.
        """
        command = (str(self.interpreter), *OPTIONS, *argv)
        inherited = PASSED_ON.union(self.passed_on)
        environment = {name: value for name, value in os.environ.items() if name in inherited} | ALWAYS
        environment["PATH"] = self._path()
        module_path = os.pathsep.join(str(path) for path in (*python_path, self.root))
        environment[MODULE_PATH if safe_path else "PYTHONPATH"] = module_path
        environment[orphans.MARK] = mark = secrets.token_hex(8)
        started = time.monotonic()
        with (
            temporary_folder() as folder,
            watched(f"{orphans.MARK}={mark}"),
            orphans.fostering(),
            tempfile.TemporaryFile() as asked,
        ):
            asked.write(given)
            asked.seek(0)
            own = Path(folder, "tmp")
            own.mkdir()
            environment |= {"TMPDIR": str(own)} | dict(env or {})
            outputs = Path(folder, "stdout"), Path(folder, "stderr")
            reach = self.reach(cwd, [own, *answers], python_path)
            confined = self._confined(reach, Path(folder, "private"), limits)
            with outputs[0].open("wb") as out, outputs[1].open("wb") as err:
                child = subprocess.Popen(
                    (*confined.prefix, *command) if confined else command,
                    cwd=cwd or self.root,
                    env=environment,
                    stdin=asked if given else subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                    pass_fds=confined.pass_fds if confined else (),
                )
                family, end, started_as = Family(child.pid, mark), _End.LATE, Started()
                readers = tuple(_Reader(path, tell) for path in outputs) if tell is not None else ()
                left: tuple[str, ...] = ()
                with orphans.known(child.pid):
                    try:
                        if confined:
                            started_as = confined.started()
                            family = replace(family, program=started_as.program, keeper=started_as.keeper)
                        else:
                            _limit(child, limits)
                        end = _watch(child, started + seconds, outputs, stop, family, limits.processes, readers)
                        left = _left_behind(family, end)
                    finally:
                        if confined:
                            confined.over()
                        exit_code = _kill(child, family)
                        if "gate" not in started_as.held:
                            answer_store.forget(answer_store.RUNS)  # it could write them
                        for each in readers:
                            each.read(final=True)
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
                crowded=(limits.processes or 0) if end is _End.CROWDED else 0,
                isolated=started_as.held,
                left_behind=left,
            )

    def copied(self, root: Path) -> Subject:
        """The project as a copy of it in another folder, which may link to the project's files."""
        return replace(self, root=root, copy_of=self.copy_of or self.root)

    def reach(self, cwd: Path | None = None, answers: Sequence[Path] = (), python_path: Sequence[Path] = ()) -> Reach:
        """The places that a confined process of the project gets to."""
        named = (Path(os.environ.get(name, "")) for name in self.passed_on)
        environments = (each.parent.parent for each in (self.interpreter, self.interpreter.resolve()))
        return Reach(
            self.root,
            written=(cwd,) if cwd and cwd != self.root else (),
            answers=tuple(answers),
            copied=tuple(path for path in named if path.is_absolute() and path.is_dir()),
            shown=(*environments, *python_path, *([self.copy_of] if self.copy_of else [])),
            guarded=self.guarded,
            passed_on=self.passed_on,
        )

    def layers(self, wanted: Isolation | None = None) -> tuple[str, ...]:
        """The layers of isolation that this machine grants to its processes."""
        return granted(wanted or Isolation(self.isolation), self.reach())

    def trusted_state(self) -> State:
        """How what the gate trusts is now, as far as nothing keeps the project's processes from it."""
        return state_of(self.root, whole="gate" not in self.layers())

    def _confined(self, reach: Reach, store: Path, limits: Limits) -> Confinement | None:
        """What its processes are started through, if anything."""
        if self.isolation == Isolation.OFF or sys.platform != "linux":
            return None
        wanted = Isolation(self.isolation)
        if wanted.is_whole:
            most = _by_number(replace(limits, file=limits.file or MOST_BYTES))
            return confinement(wanted, reach, store, limits=most, needed=tuple(LAYERS))
        return confinement(wanted, reach, store, limits=_by_number(limits), granted=self.layers())

    def _path(self) -> str:
        """Where its processes look for programs: first in its environment, as where that is active."""
        programs, path = self.interpreter.parent, projects_path()
        return f"{programs}{os.pathsep}{path}" if (programs.parent / "pyvenv.cfg").is_file() else path


def discover_interpreter(root: Path) -> Path:
    """The project's own interpreter: an active virtual environment, or a local one that has torch or pytest, else the
    gate's own.

    An active environment is somebody's choice, so it goes before `.venv` and `venv` in the root, whatever it lacks;
    unless it is the one that the gate itself is installed in, which says nothing about the project.
    """
    active = os.environ.get("VIRTUAL_ENV")
    if active and Path(active).resolve() != Path(sys.prefix).resolve():
        chosen = Path(active) / "bin" / "python"
        if os.access(chosen, os.X_OK):
            return chosen
    for place in (root / ".venv", root / "venv"):
        candidate = place / "bin" / "python"
        if os.access(candidate, os.X_OK) and (_has(candidate, "torch") or _has(candidate, "pytest")):
            return candidate
    return Path(sys.executable)


def _has(interpreter: Path, package: str) -> bool:
    """Also where the environment sees the packages of the Python that it was made with."""
    environment = interpreter.parent.parent
    places = [environment]
    with contextlib.suppress(OSError, UnicodeDecodeError):
        said = read_regular(environment / "pyvenv.cfg", MIB).decode()
        told = dict(re.findall(r"^([\w-]+)\s*=\s*(.*?)\s*$", said, re.MULTILINE))
        if told.get("include-system-site-packages", "").lower() == "true" and told.get("home"):
            places += [Path(told["home"]).parent, Path(told["home"]).parent / "local"]
    return any(True for place in places for _ in (place / "lib").glob(f"python3*/*-packages/{package}"))


class _End(Enum):
    OWN = "it ended by itself"
    LATE = "its time was over"
    FLOODED = "it wrote more than the gate keeps"
    CROWDED = "it had too many processes"


def _watch(
    child: subprocess.Popen[bytes],
    deadline: float,
    outputs: Sequence[Path],
    stop: threading.Event | None,
    family: Family,
    most: int | None,
    readers: Sequence[_Reader] = (),
) -> _End:
    """Wait for the end; or stop the group at the deadline, when told to, for too much output or too many processes.

    The child is not reaped here: as long as it is a zombie, the system cannot give its id to somebody else's group.
    """
    count_at = time.monotonic()
    while not _ended(child):
        end = None
        for each in readers:
            each.read()
        if time.monotonic() >= deadline or (stop is not None and stop.is_set()):
            end = _End.LATE
        elif _written(outputs) > MAX_OUTPUT_BYTES:
            end = _End.FLOODED
        elif most is not None and time.monotonic() >= count_at:
            count_at = time.monotonic() + COUNT_SECONDS
            end = _End.CROWDED if family.size > most else None
        if end is not None:
            _signal_group(family.groups[-1], signal.SIGTERM)
            patience = time.monotonic() + GRACE_SECONDS
            while not _ended(child) and time.monotonic() < patience:
                time.sleep(POLL_SECONDS)
            return end
        time.sleep(max(0.0, min(POLL_SECONDS, deadline - time.monotonic())))
    return _End.OWN


class _Reader:
    """Passes on what a process writes to a file, line by line, while it writes."""

    def __init__(self, path: Path, tell: Callable[[str], object]) -> None:
        self._path = path
        self._tell = tell
        self._position = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def read(self, *, final: bool = False) -> None:
        """Pass on what has come since."""
        with open_regular(self._path) as file:
            file.seek(self._position)
            data = file.read(MAX_OUTPUT_BYTES)
        self._position += len(data)
        *whole, self._rest = re.split(r"\r\n|\r|\n", self._rest + self._decoder.decode(data, final))
        for line in (*whole, self._rest) if final and self._rest else whole:
            self._tell(line)


def _limit(child: subprocess.Popen[bytes], limits: Limits) -> None:
    """Set the limits of the child, which its own children inherit; and that none leaves a core file behind."""
    if sys.platform != "linux":
        return
    import resource

    for kind, most in _by_number(limits).items():
        try:
            resource.prlimit(child.pid, kind, (most, most))
        except (OSError, ValueError):  # it ended already, or a stricter limit stands
            continue


def _by_number(limits: Limits) -> dict[int, int]:
    """Those that the kernel knows, by its numbers."""
    import resource

    wanted = {resource.RLIMIT_CORE: 0, resource.RLIMIT_AS: limits.memory, resource.RLIMIT_FSIZE: limits.file}
    return {kind: most for kind, most in wanted.items() if most is not None}


def _left_behind(family: Family, end: _End) -> tuple[str, ...]:
    """Command lines of what outlives the child. Where the gate itself stopped the group, only what had left that."""
    if end is _End.OWN:
        return tuple(sorted(process.name for process in family.stragglers()))
    outside = [process for process in family.members() if process.group not in family.groups]
    return tuple(sorted(process.name for process in outside))


def _ended(child: subprocess.Popen[bytes]) -> bool:
    if not hasattr(os, "waitid"):  # macOS before Python 3.13: the id is free a moment earlier there
        return child.poll() is not None
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill(child: subprocess.Popen[bytes], family: Family) -> int:
    """End whatever is left of the child's group and family, and only then reap the child. Returns its exit code."""
    for group in family.groups:
        _signal_group(group, signal.SIGKILL)
    if family.keeper:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # only then it falls to the gate
        bury(family.keeper, family.program)
    family.end()
    return child.wait()


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
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
    """What was written: all of it, or its first and its last bytes and how many were between them."""
    with open_regular(path) as file:
        size = file.seek(0, os.SEEK_END)
        left_out = size - HEAD_BYTES - TAIL_BYTES
        if left_out <= 0:
            file.seek(0)
            return file.read().decode("utf-8", "replace")
        file.seek(0)
        head = file.read(HEAD_BYTES).decode("utf-8", "replace")
        file.seek(-TAIL_BYTES, os.SEEK_END)
        return f"{head}\n[{left_out} bytes left out]\n{file.read().decode('utf-8', 'replace')}"
