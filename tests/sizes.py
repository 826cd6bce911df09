"""How large verifygate is, by part: `python tests/sizes.py` prints it exactly, `docs/about.md` has it in thousands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent


class Part(NamedTuple):
    """A part of the package, and the tests that hold it."""

    what: str
    folders: tuple[str, ...]
    tests: tuple[str, ...]


PARTS = (
    Part("the rules (with the tests of the analysis below)", ("static/rules", "static/idioms"), ("static",)),
    Part("the static analysis below them", ("static",), ("golden", "twin")),
    Part("the recorder, emulated CUDA (with the tests of the execution stage)", ("instrument",), ("execution",)),
    Part("the execution stage: tests, oracles, probe", ("execution", "programs", "process"), ("process",)),
    Part("performance", ("performance",), ("performance",)),
    Part("requirements", ("requirements",), ("requirements",)),
    Part("security", ("security",), ("security",)),
    Part("precision in the settings of frameworks", ("configured_precision",), ("configured_precision",)),
    Part("fixes and mutants", ("fix", "mutation"), ("fix", "mutation")),
    Part("reports and formats", ("report",), ("report",)),
    Part("audit of prose reports", ("claims",), ("claims",)),
    Part("attestation, qualification", ("attestation", "quality"), ("attestation", "qualification")),
    Part("the gate: stages, change, merge, models, commands", (), ()),
)
"""A file belongs to the first part that names a folder above it; the last part has what is left."""


def lines(paths: list[str]) -> int:
    return sum((ROOT / path).read_bytes().count(b"\n") for path in paths)


def tracked(pattern: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", pattern], cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for path in listed.stdout.splitlines() if (ROOT / path).is_file()]


def part_of(path: str, folders: dict[str, Part]) -> Part:
    return next((part for folder, part in folders.items() if path.startswith(f"{folder}/")), PARTS[-1])


class Size(NamedTuple):
    """What a part holds; lines count code, docstrings and empty lines."""

    what: str
    modules: int
    lines: int
    lines_of_tests: int


def sizes() -> list[Size]:
    """Each part, then all of them."""
    modules, tests = tracked("verifygate/*.py"), tracked("tests/*.py")
    tests = [path for path in tests if not re.search(r"/(cases|programs|projects|suites)/", path)]
    of_package = {f"verifygate/{folder}": part for part in PARTS for folder in part.folders}
    of_tests = {f"tests/{folder}": part for part in PARTS for folder in part.tests}
    found = []
    for part in PARTS:
        own = [path for path in modules if part_of(path, of_package) is part]
        held = [path for path in tests if part_of(path, of_tests) is part]
        found.append(Size(part.what, len(own), lines(own), lines(held)))
    return [*found, Size("all", len(modules), lines(modules), lines(tests))]


def table() -> str:
    """The table of `docs/about.md`: thousands of lines."""
    rows = [f"| {each.what} | {_thousands(each.lines)} | {_thousands(each.lines_of_tests)} |" for each in sizes()]
    return "\n".join(["| Part | Lines, in thousands | Lines of its tests, in thousands |", "|---|---|---|", *rows])


def _thousands(count: int) -> str:
    return f"{count / 1000:.0f}" if count >= 500 else "below 1"


def drifted(page: str) -> list[str]:
    """The parts whose size in a page is no longer within a tenth, or a thousand lines; and those that it lacks."""
    found = re.findall(r"^\| ([^|]+) \| (\d+|below 1) \| (\d+|below 1) \|$", page, re.MULTILINE)
    shown = {what: [0 if text == "below 1" else int(text) for text in counts] for what, *counts in found}
    now = {each.what: [each.lines / 1000, each.lines_of_tests / 1000] for each in sizes()}
    away = [
        what
        for what in shown.keys() & now.keys()
        if any(abs(one - two) > max(two / 10, 1.1) for one, two in zip(shown[what], now[what], strict=True))
    ]
    return sorted([*away, *(shown.keys() ^ now.keys())])


def updated(page: str) -> str:
    """The page with the sizes of now in its table, if it has drifted; else as it is, so that few commits change it."""
    if not drifted(page):
        return page
    return re.sub(r"^\| Part \| Lines, in.*\n(?:\|.*\n)*", lambda _: f"{table()}\n", page, flags=re.MULTILINE)


def main() -> int:
    """Print the exact table, and the totals of what else there is."""
    print("| Part | Modules | Lines | Lines of its tests |\n|---|---|---|---|")
    for each in sizes():
        print(f"| {each.what} | {each.modules} | {each.lines:,} | {each.lines_of_tests:,} |")
    pages = tracked("verifygate/docs/*.md")
    cases = len(tracked("tests/static/cases/*"))
    print(f"\n{len(pages)} pages with {lines(pages):,} lines; {cases} files of rule cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
