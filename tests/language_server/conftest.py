"""A project that is open in an editor."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from protocol_editor import Editor


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project, in a folder whose name is no plain word."""
    root = tmp_path / "mein projekt ä 🚀"
    root.mkdir()
    (root / ".git").mkdir()
    return root


@pytest.fixture
def in_editor(folder: Path) -> Callable[..., None]:
    """Run a scene with an editor that is open on the project, and end the server in good order."""

    def play(scene: Callable[[Editor], Awaitable[None]], **options: Any) -> None:
        async def run() -> None:
            editor = Editor(folder)
            await editor.start(**options)
            await scene(editor)
            assert await editor.stop() == 0

        asyncio.run(run())

    return play
