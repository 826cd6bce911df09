"""The process starter: limits, the group's death, the environment, output and endings."""

from __future__ import annotations

import os
import py_compile
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import cache_from_source
from pathlib import Path
from py_compile import PycInvalidationMode

import pytest
from event_clock import Clock

from verifygate.process import supervision as module
from verifygate.process.interpreter import discover_interpreter
from verifygate.process.orphans import MARK
from verifygate.process.subject import ALWAYS, PASSED_ON, Completed, Limits, StartOptions, Subject


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    return Subject(tmp_path, Path(sys.executable))


def _run(subject: Subject, code: str, *, seconds: float = 300.0, **options: object) -> Completed:
    return subject.run(["-c", code], seconds=seconds, **options)  # type: ignore[arg-type]


def _gone(pid: int) -> bool:
    """Whether the process ends within a few seconds (init may take a moment to reap it)."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


LEAVES_A_CHILD = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {child!r}])
print(child.pid)
"""
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); {there}time.sleep(600)"
IS_THERE = "import sys; sys.stdout.flush(); open('there', 'w').close()\n"
"""What a child says to the clock: now its time is up."""


def _run_until_there(subject: Subject, code: str, monkeypatch: pytest.MonkeyPatch) -> Completed:
    """Run until the limit, which is over once the child has told so."""
    monkeypatch.setattr(module, "time", Clock(subject.root / "there"))
    return _run(subject, code, seconds=600.0)


def test_the_time_limit_ends_the_child_and_its_children(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that waits for a grandchild is stopped at the limit, and the grandchild with it."""
    code = LEAVES_A_CHILD.format(child="import time; time.sleep(600)") + IS_THERE + "child.wait()"
    done = _run_until_there(subject, code, monkeypatch)
    assert (done.timed_out, done.ending) == (True, "stopped at its time limit of 600 s")
    assert _gone(int(done.stdout_tail))


def test_bytecode_that_came_with_the_tree_stands_for_no_source(subject: Subject) -> None:
    """It may be marked as one that Python need not compare with its source."""
    source, cached = subject.root / "train.py", cache_from_source(str(subject.root / "train.py"))
    source.write_text("STEP = 1\n")
    py_compile.compile(str(source), cached, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
    source.write_text("STEP = 2\n")
    assert _run(subject, "import train; print(train.STEP)").stdout_tail.strip() == "2"


def test_a_child_that_ignores_the_polite_signal_is_killed(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGTERM first, SIGKILL after the grace."""
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.2)
    done = _run_until_there(subject, DEAF.format(there="open('there', 'w').close(); "), monkeypatch)
    assert (done.timed_out, done.exit_code) == (True, -signal.SIGKILL)


def test_a_grandchild_left_behind_is_ended(subject: Subject) -> None:
    """The child ends well; what it left in its group does not survive, not even a deaf one, and nobody waits for it."""
    done = _run(subject, LEAVES_A_CHILD.format(child=DEAF.format(there="")))
    assert (done.exit_code, done.timed_out) == (0, False)
    assert _gone(int(done.stdout_tail))


