"""`verifygate check`: the static rules over some files, as text.

It stands before somebody's every commit, so it loads no more than the answer takes: no click for plain arguments, no
model where nothing is configured, no format but the one that is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from verifygate.base.cpu_time import Timings
from verifygate.check import answer_cache
from verifygate.check.answer_cache import CheckOutput
from verifygate.check.settings import contents_of, judged, unconfigured
from verifygate.config.locate import find
from verifygate.report.formats import FORMATS, check_formats, render_check

if TYPE_CHECKING:
    from verifygate.config.rule_selection import RuleSelection
    from verifygate.model import NotAnalysed
    from verifygate.model.check_report import CheckReport
    from verifygate.sources.tree import Sources
    from verifygate.static.engine import AnalysisResult


class CheckOptions(NamedTuple):
    """The options of the command line."""

    paths: tuple[str, ...] = ()
    format: str = "text"
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    config: Path | None = None
    cached: bool = True
    """Whether an earlier answer will do."""
    timed: bool = False
    """Whether to print where the CPU time went."""


def plain_options(arguments: Sequence[str]) -> CheckOptions | None:
    """The options behind plain arguments; None for what click is to read, or to refuse: loading it takes a while."""
    paths: list[str] = []
    given: dict[str, list[str]] = {"--format": [], "--config": [], "--select": [], "--ignore": []}
    flags: set[str] = set()
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if not word.startswith("-"):
            paths.append(word)
        elif word in ("--no-cache", "--timings"):
            flags.add(word)
        elif name not in given:
            return None
        else:
            given[name].append(value if equals else next(words, ""))
    if not all(value.strip(" ,") and not value.startswith("-") for values in given.values() for value in values):
        return None
    (*_, fmt), (*_, config) = ["text", *given["--format"]], ["", *given["--config"]]
    if fmt not in check_formats():
        return None
    return CheckOptions(
        tuple(paths),
        fmt,
        words_in(given["--select"]),
        words_in(given["--ignore"]),
        Path(config) if config else None,
        cached="--no-cache" not in flags,
        timed="--timings" in flags,
    )


def words_in(values: Iterable[str]) -> tuple[str, ...]:
    """`--select AMP2,KEY101 --select PERF` as one list."""
    return tuple(word for value in values for word in value.replace(",", " ").split())


def run_check(options: CheckOptions) -> int:
    """Print the output, name on stderr what could not be analysed, and return the exit code. Raises UsageError."""
    timings = Timings(on=options.timed)
    output, lost = cached_or_computed(options, timings)
    _print(output.out)
    warn_not_analysed(lost)
    if options.timed:
        print(timings.table(), end="", file=sys.stderr)
    return output.code


def _print(text: str) -> None:
    if (sys.stdout.encoding or "").lower() != "utf-8":
        import click  # it knows how to write what an odd terminal has no letters for

        click.echo(text, nl=False)
        return
    sys.stdout.write(text)
    sys.stdout.flush()


def warn_not_analysed(files: Iterable[NotAnalysed]) -> None:
    """Name on stderr what could not be analysed, and why."""
    for lost in files:
        print(f"verifygate: not analysed: {lost.path}: {lost.reason}", file=sys.stderr)


def cached_or_computed(options: CheckOptions, timings: Timings) -> tuple[CheckOutput, Sequence[NotAnalysed]]:
    """Output and exit code, and the files that could not be analysed. Raises UsageError.

    It comes from the cache where nothing that counts has changed.
    """
    start = Path.cwd()
    file = options.config if options.config is not None else find(start)
    root = file.resolve().parent if file is not None else start
    contents = contents_of(file, root)
    with timings.part("read the configuration"):
        found = judged(file, start, cached=options.cached) if file is not None else unconfigured(start, options.paths)
    with timings.part("read the files"):
        sources = named_sources(options.paths, found.exclude)
    key = ""
    if options.cached:
        with timings.part("look for an earlier answer"):
            asked = [
                options.format,
                "select",
                *options.select,
                "ignore",
                *options.ignore,
                *contents,
                found.text,
                found.choice.torch_version,
                repr(sorted(found.choice.framework_versions.items())),
            ]
            key = answer_cache.key_of(asked, sources)
            if (known := answer_cache.recall(key)) is not None:
                return known, ()
    output, lost = _computed(options, found.choice, sources, timings)
    # What could not be read today may be readable tomorrow; a configuration that was changed meanwhile was not asked.
    if options.cached and not lost and contents == contents_of(file, root):
        with timings.part("keep the answer"):
            answer_cache.keep(key, output)
    return output, lost


def named_sources(paths: tuple[str, ...], exclude: tuple[str, ...]) -> Sources:
    """The Python files that the user named, or all here. Raises UsageError where there is none."""
    from verifygate.base.errors import UsageError
    from verifygate.sources.discovery import read_sources

    named = paths or (".",)
    sources = read_sources(Path.cwd(), named, exclude, confined=False)
    if not sources.files and not sources.unreadable:
        besides = f", or one that `[project] exclude` ({', '.join(exclude)}) does not match" if exclude else ""
        raise UsageError("no Python file found", where=", ".join(named), remedy=f"name a file or a folder{besides}")
    return sources


def _computed(
    options: CheckOptions, base: RuleSelection, sources: Sources, timings: Timings
) -> tuple[CheckOutput, Sequence[NotAnalysed]]:
    with timings.part("load the rules"):
        from verifygate.static.engine import analyse
        from verifygate.static.registry import load_rules

        load_rules()
        choice = base._replace(select=options.select or base.select, ignore=(*base.ignore, *options.ignore))
    with timings.part("put findings together"):
        outcome = analyse(sources, choice, with_constructs=False, lets_go=True, timings=timings)
    report = report_of(outcome)
    if FORMATS[options.format].shows_fixes:  # building fixes costs more than finding faults
        with timings.part("see what can be fixed"):
            from verifygate.base.records import replace
            from verifygate.fix import with_fixes

            report = replace(report, findings=with_fixes(report.findings, sources, choice.torch_version))
    with timings.part("render"):
        text = render_check(report, options.format, _asides(options.format, report, outcome, choice))
    if any(is_gap(lost, options.paths) for lost in report.not_analysed):
        return CheckOutput(text, 2), report.not_analysed
    return CheckOutput(text, 1 if any(not each.is_note for each in report.findings) else 0), report.not_analysed


def is_gap(lost: NotAnalysed, named: Iterable[str] = ()) -> bool:
    """Whether "nothing found" would be wrong for want of a file: not where it is a scratch file that nobody named."""
    return lost.mentions_amp and (not lost.is_scratch or lost.path in {Path(each).as_posix() for each in named})


def report_of(outcome: AnalysisResult) -> CheckReport:
    """What an analysis found, as the formats show it."""
    from verifygate.model.check_report import CheckReport

    return CheckReport(
        files_checked=outcome.files_checked,
        findings=outcome.findings,
        not_analysed=outcome.not_analysed,
        not_followed=outcome.not_followed,
        contract=outcome.contract,
    )


def _asides(format: str, report: CheckReport, outcome: AnalysisResult, choice: RuleSelection) -> list[str]:  # noqa: A002 - the option's name
    """What a person is to know besides the findings."""

    from verifygate.static.registry import load_rules

    told = []
    # How many can be fixed is known when the fixes are built, which takes longer than to find the faults.
    if format == "text" and any(load_rules()[each.rule].rule.fix is not None for each in report.findings):
        told.append("see `verifygate fix --diff` for what can be fixed")
    if outcome.suppressions:
        told.append(f"{len(outcome.suppressions)} suppressed")
    if outcome.too_new:
        told.append(f"{', '.join(outcome.too_new)} not applied: the project supports torch {choice.torch_version}")
    return told
