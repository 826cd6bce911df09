"""Links from a requirement to code and tests: tied to a symbol and a digest of its syntax, never to a line alone."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from verifygate.model.base import Model


class LinkState(StrEnum):
    """What became of a link since the evidence was accepted with `verifygate evidence trace accept`."""

    NOT_ACCEPTED = "not accepted"
    """Nobody has accepted the requirement's evidence yet."""
    ACCEPTED = "as accepted"
    NEW = "new"
    MOVED = "moved"
    """Under another name or in another file, with the same syntax, and linked there."""
    CHANGED = "changed"
    GONE = "gone"
    UNLINKED = "no longer linked"
    UNREAD = "not read"
    """No digest: the file is not there, or cannot be parsed."""

    @property
    def is_suspect(self) -> bool:
        return self in (LinkState.CHANGED, LinkState.GONE, LinkState.UNLINKED)


class Link(Model):
    """One function, class or test that a requirement is linked to, or was."""

    role: Literal["code", "test"]
    symbol: str
    """`train.py::Trainer.step`; `train.py::<module>` for what stands outside of functions."""
    path: str
    line: int
    """Where it stands now; 0 where it is gone."""
    end_line: int
    digest: str
    """Of its syntax now: layout, comments and docstrings do not count. Empty where it is gone or not read."""
    by: tuple[str, ...] = ()
    """What links it: `mark train.py:88`, `construct scale`, `test`."""
    state: LinkState
    note: str = ""
    """Where it was before, or what looks like it now."""


class MarkProblem(Model):
    """A `# requirement: ID` comment that links nothing."""

    path: str
    line: int
    requirement: str
    problem: str


class Coverage(Model):
    """What the specification and the code know of each other."""

    orphans: tuple[MarkProblem, ...] = ()
    """Marks whose requirement does not exist."""
    stray: tuple[MarkProblem, ...] = ()
    """Marks that stand at no code."""
    uncovered: tuple[str, ...] = ()
    """Requirements that neither code nor a test is linked to."""
    unlinked: tuple[str, ...] = ()
    """Requirements with tests or measurements, and no code linked to them."""
    lock: str = ""
    """The file that says what was accepted; empty where there is none."""
    not_accepted: tuple[str, ...] = ()
    """Requirements that the lock does not name."""
    dropped: tuple[str, ...] = ()
    """Requirements that the lock names and the specification does not."""
    accepted_here: tuple[str, ...] = ()
    """With `--since`: requirements that were accepted, or dropped from the lock, in the change itself."""
