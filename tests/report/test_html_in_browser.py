"""The HTML page as a browser lays it out: axe-core finds nothing serious, and no width and no dark mode breaks it.

Needs a Chromium and a package that brings axe-core; nothing is downloaded. `chromium --dump-dom` prints what the page's
own scripts wrote into it, so no driver is needed.
"""

from __future__ import annotations

import html
import importlib.util
import json
import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from report_sample import KEYS, clean_report, completed_requirements, execution, performance, report, static

from verifygate.model import Report
from verifygate.report.formats import render

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
AXE = ("axe_playwright_python", "axe_core_python")
"""Packages that hold axe.min.js."""
WIDTHS = {"desktop": 1280, "phone": 390}
SERIOUS = ("serious", "critical")
LONG_WORD = "a_name_without_a_place_to_break_" * 12
RUN = """
axe.run(document, {resultTypes: ["violations"]}).then(found => {
  const wide = document.documentElement;
  const told = {
    violations: found.violations.map(v => (
      {id: v.id, impact: v.impact, nodes: v.nodes.map(n => n.html.slice(0, 200))}
    )),
    width: wide.clientWidth, needed: wide.scrollWidth,
    ground: getComputedStyle(document.body).backgroundColor,
    unreachable: [...document.querySelectorAll("*")].filter(e =>
      e.scrollWidth > e.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(e).overflowX) && e.tabIndex < 0
    ).map(e => e.outerHTML.slice(0, 200)),
  };
  const out = document.createElement("pre");
  out.id = "told";
  out.textContent = JSON.stringify(told);
  parent.document.body.append(out);
});
"""


@cache
def browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser here: none of {', '.join(BROWSERS)} is on the PATH")
    return found


@cache
def axe() -> str:
    for name in AXE:
        spec = importlib.util.find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            if (script := Path(folder) / "axe.min.js").is_file():
                return script.read_text(encoding="utf-8")
    pytest.skip(f"no axe-core here: none of the packages {', '.join(AXE)} is installed")


def looked_at(page: str, folder: Path, width: int, *, dark: bool) -> dict[str, Any]:
    """What axe-core and the layout say of a page, in a window of this width."""
    free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    assert free != page
    framed = free.replace("</body>", f"<script>{axe()}</script><script>{RUN}</script></body>")
    frame = f'<iframe title="page" style="border: 0; width: {width}px; height: 844px" srcdoc="{html.escape(framed)}">'
    file = folder / "page.html"  # in a frame: no window of Chromium is as narrow as a telephone
    file.write_text(f"<!doctype html><title>x</title><body>{frame}</iframe></body>", encoding="utf-8")
    ended = subprocess.run(
        [
            browser(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder / 'profile'}",
            "--window-size=1400,900",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            "--virtual-time-budget=60000",
            "--dump-dom",
            file.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    told = re.search(r'<pre id="told">(.*?)</pre>', ended.stdout, flags=re.DOTALL)
    assert told, ended.stderr[-2000:]
    return dict(json.loads(html.unescape(told[1])))


def blocking() -> Report:
    """Every stage, and names that are longer than a window is wide."""
    long = replace(KEYS, path=f"demo/{LONG_WORD}.py", message=f"`{LONG_WORD}` {LONG_WORD}", fingerprint="l" * 32)
    stage = static()
    return report(
        (
            execution(),
            stage.model_copy(update={"findings": (*stage.findings, long)}),
            performance(),
            completed_requirements(),
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["blocking", "clean"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_can_be_read_by_everybody(tmp_path: Path, kind: str, width: str, *, dark: bool) -> None:
    """No serious violation, nothing wider than the window but what scrolls by itself, with the keyboard too."""
    given = blocking() if kind == "blocking" else clean_report()
    told = looked_at(render(given, "html")["report.html"], tmp_path, WIDTHS[width], dark=dark)
    assert [each for each in told["violations"] if each["impact"] in SERIOUS] == []
    assert told["needed"] <= told["width"] <= WIDTHS[width]
    assert told["unreachable"] == []
    assert told["ground"] == ("rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)")


@pytest.mark.slow
def test_axe_would_say_so(tmp_path: Path) -> None:
    """A page with a fault of each kind is told: the test above can fail."""
    page = render(clean_report(), "html")["report.html"]
    wrong = page.replace("<main", '<p style="color: #bbb; background: #fff">pale</p><img src="x.png"><main', 1)
    told = looked_at(wrong.replace('tabindex="0"', ""), tmp_path, 390, dark=False)
    found = {each["id"] for each in told["violations"]}
    assert {"color-contrast", "image-alt"} <= found
    assert told["unreachable"] or "scrollable-region-focusable" in found
