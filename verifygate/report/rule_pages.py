"""What the documentation says of a rule: its page comes with the program, so no format has to load the rule itself."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).parent.parent / "docs" / "rules"
_CODE = re.compile(r"[A-Z]+\d+")


class RulePage(NamedTuple):
    """A page of `verifygate docs`, taken apart."""

    name: str
    severity: str
    """The rule's own: a finding may have another."""
    summary: str
    """What is wrong, in a sentence or two."""
    why: str
    """Why it is bad."""
    markdown: str
    """The whole page but for its title and its table."""
    reference: str
    """The first address that it refers to; empty where it refers to none."""


@cache
def rule_page(code: str) -> RulePage | None:
    """The page of a rule; None for a code that has none, such as one of a later version."""
    if not _CODE.fullmatch(code):
        return None
    try:
        text = (_FOLDER / f"{code}.md").read_text(encoding="utf-8")
    except OSError:
        return None
    rows = dict(re.findall(r"(?m)^\| (\w[\w ]*) \| (.*) \|$", text))
    body = text.rpartition(rows["Proof"] + " |\n")[2].strip() if "Proof" in rows else text
    parts = re.split(r"(?m)^## (.+)$", body)
    sections = dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))
    address = re.search(r"https?://\S+", sections.get("References", ""))
    return RulePage(
        name=rows.get("Name", "").strip("`"),
        severity=rows.get("Severity", ""),
        summary=" ".join(parts[0].split()),
        why=" ".join(sections.get("Why is this bad", "").split("\n\n")[0].split()),
        markdown=body + "\n",
        reference=address[0] if address else "",
    )
