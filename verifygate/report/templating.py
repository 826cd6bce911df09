"""The templates, as every format that fills them has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from verifygate.report.view import FILTERS

if TYPE_CHECKING:
    from jinja2 import Environment


def environment(finalize: Callable[[object], Markup], **filters: Callable[..., Any]) -> Environment:
    """The templates with the filters of all formats and a format's own; what no filter made goes through `finalize`."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # here: `verifygate check` never needs it

    made = Environment(
        loader=PackageLoader("verifygate.report", "templates"),
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
