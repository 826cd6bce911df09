"""`verifygate sweep`: the static rules over many repositories, on this machine or on a Dask cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from verifygate.commands.progress import progress_line

if TYPE_CHECKING:
    from verifygate.model.sweep_report import SweepReport

_MERGE = "merge"


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="LIST | merge SWEEP.json...")
@click.option("--against", default="", metavar="FILE", help="An earlier sweep.json: trends, and what each unit costs.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for sweep.json, sweep.md and sweep.html.")
@click.option("--workers", default=0, type=click.IntRange(0), help="Processes [one for each processor].")
@click.option("--dask", default="", metavar="ADDRESS", help="A Dask scheduler, whose workers answer instead.")
@click.option("--shard", default="", metavar="I/N", help="Only part I of N, all of about one cost.")
@click.option("--seconds", default=600.0, type=click.FloatRange(0, min_open=True), help="Time limit of a unit [600].")
@click.pass_context
def sweep(
    context: click.Context,
    words: tuple[str, ...],
    against: str,
    out: Path | None,
    workers: int,
    dask: str,
    shard: str,
    seconds: float,
) -> int:
    """Check many repositories, and write one report. No code of theirs is run.

    LIST has one unit a line: PATH[@COMMIT][#RULES]. `merge` puts the reports of shards together. Exit code 2 where
    something is not known of a unit, else 1 where one has a finding, else 0.
    """
    from verifygate.base.masking import masked_model
    from verifygate.report.sweep import FILES, markdown
    from verifygate.report.write import write_file
    from verifygate.sweep.reports import against as compared
    from verifygate.sweep.reports import exit_code, read_report

    first, *others = words
    old = read_report(Path(against), against) if against else None
    if first == _MERGE:
        report = _merged(context, others)
    elif others:
        raise click.UsageError(f"one LIST at a time: `{others[0]}` is a second one")
    else:
        report = _swept(Path(first), old, workers, dask, shard, seconds)
    if old is not None:
        report = compared(report, old)
    report = masked_model(report)
    if out is not None:
        for name, render in FILES.items():
            write_file(out / name, render(report))
    click.echo(markdown(report), nl=False)
    return exit_code(report)


def _merged(context: click.Context, files: list[str]) -> SweepReport:
    from verifygate.sweep.reports import merged, read_report

    given = [name for name in ("workers", "dask", "shard", "seconds") if _is_given(context, name)]
    if given:
        raise click.UsageError(f"`merge` sweeps nothing: --{given[0]} has no meaning there")
    if not files:
        raise click.UsageError("`merge` needs the sweep.json of each shard")
    return merged([(file, read_report(Path(file), file)) for file in files])


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT


def _swept(file: Path, old: SweepReport | None, workers: int, dask: str, shard: str, seconds: float) -> SweepReport:
    from verifygate.sweep import executors
    from verifygate.sweep.reports import costs_of, report_of
    from verifygate.sweep.schedule import Answered, answer_all, share
    from verifygate.sweep.units import read_list

    if dask and workers:
        raise click.UsageError("--workers is for this machine: a Dask scheduler has its own workers")
    units = read_list(file, file.as_posix(), seconds)
    costs = costs_of(old) if old is not None else {}
    mine = share(units, *_part(shard), costs) if shard else units
    kept = 0
    with progress_line() as progress:

        def tell(answered: Answered, number: int) -> None:
            nonlocal kept
            kept += answered.kept
            progress(f"{number} of {len(mine)} units, the last one {answered.unit.name}")

        made = executors.dask(dask) if dask else executors.local(workers)
        rows = answer_all(mine, made, costs, tell)
    click.echo(f"verifygate: {len(rows)} units, {kept} of them answered before", err=True)
    return report_of([unit.name for unit in units], rows, shard)


def _part(shard: str) -> tuple[int, int]:
    number, slash, of = shard.partition("/")
    if not (slash and number.isascii() and number.isdigit() and of.isascii() and of.isdigit()):
        raise click.UsageError(f"`{shard}` is no part: write for example `--shard 1/4`")
    return int(number), int(of)
