"""Prefilter: select the files and definitions that the rules have to see, by their bytes. Most are never parsed.

A file is selected for one of three reasons. It contains a word of a rule. It calls a function that contains AMP code,
or derives from a class that does: what it overrides runs inside that code. Or it contains what a rule looks for beside
AMP code, and the project has AMP code for which that matters. Of a file that trains, and of a small one, rules see
everything; of any other, the module's body and the top-level definitions that contain a word, with the functions that
mention them. Whatever a definition calls is parsed when it is evaluated.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from verifygate.base.fixpoint import fixpoint
from verifygate.sources.byte_patterns import Alternatives
from verifygate.sources.file import SourceFile
from verifygate.sources.outline import Span
from verifygate.sources.tree import Sources
from verifygate.static.contract import calls as contract_calls
from verifygate.static.facts import delegation, silent_scale_reads
from verifygate.static.rule import LoadedRule
from verifygate.static.symbols.program import Picked

_CORE = (b"autocast", b"GradScaler", b"unscale_")
"""What a file that does AMP itself names."""
_FACTS = tuple(word.encode() for word in (*delegation.WORDS, *silent_scale_reads.WORDS, *contract_calls.WORDS))
"""What a file names of which the report tells, whichever rules are selected."""
_IN_A_TRAINER = (b"GradScaler", b"unscale_", b".backward(")
"""What a class names that trains, in a file that does AMP."""
_TRAINS = (b"GradScaler", b"unscale_", b".backward(", b".step(")
"""What a file that trains names."""
_SHARED = (b".amp", b"import amp", b"caler", b"torch.float16", b"TrainingArguments(", b"backward", b"half")
"""What several words hold: a file without it is not searched for any of them."""
_SMALL = 20_000
"""Bytes, of some five hundred lines."""
_PAYS = 100
"""From so many words on that are looked for in one file, all of its words are noted once."""
_DEFINED = re.compile(rb"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_MADE = re.compile(rb"(?:    )?(\w+)[ \t]*=[^\n=]*\b(?:autocast|GradScaler)\b")
_LETTER = re.compile(rb"\w")
_WORD = re.compile(rb"\w+")
_OF_IMPORT = re.compile(rb"[ \t]*(?:from|import)\b|[\s\w.,()]*$")
_ALIASED = re.compile(rb"([\w.]+)(?:\s+as\s+(\w+))?")
_BOUND = re.compile(rb"[ \t]*(\w+)[ \t]*(?::[^=\n]*)?=(?!=)")
_BASES = re.compile(rb"[^:#]*(?:#[^\n]*[^:#]*)*")
_HEIR = re.compile(rb"^[ \t]*class[ \t]+(\w+)[ \t]*\(([^:]*)\)[ \t]*:", re.MULTILINE)
_GLOBAL = re.compile(rb"^[ \t]+global[ \t]+([\w, \t]+)", re.MULTILINE)
_HANDED_OUT = re.compile(rb"^(?![ \t]*(?:async[ \t]+)?(?:with\b|@)).*(?:\bautocast\b[ \t]*\(|\byield\b)", re.MULTILINE)
"""A region that is not entered where it is made, or whose function pauses in it: it covers what others do."""


class Prefilter:
    """Picks for one set of files and one of rules."""

    def __init__(self, sources: Sources, loaded: Iterable[LoadedRule]) -> None:
        self._sources = sources
        self._rules = list(loaded)
        words = {word.encode() for each in self._rules for word in each.rule.words}.union(_CORE, _FACTS)
        holding = {part: [file for file in sources if part in file.data] for part in _SHARED}
        self._words = {
            word: {file.path for file in _fewest(word, holding, sources) if file.in_code(word)}
            for word in sorted(words)
        }
        """Word -> paths of the files that hold it."""
        self._beside: set[str] = set()
        """The codes of the rules that are about something beside AMP code, which is there."""

    @property
    def idle(self) -> frozenset[str]:
        """The codes of the rules that have nothing to look at: no file that was picked names what they are about."""
        rules = (each.rule for each in self._rules if not each.rule.words or not self._has_a_word_of(each))
        return frozenset(rule.code for rule in rules if rule.code not in self._beside)

    def named(self) -> Picked:
        """What to look at for the words in it, and for calls of AMP code, by path in order."""
        core = set().union(*(self._words[word] for word in _CORE))
        files = [file for file in self._sources if file.path in core]
        heirs = _Heirs(files)
        while sum(map(heirs.takes_in, self._sources)):
            pass  # those that derive from an heir are heirs as well
        callers = _Callers(files, heirs)
        picked: dict[str, frozenset[str] | None] = {}
        for file in self._sources:
            words = [word for word, paths in self._words.items() if file.path in paths]
            if found := words or callers.called(file):
                picked[file.path] = _Definitions(file).that_hold(found)
        return picked

    def beside(self, matters: Callable[[LoadedRule], bool]) -> Picked:
        """What to look at beside AMP code, by path in order, for the rules to which it matters."""
        patterns = {
            each.rule.code: tuple(Alternatives(part) for part in each.rule.beside)
            for each in self._rules
            if each.rule.beside and self._has_a_word_of(each) and matters(each)
        }
        picked: dict[str, frozenset[str] | None] = {}
        for file in self._sources:
            found = {code: parts for code, parts in patterns.items() if all(_in_code(each, file) for each in parts)}
            if found:
                self._beside |= found.keys()
                picked[file.path] = _Definitions(file).that_match(list(found.values()))
        return picked

    def _has_a_word_of(self, loaded: LoadedRule) -> bool:
        """Whether any file has a word of a rule; a rule without words goes by its patterns alone."""
        words = loaded.rule.words
        return not words or any(self._words[word.encode()] for word in words)


def _fewest(word: bytes, holding: dict[bytes, list[SourceFile]], sources: Iterable[SourceFile]) -> Iterable[SourceFile]:
    """The files that a word may stand in."""
    return min((files for part, files in holding.items() if part in word), key=len, default=sources)


def _offsets(data: bytes, word: bytes, *, whole_word: bool = False) -> Iterator[int]:
    """Where a word stands: a plain search is ten times as fast as a pattern."""
    at = data.find(word)
    while at != -1:
        end = at + len(word)
        if not (whole_word and (_is_letter(data, at - 1) or _is_letter(data, end))):
            yield at
        at = data.find(word, end)


def _is_letter(data: bytes, offset: int) -> bool:
    return offset >= 0 and _LETTER.match(data, offset) is not None


def _in_code(pattern: Alternatives, file: SourceFile) -> bool:
    return any(file.is_code(offset) for offset in pattern.offsets(file.data))


def _has(data: bytes, parts: tuple[Alternatives, ...]) -> bool:
    return all(each.found_in(data) for each in parts)


def _is_looked_at_whole(file: SourceFile) -> bool:
    """Whether anything in a file may have to do with anything else there: it trains, or is small."""
    data = file.data
    return len(data) < _SMALL or any(file.in_code(word) for word in _TRAINS) or _scales(file)


def _scales(file: SourceFile) -> bool:
    return b"optimizer" in file.data and file.in_code(b"scaler")


class _Words:
    """Where whole words stand in a file. Searching it for each of thousands of names would take time by its square."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._searches = 0
        self._noted: dict[bytes, list[int]] = {}

    def offsets(self, word: bytes) -> Iterable[int]:
        """Where a word stands, in order."""
        self._searches += 1
        if self._searches <= _PAYS or not _WORD.fullmatch(word):
            return _offsets(self._data, word, whole_word=True)
        if not self._noted:
            for found in _WORD.finditer(self._data):
                self._noted.setdefault(found[0], []).append(found.start())
        return self._noted.get(word, ())


