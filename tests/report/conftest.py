"""Draws the pictures of a report once however many tests render it: that is most of the time that a page takes."""

from __future__ import annotations

from functools import cache

import pytest

from verifygate.model import StageResult
from verifygate.report.pictures import Pictures

draw = Pictures.of


@cache
def drawn(stage: str) -> Pictures:
    return draw(StageResult.model_validate_json(stage) if stage else None)


@pytest.fixture(autouse=True)
def drawn_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.path.stem != "test_pictures":  # there each drawing is one of its own
        monkeypatch.setattr(Pictures, "of", lambda stage: drawn(stage.model_dump_json() if stage else ""))
