"""Properties of what reads files: whatever stands in them is understood, or refused in one line with its place."""

from __future__ import annotations

import datetime as dt
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from fuzz_inputs import files_in

from verifygate import baseline_file, report_comparison
from verifygate.base.errors import UsageError
from verifygate.claims import markdown
from verifygate.claims.audit import audited
from verifygate.claims.text_files import Tree, TreeFile
from verifygate.config.documents import read_toml, read_yaml
from verifygate.config.performance import RecordsSettings
from verifygate.config.settings import ForeignResults, read_settings
from verifygate.execution import junit
from verifygate.execution.audited_events import own_events
from verifygate.execution.instruments import read_told
from verifygate.execution.order import OrderJudge
from verifygate.execution.ranks import compare, read_run, with_ranks
from verifygate.execution.recorded_trace import TraceReader
from verifygate.execution.run_findings import Ownership, findings
from verifygate.execution.run_violations import violations_of_the_run
from verifygate.execution.stream import DIGEST_BYTES, read_stacks, read_stream
from verifygate.execution.trace_summary import summary
from verifygate.merge import faults
from verifygate.performance import benchmark_json
from verifygate.performance.attestation.acceptance import Terms, examined
from verifygate.performance.comparison import Plan
from verifygate.report.escape import LONG, plain
from verifygate.report.formats import claims_formats, render, render_claims
from verifygate.requirements.foreign import read_foreign
from verifygate.requirements.lock import read_lock
from verifygate.requirements.read import read_specification
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.sweep.units import read_list

T = TypeVar("T")
TODAY = dt.date(2026, 11, 26)
NOW = dt.datetime(2026, 11, 26, 12, tzinfo=dt.UTC)
KEY = "00" * 32
PLAN = Plan("train:build", steps=1, warmup=0, train_steps=1, seeds=(0,), rounds=1, rounds_max=1)
_MEMORY = Path("/dev/shm")  # noqa: S108 - the folder in it has a name of its own
_FOLDER = TemporaryDirectory(prefix="verifygate-fuzz-", dir=_MEMORY if _MEMORY.is_dir() else None)
ROOT = Path(_FOLDER.name)


@contextmanager
def written(data: bytes, first: str) -> Iterator[Path]:
    """A folder with the files of the input; it is empty again behind the block."""
    made: list[Path] = []
    for path, content in files_in(data, first).items():
        file = ROOT / path
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        except OSError:
            continue  # a name that is a folder of another one
        made.append(file)
    try:
        yield ROOT
    finally:
        for file in made:
            file.unlink(missing_ok=True)


def understood(read: Callable[[], T]) -> T | None:
    """What was read; None where it was refused as users are told: in one line that names file, line and remedy."""
    try:
        return read()
    except UsageError as refused:
        error = refused
    told = plain(str(error), LONG)  # as `verifygate` prints it
    told.encode()
    assert error.where, f"an error without a place: {told}"
    assert error.remedy, f"an error without a remedy: {told}"
    assert not re.search(r"Traceback|<class '|object at 0x", told), f"an error in Python's words: {told}"
    path, _, line = error.where.rpartition(":")
    if line.isdigit() and (file := ROOT / path).is_file():
        count = len(file.read_text("utf-8", "replace").splitlines()) + 1
        assert 1 <= int(line) <= count, "an error on a line that there is not"
    return None


def configuration(data: bytes) -> None:
    with written(data, "verifygate.toml") as root:
        name = next((each for each in ("verifygate.toml", "pyproject.toml") if (root / each).is_file()), "")
        if name:
            understood(lambda: read_settings(root / name, name, root, TODAY))


def toml_lines(data: bytes) -> None:
    """Each line that is noted for a key is one on which the key stands."""
    with written(data, "a.toml") as root:
        document = understood(lambda: read_toml(root / "a.toml", "a.toml"))
        if document is None:
            return
        lines = (root / "a.toml").read_text(encoding="utf-8-sig").split("\n")
        for where, line in document.lines.items():
            if where and isinstance(where[-1], str) and re.fullmatch(r"[\w-]+", where[-1], re.ASCII):
                assert where[-1] in lines[line - 1] or "\\" in lines[line - 1], f"{where} is not on line {line}"
        for key in document.data:
            assert (key,) in document.lines, f"no line for {key!r}"


def specification(data: bytes) -> None:
    with written(data, "requirements.yaml") as root:
        for name in ("requirements.yaml", "requirements.toml"):
            if (root / name).is_file():
                understood(lambda name=name: read_specification(root, name))
                understood(lambda name=name: read_lock(root, name))


def yaml_lines(data: bytes) -> None:
    """Plain data, as the YAML library reads it; and a line for each key."""
    with written(data, "a.yaml") as root:
        document = understood(lambda: read_yaml(root / "a.yaml", "a.yaml"))
        if document is not None:
            count = len(re.split("\r\n|[\n\r\x85\u2028\u2029]", (root / "a.yaml").read_text(encoding="utf-8-sig")))
            assert all(1 <= line <= count for line in document.lines.values())
            json.dumps(document.data, default=str)


