"""The baseline file: old findings that a project has agreed to leave for later, committed beside its configuration.

An entry is a fingerprint, which no edit elsewhere in the file changes, with what a reader of a diff wants to know
besides. `check` and `run` count what the file holds and do not report it as new.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from verifygate.base.counts import counted
from verifygate.base.errors import UsageError
from verifygate.base.regular_files import TooLargeError, read_regular
from verifygate.model.finding import Finding, Severity, Witness
from verifygate.rule_codes import SecurityRisk

DEFAULT = "verifygate-baseline.toml"
VERSION = 1
MAX_BYTES = 16 * 1024 * 1024
WRITE = "`verifygate baseline write` makes one"


class Entry(NamedTuple):
    """One location of a finding that stood; in the order in which the file is sorted."""

    path: str
    rule: str
    function: str
    text: str
    """The source line."""
    severity: str
    seen: str
    """`static`, or `run` where only a run shows it."""
    fingerprint: str

    @property
    def identity(self) -> tuple[str, ...]:
        """What stays where the file is renamed."""
        return self.rule, self.text, self.seen

    @property
    def only_run(self) -> bool:
        return self.seen == Witness.RUN

    @property
    def stage(self) -> str:
        """The stage that would find it again."""
        if self.only_run:
            return "execution"
        return "security" if self.rule in tuple(SecurityRisk) else "static"

    @property
    def words(self) -> str:
        """For a line of a list: `train.py: AMP201 in train: scaler.step(optimizer)`."""
        where = f" in {self.function}" if self.function else ""
        return f"{self.path}: {self.rule}{where}: {self.text}"


def held(entries: Iterable[Entry], now: Iterable[Entry], is_there: Callable[[str], bool]) -> dict[str, Entry]:
    """Fingerprint of a location of today -> the entry that stands for it.

    Where the file of an entry is no longer there, it was renamed, or its code was moved: then the entry stands for a
    location that no other does, of the same rule and text, if there are as many of these as such entries.
    """
    known = {entry.fingerprint: entry for entry in entries}
    today = {each.fingerprint: each for each in now}
    found = {each: known[each] for each in today if each in known}
    strays = _by_identity(e for e in known.values() if e.fingerprint not in today and not is_there(e.path))
    fresh = _by_identity(each for each in today.values() if each.fingerprint not in known)
    for identity, moved in strays.items():
        there = fresh.get(identity, [])
        if len(there) == len(moved):
            found |= {each.fingerprint: entry for each, entry in zip(there, moved, strict=True)}
    return found


def _by_identity(entries: Iterable[Entry]) -> dict[tuple[str, ...], list[Entry]]:
    found: dict[tuple[str, ...], list[Entry]] = {}
    for each in sorted(entries):
        found.setdefault(each.identity, []).append(each)
    return found


def entries_of(findings: Iterable[Finding]) -> tuple[Entry, ...]:
    """The entries that stand for some findings, one for each location. A note reports no fault and needs none."""
    found: dict[str, Entry] = {}
    for finding in findings:
        seen = Witness.RUN if finding.witnesses == (Witness.RUN,) else Witness.STATIC
        for number, place in enumerate(() if finding.is_note else finding.locations):
            if place.fingerprint:
                symbol = finding.symbol if number == 0 else ""
                found[place.fingerprint] = Entry(
                    place.path, finding.rule, symbol, place.text, finding.severity, seen, place.fingerprint
                )
    return tuple(sorted(found.values()))


def text_of(entries: Iterable[Entry]) -> str:
    """The file: sorted, an entry a line, so that a diff shows what was added and what is gone."""
    rows = sorted(entries)
    counts = [(each, sum(row.severity == each for row in rows)) for each in Severity]
    told = ", ".join(f"{count} {severity}" for severity, count in counts if count)
    head = counted(len(rows), "finding") + (f": {told}" if told else "")
    lines = [
        f"# Baseline of verifygate, {head}. They stood when this was written: they are counted, and do not block.",
        "# `verifygate baseline prune` takes out what is gone, `verifygate baseline check` fails where it should.",
        f"version = {VERSION}",
        "findings = [",
        *(f"  {{{', '.join(f'{key} = {_quoted(value)}' for key, value in row._asdict().items())}}}," for row in rows),
        "]",
    ]
    return "\n".join(lines) + "\n"


def read(path: Path, shown: str) -> tuple[Entry, ...]:
    """The entries of the file at `path`, which errors call `shown`. Raises UsageError for what is no baseline file."""
    try:
        return parse(read_regular(path, MAX_BYTES), shown)
    except TooLargeError:
        raise UsageError("larger than 16 MiB", where=shown, remedy=WRITE) from None
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=shown, remedy=WRITE) from None


def parse(data: bytes, shown: str) -> tuple[Entry, ...]:
    """The entries in the bytes of a baseline file. Raises UsageError."""
    import tomllib

    try:
        document = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not valid TOML: {error}", where=shown, remedy=f"correct that line; {WRITE}") from None
    if document.get("version") != VERSION:
        raise UsageError(f"not a baseline file of version {VERSION}", where=shown, remedy=WRITE)
    rows = document.get("findings", [])
    if set(document) - {"version", "findings"} or not isinstance(rows, list):
        raise UsageError("holds more than `version` and a list of `findings`", where=shown, remedy=WRITE)
    return tuple(_entry(row, number, shown) for number, row in enumerate(rows, 1))


def _entry(row: Any, number: int, shown: str) -> Entry:
    fields = set(Entry._fields)
    if not isinstance(row, dict) or set(row) != fields or not all(isinstance(value, str) for value in row.values()):
        wanted = ", ".join(Entry._fields)
        raise UsageError(f"entry {number} has not the fields {wanted}, each a text", where=shown, remedy=WRITE)
    return Entry(**row)


def _quoted(text: str) -> str:
    """As a string of TOML, which forbids one character more than JSON does."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
