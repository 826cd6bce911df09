"""Trees that nobody wrote for the gate: no crash, no hang, and every file counted or listed as not analysed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest

from verifygate.sources.discovery import read_sources

STANDARD = Path(sysconfig.get_path("stdlib")) / "test"
TORCH = find_spec("torch")


def checked(folder: Path) -> dict[str, object]:
    """What `verifygate check` says of a folder, within ten minutes of CPU time."""
    command = [sys.executable, "-P", "-m", "verifygate", "check", "--format", "json", "--no-cache", folder.name]
    ended = subprocess.run(
        ["prlimit", "--cpu=600", *command],
        cwd=folder.parent,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode in (0, 1, 2), ended.stderr[-2000:]
    assert "Traceback" not in ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not STANDARD.is_dir(), reason="this Python comes without its own tests")
def test_the_tests_of_the_standard_library():
    """Files that are broken on purpose, in odd encodings, and in every syntax there is."""
    accounted(STANDARD, at_least=500)


@pytest.mark.slow
@pytest.mark.skipif(TORCH is None, reason="torch is not installed")
@pytest.mark.parametrize("part", ["amp", "cuda", "optim"])
def test_torch_itself(part: str):
    """The files in which AMP is written, and those that it is written for."""
    assert TORCH is not None
    accounted(Path(str(TORCH.origin)).parent / part, at_least=3)


def accounted(folder: Path, at_least: int) -> None:
    told = checked(folder)
    sources = read_sources(folder.parent, [folder.name], confined=False)
    listed = {each["path"] for each in told["not_analysed"]}
    files = {file.path for file in sources}
    assert told["files_checked"] + len(listed & files) == len(files) >= at_least
    assert listed >= {path for path, _ in sources.unreadable}
    assert all(each["reason"] and "\n" not in each["reason"] for each in told["not_analysed"])
