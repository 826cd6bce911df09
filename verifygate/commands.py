"""The commands, one function each: they parse, call one thing, print it, and return an exit code."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from verifygate import __version__
from verifygate.bench import bench
from verifygate.progress import progress_line
from verifygate.trace_commands import trace

if TYPE_CHECKING:
    from verifygate.config import Settings, StaticSettings
    from verifygate.model import NotAnalysed
    from verifygate.model.check_report import CheckReport
    from verifygate.source import Sources
    from verifygate.static.rule import LoadedRule

STAGE_CHOICES = ("all", "execution", "static", "requirements", "performance")
REPORT_FORMATS = ("md", "json", "html", "sarif", "junit", "gitlab", "csv", "matrix")
CLAIMS_FORMATS = ("text", "json", "md")
CHECK_FORMATS = ("text", "json", "github", "gitlab", "sarif", "junit")


def split_words(_context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """`--select AMP2,KEY101 --select PERF` as one list."""
    if any(not part.strip(" ,") for part in value):
        raise click.BadParameter("it is empty")
    return tuple(word for part in value for word in part.replace(",", " ").split())


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="verifygate", message="%(prog)s %(version)s")
def cli() -> None:
    """Audit PyTorch mixed-precision (AMP) training code: PASS or BLOCK, with evidence that anybody can re-run."""


cli.add_command(bench)
cli.add_command(trace)


@cli.command()
@click.option("--stage", "stages", multiple=True, type=click.Choice(STAGE_CHOICES), help="Stage to run; repeatable.")
@click.option("--config", type=click.Path(path_type=Path), help="Configuration file; the nearest one by default.")
@click.option("--report-dir", type=click.Path(path_type=Path), help="Where reports go (default: reports/latest).")
@click.option(
    "--format", "formats", multiple=True, callback=split_words, help="md,json,html,sarif,junit,gitlab,csv,matrix."
)
@click.option("--baseline", type=click.Path(path_type=Path), help="An earlier report.json to compare with.")
@click.option("--since", default="", help="A git revision: findings that stood there already do not block.")
@click.option(
    "--policy-from", default="", help="A git revision whose configuration, specification and waivers count [--since]."
)
@click.option("--accept-policy", is_flag=True, help="Judge by the policy of this tree instead; the report says so.")
@click.option(
    "--mutate",
    is_flag=False,
    flag_value="first",
    default="",
    type=click.Choice(("first", "all", "")),
    help="Break the AMP code on purpose; who notices? `all` asks every witness, not only until the first notices.",
)
@click.option(
    "--emulate-cuda/--no-emulate-cuda",
    default=None,
    help="Whether tests that skip for want of CUDA run again with CUDA emulated (default: as configured, else yes).",
)
def run(
    stages: tuple[str, ...],
    config: Path | None,
    report_dir: Path | None,
    formats: tuple[str, ...],
    baseline: Path | None,
    since: str,
    policy_from: str,
    accept_policy: bool,
    mutate: str,
    emulate_cuda: bool | None,
) -> int:
    """Run the gate: stages, merged report, verdict. Writes DIR/gate.md, one report per stage, and report.json."""
    from verifygate import baseline as earlier
    from verifygate.config import load
    from verifygate.gate import run as run_gate
    from verifygate.merge import handed_in
    from verifygate.model import Verdict
    from verifygate.policy import ruled
    from verifygate.report import refuse_foreign, render, write_reports
    from verifygate.report.terminal import summary

    wanted = tuple(dict.fromkeys((*formats, "json"))) if formats else ("md", "json")
    for name in wanted:
        _one_of(name, REPORT_FORMATS, "--format")
    asked = ("--policy-from", policy_from) if policy_from else ("--since", since)
    with ruled(load(config, Path.cwd()), config, baseline, asked, accept=accept_policy) as policy:
        settings = policy.settings
        if emulate_cuda is not None:
            settings = settings.with_emulation(emulate_cuda)
        before = handed_in(policy.baseline, str(baseline)) if policy.baseline else None
        folder = report_dir if report_dir is not None else settings.root / "reports" / "latest"
        refuse_foreign(folder)
        with progress_line() as progress:
            report = run_gate(
                settings,
                stages=() if "all" in stages else stages,
                command=_command_line(),
                since=since,
                policy=policy.origin,
                mutants=mutate,
                progress=progress,
            )
    if before is not None:
        report = earlier.compared(report, before)
    prefix = Path(os.path.relpath(settings.root, folder.resolve())).as_posix() + "/"
    files: dict[str, str] = {}
    for name in wanted:
        files |= render(report, name, prefix)
    write_reports(files, folder)
    click.echo(summary(report, _shown(folder)))
    return 0 if report.verdict is Verdict.PASS else 1


@cli.command()
@click.argument("paths", nargs=-1, type=str)
@click.option("--format", "fmt", default="text", type=click.Choice(CHECK_FORMATS), help="Output format.")
@click.option("--select", multiple=True, callback=split_words, help="Only these rules or families: AMP2,KEY101.")
@click.option("--ignore", multiple=True, callback=split_words, help="Not these rules or families.")
@click.option("--config", type=click.Path(path_type=Path), help="Configuration file; the nearest one by default.")
@click.option("--no-cache", is_flag=True, help="Work it out anew, also where nothing has changed since the last time.")
@click.option("--timings", "timed", is_flag=True, help="Print on stderr where the CPU time went.")
def check(
    paths: tuple[str, ...],
    fmt: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    config: Path | None,
    no_cache: bool,
    timed: bool,
) -> int:
    """Check sources statically: no configuration, no torch, nothing run. PATHS are files and folders (default: .)."""
    from verifygate.check import Question
    from verifygate.check import check as ask
    from verifygate.timings import Timings

    timings = Timings(on=timed)
    answer, lost = ask(Question(paths, fmt, select, ignore, config), timings, cached=not no_cache)
    click.echo(answer.out, nl=False)
    _tell_not_analysed(lost)
    if timed:
        click.echo(timings.table(), nl=False, err=True)
    return answer.code


@cli.command()
@click.argument("paths", nargs=-1, type=str)
@click.option("--diff", "as_diff", is_flag=True, help="Print the changes as a diff and write nothing.")
@click.option("--unsafe", is_flag=True, help="Also apply fixes that need a person's eye.")
@click.option("--select", multiple=True, callback=split_words, help="Only these rules or families: AMP2,AMP501.")
@click.option("--config", type=click.Path(path_type=Path), help="Configuration file; the nearest one by default.")
def fix(paths: tuple[str, ...], as_diff: bool, unsafe: bool, select: tuple[str, ...], config: Path | None) -> int:
    """Fix what can be fixed, and prove each fix by a new scan. Exit code 1 where findings, or a diff, are left."""
    from verifygate.config import load
    from verifygate.fix import repaired
    from verifygate.fix.write import unified_diff, write_fixed
    from verifygate.static.registry import check_rules, chosen

    settings = load(config, Path.cwd())
    check_rules(settings)
    sources = _sources(paths, settings)
    wanted = chosen(select or settings.static.select, settings.static.ignore)
    # The scan that proves a fix looks with every rule of the project, not only with those to fix.
    every = settings.static.model_copy(
        update={"select": (*settings.static.select, *select) if settings.static.select else ()}
    )
    repair = repaired(sources, lambda files: _checked(files, every), wanted, unsafe=unsafe)
    left = [finding for finding in repair.report.findings if finding.rule in wanted]
    for finding, reason in repair.refused:
        click.echo(f"verifygate: not fixed: {finding.path}:{finding.line}: {finding.rule}: {reason}", err=True)
    _tell_not_analysed(repair.report.not_analysed)
    if as_diff:
        click.echo(unified_diff(repair.changed), nl=False)  # bytes: sources need not be UTF-8
        if left:
            click.echo(f"verifygate: findings that no fix takes away: {len(left)}", err=True)
    else:
        write_fixed(repair.changed, Path.cwd())
        click.echo(f"Fixed: {len(repair.fixed)}; files changed: {len(repair.changed)}; findings left: {len(left)}")
    if any(lost.mentions_amp for lost in repair.report.not_analysed):
        return 2
    return 1 if left or (as_diff and repair.changed) else 0


@cli.command(context_settings={"ignore_unknown_options": False})
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--emulate-cuda", is_flag=True, help="Run code written for CUDA on this CPU; evidence is `emulated`.")
@click.option("--capability", default="", help="Compute capability of the emulated device (default: 8.0), such as 7.5.")
@click.option("--format", "fmt", default="text", type=click.Choice(("text", "json")), help="Output format.")
@click.option("--seconds", type=click.FloatRange(min=1), default=600.0, help="Stop the run then (default: 600).")
def probe(command: tuple[str, ...], emulate_cuda: bool, capability: str, fmt: str, seconds: float) -> int:
    """Witness one run of any script, unmodified: `verifygate probe -- python train.py --lr 0.1`.

    Exit code 0: steps were recorded and broke no rule. 1: breaches. 2: bad input, the script failed, or NOT MEASURED.
    """
    from verifygate.execution import probe_text
    from verifygate.execution.probe import parsed
    from verifygate.execution.probe import probe as witness

    if capability and not (emulate_cuda and re.fullmatch(r"[1-9]\d?\.\d", capability)):
        raise click.UsageError("--capability goes with --emulate-cuda, and is two numbers: 7.5")
    major, minor = (capability or "8.0").split(".")
    parts = parsed(command)
    with progress_line() as progress:
        progress(f"running {' '.join(parts.script)}")
        report = witness(
            parts,
            command,
            seconds=seconds,
            emulate_cuda=emulate_cuda,
            folder=Path.cwd(),
            capability=(int(major), int(minor)),
        )
    if fmt == "json":
        click.echo(report.model_dump_json(indent=1))
    else:
        click.echo(probe_text.text(report))
    return report.exit_code


@cli.command()
@click.argument("reports", nargs=-1, required=True, metavar="FILE...", type=str)
@click.option("--root", type=click.Path(path_type=Path), help="The source tree that the reports speak of.")
@click.option("--format", "fmt", default="text", type=click.Choice(CLAIMS_FORMATS), help="Output format.")
@click.option(
    "--run-tests", is_flag=True, help="Run the tests that the reports count again: this runs the tree's code."
)
def claims(reports: tuple[str, ...], root: Path | None, fmt: str, run_tests: bool) -> int:
    """Audit prose reports: what can be tested in them is CONFIRMED, REFUTED or INCONCLUSIVE.

    Exit code 0 only where there are claims and all of them are CONFIRMED; 1 where one is not.
    """
    from verifygate.claims import audit
    from verifygate.model.claims import ClaimVerdict
    from verifygate.report.claims import render_claims

    with progress_line() as progress:
        progress("reading the reports")
        found = audit(reports, root, run_tests=run_tests)
    click.echo(render_claims(found, fmt), nl=False)
    settled = all(claim.verdict is ClaimVerdict.CONFIRMED for claim in found.claims)
    return 0 if found.claims and settled else 1


@cli.command()
@click.argument("rule")
@click.option("--prove", is_flag=True, help="Run the bad and the good example on this machine and show the difference.")
def explain(rule: str, prove: bool) -> int:
    """Explain a rule, by code (AMP201) or name (clip-before-unscale). Exit code 1 where --prove sees no harm."""
    from verifygate.static.registry import find_rule

    loaded = find_rule(rule)
    record = loaded.rule
    if prove:
        return _prove(loaded)
    click.echo(f"# {record.code} {record.name} ({record.severity})\n\n{loaded.docs}\n")
    return 0


@cli.command()
@click.option("--format", "fmt", default="text", type=click.Choice(("text", "json")), help="Output format.")
def rules(fmt: str) -> int:
    """List the rules."""
    import json

    from verifygate.static.registry import load_rules

    records = [loaded.rule for loaded in load_rules().values()]
    if fmt == "json":
        rows = [
            {
                "code": record.code,
                "name": record.name,
                "severity": record.severity.value,
                "summary": record.summary,
                "remedy": record.remedy,
                "witnesses": [witness.value for witness in record.witnesses],
                "fix": record.fix.value if record.fix else None,
            }
            for record in records
        ]
        click.echo(json.dumps({"schema_version": 1, "rules": rows}, indent=1))
    else:
        for record in records:
            click.echo(f"{record.code:<8} {record.name:<28} {record.severity.value:<9} {record.summary}")
    return 0


@cli.command()
@click.argument("topic", required=False)
def docs(topic: str | None) -> int:
    """Print a page of the documentation, or list the pages."""
    from verifygate.errors import UsageError

    pages = {page.stem: page for page in sorted((Path(__file__).parent / "docs").rglob("*.md"))}
    if topic is None:
        click.echo("\n".join(pages))
        return 0
    if topic not in pages:
        raise UsageError(f"no page `{topic}`", remedy=f"there are: {', '.join(pages)}")
    click.echo(pages[topic].read_text(encoding="utf-8"))
    return 0


@cli.command()
@click.option("--force", is_flag=True, help="Overwrite a configuration that is there.")
def init(force: bool) -> int:
    """Write a verifygate.toml for the project in this folder, from what can be discovered."""
    from verifygate.errors import UsageError
    from verifygate.starter import CONFIG_NAME, starter

    path = Path.cwd() / CONFIG_NAME
    if path.exists() and not force:
        raise UsageError("there is one already", where=CONFIG_NAME, remedy="edit it, or use --force to replace it")
    path.write_text(starter(Path.cwd()), encoding="utf-8")
    click.echo(f"Wrote {CONFIG_NAME}; next: verifygate run --stage all")
    return 0


@cli.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
def compare(old: Path, new: Path) -> int:
    """Compare two report.json files: which findings are new, open, fixed. Exit code 1 where there are new ones."""
    from verifygate import baseline
    from verifygate.merge import handed_in

    changes = baseline.changes(handed_in(new), handed_in(old))
    click.echo(baseline.told(changes), nl=False)
    return 1 if changes.new else 0


def _sources(paths: tuple[str, ...], settings: Settings) -> Sources:
    """The Python files that the user named, or all here. Raises UsageError where there is none."""
    from verifygate.errors import UsageError
    from verifygate.source import read_sources

    sources = read_sources(Path.cwd(), paths or (".",), settings.project.exclude, confined=False)
    if not sources.files and not sources.unreadable:
        raise UsageError("no Python file there", where=", ".join(paths or (".",)), remedy="name a file or a folder")
    return sources


def _checked(sources: Sources, static: StaticSettings) -> CheckReport:
    """What the static analysis says of these files."""
    from verifygate.check import report_of
    from verifygate.static.engine import analyse

    return report_of(analyse(sources, static, with_constructs=False))


def _tell_not_analysed(files: Iterable[NotAnalysed]) -> None:
    for lost in files:
        click.echo(f"verifygate: not analysed: {lost.path}: {lost.reason}", err=True)


def _prove(loaded: LoadedRule) -> int:
    """Print the proof of one rule; 2 where the rule has none, with the reason."""
    from verifygate import proof
    from verifygate.config import load
    from verifygate.errors import UsageError
    from verifygate.gate import interpreter_of

    record, sections = loaded.rule, loaded.sections
    if not record.proof:
        raise UsageError(f"{record.code} has no proof by a run on a CPU", remedy=record.no_proof or None)
    claim = proof.claim_from(record.code, record.name, record.proof, sections["Example"], sections["Use instead"])
    (shown,) = proof.prove([claim], interpreter_of(load(None, Path.cwd())))
    click.echo(proof.table(shown))
    return 0 if shown.proved else 1


def _one_of(word: str, allowed: tuple[str, ...], option: str) -> None:
    if word not in allowed:
        raise click.BadParameter(f"'{word}' is not one of {', '.join(allowed)}", param_hint=option)


def _command_line() -> str:
    return shlex.join(["verifygate", *sys.argv[1:]])


def _shown(folder: Path) -> str:
    relative = os.path.relpath(folder)
    return folder.as_posix() if relative.startswith("..") else Path(relative).as_posix()


@cli.command(hidden=True)
@click.option("--cases", required=True, type=click.Path(path_type=Path), help="Labels: a JSON list of rows.")
@click.option(
    "--checkouts", required=True, type=click.Path(path_type=Path), help="Folder of checkouts or git repositories."
)
def accuracy(cases: Path, checkouts: Path) -> int:
    """Measure the static rules on labelled code: recall on bugs, false alarms on clean code."""
    from verifygate.accuracy import judge, read_cases, table

    judged, absent = judge(read_cases(cases), checkouts)
    click.echo(table(judged, absent), nl=False)
    return 0 if judged and not absent else 2