class _Definitions:
    """The definitions at the top level of a file, by number, and what stands in them; -1 is all that is between."""

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._data = file.data
        self._words = _Words(file.data)
        self._spans = () if _is_looked_at_whole(file) else file.definitions
        self._whole = not self._spans
        self._starts = [span.start for span in self._spans]

    def that_hold(self, words: list[bytes]) -> frozenset[str] | None:
        """The names of those that hold a word, or what an import with one is called; None for the whole file."""
        if self._whole:
            return None
        offsets = [offset for word in words for offset in _offsets(self._data, word)]
        between = [offset for offset in offsets if self._number(offset) == -1]
        if any(self._is_code(offset) for offset in between):
            return None  # what stands in no definition may be used in any
        if between:
            offsets += self._uses(lambda text: any(word in text for word in words), between)
        return self._with_what_mentions({self._number(offset) for offset in offsets})

    def that_match(self, patterns: list[tuple[Alternatives, ...]]) -> frozenset[str] | None:
        """The names of those in which, with what stands between all, every part of a pattern is found."""
        if self._whole:
            return None
        found: set[int] = set()
        for parts in patterns:
            offsets = [list(filter(self._file.is_code, each.offsets(self._data))) for each in parts]
            hits = [{self._number(offset) for offset in each} for each in offsets]
            if all(-1 in hit for hit in hits):  # an import, say
                between = [offset for offset in min(offsets, key=len) if self._number(offset) == -1]
                uses = self._uses(partial(_has, parts=parts), between)
                if not uses and set.union(*hits) == {-1}:
                    return None
                found |= {self._number(offset) for offset in uses}
            everywhere = [hit if -1 not in hit else set(range(len(self._spans))) for hit in hits]
            found |= set.intersection(set.union(*hits), *everywhere) | min(hits, key=len)
        return self._with_what_mentions(found)

    def _with_what_mentions(self, numbers: set[int]) -> frozenset[str]:
        found = fixpoint(numbers - {-1}, self._mentioning)
        return frozenset(self._spans[number].name.decode() for number in found)

    def _mentioning(self, defined: int) -> Iterator[int]:
        """The definitions that mention one; of a class that makes no region for others, those that derive from it."""
        span = self._spans[defined]
        matters = span.kind != "class" or self._hands_out(span)
        for name in (span.name, *self._set_for_all(span)):
            for offset in self._words.offsets(name):
                number = self._number(offset)
                if number == -1:
                    continue
                if matters or name is not span.name or offset < self._end_of_bases(self._spans[number]):
                    yield number

    def _set_for_all(self, span: Span) -> Iterable[bytes]:
        """The names of the module that a definition binds."""
        if self._data.find(b"global ", span.start, span.end) == -1:
            return ()
        return {name for hit in _GLOBAL.finditer(self._data, span.start, span.end) for name in _WORD.findall(hit[1])}

    def _end_of_bases(self, span: Span) -> int:
        """Where the colon stands that ends the first line, or lines, of a definition."""
        bases = _BASES.match(self._data, span.head)
        return bases.end() if bases else span.head

    def _hands_out(self, span: Span) -> bool:
        """Whether a class makes a region for others to enter: those that make one of the class matter then."""
        if self._data.find(b"autocast", span.start, span.end) == -1:
            return False
        if self._data.find(b"autocast", span.head, self._end_of_bases(span)) != -1:
            return True
        return _HANDED_OUT.search(self._data, span.head, span.end) is not None

    def _number(self, offset: int) -> int:
        number = bisect_right(self._starts, offset) - 1
        return number if number >= 0 and offset < self._spans[number].end else -1

    def _is_code(self, offset: int) -> bool:
        """Whether a word of AMP does something where it stands: in a line that is no part of an import."""
        if not any(self._data.startswith(word, offset) for word in _CORE):
            return False
        line = self._data[self._data.rfind(b"\n", 0, offset) + 1 : self._data.find(b"\n", offset)]
        return _OF_IMPORT.match(line) is None

    def _uses(self, matches: Callable[[bytes], bool], between: Iterable[int]) -> list[int]:
        """Where something stands that the file imports by a statement that matches, or binds to what stands there."""
        seen: set[int] = set()
        queue = {name for offset in between for name in self._bound(offset, seen)}
        for source, names in self._file.imports:
            for name, alias in _ALIASED.findall(names):
                if matches(b"from %b import %b" % (source, name) if source else b"import %b" % name):
                    queue.add(alias or name)  # `import a.b` binds nothing shorter than what is looked for
        found: dict[bytes, list[int]] = {}
        while queue:
            name = queue.pop()
            found[name] = list(self._words.offsets(name))
            queue |= {
                bound
                for offset in found[name]
                if self._number(offset) == -1
                for bound in self._bound(offset, seen)
                if bound not in found
            }
        return [offset for offsets in found.values() for offset in offsets]

    def _bound(self, offset: int, seen: set[int]) -> Iterator[bytes]:
        """The names to which a statement outside of definitions may bind what stands there.

        Those above a line of `seen`, by offset, were told before: a table of ten thousand lines is gone through once.
        """
        end = offset
        while end > 0:
            start = self._data.rfind(b"\n", 0, end) + 1
            if start in seen:
                return
            seen.add(start)
            if bound := _BOUND.match(self._data, start):
                yield bound[1]
            if self._data[start : start + 1] not in b" \t)]}\n#":
                return
            end = start - 1


