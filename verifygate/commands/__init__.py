"""The commands: they parse, call one thing, print it, and return an exit code. Each is loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module

import click

from verifygate import __version__

MODULES = {
    "run": "run",
    "check": "check",
    "fix": "fix",
    "probe": "probe",
    "bench": "bench",
    "trace": "trace",
    "claims": "claims",
    "baseline": "baseline",
    "compare": "run",
    "render": "render",
    "doctor": "doctor",
    "explain": "rules",
    "rules": "rules",
    "docs": "rules",
    "schema": "rules",
    "init": "init",
    "lsp": "lsp",
    "sweep": "sweep",
    "attest": "attest",
    "qualification": "qualification",
    "accuracy": "rules",
}
"""Command -> the module here that has it, under its own name."""


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
        return sorted(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in MODULES:
            return None
        command: click.Command = getattr(import_module(f"verifygate.commands.{MODULES[cmd_name]}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each command with the whole first sentence of its help: what does not fit into a line goes on in the next."""
        found = [(name, command) for name in self.list_commands(ctx) if (command := self.get_command(ctx, name))]
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(limit=1000)) for name, command in found])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="verifygate", message="%(prog)s %(version)s")
def cli() -> None:
    """Audit PyTorch mixed-precision (AMP) training code: PASS or BLOCK, with evidence that anybody can re-run."""
