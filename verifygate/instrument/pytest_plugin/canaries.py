"""Tests that must fail, sent through every layer that the project's tests go through.

In each folder of tests there are two: an assert that was rewritten as the tests' own are, and a failure inside the
frame of one of its tests, called as pytest has it, in whatever was put around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from _pytest.runner import runtestprotocol

from . import asserts
from .own_text import Texts

NAME = "verifygate-canary"


class Canary(pytest.Item):
    """A test that must fail, in a folder of the project's tests, so that the folder's conftest hooks apply to it.

    What it runs is an assert that was rewritten as the tests' own are. It has what pytest's own hook for calling a test
    function reads, and no fixtures. It is run outside the session: it is in no count, no exit status and no output.
    """

    obj: Callable[[], None]
    funcargs: dict[str, object] = {}
    fixturenames: tuple[str, ...] = ()
    _fixtureinfo = SimpleNamespace(argnames=())

    def runtest(self) -> None:
        self.ihook.pytest_pyfunc_call(pyfuncitem=self)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


def alive(session: pytest.Session, texts: Texts) -> Iterator[Path]:
    """The folders of tests in which one of them was not reported as failed."""
    files = {item.path.parent: item.path for item in session.items}  # pytest takes the hooks of a file that exists
    within: dict[Path, pytest.Item] = {}
    for item in session.items:
        if texts.may_fail(item):
            within.setdefault(item.path.parent, item)
    for folder, file in sorted(files.items()):
        survives = _survives(_canary(session, file, asserts.rewritten(session.config)))
        if folder in within and not survives:
            item = within[folder]
            texts.failing = True
            survives = _survives(_canary(session, item.path, _called(item)))
            texts.failing = False
        if survives:
            yield folder


def _canary(session: pytest.Session, file: Path, failing: Callable[[], None]) -> Canary:
    canary: Canary = Canary.from_parent(session, name=NAME, path=file)
    canary.obj = failing
    return canary


def _called(item: pytest.Item) -> Callable[[], None]:
    """The test's function as pytest would call it, but for its arguments: it fails before it looks at them."""

    def call() -> None:
        item.obj(**dict.fromkeys(item._fixtureinfo.argnames))  # type: ignore[attr-defined]

    return call


def _survives(canary: Canary) -> bool:
    """Whether its call was made, and nothing reported a failure."""
    try:
        reports = runtestprotocol(canary, log=False, nextitem=None)
    except Exception:  # a hook that cannot cope with the canary says nothing about its honesty
        return False
    return any(report.when == "call" for report in reports) and not any(report.failed for report in reports)
