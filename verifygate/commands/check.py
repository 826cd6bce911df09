"""`verifygate check`: the static rules over some files, as text. Light: it loads no more than the answer takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from verifygate import cache
from verifygate.cache import Answer
from verifygate.commands.options import config_option, named_sources, split_words, tell_not_analysed
from verifygate.config_file import find
from verifygate.timings import Timings

if TYPE_CHECKING:
    from verifygate.config import Settings
    from verifygate.model import NotAnalysed
    from verifygate.model.check_report import CheckReport
    from verifygate.source import Sources
    from verifygate.static.choice import Choice
    from verifygate.static.engine import Outcome

FORMATS = ("text", "json", "github", "gitlab", "sarif", "junit")
FORMATS_WITH_FIXES = ("json", "sarif")
"""Formats that say whether a finding can be fixed; `text` counts them where that is quick."""


@click.command()
@click.argument("paths", nargs=-1, type=str)
@click.option("--format", "fmt", default="text", type=click.Choice(FORMATS), help="Output format.")
@click.option("--select", multiple=True, callback=split_words, help="Only these rules or families: AMP2,KEY101.")
@click.option("--ignore", multiple=True, callback=split_words, help="Not these rules or families.")
@config_option
@click.option("--no-cache", is_flag=True, help="Work it out anew, also where nothing has changed since the last time.")
@click.option("--timings", "timed", is_flag=True, help="Print on stderr where the CPU time went.")
def check(
    paths: tuple[str, ...],
    fmt: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    config: Path | None,
    no_cache: bool,
    timed: bool,
) -> int:
    """Check sources statically: no configuration, no torch, nothing run. PATHS are files and folders (default: .)."""
    timings = Timings(on=timed)
    answer, lost = answered(Question(paths, fmt, select, ignore, config), timings, cached=not no_cache)
    click.echo(answer.out, nl=False)
    tell_not_analysed(lost)
    if timed:
        click.echo(timings.table(), nl=False, err=True)
    return answer.code


@dataclass(frozen=True)
class Question:
    """What the command line asks for."""

    paths: tuple[str, ...]
    format: str
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    config: Path | None


def answered(question: Question, timings: Timings, *, cached: bool) -> tuple[Answer, Sequence[NotAnalysed]]:
    """What to print, the exit code, and the files that could not be looked at. Raises UsageError.

    It comes from the cache where nothing that counts has changed.
    """
    start = Path.cwd()
    file = question.config if question.config is not None else find(start)
    root = file.resolve().parent if file is not None else start
    contents = _contents(file, root)
    # A configuration is always read and judged: what it names may have gone. Without one there is nothing to judge, and
    # the models that would do it are not even loaded.
    settings = _settings(question, start, timings) if file is not None else None
    with timings.part("read the files"):
        sources = named_sources(question.paths, settings.project.exclude if settings is not None else ())
    key = ""
    if cached:
        with timings.part("look for an earlier answer"):
            asked = [question.format, "select", *question.select, "ignore", *question.ignore, *contents]
            if settings is not None:  # what the file came to, whatever else it may have been made of
                asked.append(settings.static.model_dump_json())
            key = cache.key_of(asked, sources)
            if (known := cache.recall(key)) is not None:
                return known, ()
    answer, lost = _worked_out(question, settings, sources, timings)
    # What could not be read today may be readable tomorrow; a configuration that was changed meanwhile was not asked.
    if cached and not lost and contents == _contents(file, root):
        with timings.part("keep the answer"):
            cache.keep(key, answer)
    return answer, lost


def _contents(config: Path | None, root: Path) -> list[str]:
    """The files that settings come from, by name and bytes; an absent one is told from an empty one."""
    files = (config, root / "pyproject.toml")
    return [
        f"{file.name}\0{file.read_bytes().decode('latin-1')}" if file is not None and file.is_file() else "none"
        for file in files
    ]


def _settings(question: Question, start: Path, timings: Timings) -> Settings:
    with timings.part("read the configuration"):
        from verifygate.config import load

        return load(question.config, start)


def _worked_out(
    question: Question, settings: Settings | None, sources: Sources, timings: Timings
) -> tuple[Answer, Sequence[NotAnalysed]]:
    with timings.part("load the rules"):
        from verifygate.report.findings import render_findings
        from verifygate.static.choice import Choice
        from verifygate.static.engine import analyse
        from verifygate.static.registry import check_rules
        from verifygate.torch_requirement import required_torch

        if settings is not None:
            check_rules(settings)
        base = settings.static if settings is not None else Choice(torch_version=required_torch(Path.cwd()))
        choice = Choice(
            select=question.select or base.select,
            ignore=(*base.ignore, *question.ignore),
            per_file_ignores=base.per_file_ignores,
            torch_version=base.torch_version,
        )
    with timings.part("put findings together"):
        outcome = analyse(sources, choice, with_constructs=False, timings=timings)
    report = report_of(outcome)
    if question.format in FORMATS_WITH_FIXES:  # building fixes costs more than finding faults
        with timings.part("see what can be fixed"):
            from verifygate.fix import with_fixes

            report = replace(report, findings=with_fixes(report.findings, sources))
    with timings.part("render"):
        text = render_findings(report, question.format, _asides(question.format, report, outcome, choice))
    if any(lost.mentions_amp for lost in report.not_analysed):
        return Answer(text, 2), report.not_analysed
    return Answer(text, 1 if report.findings else 0), report.not_analysed


def report_of(outcome: Outcome) -> CheckReport:
    """What an analysis found, as the formats show it."""
    from verifygate.model.check_report import CheckReport

    return CheckReport(
        files_checked=outcome.files_checked,
        findings=outcome.findings,
        not_analysed=outcome.not_analysed,
        not_followed=outcome.not_followed,
    )


def _asides(format: str, report: CheckReport, outcome: Outcome, choice: Choice) -> list[str]:  # noqa: A002 - the option's name
    """What a person is to know besides the findings."""
    from verifygate.static.registry import load_rules

    told = []
    if format == "text" and (fixable := sum(load_rules()[each.rule].rule.fix is not None for each in report.findings)):
        told.append(f"{fixable} may be fixable: see `verifygate fix --diff`")
    if outcome.suppressions:
        told.append(f"{len(outcome.suppressions)} suppressed")
    if outcome.too_new:
        told.append(f"{', '.join(outcome.too_new)} not applied: the project supports torch {choice.torch_version}")
    return told
