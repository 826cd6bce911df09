"""The process of an arm, and the talk with it: one order, one answer, over a private socket."""

from __future__ import annotations

import json
import re
import select
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import verifygate
from verifygate.base.lifeline import temporary_folder
from verifygate.performance.comparison import ArmRecord, Failure, Host, Trouble
from verifygate.performance.ranks import command_line, joined
from verifygate.process.subject import Completed, StartOptions, Subject
from verifygate.process.supervision import GRACE_SECONDS

ARM = Path(verifygate.__file__).parent / "instrument" / "bench" / "arm.py"
SOCKET_VARIABLE = "VERIFYGATE_ARM_SOCKET"
"""The same name stands in `instrument/bench/arm.py`, which can import nothing from here."""
PATIENCE_SECONDS = 2 * GRACE_SECONDS
"""How long after its time limit an arm's process may take to be gone."""
CHUNK = 1 << 16
FOREIGN = "its answer is not one that the gate's own code gives"
MAX_SOCKET_FOLDER = 70
"""Socket addresses are short: about a hundred bytes, of which the file's own name takes some."""


class Link:
    """The talk with one process of an arm."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._read = b""

    def send(self, line: bytes) -> None:
        try:
            self.connection.settimeout(None)
            self.connection.sendall(line)
        except OSError:
            pass  # the process is gone: reading its answer tells how

    def receive(self) -> str | None:
        """Read what is there: a whole line, the empty string at the end of the talk, None where more is to come."""
        try:
            data = self.connection.recv(CHUNK)
        except OSError:
            data = b""
        self._read += data
        line, end, rest = self._read.partition(b"\n")
        if not end:
            return None if data else ""
        self._read = rest
        return line.decode("utf-8", "replace")


class ArmProcess:
    """One arm while it runs. A failure goes into its record; from then on there is nothing more to ask."""

    def __init__(
        self,
        record: ArmRecord,
        listener: socket.socket,
        run: Future[Completed],
        seconds: float,
        processes: int = 1,
    ) -> None:
        self.record = record
        self._listener = listener
        self._run = run
        self._deadline = time.monotonic() + seconds + PATIENCE_SECONDS
        self._processes = processes
        self._links: list[Link] = []
        """In the order of the processes' ranks, once they have said them."""

    @property
    def host(self) -> Host:
        assert self.record.host is not None  # noqa: S101 - asked for after a successful greeting only
        return self.record.host

    def greet(self) -> bool:
        """Wait until every process is up and has said what it runs on."""
        self._listener.settimeout(0.1)
        while len(self._links) < self._processes:
            try:
                self._links.append(Link(self._listener.accept()[0]))
            except TimeoutError:
                if self._run.done() or time.monotonic() > self._deadline:
                    self.record.failure = self._ending("start")
                    return False
        if hellos := self._answers("start"):
            ranks = [hello.pop("rank") for hello in hellos]
            self._links = [link for _, link in sorted(zip(ranks, self._links, strict=True), key=lambda each: each[0])]
            self.record.host = Host(**hellos[0])
        return self.record.failure is None

    def ask(self, order: str, **details: Any) -> dict[str, Any] | None:
        """Give an order and wait for what comes of it."""
        self.tell(order, **details)
        return self.hear(order)

    def tell(self, order: str, **details: Any) -> None:
        """Give an order; `hear` waits for what comes of it, so that other arms can be given theirs in between."""
        for link in self._links:
            link.send(json.dumps({"order": order, **details}).encode() + b"\n")

    def hear(self, order: str) -> dict[str, Any] | None:
        """Wait for what comes of the order that was given last."""
        answers = self._answers(order)
        try:
            return joined(answers) if answers else None
        except (ValueError, KeyError, TypeError, AttributeError):
            self.record.failure = Failure(Trouble.TAMPERED, FOREIGN, order)
            return None

    def hang_up(self) -> None:
        """End the talk; the process takes that as its end."""
        for end in (*(link.connection for link in self._links), self._listener):
            end.close()
        self._links = []

    def _answers(self, order: str) -> list[dict[str, Any]] | None:
        """What each process did, in the order of the links. One that failed ends the wait: others may wait for it."""
        answers: dict[Link, dict[str, Any]] = {}
        while len(answers) < len(self._links):
            waiting = {link.connection: link for link in self._links if link not in answers}
            patience = max(0.1, self._deadline - time.monotonic())
            ready, _, _ = select.select([*waiting], [], [], patience)
            if not ready:
                self.record.failure = self._ending(order)
                return None
            for connection in ready:
                link = waiting[connection]
                if (line := link.receive()) is not None:
                    if (done := self._done(line, order)) is None:
                        return None
                    answers[link] = done
        return [answers[link] for link in self._links]

    def _done(self, line: str, order: str) -> dict[str, Any] | None:
        try:
            answer = json.loads(line) if line else {"failed": None}
            if done := answer.get("done"):
                return dict(done)
            told = answer["failed"]
            self.record.failure = self._ending(order) if told is None else _told(told, order)
        except (ValueError, KeyError, TypeError, AttributeError):
            self.record.failure = Failure(Trouble.TAMPERED, FOREIGN, order)
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
def started(
    subject: Subject, records: Sequence[ArmRecord], seconds: float, processes: int = 1
) -> Iterator[list[ArmProcess]]:
    """Start each record's process, or processes, all at once; on leaving, every one of them is gone."""
    stop = threading.Event()
    with _folder() as folder, ThreadPoolExecutor(len(records)) as pool:
        arms: list[ArmProcess] = []
        try:
            for number, record in enumerate(records):
                address = str(Path(folder, f"{number}.sock"))
                listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                listener.bind(address)
                listener.listen(processes)
                start = StartOptions(env={SOCKET_VARIABLE: address}, answers=[Path(folder)])
                command = command_line(ARM, processes)
                run = pool.submit(subject.run, command, seconds=seconds, start=start, stop=stop)
                arms.append(ArmProcess(record, listener, run, seconds, processes))
            yield arms
        finally:
            for arm in arms:
                arm.hang_up()
            stop.set()


def _folder() -> AbstractContextManager[str]:
    """A private folder (mode 0700) whose path is short enough for a socket's address."""
    usual = tempfile.gettempdir()
    return temporary_folder(dir=usual if len(usual) <= MAX_SOCKET_FOLDER else "/tmp")  # noqa: S108


def _told(failed: dict[str, Any], order: str) -> Failure:
    trouble = {"torch": Trouble.START}.get(failed["kind"]) or Trouble(failed["kind"])
    return Failure(trouble, str(failed["text"]), order, failed.get("peak_bytes"))


def _last_line(text: str) -> str:
    """The last line of an error output, free of what differs from run to run."""
    lines = text.strip().splitlines()
    return re.sub(r"\b0x[0-9a-fA-F]+", "0x...", lines[-1])[:300] if lines else ""
