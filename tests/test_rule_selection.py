"""Rules are selected by code, name or family; the static rules and recorded runs read the settings alike."""

from __future__ import annotations

import pytest

from verifygate.base.errors import UsageError
from verifygate.config.rule_selection import ignoring_pattern, is_selected, names_rule
from verifygate.config.settings import StaticSettings
from verifygate.execution.trace_judgement import _is_wanted
from verifygate.model import Certainty, Finding, Severity
from verifygate.static.registry import chosen

CLIP = ("AMP201", "clip-before-unscale")


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("AMP201", True),
        ("amp201", True),
        ("AMP2", True),
        ("amp", True),
        ("clip-before-unscale", True),
        ("Clip-Before-Unscale", True),
        ("clip", False),
        ("AMP202", False),
        ("AMP2011", False),
        ("", False),
    ],
)
def test_a_word_names_a_rule_in_any_letter_case(word: str, named: bool):
    assert names_rule(word, *CLIP) is named


def test_ignore_wins_over_select():
    assert is_selected(*CLIP, (), ())
    assert is_selected(*CLIP, ("KEY", "AMP2"), ("AMP202",))
    assert not is_selected(*CLIP, ("KEY",), ())
    assert not is_selected(*CLIP, ("AMP2",), ("clip-before-unscale",))


def test_the_first_pattern_that_names_the_rule_and_the_file_is_told():
    ignores = {"old/*": ("KEY",), "*.py": ("amp2",), "train.py": ("AMP201",)}
    assert ignoring_pattern("train.py", *CLIP, ignores) == "*.py"
    assert ignoring_pattern("train.pyi", *CLIP, ignores) is None


def test_a_word_that_names_nothing_is_refused():
    assert list(chosen(("Clip-Before-Unscale",), ())) == ["AMP201"]
    with pytest.raises(UsageError, match="no rule `clipbefore`"):
        chosen((), ("clipbefore",))


@pytest.mark.parametrize("word", ["Clip-Before-Unscale", "amp201", "AMP2"])
def test_a_recorded_run_reads_the_settings_as_the_static_rules_do(word: str):
    """A name in another letter case switched the static rule off, and not what a run shows of it."""
    finding = Finding(
        rule="AMP201",
        name="clip-before-unscale",
        path="train.py",
        line=1,
        column=1,
        end_line=1,
        severity=Severity.CRITICAL,
        certainty=Certainty.CERTAIN,
        message="",
        fingerprint="",
    )
    assert "AMP201" not in chosen((), (word,))
    assert not _is_wanted(finding, StaticSettings(ignore=(word,)))
    assert not _is_wanted(finding, StaticSettings(per_file_ignores={"*.py": (word,)}))
    assert _is_wanted(finding, StaticSettings(select=(word,)))
