"""`verifygate bench`: measure, write down what was measured, and judge what was written down."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from verifygate.commands.options import config_option, format_option
from verifygate.commands.progress import progress_line

if TYPE_CHECKING:
    from verifygate.config.settings import Settings
    from verifygate.model import StageResult
    from verifygate.performance.attestation.making import Measured
    from verifygate.process.subject import Subject

T = TypeVar("T")
RECORDS = "reports/records"


@click.group()
def bench() -> None:
    """Measure AMP against FP32 on this machine's device; write records; verify records."""


@bench.command("run")
@click.option(
    "--against", default="", help="A git revision, measured in the same run; or a record to compare the ratios with."
)
@click.option(
    "--benchmark-json",
    type=click.Path(path_type=Path),
    help="Also write the samples in pytest-benchmark's format.",
)
@config_option
@format_option
def bench_run(against: str, benchmark_json: Path | None, config: Path | None, fmt: str) -> int:
    """Measure, and judge by targets or against an earlier revision. Exit code 1 if one is missed or not measured."""
    settings = _settings(config)
    if not against:
        measured = _measured(settings)
        code = _shown(settings, measured, fmt)  # first: what was measured is not lost with a file
        if benchmark_json is not None:
            _write_benchmarks(benchmark_json, measured)
        return code
    if Path(against).is_file():
        return _against_record(settings, against, fmt)
    return _against_revision(settings, against, fmt)


def _write_benchmarks(path: Path, measured: Measured) -> None:
    from verifygate.base.errors import UsageError
    from verifygate.base.masking import masked
    from verifygate.performance.benchmark_json import written

    try:
        path.write_text(masked(written(measured.comparison, measured.ended.isoformat())), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(path), remedy="give another path") from None


def _against_revision(settings: Settings, against: str, fmt: str) -> int:
    from verifygate.performance.regression import measured_against, told
    from verifygate.sources import git

    commit = git.resolve(settings.root, against, "--against")
    measured = _there(settings, measured_against, _subject(settings), settings, commit)
    return _printed(told(measured, settings.performance), fmt)


def _against_record(settings: Settings, against: str, fmt: str) -> int:
    from verifygate.base.errors import UsageError
    from verifygate.performance import summarised
    from verifygate.performance.against_record import compared
    from verifygate.performance.attestation.acceptance import sound

    then = sound(Path(against))
    now = _measured(settings).comparison
    if now.plan != then.plan:
        raise UsageError("it was measured with other settings", where=against, remedy="name a record of these settings")
    result = summarised(now, settings.performance)
    answers = compared(now, then, against, settings.performance)
    update = {
        "checks": (*result.checks, *(answer.check for answer in answers)),
        "measurements": (*(each for answer in answers for each in answer.measurements), *result.measurements),
    }
    return _printed(result.model_copy(update=update), fmt)


@bench.command("record")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The record (default: reports/records/DEVICE.json)."
)
@click.option("--key", type=click.Path(path_type=Path), help="Sign with this private key: PEM, Ed25519 or ECDSA.")
@config_option
@format_option
def bench_record(output: Path | None, key: Path | None, config: Path | None, fmt: str) -> int:
    """Measure, and write a record that a machine without the device can judge. Exit codes as for `bench run`."""
    from verifygate.attestation.envelope import signed
    from verifygate.base.errors import UsageError
    from verifygate.base.regular_files import MAX_KEY_BYTES, read_argument
    from verifygate.performance.attestation.making import file_name, record_of
    from verifygate.performance.attestation.statement import written

    settings = _settings(config)
    secret = b""
    if key is not None:
        try:
            secret = read_argument(key, MAX_KEY_BYTES)
        except OSError as error:
            raise UsageError(f"cannot be read: {error.strerror}", where=str(key), remedy="name a key file") from None
        signed(b"", secret, str(key))  # a key that is no good is better known before the measurement than after it
    measured = _measured(settings)
    code = _shown(settings, measured, fmt)
    if not measured.complete:
        click.echo("verifygate: no record: there is nothing in it that could be judged", err=True)
        return 1
    data = written(record_of(measured))
    path = output if output is not None else settings.root / RECORDS / file_name(measured)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(signed(data, secret, str(key)) if key is not None else data)
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(path), remedy="give another path") from None
    click.echo(f"verifygate: record: {path}", err=True)
    return code


