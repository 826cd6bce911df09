"""What only the sources settle: lines, quoted code, names, absences, and tests that are run again."""

from __future__ import annotations

from pathlib import Path

import pytest
from claims_help import audit_texts, only, told

from verifygate.claims.rerun import read_summary

TRAIN = '''\
"""Train."""

import torch


def scaled_step(loss, scaler):
    # GradScaler does the scaling
    scaler.scale(loss).backward()
    scaler.step(None)


class Loop:
    def run(self):
        self.model.eval()
        return scaled_step(1, 2)


def unused_helper():
    return "legacy_name"
'''
TEST = """\
import pytest


@pytest.mark.parametrize("number", range(4))
def test_positive(number):
    assert number >= 0


@pytest.mark.skip(reason="no device")
def test_device():
    raise AssertionError
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small project: one module, one test module, a report with the words in it, a build folder."""
    for path, text in {
        "core/train.py": TRAIN,
        "tests/test_train.py": TEST,
        "docs/report.md": "Zero occurrences of `absent_name` in the codebase.\n",
        "build/made.py": "absent_name = 1\n",
        "settings.json": '{"absent_name": 1}\n',
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See `core/train.py:6-9`.", "CONFIRMED"),
        ("See `train.py:8`.", "CONFIRMED"),
        ("`scaled_step()` (train.py:6-9) scales.", "CONFIRMED"),
        ("`core/train.py` (line 8: `scaler.scale(loss).backward()`)", "CONFIRMED"),
        ("See core/train.py:80.", "REFUTED"),
        ("See core/step.py:8.", "REFUTED"),
        ("`scaled_step()` (core/train.py:1-2) scales.", "REFUTED"),
        ("`scaler.step(None)` (core/train.py:8) steps.", "INCONCLUSIVE"),  # one line off
        ("`scaler.unscale_(o)` (core/train.py:8) unscales.", "INCONCLUSIVE"),  # may be put in other words
        ("See other/step.py:8.", "INCONCLUSIVE"),  # perhaps of another project
        ("We removed core/step.py:8.", "INCONCLUSIVE"),
        ("See `build/made.py:1`.", "INCONCLUSIVE"),
        ("It fails at line 8.", "INCONCLUSIVE"),
        ("- core/train.py: 420 lines", ""),
        ("The change adds lines 120 of code.", ""),
    ],
)
def test_references(tree: Path, text: str, expected: str):
    found = [claim.verdict.value for claim in audit_texts(text, root=tree).claims if claim.kind.value == "reference"]
    assert found == ([expected] if expected else [])


def test_without_a_tree_nothing_is_settled():
    text = "See `core/train.py:900`.\n\nZero occurrences of `GradScaler` in the codebase.\n\n`no_such_name()` is new.\n"
    report = audit_texts(text)
    assert {claim.verdict.value for claim in report.claims} == {"INCONCLUSIVE"}
    assert {claim.reason for claim in report.claims} == {"no source tree given"}
    assert report.source_files is None


QUOTE = "{head}:\n\n```python\n{code}\n```\n"


@pytest.mark.parametrize(
    ("head", "code", "expected"),
    [
        ("In core/train.py:6-9", "scaler.scale(loss).backward()  # scaled\nscaler.step( None )", "CONFIRMED"),
        ("In core/train.py:18-19", "scaler.scale(loss).backward()", "REFUTED"),
        ("In core/train.py:6-9", "optimizer.step_twice()\noptimizer.step_thrice()", "REFUTED"),
        ("The fix for core/train.py:6-9", "optimizer.step_twice()\noptimizer.step_thrice()", "INCONCLUSIVE"),
        ("core/train.py:6-9 以前", "optimizer.step_twice()\noptimizer.step_thrice()", "INCONCLUSIVE"),
        ("In core/train.py:6-9", "scaler.scale(loss).backward()\noptimizer.step_twice()", "INCONCLUSIVE"),
    ],
)
def test_quoted_code(tree: Path, head: str, code: str, expected: str):
    """Layout and comments do not matter; what is proposed need not stand anywhere."""
    assert only(audit_texts(QUOTE.format(head=head, code=code), root=tree), "quote").verdict.value == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`scaled_step()` is used.", "CONFIRMED"),
        ("`no_such_name()` is used.", "INCONCLUSIVE"),
        ("`no_such_name()` in `core/train.py` scales.", "REFUTED"),
        ("Add `no_such_name()` in `core/train.py`.", "INCONCLUSIVE"),
    ],
)
def test_names(tree: Path, text: str, expected: str):
    assert only(audit_texts(text, root=tree), "symbol").verdict.value == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Zero occurrences of `scaled_step` in the codebase.", "REFUTED"),
        ("Zero occurrences of `absent_name` in the codebase.", "CONFIRMED"),  # a report and a build output do not count
        ("`unused_helper()` is never called anywhere.", "CONFIRMED"),
        ("`scaled_step()` is never called anywhere.", "REFUTED"),
        ("There is no usage of `eval()` in the codebase.", "INCONCLUSIVE"),  # model.eval() is another thing
        ("Zero occurrences of `GradScaler` in the codebase.", "INCONCLUSIVE"),  # in a comment only
        ("No test calls `scaled_step()`: no test calls `scaled_step()`.", "CONFIRMED"),
        ("`Loop` and `absent_name` are absent from the codebase.", "INCONCLUSIVE"),
        ("There are zero references to the old design in the codebase.", "INCONCLUSIVE"),
    ],
)
def test_absences(tree: Path, text: str, expected: str):
    assert only(audit_texts(text, root=tree), "absence").verdict.value == expected


