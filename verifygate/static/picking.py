"""Which files the rules have to look at, told from their bytes: most files of a project are never parsed.

A file is picked for words that it names itself; for what rules look for beside AMP code, where the project has any;
or because it calls a function in which AMP code stands. What a picked file imports is parsed when something asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from verifygate.source import SourceFile, Sources
from verifygate.static import delegated, passive
from verifygate.static.rule import LoadedRule

_CORE = (b"autocast", b"GradScaler", b"unscale_")
"""What a file that does AMP itself names."""
_FACTS = tuple(word.encode() for word in (*delegated.WORDS, *passive.WORDS))
"""What a file names of which the report tells, whichever rules are selected."""
_DEFINED = re.compile(rb"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_WORD = re.compile(rb"\w+")
Alternatives = tuple[re.Pattern[bytes], ...]


def pick(sources: Sources, loaded: Iterable[LoadedRule]) -> list[str]:
    """The paths of the files to look at, sorted."""
    rules = [each.rule for each in loaded]
    words = {word.encode() for rule in rules for word in rule.words}.union(_CORE, _FACTS)
    named = {word: {file.path for file in sources if word in file.data} for word in sorted(words)}
    picked = set().union(*named.values())
    core = set().union(*(named[word] for word in _CORE))
    callers = _Callers([file for file in sources if file.path in core])
    beside = [
        tuple(_alternatives(part) for part in rule.beside)
        for rule in rules
        if rule.beside and any(named[word.encode()] for word in rule.words)
    ]
    left = [file for file in sources if file.path not in picked]
    return sorted(picked | {file.path for file in left if _has_any(file.data, beside) or callers.has(file)})


def _has_any(data: bytes, beside: list[tuple[Alternatives, ...]]) -> bool:
    return any(all(any(each.search(data) for each in part) for part in parts) for parts in beside)


@cache
def _alternatives(pattern: str) -> Alternatives:
    """The alternatives of a pattern, each by itself.

    One that begins with plain text is looked for five times as fast alone as together with others.
    """
    parts, depth, in_set = [""], 0, False
    for piece in re.findall(r"\\.|[^\\]", pattern, re.DOTALL):
        in_set = piece == "[" or (in_set and piece != "]")
        depth += 0 if in_set else (piece == "(") - (piece == ")")
        if piece == "|" and not depth and not in_set:
            parts.append("")
        else:
            parts[-1] += piece
    return tuple(re.compile(part.encode()) for part in parts)


class _Callers:
    """Tells the files that call a function or class of other files in which AMP words stand."""

    def __init__(self, core: list[SourceFile]) -> None:
        self._stems = {_stem(file.path) for file in core}
        self._names = {name for file in core for name in _amp_names(file.data)}

    def has(self, file: SourceFile) -> bool:
        names = [name for name in self._imported(file) if name + b"(" in file.data]
        return any(re.search(rb"\b" + name + rb"\(", file.data) for name in names)

    def _imported(self, file: SourceFile) -> set[bytes]:
        """The names of AMP code that the file may reach through its imports."""
        found: set[bytes] = set()
        for source, names in file.imports:
            words = set(_WORD.findall(names))
            known = source is not None and source.rpartition(b".")[2] in self._stems
            if words & self._stems or (known and b"*" in names):
                return self._names
            found |= words & self._names if known else set()
        return found


def _amp_names(data: bytes) -> Iterable[bytes]:
    """Top-level functions and classes with AMP words in them."""
    heads = list(_DEFINED.finditer(data))
    ends = [*(head.start() for head in heads[1:]), len(data)]
    for head, end in zip(heads, ends, strict=False):
        if any(word in data[head.start() : end] for word in _CORE):
            yield head[1]


def _stem(path: str) -> bytes:
    """The last part of the name under which a file is imported."""
    folder, _, name = path.rpartition("/")
    return (folder.rpartition("/")[2] if name == "__init__.py" else name.removesuffix(".py")).encode()
