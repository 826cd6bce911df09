"""`make primer BASE=REV`, and what else can be done with the pinned packages."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import click

import verifygate
from primer.cache import Cache, default_folder
from primer.differential import run_primer
from primer.fixing import fix_package
from primer.fixing import markdown_of as fixes_as_markdown
from primer.index import pinned
from primer.judging import Judge
from primer.pins import Pin, read_pins
from primer.scans import Revision
from primer.summary import document_of, is_sound, markdown_of
from verifygate.base.errors import VerifygateError
from verifygate.model.json_document import text_of
from verifygate.quality.judgements import read_judgements
from verifygate.sources.git import describe, resolve
from verifygate.sources.git_export import export

ROOT = Path(verifygate.__file__).parents[1]
OUT = Path("build/primer")


@click.group()
def primer() -> None:
    """Check pinned packages of the package index with the working tree."""


def packages(command: Callable[..., int]) -> Callable[..., int]:
    """The options of a command that works on packages."""
    for option in (
        click.option("--only", multiple=True, help="Only these packages."),
        click.option("--cache", type=click.Path(path_type=Path), default=None, help="Where packages are kept."),
        click.option("--out", type=click.Path(path_type=Path), default=OUT, help="Folder for the results."),
    ):
        command = option(command)
    return command


@primer.command()
@click.option("--base", default="", help="The revision to compare with. Without one, only the working tree is checked.")
@packages
def compare(base: str, only: tuple[str, ...], cache: Path | None, out: Path) -> int:
    """Print what differs between the findings of a revision and those of the working tree.

    Exit code 1 where a scan breaks or two runs differ, or a certain critical or high finding is unjudged or false.
    """
    pins = chosen(read_pins(), only)
    judge = Judge(read_judgements())
    with tempfile.TemporaryDirectory(prefix="primer-") as name:
        head = _copied(Path(name, "head"))
        old = _exported(Path(name, "base"), base) if base else None
        results = run_primer(pins, Cache(cache or default_folder()).tree, old, head, judge, _progress)
    document = document_of(results, old, head)
    _write(out, "primer", document, markdown_of(document))
    return 0 if is_sound(document) else 1


@primer.command()
@packages
def fix(only: tuple[str, ...], cache: Path | None, out: Path) -> int:
    """Apply the safe fixes to copies of the packages: every file must parse, and a second run change nothing."""
    kept = Cache(cache or default_folder())
    results = []
    with tempfile.TemporaryDirectory(prefix="primer-") as name:
        head = _copied(Path(name, "head"))
        for pin in chosen(read_pins(), only):
            results.append(fix_package(pin, kept.tree(pin), head))
            _progress(results[-1].line)
    _write(out, "fixes", [asdict(result) for result in results], fixes_as_markdown(results))
    return 0 if all(result.sound for result in results) else 1


@primer.command()
@click.argument("package")
def pin(package: str) -> int:
    """Print the row of the list for a PACKAGE, given as NAME==VERSION."""
    name, _, version = package.partition("==")
    click.echo(pinned(name, version).row)
    return 0


def _progress(text: str) -> None:
    click.echo(text, err=True)


def _write(out: Path, name: str, document: object, text: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(text_of(document), encoding="utf-8")
    (out / f"{name}.md").write_text(text, encoding="utf-8")
    click.echo(text, nl=False)


def chosen(pins: list[Pin], only: tuple[str, ...]) -> list[Pin]:
    """The pins with these names, all where none is given. Raises UsageError."""
    unknown = sorted(set(only) - {pin.name for pin in pins})
    if unknown:
        raise click.UsageError(f"not in the list of packages: {', '.join(unknown)}")
    return [pin for pin in pins if not only or pin.name in only]


def _copied(folder: Path) -> Revision:
    """The working tree as it is now: what is edited during the run does not count."""
    shutil.copytree(ROOT / "verifygate", folder / "verifygate", ignore=shutil.ignore_patterns("__pycache__"))
    return Revision(describe(ROOT, ["verifygate"]), folder)


def _exported(folder: Path, revision: str) -> Revision:
    commit = resolve(ROOT, revision, "--base")
    export(ROOT, commit, folder)
    return Revision(commit, folder)


def main() -> int:
    """Run the command; an error of the user's is one line."""
    try:
        return int(primer.main(standalone_mode=False) or 0)
    except VerifygateError as error:
        click.echo(f"primer: {error}", err=True)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return 2


if __name__ == "__main__":
    sys.exit(main())
