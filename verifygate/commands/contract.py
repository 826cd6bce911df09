"""`verifygate contract`: what decides each precision of a program, as its code and configuration files declare it."""

from __future__ import annotations

from pathlib import Path

import click

from verifygate.commands.options import config_option


@click.command()
@click.argument("paths", nargs=-1, type=str)
@config_option
@click.option("--format", "fmt", default="text", type=click.Choice(("text", "markdown", "json")), help="Output format.")
@click.option("--since", default="", help="Say too which cells moved since this tree left that git revision.")
def contract(paths: tuple[str, ...], config: Path | None, fmt: str, since: str) -> int:
    """Print what decides each precision: weights, compute, master copy, reduction, optimizer state. Runs nothing.

    PATHS are files and folders (default: .), also a YAML or TOML that a framework trains by.
    `docs precision-contract` explains.
    """
    from verifygate.check.contracts import contracts_of
    from verifygate.check.settings import Judged, judged
    from verifygate.config.locate import find
    from verifygate.report import contracts as report

    start = Path.cwd()
    file = config if config is not None else find(start)
    found = judged(file, start, cached=True) if file is not None else Judged()
    root = file.resolve().parent if file is not None else None
    shown = contracts_of(paths, start, found, root, since)
    for line in shown.lost:
        click.echo(line, err=True)
    programs = [("", "", shown.programs)] if shown.programs.rows else []
    contracts = [*programs, *((each.title, each.framework.title, each.contract) for each in shown.drivers)]
    render = {"text": report.as_text, "markdown": report.as_markdown, "json": report.as_json}[fmt]
    click.echo(render(contracts, shown.changes), nl=False)
    return 2 if shown.is_partial else 0
