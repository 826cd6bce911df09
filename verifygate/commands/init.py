"""`verifygate init`: write a configuration with what can be discovered, and the rest as comments to fill in."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from verifygate.commands.progress import progress_line
from verifygate.config.locate import CONFIG_NAME, find
from verifygate.report.escape import LONG, plain

if TYPE_CHECKING:
    from verifygate.commands.discovery import Found
    from verifygate.model.program import Program

SPEC_NAME = "requirements.yaml"

SCHEMA = ".verifygate/config.schema.json"
"""Where the schema lies in a project, for editors. No web address can be named: it belongs to the installed version."""
_TEMPLATE = """\
#:schema {schema}
# Configuration of verifygate; `verifygate docs config` explains every key.
[project]
name = {name}
sources = ["."]  # everything below this folder, so that new files are included
exclude = []

[execution]
{tests}
# required = ["tests/test_train.py"]  # tests that must run and pass; a skipped one is NOT MEASURED

{entries}
{requirements}
# [performance]
# workload = "package.module:build"  # build(precision, seed, device) -> an object with step() and evaluate()
# [performance.targets]
# speedup = 1.5
# memory_reduction = 0.4
# accuracy_difference = 0.01
"""
_SPEC = """\
# What the training program must do: `verifygate docs {catalogue}` lists it, `verifygate docs requirements` explains it.
title: {title}
extends: {catalogue}
# Everything is traced and shown, and nothing blocks. Take this line out when
# `verifygate evidence trace mark` has linked the tests.
advisory: true
"""


@click.command()
@click.option("--force", is_flag=True, help="Overwrite an existing configuration.")
@click.option(
    "--run/--no-run",
    "start",
    default=None,
    help="Start programs even where the machine cannot keep them apart; or none: then all are comments.",
)
@click.option(
    "--ci", "service", type=click.Choice(("github", "gitlab")), help="Also write the gate as a job, in new files only."
)
def init(force: bool, start: bool | None, service: str | None) -> int:
    """Write a verifygate.toml for the project in this folder, with what can be discovered, and say what that is.

    Programs that train are started for a few steps, in a copy, without a network and kept apart from the machine: what
    ran is written as an entry, the rest as comments.
    """
    from verifygate.base.errors import UsageError
    from verifygate.commands.discovery import discovered

    folder = Path.cwd()
    path = folder / CONFIG_NAME
    if service is not None:
        _write_job(service)
        if path.exists() and not force:
            click.echo(f"Kept {CONFIG_NAME}")
            return 0
    if path.exists() and not force:
        raise UsageError("the file already exists", where=CONFIG_NAME, remedy="edit it, or replace it with --force")
    found = discovered(folder)
    found = replace(found, programs=_tried(found.programs, folder, start))
    spec = folder / SPEC_NAME
    with_spec = bool(found.catalogue) and not spec.exists()  # one of this name may be anything: it stays as it is
    try:
        _write_schema(folder / SCHEMA)
        path.write_text(starter(folder, found, spec=SPEC_NAME if with_spec else ""), encoding="utf-8")
        if with_spec:
            spec.write_text(_SPEC.format(title=_quoted(folder), catalogue=found.catalogue), encoding="utf-8")
    except OSError as error:
        problem = f"cannot be written: {error.strerror}"
        raise UsageError(problem, where=CONFIG_NAME, remedy="run it in a folder that you can write to") from None
    if not (folder / ".git").exists() and (above := find(folder.parent)) is not None:
        click.echo(f"Found a configuration above: {above}; in this folder, the new one is in force instead of it")
    for line in told(found):
        click.echo(line)
    files = f"{CONFIG_NAME} and {SPEC_NAME}" if with_spec else CONFIG_NAME
    click.echo(f"Wrote {files}; next: verifygate doctor, then verifygate run")
    return 0


def _tried(programs: tuple[Program, ...], folder: Path, start: bool | None) -> tuple[Program, ...]:
    """The programs that were found, with what a run of each for a few steps showed."""
    import datetime as dt

    from verifygate.config.settings import Settings
    from verifygate.programs.trial import tried, untried

    if start is False:
        return untried(programs)
    with progress_line() as progress:
        progress("starting the programs that were found, for a few steps each")
        settings = Settings(root=folder.resolve(), today=dt.datetime.now(dt.UTC).date())
        return tried(programs, settings.with_execution(isolation="auto" if start else "required"))


def _write_job(service: str) -> None:
    """The files of a CI service; each is named, and so is what is left to do."""
    from verifygate.commands.ci_files import own_source, written

    names, left = written(service, Path.cwd())
    for name in names:
        click.echo(f"Wrote {name}")
    click.echo(f"Next: {left}")
    click.echo(f"The job: {own_source().words}")


def starter(folder: Path, found: Found, spec: str = "") -> str:
    """The text of a configuration for the project in `folder`, with the specification `spec` where one is named."""
    return _TEMPLATE.format(
        schema=SCHEMA,
        name=_quoted(folder),
        tests=f"pytest = [{', '.join(map(json.dumps, found.tests))}]  # arguments for pytest"
        if found.tests
        else _NO_TESTS,
        entries=_entries(found),
        requirements=_requirements(spec, of_contract=bool(found.configurations)),
    )


def told(found: Found) -> list[str]:
    """What was found, in a line each."""
    return [
        f"Found tests: {', '.join(found.tests) or 'none'}",
        *_programs_told(found),
        f"Found torch: {found.torch or 'any version: no file of the project says which'}",
        f"Found AMP: {_amp(found)}",
    ]


def _amp(found: Found) -> str:
    if not found.configurations:
        return _KINDS[found.catalogue]
    named, more = found.configurations[:_MOST_NAMED], len(found.configurations) - _MOST_NAMED
    return f"in configurations that train: {', '.join(named)}{f' and {more} more' if more > 0 else ''}"


def _programs_told(found: Found) -> list[str]:
    """Each command, and what became of it in the configuration; without one, the functions that it might call."""
    if not found.programs:
        functions = f"; functions that train: {', '.join(found.functions)}" if found.functions else ""
        return [f"Found programs that train: none{functions}"]
    return [
        f"Found a program that trains: {each.command}"
        + (f" (as a comment: {_lacks(each)})" if each.obstacles else f" (in `{each.setting}`)")
        for each in found.programs
    ]


_MOST_NAMED = 3
_NO_TESTS = """\
# pytest = ["tests"]  # arguments for pytest; none were found
# tests = false  # says that there are none: then no file counts as one, whatever it is called"""
_KINDS = {
    "amp-core": "in the project's own loop",
    "amp-delegated": "delegated to a framework",
    "": "none: is this the folder of the sources that train?",
}


