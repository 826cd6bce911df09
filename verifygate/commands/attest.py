"""`verifygate evidence attest`: the verdict of a report as signed statements, and whether to believe such a file."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from verifygate.commands.options import format_option, path_as_typed

if TYPE_CHECKING:
    from verifygate.attestation.acceptance import Ruling

_FULL_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@click.group()
def attest() -> None:
    """State the verdict of a report as in-toto attestations; verify such attestations."""


@attest.command()
@click.argument("stored", metavar="REPORT.json", type=click.Path(path_type=Path))
@click.option("--key", type=click.Path(path_type=Path), help="Sign with this private key: PEM, Ed25519 or ECDSA.")
@click.option("--output", type=click.Path(path_type=Path), help="The file; `NAME.intoto.jsonl` by custom.")
@click.option(
    "--predicate",
    default="all",
    type=click.Choice(("all", "test-result", "svr")),
    help="One statement of this type instead of one of each.",
)
@click.option("--url", default="", help="Address of the run, for the statement.")
@click.option(
    "--root", type=click.Path(path_type=Path), help="The project in its repository [where the report says it lies]."
)
def write(stored: Path, key: Path | None, output: Path | None, predicate: str, url: str, root: Path | None) -> int:
    """Write what a report says as in-toto statements, one a line: in DSSE envelopes with --key, else bare.

    Exit code 0: it was written, whatever the verdict in it.
    """
    from verifygate.attestation.envelope import signed
    from verifygate.attestation.policy_files import policy_files
    from verifygate.attestation.predicates import PredicateType
    from verifygate.attestation.verdict import statement, written
    from verifygate.base.errors import UsageError
    from verifygate.merge import handed_in
    from verifygate.report.write import write_file

    if url and not url.startswith(("https://", "http://")):
        raise UsageError("no address of the web", where="--url", remedy="give one with https://")
    shown = path_as_typed(stored)
    report = handed_in(stored, shown)
    secret = _read(key, "name a key file") if key is not None else b""
    digest = hashlib.sha256(_read(stored, "give a report.json")).hexdigest()
    files = policy_files(report, root if root is not None else stored.resolve().parent / report.run.links)
    kinds = tuple(PredicateType) if predicate == "all" else (PredicateType(predicate),)
    payloads = [written(statement(kind, report, digest, files, url)) for kind in kinds]
    lines = [signed(each, secret, str(key), indent=None) if key is not None else each + b"\n" for each in payloads]
    text = b"".join(lines).decode()
    if output is None:
        click.echo(text, nl=False)
    else:
        write_file(output, text)
    return 0


@attest.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--key", required=True, type=click.Path(path_type=Path), help="The public key that is trusted: PEM.")
@click.option("--commit", default="", help="The commit that it must be about: its full name, or a revision here.")
@click.option("--report", type=click.Path(path_type=Path), help="The report.json that it must be about.")
@click.option(
    "--config", "configs", multiple=True, type=click.Path(path_type=Path), help="A file that the verdict was given by."
)
@click.option("--property", "properties", multiple=True, help="A property that must be verified.")
@format_option
def verify(
    file: Path,
    key: Path,
    commit: str,
    report: Path | None,
    configs: tuple[Path, ...],
    properties: tuple[str, ...],
    fmt: str,
) -> int:
    """Say whether a file of attestations says PASS about a commit, or a report. Exit code 1 if it is refused."""
    from verifygate.attestation.acceptance import Asked, examined
    from verifygate.attestation.envelope import UnusableKeyError
    from verifygate.base.errors import UsageError

    if not commit and report is None:
        raise UsageError("a statement about what?", where="attest verify", remedy="give --commit, --report, or both")
    asked = Asked(
        public_key=_read(key, "name a public key"),
        commit=_full_name(commit) if commit else "",
        report=_sha256(report, "name a report.json") if report is not None else "",
        configuration={path_as_typed(each): _sha256(each, "name a file of the policy") for each in configs},
        properties=properties,
    )
    data = _read(file, "name a file that `verifygate evidence attest write` wrote")
    try:
        ruling = examined(data, asked)
    except UnusableKeyError as error:
        raise UsageError(str(error), where=path_as_typed(key), remedy="see `verifygate docs evidence`") from None
    click.echo(_as_json(ruling) if fmt == "json" else f"{path_as_typed(file)}: {_told(ruling, asked.commit)}")
    return 1 if ruling.refusals else 0


def _told(ruling: Ruling, commit: str) -> str:
    if ruling.refusals:
        return f"refused: {'; '.join(ruling.refusals)}"
    about = f" for commit {commit[:12]}" if commit else ""
    rest = f"; not counted: {'; '.join(ruling.ignored)}" if ruling.ignored else ""
    return f"accepted: PASS{about}, signature verified ({', '.join(ruling.accepted)}){rest}"


def _as_json(ruling: Ruling) -> str:
    document = {
        "schema_version": 1,
        "accepted": not ruling.refusals,
        "refusals": ruling.refusals,
        "predicates": ruling.accepted,
        "ignored": ruling.ignored,
    }
    return json.dumps(document, indent=1)


def _full_name(commit: str) -> str:
    """The name that a statement has for a commit; a revision is looked up in the repository here."""
    from verifygate.sources import git

    return commit if _FULL_COMMIT.fullmatch(commit) else git.resolve(Path.cwd(), commit, "--commit")


def _sha256(path: Path, remedy: str) -> str:
    return hashlib.sha256(_read(path, remedy)).hexdigest()


def _read(path: Path, remedy: str) -> bytes:
    from verifygate.base.errors import UsageError
    from verifygate.base.regular_files import read_argument
    from verifygate.base.strict_json import MAX_BYTES

    try:
        return read_argument(path, MAX_BYTES)
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise UsageError(problem, where=path_as_typed(path), remedy=remedy) from None
