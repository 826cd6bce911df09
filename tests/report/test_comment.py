"""The comment on a pull request and the summary of a job: what blocks, whose it is, links that work there."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt
from report_sample import CLIP, HOSTILE, KEYS, RECREATED, clean_report, report, static

from verifygate.model import Changes, Edit, Finding, PolicyDifference, PolicyOrigin, PolicyState, Report, Severity
from verifygate.report import comment, summary
from verifygate.report.comment import marker
from verifygate.report.formats import render

AT = "https://github.com/owner/name/blob/6a1f2c3/"
EDIT = Edit(path=CLIP.path, line=88, end_line=88, text="        scaler.unscale_(optimizer)\n        clip()\n")


def body(given: Report, name: str = "comment") -> str:
    (text,) = render(given, name).values()
    return text


def published(given: Report, folder: str = "") -> Report:
    """The same report where the address of its commit is known."""
    run = given.run.model_copy(update={"permalink": AT})
    origin = given.provenance.model_copy(update={"folder": folder})
    return given.model_copy(update={"run": run, "provenance": origin})


def with_findings(*findings: Finding, **changes: tuple[Finding, ...]) -> Report:
    given = report((static().model_copy(update={"findings": findings}),), ())
    found = Changes(against="the source at 1234567", **changes) if changes else None
    return given.model_copy(update={"changes": found})


def test_nothing_to_say_is_an_empty_body() -> None:
    """A PASS in which nothing changed: whoever posts it takes an earlier comment away."""
    assert body(clean_report()) == ""
    still = clean_report().model_copy(update={"changes": Changes(against="main", open=(RECREATED,))})
    assert body(still) == ""


def test_what_blocks_is_told_with_its_impact_and_remedy() -> None:
    """Each reason once: of a finding, of a test, of a stage that could not run."""
    text = body(published(report()))
    assert text.startswith("<!-- verifygate -->\n\n### verifygate: BLOCK, ")
    assert text.count("AMP201 clip-before-unscale") == 1
    assert f"[demo/train\\_step.py:88]({AT}demo/train_step.py#L88)".replace("\\_", "_") in text.replace("\\_", "_")
    assert "Why such code matters: The gradients are tens of thousands of times too large" in text
    assert "To do: call `scaler.unscale_(optimizer)` before `clip_grad_norm_`" in text
    assert "execution.tests-pass" in text
    assert "requirements.stage-errored" in text
    assert "`--since REVISION` tells" in text


def test_whose_change_it_is() -> None:
    """New first, then what stood; what is fixed since then; a new finding that does not block in one line."""
    text = body(published(with_findings(CLIP, KEYS, RECREATED, new=(CLIP, RECREATED), open=(KEYS,), fixed=(KEYS,))))
    assert (
        text.index("#### This change brings (1)") < text.index("AMP201") < text.index("#### Stood before this change")
    )
    assert text.index("#### Stood before this change") < text.index("AMP501 missing-key")
    assert "**New, and not blocking** (1 high)" in text
    assert "Against the source at 1234567: 2 new, 1 open, 1 fixed." in text
    assert "- fixed: AMP501 missing-key in `demo/setup.py`" in text
    assert "is not known" not in text


def test_a_pass_that_fixed_something_says_so() -> None:
    """No reason, but news."""
    given = clean_report().model_copy(update={"changes": Changes(against="main", fixed=(CLIP,))})
    assert "- fixed: AMP201 clip-before-unscale" in body(given)
    assert "### verifygate: PASS (demo" in body(given)


def test_a_pass_that_alters_the_policy_or_silences_something_says_so() -> None:
    """The reviewer decides about both, so both are news."""
    difference = PolicyDifference(key="static.ignore", here='["AMP501"]', there="nothing")
    origin = PolicyOrigin(
        commit="1" * 40, asked="--since main", state=PolicyState.BASE, config="", differences=(difference,)
    )
    text = body(clean_report().model_copy(update={"policy_origin": origin}))
    assert "PASS (demo" in text
    assert "static.ignore" in text
    assert "in this change, nothing there" in text
    silenced = Changes(against="main", suppressed=("train.py:8: AMP201: the scale is one",))
    text = body(clean_report().model_copy(update={"changes": silenced}))
    assert "Suppressed by this change:\n\n- train.py:8: AMP201: the scale is one" in text
    assert body(clean_report().model_copy(update={"changes": Changes(against="main", removed=(CLIP,))})) != ""


def test_only_a_proven_fix_is_a_suggestion() -> None:
    """Lines that a scan proved; none of a fix that was only built, nor of one that could not be shown as it is."""
    text = body(published(with_findings(replace(CLIP, edits=(EDIT,)), KEYS)))
    assert "```suggestion\n        scaler.unscale_(optimizer)\n        clip()\n```" in text
    assert text.count("suggestion") == 1
    hidden = replace(EDIT, text="        clip()  # \u202e\u200b\n")
    assert "suggestion" not in body(with_findings(replace(CLIP, edits=(hidden,))))
    halves = (EDIT, replace(EDIT, line=200, end_line=200))
    both = body(with_findings(replace(CLIP, edits=halves)))
    assert "```suggestion" not in both  # one of two alone would be half a fix
    assert "`verifygate fix` writes it, in several places" in both
    ticks = replace(EDIT, text='        """```\n')
    assert '````suggestion\n        """```\n````' in body(with_findings(replace(CLIP, edits=(ticks,))))