@bench.command("verify")
@click.argument("record", type=click.Path(path_type=Path))
@click.option("--since", default="", help="A git revision: newer records and keys are not trusted.")
@config_option
@format_option
def bench_verify(record: Path, since: str, config: Path | None, fmt: str) -> int:
    """Say whether a record is valid for the files in this checkout, and why not. Exit code 1 if it is refused."""
    import json

    from verifygate.base.errors import UsageError
    from verifygate.base.masking import masked
    from verifygate.performance import summarised
    from verifygate.performance.attestation.acceptance import examined, terms
    from verifygate.performance.measuring import planned
    from verifygate.report.bench import text
    from verifygate.sources import git

    settings = _settings(config)
    path = record.resolve()
    if not path.is_file():
        raise UsageError("no such file", where=str(record), remedy="name a record of `verifygate bench record`")
    if not path.is_relative_to(settings.root):
        raise UsageError("is outside the project's root", where=str(record), remedy="copy the record into the project")
    base = git.merge_base(settings.root, since) if since else ""
    asked = terms(settings, planned(settings.performance), base, dt.datetime.now(dt.UTC))
    ruling = examined(path.relative_to(settings.root).as_posix(), asked)
    if ruling.unreadable:
        raise UsageError(ruling.refusals[0], where=str(record), remedy="name a record of `verifygate bench record`")
    if fmt == "json":
        document = {
            "schema_version": 1,
            "record": ruling.path,
            "accepted": ruling.accepted,
            "refusals": ruling.refusals,
            "changed": ruling.changed,
            "forged": ruling.forged,
            "signed": ruling.signed,
        }
        click.echo(masked(json.dumps(document, indent=1)))
    else:
        if ruling.accepted and ruling.comparison is not None:
            click.echo(masked(text(summarised(ruling.comparison, settings.performance))), nl=False)
        click.echo(masked(f"{ruling.path}: {ruling.told}"))
    return 0 if ruling.accepted else 1


def _settings(config: Path | None) -> Settings:
    from verifygate.base.errors import UsageError
    from verifygate.config.settings import load
    from verifygate.performance.intervals import missing_library
    from verifygate.performance.stage import HOW

    if missing := missing_library():
        raise UsageError(missing)
    settings = load(config, Path.cwd())
    if not settings.performance.measured[1]:
        raise UsageError("there is no workload to measure", where=settings.config or None, remedy=HOW)
    return settings


def _measured(settings: Settings) -> Measured:
    from verifygate.performance.attestation.making import measure

    return _there(settings, measure, _subject(settings), settings)


def _there(settings: Settings, function: Callable[..., T], *arguments: object) -> T:
    """Call a function that measures: here, or on a node of the cluster that the settings name."""
    cluster = settings.performance.cluster
    with progress_line() as progress:
        if not cluster.executor:
            return function(*arguments, progress)
        from verifygate.performance.cluster import Jobs

        progress(f"waiting for a job of {cluster.executor}")
        with Jobs(cluster, settings.root, settings.place("performance", "cluster")) as jobs:
            return jobs.submit(function, *arguments).result()


def _subject(settings: Settings) -> Subject:
    from verifygate.process.interpreter import subject_of

    return subject_of(settings)


def _shown(settings: Settings, measured: Measured, fmt: str) -> int:
    from verifygate.performance import summarised

    return _printed(summarised(measured.comparison, settings.performance), fmt)


def _printed(result: StageResult, fmt: str) -> int:
    """Print a result. The exit code: 1 where something that was asked for is missed or was not measured."""
    from verifygate.base.masking import masked_model
    from verifygate.model import Status
    from verifygate.report.bench import text

    result = masked_model(result)
    click.echo(result.model_dump_json(indent=1) if fmt == "json" else text(result), nl=fmt == "json")
    fine = (Status.PASS, Status.NOT_APPLICABLE)
    return 0 if all(check.status in fine for check in result.checks if check.required) else 1
