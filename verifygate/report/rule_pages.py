"""What the documentation says of a rule: read from the source of its module, so no format has to load the rule itself.

The docstring of the module is the page, and the only place in which it is written.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

_PACKAGE = Path(__file__).parent.parent
_FOLDERS = (_PACKAGE / "static" / "rules", _PACKAGE / "security" / "rules")
_MODULE = re.compile(r"([a-z]+\d+)_\w+")


class RulePage(NamedTuple):
    """The documentation of a rule, taken apart."""

    name: str
    severity: str
    """The rule's own: a finding may have another."""
    summary: str
    """What is wrong, in a sentence or two."""
    why: str
    """Why it is bad."""
    markdown: str
    """The whole page, without a title."""
    reference: str
    """The first address that it refers to; empty where it refers to none."""


@cache
def rule_page(code: str) -> RulePage | None:
    """The page of a rule; None for a code that has none, such as one of a later version."""
    if (file := rule_modules().get(code)) is None:
        return None
    module = ast.parse(file.read_bytes())
    body = ast.get_docstring(module) or ""
    said = _record(module)
    parts = re.split(r"(?m)^## (.+)$", body)
    sections = dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))
    address = re.search(r"https?://\S+", sections.get("References", ""))
    return RulePage(
        name=said.get("name", ""),
        severity=said.get("severity", ""),
        summary=" ".join(parts[0].split()),
        why=" ".join(sections.get("Why is this bad", "").split("\n\n")[0].split()),
        markdown=body + "\n",
        reference=address[0] if address else "",
    )


@cache
def rule_modules() -> dict[str, Path]:
    """Code -> the module of the rule, by the names of the files: `amp201_clip_before_unscale.py`."""
    files = (file for folder in _FOLDERS for file in folder.rglob("*.py"))
    return {match[1].upper(): file for file in files if (match := _MODULE.fullmatch(file.stem))}


def _record(module: ast.Module) -> dict[str, str]:
    """What the module writes into its `RULE`: texts as they are, members of an enum by their names in small letters."""
    found: dict[str, str] = {}
    for statement in module.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="RULE")], value=ast.Call(keywords=keywords)):
                for keyword in keywords:
                    match keyword:
                        case ast.keyword(arg=str(field), value=ast.Constant(value=str(text))):
                            found[field] = text
                        case ast.keyword(arg=str(field), value=ast.Attribute(attr=member)):
                            found[field] = member.lower()
    return found
