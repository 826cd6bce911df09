"""The output formats. A new one is a module and one line of `FORMATS`.

All that lists formats reads this table: the choices of `--format` of `run`, `check` and `claims`, and the names of the
files that a folder of reports may hold. It names modules and functions as text, so that reading the table imports none
of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from verifygate.base.errors import UsageError
from verifygate.base.loading import loaded
from verifygate.base.masking import masked

if TYPE_CHECKING:
    from verifygate.model import Report
    from verifygate.model.check_report import CheckReport
    from verifygate.model.claims import ClaimsReport


class Format(NamedTuple):
    """One format; a command for which it names nothing does not offer it."""

    run: str = ""
    """Module that renders the report of `run`: `FILES`, the names of all files that it may write, and
    `render(report, prefix)`, the content of each file under its name."""
    check: str = ""
    """`module:function` that renders the findings of `check`: `(report, asides)` to text."""
    claims: str = ""
    """`module:function` that renders the answers of `claims`: `(report)` to text."""
    shows_fixes: bool = False
    """Whether `check` finds out for it which findings can be fixed, which takes longer than to find them."""
    shows_edits: bool = False
    """Whether it also proves the safe fixes, by further scans."""


FORMATS = {
    "text": Format(check="verifygate.report.text:render_check", claims="verifygate.report.claims:text"),
    "md": Format("verifygate.report.markdown", claims="verifygate.report.claims:markdown"),
    "json": Format(
        "verifygate.report.json",
        "verifygate.report.json:render_check",
        "verifygate.report.claims:as_json",
        shows_fixes=True,
    ),
    "html": Format("verifygate.report.html"),
    "github": Format("verifygate.report.github", "verifygate.report.github:render_check"),
    "sarif": Format(
        "verifygate.report.sarif", "verifygate.report.sarif:render_check", shows_fixes=True, shows_edits=True
    ),
    "junit": Format("verifygate.report.junit", "verifygate.report.junit:render_check"),
    "gitlab": Format("verifygate.report.gitlab", "verifygate.report.gitlab:render_check"),
    "rdjson": Format(
        "verifygate.report.rdjson", "verifygate.report.rdjson:render_check", shows_fixes=True, shows_edits=True
    ),
    "comment": Format("verifygate.report.comment"),
    "summary": Format("verifygate.report.summary"),
    "badge": Format("verifygate.report.badge"),
    "csv": Format("verifygate.report.csv"),
    "matrix": Format("verifygate.report.matrix"),
}


def run_formats() -> tuple[str, ...]:
    return tuple(name for name, each in FORMATS.items() if each.run)


def check_formats() -> tuple[str, ...]:
    return tuple(name for name, each in FORMATS.items() if each.check)


def claims_formats() -> tuple[str, ...]:
    return tuple(name for name, each in FORMATS.items() if each.claims)


def files_of(format: str) -> tuple[str, ...]:  # noqa: A002 - the option's name, and so below
    """The names of all files that a format of `run` may write."""
    return tuple(import_module(FORMATS[format].run).FILES)


def render(report: Report, format: str, prefix: str | None = None) -> Mapping[str, str]:  # noqa: A002
    """The files of one format: name -> content. Raises UsageError for a format that there is not.

    `prefix` leads from the folder of the files to the project's root, for links; the report knows it of its own folder.
    """
    _refuse_unknown(format, run_formats(), "report format")
    links = report.run.links if prefix is None else prefix
    files: Mapping[str, str] = import_module(FORMATS[format].run).render(report, links)
    return files


def render_check(report: CheckReport, format: str, asides: Sequence[str] = ()) -> str:  # noqa: A002
    """The whole output of `check`, ending in a line end. Raises UsageError for a format that there is not.

    `asides` stand behind the counts where people read them: what was suppressed, which rules were silent.
    """
    _refuse_unknown(format, check_formats(), "output format")
    text: str = loaded(FORMATS[format].check)(report, asides)
    return masked(text)


def render_claims(report: ClaimsReport, format: str) -> str:  # noqa: A002
    """The whole output of `claims`, ending in a line end. Raises UsageError for a format that there is not."""
    _refuse_unknown(format, claims_formats(), "output format")
    text: str = loaded(FORMATS[format].claims)(report)
    return masked(text)


def _refuse_unknown(format: str, known: tuple[str, ...], kind: str) -> None:  # noqa: A002
    if format not in known:
        raise UsageError(f"there is no {kind} `{format}`", remedy=f"the formats are {', '.join(known)}")
