"""The page of faults found in published code shows what the runs really print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from verifygate.quality.docs import DOCS

RUNS = Path(__file__).parent / "found_in_the_wild"
PAGE = (DOCS / "found-in-the-wild.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("run", sorted(path.name for path in RUNS.glob("*.py")))
def test_the_page_shows_what_the_run_prints(run: str):
    ended = subprocess.run([sys.executable, "-W", "error", RUNS / run], capture_output=True, text=True, check=True)

    assert f"`tests/found_in_the_wild/{run}`:\n\n```\n{ended.stdout}```\n" in PAGE


def test_every_run_that_the_page_names_is_there():
    assert sorted(re.findall(r"`tests/found_in_the_wild/(\w+\.py)`", PAGE)) == sorted(p.name for p in RUNS.glob("*.py"))
