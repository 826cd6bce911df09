"""Start the audited project's processes: its interpreter, a clean environment, limits, and the death of the group.

This is the only place that starts a process of the project. Output goes to files, never to pipes, so a grandchild
that outlives its parent cannot hold the gate up; when the child ends or its time is over, its whole group is killed,
and what left the group as well (verifygate/process/orphans.py).
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from verifygate.base import answer_store
from verifygate.base.clean_start import projects_path
from verifygate.base.lifeline import temporary_folder, watched
from verifygate.process import orphans, supervision
from verifygate.process.isolation import (
    LAYERS,
    MOST_BYTES,
    Confinement,
    Isolation,
    Reach,
    Started,
    confinement,
    granted,
)
from verifygate.process.orphans import Family
from verifygate.process.supervision import End, Supervised, tail
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
"""What `instrument/bootstrap.py` puts in front of the module path; it has this name too."""


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
class StartOptions:
    """What a process of the project finds when it starts, where that is not as usual."""

    env: Mapping[str, str] = field(default_factory=dict)
    """Adds to the environment. Where it names no `TMPDIR`, that is a folder which is removed after the run."""
    python_path: Sequence[Path] = ()
    """Folders in front of the root on the module path."""
    cwd: Path | None = None
    """The folder it runs in; None for the root."""
    safe_path: bool = False
    """Nothing of the project is on the module path while the interpreter starts: `instrument/bootstrap.py` puts it
    there, after its own modules are loaded."""
    given: bytes = b""
    """What it reads from its standard input."""
    answers: Sequence[Path] = ()
    """Folders where the gate finds or hears its answers: a confined process writes there for good."""


AS_USUAL = StartOptions()


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
            return f"stopped after more than {supervision.MAX_OUTPUT_BYTES // 1024 // 1024} MiB of output"
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
        start: StartOptions = AS_USUAL,
        limits: Limits = UNLIMITED,
        stop: threading.Event | None = None,
        tell: Callable[[str], object] | None = None,
    ) -> Completed:
        """Run the interpreter with `argv` in the root (or `start.cwd`) for at most `seconds`.

        Setting `stop` from another thread ends the process early, as the time limit would. `tell` gets each line that
        it writes, on either stream, while it runs.
        Raises OSError where the interpreter cannot be started, or where isolation is required and does not hold.
        """
        mark = secrets.token_hex(8)
        with temporary_folder() as name, watched(f"{orphans.MARK}={mark}"), orphans.fostering():
            folder = Path(name)
            own = folder / "tmp"
            own.mkdir()
            environment = self._environment(start, mark, own)
            reach = self.reach(start.cwd, [own, *start.answers], start.python_path)
            confined = self._confined(reach, folder / "private", limits)
            command = (*(confined.prefix if confined else ()), str(self.interpreter), *OPTIONS, *argv)
            outputs = folder / "stdout", folder / "stderr"
            child = _started(command, start.cwd or self.root, environment, start.given, outputs, confined)
            process, begun = Supervised(child, Family(child.pid, mark), outputs, tell), Started()
            end = End.LATE
            left: tuple[str, ...] = ()
            with orphans.known(child.pid):
                try:
                    if confined:
                        begun = confined.started()
                        process.family = replace(process.family, program=begun.program, keeper=begun.keeper)
                    else:
                        _limit(child, limits)
                    end = process.watch(seconds, stop, limits.processes)
                    left = process.left_behind(end)
                finally:
                    if confined:
                        confined.over()
                    exit_code = process.kill()
                    if "gate" not in begun.held:
                        answer_store.forget(answer_store.RUNS)  # it could write them
            return Completed(
                argv=tuple(argv),
                exit_code=exit_code,
                timed_out=end is End.LATE,
                seconds=process.seconds,
                stdout_tail=tail(process.stdout),
                stderr_tail=tail(process.stderr),
                output_bytes=process.output_bytes,
                limit_seconds=seconds,
                flooded=end is End.FLOODED,
                crowded=(limits.processes or 0) if end is End.CROWDED else 0,
                isolated=begun.held,
                left_behind=left,
            )

    def _environment(self, start: StartOptions, mark: str, temporary: Path) -> dict[str, str]:
        """The environment of one of its processes: what it inherits, what holds for all, and what is asked for."""
        environment = self.inherited() | ALWAYS
        module_path = os.pathsep.join(str(path) for path in (*start.python_path, self.root))
        environment[MODULE_PATH if start.safe_path else "PYTHONPATH"] = module_path
        return environment | {orphans.MARK: mark, "TMPDIR": str(temporary)} | dict(start.env)

    def inherited(self) -> dict[str, str]:
        """The environment variables that its processes inherit."""
        names = PASSED_ON.union(self.passed_on)
        return {name: value for name, value in os.environ.items() if name in names} | {"PATH": self._path()}

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
        """How what the gate trusts is now, as far as nothing keeps the project's processes from it.

        Then no result is kept, and none that goes is a change.
        """
        is_open = "gate" not in self.layers()
        if is_open:
            answer_store.forget(answer_store.RUNS)
        return state_of(self.root, whole=is_open)

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


def _started(
    command: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    given: bytes,
    outputs: tuple[Path, Path],
    confined: Confinement | None,
) -> subprocess.Popen[bytes]:
    """Start a process in a group of its own. Its streams are files: standard input has what is given."""
    with tempfile.TemporaryFile() as asked, outputs[0].open("wb") as out, outputs[1].open("wb") as err:
        asked.write(given)
        asked.seek(0)
        return subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=asked if given else subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            pass_fds=confined.pass_fds if confined else (),
        )


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


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
