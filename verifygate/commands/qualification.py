"""`verifygate evidence qualification`: what a team needs to qualify this version of the tool for its use."""

from __future__ import annotations

import hashlib
from pathlib import Path

import click

from verifygate.commands.options import path_as_typed, split_words
from verifygate.commands.progress import progress_line


@click.command()
@click.option("--output", required=True, type=click.Path(path_type=Path), help="Folder for the kit.")
@click.option("--run", "runs", is_flag=True, help="Run the cases of the rules on this installation; takes minutes.")
@click.option("--prove", "proves", is_flag=True, help="Run the proofs of the rules; needs torch.")
@click.option("--rule", "rules", multiple=True, callback=split_words, help="Only these rules; the kit says so.")
@click.option("--labels", type=click.Path(path_type=Path), help="Labelled faults, to count the accuracy on them.")
@click.option("--checkouts", type=click.Path(path_type=Path), help="The checkouts that the labels are about.")
def qualification(
    output: Path,
    runs: bool,
    proves: bool,
    rules: tuple[str, ...],
    labels: Path | None,
    checkouts: Path | None,
) -> int:
    """Write the qualification kit of this installation. It is no certificate.

    Exit code 1 where a file was altered, or something that was run is not as it should be.
    """
    from verifygate.base.counts import counted
    from verifygate.base.errors import UsageError
    from verifygate.quality.qualification.kit import kit_of, known_codes
    from verifygate.quality.qualification.pages import FILES, files
    from verifygate.report.write import write_file

    if (labels is None) != (checkouts is None):
        raise UsageError("--labels and --checkouts belong together", where="qualification", remedy="give both")
    for code in rules:
        if code not in known_codes():
            raise UsageError(f"no rule `{code}`", where="--rule", remedy="`verifygate rules` lists their codes")
    if output.is_dir() and (foreign := sorted({each.name for each in output.iterdir()} - set(FILES))):
        problem = f"`{foreign[0]}` in it is no file of a kit"
        raise UsageError(problem, where=path_as_typed(output), remedy="name a new folder, or an empty one")
    digest, judged, absent = "", None, 0
    if labels is not None and checkouts is not None:
        from verifygate.base.regular_files import MAX_SOURCE_BYTES, read_argument
        from verifygate.quality.accuracy import judge, read_cases

        judged, lacking = judge(read_cases(labels), checkouts)
        digest, absent = hashlib.sha256(read_argument(labels, MAX_SOURCE_BYTES)).hexdigest(), len(lacking)
    with progress_line() as progress:
        kit = kit_of(rules, runs=runs, proves=proves, labels=digest, labelled=judged, absent=absent, progress=progress)
    for name, text in files(kit).items():
        write_file(output / name, text)
    for each in kit.failures:
        click.echo(each)
    click.echo(f"{path_as_typed(output)}: {counted(len(kit.rules), 'rule')}, {len(kit.failures)} not as it should be")
    return 1 if kit.failures else 0
