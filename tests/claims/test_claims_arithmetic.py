"""What the text of a report settles by itself: shares, sums, scores, tables, changes, counts, targets, encoding."""

from __future__ import annotations

import pytest
from claims_help import audit_texts, only, refuted, told

from verifygate.claims.encoding import damage
from verifygate.claims.equations import evaluate
from verifygate.claims.status import Ended, decided, ended


def verdict(text: str, kind: str) -> str:
    """The one claim of the kind, or nothing."""
    found = [claim.verdict.value for claim in audit_texts(text).claims if claim.kind.value == kind]
    assert len(found) < 2
    return found[0] if found else ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2/8 (25%)", "CONFIRMED"),
        ("1.5/8 (19%)", "CONFIRMED"),
        ("1.5/8 (18%)", "CONFIRMED"),
        ("2/3 of the cases passed, 4 of 6 (66%)", "CONFIRMED"),
        ("about ~12% (1 of 8)", "CONFIRMED"),
        ("80% complete (12 of 15)", "CONFIRMED"),
        ("3/8 (33%)", "REFUTED"),
        ("90% (12 of 15)", "REFUTED"),
        ("7/9 = 70%", "REFUTED"),
        ("2/8 (75%)", "INCONCLUSIVE"),
        ("12/12 (95%)", "INCONCLUSIVE"),
        ("Phase 2/5 (35% complete)", ""),
        ("45/45 passing (92% coverage)", ""),
        ("Quality 8/10 (25% weight)", ""),
        ("on 2024/11/16 (50%)", ""),
        ("0/0 (100%)", ""),
    ],
)
def test_shares(text: str, expected: str):
    """Rounded either way it is right; a share of something else is no claim."""
    assert verdict(text, "percentage") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sum: 25 + 20 + 5 = 50", "CONFIRMED"),
        ("1.35 × 1.22 × 1.18 = 1.94", "CONFIRMED"),
        ("it is 0.4 * 85% = 34%", "CONFIRMED"),
        ("18 / 20 = 90%", "CONFIRMED"),
        ("(90 + 80) / 2 = 85", "CONFIRMED"),
        ("total 1,200 + 300 = 1,500 lines", "CONFIRMED"),
        ("Sum: 25 + 20 + 5 = 60", "REFUTED"),
        ("1.35 × 1.22 × 1.18 = 1.72", "REFUTED"),
        ("The report claims 2 + 2 = 5", "INCONCLUSIVE"),
        ("f(2) + 3 = 9", ""),
        ("x + 3 + 4 = 12", ""),
        ("9/10 + 8/10 = 17/20", ""),
        ("2^3 + 1 = 9", ""),
        ("3 + 4 = 7 + 1", ""),
    ],
)
def test_equations(text: str, expected: str):
    """Only a whole calculation is judged, by every way to read its percentages."""
    assert verdict(text, "equation") == expected


@pytest.mark.parametrize(("other", "expected"), [("PARTIAL", "INCONCLUSIVE"), ("FAIL", "REFUTED")])
def test_partly_met_ones_may_count_as_half(other: str, expected: str):
    """Six that pass and two in part are 88 %; six that pass and two that fail are 75 %."""
    assert verdict(f"2 others ended in {other}.\n\nResult: 6/8 PASS (88%)\n", "percentage") == expected


def test_equations_in_plain_blocks_only():
    """A calculation in a block without a language is read; one in source code is not."""
    text = "Score:\n\n```\n0.6 * 80 + 0.4 * 90 = 90\n```\n\n```python\nassert 1 + 1 = 3\n```\n"
    assert told(audit_texts(text)) == [("REFUTED", 4, "equation")]


def test_rounding_widens_what_is_rounded():
    value = evaluate("2.5 - 1.5", percent=False, slack=True)
    assert value is not None
    assert (float(value.low), float(value.high)) == (0.9, 1.1)
    assert evaluate("1 / (2 - 2)", percent=False) is None


BREAKDOWN = """
## Score breakdown

- Tests: {tests}/30
- Design: 20/40
- Speed: 25/30
{more}

**Final score: {total}**
"""


@pytest.mark.parametrize(
    ("tests", "more", "total", "expected"),
    [
        (25, "", "70/100", "CONFIRMED"),
        (25, "- Missing docs: -5", "65/100", "CONFIRMED"),
        (25, "", "75/100", "REFUTED"),
        (25, "- Missing docs: -5", "70/100", "CONFIRMED"),  # the points over the maxima, before the deduction
        (25, "- Missing docs: -5", "80/100", "REFUTED"),
        (25, "- Docs: good", "75/100", ""),  # a line that may hold points
    ],
)
def test_score_and_its_parts(tests: int, more: str, total: str, expected: str):
    assert verdict(BREAKDOWN.format(tests=tests, more=more, total=total), "score") == expected


