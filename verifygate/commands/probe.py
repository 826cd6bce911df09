"""`verifygate probe`: witness one run of any script."""

from __future__ import annotations

import re
from pathlib import Path

import click

from verifygate.commands.progress import progress_line


@click.command(context_settings={"ignore_unknown_options": False})
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--emulate-cuda", is_flag=True, help="Run code written for CUDA on this CPU; evidence is `emulated`.")
@click.option("--capability", default="", help="Compute capability of the emulated device (default: 8.0), such as 7.5.")
@click.option("--health", is_flag=True, help="In a few steps: underflow, headroom, a scale that suits, what moves.")
@click.option("--shadow", is_flag=True, help="--health, and these steps again in float32: which module suffers.")
@click.option("--numerics", is_flag=True, help="Watch more steps for the operation at which the numbers break.")
@click.option("--compare-compile", is_flag=True, help="Compare what torch.compile makes of the model with the model.")
@click.option(
    "--record",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keep a few steps' values in this file, for `verifygate compare OLD NEW`.",
)
@click.option("--show-output", is_flag=True, help="Show on stderr what the script writes, while it runs.")
@click.option(
    "--format", "fmt", default="text", type=click.Choice(("text", "json", "html")), help="Output; html has pictures."
)
@click.option("--seconds", type=click.FloatRange(min=1), default=600.0, help="Time limit of the run (default: 600).")
def probe(
    command: tuple[str, ...],
    emulate_cuda: bool,
    capability: str,
    health: bool,
    shadow: bool,
    numerics: bool,
    compare_compile: bool,
    record: Path | None,
    show_output: bool,
    fmt: str,
    seconds: float,
) -> int:
    """Record one run of any script, unmodified: `verifygate probe -- python train.py --lr 0.1`.

    Exit code 0: steps were recorded and broke no rule. 1: violations, or a loss scale
    that finds no level. 2: bad input, the script failed, or NOT MEASURED.
    """
    from verifygate.base.masking import masked_model
    from verifygate.execution import probe_text
    from verifygate.execution.probe import Look, parsed
    from verifygate.execution.probe import probe as witness

    if capability and not (emulate_cuda and re.fullmatch(r"[1-9]\d?\.\d", capability)):
        raise click.UsageError("--capability goes with --emulate-cuda, and is two numbers: 7.5")
    if record is not None and not record.absolute().parent.is_dir():
        raise click.UsageError(f"--record: there is no folder {record.parent}")
    major, minor = (capability or "8.0").split(".")
    parts = parsed(command)
    with progress_line(quiet=show_output) as progress:
        progress(f"running {' '.join(parts.script)}")
        report = witness(
            parts,
            command,
            folder=Path.cwd(),
            seconds=seconds,
            capability=(int(major), int(minor)) if emulate_cuda else None,
            look=Look(health, shadow, numerics, compare_compile, record),
            tell=_shown if show_output else None,
        )
    report = masked_model(report)
    if fmt == "json":
        click.echo(report.model_dump_json(indent=1))
    elif fmt == "html":
        from verifygate.report.probe import page

        click.echo(page(report, probe_text.text(report)))
    else:
        click.echo(probe_text.text(report))
    return report.exit_code


def _shown(line: str) -> None:
    """Show a line of the script's: the bar keeps a CI service from taking it for a command."""
    from verifygate.base.masking import masked
    from verifygate.report.escape import LONG, lines

    click.echo(f"| {lines(masked(line), LONG)}", err=True)
