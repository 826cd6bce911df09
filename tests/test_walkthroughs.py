"""The pages that are walked through do as they say: each command is run, and prints what stands below it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from console_blocks import prepared, walked

from verifygate.static.registry import load_rules

DOCS = Path(__file__).parent.parent / "verifygate" / "docs"
PAGES = ("health.md", "models.md", "tutorial.md", "write-a-requirement.md", "write-a-rule.md")


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_every_command_prints_what_the_page_shows(name: str, tmp_path: Path) -> None:
    """`python tests/console_blocks.py PAGE` writes what they print now."""
    page = DOCS / name
    answers = list(walked(page.read_text(encoding="utf-8"), prepared(page, tmp_path)))
    assert len(answers) >= 2
    wrong = [f"$ {each.command}\n{each.printed}{each.errors}" for each in answers if not each.is_as_shown]
    assert wrong == [], f"{sys.executable} tests/console_blocks.py {page}"


def test_the_tutorial_goes_from_block_to_pass() -> None:
    """And it is short: ten minutes are six steps."""
    text = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    verdicts = re.findall(r"^\$ verifygate run\n(\w+) ", text, re.MULTILINE)
    assert verdicts == ["BLOCK", "PASS"]
    assert len(re.findall(r"^## \d\. ", text, re.MULTILINE)) == 6


def test_a_wrong_output_is_noticed(tmp_path: Path) -> None:
    """The comparison can fail, and `...` stands for anything."""
    page = tmp_path / "page.md"
    page.write_text("Write `a.txt`:\n\n```text\nhello\n```\n\n```console\n$ cat a.txt\nhe...\n$ cat a.txt\nbye\n```\n")
    first, second = walked(page.read_text(encoding="utf-8"), prepared(page, tmp_path))
    assert first.is_as_shown
    assert not second.is_as_shown


def test_the_example_of_a_rule_has_the_sections_of_every_rule() -> None:
    """A section that rules must have is in the page that shows how to write one."""
    example = re.search(
        r"````python\n\"\"\"(.*?)\"\"\"", (DOCS / "write-a-rule.md").read_text(encoding="utf-8"), re.DOTALL
    )
    assert example is not None
    of_example = re.findall(r"^## (.+)$", example[1], re.MULTILINE)
    assert of_example == re.findall(r"^## (.+)$", load_rules()["PERF103"].docs, re.MULTILINE)
