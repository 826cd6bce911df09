"""The commands: they parse, call one thing, print it, and return an exit code. Each is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import click

from verifygate import __version__

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Read the code": {"check": "check", "fix": "fix", "explain": "rules", "contract": "contract", "lsp": "lsp"},
    "Run it": {"run": "run", "probe": "probe", "compare": "run", "render": "render"},
    "Measure it": {"bench": "bench"},
    "Set up": {"init": "init", "doctor": "doctor", "baseline": "baseline"},
    "Evidence for others": {"evidence": "evidence"},
    "Many repositories": {"sweep": "sweep"},
    "Look up": {"rules": "rules", "docs": "rules", "schema": "rules"},
}
"""What one wants to do -> the commands for it -> the module here that has each, under its own name."""

EVIDENCE: Mapping[str, str] = {
    "attest": "attest",
    "claims": "claims",
    "qualification": "qualification",
    "trace": "trace",
}
"""The commands of `verifygate evidence`; until 0.2 each also works without that word."""

HIDDEN: Mapping[str, str] = {"accuracy": "rules"}

MODULES = {**{name: module for group in GROUPS.values() for name, module in group.items()}, **HIDDEN}
"""Command -> its module."""


def load(name: str, module: str) -> click.Command:
    """The command, from its module."""
    command: click.Command = getattr(import_module(f"verifygate.commands.{module}"), name)
    return command


class InterruptedCommandError(BaseException):
    """Somebody ended a command; the cause says how. Of a KeyboardInterrupt click would print an empty line first."""


class Commands(click.Group):
    """The group of all commands; naming one imports its module, and no other."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise InterruptedCommandError from error

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [name for group in GROUPS.values() for name in group]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name in EVIDENCE:
            return load(cmd_name, EVIDENCE[cmd_name])
        return load(cmd_name, MODULES[cmd_name]) if cmd_name in MODULES else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As in click; whoever uses a name of an earlier version is told the present one, on stderr."""
        found = super().resolve_command(ctx, args)
        if found[0] in EVIDENCE and not ctx.resilient_parsing:
            click.echo(f"verifygate: `{found[0]}` is now `evidence {found[0]}`; the old name goes in 0.2", err=True)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """By what one wants to do; each command with the whole first sentence of its help."""
        for title, group in GROUPS.items():
            with formatter.section(title):
                rows = [(name, load(name, module).get_short_help_str(limit=1000)) for name, module in group.items()]
                formatter.write_dl(rows, col_max=10)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="verifygate", message="%(prog)s %(version)s")
def cli() -> None:
    """Audit PyTorch mixed-precision (AMP) training code: PASS or BLOCK, with evidence that anybody can re-run."""
