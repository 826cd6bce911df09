"""`verifygate check`: the static rules over some files, as text.

It stands before somebody's every commit, so it loads no more than the answer takes: no click for plain arguments, no
model where nothing is configured, no format but the one that is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from verifygate.base import answer_store
from verifygate.base.answer_store import CheckOutput
from verifygate.base.cpu_time import Timings
from verifygate.check import answer_cache
from verifygate.check.known_findings import Old, known_old
from verifygate.check.options import STDIN, CheckOptions
from verifygate.check.project import MARKERS, Asked, read_asked
from verifygate.check.settings import Judged, contents_of, judged
from verifygate.config.locate import find
from verifygate.config.tree_versions import versions_of_tree
from verifygate.report.escape import LONG, plain
from verifygate.report.formats import FORMATS, render_check
from verifygate.report.threshold import AS_IN_RUN, Threshold, threshold
from verifygate.sources.repository import folder_in_repository

if TYPE_CHECKING:
    from verifygate.config.rule_selection import RuleSelection
    from verifygate.model import NotAnalysed
    from verifygate.model.check_report import CheckReport
    from verifygate.sources.tree import Sources
    from verifygate.static.analysis_result import AnalysisResult


def run_check(options: CheckOptions) -> int:
    """Print the output, name on stderr what could not be analysed, and return the exit code. Raises UsageError."""
    timings = Timings(on=options.timed)
    output = cached_or_computed(options, timings)
    for each, text in zip(options.outputs, output.out, strict=True):
        if each.file:
            _write(each.file, text)
        else:
            _print(text)
    for line in output.lost:
        print(line, file=sys.stderr)
    if options.timed:
        print(timings.table(), end="", file=sys.stderr)
    return 0 if options.exit_zero and output.code == 1 else output.code


def _write(file: str, text: str) -> None:
    from verifygate.base.errors import UsageError

    try:
        Path(file).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(
            f"cannot be written: {error.strerror}", where=file, remedy="name a file in a folder that is there"
        ) from None


def _print(text: str) -> None:
    if (sys.stdout.encoding or "").lower() != "utf-8":
        import click  # it knows how to write what an odd terminal has no letters for

        click.echo(text, nl=False)
        return
    sys.stdout.write(text)
    sys.stdout.flush()


def not_analysed_lines(files: Iterable[NotAnalysed]) -> tuple[str, ...]:
    """What could not be analysed, and why, for stderr."""
    return tuple(plain(f"verifygate: not analysed: {lost.path}: {lost.reason}", LONG) for lost in files)


def cached_or_computed(options: CheckOptions, timings: Timings) -> CheckOutput:
    """Output and exit code. Raises UsageError.

    It comes from the cache where nothing that counts has changed.
    """
    start = Path.cwd()
    least = threshold(options.fail_on)
    text = _standard_input(options)
    file = options.config if options.config is not None else find(start)
    root = file.resolve().parent if file is not None else start
    contents = contents_of(file)
    with timings.part("read the configuration"):
        found = judged(file, start, cached=options.cached) if file is not None else Judged()
    with timings.part("read the files"):
        configured = root if file is not None else None
        below = configured is not None and start != root and start.is_relative_to(root)
        rooted = bool(below or options.since or found.baseline)
        asked = read_asked(options.paths, start, found.exclusion, configured, found.sources, rooted=rooted, text=text)
        versions = versions_of_tree(asked.sources.paths, asked.root)
        old = known_old(options.since, found.baseline, root if found.baseline else asked.root)
    key = ""
    if options.cached:
        with timings.part("look for an earlier answer"):
            question = [
                *(each.format for each in options.outputs),
                "select",
                *options.select,
                "ignore",
                *options.ignore,
                "abstract run",
                str(options.abstract_run),
                *contents,
                found.text,
                repr(versions),
                folder_in_repository(start),
                "scope",
                *((str(start), *sorted(asked.scope), *options.paths) if asked.scope is not None else ()),
                "old",
                *old.key,
                *least,
            ]
            key = answer_cache.key_of(question, asked.sources)
            if (known := answer_store.recall(key)) is not None:
                return known
    written = found.written._replace(
        select=options.select or found.written.select,
        ignore=(*found.written.ignore, *options.ignore),
        abstract_run=options.abstract_run,
    )
    output = _computed(options, written.allowing(versions), asked, old, least, timings)
    # What could not be read today may be readable tomorrow; a configuration that was changed meanwhile was not asked.
    if options.cached and output.keeps and not asked.sources.unreadable and contents == contents_of(file):
        with timings.part("keep the answer"):
            answer_store.keep(key, output)
    return output


def _standard_input(options: CheckOptions) -> tuple[str, bytes] | None:
    """The file whose text is on standard input, and that text. Raises UsageError."""
    if STDIN not in options.paths and not options.stdin_filename:
        return None
    if options.paths != (STDIN,) or not options.stdin_filename:
        from verifygate.base.errors import UsageError

        raise UsageError(
            "a text on standard input needs the one path `-` and the name of its file",
            where="--stdin-filename" if options.stdin_filename else STDIN,
            remedy="write `verifygate check - --stdin-filename FILE`",
        )
    return options.stdin_filename, sys.stdin.buffer.read()


def _computed(
    options: CheckOptions,
    choice: RuleSelection,
    asked: Asked,
    old: Old,
    least: Threshold,
    timings: Timings,
) -> CheckOutput:
    with timings.part("load the rules"):
        from verifygate.base.records import replace
        from verifygate.check.configurations import moved_since, read_of, with_drivers
        from verifygate.check.part_cache import KeptParts
        from verifygate.check.report_scope import as_typed, within
        from verifygate.static.engine import Means, analyse
        from verifygate.static.registry import load_rules

        load_rules()
    with timings.part("put findings together"):
        about = asked.is_asked if asked.scope is not None and not asked.settings else None
        kept = KeptParts() if options.cached else None
        means = Means(options.jobs, kept, timings, lets_go=True)
        outcome = analyse(asked.sources, choice, with_constructs=False, about=about, means=means)
        whole = report_of(outcome, folder_in_repository(Path.cwd()), asked.sources)
        whole, asked, drivers = with_drivers(whole, asked)
        report = within(whole, asked)
        report = replace(report, files_checked=report.files_checked + read_of(report, asked, drivers))
    if old.commit or old.baseline is not None:
        from verifygate.check.known_findings import without_old

        with timings.part("set aside what is old"):
            report = without_old(report, asked, old, choice, kept)
            report = replace(report, contract_changes=moved_since(asked, old.commit, drivers))
    if any(FORMATS[each.format].shows_fixes for each in options.outputs):
        with timings.part("see what can be fixed"):  # building fixes costs more than finding faults
            from verifygate.check.fixes import fixes_for

            proven = any(FORMATS[each.format].shows_edits for each in options.outputs)
            fixed = fixes_for(report.findings, asked.sources, choice, report_of, means, proven=proven)
            report = replace(report, findings=fixed)
    report = replace(report, fail_on=options.fail_on)
    fails = any(least.is_met_by(each) for each in report.findings)
    shown = as_typed(report, asked.as_typed)
    around = len(whole.not_analysed) - len(report.not_analysed)
    with timings.part("render"):
        told = [
            *_known_before(asked, old, report, outcome),
            *_not_looked_at(asked, outcome, choice, around),
            *_about_the_exit_code(options, report, fails=fails),
        ]
        if len(drivers) > 1:
            told.append(f"{len(drivers)} configurations train by themselves: see `verifygate contract`")
        # How many can be fixed is known when the fixes are built, which takes longer than to find the faults.
        texts = tuple(
            render_check(_for(each.format, shown, options), each.format, [*_fixes_told(report, each.format), *told])
            for each in options.outputs
        )
    gaps = any(lost.mentions_amp for lost in shown.not_analysed)
    return CheckOutput(
        texts, 2 if gaps else int(fails), not_analysed_lines(shown.not_analysed), keeps=not outcome.gave_up
    )


def report_of(outcome: AnalysisResult, folder: str = "", sources: Sources | None = None) -> CheckReport:
    """What an analysis found, as the formats show it; `folder` is the one that paths are relative to."""
    from verifygate.model.check_report import CheckReport
    from verifygate.model.source_facts import LeftOut

    return CheckReport(
        files_checked=outcome.files_checked,
        findings=outcome.findings,
        not_analysed=outcome.not_analysed,
        not_followed=outcome.not_followed,
        left_out=tuple(LeftOut(**each._asdict()) for each in sources.left_out) if sources is not None else (),
        contract=outcome.contract,
        folder=folder,
    )


def _for(format: str, report: CheckReport, options: CheckOptions) -> CheckReport:  # noqa: A002 - the option's name
    """What a format shows: a person who asks what is new, before a commit say, is told of no contract of the whole."""
    from verifygate.base.records import replace
    from verifygate.model.precision_contract import PrecisionContract

    return replace(report, contract=PrecisionContract()) if format == "text" and options.since else report


def _fixes_told(report: CheckReport, format: str) -> list[str]:  # noqa: A002 - the option's name
    """Which command tries the fixes, where some rule has one: whether one can be built is not known yet."""
    from verifygate.model.finding import Certainty
    from verifygate.static.registry import load_rules

    tried = [each for each in report.findings if load_rules()[each.rule].rule.fix is not None]
    if format != "text" or not tried:
        return []
    unsafe = "" if any(each.certainty is Certainty.CERTAIN for each in tried) else " --unsafe"
    return [f"`verifygate fix --diff{unsafe}` says whether a fix applies"]


def _known_before(asked: Asked, old: Old, report: CheckReport, outcome: AnalysisResult) -> Iterator[str]:
    """How many findings are not shown, because somebody has seen them before."""
    if report.stood_before:
        yield f"{report.stood_before} stood before, at {old.commit[:12]}"
    if report.in_baseline:
        yield f"{report.in_baseline} in the baseline {old.shown}"
    if suppressed := sum(asked.is_asked(each.path) for each in outcome.suppressions):
        yield f"{suppressed} suppressed"


def _not_looked_at(asked: Asked, outcome: AnalysisResult, choice: RuleSelection, around: int) -> Iterator[str]:
    """The rules and files that nothing is said of; `around` files lie beside those that were asked for."""
    from verifygate.base.counts import counted

    if outcome.too_new:
        versions = " and ".join(choice.torch_versions)
        yield f"{', '.join(outcome.too_new)} not applied: the project supports torch {versions}"
    models = len(asked.exclude.models & (asked.scope or frozenset()))
    if models:
        yield f"{counted(models, 'named path')} left out: `[static] models` names it"
    if asked.left_out > models:
        yield f"{counted(asked.left_out - models, 'named path')} left out by `[project] exclude`"
    if asked.beside:
        files = counted(asked.beside, "Python file")
        yield f"read without {files} beside: no one project ({', '.join(MARKERS)}) is around"
    if around:
        yield f"{counted(around, 'file')} of the project around could not be analysed"


def _about_the_exit_code(options: CheckOptions, report: CheckReport, *, fails: bool) -> Iterator[str]:
    """Why it is not what the findings suggest."""
    if options.fail_on and report.findings and not fails:
        yield f"none fails: --fail-on {options.fail_on}"
    elif fails and not options.fail_on and not any(AS_IN_RUN.is_met_by(each) for each in report.findings):
        yield "exit code 1, though none would block `run`: `--fail-on high,certain` lets them pass"
