"""`[project]`: what is audited."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from verifygate.model.base import Model
from verifygate.sources.left_out import checked

LABELS = ("name", "task", "version")
"""What `[project]` says of the code, and not of how it is judged."""


class ProjectSettings(Model):
    """`[project]`: what is audited."""

    name: str = ""
    """Shown in the reports; by default the name of the root folder."""
    task: str = ""
    """Task or ticket id, for example `T035`."""
    version: str = ""
    sources: tuple[str, ...] = ()
    """Files and folders to audit, relative to the configuration; by default the whole root."""
    exclude: tuple[Annotated[str, AfterValidator(checked)], ...] = ()
    """Patterns of paths to leave out, in the syntax of a `.gitignore`, for example `/legacy/`; `!/made/` takes in what
    git ignores, `!*` all of it."""