def test_score_reason_shows_the_arithmetic():
    claim = only(audit_texts(BREAKDOWN.format(tests=25, more="- Fee: -10", total="90/100")), "score")
    assert claim.reason == "the parts listed add up to 60 (25 + 20 + 25 - 10), not 90"


@pytest.mark.parametrize(
    ("total", "expected"), [("8/10", "CONFIRMED"), ("7.5/10", "INCONCLUSIVE"), ("9.5/10", "REFUTED")]
)
def test_parts_without_weights(total: str, expected: str):
    """Only what no weights could give is refuted."""
    text = f"## Score breakdown\n\n- Style: 7/10\n- Tests: 9/10\n- Docs: 8/10\n\nOverall score: {total}\n"
    assert verdict(text, "score") == expected


@pytest.mark.parametrize(("total", "expected"), [("80/100", "CONFIRMED"), ("82/100", "REFUTED")])
def test_parts_with_weights(total: str, expected: str):
    text = f"## Scoring\n\n- Style (50%): 70/100\n- Tests (50%): 90/100\n\nScore: {total}\n"
    assert verdict(text, "score") == expected


def test_planned_scores_are_no_breakdown():
    text = "## Target scores\n\n- Style: 7/10\n- Tests: 9/10\n\nScore: 3/20\n"
    assert told(audit_texts(text), "score") == []


@pytest.mark.parametrize(("head", "end", "expected"), [(70, 70, "CONFIRMED"), (70, 90, "REFUTED")])
def test_score_given_twice(head: int, end: int, expected: str):
    text = f"# Report\n\nScore: {head}/100\n\n## Reader\n\nScore: 12/100\n\n## Conclusion\n\nFinal score: {end}/100\n"
    assert told(audit_texts(text), "agreement") == [(expected, 11, "agreement")]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ("| Total | 30 |", "CONFIRMED"),
        ("| Total | 31 |", "REFUTED"),
        ("| Total | ~31 |", ""),
        ("| Total | 30+ |", ""),
        ("| Summary | 31 |", ""),
    ],
)
def test_total_rows(cells: str, expected: str):
    assert verdict(f"| Suite | Tests |\n|---|---|\n| a | 10 |\n| b | 20 |\n{cells}\n", "table") == expected


def test_total_of_what_is_not_counted_is_not_refuted():
    """Percentages, times and ratios need not add up."""
    text = "| Step | Share | Time |\n|---|---|---|\n| a | 10% | 3 s |\n| b | 20% | 4 s |\n| Total | 12% | 5 s |\n"
    assert told(audit_texts(text)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from 850 ms to 150 ms (82% faster)", "CONFIRMED"),
        ("12 s → 4 s (3x speedup)", "CONFIRMED"),
        ("from 100 ms to 50 ms (100% faster)", "CONFIRMED"),
        ("99.5% to 99.9% of requests", ""),
        ("from 850 ms to 150 ms (60% faster)", "REFUTED"),
        ("12 s → 4 s (5x)", "REFUTED"),
        ("from 2 GB to 500 MB (75% less)", ""),
        ("177 → 60 (-70%)", "INCONCLUSIVE"),
    ],
)
def test_changes(text: str, expected: str):
    """Any usual way to compare two values counts; different units are not compared."""
    assert verdict(text, "derived") == expected


def test_before_and_after_sections():
    text = "## Memory\n\n### Before\n\n- Peak: 2.5 GB\n\n### After\n\n- Peak: 1.6 GB\n- Reduction: {}%\n"
    assert verdict(text.format(36), "derived") == "CONFIRMED"
    assert verdict(text.format(63), "derived") == "REFUTED"


@pytest.mark.parametrize(
    ("factor", "expected"),
    [("1.94x", "CONFIRMED"), ("1.75x", "CONFIRMED"), ("1.44x", "INCONCLUSIVE"), ("1.72x", "REFUTED")],
)
def test_speedup_of_parts(factor: str, expected: str):
    """Product, sum; of some parts only; of none."""
    text = f"### Projected overall speedup: {factor}\n\n- Memory: +35%\n- Loader: +22%\n- Sync: +18%\n"
    assert verdict(text, "derived") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Failed tests (2)\n\n- a\n- b\n", "CONFIRMED"),
        ("## Failed tests (2)\n\n1. a\n2. b\n3. c\n", "REFUTED"),
        ("## Failed tests (3)\n\n- a\n- b\n", "INCONCLUSIVE"),  # a selection, perhaps
        ("All 3 fixes were verified:\n\n- a\n- b\n", "REFUTED"),
        ("The 3 key gaps:\n\n- a\n- b\n", "INCONCLUSIVE"),
        ("39 tests across 3 files:\n\n- a\n- b\n- c\n- d\n", "INCONCLUSIVE"),
        ("## Tests (45)\n\n- Unit: 30\n- Integration: 15\n", "CONFIRMED"),
        ("## Phase (2)\n\n- a\n", ""),
        ("## Open issues (0)\n\n- None\n", ""),
        ("All 5 tools answer:\n\n- Math: add, subtract\n- Text: cut, join, fold\n", "CONFIRMED"),
        ("All 6 tools answer:\n\n- Math: add, subtract\n- Text: cut, join, fold\n", "INCONCLUSIVE"),
    ],
)
def test_counts_beside_lists(text: str, expected: str):
    assert verdict(text, "count") == expected


