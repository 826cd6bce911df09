"""A project that is read once and kept: its files on disk, and above them the texts that stand in an editor.

`Project.look` answers as `verifygate check` in the project's folder would if every text was saved; where one cause has
several locations, each is a finding. A text that is broken while it is written says nothing about the other files: they
are judged by the last text that could be parsed.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from verifygate.base.cpu_time import Timings
from verifygate.check.run import report_of
from verifygate.check.settings import Judged, judged
from verifygate.config.locate import find
from verifygate.config.rule_selection import RuleSelection
from verifygate.config.tree_versions import versions_of_tree
from verifygate.fix.draft import Draft
from verifygate.fix.single import proven_draft
from verifygate.model import Finding
from verifygate.model.check_report import CheckReport
from verifygate.sources.discovery import is_walked, read_sources
from verifygate.sources.file import SourceFile
from verifygate.sources.tree import Sources
from verifygate.static.engine import Means, analyse
from verifygate.static.syntax.parser import UnparsableError, parse


class OutdatedError(Exception):
    """The texts have changed: nobody waits for this answer any more."""


@dataclass(frozen=True)
class Text:
    """A text in an editor, with the version that the editor gave it."""

    version: int | None
    text: str


@dataclass(frozen=True)
class Answer:
    """What an analysis of the project says."""

    sources: Sources
    report: CheckReport
    broken: Mapping[str, str]
    """Path of a text that cannot be parsed -> why."""
    versions: Mapping[str, int | None]
    """Path of each text -> its version."""
    selection: RuleSelection
    scan: Callable[[Sources, Timings], CheckReport]
    """The analysis that gave the answer, for other texts."""
    drafts: dict[Finding, Draft | None] = field(default_factory=dict)
    """What `proven_draft` has said."""

    def findings(self, path: str) -> list[Finding]:
        """The findings of one file; none of a broken text: the lines of the last good one mean nothing there."""
        return [each for each in self.report.findings if each.path == path and path not in self.broken]

    def proven_draft(self, finding: Finding, is_outdated: Callable[[], bool] = lambda: False) -> Draft | None:
        """The safe fix of a finding, if a new scan proves it. Raises OutdatedError where nobody waits for it."""
        if finding not in self.drafts:
            timings = _Interruptible(is_outdated)
            self.drafts[finding] = proven_draft(
                finding, self.sources, self.report, lambda sources: self.scan(sources, timings), self.selection
            )
        return self.drafts[finding]


class Project:
    """One folder that is open in an editor, or one file of a folder that is not. Only one thread may use it."""

    def __init__(self, root: Path, only: str = "") -> None:
        self.root = root
        self._only = only
        """The file that is all of the project; empty where everything below the root is."""
        self._disk: Sources | None = None
        self._settings = Judged()
        self._good: dict[str, SourceFile] = {}
        """The last text of each open file that could be parsed."""

    def read_again(self) -> None:
        """Read the configuration and the files anew. What has not changed keeps what is known of it.

        Raises UsageError for a configuration that cannot be read; the one from before stays in force.
        """
        before = self._disk
        config = find(self.root)
        self._settings = judged(config, self.root, cached=False) if config is not None else Judged()
        named = (self._only or ".",) if (self.root / self._only).exists() else ()
        now = read_sources(self.root, named, self._settings.exclusion, confined=False)
        kept = (_as_before(file, before) for file in now)
        self._disk = Sources(kept, now.unreadable, now.configuration)

    def look(self, texts: Mapping[str, Text], is_outdated: Callable[[], bool] = lambda: False) -> Answer:
        """Analyse the project with these texts, by path, in place of what lies on the disk.

        Raises OutdatedError as soon as nobody waits for the answer.
        """
        if self._disk is None:
            self.read_again()
        assert self._disk is not None  # noqa: S101 - it was just read
        own = {path: text for path, text in texts.items() if self._holds(path)}
        broken: dict[str, str] = {}
        files = {file.path: file for file in self._disk}
        self._good = {path: file for path, file in self._good.items() if path in own}
        for path, text in own.items():
            files[path] = self._overlaid(path, text.text, files.get(path), broken)
        sources = Sources(files.values(), self._disk.unreadable, self._disk.configuration)
        choice = self._settings.written.allowing(versions_of_tree(sources.paths, self.root))

        def scan(of: Sources, timings: Timings) -> CheckReport:
            return report_of(analyse(of, choice, with_constructs=False, merged=False, means=Means(timings=timings)))

        report = scan(sources, _Interruptible(is_outdated))
        versions = {path: text.version for path, text in own.items()}
        return Answer(sources, report, broken, versions, choice, scan)

    def _holds(self, path: str) -> bool:
        return self._only in ("", path) and is_walked(self.root, path, self._settings.exclusion)

    def _overlaid(self, path: str, text: str, on_disk: SourceFile | None, broken: dict[str, str]) -> SourceFile:
        """The file to analyse for a text: the text, or where it is broken the last one that was not."""
        data = _bytes_of(text)
        last = self._good.get(path, on_disk)
        if last is not None and last.data == data and path in self._good:
            return last
        file = on_disk if on_disk is not None and on_disk.data == data else SourceFile(path, data)
        try:
            parse(file, slims=False)
        except UnparsableError as error:
            broken[path] = str(error)
            return last or file
        file.parses = True
        self._good[path] = file
        return file


class _Interruptible(Timings):
    """Ends an analysis between two of its parts, once nobody waits for it."""

    def __init__(self, is_outdated: Callable[[], bool]) -> None:
        super().__init__(on=False)
        self._is_outdated = is_outdated

    def part(self, name: str) -> AbstractContextManager[None]:
        if self._is_outdated():
            raise OutdatedError(name)
        return nullcontext()


def _as_before(file: SourceFile, before: Sources | None) -> SourceFile:
    """The file that was read before, where it has the same bytes: what was computed from them is kept."""
    old = before.get(file.path) if before is not None else None
    return old if old is not None and (old.data, old.twin) == (file.data, file.twin) else file


def _bytes_of(text: str) -> bytes:
    """A text as it would be saved: in the encoding that its own comment names (PEP 263)."""
    plain = text.encode("utf-8", "surrogatepass")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(plain).readline)
        return plain if encoding == "utf-8" else text.encode(encoding)
    except (SyntaxError, UnicodeError, LookupError):
        return plain  # the analysis says what is wrong with it
