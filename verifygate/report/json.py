"""JSON: the report as it is stored and read back, and the findings of `check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from verifygate.model.json_document import text_of

if TYPE_CHECKING:
    from verifygate.model import Report
    from verifygate.model.check_report import CheckReport

FILES = ("report.json",)


def render(report: Report, _prefix: str) -> Mapping[str, str]:
    return {FILES[0]: report.to_json()}


def render_check(report: CheckReport, _asides: Sequence[str] = ()) -> str:
    from dataclasses import asdict

    return text_of(asdict(report))
