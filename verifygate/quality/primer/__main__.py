"""`make primer BASE=REV`: compare the working tree's findings with those of a revision, on the pinned packages."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import click

import verifygate
from verifygate.base.errors import VerifygateError
from verifygate.model.json_document import text_of
from verifygate.quality.primer.cache import Cache, default_folder
from verifygate.quality.primer.differential import run_primer
from verifygate.quality.primer.judgements import Judge, read_judgements
from verifygate.quality.primer.pins import Pin, read_pins
from verifygate.quality.primer.scans import Revision
from verifygate.quality.primer.summary import document_of, is_sound, markdown_of
from verifygate.sources.git import describe, export, resolve

ROOT = Path(verifygate.__file__).parents[1]


@click.command()
@click.option("--base", default="", help="The revision to compare with. Without one, only the working tree is checked.")
@click.option("--only", multiple=True, help="Only these packages.")
@click.option("--cache", type=click.Path(path_type=Path), default=None, help="Where packages are kept.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/primer"), help="Folder for the results.")
def primer(base: str, only: tuple[str, ...], cache: Path | None, out: Path) -> int:
    """Check pinned packages with the working tree, and with a revision; print what differs.

    Exit code 1 where a scan breaks or two runs differ, or where a certain critical or high finding is unjudged or false.
    """
    pins = chosen(read_pins(), only)
    judge = Judge(read_judgements())
    kept = Cache(cache or default_folder())
    with tempfile.TemporaryDirectory(prefix="primer-") as name:
        head = _copied(Path(name, "head"))
        old = _exported(Path(name, "base"), base) if base else None
        results = run_primer(pins, kept.tree, old, head, judge, lambda text: click.echo(text, err=True))
    document = document_of(results, old, head)
    text = markdown_of(document)
    out.mkdir(parents=True, exist_ok=True)
    (out / "primer.json").write_text(text_of(document), encoding="utf-8")
    (out / "primer.md").write_text(text, encoding="utf-8")
    click.echo(text, nl=False)
    return 0 if is_sound(document) else 1


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