def stream(data: bytes) -> None:
    """What the plugin of a test run tells, signed as it signs; and without the key nothing of it is believed."""
    running = blake2b(key=bytes.fromhex(KEY), digest_size=DIGEST_BYTES)
    lines: list[bytes] = []
    for body in data.split(b"\n"):
        running.update(body + b"\n")
        lines.append(running.hexdigest().encode() + b" " + body + b"\n")
    file = ROOT / "stream.jsonl"
    file.write_bytes(b"".join(lines))
    record = read_stream(file, KEY)
    assert record.forged <= len(lines)
    stranger = read_stream(file, "11" * 32)
    assert stranger.forged == len(lines), "a line is believed that another hand signed"
    assert not stranger.loaded
    assert stranger.items is None
    assert not stranger.phases
    file.write_bytes(b"".join(lines)[:-1])
    assert read_stream(file, KEY).forged <= record.forged
    file.write_bytes(data)
    assert not read_stream(file, KEY).phases, "an unsigned line is believed"
    read_stacks(file)


def recording(data: bytes) -> None:
    """What a recorder wrote, read at once and in pieces, judged and summed up."""
    files = files_in(data, "trace/head.jsonl")
    with written(data, "trace/head.jsonl") as root:
        read_told(root / "told.jsonl")
        trace = read_run(root)
        relative = _inside
        judge = OrderJudge(trace)
        ownership = Ownership(Sources([SourceFile("train.py", b"x = 1\n" * 30)]), relative, tests_too=True)
        hits = [
            ("", hit)
            for section in trace.sections
            for hit in (*judge.judge(section), *violations_of_the_run(section, trace, whole=True))
        ]
        ranks = compare(trace)
        findings([*hits, *ranks.hits], ownership)
        own_events(trace, ownership)
        with_ranks(summary(trace, judge.visits, relative), ranks, str).model_dump_json()
    _in_pieces(files.get("trace/head.jsonl", b""), len(data))


def _inside(path: str) -> str | None:
    return path.removeprefix("/p/") if path.startswith("/p/") else None


def _in_pieces(head: bytes, seed: int) -> None:
    """A trace that grows while it is read comes to the same events."""
    folder = ROOT / "growing"
    folder.mkdir(exist_ok=True)
    file = folder / "head.jsonl"
    try:
        file.write_bytes(head)
        whole = TraceReader(folder)
        whole.read()
        numbers = [event.number for event in whole.trace.events]
        written_as = [int(found) for found in re.findall(rb'^\{"n":(\d{1,9}),', head, re.MULTILINE)]
        if written_as != numbers or numbers != sorted(set(numbers)):
            return  # events out of order are put in order as far as they are there
        file.write_bytes(head[: len(head) * (seed % 7) // 7])
        growing = TraceReader(folder)
        growing.read()
        file.write_bytes(head)
        growing.read()
        assert [event.number for event in growing.trace.events] == numbers, "read in pieces"
    finally:
        file.unlink(missing_ok=True)


def records(data: bytes) -> None:
    """`bench verify` of any file: it never raises, and believes nothing that nobody vouches for."""
    with written(data, "record.json") as root:
        ruling = examined("record.json", Terms(root, PLAN, RecordsSettings(), NOW))
        assert all(line and "\n" not in line for line in ruling.refusals)
        assert not ruling.accepted or ruling.statement is not None
        understood(lambda: benchmark_json.read(root, "record.json"))


def claims(data: bytes) -> None:
    """Any prose is audited, each claim stands on a line of it, and the answer can be written."""
    with written(data, "report.md") as root:
        document = understood(lambda: markdown.read(root / "report.md", "report.md"))
    if document is None:
        return
    tree = Tree(ROOT, [TreeFile("train.py", "def train(model):\n    return model\n")])
    report = audited([document], tree)
    count = document.text.count("\n") + 1
    for claim in report.claims:
        assert 1 <= claim.line <= count, "a claim outside the report"
    assert audited([document], tree) == report, "asked twice"
    for name in claims_formats():
        render_claims(report, name).encode()


def foreign_results(data: bytes) -> None:
    """JUnit XML of another runner: read whole or refused."""
    with written(data, "junit.xml") as root:
        asked = [ForeignResults.model_validate({"file": "junit.xml", "class": "executed"})]
        found = understood(lambda: read_foreign(root, asked))
        for each in found or ():
            assert sum(count for _, count in each.file.outcomes) == each.file.tests == len(each.tests)
        junit.contradiction(root, ["--junitxml=junit.xml"], 1)


def stored_report(data: bytes) -> None:
    """A report.json that somebody hands in: refused, or all of its formats can be written."""
    with written(data, "report.json") as root:
        report = understood(lambda: report_comparison.read(root / "report.json", "report.json"))
        if report is None:
            return
        list(faults(report))
        for name in ("md", "json", "sarif", "github", "gitlab", "rdjson", "junit", "comment", "summary", "csv"):
            for text in render(report, name).values():
                text.encode()


def old_findings(data: bytes) -> None:
    """The baseline file: what is read and written again is read as the same."""
    entries = understood(lambda: baseline_file.parse(data, "verifygate-baseline.toml"))
    if entries is not None:
        text = baseline_file.text_of(entries)
        assert baseline_file.parse(text.encode("utf-8", "surrogatepass"), "b") == tuple(sorted(entries)), (
            "written again"
        )
        tomllib.loads(text)


def sweep_list(data: bytes) -> None:
    with written(data, "list.txt") as root:
        for name in ("list.txt", "list.toml"):
            if (root / name).is_file():
                understood(lambda name=name: read_list(root / name, name))
