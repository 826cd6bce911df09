"""Markdown for GitHub: the merged report and one page for each stage.

The templates are ours and fixed; what a report holds only ever reaches them as data. Whatever a template prints is
escaped as text unless one of the filters below made it, so a filter that is forgotten cannot open a hole.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from verifygate.base.loading import loaded
from verifygate.model import Report
from verifygate.report import escape, pictures
from verifygate.report.pages.gate_page import GatePage
from verifygate.report.pages.page import Page, evidence_id
from verifygate.report.pictures import Pictures
from verifygate.report.templating import environment
from verifygate.stage_registry import by_weight

if TYPE_CHECKING:
    from jinja2 import Environment

PAGES = ("gate.md", "provenance.md", *(f"{stage}.md" for stage in by_weight()))
SOMETIMES = ("mutation.md", *pictures.FILES)
"""There where there is something to show."""
FILES = (*PAGES, *SOMETIMES)
_FENCE = re.compile(r"^(`{3,})[a-z]*$")


def render(report: Report, prefix: str = "../../") -> dict[str, str]:
    """All pages: each says so where its stage took no part, so that no link leads nowhere."""
    gate = GatePage(report, prefix)
    pages: dict[str, Page] = {"gate.md": gate, "provenance.md": GatePage(report, prefix)}
    pages |= {f"{name}.md": loaded(entry.page)(report, prefix, name) for name, entry in by_weight().items()}
    if report.mutation is not None:
        pages["mutation.md"] = Page(report, prefix)
    drawn = {name: Pictures.of(page.stage(name.partition(".")[0])) for name, page in pages.items()}
    texts = {name: filled(f"{name}.j2", page=page, report=report, pictures=drawn[name]) for name, page in pages.items()}
    return texts | {picture.file: picture.svg for each in drawn.values() for picture in each.found}


def filled(template: str, **values: object) -> str:
    """One template with its values, escaped."""
    return _tidy(_environment().get_template(template).render(**values))


@cache
def _environment() -> Environment:
    return environment(
        _finalize,
        code=lambda text: Markup(escape.md_code(str(text))),  # noqa: S704 - escaped here, and so below
        prose=lambda text: Markup(escape.md_prose(str(text))),  # noqa: S704
        loud=lambda text: Markup(f"**{escape.md_prose(str(text))}**"),  # noqa: S704
        fence=lambda text, language="": Markup(escape.md_fence(str(text), language)),  # noqa: S704
        codes=lambda texts: Markup(", ".join(escape.md_code(str(text)) for text in texts) or "none"),  # noqa: S704
        evidence_id=lambda finding: Markup(escape.md_code(evidence_id(finding))),  # noqa: S704
    )


def _finalize(value: object) -> Markup:
    """Everything that no filter made is text."""
    return value if isinstance(value, Markup) else Markup(escape.md_text(str(value)))  # noqa: S704


def _tidy(text: str) -> str:
    """Leave at most one blank line in a row, but for code blocks, whose content is not ours to change."""
    out: list[str] = []
    fence = ""
    for line in text.split("\n"):
        if mark := _FENCE.match(line.rstrip()):
            fence = mark[1] if not fence else ("" if mark[1] == fence else fence)
        if fence or line.strip() or (out and out[-1].strip()):
            out.append(line if fence else line.rstrip())
    return "\n".join(out).strip("\n") + "\n"
