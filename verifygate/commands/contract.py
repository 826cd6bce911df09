"""`verifygate contract`: what decides each precision of a program, as its code and configuration files declare it."""

from __future__ import annotations

from pathlib import Path

import click

from verifygate.commands.options import config_option


@click.command()
@click.argument("paths", nargs=-1, type=str)
@config_option
def contract(paths: tuple[str, ...], config: Path | None) -> int:
    """Print what decides each precision: driver, loss scale, weights, compute, reduction, checkpoint. Runs nothing.

    PATHS are files and folders (default: .). `check --format json` has every place; `docs precision-contract` explains.
    """
    from verifygate.check.project import read_asked
    from verifygate.check.report_scope import as_typed, within
    from verifygate.check.run import not_analysed_lines, report_of
    from verifygate.check.settings import Judged, judged
    from verifygate.config.locate import find
    from verifygate.config.tree_versions import versions_of_tree
    from verifygate.report.text import contract_lines
    from verifygate.sources.repository import folder_in_repository
    from verifygate.static.engine import Means, analyse

    start = Path.cwd()
    file = config if config is not None else find(start)
    root = file.resolve().parent if file is not None else None
    found = judged(file, start, cached=True) if file is not None else Judged()
    asked = read_asked(paths, start, found.exclude, root, found.sources, rooted=bool(root and start != root))
    rules = found.written.allowing(versions_of_tree(asked.sources.paths, asked.root))
    about = asked.is_asked if asked.scope is not None else None
    outcome = analyse(asked.sources, rules, with_constructs=False, about=about, means=Means(lets_go=True))
    shown = as_typed(within(report_of(outcome, folder_in_repository(start)), asked), asked.as_typed)
    for line in not_analysed_lines(shown.not_analysed):
        click.echo(line, err=True)
    click.echo(contract_lines(shown) or "Nothing here declares a precision.\n", nl=False)
    return 2 if any(lost.mentions_amp for lost in shown.not_analysed) else 0
