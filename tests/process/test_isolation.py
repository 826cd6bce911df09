"""What a process of the project cannot do where isolation holds; and that it can without, so each attempt is real."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from verifygate.process.isolation import LAYERS, in_words, possible
from verifygate.process.subject import Completed, Subject

pytestmark = pytest.mark.skipif(set(possible()) != set(LAYERS), reason="this kernel does not grant all layers")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project beside a home folder with a key, and a temporary folder apart from both."""
    for name in ("project", "home/.ssh", "home/.cache/verifygate", "tmp", "other"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "home/.ssh/id").write_text("secret")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path / "project"


def attempt(project: Path, isolation: str, code: str) -> Completed:
    subject = Subject(project, Path(sys.executable), isolation=isolation)
    return subject.run(["-c", code], seconds=60)


ESCAPES = {
    "write to the home folder": "open('{top}/home/.bashrc', 'w')",
    "read a key in the home folder": "open('{top}/home/.ssh/id').read()",
    "write to another checkout": "open('{top}/other/x.py', 'w')",
    "make a folder in another checkout": "import os; os.mkdir('{top}/other/folder')",
    "read the environment of the gate": "open('/proc/{gate}/environ').read()",
    "write to the memory of the gate": "open('/proc/{gate}/mem', 'r+b')",
    "trace the gate": "import ctypes; assert ctypes.CDLL(None).ptrace(0x4206, {gate}, 0, 0) == 0",
    "signal the gate": "import os; os.kill({gate}, 0)",
    "connect to a server of this machine": "import socket; socket.create_connection(('127.0.0.1', {port}), 5)",
    "ask the SSH agent": "import socket; socket.socket(socket.AF_UNIX).connect('{top}/agent')",
    "put an answer into the cache of the gate": "open('{top}/home/.cache/verifygate/answer', 'w')",
    "uncover what is hidden": "import ctypes; assert ctypes.CDLL(None).umount2(b'{top}/home/.ssh', 0) == 0; "
    "open('{top}/home/.ssh/id')",
}


@pytest.mark.parametrize("name", ESCAPES)
def test_an_escape_fails_where_isolation_holds(project: Path, name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(project.parent / "agent"))
        agent.listen()
        port = server.getsockname()[1]
        code = ESCAPES[name].format(top=project.parent, gate=os.getpid(), port=port)
        free, held = attempt(project, "off", code), attempt(project, "required", code)
    assert (free.isolated, set(held.isolated)) == ((), set(LAYERS))
    assert held.exit_code == 1, held.stderr_tail
    if not name.startswith("uncover"):  # outside there is nothing to uncover
        assert free.exit_code == 0, free.stderr_tail


def test_an_honest_program_does_not_notice(project: Path) -> None:
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
subprocess.run([sys.executable, "-c", ""], check=True)
print(os.getuid())
"""
    done = attempt(project, "required", code)
    assert (done.exit_code, done.stdout_tail.strip()) == (0, str(os.getuid())), done.stderr_tail


def test_an_interpreter_that_does_not_exist_is_said(project: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Subject(project, project / "python", isolation="auto").run(["-c", ""], seconds=10)


def test_what_does_not_hold_is_said() -> None:
    assert "not granted by this machine: network, secrets" in in_words(["files", "signals"])
    assert in_words([]).startswith("nothing")


GATE = """
import sys
from pathlib import Path
from verifygate.base.lifeline import temporary_folder
from verifygate.process.subject import Subject
child = '''
import os, subprocess, sys, time
daemon = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
open("started", "w").write(f"{os.getpid()} {daemon.pid}")
time.sleep(300)
'''
with temporary_folder("test"):
    Subject(Path(sys.argv[1]), Path(sys.executable)).run(["-c", child], seconds=300)
"""


def test_a_killed_gate_leaves_neither_processes_nor_folders(project: Path) -> None:
    temporary = project.parent / "tmp"
    gate = subprocess.Popen(
        [sys.executable, "-c", GATE, str(project)],
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    told = project / "started"
    while not (told.exists() and told.read_text()):
        assert gate.poll() is None
        time.sleep(0.05)
    pids = [int(word) for word in told.read_text().split()]
    assert len(list(temporary.iterdir())) == 2
    gate.send_signal(signal.SIGKILL)
    gate.wait()
    patience = time.monotonic() + 30
    while (any(map(_alive, pids)) or list(temporary.iterdir())) and time.monotonic() < patience:
        time.sleep(0.1)
    assert not any(map(_alive, pids))
    assert list(temporary.iterdir()) == []


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
