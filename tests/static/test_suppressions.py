"""Comments that silence findings: where they may stand, what they must say, and what they never do."""

from __future__ import annotations

import pytest

from verifygate.config.settings import StaticSettings
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.analysis_result import AnalysisResult
from verifygate.static.engine import analyse

IMPORT = "from torch.cuda.amp import GradScaler\n"


def analysed(text: str, select: tuple[str, ...] = ()) -> AnalysisResult:
    return analyse(Sources([SourceFile("train.py", (IMPORT + text).encode())]), StaticSettings(select=select))


def rules(text: str) -> list[tuple[int, str]]:
    return [(finding.line, finding.rule) for finding in analysed(text).findings]


@pytest.mark.parametrize(
    "text",
    [
        "s = GradScaler()  # verifygate: ignore[AMP501] torch 2.3 here",
        "s = GradScaler()  # verifygate:ignore[amp501]: torch 2.3 here",
        "s = GradScaler()  # verifygate: ignore[deprecated-amp-api] torch 2.3 here",
        "s = GradScaler()  # type: ignore  # verifygate: ignore[AMP501] torch 2.3 here",
        "s = GradScaler()  # noqa: AMP501",
        "s = GradScaler()  # NOQA: E501,AMP501",
        "# verifygate: ignore[AMP501] torch 2.3 here\ns = GradScaler()",
        "# verifygate: ignore[AMP501] torch 2.3 here\n# and a second comment\n\ns = GradScaler()",
        "s = GradScaler(\n    init_scale=2.0,  # verifygate: ignore[AMP501] torch 2.3 here\n)",
        "s = GradScaler(\n    init_scale=2.0,\n)  # verifygate: ignore[AMP501] torch 2.3 here",
        "s = (  # verifygate: ignore[AMP501] torch 2.3 here\n    GradScaler()\n)",
        "s = (\n    GradScaler()\n)  # verifygate: ignore[AMP501] torch 2.3 here",
        "# verifygate: ignore[AMP501] torch 2.3 here\ns = \\\n    GradScaler()",
        "s = GradScaler()  # VerifyGate: Ignore[AMP501] torch 2.3 here",
        "s = GradScaler()  # verifygate: ignore[AMP501] #123",
        "s = GradScaler()  # verifygate: ignore[AMP501] torch 2.3 here  # noqa: E501",
    ],
)
def test_finding_is_silenced(text: str):
    """On its own line, on the line above, or on any line of a statement that spans several."""
    outcome = analysed(text)
    assert outcome.findings == ()
    assert [(each.rule, each.path) for each in outcome.suppressions] == [("AMP501", "train.py")]


@pytest.mark.parametrize(
    "comment",
    [
        "# verifygate: ignore",
        "# verifygate: ignore[]",
        "# verifygate: ignore[AMP501]",
        "# verifygate: ignore[AMP501]  # noqa: E501",
        "# VERIFYGATE: IGNORE",
        "# verifygate: ignore[AMP999] x",
    ],
)
def test_refused_comment_silences_nothing(comment: str):
    """Without a rule, a known one, and a reason, the finding stays and the comment is one more."""
    assert rules(f"s = GradScaler()  {comment}") == [(2, "GATE101"), (2, "AMP501")]


def test_comment_inside_a_statement_is_about_its_own_line():
    """Only at the ends of a statement, or above it, a comment is about all of it."""
    text = "s = [\n    GradScaler(),  # verifygate: ignore[AMP501] torch 2.3 here\n    GradScaler(),\n]"
    assert rules(text) == [(4, "AMP501")]


def test_comment_behind_a_header_is_not_about_its_block():
    """The statements of a block have lines of their own."""
    text = "if True:  # verifygate: ignore[AMP501] torch 2.3 here\n    s = GradScaler()"
    assert rules(text) == [(2, "GATE102"), (3, "AMP501")]


def test_blanket_noqa_silences_nothing():
    """`# noqa` names no rule; it is other tools' business, and so no finding either."""
    assert rules("s = GradScaler()  # noqa") == [(2, "AMP501")]


def test_comment_two_statements_above_is_unused():
    """A suppression reaches the next line of code and no further."""
    text = "# verifygate: ignore[AMP501] torch 2.3 here\nx = 1\ns = GradScaler()"
    assert rules(text) == [(2, "GATE102"), (4, "AMP501")]


@pytest.mark.parametrize(("opening", "closing"), [('"', '"'), ('"""', '"""'), ("f'", "'"), ("'", "'")])
def test_text_is_no_comment(opening: str, closing: str):
    """A string that holds the words is a string."""
    assert rules(f"s = GradScaler(), {opening}# verifygate: ignore[AMP501] torch 2.3 here{closing}") == [(2, "AMP501")]


def test_words_in_a_docstring_are_no_comment():
    """Documentation may show the form without being judged by it."""
    assert rules('def f():\n    """Write\n    # verifygate: ignore\n    here."""') == []


def test_unused_is_told_only_where_the_rule_ran():
    """With `--select`, a rule that did not run cannot have been silenced in vain."""
    text = "s = 1  # verifygate: ignore[AMP501] torch 2.3 here"
    assert analysed(text, select=("AMP201", "GATE102")).findings == ()
    assert [each.rule for each in analysed(text).findings] == ["GATE102"]


def test_one_comment_silences_each_rule_it_names():
    """What one of two names does not hit is reported as unused, by its own name."""
    (finding,) = analysed("s = GradScaler()  # verifygate: ignore[AMP501, AMP216] torch 2.3 here").findings
    assert finding.rule == "GATE102"
    assert "AMP216" in finding.message


def test_what_a_run_alone_may_show_is_not_called_unused():
    """Nobody who reads the source only can know; the comment is kept aside with the line that it is about."""
    outcome = analysed("s = 1\n# verifygate: ignore[AMP213] the schedule is by wall clock\nt = 2")
    assert outcome.findings == ()
    assert [(each.rule, each.line, each.covers) for each in outcome.idle_suppressions] == [("AMP213", 3, 4)]


def test_a_finding_is_silenced_in_its_own_file_only():
    """The same line of another file keeps its finding."""
    files = [
        SourceFile("a.py", (IMPORT + "s = GradScaler()  # verifygate: ignore[AMP501] torch 2.3 here").encode()),
        SourceFile("b.py", (IMPORT + "s = GradScaler()").encode()),
    ]
    findings = analyse(Sources(files), StaticSettings()).findings
    assert [(finding.path, finding.line) for finding in findings] == [("b.py", 2)]


def test_equal_comments_have_fingerprints_of_their_own():
    """Who accepts one suppression without a reason has not accepted the next one in that file."""
    text = b"# verifygate: ignore[AMP201]\nx = 1\n# verifygate: ignore[AMP201]\ny = 2\n"
    found = analyse(Sources([SourceFile("train.py", text)]), StaticSettings()).findings
    assert [(each.rule, each.line) for each in found] == [("GATE101", 1), ("GATE101", 3)]
    assert len({each.fingerprint for each in found}) == 2
