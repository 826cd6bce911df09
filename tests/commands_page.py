"""The page of all commands and options, made of the commands themselves: `docs/commands.md`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from verifygate.commands import EVIDENCE, GROUPS, cli

_HEAD = """\
# Commands

Every command that `verifygate --help` lists and, below it, its options. (`verifygate accuracy`, which it does not list,
[measures the rules](accuracy.md).) `verifygate COMMAND --help` prints the same. Most commands also take
`--config FILE` (by default the nearest `verifygate.toml` or `pyproject.toml`) and `--format`. Results are written to
stdout, everything else to stderr.

| Exit code | Meaning |
|---|---|
| 0 | PASS, or nothing found |
| 1 | BLOCK, or findings |
| 2 | wrong usage, configuration or input; or a file with AMP code could not be analysed |
| 3 | an error inside verifygate |
| 130 | interrupted |

`pytest --verifygate` [fails tests](editors.md#fail-tests-that-violate-the-protocol-pytest---verifygate) in which the
code violates the protocol.
"""
_TAIL = """\
## Earlier names

Until version 0.2 {names} also work without `evidence`, and print the new name on stderr.
"""
_MORE = {
    "contract": "precision-contract",
    "lsp": "editors",
    "run": "verdict",
    "probe": "probe",
    "compare": "reports",
    "render": "reports",
    "bench": "performance",
    "init": "config",
    "baseline": "adopting",
    "attest": "evidence",
    "claims": "evidence",
    "qualification": "evidence",
    "trace": "requirements",
    "sweep": "sweep",
}
"""Command -> the page that explains it."""
_COMMON = {"--config", "--format", "--help"}


def page() -> str:
    """The whole page: a table for each group of `verifygate --help`."""
    context = click.Context(cli, info_name="verifygate")
    parts = [_HEAD]
    for title, names in GROUPS.items():
        rows = [row for name in names for row in _rows(name, context)]
        parts.append("\n".join([f"## {title}", "", "| Command | What it does |", "|---|---|", *rows, ""]))
    earlier = ", ".join(f"`{name}`" for name in EVIDENCE)
    return "\n".join([*parts, _TAIL.format(names=earlier)])


def _rows(path: str, parent: click.Context) -> Iterator[str]:
    """A command and each of its options; of a group, what is below it."""
    command = parent.command.get_command(parent, path.rpartition(" ")[2])  # type: ignore[attr-defined]
    context = click.Context(command, info_name=path.rpartition(" ")[2], parent=parent)
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            yield from _rows(f"{path} {inner}", context)
        return
    more = next((f" [More]({_MORE[word]}.md)" for word in path.split() if word in _MORE), "")
    arguments = [piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]"]
    yield f"| **`{_cell(' '.join(['verifygate', path, *arguments]))}`** | {_cell(command.help or '')}{more} |"
    for each in command.get_params(context):
        record = each.get_help_record(context)
        if isinstance(each, click.Option) and record is not None and not _COMMON & set(each.opts):
            yield f"| `{path} {_cell(record[0])}` | {_cell(record[1])} |"


def _cell(text: str) -> str:
    words = re.sub(r"\b(INTEGER|FLOAT) RANGE\b|\bFLOAT\b", "N", text.partition("\f")[0])
    return " ".join(words.split()).replace("|", r"\|")
