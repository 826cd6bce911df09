"""`verifygate rules`, `explain`, `docs`, `schema`, and the hidden `accuracy`: what is known, and how well."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from verifygate.commands.options import format_option

if TYPE_CHECKING:
    from verifygate.security.rule import LoadedRule as LoadedSecurityRule
    from verifygate.security.rule import SecurityRule
    from verifygate.static.rule import LoadedRule, Rule


@click.command()
@click.argument("rule", required=False)
@click.option("--prove", is_flag=True, help="Run the bad and the good example on this machine and show the difference.")
@click.option("--why", metavar="FILE:LINE", help="What is known at a line: values, region, decisions, what is unknown.")
def explain(rule: str | None, prove: bool, why: str | None) -> int:
    """Explain a rule, by code (AMP201) or name (clip-before-unscale). Exit code 1 if --prove finds no difference."""
    from verifygate.base.errors import UsageError

    if why is not None:
        if rule is not None or prove:
            raise UsageError("explains a line and no rule", where="--why", remedy="give one of the two")
        return _explain_line(why)
    if rule is None:
        raise UsageError("no rule is named", remedy="give a code, as AMP201, or --why FILE:LINE")
    return _explain(rule, prove=prove)


def _explain(rule: str, *, prove: bool = False) -> int:
    """Print the page of a rule, or its proof. Raises UsageError for a name that no rule has."""
    from verifygate.security.registry import security_rules
    from verifygate.static.registry import find_rule

    for code, of_security in security_rules().items():
        if rule.lower() in (code.lower(), of_security.rule.name):
            return _explain_security(of_security, prove=prove)
    loaded = find_rule(rule)
    record = loaded.rule
    if prove:
        return _prove(loaded)
    click.echo(f"# {record.code} {record.name} ({record.severity})\n\n{loaded.docs}\n")
    return 0


def _explain_line(why: str) -> int:
    """Print what the abstract machine knows at a line. Raises UsageError."""
    from verifygate.base.errors import UsageError
    from verifygate.check.project import read_asked
    from verifygate.check.settings import Judged, judged
    from verifygate.config.locate import find
    from verifygate.config.tree_versions import versions_of_tree
    from verifygate.report.escape import LONG, plain
    from verifygate.static.machine.entries import entries_at
    from verifygate.static.machine.explained import explained, text
    from verifygate.static.machine.libraries import libraries_for
    from verifygate.static.machine.values import Place
    from verifygate.static.symbols.program import Program

    file, _, number = why.rpartition(":")
    if not file or not (number.isascii() and number.isdigit()):
        raise UsageError(f"`{why}` is no line of a file", where="--why", remedy="give FILE:LINE, as train.py:12")
    start = Path.cwd()
    config = find(start)
    found = judged(config, start, cached=True) if config is not None else Judged()
    if config is not None and (start / file).resolve() in [
        (config.parent / each.path).resolve() for each in found.written.models
    ]:
        raise UsageError(
            "is a model of `[static] models`, and no program", where=file, remedy="name a line that uses it"
        )
    asked = read_asked((file,), start, (), None, (), rooted=False)
    path = next((each.path for each in asked.sources if asked.is_asked(each.path)), None)
    if path is None:
        raise UsageError("is no Python file", where=file, remedy="give FILE:LINE, as train.py:12")
    program = Program(asked.sources, dict.fromkeys([path]))
    if program.module(path) is None:
        raise UsageError(f"cannot be parsed: {program.failures[path]}", where=file)
    place = Place(path, int(number))
    if not asked.sources.line(path, place.line):
        raise UsageError("nothing stands in this line", where=why, remedy="give a line that holds a statement")
    libraries = libraries_for(found.written.allowing(versions_of_tree(asked.sources.paths, asked.root)))
    shown = explained(program, place, entries_at(program, path, place.line), libraries)
    for line in text(shown).splitlines():
        click.echo(line[: len(line) - len(line.lstrip())] + plain(line, LONG).lstrip())
    return 0


def _explain_security(loaded: LoadedSecurityRule, *, prove: bool) -> int:
    """Print the page of a rule of the security stage. Raises UsageError if a proof is asked for."""
    from verifygate.base.errors import UsageError

    record = loaded.rule
    if prove:
        raise UsageError(f"{record.code} has no proof: what it allows is somebody else's to do", where="--prove")
    click.echo(f"# {record.code} {record.name} ({record.severity})\n\n{loaded.docs.strip()}\n")
    return 0


@click.command()
@format_option
def rules(fmt: str) -> int:
    """List the rules."""
    import json

    from verifygate.security.registry import security_rules
    from verifygate.static.registry import load_rules
    from verifygate.static.rule import Rule

    records: list[Rule | SecurityRule] = [loaded.rule for loaded in load_rules().values()]
    records += [loaded.rule for loaded in security_rules().values()]
    if fmt == "json":
        rows = [
            {
                "code": record.code,
                "name": record.name,
                "severity": record.severity.value,
                "summary": record.summary,
                "remedy": record.remedy,
                "witnesses": [each.value for each in record.witnesses] if isinstance(record, Rule) else ["static"],
                "fix": record.fix.value if isinstance(record, Rule) and record.fix else None,
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
    """Print a page of the documentation, or list the pages; of a rule, what `explain` prints."""
    from verifygate.base.errors import UsageError
    from verifygate.report.rule_pages import rule_modules

    if topic is not None and topic.upper() in rule_modules():
        return _explain(topic)
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
