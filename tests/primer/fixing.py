"""Apply every safe fix to copies of the packages, and say of each whether the sources are still sound."""

from __future__ import annotations

import ast
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from primer.pins import Pin
from primer.scans import Revision, Scan, run, scan


@dataclass(frozen=True)
class FixResult:
    """What `fix` did to one package."""

    package: str
    gone: dict[str, int] = field(default_factory=dict)
    """Findings that are no longer reported, by rule."""
    refused: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Paths of the files that it changed."""
    unreadable: tuple[str, ...] = ()
    """Changed files that no longer parse."""
    new: tuple[str, ...] = ()
    """Findings that were not there before."""
    unsettled: tuple[str, ...] = ()
    """Files that a second run changed again."""
    broke: str = ""
    """What it printed, where it did not come to its end."""

    @property
    def line(self) -> str:
        """The result in one line."""
        fixed = ", ".join(f"{rule} {number}" for rule, number in self.gone.items()) or "nothing to fix"
        return f"{self.package}: {fixed}; {'sound' if self.sound else 'not sound'}"

    @property
    def sound(self) -> bool:
        return not (self.unreadable or self.new or self.unsettled or self.broke)


def fix_package(pin: Pin, tree: Path, head: Revision) -> FixResult:
    """Fix a copy of a package twice, and check it before and after; one in which nothing can be fixed is left alone."""
    before = scan(head, tree, seed=1)
    if not any(each["fix"] == "safe" for each in before.document["findings"]):
        return FixResult(pin.label, broke=before.ending if before.broke else "")
    with tempfile.TemporaryDirectory(prefix="primer-fix-") as folder:
        copy = Path(folder, "tree")
        shutil.copytree(tree, copy)
        first = run(head, ["fix", "."], copy)
        changed = _differing(tree, copy)
        after = scan(head, copy, seed=1)
        once = Path(folder, "once")
        shutil.copytree(copy, once)
        second = run(head, ["fix", "."], copy)
        return FixResult(
            package=pin.label,
            gone=_gone(before.document["findings"], after.document["findings"]),
            refused=tuple(line for line in first.errors.splitlines() if "not fixed:" in line),
            changed=changed,
            unreadable=tuple(path for path in changed if not _parses(copy / path) and _parses(tree / path)),
            new=_new(before.document["findings"], after.document["findings"]),
            unsettled=_differing(once, copy),
            broke="\n".join(each.ending for each in (first, second, after) if _broke(each)),
        )


def _differing(old: Path, new: Path) -> tuple[str, ...]:
    paths = sorted(path.relative_to(new).as_posix() for path in new.rglob("*.py") if path.is_file())
    return tuple(path for path in paths if (old / path).read_bytes() != (new / path).read_bytes())


def _parses(path: Path) -> bool:
    try:
        ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return False
    return True


def _gone(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> dict[str, int]:
    left = Counter(each["rule"] for each in before)
    left.subtract(each["rule"] for each in after)
    return {rule: number for rule, number in sorted(left.items()) if number > 0}


def _new(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> tuple[str, ...]:
    """Findings of a rule in a file and function that had fewer of that rule before: lines and statements may change."""
    had = Counter((each["rule"], each["path"], each["symbol"]) for each in before)
    found = []
    for each in after:
        place = each["rule"], each["path"], each["symbol"]
        had[place] -= 1
        if had[place] < 0:
            found.append(f"{each['path']}:{each['line']}: {each['rule']} {each['message']}")
    return tuple(found)


def _broke(ended: Scan) -> bool:
    return ended.broke and not ended.output.startswith(b"Fixed:")


def markdown_of(results: list[FixResult]) -> str:
    """The results for a person: the totals, then every package in which something is not sound."""
    gone: Counter[str] = Counter()
    for result in results:
        gone.update(result.gone)
    rows = [
        "# Fixes of the primer",
        "",
        f"- packages: {len(results)}, of which {sum(bool(result.changed) for result in results)} changed",
        f"- files changed: {sum(len(result.changed) for result in results)}",
        f"- findings fixed: {', '.join(f'{rule} {number}' for rule, number in sorted(gone.items())) or 'none'}",
        f"- fixes that were refused: {sum(len(result.refused) for result in results)}",
        f"- packages left unsound: {sum(not result.sound for result in results)}",
    ]
    for result in results:
        if not result.sound:
            rows += ["", f"## {result.package}", ""]
            rows += [f"- no longer parses: {path}" for path in result.unreadable]
            rows += [f"- new: {text}" for text in result.new]
            rows += [f"- changed again by a second run: {path}" for path in result.unsettled]
            rows += [f"- broke: {result.broke}"] if result.broke else []
    return "\n".join(rows) + "\n"
