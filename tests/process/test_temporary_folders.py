"""Temporary folders of the gate: whose they are, and that none outlives its owner for long."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from verifygate.base import owned_folders
from verifygate.base.lifeline import temporary_folder
from verifygate.base.owned_folders import PREFIX, owned, sweep, unused_name
from verifygate.process.subject import Subject

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a killed gate is cleaned up after on Linux only")

KILLED_AT_ONCE = """\
import os, signal
from verifygate.base.lifeline import temporary_folder
with temporary_folder(), temporary_folder("mutants"):
    os.kill(os.getpid(), signal.SIGKILL)
"""
KILLED_WITH_ITS_WARDEN = """\
import os, pathlib, signal
from verifygate.base import lifeline
with lifeline.temporary_folder("mutants") as folder:
    pathlib.Path(folder, "copy").mkdir()
    lifeline._wardens[os.getpid()].kill()
    os.kill(os.getpid(), signal.SIGKILL)
"""
LIVES = """\
import sys
from verifygate.base.lifeline import temporary_folder
with temporary_folder("run") as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""
ENDS = "from verifygate.base.lifeline import temporary_folder\nwith temporary_folder(): pass"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go, also those of this process, which has not looked there yet."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(owned_folders, "_swept", set())
    return folder


def run(code: str, temporary: Path) -> int:
    return subprocess.run([sys.executable, "-c", code], env=environment(temporary), check=False).returncode


def environment(temporary: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(temporary)}


def gone(temporary: Path) -> bool:
    """Whether the folder is empty before patience ends."""
    patience = time.monotonic() + 300
    while list(temporary.iterdir()) and time.monotonic() < patience:
        time.sleep(0.05)
    return not list(temporary.iterdir())


def left_behind(place: Path, prefix: str = PREFIX) -> Path:
    """A folder as a dead owner leaves it."""
    folder = unused_name(place, prefix)
    (folder / "deep/er").mkdir(parents=True)
    (folder / "deep/er/file").write_text("x")
    return folder


def test_a_gate_killed_before_its_warden_has_started_leaves_no_folder(temporary: Path) -> None:
    assert run(KILLED_AT_ONCE, temporary) == -signal.SIGKILL
    assert gone(temporary)


def test_the_next_run_removes_what_a_gate_killed_with_its_warden_left(temporary: Path) -> None:
    assert run(KILLED_WITH_ITS_WARDEN, temporary) == -signal.SIGKILL
    assert [path.name.rpartition("-")[0] for path in temporary.iterdir()] == ["verifygate-mutants"]
    assert run(ENDS, temporary) == 0
    assert list(temporary.iterdir()) == []


def test_the_folder_of_a_living_run_stays(temporary: Path) -> None:
    piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", LIVES], env=environment(temporary), **piped) as other:
        folder = Path(other.stdout.readline().strip())
        dead = left_behind(temporary)
        assert run(ENDS, temporary) == 0
        assert folder.is_dir()
        assert not dead.exists()
        other.stdin.close()
    assert list(temporary.iterdir()) == []


def test_only_what_the_gate_made_is_removed_and_no_link_followed(temporary: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    kept = [temporary / name for name in ("verifygate-site-x1y2z3", "verifygate-0123", "other-0123456789abcdef")]
    for folder in kept:
        folder.mkdir()
    kept += [unused_name(temporary, PREFIX), unused_name(temporary, PREFIX)]
    kept[-2].symlink_to(outside)
    kept[-1].write_text("a file")
    dead = left_behind(temporary)
    (dead / "link").symlink_to(outside)
    (dead / "deep").chmod(0o500)
    sweep()
    assert sorted(temporary.iterdir()) == sorted(kept)
    assert (outside / "kept").read_text() == "x"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_the_folder_of_another_user_stays(temporary: Path) -> None:
    folder = left_behind(temporary)
    os.chown(folder, 12345, 12345)
    sweep()
    assert folder.is_dir()


def test_what_resists_is_said_and_left(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stuck, rest = left_behind(temporary), shutil.rmtree

    def resisting(path: Path, ignore_errors: bool = False) -> None:
        if path != stuck:
            rest(path)
        elif not ignore_errors:
            raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(shutil, "rmtree", resisting)
    other = left_behind(temporary)
    with temporary_folder():
        assert not other.exists()
        assert stuck.is_dir()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"verifygate: {stuck}: ")
    assert "Operation not permitted" in line


@pytest.mark.parametrize("moment", ["open", "flock"])
def test_a_sweep_between_making_and_locking_costs_no_folder(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Another run takes the folder for one whose owner is dead: it is made again."""
    module = os if moment == "open" else owned_folders.fcntl
    call, disturbed = getattr(module, moment), []

    def late(*arguments: object) -> object:
        monkeypatch.setattr(module, moment, call)
        disturbed.append(moment)
        sweep()
        return call(*arguments)

    folder = unused_name(temporary, PREFIX)
    monkeypatch.setattr(module, moment, late)
    with owned(folder):
        assert disturbed == [moment]
        monkeypatch.setattr(owned_folders, "_swept", set())
        sweep()
        assert folder.is_dir()


def test_what_a_process_of_the_project_leaves_in_its_temporary_folder_goes_with_the_run(temporary: Path) -> None:
    code = "import tempfile; print(tempfile.mkdtemp())"
    done = Subject(temporary.parent, Path(sys.executable)).run(["-c", code], seconds=600)
    assert Path(done.stdout_tail.strip()).is_relative_to(temporary)
    assert list(temporary.iterdir()) == []


def test_a_link_in_place_of_a_folder_changes_nothing_where_it_leads(temporary: Path, tmp_path: Path) -> None:
    """A process of the project can put it there while the run lasts."""
    outside = tmp_path / "outside"
    (outside / "inner").mkdir(parents=True)
    (outside / "inner").chmod(0o755)
    with temporary_folder() as name:
        Path(name).rmdir()
        Path(name).symlink_to(outside)
    assert (outside / "inner").stat().st_mode & 0o777 == 0o755
