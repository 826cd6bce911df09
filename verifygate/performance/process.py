"""The process of an arm, and the talk with it: one order, one answer, over a private socket."""

from __future__ import annotations

import json
import re
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import verifygate
from verifygate.performance.record import ArmRecord, Failure, Host, Trouble
from verifygate.subject import GRACE_SECONDS, Completed, Subject

ARM = Path(verifygate.__file__).parent / "instrument" / "arm.py"
SOCKET_VARIABLE = "VERIFYGATE_ARM_SOCKET"
"""The same name stands in `instrument/arm.py`, which can import nothing from here."""
PATIENCE_SECONDS = 2 * GRACE_SECONDS
"""How long after its time limit an arm's process may take to be gone."""
MAX_SOCKET_FOLDER = 80
"""Socket addresses are short: about a hundred bytes, of which the file's own name takes some."""


class ArmProcess:
    """One arm while it runs. A failure goes into its record; from then on there is nothing more to ask."""

    def __init__(self, record: ArmRecord, listener: socket.socket, run: Future[Completed], seconds: float) -> None:
        self.record = record
        self._listener = listener
        self._run = run
        self._deadline = time.monotonic() + seconds + PATIENCE_SECONDS
        self._link: socket.socket | None = None
        self._stream: TextIO | None = None

    @property
    def host(self) -> Host:
        assert self.record.host is not None  # noqa: S101 - asked for after a successful greeting only
        return self.record.host

    def greet(self) -> bool:
        """Wait until the process is up and has said what it runs on."""
        self._listener.settimeout(0.1)
        while self._link is None:
            try:
                self._link, _ = self._listener.accept()
            except TimeoutError:
                if self._run.done() or time.monotonic() > self._deadline:
                    self.record.failure = self._ending("start")
                    return False
        self._stream = self._link.makefile("rw", encoding="utf-8", newline="\n")
        if hello := self._answer("start"):
            self.record.host = Host(**hello)
        return self.record.failure is None

    def ask(self, order: str, **details: Any) -> dict[str, Any] | None:
        """Give an order and wait for what comes of it."""
        assert self._stream is not None  # noqa: S101 - greeted before
        try:
            self._stream.write(json.dumps({"order": order, **details}) + "\n")
            self._stream.flush()
        except OSError:
            pass  # the process is gone: reading its answer tells how
        return self._answer(order)

    def hang_up(self) -> None:
        """End the talk; the process takes that as its end."""
        for end in (self._stream, self._link, self._listener):
            try:
                if end is not None:
                    end.close()
            except OSError:
                pass  # what could not be sent any more
        self._stream = self._link = None

    def _answer(self, order: str) -> dict[str, Any] | None:
        assert self._link is not None  # noqa: S101
        assert self._stream is not None  # noqa: S101
        self._link.settimeout(max(0.1, self._deadline - time.monotonic()))
        try:
            line = self._stream.readline()
        except OSError:
            line = ""
        try:
            answer = json.loads(line) if line else {"failed": None}
            if done := answer.get("done"):
                return dict(done)
            told = answer["failed"]
            self.record.failure = self._ending(order) if told is None else _told(told, order)
        except (ValueError, KeyError, TypeError, AttributeError):
            self.record.failure = Failure(
                Trouble.TAMPERED, "its answer is not one that the gate's own code gives", order
            )
        return None

    def _ending(self, order: str) -> Failure:
        """Why there is no answer: how the process ended."""
        try:
            completed = self._run.result(timeout=PATIENCE_SECONDS)
        except FutureTimeoutError:
            return Failure(Trouble.TIMEOUT, "it closed its connection to the gate and does not end", order)
        except OSError as error:
            return Failure(Trouble.START, f"the project's interpreter cannot be started: {error.strerror}", order)
        if completed.timed_out:
            return Failure(Trouble.TIMEOUT, completed.ending, order)
        trouble = Trouble.START if order == "start" else Trouble.CRASH
        last = _last_line(completed.stderr_tail) if order == "start" else ""
        text = f"its process ended early: {completed.ending}"
        return Failure(trouble, f"{text}, {last}" if last else text, order)


@contextmanager
def started(subject: Subject, records: Sequence[ArmRecord], seconds: float) -> Iterator[list[ArmProcess]]:
    """Start one process for each record, all at once; on leaving, every one of them is gone."""
    stop = threading.Event()
    with _folder() as folder, ThreadPoolExecutor(len(records)) as pool:
        arms: list[ArmProcess] = []
        try:
            for number, record in enumerate(records):
                address = str(Path(folder, f"{number}.sock"))
                listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                listener.bind(address)
                listener.listen(1)
                environment = {SOCKET_VARIABLE: address}
                run = pool.submit(subject.run, [str(ARM)], seconds=seconds, env=environment, stop=stop)
                arms.append(ArmProcess(record, listener, run, seconds))
            yield arms
        finally:
            for arm in arms:
                arm.hang_up()
            stop.set()


def _folder() -> tempfile.TemporaryDirectory[str]:
    """A private folder (mode 0700) whose path is short enough for a socket's address."""
    usual = tempfile.gettempdir()
    return tempfile.TemporaryDirectory(prefix="vg-", dir=usual if len(usual) <= MAX_SOCKET_FOLDER else "/tmp")  # noqa: S108


def _told(failed: dict[str, Any], order: str) -> Failure:
    trouble = {"torch": Trouble.START}.get(failed["kind"]) or Trouble(failed["kind"])
    return Failure(trouble, str(failed["text"]), order, failed.get("peak_bytes"))


def _last_line(text: str) -> str:
    """The last line of an error output, free of what differs from run to run."""
    lines = text.strip().splitlines()
    return re.sub(r"\b0x[0-9a-fA-F]+", "0x...", lines[-1])[:300] if lines else ""
