"""The page that says how much is found on real code, made of the table of what was measured."""

from __future__ import annotations

import datetime as dt
import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict

TABLE = Path(__file__).parent / "accuracy" / "measured.toml"
HOW = {
    "labels": "`verifygate accuracy --cases LABELS.json --checkouts DIR`, with labels made by a person before the run",
    "threads": "each thread was turned into a small program, and `verifygate check` and `verifygate run` ran on it",
    "planted": "programs written for this, by somebody who did not write the rules",
    "read": "every answer was compared with the source by a person",
    "configured": "`tests/configured_precision/test_labelled_projects.py`: made from what people reported, and "
    "labelled from the frameworks' source by somebody who knew the tables",
    "names": "`python tests/static/rename_measure.py`: the rules' own bad cases, with meaningless names",
    "seeded": "`python tests/static/seed_faults.py reference_impl`: faults put into correct code, one at a time",
}
_HEAD = """\
# How much is found on real code

The rules were measured on code that was not written for this project, and that the authors of the rules had not seen.
Every row has the date and the commit of its measurement; a later version may be better or worse.

**In short:** in a training loop that calls GradScaler itself, nearly every fault of the protocol is found, and correct
code is rarely reported. Where a framework drives the precision, or weights are kept in half precision, most faults are
missed. Review each finding that is only *likely*.
"""
_TAIL = """\
## How it was measured

{hows}

Labels are the judgement of a person, and say little about other kinds of code. A fault can be missed in code that was
analysed: [what the analysis cannot see](limits.md).
"""


class Measured(BaseModel):
    """One row."""

    model_config = ConfigDict(extra="forbid")

    part: str
    what: str
    count: int
    of: int
    how: str
    date: dt.date
    commit: str


def rows() -> list[Measured]:
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return [Measured.model_validate(each) for each in table["measured"]]


def page() -> str:
    """The whole page."""
    known = rows()
    parts = [_HEAD]
    for part in dict.fromkeys(each.part for each in known):
        lines = [_line(each) for each in known if each.part == part]
        parts.append("\n".join([f"## {part}", "", "| | | Measured | How |", "|---|---|---|---|", *lines, ""]))
    used = [how for how in HOW if any(each.how == how for each in known)]
    return "\n".join([*parts, _TAIL.format(hows="\n".join(f"- *{how}*: {HOW[how]}." for how in used))])


def _line(row: Measured) -> str:
    return f"| {row.what} | {row.count} of {row.of} | {row.date}, {row.commit} | {row.how} |"
