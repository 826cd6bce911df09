"""What the net is knotted of: every program of the tests, and what is expected of each.

A unit is what one analysis looks at: a file or a folder. Labels say which rule has to speak where: in cases/CODE by
`# expect: CODE`, in the three sets of faults by their expect.json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verifygate.sources.discovery import read_sources
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources

TESTS = Path(__file__).parent.parent
SETS = ("cases", "found", "found3", "modern", "others")
_LABELLED = Path(__file__).parent / "cases"
_OTHERS = ("static/programs/right", "projects", "found_in_the_wild", "fix/cases", "execution/cases")
_EXPECT = re.compile(r"#.*\bexpect: (?P<code>[A-Z]+\d+)")
_CODE = re.compile(r"(?:AMP|KEY|PERF)\d{3}")
_OLD = [f"AMP{number}" for number in (*range(101, 111), *range(201, 220), *range(301, 308), *range(401, 406))]
_OLD += ["AMP501", "AMP502", "AMP503", "KEY101", "KEY102", "KEY103", *(f"PERF{number}" for number in range(101, 112))]
WERE_THERE = frozenset(_OLD)
"""Rules that existed when modern/ was written; its labels are met by those that they name, and by any newer one."""
NEWER = "newer"
SLACK = 4
"""Lines by which a finding in modern/ may stand beside the line that its label names."""


@dataclass(frozen=True)
class Label:
    """A finding that is expected: any of the rules, at any of the lines; no lines stand for any.

    A rule may be a pattern (`KEY*`: the one that is meant had no code), or `newer`.
    """

    rules: tuple[str, ...]
    lines: frozenset[int] = frozenset()
    path: str = ""
    """Empty for any file."""


@dataclass(frozen=True)
class Unit:
    """One thing to analyse."""

    set: str
    name: str
    path: Path
    labels: tuple[Label, ...] = ()
    is_right: bool = False
    """No finding that blocks may be told of it."""
    only: str = ""
    """The one rule that the labels are about."""
    names: dict[str, str] = field(default_factory=dict)
    """Names that are put in for placeholders."""

    def sources(self) -> Sources:
        """What is analysed; paths are relative to the folder."""
        if self.path.is_dir():
            return read_sources(self.path, ["."])
        if not self.names:
            return read_sources(self.path.parent, [self.path.name])
        text = self.path.read_text("utf-8")
        for old, new in self.names.items():
            text = re.sub(rf"\b{re.escape(old)}\b", new, text)
        return Sources([SourceFile(self.path.name, text.encode())])


def units() -> list[Unit]:
    """All of them, in the order of sets and names."""
    return [*_cases(), *_faults("found"), *_faults("found3"), *_modern(), *_others()]


def _cases() -> Iterator[Unit]:
    for path in sorted((TESTS / "static/cases").glob("*/*")):
        code, folder = path.parent.name, path if path.is_dir() else path.parent
        labels = [
            Label((mark["code"],), frozenset({number}), file.relative_to(folder).as_posix())
            for file in (sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path])
            for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
            if (mark := _EXPECT.search(line))
        ]
        yield Unit("cases", f"{code}/{path.name}", path, tuple(labels), path.name.startswith("good_"), code)


def _faults(name: str) -> Iterator[Unit]:
    """An entry for each way of asking; those that a run or a fix answers are analysed as well, without labels."""
    entries: list[dict[str, Any]] = json.loads((_LABELLED / name / "expect.json").read_text("utf-8"))
    for entry in entries:
        path, put = _LABELLED / name / entry["input"], entry.get("replace", {})
        labels = [
            Label((want["rule"], *want.get("also_rules", ())), frozenset({want["line"], *want.get("also_lines", ())}))
            for want in entry["want"]
        ]
        static = entry["witness"] == "static"
        shown = entry["input"] + "".join(f" {old}={new}" for old, new in put.items())
        shown += "" if static else f" ({entry['witness']})"
        yield Unit(name, shown, path, tuple(labels) if static else (), static and not labels, names=put)


def _modern() -> Iterator[Unit]:
    entries: list[dict[str, Any]] = json.loads((_LABELLED / "modern/expect.json").read_text("utf-8"))
    for entry in sorted(entries, key=lambda each: (each["way"], each["name"])):
        name = f"{entry['way']}/{entry['name']}"
        near = frozenset(line + off for line in entry["lines"] for off in range(-SLACK, SLACK + 1))
        labels = (Label((*_CODE.findall(entry["expected"]), NEWER), near),) if entry["faulty"] else ()
        yield Unit("modern", name, _LABELLED / "modern" / name, labels, not entry["faulty"])


def _others() -> Iterator[Unit]:
    for folder in _OTHERS:
        for path in sorted((TESTS / folder).iterdir()):
            if path.suffix == ".py" or (path.is_dir() and any(path.rglob("*.py")) and path.name != "__pycache__"):
                yield Unit("others", f"{folder}/{path.name}", path, is_right=folder.endswith("right"))
    yield Unit("others", "reference_impl", TESTS.parent / "reference_impl", is_right=True)
