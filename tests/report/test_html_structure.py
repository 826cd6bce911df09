"""The structure of the HTML page, read by a parser: contents, landmarks, areas that scroll, and its size."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from report_sample import BACKGROUND, CLIP, clean_report, completed_requirements, execution, performance, report, static

from verifygate.model import Report, Severity
from verifygate.report.formats import render

MEBIBYTE = 1024 * 1024


class Structure(HTMLParser):
    """The elements of a page with their attributes, and how they nest."""

    VOID = ("meta", "br", "img", "link", "path", "use")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None], tuple[str, ...]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), tuple(self.open)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), tuple(self.open)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes, _ in self.elements if name == tag]


EVERY = {
    "bad": report(),
    "full": report((execution(), static(), performance(), completed_requirements())),
    "clean": clean_report(),
    "empty": report((), ()),
}


@pytest.mark.parametrize("kind", EVERY)
def test_landmarks_and_contents(kind: str) -> None:
    """One header, one list of contents, one main part; whatever is linked within the page is there, once."""
    page = Structure(render(EVERY[kind], "html")["report.html"])
    assert page.open == []
    assert [len(page.all(tag)) for tag in ("header", "nav", "main", "h1")] == [1, 1, 1, 1]
    assert page.all("nav")[0]["aria-label"] == "Contents"
    ids = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {str(link["href"])[1:] for link in page.all("a") if str(link["href"]).startswith("#")}
    assert links <= set(ids)
    assert {"main", "stages", "score", "provenance"} <= links


@pytest.mark.parametrize("kind", EVERY)
def test_what_scrolls_can_be_reached(kind: str) -> None:
    """Each table scrolls in an area that takes the focus, and has a name of its own."""
    page = Structure(render(EVERY[kind], "html")["report.html"])
    areas = [attributes for attributes in page.all("div") if attributes.get("class") == "wide"]
    assert len(areas) == len(page.all("table"))
    assert all(area["tabindex"] == "0" and area["role"] == "region" for area in areas)
    labels = [area["aria-label"] for area in areas]
    assert all(labels)
    assert len(labels) == len(set(labels))
    assert all("scope" in cell for cell in page.all("th"))


@pytest.mark.parametrize("kind", EVERY)
def test_headings_leave_out_no_level(kind: str) -> None:
    """Whoever jumps from heading to heading meets each level on the way down."""
    page = Structure(render(EVERY[kind], "html")["report.html"])
    levels = [int(tag[1]) for tag, _, _ in page.elements if tag in ("h1", "h2", "h3", "h4")]
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_finding_is_told_whole() -> None:
    """Impact, code and fix stand there, as on the Markdown page."""
    page = render(report(), "html")["report.html"]
    article = page[page.index('<article class="finding" id="E-AMP201') :].partition("</article>")[0]
    assert "<b>Impact of such code:</b> Every step is clipped to <code>max_norm / scale</code>" in article
    assert "&gt; 88 |     torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)" in article
    assert "+    scaler.unscale_(optimizer)" in article
    assert "witnesses: static" in article


def test_three_thousand_findings_take_two_megabytes() -> None:
    """The worst are told in full with their code, each other one has its row, and the page still opens."""
    path = "research/experiments/vision/segmentation/training/loops/train_step_{}.py"
    findings = tuple(
        replace(CLIP, path=path.format(n % 40), line=n, fingerprint=f"{n:032}", severity=Severity.CRITICAL)
        for n in range(1, 3001)
    )
    backgrounds = tuple(BACKGROUND.model_copy(update={"fingerprint": f"{n:032}"}) for n in range(1, 3001))
    stage = static().model_copy(update={"findings": findings})
    given = report((stage,), ()).model_copy(update={"backgrounds": backgrounds})
    page = render(given, "html")["report.html"]
    assert len(page.encode()) <= 2 * MEBIBYTE
    assert page.count('<article class="finding"') == 200
    shown = Structure(page)
    rows = sum(1 for tag, _, inside in shown.elements if tag == "tr" and "details" in inside)
    assert rows >= 2800
    assert isinstance(given, Report)
