"""`verifygate baseline`: the committed file of old findings that are left for later."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from verifygate.commands.options import config_option

if TYPE_CHECKING:
    from verifygate.config.settings import Settings
    from verifygate.gate.baseline_upkeep import Upkeep

report_option = click.option(
    "--from", "report", type=click.Path(path_type=Path), help="A report.json of this tree: what its runs showed, too."
)


@click.group()
def baseline() -> None:
    """Old findings in a committed file: `check` and `run` count what it holds, and nothing of it blocks."""


@baseline.command()
@config_option
@report_option
def write(config: Path | None, report: Path | None) -> int:
    """Write the present findings; the file is that of `[verdict] baseline`."""
    from verifygate.baseline_file import text_of

    settings, kept = _opened(config, report)
    before, now = set(kept.before), set(kept.written)
    _write(settings, kept, text_of(kept.written))
    click.echo(f"{kept.file}: {_counted(len(now))}; {len(now - before)} added, {len(before - now)} gone")
    _unlooked(kept)
    if not settings.verdict.baseline:
        click.echo(f'It counts once the configuration names it: `baseline = "{kept.file}"` in [verdict].')
    return 0


@baseline.command()
@config_option
@report_option
def prune(config: Path | None, report: Path | None) -> int:
    """Take out the entries of findings that are gone. Adds nothing."""
    from verifygate.baseline_file import text_of

    settings, kept = _opened(config, report, must_exist=True)
    if kept.pruned != kept.before:
        _write(settings, kept, text_of(kept.pruned))
    click.echo(f"{kept.file}: {_counted(len(kept.pruned))}; {len(kept.stale)} gone")
    _unlooked(kept)
    return 0


@baseline.command()
@config_option
@report_option
def check(config: Path | None, report: Path | None) -> int:
    """Exit code 1 where an entry is stale: its finding is gone, and another one could hide behind it."""
    _, kept = _opened(config, report, must_exist=True)
    for each in kept.stale:
        click.echo(f"stale: {each.words}")
    remedy = "; `verifygate baseline prune` takes them out" if kept.stale else ""
    click.echo(f"{kept.file}: {_counted(len(kept.before))}; {len(kept.stale)} stale{remedy}")
    _unlooked(kept)
    return 1 if kept.stale else 0


def _opened(config: Path | None, report: Path | None, *, must_exist: bool = False) -> tuple[Settings, Upkeep]:
    from verifygate.baseline_file import DEFAULT, read
    from verifygate.config.settings import load
    from verifygate.gate.baseline_upkeep import looked_up
    from verifygate.merge import handed_in

    settings = load(config, Path.cwd())
    file = settings.verdict.baseline or DEFAULT
    if must_exist:
        read(settings.root / file, file)
    return settings, looked_up(settings, handed_in(report) if report is not None else None)


def _write(settings: Settings, kept: Upkeep, text: str) -> None:
    from verifygate.base.errors import UsageError
    from verifygate.gate.baseline_upkeep import write as write_whole

    try:
        write_whole(settings.root / kept.file, text)
    except OSError as error:
        raise UsageError(
            f"cannot be written: {error.strerror}", where=kept.file, remedy="name a file in a folder that is there"
        ) from None


def _counted(number: int) -> str:
    from verifygate.base.counts import counted

    return counted(number, "entry", "entries")


def _unlooked(kept: Upkeep) -> None:
    if kept.unknown:
        click.echo(f"{_counted(len(kept.unknown))} not looked for: only a run shows them, or their file is unreadable")
