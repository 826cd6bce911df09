"""Read the configuration of a project: every setting of a precision, with its line and with what names its file."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator
from functools import cached_property

from verifygate.base.records import record, replace
from verifygate.configured_precision.commands import commands_in
from verifygate.configured_precision.document import DocumentError, Item, parse
from verifygate.configured_precision.drivers import Driver, Drivers
from verifygate.configured_precision.hydra import OPEN, NotComposed, composed
from verifygate.configured_precision.setting import Setting
from verifygate.configured_precision.shapes import settings_in
from verifygate.sources.configuration_file import SCRIPTS, ConfigurationFile
from verifygate.sources.tree import Sources

MAX_FILES = 200
MAX_BYTES = 2 * 1024 * 1024
"""What is parsed of one project at most."""
_TRAINS = (b"torch", b"lightning", b"accelerate", b"transformers", b"deepspeed")
_NAMED = re.compile(rb"[\w./${}-]*\.(?:ya?ml|json|toml)\b")
_SUFFIXES = (b".yaml", b".yml", b".json", b".toml")


@record
class Unread:
    """A file, or a part of one, that could not be followed."""

    path: str
    line: int
    reason: str


class ConfiguredPrecision:
    """The settings in the files beside some sources; nothing is read before something asks."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._documents: dict[str, Item | None] = {}
        self.unread: list[Unread] = []

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """Every setting, by path and line; empty where no source trains."""
        files = self._files
        if not files:
            return ()
        found: list[Setting] = []
        for file in files:
            document = self._document(file.path)
            if document is not None:
                found += settings_in(document, file.path)
        commands = [each for file in self._scripts for each in commands_in(file, self._sources)]
        found = self._with_reach(found, [(each.program, each.line, each.files) for each in commands])
        found = list(self._as_launched(found))
        found += [setting for each in commands for setting in each.settings]
        return tuple(sorted(found, key=lambda each: (each.path, each.line, each.key)))

    def of(self, framework: str, path: str, programs: Collection[str]) -> list[Setting]:
        """The settings for a framework that concern a source, which runs in these programs.

        They are those in files that one of the programs names; else those in files that nothing names, and that lie
        beside the source, above it, or in a folder there that holds no source.
        """
        told = [each for each in self.settings if each.framework == framework]
        named = [each for each in told if any(program in programs for program in each.programs)]
        return named or [each for each in told if not each.programs and self._lies_near(each.path, path)]

    def _lies_near(self, path: str, source: str) -> bool:
        folder = posixpath.dirname(path)
        around = [folder] if folder in self._folders else [folder, posixpath.dirname(folder)]
        return any(source.startswith(f"{each}/" if each else "") for each in around)

    @cached_property
    def _folders(self) -> frozenset[str]:
        """The folders that hold a source."""
        return frozenset(file.folder for file in self._sources)

    # -- files -------------------------------------------------------------------------------------------------

    @cached_property
    def _files(self) -> list[ConfigurationFile]:
        """The files that may set a precision, those nearest to the root first, within what is read at most."""
        if not self._sources.configuration or not (train(self._sources) or self.drivers):
            return []
        files = sorted(self._sources.configuration, key=lambda each: (each.path.count("/"), each.path))
        naming = [each for each in files if not each.is_test and each.mentions_precision]
        kept: list[ConfigurationFile] = []
        size = 0
        for each in naming:
            size += len(each.data)
            if len(kept) == MAX_FILES or size > MAX_BYTES:
                reason = f"only the first {len(kept)} of {len(naming)} files that name a precision are read"
                self.unread.append(Unread(each.path, 1, reason))
                break
            kept.append(each)
        return kept

    @cached_property
    def _scripts(self) -> list[ConfigurationFile]:
        return [each for each in self._files if each.is_script]

    def _document(self, path: str) -> Item | None:
        """The document at a path; None where there is none that can be read."""
        if path not in self._documents:
            file = self._by_path.get(path)
            self._documents[path] = None
            if file is not None and not file.is_script and file.data:
                try:
                    self._documents[path] = parse(file.data.decode("utf-8-sig", "replace"), file.suffix)
                except DocumentError as error:
                    self.unread.append(Unread(path, error.line, f"cannot be read as configuration: {error}"))
        return self._documents[path]

    def _document_and_bytes(self, path: str) -> tuple[Item, bytes] | None:
        document = self._document(path)
        return (document, self._by_path[path].data) if document is not None else None

    @cached_property
    def _by_path(self) -> dict[str, ConfigurationFile]:
        return {file.path: file for file in self._sources.configuration}

    @cached_property
    def drivers(self) -> list[Driver]:
        """The configurations that are programs of their own."""
        return Drivers.of(self._sources).all()

    # -- what names them ---------------------------------------------------------------------------------------

    def _with_reach(self, found: list[Setting], commands: list[tuple[str, int, tuple[str, ...]]]) -> list[Setting]:
        """The settings, each with what names its file: Hydra's composition, a source, a command, another file."""
        paths = {each.path for each in found}
        reach: dict[str, tuple[str, tuple[str, ...]]] = {}
        dropped: set[tuple[str, str]] = set()
        for path, place, program in self._composed(found, dropped):
            reach.setdefault(path, (f"composed by {place}", (program,)))
        for path, place, program in self._named(paths):
            known = reach.get(path)
            if known is None:
                reach[path] = (f"named at {place}", (program,))
            elif program not in known[1]:
                reach[path] = (known[0], (*known[1], program))
        for program, line, names in commands:
            for path in self._matching(names, paths) if program else ():
                reach.setdefault(path, (f"on the command line that starts {program}, line {line}", (program,)))
        for each in found:
            if each.aspect == "file" and each.path in reach:
                for path in self._matching((each.value,), paths):
                    reach.setdefault(path, (f"named at {each.path}:{each.line}", reach[each.path][1]))
        given = [each for each in found if (each.path, each.key) not in dropped and each.aspect != "file"]
        return [_reached(each, *reach.get(each.path, ("", ()))) for each in given]

    def _as_launched(self, found: list[Setting]) -> Iterator[Setting]:
        """The settings that some command line leaves as they are which launches their file; and which line does."""
        launches: dict[str, list[Driver]] = {}
        for each in self.drivers:
            if each.launched is not None:
                launches.setdefault(each.path, []).append(each)
        for setting in found:
            theirs = [each for each in launches.get(setting.path, ()) if setting.key not in each.overridden]
            if setting.path in launches and not theirs:
                continue
            place = next((each.launched for each in theirs if not each.unsure), None)
            if setting.reach or place is None:
                yield setting
            else:
                yield replace(setting, reach=f"launched at {place[0]}:{place[1]}")

    def _composed(self, found: list[Setting], dropped: set[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
        """The files that Hydra takes in, and of their settings those that a later one overrides, in `dropped`."""
        by_path: dict[str, list[Setting]] = {}
        for each in found:
            by_path.setdefault(each.path, []).append(each)
        for source in self._sources:
            last: dict[str, Setting] = {}
            for part in composed(source, self._document_and_bytes):
                if isinstance(part, NotComposed):
                    if part.why == OPEN:
                        self.unread.append(Unread(part.path, part.line, part.reason))
                    continue
                yield part.path, part.place, source.path
                for setting in by_path.get(part.path, ()):
                    key = ".".join((*part.group, setting.key))
                    if (earlier := last.get(key)) is not None:
                        dropped.add((earlier.path, earlier.key))
                    last[key] = setting

    def _named(self, paths: set[str]) -> Iterator[tuple[str, str, str]]:
        """The files that sources name: (path of the file, `source:line`, path of the source)."""
        if not any(not path.endswith(SCRIPTS) for path in paths):
            return
        for source in self._sources:
            if source.is_test or not any(suffix in source.data for suffix in _SUFFIXES):
                continue
            for hit in _NAMED.finditer(source.data):
                name = hit[0].decode("ascii", "replace")
                for path in self._matching((name,), paths, source.folder):
                    if source.is_code(hit.start()):
                        line = source.data.count(b"\n", 0, hit.start()) + 1
                        yield path, f"{source.path}:{line}", source.path

    def _matching(self, names: tuple[str, ...], paths: set[str], folder: str = "") -> list[str]:
        """The files that a name may be: the one from that folder or from the root, else the only one that ends so."""
        found = []
        for name in names:
            text = re.sub(r"^(?:\$\{?\w+\}?/|\.{1,2}/)+", "", name)
            here = [posixpath.normpath(posixpath.join(base, name)) for base in (folder, "")]
            exact = next((path for path in here if path in paths), None)
            ending = [path for path in paths if path == text or path.endswith("/" + text)]
            if exact is not None:
                found.append(exact)
            elif len(ending) == 1:
                found += ending
        return found


def _reached(setting: Setting, reach: str, programs: tuple[str, ...]) -> Setting:
    return replace(setting, reach=reach, programs=programs) if reach else setting


def train(sources: Sources) -> bool:
    """Whether a source names a framework that trains."""
    return any(word in file.data for file in sources for word in _TRAINS)
