"""`verifygate evidence`: the commands for who has to show others what was verified."""

from __future__ import annotations

import click

from verifygate.commands import EVIDENCE, load


class _Evidence(click.Group):
    """Naming a command imports its module, and no other."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(EVIDENCE)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        return load(cmd_name, EVIDENCE[cmd_name]) if cmd_name in EVIDENCE else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Each command with the whole first sentence of its help."""
        with formatter.section("Commands"):
            found = [(name, load(name, module)) for name, module in EVIDENCE.items()]
            formatter.write_dl([(name, command.get_short_help_str(limit=1000)) for name, command in found])


@click.group(cls=_Evidence)
def evidence() -> None:
    """Show others what was verified: attest a verdict, audit prose reports, qualify the tool, trace requirements."""
