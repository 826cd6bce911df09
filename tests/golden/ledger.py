"""The ledger: of each rule, what it finds of what it is to find, before the machine and now.

`before.json` holds the figures of the day on which the net was knotted, and is not written again. A rule that is worse
than it was then needs a reason in `reasons.toml`.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from units import NEWER, SETS, WERE_THERE, Label, Unit

if TYPE_CHECKING:
    from net import Row

HERE = Path(__file__).parent
PAGE = HERE.parent / "static/parity.md"
BEFORE = HERE / "before.json"
REASONS = HERE / "reasons.toml"
TREES = HERE / "trees"
LABELLED = SETS[:-1]
Figures = dict[str, dict[str, int]]
"""Rule -> column -> count."""

HEAD = """\
# What each rule finds, before and now

Written by `python tests/golden/net.py --update`; held by `tests/golden/test_golden.py`. Where a figure moved since the
net was knotted, it is `before -> now`.

- *cases*, *found*, *found3*, *modern*: expected findings that are told, of those that are expected; a label that
  several rules may answer is the first one's; *newer* stands for labels that name no rule that there was.
- *blocking in right programs*: critical or high and certain, where nothing is to be told that blocks.
- *trees*: what is told, certain and likely, of the public trees whose rows are in `tests/golden/trees`.

"""


def figures(units: Iterable[Unit], rows: Iterable[Row]) -> Figures:
    """What each rule finds: `met` and `wanted` of each labelled set, `false`, and the findings in public trees."""
    told: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        told.setdefault((row.set, row.unit), []).append(row)
    counts: dict[str, Counter[str]] = {}
    for unit in units:
        mine = told.get((unit.set, unit.name), [])
        for label in unit.labels:
            of_rule = counts.setdefault(label.rules[0], Counter())
            of_rule[f"{unit.set} wanted"] += 1
            of_rule[f"{unit.set} met"] += any(meets(row, label) for row in mine)
        for row in mine:
            if unit.is_right and row.severity in ("critical", "high") and row.certainty == "certain":
                counts.setdefault(row.rule, Counter())["false"] += 1
    for line in (line for file in sorted(TREES.glob("*.tsv")) for line in file.read_text("utf-8").splitlines()):
        if not line.startswith("#"):
            _, _, rule, _, certainty = line.split("\t")
            counts.setdefault(rule, Counter())[f"trees {certainty}"] += 1
    return {rule: dict(sorted(counts[rule].items())) for rule in sorted(counts)}


def meets(row: Row, label: Label) -> bool:
    """Whether a finding is the one that a label expects."""
    is_there = (not label.lines or row.line in label.lines) and label.path in ("", row.path)
    is_new = NEWER in label.rules and row.rule not in WERE_THERE and row.severity != "info"
    return is_there and (is_new or any(fnmatch(row.rule, rule) for rule in label.rules))


def worse(before: Figures, now: Figures) -> list[str]:
    """`CODE COLUMN`: less is met than before, or more blocks in right programs."""
    found = []
    for rule in sorted({*before, *now}):
        old, new = before.get(rule, {}), now.get(rule, {})
        found += [f"{rule} {name}" for name in LABELLED if new.get(f"{name} met", 0) < old.get(f"{name} met", 0)]
        found += [f"{rule} false"] * (new.get("false", 0) > old.get("false", 0))
    return found


def reasons() -> dict[str, str]:
    """`CODE COLUMN` -> why it may be worse."""
    return tomllib.loads(REASONS.read_text("utf-8"))


def page(before: Figures, now: Figures) -> str:
    """The ledger as it stands in the tree."""
    columns = ("rule", *LABELLED, "blocking in right programs", "trees")
    table = [columns, ("---",) * len(columns)]
    for rule in sorted({*before, *now}):
        old, new = _cells(before.get(rule, {})), _cells(now.get(rule, {}))
        table.append((rule, *(a if a == b else f"{a or 0} -> {b or 0}" for a, b in zip(old, new, strict=True))))
    lines = [HEAD, *(f"| {' | '.join(row)} |\n" for row in table)]
    if why := [f"- {where}: {reason}\n" for where, reason in reasons().items()]:
        lines += ["\n## Why some are worse\n\n", *why]
    return "".join(lines)


def _cells(count: dict[str, int]) -> Sequence[str]:
    sets = [
        f"{count.get(f'{name} met', 0)}/{count[f'{name} wanted']}" if f"{name} wanted" in count else ""
        for name in LABELLED
    ]
    certain, likely = count.get("trees certain", 0), count.get("trees likely", 0)
    return (*sets, str(count["false"]) if "false" in count else "", f"{certain} + {likely}" * bool(certain + likely))


def before() -> Figures:
    """The figures of the day on which the net was knotted."""
    found: Figures = json.loads(BEFORE.read_text("utf-8"))
    return found


def write(units: Iterable[Unit], rows: Iterable[Row]) -> None:
    """Write the ledger; where no figures are kept yet, these are the first."""
    now = figures(units, rows)
    if not BEFORE.exists():
        rows_of = ",\n".join(f"{json.dumps(rule)}: {json.dumps(of_rule)}" for rule, of_rule in now.items())
        BEFORE.write_text(f"{{\n{rows_of}\n}}\n", encoding="utf-8")
    PAGE.write_text(page(before(), now), encoding="utf-8")
