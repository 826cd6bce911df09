"""Benchmark jobs on the nodes of a cluster: submitit (extra `slurm`) behind the interface of `concurrent.futures`."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any, TypeVar

from verifygate.base.distribution import install
from verifygate.base.errors import UsageError
from verifygate.config.performance import ClusterSettings

T = TypeVar("T")


class Jobs(Executor):
    """Runs each call as a job of the cluster; the folder of the jobs must be seen by the nodes as well.

    Raises UsageError, on making one, where the library is missing or the parameters are not the cluster's.
    """

    def __init__(self, settings: ClusterSettings, root: Path, where: str | None = None) -> None:
        try:
            import submitit
        except ImportError:
            remedy = install("slurm")
            raise UsageError("a cluster needs submitit", where=where, remedy=remedy) from None
        self._folder = root / settings.folder
        try:
            self._submitit = submitit.AutoExecutor(self._folder, cluster=settings.executor)
            self._submitit.update_parameters(name="verifygate", **settings.parameters)
        except (NameError, AssertionError, TypeError, ValueError, RuntimeError, OSError) as error:
            problem = (str(error) or type(error).__name__).splitlines()[0]
            remedy = "correct `[performance.cluster]`, see `verifygate docs records`"
            raise UsageError(f"the cluster rejects the job: {problem}", where=where, remedy=remedy) from None
        self._running: list[Any] = []
        self._waiting: list[threading.Thread] = []

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Hand `fn` to the cluster. The future ends as the job does; a job that is lost ends it with UsageError."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        job = self._submitit.submit(fn, *args, **kwargs)
        self._running.append(job)
        waiting = threading.Thread(target=self._wait, args=(job, future), daemon=True)
        self._waiting.append(waiting)
        waiting.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for the jobs, or with `cancel_futures` tell the cluster to end them."""
        if cancel_futures:
            for job in self._running:
                job.cancel(check=False)
        if wait:
            for waiting in self._waiting:
                waiting.join()

    def __exit__(self, kind: object, *_error: object) -> None:
        self.shutdown(cancel_futures=kind is not None)  # interrupted: leave no job behind

    def _wait(self, job: Any, future: Future[T]) -> None:
        try:
            if (error := job.exception()) is None:  # asked first: the debug executor's `result` opens a debugger
                future.set_result(job.result())
                return
        except Exception as lost:
            error = lost
        told = f"job {job.job_id} failed: {_last_word(str(error)) or type(error).__name__}"
        future.set_exception(UsageError(told, where=str(self._folder), remedy="read its logs there"))


def _last_word(text: str) -> str:
    """The line of the error itself in what submitit says around it, or the first line."""
    lines = text.strip().splitlines()
    errors = [line for line in lines if re.match(r"[A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt)\b", line)]
    return (errors or lines or [""])[-1 if errors else 0][:300]
