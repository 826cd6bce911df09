"""A pytest plugin that puts instruments in place before anything of the project is loaded.

It tells, between what the instruments tell, which file is being collected and which test begins, so that each event
belongs to one of them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .. import children
from ..bootstrap import PACKAGE
from ..launch import TOLD, Tell, install_with_torch, look_at, teller

VARIABLE = "VERIFYGATE_INSTRUMENTS"


class Sections:
    """Says where one test's events end and the next one's begin."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        if isinstance(collector, pytest.File):
            self._begin("collecting", collector.nodeid)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._begin("testing", item.nodeid)
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[Any]) -> Iterator[None]:
        yield
        if call.excinfo is not None:  # unittest's failures are only put here by pytest's own hook
            look_at(call.excinfo.value)

    def _begin(self, event: str, identity: str) -> None:
        emulation: Any = sys.modules.get(f"{PACKAGE}.cuda.emulation")
        if emulation is not None:
            emulation.forget()
        recorder: Any = sys.modules.get(f"{PACKAGE}.recorder.install")
        if recorder is not None and recorder.current is not None:
            recorder.current.begin(identity if event == "testing" else "")
        children.name_section(identity if event == "testing" else "")
        self._tell(event, id=identity)


def _open() -> Sections | None:
    """Take the instructions out of the environment; what children are told instead is where they may write."""
    instructions = os.environ.pop(VARIABLE, "")
    if not instructions:
        return None
    given = json.loads(instructions)
    tell = teller(Path(given["folder"], TOLD))
    install_with_torch(given, tell)
    if given.get("follow"):
        children.follow(given)
    return Sections(tell)


_sections = _open()


def pytest_configure(config: pytest.Config) -> None:
    if _sections is not None:
        config.pluginmanager.register(_sections, "verifygate-sections")
