"""`verifygate render`: any format of a report that is stored, without running anything again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from verifygate.commands.options import path_as_typed
from verifygate.report.formats import run_formats

if TYPE_CHECKING:
    from verifygate.model import Report


@click.command()
@click.argument("stored", metavar="REPORT.json", type=click.Path(path_type=Path))
@click.option("--format", "fmt", default="md", type=click.Choice(run_formats()), help="Output format (default: md).")
@click.option("--output", type=click.Path(path_type=Path), help="File, or folder where the format is several files.")
def render(stored: Path, fmt: str, output: Path | None) -> int:
    """Make a format of a report that `verifygate run` stored; the same bytes as if the run had written it.

    Exit code 0: it was written, whatever the verdict in it.
    """
    from verifygate.base.errors import UsageError
    from verifygate.merge import handed_in
    from verifygate.report.formats import files_of
    from verifygate.report.formats import render as rendered
    from verifygate.report.write import write_file, write_reports

    several = len(files_of(fmt)) > 1
    if several and output is None:
        raise UsageError(f"`{fmt}` is several files", where="--output", remedy="name a folder for them")
    report = handed_in(stored, path_as_typed(stored))
    files = rendered(report, fmt, _links(report, stored, output, several=several))
    if output is None:
        click.echo(_only(files), nl=False)
    elif several:
        write_reports(files, output)
    else:
        write_file(output, _only(files))
    return 0


def _only(files: Mapping[str, str]) -> str:
    (content,) = files.values()
    return content


def _links(report: Report, stored: Path, output: Path | None, *, several: bool) -> str | None:
    """The way from the output to the project's root, which lies where the stored report says; None: as it says."""
    if output is None:
        return None
    root = stored.resolve().parent / report.run.links
    folder = output.absolute() if several else output.absolute().parent
    return Path(os.path.relpath(os.path.normpath(root), folder.resolve())).as_posix() + "/"
