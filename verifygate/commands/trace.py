"""`verifygate trace`: say that what a report shows is good evidence, so that later changes to it are seen."""

from __future__ import annotations

from pathlib import Path

import click

from verifygate.commands.options import config_option, path_as_typed


@click.group()
def trace() -> None:
    """Accept what a report shows as the evidence of its requirements, so that later changes are seen as suspect."""


@trace.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option(
    "--report", type=click.Path(path_type=Path), help="The report.json (default: reports/latest/report.json)."
)
@config_option
def accept(ids: tuple[str, ...], report: Path | None, config: Path | None) -> int:
    """Write the lock beside the specification: the words, code and tests of these requirements are as they should be.

    Without ids, all requirements that the report proves are accepted. Commit the lock: reviewers see it in the diff.
    """
    from verifygate.base.errors import UsageError
    from verifygate.config.settings import load
    from verifygate.merge import handed_in
    from verifygate.model import RequirementsDetails
    from verifygate.requirements import lock as locks

    settings = load(config, Path.cwd())
    spec = settings.requirements.spec
    if not spec:
        raise UsageError("there is no specification", remedy="name a YAML specification in [requirements] spec")
    path = report if report is not None else settings.root / "reports" / "latest" / "report.json"
    read = handed_in(path)
    details = next((s.details for s in read.stages if isinstance(s.details, RequirementsDetails)), None)
    if details is None or details.spec != spec:
        problem = f"it traces {f'`{details.spec}`' if details else 'no specification'}, not `{spec}`"
        raise UsageError(problem, where=path_as_typed(path), remedy="run `verifygate run --stage all` first")
    rows = {row.id: row for row in details.requirements}
    before = locks.read_lock(settings.root, spec)
    after, done, gone = locks.accept(before, rows, ids, read.provenance.commit)
    target = settings.root / locks.lock_path(spec)
    target.write_text(locks.written(after), encoding="utf-8", newline="\n")
    for identifier in done:
        entry, earlier = after.requirements[identifier], before.requirements.get(identifier) if before else None
        state = "as before" if entry == earlier else "accepted"
        click.echo(f"{identifier}: {state} ({len(entry.code)} code, {len(entry.tests)} tests, at {entry.at[:12]})")
    for identifier in gone:
        click.echo(f"{identifier}: dropped, the specification no longer has it")
    for row in rows.values():
        if row.id not in done and not ids:
            click.echo(f"verifygate: not accepted: {row.id} is {row.status}: there is no evidence to accept", err=True)
    click.echo(f"Wrote {path_as_typed(target)}; commit it, and run the gate again")
    return 0