class _Imports:
    """Tells which of some names, of top-level functions and classes, a file may reach through its imports."""

    def __init__(self, stems: set[bytes], names: frozenset[bytes]) -> None:
        self._stems = stems
        self._names = names
        self._by_import: dict[tuple[bytes | None, bytes], frozenset[bytes]] = {}

    def add(self, path: str, names: frozenset[bytes]) -> None:
        """Names of one more file."""
        self._stems.add(_stem(path))
        self._names |= names
        self._by_import.clear()

    def by(self, file: SourceFile) -> frozenset[bytes]:
        return frozenset[bytes]().union(*map(self._imported, file.imports))

    def _imported(self, statement: tuple[bytes | None, bytes]) -> frozenset[bytes]:
        """The names of AMP code that a file may reach through an import: many files have the same."""
        found = self._by_import.get(statement)
        if found is None:
            source, names = statement
            known = source is not None and source.rpartition(b".")[2] in self._stems
            if not self._stems.isdisjoint(_WORD.findall(names)) or (known and b"*" in names):
                found = self._names
            elif known:
                found = frozenset(alias or name for name, alias in _ALIASED.findall(names) if name in self._names)
            else:
                found = frozenset()
            self._by_import[statement] = found
        return found


class _Heirs:
    """The classes that derive from one that trains, over any number of files: what they override runs amid AMP code."""

    def __init__(self, core: list[SourceFile]) -> None:
        self._trainers = [(file.path, name) for file in core for name in _names_with(_IN_A_TRAINER, file)]
        self._imports = _Imports({_stem(path) for path, _ in self._trainers}, frozenset(n for _, n in self._trainers))
        self.of: dict[str, frozenset[bytes]] = {}
        """Path -> the names of those in that file."""

    def takes_in(self, file: SourceFile) -> bool:
        """Count the classes of a file that derive from one that trains, in another; whether there are new ones."""
        if b"class " not in file.data or not (imported := self._imports.by(file)):
            return False
        heirs = [hit for hit in _HEIR.finditer(file.data) if imported.intersection(_WORD.findall(hit[2]))]
        known = self.of.get(file.path, frozenset())
        if new := frozenset(hit[1] for hit in heirs) - known:
            self.of[file.path] = known | new
            self._imports.add(file.path, new)
        return bool(new)


