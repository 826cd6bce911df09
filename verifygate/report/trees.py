"""A tree as text, and as a Mermaid diagram whose labels can hold nothing but words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from verifygate.model import Branch
from verifygate.report.escape import LONG, plain

_PLAIN = re.compile(r"[A-Za-z0-9 .,/()=+:-]")
"""What a label shows as it stands; anything else becomes its number, which Mermaid turns back."""
_LIST = re.compile(r"[-+]|\d+[.)]")
"""What begins a list in Markdown, which newer versions of Mermaid read in labels, and refuse to draw."""
LABEL = 160


def as_text(root: Branch) -> str:
    """The tree with lines drawn: `├── enters autocast: ... (train.py:88)`."""
    return "\n".join([_said(root), *_below(root, "")])


def as_mermaid(*trees: tuple[str, Branch]) -> str:
    """One flowchart with a frame for each titled tree. Missing branches have a dashed border."""
    lines = ["flowchart LR"]
    dashed: list[str] = []
    for number, (title, root) in enumerate(trees):
        lines.append(f'  subgraph s{number}["{_label(title)}"]')
        for name, parent, branch in _numbered(root, f"t{number}", ""):
            lines.append(f'    {name}["{_label(_said(branch))}"]')
            if parent:
                lines.append(f"    {parent} --> {name}")
            if branch.missing:
                dashed.append(name)
        lines.append("  end")
    if dashed:
        lines += ["  classDef missing stroke-dasharray: 5 5", f"  class {','.join(dashed)} missing"]
    return "\n".join(lines)


def _said(branch: Branch) -> str:
    where = f" ({branch.path}{f':{branch.line}' if branch.line else ''})" if branch.path else ""
    return plain(f"{branch.text}{where}".replace("`", ""), LONG)


def _below(branch: Branch, indent: str) -> Iterator[str]:
    for number, inner in enumerate(branch.inner, 1):
        last = number == len(branch.inner)
        yield f"{indent}{'└── ' if last else '├── '}{_said(inner)}"
        yield from _below(inner, indent + ("    " if last else "│   "))


def _numbered(branch: Branch, name: str, parent: str) -> Iterator[tuple[str, str, Branch]]:
    """Every branch under a name of ours: no text of the project becomes an identifier."""
    yield name, parent, branch
    for number, inner in enumerate(branch.inner):
        yield from _numbered(inner, f"{name}_{number}", name)


def _label(text: str) -> str:
    """What a quoted label holds: quotes, brackets and entities go in as numbers, so they come out as themselves."""
    text = plain(text, LABEL)
    head = _LIST.match(text)
    begins = head.end() if head else 0
    return "".join(
        each if _PLAIN.fullmatch(each) and at >= begins else f"#{ord(each)};" for at, each in enumerate(text)
    )
