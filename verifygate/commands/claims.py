"""`verifygate evidence claims`: what prose reports say, put to the test."""

from __future__ import annotations

from pathlib import Path

import click

from verifygate.commands.progress import progress_line
from verifygate.report.formats import claims_formats, render_claims


@click.command()
@click.argument("reports", nargs=-1, required=True, metavar="FILE...", type=str)
@click.option("--root", type=click.Path(path_type=Path), help="The source tree that the reports are about.")
@click.option("--format", "fmt", default="text", type=click.Choice(claims_formats()), help="Output format.")
@click.option("--run-tests", is_flag=True, help="Run the tests that the reports count; this runs the tree's code.")
def claims(reports: tuple[str, ...], root: Path | None, fmt: str, run_tests: bool) -> int:
    """Audit prose reports: what can be tested in them is CONFIRMED, REFUTED or INCONCLUSIVE.

    Exit code 0 only where there are claims and all of them are CONFIRMED; 1 where one is not.
    """
    from verifygate.claims import audit
    from verifygate.model.claims import ClaimVerdict

    with progress_line() as progress:
        progress("reading the reports")
        found = audit(reports, root, run_tests=run_tests)
    click.echo(render_claims(found, fmt), nl=False)
    settled = all(claim.verdict is ClaimVerdict.CONFIRMED for claim in found.claims)
    return 0 if found.claims and settled else 1