@pytest.mark.parametrize(
    ("stated", "expected"),
    [("1/4", "CONFIRMED"), ("1.5/4", "CONFIRMED"), ("2/4", "CONFIRMED"), ("3/4", "REFUTED"), ("1.25/4", "REFUTED")],
)
def test_tally_of_statuses(stated: str, expected: str):
    """Partly met lines may count in full, by half, or not."""
    text = f"## Criteria\n\n1. a - MET\n2. b - PARTIALLY MET\n3. c - NOT MET\n4. d - NOT MET\n\nMet: {stated}\n"
    assert verdict(text, "count") == expected


def test_one_table_counted_twice():
    rows = "| Item | Status |\n|---|---|\n| a | PASS |\n| b | PARTIAL |\n| c | FAIL |\n"
    report = audit_texts(f"## Coverage\n\n{rows}\nVerified: 1/3\n\n### Closing\n\nRequirements met: 2/3\n")
    assert [(claim.kind.value, claim.line) for claim in refuted(report)] == [("agreement", 13)]


def test_severities_marked_in_headings():
    text = "# Audit\n\nCritical issues: {}\n\n## [CRITICAL] The file leaks\n\nIt leaks handles.\n"
    assert verdict(text.format(1), "count") == "CONFIRMED"
    assert verdict(text.format(0), "count") == "REFUTED"
    assert verdict(text.format(0).replace("It leaks", "Fixed: it no longer leaks"), "count") == "INCONCLUSIVE"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Speedup target: 1.5x ✅", "INCONCLUSIVE"),
        ("The run meets all performance targets (1.5x speedup).", "INCONCLUSIVE"),
        ("Coverage reached 71% (target: >= 80%) ✅", "REFUTED"),
        ("Coverage reached 81% (target: >= 80%) ✅", "CONFIRMED"),
        ("Latency is ~190 ms (target: < 180 ms) ✅", "INCONCLUSIVE"),
        ("The speedup target of 1.5x is not met.", ""),
        ("Verify that the speedup target is met.", ""),
    ],
)
def test_targets(text: str, expected: str):
    """Called met, a target is open until figures of the report itself speak against it."""
    assert verdict(text + "\n", "target") == expected


def test_projection_is_named_as_such():
    text = "The projected speedup of 1.72x exceeds the 1.5x target.\n"
    assert only(audit_texts(text), "target").reason.endswith("projected is not measured")


def test_stated_measurement_is_shown_and_still_open():
    """A figure without samples is declared, not proved."""
    text = "Median throughput: 950 samples/s over n=20 runs.\n\nThe throughput target of 900 samples/s is met ✅.\n"
    claim = next(c for c in audit_texts(text).claims if c.kind.value == "target")
    assert "on line 1, without the samples" in claim.reason


def test_encoding_damage():
    """UTF-8 read as Windows-1252 and saved again; a pair that a person may have written is left alone."""
    damaged = "Done ✅, 3 × 4, café".encode().decode("cp1252")
    report = audit_texts(f"# Report\n\n{damaged}\n")
    claim = only(report, "encoding")
    assert (claim.verdict.value, claim.line) == ("REFUTED", 3)
    assert "for ✅" in claim.reason
    assert told(audit_texts("# IRMÃ” e caf\u00e9 \u2013 \u00abaqui\u00bb\n")) == []
    spoken = audit_texts(f"The encoding was fixed: `{damaged}` is gone.\n")
    assert only(spoken, "encoding").verdict.value == "INCONCLUSIVE"
    assert list(damage("Ã—")) == [("Ã—", "×")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("✅ PASS", Ended.PASS),
        ("PARTIALLY MET", Ended.PARTIAL),
        ("NOT IMPLEMENTED", Ended.FAIL),
        ("❌", Ended.FAIL),
        ("⚠️", Ended.PARTIAL),
        ("N/A", Ended.NOT_APPLICABLE),
        ("❌ PASS", None),
        ("see below", None),
    ],
)
def test_status_words(text: str, expected: Ended | None):
    assert ended(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PASS ✅", True),
        ("✅ APPROVED FOR PRODUCTION", True),
        ("BLOCK", False),
        ("NO-GO (4 blockers)", False),
        ("PASS with conditions", None),
        ("APPROVE after the fixes", None),
        ("PASS/FAIL", None),
        ("see the table", None),
    ],
)
def test_verdict_words(text: str, expected: bool | None):
    assert decided(text) is expected
