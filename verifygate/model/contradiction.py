"""A contradiction: two statements of one run that cannot both hold, and the stricter one, which counts."""

from __future__ import annotations

from verifygate.model.base import Model
from verifygate.model.check import Status


class Contradiction(Model):
    """What the merger found when it held the stages against each other, and against what is there."""

    name: str
    """For example `summary-against-samples`; `verifygate docs verdict` lists them."""
    stages: tuple[str, ...]
    """Who says it: the names of one stage or two."""
    text: str
    """Both statements, in words."""
    stands: str
    """What counts from here on: the stricter of the two."""
    blocks: bool = False
    """Whether it blocks by itself. Where it does not, the side that counts may block."""
    lowers: tuple[str, ...] = ()
    """Ids of the checks that it takes a better status from."""
    to: Status | None = None
    """What these checks count as; one that is worse already stays as it is."""
    path: str | None = None
    line: int | None = None
    action: str = ""
