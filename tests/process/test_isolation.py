"""What a process of the project cannot do where isolation holds; and that it can without, so each attempt is real."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from event_clock import Clock

from verifygate.process import orphans
from verifygate.process.isolation import LAYERS, Isolation, Reach, granted, in_words, isolation_of
from verifygate.process.subject import Completed, Limits, Subject

GRANTED = granted(Isolation.REQUIRED, Reach(Path(__file__).resolve().parents[2]))
pytestmark = pytest.mark.skipif(set(GRANTED) != set(LAYERS), reason="this kernel does not grant all layers")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project beside a home folder with a key, and a temporary folder apart from both."""
    for name in ("project", "home/.ssh", "home/.cache/verifygate", "home/.cache/torch", "tmp", "other"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "home/.ssh/id").write_text("secret")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path / "project"


def attempt(project: Path, isolation: str, code: str) -> Completed:
    subject = Subject(project, Path(sys.executable), isolation=isolation)
    return subject.run(["-c", code], seconds=600)


def _files(folder: Path) -> dict[Path, str]:
    """All that lies in a folder, without the temporary one."""
    found = (path for path in folder.rglob("*") if "tmp" not in path.relative_to(folder).parts)
    return {path: path.read_text() if path.is_file() else "" for path in found}


@pytest.mark.parametrize("how", ["auto", "required"])
def test_an_honest_program_does_not_notice(project: Path, how: str) -> None:
    (project / "old").mkdir()
    (project / "empty").mkdir()
    (project / "old/data").write_text("one")
    code = """
import multiprocessing, os, pathlib, socket, subprocess, sys, tempfile
def double(number): return 2 * number
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()
from multiprocessing import shared_memory
memory = shared_memory.SharedMemory(create=True, size=10); memory.close(); memory.unlink()
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(double, [1, 2]) == [2, 4]
tempfile.TemporaryFile().close()
pathlib.Path("written").write_text("x")
with open("old/data", "a") as file: file.write(" two")
assert pathlib.Path("old/data").read_text() == "one two"
os.rename("old/data", "new"); os.rmdir("old"); os.mkdir("old")
cache = pathlib.Path.home() / ".cache/other/files"; cache.mkdir(parents=True); (cache / "x").touch()
os.rename("empty", "moved"); os.chmod("new", 0o755); os.symlink("new", "link"); os.link("new", "hard")
subprocess.run([sys.executable, "-c", ""], check=True)
print(os.getuid())
"""
    before = _files(project.parent / "home")
    done = attempt(project, how, code)
    assert (done.exit_code, done.stdout_tail.strip()) == (0, str(os.getuid())), done.stderr_tail
    assert _files(project.parent / "home") == before
    assert (project / "written").read_text() == "x"


@pytest.mark.parametrize("how", ["auto", "required"])
def test_a_project_in_the_home_folder_is_changed_for_good(tmp_path: Path, project: Path, how: str) -> None:
    """Else the gate would not see that tests change what is audited."""
    (tmp_path / "home/work").mkdir()
    (tmp_path / "link").symlink_to("home")
    inside = tmp_path / "link/work"
    done = attempt(
        inside, how, "open('train.py', 'w').write('x'); open('../beside', 'w'); print(open('train.py').read())"
    )
    assert (done.exit_code, done.stdout_tail.strip()) == (0, "x"), done.stderr_tail
    assert ((inside / "train.py").read_text(), (tmp_path / "home/beside").exists()) == ("x", False)


@pytest.mark.parametrize(("how", "kept"), [("auto", True), ("required", False)])
def test_what_is_downloaded_is_found_by_the_next_process(project: Path, how: str, kept: bool) -> None:
    assert attempt(project, how, "open('../home/.cache/torch/model', 'w')").exit_code == 0
    assert (project.parent / "home/.cache/torch/model").exists() == kept


