"""A disk that is full where the gate writes, and two runs that write at once: real file systems, real processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from verifygate.merge import handed_in
from verifygate.report.formats import render

MOUNTED = ["unshare", "--user", "--map-root-user", "--mount"]
POSSIBLE = bool(shutil.which("unshare")) and subprocess.run([*MOUNTED, "true"], capture_output=True).returncode == 0
ON_A_FULL_DISK = """
set -e
mount -t tmpfs -o size=256k none "$1"
[ -d "$2" ] && cp -r "$2" "$1/latest"
head -c 1M /dev/zero > "$1/filler" 2> /dev/null || true
shift 2
status=0
"$@" || status=$?
[ -d reports/latest ] && cp -r reports/latest kept
exit $status
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a report; the folders that the gate writes to lie beside it."""
    for name in ("project", "tmp", "home/.cache"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "project/train.py").write_text("import torch\n\nscaler = torch.amp.GradScaler()\n")
    (tmp_path / "project/test_train.py").write_text("def test_fine(tmp_path):\n    assert tmp_path.exists()\n")
    assert gate(tmp_path / "project", "run", "--stage", "static").returncode in (0, 1)
    return tmp_path / "project"


def gate(project: Path, *arguments: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [*before, sys.executable, "-m", "verifygate", *arguments]
    return subprocess.run(command, cwd=project, env=environment(project), capture_output=True, text=True)


def environment(project: Path) -> dict[str, str]:
    top = project.parent
    inside = {"TMPDIR": top / "tmp", "HOME": top / "home", "XDG_CACHE_HOME": top / "home/.cache"}
    return {**os.environ, **{name: str(place) for name, place in inside.items()}}


def whole(folder: Path) -> str:
    """The identity of a report whose pages are those of its data."""
    report = handed_in(folder / "report.json")
    assert all((folder / name).read_text("utf-8") == text for name, text in render(report, "md").items())
    return report.run.started


@pytest.mark.skipif(not POSSIBLE, reason="no file system can be mounted here")
@pytest.mark.parametrize(
    ("place", "stage", "exit_code", "said"),
    [
        ("project/reports", "static", 2, "reports/latest: the report cannot be written: No space left on device"),
        pytest.param("tmp", "execution", 1, "Reports: reports/latest", marks=pytest.mark.slow),
        ("home/.cache", "static", 0, "Reports: reports/latest"),
    ],
)
def test_a_full_disk_costs_no_report(project: Path, place: str, stage: str, exit_code: int, said: str) -> None:
    """The earlier report stays, and one line says so; temporary files go elsewhere, and a cache is not needed."""
    top, saved = project.parent, project.parent / "saved"
    shutil.copytree(project / "reports/latest", saved)
    earlier = str(saved) if place == "project/reports" else str(top / "nothing")
    shell = ["sh", "-c", ON_A_FULL_DISK, "sh", str(top / place), earlier]
    done = gate(project, "run", "--stage", stage, before=(*MOUNTED, *shell))
    assert done.returncode == exit_code, done.stdout + done.stderr
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert whole(project / "kept")


@pytest.mark.slow
def test_two_runs_at_once_leave_one_whole_report(project: Path) -> None:
    """Neither disturbs the other, and nothing is left beside the report."""
    command = [sys.executable, "-m", "verifygate", "run", "--stage", "execution", "--stage", "static"]
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    runs = [subprocess.Popen(command, cwd=project, env=environment(project), **piped) for _ in range(2)]
    told = [run.communicate() for run in runs]
    assert [run.returncode for run in runs] == [1, 1], told
    assert not [err for _, err in told if "Traceback" in err]
    assert whole(project / "reports/latest")
    assert [path.name for path in (project / "reports").iterdir()] == ["latest"]
    assert list((project.parent / "tmp").iterdir()) == []


@pytest.mark.slow
def test_runs_at_once_come_to_what_a_run_alone_comes_to(project: Path) -> None:
    """Each has a folder for its report; the stages that run code are among them."""
    command = [sys.executable, "-m", "verifygate", "run", "--stage", "all", "--report-dir"]
    names = ["alone", "first", "second"]
    gate(project, *command[3:], "alone")
    runs = [subprocess.Popen([*command, name], cwd=project, env=environment(project)) for name in names[1:]]
    assert [run.wait() for run in runs] == [1, 1]
    alone, *others = [json.loads((project / name / "report.json").read_text("utf-8")) for name in names]
    assert alone["stages"]
    for other in others:
        assert {**other, "run": None, "seal": None} == {**alone, "run": None, "seal": None}
    assert not [path for name in names for path in project.glob(f".{name}-*")]
    assert list((project.parent / "tmp").iterdir()) == []
