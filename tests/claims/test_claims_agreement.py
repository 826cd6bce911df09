"""Reports against each other, and a report against itself."""

from __future__ import annotations

import pytest
from claims_help import audit_texts, refuted, told

from verifygate.claims.identity import Identity, one_thing
from verifygate.claims.markdown import parse

HEAD = "# Review\n\nTask: JOB-77\nVersion: {version}\n\nDecision: {decision}\n\n"


def pair(first: str, second: str, versions: tuple[str, str] = ("v2", "v2"), decision: str = "PASS") -> list[str]:
    """The verdicts of what the two reports are found to disagree, or agree, about."""
    report = audit_texts(
        HEAD.format(version=versions[0], decision=decision) + first,
        HEAD.format(version=versions[1], decision=decision) + second,
    )
    between = [claim for claim in report.claims if any(passage.path != claim.path for passage in claim.against)]
    return sorted(claim.verdict.value for claim in between if not claim.words.startswith("Decision"))


LEAK = "## [CRITICAL] Memory leak in the reader\n\nMemory grows by 2 MB an epoch.\n"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("No memory leaks detected in the loop.\n", LEAK, ["REFUTED"]),
        ("No memory leaks detected in the loop.\n", LEAK.replace("leak in", "leak fixed in"), []),
        ("No memory leaks detected in the loop.\n", "## Memory\n\nMemory leaks would be harmful.\n", []),
        ("`TokenCache` is thread-safe.\n", "`TokenCache` is not thread-safe without a lock.\n", ["REFUTED"]),
        ("`TokenCache` is thread-safe.\n", "`OtherCache` is not thread-safe.\n", []),
        (
            "Zero occurrences of `TokenCache` in the codebase.\n",
            "`TokenCache`: lines 12-19, guarded by a lock.\n",
            ["REFUTED"],
        ),
        ("Zero occurrences of `TokenCache` in the codebase.\n", "`TokenCache` should be added near line 12.\n", []),
    ],
)
def test_contradictions(first: str, second: str, expected: list[str]):
    """Both orders, on one version; on two versions both may hold."""
    assert pair(first, second) == expected
    assert pair(second, first) == expected
    assert pair(first, second, ("v1", "v2")) == []


MET = "The 1.5x speedup target is met ✅\n"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (MET, "- Current effective speedup: ~1.2-1.3x (bottlenecks)\n", ["REFUTED"]),
        (MET, "- Current speedup: 1.45x\n", ["REFUTED"]),
        (MET, "- Current speedup: ~1.45x\n", []),  # rounded from 1.5, perhaps
        (MET, "- Current speedup: 1.6x\n", []),
        (MET, "- Current speedup target: 1.2x\n", []),
        (MET, "- Potential speedup after fixes: 1.2x\n", []),
        (MET, "- Previous speedup: 1.2x\n", []),
        (MET, "- Current memory reduction: 1.2x\n", []),
        ("Speedup of 1.5x: code checks for this target ✅\n", "- Current speedup: 1.2x\n", []),
        ("The 1.5x speedup target is not met.\n", "- Current speedup: 1.2x\n", []),
        ("Latency target of 20 ms: met ✅\n", "- Current latency: 35 ms\n", ["REFUTED"]),
        ("Latency target of 20 ms: met ✅\n", "- Current latency: 1.4 s\n", []),  # other units are not compared
    ],
)
def test_a_target_met_here_and_missed_there(first: str, second: str, expected: list[str]):
    """Which of the two is wrong is not said; what may be rounding, or another time, is no contradiction."""
    assert pair(first, second) == expected
    assert pair(second, first) == expected
    assert pair(first, second, ("v1", "v2")) == []


def test_a_target_met_and_missed_in_one_report():
    (claim,) = refuted(audit_texts(f"# R\n\n{MET}\n- Current speedup: 1.2x\n"))
    assert (claim.line, claim.against[0].line) == (3, 5)


