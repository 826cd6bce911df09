"""`verifygate fix`: change the sources, and prove each change by a new scan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from verifygate.base.counts import counted
from verifygate.check.project import left_beside, named_sources
from verifygate.check.run import not_analysed_lines, report_of
from verifygate.commands.options import config_option, split_words

if TYPE_CHECKING:
    from verifygate.config.rule_selection import RuleSelection
    from verifygate.model.check_report import CheckReport
    from verifygate.sources.tree import Sources


@click.command()
@click.argument("paths", nargs=-1, type=str)
@click.option("--diff", "as_diff", is_flag=True, help="Print the changes as a diff and write nothing.")
@click.option("--unsafe", is_flag=True, help="Also apply fixes that a person should review.")
@click.option("--select", multiple=True, callback=split_words, help="Only these rules or families: AMP2,AMP501.")
@config_option
def fix(paths: tuple[str, ...], as_diff: bool, unsafe: bool, select: tuple[str, ...], config: Path | None) -> int:
    """Fix what can be fixed, and prove each fix by a new scan. Exit code 1 if findings, or a diff, are left."""
    from verifygate.config.settings import load
    from verifygate.config.tree_versions import versions_of_tree
    from verifygate.fix import repaired
    from verifygate.fix.write import unified_diff, write_fixed
    from verifygate.static.registry import check_rules, chosen

    settings = load(config, Path.cwd())
    check_rules(settings)
    sources = named_sources(paths, settings.exclusion)
    wanted = chosen(select or settings.static.select, settings.static.ignore)
    # The scan that proves a fix looks with every rule of the project, not only with those to fix.
    every = settings.static.selection.allowing(versions_of_tree(sources.paths, Path.cwd()))
    every = every._replace(select=(*every.select, *select) if every.select else ())
    repair = repaired(sources, lambda files: _checked(files, every), wanted, unsafe=unsafe, selection=every)
    left = [finding for finding in repair.report.findings if finding.rule in wanted]
    for finding, reason in sorted(repair.refused, key=lambda each: (each[0].path, each[0].line, each[0].rule)):
        line = repair.lines.get(finding.fingerprint, finding.line) if as_diff else finding.line
        click.echo(f"verifygate: not fixed: {finding.path}:{line}: {finding.rule}: {reason}", err=True)
    if beside := left_beside(paths, Path.cwd()):
        click.echo(f"verifygate: read without {counted(beside, 'Python file')} beside what is named", err=True)
    for lost in not_analysed_lines(repair.report.not_analysed):
        click.echo(lost, err=True)
    if as_diff:
        click.echo(unified_diff(repair.changed), nl=False)  # bytes: sources need not be UTF-8
        if left:
            click.echo(f"verifygate: findings that no fix takes away: {len(left)}", err=True)
    else:
        write_fixed(repair.changed, Path.cwd())
        click.echo(f"Fixed: {len(repair.fixed)}; files changed: {len(repair.changed)}; findings left: {len(left)}")
    if any(lost.mentions_amp for lost in repair.report.not_analysed):
        return 2
    return 1 if left or (as_diff and repair.changed) else 0


def _checked(sources: Sources, selection: RuleSelection) -> CheckReport:
    """What the static analysis says of these files."""
    from verifygate.static.engine import Means, analyse

    return report_of(analyse(sources, selection, with_constructs=False, merged=False, means=Means(jobs=0)))
