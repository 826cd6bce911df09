"""The table of faults that the gate must survive, and of the tests that prove it: `docs/faults.md`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("faults.toml")
_HEAD = """\
# Faults, and the tests that prove what happens then

What the gate must survive: code that ends, lies or hangs, hostile names, broken input, machines that fail (F), and
what a change can hide (C). Of {count} rows, {partly} name something that is *not covered*. What remains possible inside
the process of the tests is in [limits](limits.md#inside-the-process-of-the-tests).

| | What happens | What the gate does | Proved by |
|---|---|---|---|
"""


@dataclass(frozen=True)
class Fault:
    """One row."""

    id: str
    what: str
    gate: str
    tests: tuple[str, ...] = ()
    """Node ids of pytest, without parameters."""
    uncovered: str = ""
    """What of it no test proves, and why."""


def faults() -> tuple[Fault, ...]:
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["fault"]
    return tuple(Fault(**{**row, "tests": tuple(row.get("tests", ()))}) for row in rows)


def page() -> str:
    """The whole page."""
    known = faults()
    head = _HEAD.format(count=len(known), partly=sum(bool(fault.uncovered) for fault in known))
    return head + "".join(f"| {each.id} | {each.what} | {each.gate} | {_proof(each)} |\n" for each in known)


def _proof(fault: Fault) -> str:
    missing = [f"*not covered*: {fault.uncovered}"] if fault.uncovered else []
    return "<br>".join([*(f"`{test.removeprefix('tests/')}`" for test in fault.tests), *missing])
