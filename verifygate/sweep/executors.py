"""Where units are answered: worker processes of this machine, or the workers of a Dask cluster.

Both are a `concurrent.futures.Executor`, and nothing else is asked of them.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from verifygate.base.distribution import install
from verifygate.base.errors import UsageError

CONNECT_SECONDS = 10.0
Executors = Callable[[], AbstractContextManager[Executor]]
"""Makes an executor, as often as one breaks; it is shut down where its context ends."""


def local(workers: int) -> Executors:
    """A pool of processes; 0 is one for each processor that this process may use."""

    @contextmanager
    def made() -> Iterator[Executor]:
        with ProcessPoolExecutor(workers or _processors(), mp_context=multiprocessing.get_context("spawn")) as pool:
            try:
                yield pool
            except BaseException:  # interrupted: nobody wants what is still being answered
                for worker in multiprocessing.active_children():
                    worker.terminate()
                raise

    return made


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def dask(address: str) -> Executors:
    """The workers of a Dask scheduler: each needs this version of verifygate, and sees the folders of the list.

    Raises UsageError, as soon as an executor is made, where the library is missing or nobody answers at the address.
    """

    @contextmanager
    def made() -> Iterator[Executor]:
        try:
            from distributed import Client
        except ImportError:
            raise UsageError("a sweep on Dask needs its library", where="--dask", remedy=install("dask")) from None
        connect: Any = Client  # the library has no types
        try:
            client = connect(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise UsageError(
                f"no scheduler answers there: {error}", where=f"--dask {address}", remedy="start `dask scheduler`"
            ) from None
        try:
            # `pure` would answer two calls with one arguments by one run, and by one that another sweep asked for
            yield client.get_executor(pure=False)
        finally:
            client.close()

    return made