def test_an_interrupt_ends_the_child_too(subject: Subject, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """When the gate itself is interrupted, nothing of the project runs on."""

    def interrupt(*_: object) -> None:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(module.Supervised, "watch", interrupt)
    with pytest.raises(KeyboardInterrupt):
        _run(subject, "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(600)")
    assert _gone(int((tmp_path / "pid").read_text()))


def test_output_is_kept_as_head_and_tail_and_counted(subject: Subject) -> None:
    """Of much output the beginning and the end are kept, and what was left out is said."""
    done = _run(subject, "print('the beginning'); print('x' * 100_000); print('the end')")
    left_out = done.output_bytes - module.HEAD_BYTES - module.TAIL_BYTES
    assert done.stdout_tail.startswith("the beginning\n")
    assert f"\n[{left_out} bytes left out]\n" in done.stdout_tail
    assert done.stdout_tail.endswith("the end\n")


def test_output_that_fills_the_disk_is_stopped(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too much output ends the run, and that is not called a time limit."""
    monkeypatch.setattr(module, "MAX_OUTPUT_BYTES", 1024 * 1024)
    done = _run(subject, "while True: print('x' * 10_000)")
    assert (done.flooded, done.timed_out) == (True, False)
    assert done.ending == "stopped after more than 1 MiB of output"


def test_only_named_variables_are_passed_on(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets, pytest's options and Python's own switches stay out; what a caller adds is in."""
    for name in ("WANDB_API_KEY", "GITHUB_TOKEN", "PYTEST_ADDOPTS", "PYTHONOPTIMIZE", "PYTHONSTARTUP"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    done = _run(subject, "import os; print(sorted(os.environ))", start=StartOptions({"MINE": "1"}))
    seen = set(eval(done.stdout_tail))  # noqa: S307 - our own child printed it
    assert {"MINE", "OMP_NUM_THREADS", "PYTHONHASHSEED"} <= seen
    assert seen <= PASSED_ON | set(ALWAYS) | {"MINE", "PYTHONPATH", MARK}


def test_the_root_is_importable_behind_the_given_path(subject: Subject, tmp_path: Path) -> None:
    """`python_path` goes in front of the root, and PYTHONPATH from outside is replaced."""
    extra = tmp_path / "extra"
    extra.mkdir()
    done = _run(subject, "import os; print(os.environ['PYTHONPATH'])", start=StartOptions(python_path=[extra]))
    assert done.stdout_tail.strip() == f"{extra}{os.pathsep}{tmp_path}"


def test_standard_input_is_closed(subject: Subject) -> None:
    """A project that asks a question gets an end of file, not the gate's terminal."""
    done = _run(subject, "import sys; print(repr(sys.stdin.read()))")
    assert done.stdout_tail == "''\n"


@pytest.mark.parametrize(
    ("code", "ending"),
    [
        ("raise SystemExit(7)", "exit code 7"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV"),
        ("import os; os.abort()", "killed by SIGABRT"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGRTMIN + 3)", f"killed by signal {signal.SIGRTMIN + 3}"),
    ],
)
def test_the_end_in_words(subject: Subject, code: str, ending: str) -> None:
    """Exit codes and signals, named where they have a name."""
    assert _run(subject, code).ending == ending


def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    """The caller hears of it as OSError."""
    with pytest.raises(OSError, match="No such file"):
        Subject(tmp_path, tmp_path / "python").run(["-c", ""], seconds=1)


def _environment(place: Path, *, with_pytest: bool) -> Path:
    packages = place / "lib" / "python3.11" / "site-packages"
    (packages / "pytest" if with_pytest else packages).mkdir(parents=True)
    (place / "bin").mkdir()
    (place / "bin" / "python").symlink_to(sys.executable)
    return place / "bin" / "python"


def test_the_projects_interpreter_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody's active environment, else one in the root that has torch or pytest, else the gate's own."""
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    assert discover_interpreter(tmp_path) == Path(sys.executable)
    programs = _environment(tmp_path / ".venv", with_pytest=False)
    assert discover_interpreter(tmp_path) == Path(sys.executable)
    local = _environment(tmp_path / "venv", with_pytest=True)
    assert discover_interpreter(tmp_path) == local
    (programs.parent.parent / "lib/python3.11/site-packages/torch").mkdir()
    assert discover_interpreter(tmp_path) == programs
    active = _environment(tmp_path / "active", with_pytest=False)  # doctor says what it lacks
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    assert discover_interpreter(tmp_path) == active


def test_the_process_leaves_no_zombie(subject: Subject) -> None:
    """Every child is reaped before `run` returns."""
    done = _run(subject, "import os; print(os.getpid())")
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout_tail), 0)


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="processes are followed on Linux only")
DAEMON = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {child!r}], start_new_session=True, env={env})
print(child.pid)
"""
SLEEPS = "import time; time.sleep(600)"


@linux_only
@pytest.mark.parametrize("env", ["None", "{}"])
def test_a_daemon_is_found_ended_and_named(subject: Subject, env: str) -> None:
    """One that left the session, with its environment or without, cannot hide; the child's own end stays what it is."""
    done = _run(subject, DAEMON.format(child=SLEEPS, env=env))
    assert (done.exit_code, done.timed_out) == (0, False)
    assert len(done.left_behind) == 1
    assert SLEEPS in done.left_behind[0]
    assert _gone(int(done.stdout_tail))


@linux_only
def test_a_daemon_of_a_run_that_is_stopped_is_named_too(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """The group dies at the limit, and the daemon with it; only the daemon counts as left behind."""
    group = LEAVES_A_CHILD.format(child=SLEEPS)
    done = _run_until_there(
        subject, DAEMON.format(child=SLEEPS, env="{}") + group + IS_THERE + "child.wait()", monkeypatch
    )
    assert (done.timed_out, len(done.left_behind)) == (True, 1)
    assert all(_gone(int(pid)) for pid in done.stdout_tail.split())


@linux_only
def test_a_daemon_of_a_daemon_is_ended(subject: Subject) -> None:
    """Two generations away, each in a session of its own and without the environment."""
    inner = DAEMON.format(child=SLEEPS, env="{}") + "sys.stdout.flush()"
    done = _run(subject, DAEMON.format(child=inner + "; child.wait()", env="{}"))
    assert len(done.left_behind) == 2
    assert all(_gone(int(pid)) for pid in done.stdout_tail.split())


@linux_only
def test_runs_at_the_same_time_leave_each_other_alone(subject: Subject) -> None:
    """A daemon belongs to the run that started it; another run that ends earlier does not touch it."""
    until = "\nimport os, time\nwhile not os.path.exists('ended'): time.sleep(0.01)\nprint(child.poll())"
    waits = DAEMON.format(child=SLEEPS, env="None") + until
    with ThreadPoolExecutor(2) as pool:
        longer = pool.submit(_run, subject, waits)
        shorter = pool.submit(_run, subject, "print(1)")
        assert shorter.result().left_behind == ()
        (subject.root / "ended").touch()
        assert longer.result().stdout_tail.split()[1] == "None"
        assert len(longer.result().left_behind) == 1


def test_a_child_that_cleans_up_leaves_nothing_behind(subject: Subject) -> None:
    """Children that end with their parent, a moment later, are no leftovers."""
    child = "import sys; open('there', 'w').close(); sys.stdin.read()"  # it ends with its parent, whose pipe closes
    start = f"child = subprocess.Popen([sys.executable, '-S', '-c', {child!r}], stdin=subprocess.PIPE)"
    code = f"import os, subprocess, sys, time\n{start}\nwhile not os.path.exists('there'): time.sleep(0.01)"
    assert _run(subject, code).left_behind == ()


@linux_only
def test_limits_hold(subject: Subject) -> None:
    """Memory and files have a limit where one is set; a crash never leaves a core file."""
    wait = """
import resource, time
while resource.getrlimit(resource.{0})[0] not in range(1 << 30): time.sleep(0.01)"""
    code = """
import resource
print(resource.getrlimit(resource.RLIMIT_CORE)[0])
try:
    bytearray(1 << 30)
except MemoryError:
    print("memory")
try:
    with open("big", "wb", buffering=0) as file:
        for _ in range(4): file.write(bytes(1 << 20))
except OSError as error:
    print(error.strerror)
"""
    limited = _run(subject, wait.format("RLIMIT_AS") + code, limits=Limits(memory=1 << 29, file=2 << 20))
    assert limited.stdout_tail.split("\n")[:3] == ["0", "memory", "File too large"]
    assert _run(subject, wait.format("RLIMIT_CORE") + code).stdout_tail.split() == ["0"]


@linux_only
def test_a_crowd_is_stopped(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that starts processes without end is stopped at the limit, and all of them are gone."""
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.2)
    start = f"print(subprocess.Popen([sys.executable, '-c', {SLEEPS!r}]).pid)"
    code = f"import subprocess, sys, time\nwhile True:\n    {start}\n    time.sleep(0.02)"
    done = _run(subject, code, limits=Limits(processes=5))
    assert done.ending == "stopped with more than 5 processes at once"
    assert all(_gone(int(pid)) for pid in done.stdout_tail.split())


def test_further_variables_are_passed_on_by_name(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the configuration names comes through, and nothing else that is not on the list."""
    for name in ("DATA_DIR", "TOKEN", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONOPTIMIZE", "PYTHONWARNINGS"):
        monkeypatch.setenv(name, "1")
    told = "import os, sys; print(*(n for n in ('DATA_DIR', 'TOKEN') if n in os.environ), sys.flags.optimize)"
    told += "; print(*(n for n in os.environ if n.startswith('PYTEST') or n == 'PYTHONWARNINGS'))"
    assert _run(subject, told).stdout_tail.split() == ["0"]
    more = Subject(subject.root, subject.interpreter, ("DATA_DIR",))
    assert _run(more, told).stdout_tail.split() == ["DATA_DIR", "0"]
