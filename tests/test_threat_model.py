"""The threat model: each sentence about a protection names tests, and they are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "verifygate/docs/threat-model.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| (?!---|The change|What \|)(.+) \|$", PAGE.partition("## What each layer stops")[2], re.MULTILINE
)
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
IN_PARALLEL = {
    "test_a_document_with_two_values_of_one_name_is_refused",
    "test_a_file_that_breaks_the_analysis_is_listed",
    "test_a_test_that_changes_the_gate_blocks",
    "test_no_command_starts_what_was_planted",
    "test_no_name_leads_a_command_astray",
    "test_no_way_out_where_isolation_is_required",
    "test_nothing_is_started_that_git_would_start",
    "test_what_a_change_keeps_from_being_collected_blocks",
    "test_what_a_program_keeps_in_the_home_folder",
    "test_what_is_open_by_default_is_what_the_report_says",
    "test_what_runs_is_held_against_the_text_of_the_test",
    "test_what_tests_plant_is_named_and_not_started",
}
"""Tests that other branches of the same issue bring: this goes once they are merged."""


def test_every_layer_names_a_test() -> None:
    assert len(ROWS) > 10
    assert [row for row in ROWS if "::test_" not in row.rpartition(" | ")[2]] == []


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_a_test_that_it_names_is_there(file: str, name: str) -> None:
    path = ROOT / file
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    assert re.search(rf"^def {name}\(", text, re.MULTILINE) or name in IN_PARALLEL