_ORACLES = "[execution.oracles]  # training that is run again: with other loss scales, with inf in its gradients"
_EXAMPLE = f"""\
# {_ORACLES}
# entries = ["python train.py"]  # or `emulated_entries`, for what needs CUDA; add what makes it short: `--steps 20`
"""
_KEYS = {
    "entries": "commands that train",
    "emulated_entries": "commands that train; where CUDA is missing, it is emulated",
}


def _entries(found: Found) -> str:
    """The programs that train. What cannot run as it stands is a comment that says why; so is all, where none can."""
    if not found.programs:
        return _EXAMPLE
    runs = any(program.runs for program in found.programs)
    lines = [_ORACLES]
    for key, what in _KEYS.items():
        under = [program for program in found.programs if program.setting == key]
        if under:
            lines += [f"{key} = [  # {what}", *(_entry(program, as_comment=runs) for program in under), "]"]
    return "".join(f"{line if runs else f'# {line}'}\n" for line in lines)


def _entry(program: Program, *, as_comment: bool) -> str:
    """One command, and why it is a comment, for itself or with all the others: somebody gives it what it lacks."""
    quoted = json.dumps(program.command, ensure_ascii=False)
    if program.runs:
        return f"    {quoted},"
    return f"    {'# ' if as_comment else ''}{quoted},  # {_lacks(program)}"


def _lacks(program: Program) -> str:
    """Why a program is a comment. It may be what the program itself said as it died, so nothing invisible is in it."""
    return plain("; ".join(program.obstacles), LONG)


def _requirements(spec: str, *, of_contract: bool) -> str:
    if of_contract:
        return (
            "# [requirements]  # cells of the precision contract that a change must keep\n"
            '# spec = "requirements.yaml"  # a `title`, and `precision`: `verifygate docs precision-contract`\n'
        )
    if spec:
        return f'[requirements]  # what the code must do, traced to evidence\nspec = "{spec}"\n'
    return (
        "# [requirements]  # what the code must do, traced to evidence; see `verifygate docs requirements`\n"
        '# spec = "requirements.yaml"  # to start with, two lines: a `title`, and `extends: amp-core`\n'
    )


def _quoted(folder: Path) -> str:
    """The folder's name, as TOML and YAML read it."""
    return json.dumps(folder.resolve().name.encode("utf-8", "replace").decode())


def _write_schema(path: Path) -> None:
    """Put the schema of the configuration where the configuration's first line says that it is."""
    import verifygate
    from verifygate.report.write import EVERYTHING, IGNORE

    path.parent.mkdir(exist_ok=True)
    shipped = Path(verifygate.__file__).parent / "docs" / "schemas" / path.name
    path.write_bytes(shipped.read_bytes())
    (path.parent / IGNORE).write_text(EVERYTHING, encoding="utf-8")  # it belongs to what is installed here
