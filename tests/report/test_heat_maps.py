"""The pictures of a probe's page: well-formed, right, and safe with any name."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from verifygate.model import EvidenceClass, TraceSummary
from verifygate.model.health import HealthReport, HealthRow, ShadowRow
from verifygate.model.probe_report import ProbeReport, Witnessed
from verifygate.report.heat_maps import MOST, SHADES, heat_maps
from verifygate.report.probe import page

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "a<script>alert(1)</script>&\"'\x1b[31m\u202e" + "x" * 90


def row(name: str, *rooms: tuple[int, float | None], parameter: bool = False) -> HealthRow:
    return HealthRow(name=name, kind="Linear", parameter=parameter, rooms=rooms)


def error(name: str, *errors: tuple[int, float | None]) -> ShadowRow:
    return ShadowRow(name=name, what="output", error=None, errors=errors)


def drawn(*rows: HealthRow | ShadowRow) -> ET.Element:
    health = [each for each in rows if isinstance(each, HealthRow)]
    shadow = [each for each in rows if isinstance(each, ShadowRow)]
    (found,) = heat_maps(HealthReport(steps=(1, 2), rows=tuple(health), shadow=tuple(shadow)))
    return ET.fromstring(str(found.svg))  # noqa: S314 - what this tool wrote


def cells(svg: ET.Element) -> dict[str, str]:
    """Title of each cell -> its shade."""
    return {group.findtext(f"{SVG}title", ""): group.find(f"{SVG}rect").attrib["fill"] for group in svg.iter(f"{SVG}g")}


def test_a_cell_has_its_value_and_its_shade() -> None:
    grounds = [ground for ground, _ in SHADES]
    found = cells(drawn(row("fc", (1, 6.0), (2, 5.9)), row("out", (1, 0.5), (2, None))))
    assert found == {
        "fc, step 1: 6.0": grounds[0],
        "fc, step 2: 5.9": grounds[1],
        "out, step 1: 0.5": grounds[3],
        "out, step 2: inf/NaN": grounds[4],
    }


def test_a_parameter_counts_for_its_module() -> None:
    found = cells(drawn(row("fc", (1, 9.0), (2, 9.0)), row("fc.weight", (1, 2.0), (2, None), parameter=True)))
    assert set(found) == {"fc, step 1: 2.0", "fc, step 2: inf/NaN"}


def test_what_was_not_measured_has_no_cell() -> None:
    svg = drawn(error("fc", (1, 0.02)), error("out", (2, 0.5)))
    assert set(cells(svg)) == {"fc, step 1: 2.0e-02", "out, step 2: 5.0e-01"}
    assert [each.text for each in svg.findall(f"{SVG}text")].count("-") == 2


def test_no_name_ends_the_text_that_it_is_in() -> None:
    svg = drawn(error(HOSTILE, (1, 0.0)))
    assert svg.findtext(f"{SVG}title") == "Error of outputs"
    assert svg.attrib["role"] == "img"
    assert set(svg.attrib["aria-labelledby"].split()) == {each.attrib["id"] for each in svg if "id" in each.attrib}
    assert {each.tag.removeprefix(SVG) for each in svg.iter()} == {"svg", "title", "desc", "text", "g", "rect"}
    (title,) = cells(svg)
    assert title.startswith("a<script>alert(1)</script>&\"'xxx")


def test_the_worst_modules_are_drawn() -> None:
    many = [row(f"layer{number}", (1, 20.0)) for number in range(MOST)]
    (found,) = heat_maps(HealthReport(rows=(*many, row("last", (1, None)))))
    assert len(found.rows) == MOST
    assert found.rows[-1][0] == "last"
    assert found.left_out == 1


def luminance(colour: str) -> float:
    """As WCAG defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_numbers_can_be_read_on_every_shade() -> None:
    for ground, ink in SHADES:
        light, dark = sorted((luminance(ground), luminance(ink)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, ground
    order = [luminance(ground) for ground, _ in SHADES]
    assert all(one > other for one, other in itertools.pairwise(order)), "darker is worse"


def report(health: HealthReport | None) -> ProbeReport:
    trace = TraceSummary(events=0, dropped=0, steps=0, skipped=0, unknown=0, counts=())
    return ProbeReport(
        command=("python", "<b>.py"),
        outcome=Witnessed.CLEAN,
        evidence=EvidenceClass.EXECUTED,
        ending="exit code 0",
        trace=trace,
        health=health,
    )


def test_the_page_has_a_table_beside_each_picture() -> None:
    shadow = ShadowRow(name=HOSTILE, what="gradient", error=0.5, errors=((1, 0.5),), underflows=((1, 0.25),))
    health = HealthReport(steps=(1,), rows=(row("fc", (1, 3.5)),), shadow=(shadow,))
    text = page(report(health), "the <i>text</i>")
    assert re.findall(r"<h2>(.*?)</h2>", text) == ["Headroom", "Error of gradients", "Underflow", "The whole report"]
    assert text.count("<svg") == text.count("<details>") == 3
    for value in ("3.5", "5.0e-01", "25.0%"):
        assert f'<td class="n">{value}</td>' in text
    assert "<script" not in text
    assert "<b>.py" not in text
    assert "the &lt;i&gt;text&lt;/i&gt;" in text


def test_a_page_without_health_says_how_to_get_pictures() -> None:
    text = page(report(None), "")
    assert "<svg" not in text
    assert "<code>--health</code>" in text


@pytest.mark.slow
def test_a_browser_shows_the_page(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no browser is installed")
    text = page(report(HealthReport(steps=(1,), rows=(row("fc", (1, 3.5)),))), "")
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    ended = subprocess.run(
        [*command, "--dump-dom", (tmp_path / "page.html").as_uri()], capture_output=True, text=True, timeout=600
    )
    assert ended.returncode == 0, ended.stderr
    assert '<rect x="301"' in ended.stdout
    assert "fc, step 1: 3.5" in ended.stdout
