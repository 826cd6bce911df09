"""What the page of the static stage shows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from verifygate.model import Construct, Finding
from verifygate.report.pages.page import StagePage


class StaticPage(StagePage):
    """Constructs by file, and findings with details."""

    @property
    def constructs_by_file(self) -> list[tuple[str, list[Construct]]]:
        constructs = sorted(self.static.constructs, key=lambda c: (c.path, c.line, c.kind))
        return [(path, list(group)) for path, group in groupby(constructs, key=lambda c: c.path)]

    def with_details(self, findings: Sequence[Finding]) -> list[Finding]:
        return [finding for finding in findings if finding.details]
