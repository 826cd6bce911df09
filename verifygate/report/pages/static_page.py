"""What the page of the static stage shows."""

from __future__ import annotations

from itertools import groupby

from verifygate.model import Construct
from verifygate.report.pages.page import StagePage


class StaticPage(StagePage):
    """Constructs by file."""

    @property
    def constructs_by_file(self) -> list[tuple[str, list[Construct]]]:
        constructs = sorted(self.static.constructs, key=lambda c: (c.path, c.line, c.kind))
        return [(path, list(group)) for path, group in groupby(constructs, key=lambda c: c.path)]
