"""What several commands take or say in the same words."""

from __future__ import annotations

import os
from pathlib import Path

import click

from verifygate.check.options import words_in

config_option = click.option(
    "--config", type=click.Path(path_type=Path), help="Configuration file (default: the nearest one)."
)
format_option = click.option(
    "--format", "fmt", default="text", type=click.Choice(("text", "json")), help="Output format."
)


def split_words(_context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """`--select AMP2,KEY101 --select PERF` as one list."""
    if any(not part.strip(" ,") for part in value):
        raise click.BadParameter("it is empty")
    return words_in(value)


def path_as_typed(path: Path) -> str:
    """A path as a person here would type it."""
    relative = os.path.relpath(path)
    return path.as_posix() if relative.startswith("..") else Path(relative).as_posix()
