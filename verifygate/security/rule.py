"""What a rule of this stage is, and what it finds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verifygate.model import Severity

if TYPE_CHECKING:
    from verifygate.security.tree import AuditedTree


@dataclass(frozen=True)
class SecurityRule:
    """What a rule is. Its documentation is the docstring of its module."""

    code: str
    name: str
    severity: Severity
    summary: str
    """One line for lists."""
    remedy: str
    """One sentence: what to write instead."""


@dataclass(frozen=True)
class Hit:
    """One place where a rule is broken."""

    path: str
    line: int
    message: str
    certain: bool = True
    severity: Severity | None = None
    """Overrides the rule's own, where this place does more or less harm."""
    symbol: str = ""
    """The qualified name of the enclosing function; empty at module level."""
    shown: str | None = None
    """What reports show instead of the line's text: a secret must not be repeated."""


Checker = Callable[["AuditedTree"], Iterable[Hit]]


@dataclass(frozen=True)
class LoadedRule:
    """A rule as found in its module; `check` is None where an analyser of others finds it."""

    rule: SecurityRule
    text: str
    """The docstring of its module."""
    check: Checker | None

    @property
    def docs(self) -> str:
        """Its documentation, in Markdown."""
        return inspect.cleandoc(self.text)
