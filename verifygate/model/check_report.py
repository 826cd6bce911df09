"""What `verifygate check --format json` prints."""

from __future__ import annotations

from verifygate.model.base import Model
from verifygate.model.finding import Finding
from verifygate.model.report import SCHEMA_VERSION
from verifygate.model.stage import NotAnalysed, NotFollowed


class CheckReport(Model):
    schema_version: int = SCHEMA_VERSION
    files_checked: int
    findings: tuple[Finding, ...]
    not_analysed: tuple[NotAnalysed, ...]
    not_followed: tuple[NotFollowed, ...]
