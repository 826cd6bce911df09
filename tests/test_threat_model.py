"""The threat model: each sentence about a protection names tests, and they are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "verifygate/docs/threat-model.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| (?!---|The change|What \|)(.+) \|$",
    PAGE.partition("## What each layer stops")[2].partition("\n## ")[0],
    re.MULTILINE,
)
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)


def test_every_layer_names_a_test() -> None:
    assert len(ROWS) > 10
    assert [row for row in ROWS if "::test_" not in row.rpartition(" | ")[2]] == []


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_a_test_that_it_names_is_there(file: str, name: str) -> None:
    path = ROOT / file
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    assert re.search(rf"^def {name}\(", text, re.MULTILINE)
