"""Advisory mode with a last day; and a waiver that cannot apply says so."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from verifygate.cli import main

TODAY = dt.datetime.now(dt.UTC).date()


def until(days: int) -> str:
    return str(TODAY + dt.timedelta(days=days))


@pytest.mark.parametrize("days", [0, 30])
def test_a_block_is_printed_and_ends_with_0(repository: Any, days: int, capsys: pytest.CaptureFixture[str]):
    """Up to and with its last day. The verdict is what it is."""
    repository.write("verifygate.toml", f"[verdict]\nadvisory_until = {until(days)}\n")

    assert main(["run", "--stage", "static"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("BLOCK ")
    assert f"advisory until {until(days)}: a BLOCK ends with exit code 0, and blocks from the day after" in told
    assert "old.py:8: AMP201" in told
    assert repository.report["verdict"] == "BLOCK"
    assert (
        f"**Advisory mode:** advisory until {until(days)}" in repository.page[: repository.page.index("## What blocks")]
    )


def test_from_the_day_after_it_blocks(repository: Any, capsys: pytest.CaptureFixture[str]):
    repository.write("verifygate.toml", f"[verdict]\nadvisory_until = {until(-1)}\n")

    assert main(["run", "--stage", "static"]) == 1
    assert f"advisory mode ended on {until(-1)}: a BLOCK blocks" in capsys.readouterr().out


def test_a_change_does_not_make_itself_advisory(repository: Any, capsys: pytest.CaptureFixture[str]):
    """It is policy, and the policy of a change is that of its base."""
    repository.git("checkout", "-qb", "change")
    repository.commit(new__py=(repository.folder / "old.py").read_text(encoding="utf-8"))
    repository.write("verifygate.toml", f"[verdict]\nadvisory_until = {until(9)}\n")

    assert main(["run", "--stage", "static", "--since", "main"]) == 1
    assert f"verdict.advisory_until: {until(9)} in this change, not set there" in capsys.readouterr().out


def test_advisory_mode_hides_no_error(repository: Any):
    """Exit code 2 says that nothing was judged, whatever the day is."""
    repository.write("verifygate.toml", f"[verdict]\nadvisory_until = {until(9)}\n[project]\nsources = ['gone']\n")

    assert main(["run", "--stage", "static"]) == 2


WAIVED = f"""\
[[waivers]]
checks = ["execution.tests-pass"]
reason = "it is red"
owner = "ann"
expires = {until(30)}
"""


def test_a_waiver_of_a_red_test_says_that_it_cannot_apply(repository: Any, capsys: pytest.CaptureFixture[str]):
    repository.write("verifygate.toml", WAIVED)
    repository.write("old.py", "import torch\n")
    repository.write("test_it.py", "def test_red():\n    assert False\n\n\ndef test_green():\n    pass\n")

    assert main(["run", "--stage", "execution"]) == 1
    assert "the waiver for it cannot apply: nothing waives a failure" in capsys.readouterr().out
    assert [use["state"] for use in repository.report["waivers"]] == ["cannot apply"]
    assert "**cannot apply**" in repository.page


def test_a_waiver_of_a_finding_says_so_too(repository: Any, capsys: pytest.CaptureFixture[str]):
    """The finding is the reason, and names no check."""
    repository.write("verifygate.toml", WAIVED.replace("execution.tests-pass", "static.AMP201"))

    assert main(["run", "--stage", "static"]) == 1
    assert "waiver        of static.AMP201 cannot apply: nothing waives a failure" in capsys.readouterr().out
