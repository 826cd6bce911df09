"""The page of the verdict for the summary of a job: its links are permalinks, for beside a summary lie no files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from markupsafe import Markup

from verifygate.model import Report
from verifygate.report import escape
from verifygate.report.markdown import filled
from verifygate.report.pages.gate_page import GatePage
from verifygate.report.pictures import Pictures

FILES = ("summary.md",)
MAX_BYTES = 1_000_000
"""GitHub drops a summary of more than 1 MiB altogether."""
_TO_HEADING = re.compile(r"(?<!\\)\[([^\[\]\\]+)\]\(#[a-z-]+\)")


class SummaryPage(GatePage):
    """The page of the verdict, with no link to a file beside it."""

    def link(self, path: str | None, line: int | None = None) -> Markup:
        if self._prefix or not path:
            return super().link(path, line)
        return Markup(escape.md_code(f"{path}:{line}" if line else path))  # noqa: S704 - escaped here

    def page_link(self, title: str, _file: str) -> Markup:
        return Markup(escape.md_text(title))  # noqa: S704 - escaped here

    def _stage_link(self, name: str) -> Markup:
        return Markup(escape.md_text(name))  # noqa: S704 - escaped here


def render(report: Report, _prefix: str = "") -> Mapping[str, str]:
    below = quote(f"{report.provenance.folder}/", safe="/") if report.provenance.folder else ""
    page = SummaryPage(report, f"{report.run.permalink}{below}" if report.run.permalink else "")
    text = filled("gate.md.j2", page=page, report=report, pictures=Pictures.of(page.stage("performance")))
    return {FILES[0]: _cut(_TO_HEADING.sub(r"\1", text))}


def _cut(text: str) -> str:
    """The first lines, as many as are shown."""
    if len(text.encode()) <= MAX_BYTES:
        return text
    kept = text.encode()[:MAX_BYTES].decode("utf-8", "ignore").rpartition("\n")[0]
    return f"{kept}\n\nThe rest is in the report: this summary holds no more.\n"
