"""The page of faults found in published code shows what the runs really print."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

RUNS = sorted((Path(__file__).parent / "found_in_the_wild").glob("*.py"))
PAGE = (Path(__file__).parent / "found_in_the_wild" / "README.md").read_text(encoding="utf-8")
RUN_ALL = """
import contextlib, io, json, runpy, sys
printed = {}
for path in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        runpy.run_path(path, run_name="__main__")
    printed[path] = out.getvalue()
print(json.dumps(printed))
"""


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    """What each run prints, all in one process: importing torch takes longer than any of them."""
    command = [sys.executable, "-W", "error", "-c", RUN_ALL, *map(str, RUNS)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    outputs: dict[str, str] = json.loads(ended.stdout)
    return outputs


@pytest.mark.parametrize("run", RUNS, ids=lambda path: path.stem)
def test_the_page_shows_what_the_run_prints(run: Path, printed: dict[str, str]):
    assert f"`tests/found_in_the_wild/{run.name}`:\n\n```\n{printed[str(run)]}```\n" in PAGE


def test_every_run_that_the_page_names_is_there():
    assert sorted(re.findall(r"`tests/found_in_the_wild/(\w+\.py)`", PAGE)) == [path.name for path in RUNS]