BENCHMARK = "## `tools/speed_benchmark.py`\n\n- Warm-up: lines 12-19\n"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("- Missing: no benchmarking code\n", BENCHMARK, ["REFUTED"]),
        ("| Speed | FAIL | No benchmark script |\n|---|---|---|\n| a | b | c |\n", BENCHMARK, []),
        ("No benchmark scripts exist.\n", "See `speed_benchmark.py:12-19`.\n", ["REFUTED"]),
        ("No benchmark code in `pkg/`.\n", BENCHMARK, []),
        ("No profiling code\n", BENCHMARK, []),
        ("No duplicate code\n", "See `duplicate.py:12-19`.\n", []),
        ("No benchmark code\n", "Add `speed_benchmark.py` with a warm-up.\n", []),
        ("No benchmark code\n", "## Recommended: add `speed_benchmark.py`\n\nLike lines 12-19 of it.\n", []),
        ("The benchmark code is missing a warm-up.\n", BENCHMARK, []),
    ],
)
def test_code_that_is_missing_here_and_cited_there(first: str, second: str, expected: list[str]):
    """A kind of code that a report says there is none of, and a file called so of which another cites lines."""
    assert pair(first, second) == expected
    assert pair(second, first) == expected
    assert pair(first, second, ("v1", "v2")) == []


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (("v2", "v2"), [("REFUTED", 6, "agreement")]),
        (("v2", "v3"), []),
        (("v2", "?"), [("INCONCLUSIVE", 6, "agreement")]),
    ],
)
def test_verdicts_of_one_version(versions: tuple[str, str], expected: list[tuple[str, int, str]]):
    report = audit_texts(
        HEAD.format(version=versions[0], decision="PASS"), HEAD.format(version=versions[1], decision="BLOCK")
    )
    assert told(report, "agreement") == expected


def test_same_lines_cited_is_one_code():
    """Without versions, two ranges that both cite say that they read the same code; one range says nothing."""
    texts = ["# A\n\nTask: JOB-77\n\n{}\n", "# B\n\nTask: JOB-77\n\n{}\n"]
    two = [Identity(parse(text.format("See a.py:10-20 and a.py:30-44."), "r.md")) for text in texts]
    assert one_thing(*two) == (True, "both are about JOB-77 and cite the same lines (a.py:10-20, a.py:30-44)")
    one = [Identity(parse(text.format("See a.py:10-20."), "r.md")) for text in texts]
    assert one_thing(*one)[0] is False
    other = [two[0], Identity(parse(texts[1].format("See b.py:10-20 and b.py:30-44."), "r.md"))]
    assert one_thing(*other)[0] is False


def test_other_tasks_are_other_things():
    first, second = (Identity(parse(f"# R\n\nTask: JOB-{n}\nVersion: v2\n", "r.md")) for n in (1000, 2000))
    assert one_thing(first, second) == (False, "")


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("Final verdict: PASS", "CONFIRMED"),
        ("Final verdict: REJECTED", "REFUTED"),
        ("Recommendation: REJECT", "INCONCLUSIVE"),
        ("Final verdict: REJECTED\n(pending a second run)", ""),
        ("Final verdict: PASS with remarks", ""),
    ],
)
def test_verdicts_of_one_report(end: str, expected: str):
    found = told(audit_texts(f"# R\n\nDecision: PASS\n\n## End\n\n{end}\n"), "agreement")
    assert [verdict for verdict, _, _ in found] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("score", "decision", "expected"), [(65, "PASS", ["REFUTED"]), (85, "PASS", ["CONFIRMED"]), (85, "BLOCK", [])]
)
def test_verdict_against_its_threshold(score: int, decision: str, expected: list[str]):
    """A block above the threshold may have another reason."""
    text = f"# R\n\nScore: {score}/100\nPassing threshold: 80\n\nDecision: {decision}\n"
    assert [verdict for verdict, _, _ in told(audit_texts(text), "agreement")] == expected


def test_praise_that_costs_points():
    text = "## Coverage\n\nTest coverage - EXCELLENT\n\n## Points\n\n- Test coverage: -10 (no test of the loader)\n"
    assert [(claim.line, claim.against[0].line) for claim in refuted(audit_texts(text))] == [(7, 3)]
