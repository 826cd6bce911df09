"""Fixtures: a world of evidence to take things out of, and a specification written on the spot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from requirement_world import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    """A specification of one requirement, R, with the given lines below `verify:`."""

    def write(queries: str, head: str = "") -> Path:
        lines = "".join(f"      {line}\n" for line in queries.splitlines())
        path = tmp_path / "spec.yaml"
        path.write_text(
            f"title: T\n{head}requirements:\n"
            "  - id: R\n    title: A title\n    text: A criterion.\n    group: acceptance\n    severity: high\n"
            f"    verify:\n{lines}"
        )
        return path

    return write
