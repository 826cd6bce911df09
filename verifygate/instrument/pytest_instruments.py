"""A pytest plugin that puts instruments in place before anything of the project is loaded.

It tells, between what the instruments tell, which file is being collected and which test begins, so that each event
belongs to one of them. Where it is given ids, it leaves all other tests out.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .launch import PACKAGE, TOLD, Tell, install_with_torch, teller

VARIABLE = "VERIFYGATE_INSTRUMENTS"


class Sections:
    """Says where one test's events end and the next one's begin, and keeps to the tests that were asked for."""

    def __init__(self, tell: Tell, only: list[str]) -> None:
        self._tell = tell
        self._only = only

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        if isinstance(collector, pytest.File):
            self._begin("collecting", collector.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if not self._only:
            return
        wanted, files = set(self._only), tuple(f"{name}::" for name in self._only)
        kept = [item for item in items if item.nodeid in wanted or item.nodeid.startswith(files)]
        if left_out := [item for item in items if item not in kept]:
            config.hook.pytest_deselected(items=left_out)
        items[:] = kept

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._begin("testing", item.nodeid)
        yield

    def _begin(self, event: str, identity: str) -> None:
        emulation: Any = sys.modules.get(f"{PACKAGE}.cuda_emulation")
        if emulation is not None:
            emulation.forget()
        self._tell(event, id=identity)


def _open() -> Sections | None:
    """Take the instructions out of the environment, so that neither the tests nor their children see them."""
    instructions = os.environ.pop(VARIABLE, "")
    if not instructions:
        return None
    given = json.loads(instructions)
    tell = teller(Path(given["folder"], TOLD))
    install_with_torch(given, tell)
    return Sections(tell, given["only"])


_sections = _open()


def pytest_configure(config: pytest.Config) -> None:
    if _sections is not None:
        config.pluginmanager.register(_sections, "verifygate-sections")
