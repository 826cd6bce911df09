"""The kit as files: the whole of it in JSON, and in Markdown for people who assess."""

from __future__ import annotations

from collections.abc import Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined

from verifygate.base.counts import counted
from verifygate.quality.qualification.kit import Kit, page

_RENDERED = ("README.md", "confidence.md", "requirements.md", "rules.md")
FILES = (*_RENDERED, "limits.md", "qualification.json")


def files(kit: Kit) -> Mapping[str, str]:
    """Name -> content of each file of the kit: the same bytes for the same kit."""
    templates = Environment(  # noqa: S701 - Markdown of the project's own texts, for no browser
        loader=PackageLoader(__package__, "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters.update(cell=_cell, counted=counted)
    return {
        **{name: templates.get_template(f"{name}.j2").render(kit=kit) for name in _RENDERED},
        "limits.md": page("limits"),
        "qualification.json": kit.model_dump_json(indent=1) + "\n",
    }


def _cell(text: str) -> str:
    """A text as a cell of a table: one line, in which a bar does not end it."""
    return " ".join(text.split()).replace("|", "\\|")
