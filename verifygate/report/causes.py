"""The reasons of a verdict by cause: what fails at a line, and all that fails because of it, is one thing to mend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from verifygate.base.counts import counted
from verifygate.model import Reason


@dataclass
class Cause:
    """The first reason of a cause, and the others that go away with it."""

    reason: Reason
    also: list[str] = field(default_factory=list)
    """The checks of the others, by their ids."""


def causes(reasons: Sequence[Reason]) -> list[Cause]:
    """Each cause once, in the order of the reasons: a failed check is told where its line, or its remedy, is."""
    heads: list[Cause] = []
    known: dict[tuple[str, ...], Cause] = {}
    for reason in reasons:
        keys = _keys(reason)
        cause = next((known[key] for key in keys if key in known), None) if reason.check else None
        if cause is None:
            cause = Cause(reason)
            heads.append(cause)
        else:
            cause.also.append(reason.check)
        for key in keys:
            known.setdefault(key, cause)
    return heads


def in_words(reasons: Sequence[Reason]) -> str:
    """`, of 6 causes`; empty where each reason is one."""
    number = len(causes(reasons))
    return "" if number == len(reasons) else f", of {counted(number, 'cause')}"


def _keys(reason: Reason) -> list[tuple[str, ...]]:
    """What tells a cause: the line of a program; of the same kind of lack, what would mend it."""
    at_a_line = reason.path is not None and reason.line is not None and reason.path.endswith((".py", ".ipynb"))
    by_line = [("at", str(reason.path), str(reason.line))] if at_a_line else []
    return [*by_line, *([("by", reason.condition, reason.action)] if reason.check and reason.action else [])]
