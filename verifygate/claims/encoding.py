"""Damage from a wrong encoding: UTF-8 that somebody read as Windows-1252 and saved again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from verifygate.claims.ledger import Ledger, short
from verifygate.claims.markdown import CODE_SPAN, Document
from verifygate.model.claims import ClaimKind, ClaimVerdict

_SUSPECT = re.compile("[\u00c2-\u00f4][\u0080-\uffff]{1,3}")
_HOLES = {0x81, 0x8D, 0x8F, 0x90, 0x9D}
"""Bytes that Windows-1252 leaves undefined; what reads it keeps them as they are."""
_SPEAKS_OF_IT = re.compile(r"mojibake|encoding|utf-?8|unicode|charset|codec", re.IGNORECASE)
MOST_LINES = 12


def extract(document: Document, ledger: Ledger) -> None:
    """One claim for the whole file."""
    found = [
        (line, damaged, meant)
        for line, text in enumerate(document.text.split("\n"), 1)
        for damaged, meant in damage(text)
    ]
    lost = [line for line, text in enumerate(document.text.split("\n"), 1) if "\ufffd" in text]
    certain = [entry for entry in found if len(entry[1]) > 2]
    if len(certain) + len(found) + len(lost) < 2:  # one pair of letters alone may be what somebody wrote
        return
    lines = sorted({line for line, _, _ in found} | set(lost))
    first = lines[0]
    sentence = min(document.sentences, key=lambda each: abs(each.line - first), default=None)
    if sentence is None:
        return
    kinds = Counter(f"`{damaged}` for {meant}" for _, damaged, meant in found)
    told = [f"{kind}{f' ({count} times)' if count > 1 else ''}" for kind, count in kinds.most_common(3)]
    told += [f"characters that are lost for good on {len(lost)} lines"] if lost else []
    where = ", ".join(map(str, lines[:MOST_LINES])) + (" …" if len(lines) > MOST_LINES else "")
    reason = f"the text is damaged: UTF-8 read as Windows-1252, {', '.join(told)}; lines {where}"
    verdict = ClaimVerdict.INCONCLUSIVE if _quoted_on_purpose(document, lines) else ClaimVerdict.REFUTED
    if verdict is ClaimVerdict.INCONCLUSIVE:
        reason += "; it stands in code only, and the report speaks of encodings"
    text = document.text.split("\n")[first - 1]
    ledger.add(sentence.on(first), ClaimKind.ENCODING, verdict, reason, words=short(text.strip(" #*-")))


def damage(text: str) -> Iterator[tuple[str, str]]:
    """Each damaged character with what it was meant to be."""
    position = 0
    while match := _SUSPECT.search(text, position):
        for size in (4, 3, 2):
            piece = text[match.start() : match.start() + size]
            meant = _undone(piece)
            if len(piece) == size and meant is not None:
                yield piece, meant
                position = match.start() + size
                break
        else:
            position = match.start() + 1


def _undone(piece: str) -> str | None:
    """The one character whose UTF-8 bytes look like this piece in Windows-1252."""
    try:
        data = b"".join(bytes([ord(c)]) if ord(c) in _HOLES else c.encode("cp1252") for c in piece)
        meant = data.decode("utf-8")
    except (UnicodeError, ValueError):
        return None
    return meant if len(meant) == 1 and len(data) > 1 else None


def _quoted_on_purpose(document: Document, lines: list[int]) -> bool:
    if not _SPEAKS_OF_IT.search(document.text):
        return False
    in_blocks = {block.line + number for block in document.blocks for number in range(len(block.lines))}
    text = document.text.split("\n")
    return all(line in in_blocks or not any(damage(CODE_SPAN.sub("", text[line - 1]))) for line in lines)
