"""Make text that the project's tests produced fit for a report: no machine's paths, no secrets, no control codes."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

from verifygate.base.masking import masked

CHARACTERS = 300
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_PACKAGE = re.compile(r"[^\s'\"(]*/site-packages/")
_LIBRARY = re.compile(r"[^\s'\"(]*/lib/python3\.\d+/")
_ABSOLUTE = re.compile(r"(?<![\w:/.<>~-])/(?:[^\s/'\",;:()\[\]]+/)+(?=[^\s/'\",;:()\[\]])")
_USER = re.compile(r"\bpytest-of-[^/\s]+")
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


@dataclass(frozen=True)
class Scrubber:
    """Knows the places of this machine that a run can mention."""

    root: Path
    private: Path
    """The run's own temporary folder."""
    _prefixes: tuple[tuple[str, str], ...] = field(init=False)

    def __post_init__(self) -> None:
        known = {str(path): shown for path, shown in self._known()}
        ordered = sorted(known.items(), key=lambda pair: -len(pair[0]))  # the longest first: a root below the home
        object.__setattr__(self, "_prefixes", tuple(ordered))

    def _known(self) -> list[tuple[Path, str]]:
        places = [(self.root, "."), (self.private, "<temp>"), (Path.home(), "~")]
        return [(where, shown) for path, shown in places for where in (path, path.resolve()) if str(where) != "/"]

    def text(self, text: str, limit: int = CHARACTERS) -> str:
        """One line of at most `limit` characters that would read the same on another machine."""
        text = " ".join(self._anywhere(text).split())
        return text if len(text) <= limit else f"{text[: limit - 3]}..."

    def lines(self, text: str) -> str:
        """A whole output, its lines and indentation kept, without what only this machine has."""
        return "\n".join(self._anywhere(line).rstrip() for line in text.splitlines())

    def _anywhere(self, text: str) -> str:
        text = masked(_UNSEEN.sub(" ", text))  # before it is cut: half a secret has no form any more
        for prefix, shown in self._prefixes:
            text = text.replace(f"{prefix}/", f"{shown}/" if shown != "." else "")
            text = re.sub(re.escape(prefix) + r"(?![\w.-])", shown, text)
        text = _PACKAGE.sub("site-packages/", text)
        text = _LIBRARY.sub("python/", text)
        text = _USER.sub("pytest", text)
        text = _ABSOLUTE.sub(".../", text)
        return _ADDRESS.sub("0x...", text)

    def identity(self, identity: str) -> str:
        """A test's id; one that is too long keeps a digest, so that two of them stay two."""
        shown = self.text(identity, limit=len(identity) + CHARACTERS)
        if len(shown) <= CHARACTERS:
            return shown
        return f"{shown[: CHARACTERS - 15]}...{hashlib.sha256(identity.encode('utf-8', 'replace')).hexdigest()[:12]}"

    def path(self, path: str) -> str:
        """The path relative to the root where it lies below it; else a short form that names no machine."""
        inside = self.inside(path)
        return inside if inside is not None else self.text(path)

    def inside(self, path: str) -> str | None:
        """The path relative to the root; None where it lies elsewhere, or in an environment below the root."""
        if not path:
            return None
        try:
            relative = (self.root / path).resolve().relative_to(self.root.resolve())
        except (ValueError, OSError):
            return None
        if "site-packages" in relative.parts or not (self.root / relative).is_file():
            return None
        return relative.as_posix()
