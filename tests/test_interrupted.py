"""Ctrl-C ends every command with one line and exit code 130, whatever it is at: its own work, or a child's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background starts with Ctrl-C ignored
from verifygate.cli import main
print("ready", flush=True)
sys.exit(main())
"""
WAITS = """
import pathlib, time


def test_it():
    pathlib.Path("begun").touch()
    time.sleep(600)


if __name__ == "__main__":
    test_it()
"""


def interrupted(folder: Path, *arguments: str, begun: str = "") -> tuple[int, list[str], str]:
    """Exit code, the lines on stderr that are no progress, and stdout of a command that its terminal interrupts."""
    child = subprocess.Popen(
        [sys.executable, "-c", START, *arguments], cwd=folder, start_new_session=True, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    while begun and child.poll() is None and not (folder / begun).exists():
        time.sleep(0.02)
    time.sleep(0 if begun else 0.1)  # `main` has begun
    os.killpg(child.pid, signal.SIGINT)
    try:
        out, told = child.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        raise
    return child.returncode, [line for line in told.splitlines() if not line.startswith("verifygate: [")], out


ONE_LINE = ["verifygate: interrupted; earlier reports are untouched"]


@pytest.mark.parametrize("option", [(), ("--fail-on=high",)])
def test_at_its_own_work(tmp_path: Path, option: tuple[str, ...]):
    """From the first line of the program on: it loads modules (also click, for an option), or waits for a text."""
    code, told, _ = interrupted(tmp_path, "check", "-", "--stdin-filename", "train.py", *option)
    assert (code, told) == (130, ONE_LINE)


def test_while_a_test_runs(tmp_path: Path):
    """Nothing is written, and the verdict is none."""
    (tmp_path / "test_waits.py").write_text(WAITS, encoding="utf-8")
    (tmp_path / ".git").mkdir()
    code, told, out = interrupted(
        tmp_path, "run", "--stage", "execution", "--isolation", "off", "--report-dir", "reports", begun="begun"
    )
    assert (code, told) == (130, ONE_LINE)
    assert "interrupted while it ran" in out
    assert not (tmp_path / "reports").exists()


def test_while_a_script_is_probed(tmp_path: Path):
    (tmp_path / "waits.py").write_text(WAITS, encoding="utf-8")
    code, told, _ = interrupted(tmp_path, "probe", "--", sys.executable, "waits.py", begun="begun")
    assert (code, told) == (130, ONE_LINE)
