"""`verifygate check`, as click reads and documents its arguments; plain ones are read without it."""

from __future__ import annotations

from pathlib import Path

import click

from verifygate.check.options import CheckOptions, paired
from verifygate.check.run import run_check
from verifygate.commands.options import config_option, split_words
from verifygate.report.formats import check_formats

_ORDER = "verifygate.commands.check.order"


class _InOrder(click.Command):
    """A command that knows in which order its options were given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        ctx.meta[_ORDER] = [parameter.name for parameter in order]
        return super().parse_args(ctx, args)


@click.command(cls=_InOrder)
@click.argument("paths", nargs=-1, type=str)
@click.option(
    "--format", "formats", multiple=True, type=click.Choice(check_formats()), help="Output format; repeatable [text]."
)
@click.option("--output", "files", multiple=True, help="Write the format named just before it to this file.")
@click.option("--select", multiple=True, callback=split_words, help="Only these rules or families: AMP2,KEY101.")
@click.option("--ignore", multiple=True, callback=split_words, help="Not these rules or families.")
@click.option("--since", default="", help="Only what is new since this tree left that git revision.")
@click.option("--fail-on", default="", metavar="SEVERITY[,certain]", help="What ends with exit code 1 [low].")
@click.option("--exit-zero", is_flag=True, help="Exit code 0 whatever is found.")
@click.option("--stdin-filename", default="", help="The file whose text is on standard input, where PATHS is `-`.")
@config_option
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache of earlier answers.")
@click.option("--timings", "timed", is_flag=True, help="Print the CPU time by part and by rule on stderr.")
@click.option("--jobs", type=click.IntRange(min=0), default=0, help="Processes at most [0: by cores, where it pays].")
@click.option("--abstract-run", is_flag=True, help="Also run programs on the abstract machine, as `run` does; slower.")
@click.pass_context
def check(
    context: click.Context,
    paths: tuple[str, ...],
    formats: tuple[str, ...],
    files: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    since: str,
    fail_on: str,
    exit_zero: bool,
    stdin_filename: str,
    config: Path | None,
    no_cache: bool,
    timed: bool,
    jobs: int,
    abstract_run: bool,
) -> int:
    """Check sources statically: no configuration, no torch, no code run. PATHS are files and folders (default: .).

    Of a file, the project around it is read as well, and what concerns the file is reported.
    """
    values = {"formats": iter(formats), "files": iter(files)}
    options = {"formats": "--format", "files": "--output"}
    given = [(options[name], next(values[name])) for name in context.meta[_ORDER] if name in values]
    return run_check(
        CheckOptions(
            paths,
            paired(given),
            select,
            ignore,
            config,
            cached=not no_cache,
            timed=timed,
            since=since,
            fail_on=fail_on,
            exit_zero=exit_zero,
            stdin_filename=stdin_filename,
            jobs=jobs,
            abstract_run=abstract_run,
        )
    )
