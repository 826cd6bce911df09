"""One input of a fuzz target: bytes that hold one file or several; and how they are changed at random.

An input is what a person could have written, so that a kept one can be read: files follow each other below lines
`#--- path`. What stands before the first such line is a file whose name the target gives.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

MARK = b"#--- "
MAX_BYTES = 16 * 1024
_MARK_LINE = re.compile(rb"^#--- ([\w./-]{1,60})\n", re.MULTILINE)
_WORD = re.compile(rb"[A-Za-z_]\w*|\d+|[^\w\s]")


def files_in(data: bytes, first: str) -> dict[str, bytes]:
    """Path -> content. A path that leaves the folder, or stands twice, is given no file of its own."""
    files: dict[str, bytes] = {}
    name, start = first, 0
    for mark in _MARK_LINE.finditer(data):
        path = mark[1].decode()
        if path in files or path == name or path.startswith(("/", ".")) or "/." in path or "//" in path:
            continue
        if start or mark.start():
            files[name] = data[start : mark.start()]
        name, start = path, mark.end()
    files[name] = data[start:]
    return files


def mutated(data: bytes, random: Random, words: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    """The input after a few changes: of lines, of words, of bytes. `others` are inputs to take lines from."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 5))):
        change = random.choice(_CHANGES)
        data = change(data, random, words, others)
    return data[:MAX_BYTES]


def _lines(data: bytes, random: Random, _words: Sequence[bytes], _others: Sequence[bytes]) -> bytes:
    """Drop, double, swap or move a few lines, or their indentation."""
    lines = data.split(b"\n")
    at = random.randrange(len(lines))
    end = min(len(lines), at + random.randrange(1, 4))
    to = random.randrange(len(lines))
    match random.randrange(6):
        case 0:
            del lines[at:end]
        case 1:
            lines[at:at] = lines[at:end]
        case 2:
            lines[at], lines[to] = lines[to], lines[at]
        case 3:
            moved = lines[at:end]
            del lines[at:end]
            lines[to:to] = moved
        case 4:
            lines[at:end] = [b"    " + line for line in lines[at:end]]
        case _:
            lines[at:end] = [line.removeprefix(b"    ") for line in lines[at:end]]
    return b"\n".join(lines)


def _taken(data: bytes, random: Random, _words: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    """A few lines of another input put in."""
    if not others:
        return data
    lines, from_lines = data.split(b"\n"), random.choice(others).split(b"\n")
    at, first = random.randrange(len(lines) + 1), random.randrange(len(from_lines))
    lines[at:at] = from_lines[first : first + random.randrange(1, 8)]
    return b"\n".join(lines)


def _word(data: bytes, random: Random, words: Sequence[bytes], _others: Sequence[bytes]) -> bytes:
    """One word is another one, is gone, or stands twice."""
    found = list(_WORD.finditer(data))
    if not found:
        return data + random.choice(words)
    here = random.choice(found)
    new = random.choice((random.choice(words), random.choice(found)[0], b"", here[0] * 2))
    return data[: here.start()] + new + data[here.end() :]


def _byte(data: bytes, random: Random, words: Sequence[bytes], _others: Sequence[bytes]) -> bytes:
    """A byte or a few are others, or gone."""
    at = random.randrange(len(data) + 1)
    size = random.choice((0, 1, 1, 2, 8))
    odd = (b"\0", b"\t", b"\f", b"\r", b"\\\n", b'"""', b"'", b"(", b"#", b"\xff", "ü\u2028\u202e".encode(), b"\x1b[2J")
    new = random.choice((random.choice(odd), random.choice(words), bytes([random.randrange(256)]), b""))
    return data[:at] + new + data[at + size :]


_CHANGES = (_lines, _lines, _taken, _word, _word, _byte)
