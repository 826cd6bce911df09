"""What a report is about: task, version, verdict. Two reports are compared only where they are about one thing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from verifygate.claims.markdown import Document, Sentence
from verifygate.claims.places import base_name, places
from verifygate.claims.status import decided

_TASK = re.compile(r"(?<![\w-])(?P<task>[A-Z]{1,6}-?\d{2,6})(?![\w-])")
_NO_TASK = re.compile(r"^(?:FP|BF|INT|UTF|SHA|ISO|RFC|HTTP|CVE|CWE|P|A|H|V|GPT|RTX|MD)-?\d+$")
_VERSION = re.compile(r"(?<![\w.])(?P<version>[vV]\d+(?:\.\d+)*)(?![\w.])")
_COMMIT = re.compile(r"(?<![\w])(?P<commit>[0-9a-f]{7,40})(?![\w])")
_VERSION_LABELS = frozenset({"version", "revision", "release", "iteration"})
_COMMIT_LABELS = frozenset({"commit", "commit hash", "sha", "git commit", "revision"})
_TASK_LABELS = frozenset({"task", "task id", "ticket", "issue", "story", "feature"})
_VERDICT_LABELS = frozenset(
    [
        "decision",
        "verdict",
        "final verdict",
        "overall verdict",
        "final decision",
        "overall status",
        "overall result",
        "final status",
        "recommendation",
        "final recommendation",
        "gate decision",
        "overall recommendation",
        "go/no-go",
        "final result",
    ]
)
_HEAD_LABELS = frozenset({"status", "result", "outcome"})
ENOUGH_SHARED = 2


@dataclass(frozen=True)
class StatedVerdict:
    sentence: Sentence
    passes: bool


class Identity:
    """What one report says it is about."""

    def __init__(self, document: Document) -> None:
        self.document = document

    @property
    def _head(self) -> list[Sentence]:
        """The title, and the lines before the second heading of level 2."""
        tops = [s.line for s in self.document.sections if s.level == 2]
        end = tops[1] if len(tops) > 1 else 10**9
        return [s for s in self.document.sentences if s.line < end]

    @cached_property
    def task(self) -> str:
        labelled = [s.value for s in self._head if s.label in _TASK_LABELS]
        for text in (*labelled, self.document.title):
            for match in _TASK.finditer(text):
                if not _NO_TASK.match(match["task"]):
                    return match["task"]
        return ""

    @cached_property
    def version(self) -> str:
        for sentence in self._head:
            if sentence.label in _VERSION_LABELS and (found := _VERSION.search(sentence.value)):
                return found["version"].lower()
            if sentence.label in _COMMIT_LABELS and (found := _COMMIT.search(sentence.value)):
                return found["commit"]
        found = _VERSION.search(self.document.title)
        return found["version"].lower() if found else ""

    @cached_property
    def cited(self) -> frozenset[tuple[str, int, int]]:
        """Ranges of lines with the file they are in, as far as the report says; ranges of one line say little."""
        return frozenset(
            (base_name(place.path), low, high)
            for place in places(self.document)
            for low, high in place.ranges
            if high > low
        )

    @cached_property
    def verdicts(self) -> tuple[StatedVerdict, ...]:
        return tuple(self._verdicts())

    def _verdicts(self) -> Iterator[StatedVerdict]:
        first = next((s.line for s in self.document.sections if s.level >= 2), 10**9)
        for sentence in self.document.sentences:
            if sentence.role == "row":
                continue
            at_head = sentence.label in _HEAD_LABELS and sentence.line < first
            if sentence.label in _VERDICT_LABELS or at_head:
                passes = decided(sentence.value)
                if passes is not None and not self._conditional(sentence):
                    yield StatedVerdict(sentence, passes)

    def _conditional(self, sentence: Sentence) -> bool:
        """Whether the next line, in brackets, takes half of the verdict back: `(pending ...)`."""
        following = self.document.sentences[sentence.index + 1 : sentence.index + 2]
        return any(each.flat.startswith("(") and each.section == sentence.section for each in following)


def one_thing(first: Identity, second: Identity) -> tuple[bool, str]:
    """Whether two reports are about one state of one thing, and why it looks so; or why that cannot be told."""
    if first.task and second.task and first.task != second.task:
        return False, ""
    named = f"{first.task} " if first.task and first.task == second.task else ""
    commits = len(first.version) >= 7 and first.version == second.version
    if first.version and second.version:
        if first.version != second.version:
            return False, ""
        return (
            (True, f"both are about {named}{first.version}")
            if named or commits
            else (False, "no task is named in both")
        )
    if not named:
        return False, ""
    shared = shared_lines(first, second)
    if len(shared) >= ENOUGH_SHARED:
        which = ", ".join(f"{name + ':' if name else ''}{low}-{high}" for name, low, high in shared[:3])
        return True, f"both are about {named.strip()} and cite the same lines ({which})"
    return False, f"both are about {named.strip()}, but not both name a version"


def shared_lines(first: Identity, second: Identity) -> list[tuple[str, int, int]]:
    """The ranges that both cite; a range whose file is not named can be of any file."""
    found = set()
    for name, low, high in first.cited:
        for other, other_low, other_high in second.cited:
            if (low, high) == (other_low, other_high) and (not name or not other or name == other):
                found.add((name or other, low, high))
    return sorted(found)
