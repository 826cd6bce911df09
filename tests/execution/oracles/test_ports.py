"""Runs of one script side by side: each finds a free port, and a port that the script names itself is no failure."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from verifygate.execution.oracles.runs import Job, run_jobs
from verifygate.process.subject import Subject

pytest.importorskip("torch")
SCRIPT = """
import os
import pathlib
import socket
import time

here = pathlib.Path(__file__).parent
(here / f"port-{os.getpid()}").write_text(os.environ["MASTER_PORT"])
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("127.0.0.1", PORT))
server.listen()
while len(list(here.glob("port-*"))) < 2:  # until the other one has come as well
    time.sleep(0.01)
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="runs are side by side on two processors or more")
def test_a_port_that_the_script_names_itself(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "train.py").write_text(SCRIPT.replace("PORT))", f"{port}))"))
    jobs = [Job("python train.py", tmp_path) for _ in range(2)]
    (folder := tmp_path / "private").mkdir()

    seen = run_jobs(Subject(tmp_path, Path(sys.executable)), jobs, folder)

    assert [each.ending for each in seen] == ["ran to its end", "ran to its end"]
    assert (folder / "alone").is_dir()  # one of them found it taken
    ports = [path.read_text() for path in tmp_path.glob("port-*")]
    assert len(set(ports)) == len(ports) >= 2
