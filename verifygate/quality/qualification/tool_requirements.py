"""The requirements of the tool itself with the tests that verify them, and the malfunctions that they are against."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml

from verifygate.model import Model

FILE = Path(__file__).with_name("tool_requirements.yaml")


class ToolRequirement(Model):
    """One thing that the tool must do."""

    id: str
    text: str
    prevents: str
    """The malfunction of the tool that it is about."""
    tests: tuple[str, ...]
    """Tests of the source repository; they are not part of an installation."""


class Malfunction(Model):
    """One way in which the tool could be wrong, and what the user needs to judge how much that matters."""

    id: str
    text: str
    effect: str
    """What follows for the product: the input for the tool impact."""
    detection: str
    """What prevents or notices it: an input for the error detection, which the user's own process completes."""
    requirements: tuple[str, ...]


class ToolDescription(Model):
    """What the tool must do, and what if it does not."""

    malfunctions: tuple[Malfunction, ...]
    requirements: tuple[ToolRequirement, ...]


@cache
def tool_description() -> ToolDescription:
    """As it is committed."""
    return ToolDescription.model_validate(yaml.safe_load(FILE.read_text(encoding="utf-8")))
