"""`verifygate evidence trace`: link tests to requirements, and accept what a report shows as good evidence."""

from __future__ import annotations

from pathlib import Path

import click

from verifygate.commands.options import config_option, path_as_typed


@click.group()
def trace() -> None:
    """Mark tests with the requirements that they verify; accept what a report shows, so that later changes are seen."""


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
        raise UsageError(problem, where=path_as_typed(path), remedy="run `verifygate run` first")
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


@trace.command()
@click.argument("identifier", required=False, metavar="[ID]")
@click.argument("tests", nargs=-1, metavar="[TEST]...")
@config_option
def mark(identifier: str | None, tests: tuple[str, ...], config: Path | None) -> int:
    """Write `@pytest.mark.requirement("ID")` above tests: `trace mark AMP-03 tests/test_loop.py::test_clip`.

    Without arguments: list the requirements that ask for marked tests, and how many files name each.
    """
    from verifygate.base.errors import UsageError
    from verifygate.config.settings import load
    from verifygate.requirements import read_specification

    settings = load(config, Path.cwd())
    if not settings.requirements.spec:
        raise UsageError("there is no specification", remedy="name a YAML specification in [requirements] spec")
    specification = read_specification(settings.policy_folder, settings.requirements.spec)
    if identifier is None:
        from verifygate.requirements.unmarked import asking

        for requirement, files in asking(specification, settings.root):
            click.echo(f"{requirement.id:<10} {len(files)} marked  {requirement.title}")
        return 0
    known = [each.id for each in specification.spec.requirements]
    if identifier not in known:
        raise UsageError(f"there is no requirement `{identifier}`", where=specification.path, remedy=", ".join(known))
    if not tests:
        raise click.UsageError("name the tests to mark: path/to/test.py::test_name")
    for test in tests:
        written = _mark(test, identifier)
        click.echo(f"{test}: {'marked with' if written else 'already marked with'} {identifier}")
    return 0


def _mark(test: str, identifier: str) -> bool:
    """Mark one test in its file; whether there was anything to write."""
    from verifygate.base.errors import UsageError
    from verifygate.base.regular_files import MAX_SOURCE_BYTES, read_regular
    from verifygate.report.write import write_file
    from verifygate.requirements.mark_tests import marked

    path, *names = test.partition("[")[0].split("::")
    file = Path(path)
    if not names:
        raise UsageError("names no test", where=test, remedy="name one: path/to/test.py::test_name")
    try:
        text = read_regular(file, MAX_SOURCE_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "it is no UTF-8"
        raise UsageError(f"cannot be read: {problem}", where=path, remedy="name a file of tests") from None
    new = marked(text, names, identifier, path)
    if new != text:
        write_file(file, new)
    return new != text
