"""What several commands take or say in the same words."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from verifygate.model import NotAnalysed
    from verifygate.source import Sources


config_option = click.option(
    "--config", type=click.Path(path_type=Path), help="Configuration file; the nearest one by default."
)
format_option = click.option(
    "--format", "fmt", default="text", type=click.Choice(("text", "json")), help="Output format."
)


def split_words(_context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """`--select AMP2,KEY101 --select PERF` as one list."""
    if any(not part.strip(" ,") for part in value):
        raise click.BadParameter("it is empty")
    return tuple(word for part in value for word in part.replace(",", " ").split())


def named_sources(paths: tuple[str, ...], exclude: tuple[str, ...]) -> Sources:
    """The Python files that the user named, or all here. Raises UsageError where there is none."""
    from verifygate.errors import UsageError
    from verifygate.source import read_sources

    named = paths or (".",)
    sources = read_sources(Path.cwd(), named, exclude, confined=False)
    if not sources.files and not sources.unreadable:
        raise UsageError("no Python file there", where=", ".join(named), remedy="name a file or a folder")
    return sources


def tell_not_analysed(files: Iterable[NotAnalysed]) -> None:
    """Name on stderr what could not be looked at, and why."""
    for lost in files:
        click.echo(f"verifygate: not analysed: {lost.path}: {lost.reason}", err=True)


def path_as_typed(path: Path) -> str:
    """A path as a person here would type it."""
    relative = os.path.relpath(path)
    return path.as_posix() if relative.startswith("..") else Path(relative).as_posix()