class _Callers:
    """Tells the files that call a function or class of other files in which AMP words stand, or an heir."""

    def __init__(self, core: list[SourceFile], heirs: _Heirs) -> None:
        names = frozenset(name for file in core for name in _amp_names(file))
        self._heirs = heirs
        self._imports = _Imports({_stem(file.path) for file in core}, names)
        for path, those in heirs.of.items():
            self._imports.add(path, those)

    def called(self, file: SourceFile) -> list[bytes]:
        """The beginnings of such calls, `name(`; and of such classes that are heirs, `class name`."""
        found = [b"class " + heir for heir in sorted(self._heirs.of.get(file.path, ()))]
        for name in sorted(self._imports.by(file)):
            for use in (name + b"(", b"with " + name + b":") if name in file.data else ():
                if any(not _is_letter(file.data, offset - 1) for offset in _offsets(file.data, use)):
                    found.append(use)
        return found


def _amp_names(file: SourceFile) -> Iterable[bytes]:
    """Top-level functions and classes with AMP words in them, and names that are bound to what has one."""
    data = file.data
    lines = {data.rfind(b"\n", 0, at) + 1 for word in (b"autocast", b"GradScaler") for at in _offsets(data, word)}
    for start in sorted(lines):  # each once: one may hold thousands of them
        if made := _MADE.match(data, start):
            yield made[1]
    yield from _names_with(_CORE, file)


def _names_with(words: tuple[bytes, ...], file: SourceFile) -> Iterable[bytes]:
    """Top-level functions and classes in which one of some words stands."""
    if file.definitions:
        spans = [(span.name, span.head, span.end) for span in file.definitions]
    else:
        heads = list(_DEFINED.finditer(file.data))
        ends = [*(head.start() for head in heads[1:]), len(file.data)]
        spans = [(head[1], head.start(), end) for head, end in zip(heads, ends, strict=False)]
    for name, start, end in spans:
        if any(file.data.find(word, start, end) != -1 for word in words):
            yield name


def _stem(path: str) -> bytes:
    """The last part of the name under which a file is imported."""
    folder, _, name = path.rpartition("/")
    return (folder.rpartition("/")[2] if name == "__init__.py" else name.removesuffix(".py")).encode()
