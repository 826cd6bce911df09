"""Who drives mixed precision, as trees: what the specification expects, and what stands in the sources."""

from __future__ import annotations

from pydantic import Field

from verifygate.model.base import Model


class Branch(Model):
    """A line of a tree, and the lines below it."""

    text: str
    path: str | None = None
    line: int | None = None
    missing: bool = False
    """Expected, and not found."""
    inner: tuple[Branch, ...] = ()


class ArchitectureTrees(Model):
    """Both trees, side by side."""

    expected: Branch
    actual: Branch
    mismatch: str = Field(default="")
    """In one sentence, why the actual tree is not the expected one; empty where it is, or where nothing was asked."""