def test_without_an_address_there_is_no_link() -> None:
    """A relative link leads nowhere in a comment."""
    text = body(report())
    assert "`demo/train_step.py:88`" in text
    assert "](" not in text.replace("\\](", "")


def test_links_of_a_project_in_a_folder() -> None:
    """From the root of the repository, and a comment of its own for each project."""
    text = body(published(report(), "services/trainer"))
    assert text.startswith("<!-- verifygate: services/trainer -->")
    assert f"({AT}services/trainer/demo/train_step.py#L88)" in text
    assert f"({AT}services/trainer/demo/train_step.py#L88)" in body(published(report(), "services/trainer"), "summary")


@pytest.mark.parametrize("folder", ["a-->b", "a b", "\u202e", "a--b"])
def test_the_marker_cannot_be_closed(folder: str) -> None:
    """A folder with an odd name is named by its digest."""
    assert re.fullmatch(r"<!-- verifygate: [0-9a-f]{16} -->", marker(folder))


def test_it_fits_into_a_comment() -> None:
    """Hundreds of findings: the worst are told, the others counted."""
    many = tuple(
        replace(CLIP, line=at + 1, end_line=at + 1, fingerprint=f"{at:024x}", message="x " * 900) for at in range(300)
    )
    text = body(published(with_findings(*many)))
    assert len(text.encode()) < 65_000
    told = text.count("**AMP201 clip-before-unscale**")
    assert 10 < told < 300
    assert f"And {300 - told} more, in the report." in text


def test_hostile_text_is_only_text() -> None:
    """No heading, mention, picture, comment or fence comes from a name or a message."""
    injected = f"{HOSTILE}\n<!-- verifygate -->\n```\n## forged\n![x](http://evil.example) -->"
    hostile = replace(CLIP, message=injected, remedy=injected, path=f"a{HOSTILE}.py", name=injected, symbol=injected)
    given = published(with_findings(hostile, new=(hostile,), fixed=(hostile,)))
    for name in ("comment", "summary"):
        text = body(given, name)
        tokens = MarkdownIt("commonmark").enable("table").parse(text)
        inner = [child for token in tokens for child in token.children or ()]
        assert not [token for token in inner if token.type == "image"]
        assert {str(token.attrGet("href")).partition("/blob/")[0] for token in inner if token.type == "link_open"} <= {
            "https://github.com/owner/name"
        }
        assert not [line for line in text.splitlines() if line.startswith("## forged")]
        assert not set("\x1b\u202e") & set(text)
    assert body(given).count("<!--") == 1


def test_the_summary_has_no_link_to_a_file_beside_it() -> None:
    """Pages and headings are named, places are permalinks; without an address they are words."""
    text = body(published(report()), "summary")
    links = re.findall(r"(?<!\\)\]\(([^)]+)\)", text)
    assert links
    assert all(link.startswith(AT) for link in links)
    assert "](" not in body(report(), "summary").replace("\\](", "")


def test_a_summary_is_cut_before_github_drops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole lines stay, and the end says that it is none."""
    monkeypatch.setattr(summary, "MAX_BYTES", 2_000)
    text = body(report(), "summary")
    assert len(text.encode()) < 2_100
    assert text.endswith("this summary holds no more.\n")


def test_many_new_findings_are_counted() -> None:
    """Of those that do not block, some are named."""
    many = tuple(replace(RECREATED, line=at + 1, fingerprint=f"{at:024x}", severity=Severity.LOW) for at in range(30))
    text = body(with_findings(*many, new=many))
    assert len([line for line in text.splitlines() if line.startswith("- ")]) == comment.MAX_FIXED
    assert f"And {30 - comment.MAX_FIXED} more, in the report." in text
