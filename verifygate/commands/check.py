"""`verifygate check`, as click reads and documents its arguments; plain ones are read without it."""

from __future__ import annotations

from pathlib import Path

import click

from verifygate.check.run import CheckOptions, run_check
from verifygate.commands.options import config_option, split_words
from verifygate.report.formats import check_formats


@click.command()
@click.argument("paths", nargs=-1, type=str)
@click.option("--format", "fmt", default="text", type=click.Choice(check_formats()), help="Output format.")
@click.option("--select", multiple=True, callback=split_words, help="Only these rules or families: AMP2,KEY101.")
@click.option("--ignore", multiple=True, callback=split_words, help="Not these rules or families.")
@config_option
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache of earlier answers.")
@click.option("--timings", "timed", is_flag=True, help="Print the CPU time by part and by rule on stderr.")
def check(
    paths: tuple[str, ...],
    fmt: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    config: Path | None,
    no_cache: bool,
    timed: bool,
) -> int:
    """Check sources statically: no configuration, no torch, no code run. PATHS are files and folders (default: .)."""
    return run_check(CheckOptions(paths, fmt, select, ignore, config, cached=not no_cache, timed=timed))
