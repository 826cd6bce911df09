"""Pictures: there where there is something to see, the same bytes each time, and safe to put into a page."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import matplotlib as mpl
import pytest
from defusedxml import ElementTree
from report_sample import execution, performance, report

from verifygate.model import ExecutionDetails, Outcome, Report, ScaleChange, StageResult, TraceSummary
from verifygate.report.formats import files_of, render
from verifygate.report.pictures import FILES, MISSING, Pictures, median_interval
from verifygate.report.timeline import scales_of, skips_of


def test_every_picture_is_drawn_and_is_svg() -> None:
    """The sample has all that there is to draw; text is paths, nothing is fetched, nothing runs, no date is in it."""
    drawn = [*Pictures.of(performance()).found, *Pictures.of(execution()).found]
    assert [picture.file for picture in drawn] == list(FILES)
    assert set(FILES) <= set(files_of("md"))
    for picture in drawn:
        root = ElementTree.fromstring(picture.svg)
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert tags.isdisjoint({"script", "image", "text", "a", "foreignObject"}), picture.file
        assert not re.search(r"\b20\d\d-\d\d-\d\d", picture.svg)
        links = re.findall(r'(?:href="|url\()([^")]*)', picture.svg)
        assert all(link.startswith("#") for link in links)
        assert "fill: #ffffff" in picture.svg  # a ground of its own: readable in a dark page


def test_the_same_report_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also through report.json, and whatever the reader's matplotlib is set to."""
    first = render(report(), "md")
    monkeypatch.setitem(mpl.rcParams, "font.size", 20.0)
    monkeypatch.setitem(mpl.rcParams, "svg.hashsalt", "another")
    again = render(Report.from_json(report().to_json()), "md")
    assert {name: first[name] for name in FILES} == {name: again[name] for name in FILES}
    assert mpl.rcParams["font.size"] == 20.0  # what others set is as it was


def test_the_page_links_what_lies_beside_it() -> None:
    """Each link of a page is a file of the same format, with words for those who do not see it."""
    files = render(report(), "md")
    linked = re.findall(r"!\[(.+?)\]\((\S+?)\)", files["performance.md"] + files["execution.md"])
    assert [name for _, name in linked] == list(FILES)
    assert all(name in files for _, name in linked)


def test_html_holds_them_with_ids_of_their_own() -> None:
    """All drawings in one page: no id twice, every reference leads somewhere."""
    page = render(report(), "html")["report.html"]
    assert page.count("<svg") == page.count('role="img"') == len(FILES)
    drawings = "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL))
    ids = re.findall(r'\bid="([^"]+)"', drawings)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', drawings)) <= set(ids)


def test_without_matplotlib_the_report_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """No picture, one line that says how to get them, and everything else of the report."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    files = render(report(), "md")
    assert not set(files) & set(FILES)
    assert "needs matplotlib" in MISSING.replace("need ", "needs ")
    assert "verifygate-amp[performance]" in files["performance.md"]
    assert "verifygate-amp[performance]" in render(report(), "html")["report.html"]


def test_nothing_to_draw_needs_no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage that did not run, or no stage: no picture and no excuse."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    absent = StageResult(stage="performance", outcome=Outcome.NOT_APPLICABLE)
    assert Pictures.of(absent) == Pictures.of(None) == Pictures()


def test_an_arm_can_have_any_name() -> None:
    """Names are text to matplotlib, and to the page: no formula, no markup."""
    text = performance().model_dump_json().replace('"fp16"', '"<b>$\\\\frac{1}{2}$"')
    drawn = Pictures.of(StageResult.model_validate_json(text))
    assert len(drawn.found) == len(FILES) - 1
    assert all("<b>" not in picture.svg and "<b>" not in picture.inline for picture in drawn.found)


def test_the_timeline_in_words() -> None:
    """Regions, the order of a step, the way of the scale and where it fell, for those who do not see the picture."""
    (picture,) = Pictures.of(execution()).found
    assert picture.alt == (
        "Autocast regions: cuda float16. autocast then scale then backward then clip then unscale then step then "
        "update: 10 steps; scaler 1: scale 65536 to 16384, 2 falls"
    )


def test_a_scale_that_grows_skipped_no_step() -> None:
    """Only a fall is a skip; a scaler that keeps its scale has no line."""
    ways = ((1, 0, 4.0), (1, 5, 8.0), (1, 6, 4.0), (2, 0, 4.0))
    trace = TraceSummary(scales=tuple(ScaleChange(scaler=n, step=step, scale=scale) for n, step, scale in ways))
    (way,) = scales_of(trace)
    assert [(change.step, change.scale) for change in skips_of(way)] == [(6, 4.0)]


def test_a_run_without_amp_has_no_timeline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing to draw needs no matplotlib either."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    details = ExecutionDetails(trace=TraceSummary(events=3))
    assert Pictures.of(execution().model_copy(update={"details": details})) == Pictures()


@pytest.mark.parametrize(("n", "expected"), [(1, (0, 0)), (10, (1, 9)), (100, (40, 60))])
def test_the_interval_of_a_median(n: int, expected: tuple[int, int]) -> None:
    """Order statistics about the median: for a hundred samples the 40th to the 60th, or one more."""
    assert median_interval(list(range(n))) == expected


def test_the_folder_of_a_report_may_hold_them(tmp_path: Path) -> None:
    """A second run replaces the first one's pictures without taking them for somebody else's files."""
    from verifygate.report.write import write_reports

    write_reports(render(report(), "md"), tmp_path / "reports")
    write_reports(render(report(), "json"), tmp_path / "reports")
    assert not list((tmp_path / "reports").glob("*.svg"))