def test_search_that_was_too_narrow_is_named(tree: Path):
    text = '- Test: search for `Loop`\n- Actual: zero occurrences in codebase\n\n```\ngrep -r "Loop" docs/*.md\n```\n'
    claim = only(audit_texts(text, root=tree), "absence")
    assert claim.verdict.value == "REFUTED"
    assert claim.reason.endswith("covers only `docs/*.md`")


# -- tests run again ---------------------------------------------------------------------------------------------


COUNTS = {
    "- 4 passed, 1 skipped in the tests": "CONFIRMED",
    "- 4/5 tests passed (1 skipped)": "CONFIRMED",
    "- 12/12 tests passed": "REFUTED",
    "- 5 passed, 0 skipped in the tests": "INCONCLUSIVE",
    "- Before the fix 3/5 tests passed": "INCONCLUSIVE",
    "- 13/12 tests passed": "REFUTED",
}


def test_counts_of_tests(tree: Path):
    """What is skipped depends on the machine, so a count is refuted only by its total or by failures."""
    report = audit_texts("\n".join(COUNTS), root=tree, run_tests=True)
    assert report.tests_run
    assert told(report, "tests") == sorted((verdict, line, "tests") for line, verdict in enumerate(COUNTS.values(), 1))


def test_failure_refutes_that_all_pass(tree: Path):
    (tree / "tests/test_train.py").write_text(TEST.replace(">= 0", "> 0"), encoding="utf-8")
    claim = only(audit_texts("4 passed, 1 skipped in the tests", root=tree, run_tests=True), "tests")
    assert claim.verdict.value == "REFUTED"
    assert "tests/test_train.py::test_positive[0]" in claim.reason
    assert str(tree) not in claim.reason


def test_missing_module_settles_nothing(tree: Path):
    (tree / "tests/test_train.py").write_text("import not_there_at_all\n" + TEST, encoding="utf-8")
    claim = only(audit_texts("4 passed, 1 skipped in the tests", root=tree, run_tests=True), "tests")
    assert (claim.verdict.value, claim.reason) == ("INCONCLUSIVE", "run again: the tests could not be collected here")


def test_tests_that_are_not_there(tree: Path):
    claim = only(audit_texts("tests/test_gone.py: 4 passed, 1 skipped", root=tree, run_tests=True), "tests")
    assert (claim.verdict.value, claim.reason) == (
        "INCONCLUSIVE",
        "run again: the source tree has no file tests/test_gone.py",
    )


def test_tests_are_not_run_unasked(tree: Path):
    (tree / "tests/test_train.py").write_text("raise SystemExit('never import me')\n", encoding="utf-8")
    report = audit_texts("12/12 tests passed", root=tree)
    assert told(report, "tests") == [("INCONCLUSIVE", 1, "tests")]
    assert not report.tests_run


@pytest.mark.parametrize(
    ("output", "exit_code", "problem"),
    [("", 5, "found no test"), ("garbage", 0, "did not finish"), ("1 passed in 0.1s", 2, "did not finish")],
)
def test_run_that_tells_nothing(output: str, exit_code: int, problem: str):
    assert problem in read_summary(output, exit_code, f"exit code {exit_code}", Path()).problem