def test_a_folder_that_the_project_is_told_of_can_be_written(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    subject = Subject(project, Path(sys.executable), passed_on=("DATA_DIR",), isolation="required")
    done = subject.run(["-c", "import os; open(os.environ['DATA_DIR'] + '/x', 'w')"], seconds=600)
    assert done.exit_code == 0, done.stderr_tail
    assert not (tmp_path / "data/x").exists()


def test_a_folder_that_cannot_be_copied_is_written_and_that_is_said(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing can be put over a folder of the kernel's. Without that layer all others hold."""
    monkeypatch.setenv("DATA_DIR", "/sys/kernel")
    subject = Subject(project, Path(sys.executable), passed_on=("DATA_DIR",), isolation="auto")
    done = subject.run(["-c", "open('../other/x', 'w')"], seconds=600)
    assert done.exit_code == 0, done.stderr_tail
    assert set(LAYERS) - {*done.isolated} == set(LAYERS) - {*subject.layers()} == {"files", "network"}
    with pytest.raises(OSError, match="isolation is required, and the kernel does not grant: files"):
        replace(subject, isolation="required").run(["-c", ""], seconds=60)


@pytest.mark.parametrize("how", ["auto", "required"])
@pytest.mark.parametrize("inside", [True, False])
def test_the_temporary_folders_are_written_by_name(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch, how: str, inside: bool
) -> None:
    """Batch systems give each job a folder below `/tmp`, or in the home folder; tests write to `/tmp` all the same."""
    folder = tmp_path / ("home/jobs/1" if inside else "tmp")
    folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    name = f"verifygate-{how}-{inside}"
    code = f"for each in ('/tmp', '/var/tmp', '{folder}', '..'): open(each + '/{name}', 'w').close()"
    done = attempt(project, how, code)
    assert done.exit_code == 0, done.stderr_tail
    assert {"files", "gate"} <= set(done.isolated)
    left = [each for each in (Path("/tmp"), Path("/var/tmp"), folder, tmp_path) if (each / name).exists()]  # noqa: S108
    assert left == []


def test_the_environment_in_the_tree_that_the_gate_shares_with_the_project(tmp_path: Path, project: Path) -> None:
    """Bytecode, and what tests install, goes to a copy; so does what they do to the repository."""
    for name in (".git/objects", ".venv/lib/package"):
        (project / name).mkdir(parents=True)
    (project / ".venv/lib/package/module.py").write_text("one = 1")
    (project / ".git/HEAD").write_text("ref: refs/heads/main")
    subject = Subject(project, Path(sys.executable), isolation="auto", guarded=(project.parent, project / ".venv/lib"))
    code = "import sys; sys.dont_write_bytecode = False; sys.path.append('.venv/lib/package'); import module, os; "
    code += "assert os.listdir('.venv/lib/package') != ['module.py']; open('.git/index', 'w'); os.remove('.git/HEAD')"
    before = _files(project)
    done = subject.run(["-c", code], seconds=60)
    assert done.exit_code == 0, done.stderr_tail
    assert _files(project) == before


def test_an_interpreter_that_does_not_exist_is_said(project: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Subject(project, project / "python", isolation="auto").run(["-c", ""], seconds=10)


def test_where_namespaces_are_granted_in_part_there_are_none(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verifygate.process.subject.granted", lambda *_: ("processes", "signals"))
    users = Path("/proc/self/ns/user").readlink()
    done = attempt(project, "auto", "import os; print(os.readlink('/proc/self/ns/user'))")
    assert (done.stdout_tail.strip(), done.isolated) == (str(users), ("processes", "signals"))


def test_nothing_is_asked_of_a_machine_with_an_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verifygate.process.isolation.has_accelerator", lambda: True)
    assert [isolation_of(each) for each in ("", "auto", "required")] == ["off", "auto", "required"]
    assert "not measured" in in_words(isolation_of(""), ())
    monkeypatch.setattr("verifygate.process.isolation.has_accelerator", lambda: False)
    assert [isolation_of(each) for each in ("", "off")] == ["auto", "off"]


def test_what_does_not_hold_is_said() -> None:
    told = in_words(Isolation.AUTO, ["processes", "signals"])
    assert "not granted by this machine: files, gate, secrets, sockets, ids" in told
    assert "open: the project's own folder, download caches, network (policy), files outside of the project" in told
    assert f"not granted by this machine: {', '.join(LAYERS)}" in in_words(Isolation.REQUIRED, [])


def test_what_another_hole_undoes_is_not_said_to_hold() -> None:
    """Who can start an unconfined process reads what is hidden from a confined one."""
    without = {name: in_words(Isolation.AUTO, [each for each in LAYERS if each != name]) for name in LAYERS}
    said = {name for name, text in without.items() if "credentials hidden" in text.partition("; open: ")[0]}
    assert said == set(LAYERS) - {"gate", "sockets", "processes", "secrets"}
    assert "undone by a way through sockets of others: files, gate, secrets" in without["sockets"]


ENDS = {
    "exit code 3": "raise SystemExit(3)",
    "killed by SIGSEGV": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "killed by SIGKILL": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
}


def unburied() -> set[int]:
    return {each.pid for each in orphans._table() if each.dead and each.parent == os.getpid()}


@pytest.mark.parametrize("how", ["auto", "required"])
@pytest.mark.parametrize("ending", ENDS)
def test_a_process_with_ids_of_its_own_ends_as_it_would(project: Path, how: str, ending: str) -> None:
    """And what it leaves running is named, ended and buried."""
    daemon = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'], "
    before = unburied()
    done = attempt(project, how, f"{daemon}start_new_session=True); {ENDS[ending]}")
    assert (done.ending, len(done.left_behind)) == (ending, 1), done.stderr_tail
    assert "time.sleep(300)" in done.left_behind[0]
    assert unburied() <= before
    assert attempt(project, how, "pass").left_behind == ()


@pytest.mark.parametrize("how", ["auto", "required"])
def test_the_polite_signal_and_the_limits_reach_it(project: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setattr("verifygate.process.supervision.time", Clock(project / "ready"))
    code = "import resource, signal, time; limits = [resource.getrlimit(resource.RLIMIT_FSIZE)[0], "
    code += "resource.getrlimit(resource.RLIMIT_AS)[0]]; signal.signal(signal.SIGTERM, lambda *_: exit(print(*limits)))"
    subject = Subject(project, Path(sys.executable), isolation=how)
    limits = Limits(memory=1 << 32, file=1 << 20)
    done = subject.run(["-c", f"{code}\nopen('ready', 'w')\nwhile True: time.sleep(0.1)"], seconds=600, limits=limits)
    assert (done.timed_out, done.exit_code, done.stdout_tail.split()) == (True, 0, [str(1 << 20), str(1 << 32)])
    assert done.left_behind == ()


LIMIT = Limits(processes=3)


class Counts:
    """The time of a gate that counts at every look; some looks after a run's processes are there, a file says so."""

    def __init__(self, folder: Path) -> None:
        self._there, self._counted = folder / "there", folder / "counted"
        self._looks = 0

    def again(self) -> None:
        self._looks = 0
        for each in (self._there, self._counted):
            each.unlink(missing_ok=True)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
        self._looks += self._there.exists()
        if self._looks == 5:
            self._counted.touch()

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


@pytest.mark.parametrize("how", ["auto", "required"])
def test_a_crowd_is_counted_without_the_gates_own(project: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Its processes are there until they have been counted, or ended for it."""
    monkeypatch.setattr("verifygate.process.supervision.COUNT_SECONDS", 0.0)
    monkeypatch.setattr("verifygate.process.supervision.time", clock := Counts(project))
    code = "import os, subprocess, time; {} = [subprocess.Popen(['sleep', '300']) for _ in range({})]; "
    code += "open('there', 'w'); [time.sleep(0.01) for _ in iter(lambda: os.path.exists('counted'), True)]; "
    code += "[each.kill() or each.wait() for each in started]"
    subject = Subject(project, Path(sys.executable), isolation=how)
    crowded = [
        clock.again() or subject.run(["-c", code.format("started", count)], seconds=600, limits=LIMIT).crowded
        for count in (2, 3)
    ]
    assert crowded == [0, 3]


GATE = """
import sys
from pathlib import Path
from verifygate.base.lifeline import temporary_folder
from verifygate.process.subject import Subject
child = '''
import subprocess, sys, time
daemon = "import sys, time; print(flush=True); time.sleep(300)"
options = {"start_new_session": True, "stdout": subprocess.PIPE}
subprocess.Popen([sys.executable, "-c", daemon, sys.argv[1]], **options).stdout.readline()
open("started", "w").write("x")
time.sleep(300)
'''
with temporary_folder("test"):
    subject = Subject(Path(sys.argv[1]), Path(sys.executable), isolation=sys.argv[2])
    subject.run(["-c", child, sys.argv[3]], seconds=300)
"""


@pytest.mark.parametrize("how", ["off", "auto", "required"])
def test_a_killed_gate_leaves_neither_processes_nor_folders(project: Path, how: str) -> None:
    temporary = project.parent / "tmp"
    gate = subprocess.Popen(
        [sys.executable, "-c", GATE, str(project), how, (token := secrets.token_hex(8))],
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    told = project / "started"
    while not (told.exists() and told.read_text()):
        assert gate.poll() is None
        time.sleep(0.05)
    assert len(_running(token)) >= 3  # the gate, the program and its daemon
    assert len(list(temporary.iterdir())) == 2
    gate.send_signal(signal.SIGKILL)
    gate.wait()
    patience = time.monotonic() + 300
    while (_running(token) or list(temporary.iterdir())) and time.monotonic() < patience:
        time.sleep(0.1)
    assert _running(token) == []
    assert list(temporary.iterdir()) == []


def _running(token: str) -> list[str]:
    """The command lines of the live processes that have a token."""
    return [process.name for process in orphans._table() if not process.dead and token in _words(process.pid)]


def _words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""
