"""`verifygate rules`, `explain`, `docs`, `schema`, and the hidden `accuracy`: what is known, and how well."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from verifygate.commands.options import format_option

if TYPE_CHECKING:
    from verifygate.static.rule import LoadedRule


@click.command()
@click.argument("rule")
@click.option("--prove", is_flag=True, help="Run the bad and the good example on this machine and show the difference.")
def explain(rule: str, prove: bool) -> int:
    """Explain a rule, by code (AMP201) or name (clip-before-unscale). Exit code 1 if --prove finds no difference."""
    from verifygate.static.registry import find_rule

    loaded = find_rule(rule)
    record = loaded.rule
    if prove:
        return _prove(loaded)
    click.echo(f"# {record.code} {record.name} ({record.severity})\n\n{loaded.docs}\n")
    return 0


@click.command()
@format_option
def rules(fmt: str) -> int:
    """List the rules."""
    import json

    from verifygate.static.registry import load_rules

    records = [loaded.rule for loaded in load_rules().values()]
    if fmt == "json":
        rows = [
            {
                "code": record.code,
                "name": record.name,
                "severity": record.severity.value,
                "summary": record.summary,
                "remedy": record.remedy,
                "witnesses": [witness.value for witness in record.witnesses],
                "fix": record.fix.value if record.fix else None,
            }
            for record in records
        ]
        click.echo(json.dumps({"schema_version": 1, "rules": rows}, indent=1))
    else:
        for record in records:
            click.echo(f"{record.code:<8} {record.name:<28} {record.severity.value:<9} {record.summary}")
    return 0


@click.command()
@click.argument("topic", required=False)
def docs(topic: str | None) -> int:
    """Print a page of the documentation, or list the pages."""
    from verifygate.base.errors import UsageError

    pages = {page.stem: page for page in sorted((Path(__file__).parent.parent / "docs").rglob("*.md"))}
    if topic is None:
        click.echo("\n".join(pages))
        return 0
    if topic not in pages:
        raise UsageError(f"no page `{topic}`", remedy=f"there are: {', '.join(pages)}")
    click.echo(pages[topic].read_text(encoding="utf-8"))
    return 0


@click.command()
@click.argument("name", default="config")
def schema(name: str) -> int:
    """Print a JSON schema: of the configuration (default), or of what is written: report, check, matrix, ..."""
    from verifygate.base.errors import UsageError

    ending = ".schema.json"
    folder = Path(__file__).parent.parent / "docs" / "schemas"
    found = {file.name.removesuffix(ending): file for file in sorted(folder.glob(f"*{ending}"))}
    if name not in found:
        raise UsageError(f"no schema `{name}`", remedy=f"there are: {', '.join(found)}")
    click.echo(found[name].read_text(encoding="utf-8"), nl=False)
    return 0


@click.command(hidden=True)
@click.option("--cases", required=True, type=click.Path(path_type=Path), help="Labels: a JSON list of rows.")
@click.option(
    "--checkouts", required=True, type=click.Path(path_type=Path), help="Folder of checkouts or git repositories."
)
def accuracy(cases: Path, checkouts: Path) -> int:
    """Measure the static rules on labelled code: recall on bugs, false alarms on clean and on fixed code."""
    from verifygate.quality.accuracy import judge, read_cases, table

    judged, absent = judge(read_cases(cases), checkouts)
    click.echo(table(judged, absent), nl=False)
    return 0 if judged and not absent else 2


def _prove(loaded: LoadedRule) -> int:
    """Print the proof of one rule; 2 where the rule has none, with the reason."""
    from verifygate import proof
    from verifygate.base.errors import UsageError
    from verifygate.config.settings import load
    from verifygate.process.interpreter import interpreter_of

    record, sections = loaded.rule, loaded.sections
    if not record.proof:
        raise UsageError(f"{record.code} has no proof by a run on a CPU", remedy=record.no_proof or None)
    claim = proof.claim_from(record.code, record.name, record.proof, sections["Example"], sections["Use instead"])
    (shown,) = proof.prove([claim], interpreter_of(load(None, Path.cwd())))
    click.echo(proof.table(shown))
    return 0 if shown.proved else 1
