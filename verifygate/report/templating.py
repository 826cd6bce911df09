"""The templates, as every format that fills them has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from verifygate.report.filters import FILTERS
from verifygate.stage_registry import template_folders

if TYPE_CHECKING:
    from jinja2 import Environment


def environment(finalize: Callable[[object], Markup], **filters: Callable[..., Any]) -> Environment:
    """The templates of the report and of the stages' pages, with the filters of all formats and a format's own; what no
    filter made goes through `finalize`."""
    # here: `verifygate check` never needs it
    from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined

    made = Environment(
        loader=ChoiceLoader(
            [PackageLoader("verifygate.report", "templates"), FileSystemLoader(list(template_folders()))]
        ),
        undefined=StrictUndefined,
        autoescape=True,  # so that macros and blocks return Markup; the escaping itself is `finalize`
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(FILTERS)
    made.filters.update(filters)
    return made
