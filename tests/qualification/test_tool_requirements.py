"""What the tool is required to do is traced to tests that are there, and to the malfunctions that it prevents."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from verifygate.model import Witness
from verifygate.quality.qualification.kit import known_codes
from verifygate.quality.qualification.rule_records import OTHER_RUN_TESTS, RuleRecord, rule_records
from verifygate.quality.qualification.tool_requirements import ToolRequirement, tool_description
from verifygate.static.registry import load_rules

ROOT = Path(__file__).parents[2]
TOLD = tool_description()


def functions_of(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("requirement", TOLD.requirements, ids=lambda each: each.id)
def test_each_requirement_names_tests_that_are_there(requirement: ToolRequirement) -> None:
    """Renamed or removed, a test leaves the requirement without evidence: correct the list."""
    assert requirement.tests
    for test in requirement.tests:
        path, _, name = test.partition("::")
        assert name in functions_of(path), test


def test_requirements_and_malfunctions_belong_together() -> None:
    """Ids are unique and in order; each requirement is against a malfunction, each malfunction has a requirement."""
    ids = [each.id for each in TOLD.requirements]
    assert ids == sorted(set(ids))
    assert {name for each in TOLD.malfunctions for name in each.requirements} == set(ids)
    assert all(each.requirements for each in TOLD.malfunctions)


@pytest.fixture(scope="module")
def records() -> tuple[RuleRecord, ...]:
    return rule_records(known_codes(), (), runs=False, proofs={}, labelled=None, progress=lambda _text: None)


def test_the_tests_of_each_rule_are_there(records: tuple[RuleRecord, ...]) -> None:
    """By file and function; what stands in brackets is the rule."""
    assert [each.code for each in records] == list(known_codes())
    for test in {test.partition("[")[0] for record in records for test in record.tests}:
        path, _, name = test.partition("::")
        assert (ROOT / path).is_file(), test
        assert not name or name in functions_of(path), test


def test_what_a_run_shows_is_tested_where_the_record_says(records: tuple[RuleRecord, ...]) -> None:
    """The usual cases name the rule, or the file that is given instead does; the rest is known."""
    usual = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests/execution/cases").glob("*.py"))
    for code, loaded in load_rules().items():
        if Witness.RUN in loaded.rule.witnesses:
            other = OTHER_RUN_TESTS.get(code)
            text = usual if other is None else (ROOT / other).read_text(encoding="utf-8") if other else code
            assert code in text, code
            assert other is None or code not in usual, f"{code} has cases now"
    assert set(OTHER_RUN_TESTS) <= set(load_rules())


def test_every_rule_says_what_it_claims_and_what_it_does_not_see(records: tuple[RuleRecord, ...]) -> None:
    """From its documentation; the test file of a rule of the security stage names the rule."""
    for record in records:
        assert record.claim
        assert record.impact
        assert record.limits
        if record.code.startswith("SEC"):
            assert record.code in (ROOT / record.tests[0]).read_text(encoding="utf-8")
