"""`verifygate run` and `verifygate compare`: the gate, and what changed between two of its reports."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from verifygate.commands.options import config_option, path_as_typed, split_words
from verifygate.commands.progress import progress_line
from verifygate.report.formats import render, run_formats
from verifygate.stage_registry import by_weight

if TYPE_CHECKING:
    from verifygate.change.ci_event import Event
    from verifygate.config.settings import Settings
    from verifygate.gate.run import RunOptions
    from verifygate.model import Report

MOST_SHOWN = 30
"""Runs of the history in a report."""


@click.command()
@click.option(
    "--stage",
    "stages",
    multiple=True,
    type=click.Choice(("all", *by_weight())),
    help="Stage to run; repeatable (default: all).",
)
@config_option
@click.option("--report-dir", type=click.Path(path_type=Path), help="Where reports go (default: reports/latest).")
@click.option("--format", "formats", multiple=True, callback=split_words, help=f"{','.join(run_formats())}.")
@click.option("--baseline", type=click.Path(path_type=Path), help="An earlier report.json to compare with.")
@click.option("--since", default="", help="A git revision: findings that it already has do not block.")
@click.option("--ci", is_flag=True, help="Take that revision from the event of the CI job (GitHub, GitLab).")
@click.option(
    "--policy-from", default="", help="A git revision whose configuration, specification and waivers count [--since]."
)
@click.option("--accept-policy", is_flag=True, help="Judge by the policy of this tree; the report says so.")
@click.option(
    "--mutate",
    is_flag=False,
    flag_value="first",
    default="",
    type=click.Choice(("first", "all", "")),
    help="Break the AMP code on purpose and report who notices; `all` runs every witness on every mutant.",
)
@click.option(
    "--entries",
    type=click.Choice(("found",)),
    help="Start the best program that trains and that nobody named: it is looked for in the source.",
)
@click.option(
    "--emulate-cuda/--no-emulate-cuda",
    default=None,
    help="Whether tests that skip without CUDA run again with CUDA emulated (default: as configured, or yes).",
)
@click.option(
    "--isolation",
    type=click.Choice(("off", "auto", "required")),
    help="Keep the project's processes from the machine (default: as configured; else auto, off with a GPU).",
)
@click.option("--fresh", is_flag=True, help="Run everything anew, whatever results were kept [execution.hermetic].")
@click.option(
    "--history",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file that keeps the verdict, score and counts of the last runs; the report shows the trend.",
)
@click.option(
    "--github-job",
    is_flag=False,
    flag_value="annotated",
    type=click.Choice(("annotated", "summary")),
    help="Give the step of GitHub Actions its outputs and summary; `annotated`: the lines their annotations too.",
)
def run(
    stages: tuple[str, ...],
    config: Path | None,
    report_dir: Path | None,
    formats: tuple[str, ...],
    baseline: Path | None,
    since: str,
    ci: bool,
    policy_from: str,
    accept_policy: bool,
    mutate: str,
    entries: str | None,
    emulate_cuda: bool | None,
    isolation: str | None,
    fresh: bool,
    history: Path | None,
    github_job: str | None,
) -> int:
    """Run the gate: stages, merged report, verdict. Writes DIR/gate.md, one report per stage, and report.json."""
    from verifygate import report_comparison as earlier
    from verifygate.commands.github_job import GithubJob
    from verifygate.config.settings import load
    from verifygate.gate.base_policy import ruled
    from verifygate.gate.run import RunOptions
    from verifygate.merge import handed_in
    from verifygate.model import Verdict

    wanted = _wanted(formats)
    job = GithubJob(os.environ) if github_job else None
    here = load(config, Path.cwd())
    event = _event(here.root, since) if ci else None
    since = event.base if event is not None else since
    asked = ("--policy-from", policy_from) if policy_from else ("--ci" if ci else "--since", since)
    with ruled(here, config, baseline, asked, accept=accept_policy and not (ci and not since)) as policy:
        forced = {"emulate_cuda": emulate_cuda, "isolation": isolation}
        settings = policy.settings.with_execution(**{name: on for name, on in forced.items() if on is not None})
        before = handed_in(policy.baseline, str(baseline)) if policy.baseline else None
        folder = _folder(report_dir, settings.root, history)
        options = RunOptions(
            stages=() if "all" in stages else stages,
            command=_command_line(),
            since=since,
            policy=policy.origin,
            event=event,
            mutants=mutate,
            start_found=entries == "found",
            fresh=fresh,
            note=lambda text: click.echo(f"verifygate: {text}", err=True),
            guarded=(folder.absolute().parent, folder.absolute()),
        )
        report = _ended(settings, options)
    report = earlier.compared(report, before) if before is not None else report
    if history is not None:
        report = _with_history(report, history)
    report = _written(report, settings.root, folder, wanted, ignored=report_dir is None)
    if job is not None:
        job.take(report, folder.resolve() / "report.json", "".join(render(report, "summary").values()))
    if github_job == "annotated":
        click.echo("".join(render(report, "github").values()), nl=False)
    return 0 if report.verdict is Verdict.PASS or (report.advisory is not None and report.advisory.in_force) else 1


def _wanted(formats: tuple[str, ...]) -> tuple[str, ...]:
    """The formats to write. Raises UsageError for one that there is not."""
    wanted = tuple(dict.fromkeys((*formats, "json"))) if formats else ("md", "json")
    for name in wanted:
        _one_of(name, run_formats(), "--format")
    return wanted


def _folder(report_dir: Path | None, root: Path, history: Path | None) -> Path:
    """The folder of the reports. Raises UsageError, before an hour of work, where nothing could be written there."""
    from verifygate.report.write import refuse_unusable

    folder = report_dir if report_dir is not None else root / "reports" / "latest"
    refuse_unusable(folder)
    if history is not None:
        _refuse_lost(history, folder)
    return folder


def _event(root: Path, since: str) -> Event:
    """The event of the CI job. Raises UsageError where another base is named as well."""
    from verifygate.base.errors import UsageError
    from verifygate.change.ci_event import event_of

    if since:
        raise UsageError("--ci and --since both name the base", where="--ci", remedy="give one of them")
    return event_of(os.environ, root)


def _ended(settings: Settings, options: RunOptions) -> Report:
    """The report of a run; of one that somebody ends, the summary is printed."""
    from dataclasses import replace

    from verifygate.gate.run import InterruptedRunError, run
    from verifygate.report.terminal import summary

    try:
        with progress_line(logged=True) as progress:
            return run(settings, replace(options, progress=progress))
    except InterruptedRunError as ended:
        click.echo(summary(ended.report, ""))
        raise


def _with_history(report: Report, file: Path) -> Report:
    """Add the run to the history, and the last runs of that to the report."""
    from verifygate import run_history
    from verifygate.base.errors import UsageError
    from verifygate.report.terminal import summary

    try:
        past = run_history.add(file, run_history.entry_of(report))[-MOST_SHOWN:]
    except UsageError:
        click.echo(summary(report, ""), err=True)
        raise
    return report.model_copy(update={"run": report.run.model_copy(update={"history": past})})


def _written(report: Report, root: Path, folder: Path, wanted: Sequence[str], *, ignored: bool) -> Report:
    """Write the formats that are wanted and print the summary; the report, with the way from the folder to the root."""
    from verifygate.base.errors import UsageError
    from verifygate.report.terminal import summary
    from verifygate.report.write import write_reports

    links = Path(os.path.relpath(root, folder.resolve())).as_posix() + "/"
    report = report.model_copy(update={"run": report.run.model_copy(update={"links": links})})
    files: dict[str, str] = {}
    for name in wanted:
        files |= render(report, name)
    told = summary(report, path_as_typed(folder))
    try:
        write_reports(files, folder, ignored=ignored)
    except UsageError:
        click.echo(told, err=True)  # the disk may be full now: what was found is not lost with the report
        raise
    click.echo(told)
    return report


@click.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
def compare(old: Path, new: Path) -> int:
    """Compare two report.json files, or two recordings of `probe --record`.

    Reports: which findings are new, newly reached, open, fixed; exit code 1 where there are some of the first two.
    Recordings: the first operation at which the runs part, and why; exit code 1 where rounding does not explain it.
    """
    from verifygate.execution import recordings

    if recordings.is_recording(old) or recordings.is_recording(new):
        from verifygate.execution import compared_recordings

        found = compared_recordings.compare(recordings.read(old), recordings.read(new))
        click.echo("\n".join(compared_recordings.lines(found)))
        return compared_recordings.exit_code(found)
    from verifygate import report_comparison
    from verifygate.merge import handed_in

    changes = report_comparison.changes(handed_in(new), handed_in(old))
    click.echo(report_comparison.told(changes), nl=False)
    return 1 if changes.new or changes.newly_reached else 0


def _refuse_lost(history: Path, folder: Path) -> None:
    """Raises UsageError, before an hour of work, where a history cannot be read, or would go with the reports."""
    from verifygate.base.errors import UsageError
    from verifygate.run_history import read

    if history.resolve().is_relative_to(folder.resolve()):
        raise UsageError(
            "each run replaces the folder of its reports", where=str(history), remedy="name a file beside it"
        )
    read(history)


def _one_of(word: str, allowed: tuple[str, ...], option: str) -> None:
    if word not in allowed:
        raise click.BadParameter(f"'{word}' is not one of {', '.join(allowed)}", param_hint=option)


def _command_line() -> str:
    return shlex.join(["verifygate", *sys.argv[1:]])
