"""Take secrets out of text before anybody else can read it: reports, records, lines on the terminal.

What counts as a secret: the value of a variable of this process whose name says so, a key in the form of a service that
is known, the password of a URL, and what is assigned to such a name where no person would have written it. Anything
else stays: a mask where none belongs hides evidence.
"""

from __future__ import annotations

import functools
import os
import re
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from verifygate.base.secret_forms import found, is_example

if TYPE_CHECKING:
    from pydantic import BaseModel

M = TypeVar("M", bound="BaseModel")
MASK = "(secret)"
SHORTEST = 8
"""Of a variable's value: shorter ones are words that stand everywhere."""
SURE = 16
"""From here on a value need not look random."""
_NAMED = r"(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|PAT|(?:API|ACCESS|PRIVATE|SECRET|SIGNING)_?KEY)"
_SECRET_NAME = re.compile(rf"(?:^|_){_NAMED}(?:_ID|_[0-9]+)?$", re.IGNORECASE)
_URL = re.compile(r"(?<=://)([^\s/:@'\"<>]*):([^\s/@'\"<>]+)@")
_ASSIGNED = re.compile(
    r"((?:token|secret|password|passwd|(?:api|access|private|secret)[_-]?key)['\"]?\s?[=:]\s?['\"]?|\bBearer\s)"
    r"([A-Za-z0-9+/_~.=-]{12,})(?![\w+/~.=(\[-])",
    re.IGNORECASE,
)
_CHANGES = re.compile(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
_IN_HTML = {"&": ("&amp;",), "<": ("&lt;",), ">": ("&gt;",), '"': ("&quot;", "&#34;"), "'": ("&#x27;", "&#39;")}
RANDOM_CHANGES = 3
"""Between letters and digits, in what no person wrote; a name such as `layer1_mask2` has fewer."""


def masked(text: str) -> str:
    """The text with `MASK` in place of each secret."""
    return _masked(text, _values(tuple(os.environ.items())))


class MaskedStream:
    """A stream to which no secret is written as text. Bytes go to its buffer as they are: they are somebody's file."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(masked(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _masked(text: str, values: re.Pattern[str] | None) -> str:
    if values is not None:
        text = values.sub(MASK, text)
    if "://" in text:
        text = _URL.sub(rf"\1:{MASK}@", text)
    for secret in sorted({match[1] for _, match in found(text)}, key=len, reverse=True):
        text = text.replace(secret, MASK + "\n" * secret.count("\n"))  # as many lines as before
    return _ASSIGNED.sub(_unless_written, text)


def masked_model(model: M) -> M:
    """The model with every text in it masked; the same object where there is nothing to mask."""
    document = model.model_dump(mode="json", by_alias=True)
    clean = _everywhere(document, _values(tuple(os.environ.items())))
    return model if clean == document else type(model).model_validate(clean)


def _everywhere(value: Any, values: re.Pattern[str] | None) -> Any:
    if isinstance(value, str):
        return _masked(value, values)
    if isinstance(value, dict):
        return {_masked(key, values): _everywhere(each, values) for key, each in value.items()}
    if isinstance(value, list):
        return [_everywhere(each, values) for each in value]
    return value


def _unless_written(match: re.Match[str]) -> str:
    """A value that a person may have written, such as a name, stays."""
    value = match[2]
    is_code = re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", value)  # `key: x25519.X25519PrivateKey`
    looks_random = len(_CHANGES.findall(value)) >= RANDOM_CHANGES and not is_example(value)
    return match[1] + MASK if looks_random and not is_code else match[0]


@functools.lru_cache(maxsize=4)
def _values(environment: tuple[tuple[str, str], ...]) -> re.Pattern[str] | None:
    """What finds the values of the variables whose names say that they are secret; None where there are none."""
    secret = {value.strip() for name, value in environment if _SECRET_NAME.search(name)}
    known = sorted(filter(_is_secret, secret), key=len, reverse=True)
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(_written, known))})(?![A-Za-z0-9])") if known else None


def _written(value: str) -> str:
    """A pattern of all ways in which a value is written: as it is, in Python, JSON, Markdown and HTML, in a URL."""
    return "".join(char if char.isalnum() else _sign(char) for char in value)


def _sign(char: str) -> str:
    other = "".join(f"|{written}" for written in _IN_HTML.get(char, ()))
    return rf"(?:\\*{re.escape(char)}{other}|%{ord(char):02X})"


def _is_secret(value: str) -> bool:
    """Whether it can be told from a word, a number or the path of the file that holds the secret."""
    mixed = re.search(r"[A-Za-z]", value) and re.search(r"[^A-Za-z]", value)
    return len(value) >= SHORTEST and bool(mixed or len(value) >= SURE) and not value.startswith(("/", "~", "./"))
