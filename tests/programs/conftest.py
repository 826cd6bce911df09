"""A project in a folder, and the programs that are found in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from verifygate.model import Program
from verifygate.programs import found_programs
from verifygate.sources.discovery import read_sources

Found = Callable[[dict[str, str]], tuple[Program, ...]]


@pytest.fixture
def found(tmp_path: Path) -> Found:
    """Writes files, and finds what trains in them."""

    def find(files: dict[str, str]) -> tuple[Program, ...]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return found_programs(read_sources(tmp_path, (".",)), tmp_path)

    return find
